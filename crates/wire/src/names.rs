//! Names that identify things: cheap to clone, compared as text.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// An application's name, always in upper case.
///
/// **Compat:** the Java server upper-cases the name in a path and in a body before it compares or stores it, so
/// `orders` and `ORDERS` are one application.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AppName(Arc<str>);

impl AppName {
    /// The name in upper case.
    pub fn new(name: &str) -> Self {
        if name.chars().any(char::is_lowercase) {
            Self(name.to_uppercase().into())
        } else {
            Self(name.into())
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is no name at all; such an instance cannot be registered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An instance's id, as its client spells it: case matters, and any printable character is allowed.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(Arc<str>);

impl InstanceId {
    /// The id as given.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_name {
    ($name:ident) => {
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_name!(AppName);
text_name!(InstanceId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_name_is_upper_case_however_it_is_written() {
        assert_eq!(AppName::new("orders-v2"), AppName::new("ORDERS-V2"));
        assert_eq!(AppName::new("straße").as_str(), "STRASSE");
    }

    #[test]
    fn an_instance_id_keeps_its_case() {
        assert_ne!(InstanceId::new("a"), InstanceId::new("A"));
    }
}
