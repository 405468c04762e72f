//! Applications as a document holds them: what a decoder returns.

use crate::{AppName, AppsHashCode, InstanceInfo};

/// One application with its instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: AppName,
    /// Its instances, in the document's order.
    pub instances: Vec<InstanceInfo>,
}

impl Application {
    /// An application as read. One that was sent without its name has the name that its instances give it.
    pub(crate) fn named(name: Option<&str>, instances: Vec<InstanceInfo>) -> Self {
        let name = match (name, instances.first()) {
            (Some(name), _) => name.into(),
            (None, Some(instance)) => instance.app.clone(),
            (None, None) => "".into(),
        };
        Self { name, instances }
    }
}

/// A registry, or a part of one, as one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applications {
    /// `versions__delta`; −1 if the document has none.
    pub version: i64,
    /// `apps__hashcode`, `None` if the document has none.
    pub hash_code: Option<String>,
    /// The applications, in the document's order.
    pub applications: Vec<Application>,
}

impl Default for Applications {
    /// No application, version −1, no hash code.
    fn default() -> Self {
        Self { version: -1, hash_code: None, applications: Vec::new() }
    }
}

impl Applications {
    /// All instances of all applications.
    pub fn instances(&self) -> impl Iterator<Item = &InstanceInfo> {
        self.applications.iter().flat_map(|a| &a.instances)
    }

    /// The hash code that these instances have, to compare with the one the document claims.
    pub fn reconcile_hash_code(&self) -> AppsHashCode {
        self.instances().map(|i| i.status).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catalog: F6, F7
    #[test]
    fn applications_begin_without_version_and_hash_code_and_keep_what_they_are_given() {
        let mut applications = Applications::default();
        assert_eq!((applications.version, &applications.hash_code), (-1, &None));
        applications.version = 7;
        applications.hash_code = Some("UP_1_".to_owned());
        assert_eq!(applications.version, 7);
        assert_eq!(applications.hash_code.as_deref(), Some("UP_1_"));
        assert_eq!(applications.reconcile_hash_code().to_string(), "", "which is computed, not claimed");
    }
}
