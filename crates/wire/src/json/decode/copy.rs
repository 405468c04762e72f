//! A peer's registry, of which one bad instance must not cost the rest.

use std::marker::PhantomData;

use serde_json::value::RawValue;

use super::instance::Instance;
use super::{join, read};
use crate::{Application, Applications, DecodeError};

#[derive(serde::Deserialize)]
struct Root<'a> {
    #[serde(borrow)]
    applications: All<'a>,
}

#[derive(serde::Deserialize)]
struct All<'a> {
    #[serde(borrow, default)]
    application: Vec<One<'a>>,
}

#[derive(serde::Deserialize)]
struct One<'a> {
    name: Option<String>,
    #[serde(borrow, default)]
    instance: Vec<&'a RawValue>,
}

/// The instances that can be read, and why the others cannot.
pub(crate) fn instances_that_can_be_read(
    text: &str,
) -> Result<(Applications, Vec<DecodeError>), DecodeError> {
    let root: Root<'_> = serde_json::from_str(text).map_err(|e| DecodeError::new("", e.to_string()))?;
    let mut refused = Vec::new();
    let mut all = Applications::default();
    for One { name, instance } in root.applications.application {
        let name = name.unwrap_or_default();
        let mut instances = Vec::with_capacity(instance.len());
        for (n, json) in instance.into_iter().enumerate() {
            match read(json.get(), PhantomData::<Instance>) {
                Ok(instance) => instances.push(instance.0),
                Err(fault) => {
                    let place = join(&format!("{name}[{n}]"), &fault.path);
                    refused.push(DecodeError::at(&place, None, fault.problem));
                }
            }
        }
        all.applications.push(Application::named(Some(&name), instances));
    }
    Ok((all, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instance_that_cannot_be_read_costs_no_other() {
        let text = r#"{"applications":{"versions__delta":"1","apps__hashcode":"UP_2_","application":[
            {"name":"A","instance":[{"app":"A","instanceId":"a"},{"app":"A","metadata":{"b":"\u001b"}}]},
            {"name":"B","instance":[{"app":"B","instanceId":"b"}]}]}}"#;
        let (all, refused) = instances_that_can_be_read(text).unwrap();
        assert_eq!(all.instances().map(crate::InstanceInfo::id).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(refused.len(), 1);
        assert!(refused[0].place.starts_with("A[1].metadata"), "{}", refused[0]);
    }
}
