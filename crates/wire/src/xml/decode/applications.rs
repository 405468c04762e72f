//! Applications. Lists have no element of their own around them.

use super::super::source::Source;
use super::instance::instance;
use super::values::{number, text};
use crate::{Application, Applications, DecodeError};

pub(super) fn applications(source: &mut Source<'_>) -> Result<Applications, DecodeError> {
    let mut all = Applications::default();
    while let Some(element) = source.child()? {
        match element.local_name().as_ref() {
            "versions__delta" | "versions_delta" => all.version = number(source)?,
            "apps__hashcode" | "apps_hashcode" => all.hash_code = Some(text(source, str::to_owned)?),
            "application" => all.applications.push(application(source)?),
            _ => source.skip()?,
        }
    }
    Ok(all)
}

pub(super) fn application(source: &mut Source<'_>) -> Result<Application, DecodeError> {
    let (mut name, mut instances) = (None, Vec::new());
    while let Some(element) = source.child()? {
        match element.local_name().as_ref() {
            "name" => name = Some(text(source, str::to_owned)?),
            "instance" => instances.push(instance(source)?),
            _ => source.skip()?,
        }
    }
    Ok(Application::named(name.as_deref(), instances))
}

#[cfg(test)]
mod tests {
    use crate::xml::decode::{application, applications};

    /// Catalog: E18
    #[test]
    fn applications_are_read_in_any_order_of_their_elements() {
        for text in [
            "<applications><versions__delta>7</versions__delta><apps__hashcode>UP_1_</apps__hashcode>\
             <application><name>a</name><instance><app>A</app></instance></application></applications>",
            "<applications><application><instance><app>A</app></instance><name>a</name></application><x><y/></x>\
             <versions_delta> 7 </versions_delta><apps_hashcode>UP_1_</apps_hashcode></applications>",
        ] {
            let all = applications(text).unwrap();
            assert_eq!((all.version, all.hash_code.as_deref()), (7, Some("UP_1_")));
            assert_eq!(all.applications.len(), 1);
            assert_eq!(all.applications[0].name.as_str(), "A");
            assert_eq!(all.instances().count(), 1);
        }
        assert_eq!(applications("<applications/>").unwrap(), crate::Applications::default());
        let app = application("<application><instance><app>orders</app></instance></application>").unwrap();
        assert_eq!((app.name.as_str(), app.instances.len()), ("ORDERS", 1));
    }

    #[test]
    fn an_error_names_the_elements_around_it() {
        let text = "<applications><application><instance></instance></application></applications>";
        let error = applications(text).unwrap_err().to_string();
        assert_eq!(error, "applications.application.instance.app: missing");
        assert!(applications("<applications><versions__delta/></applications>").is_err());
        assert!(applications("<application/>").is_err());
        assert!(application("<applications/>").is_err());
    }
}
