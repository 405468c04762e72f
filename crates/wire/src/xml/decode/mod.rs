//! Reading XML.
//!
//! **Compat:** unlike in JSON, whole numbers must be whole numbers and a status may be in any case, as with the Java
//! server's XStream codec. Prefixes of namespaces are ignored, except in metadata, where a colon may be part of a key.

mod applications;
mod instance;
mod parts;
mod values;

use super::source::Source;
use crate::{Application, Applications, DecodeError, InstanceInfo};

pub(crate) fn instance(text: &str) -> Result<InstanceInfo, DecodeError> {
    document(text, &["instance", "com.netflix.appinfo.InstanceInfo"], instance::instance)
}

pub(crate) fn application(text: &str) -> Result<Application, DecodeError> {
    document(text, &["application"], applications::application)
}

pub(crate) fn applications(text: &str) -> Result<Applications, DecodeError> {
    document(text, &["applications"], applications::applications)
}

fn document<'a, T>(
    text: &'a str,
    roots: &[&str],
    read: impl FnOnce(&mut Source<'a>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let mut source = Source::new(text)?;
    source.root(roots)?;
    let value = read(&mut source)?;
    source.end()?;
    Ok(value)
}

/// What the tests of all parts of an instance read.
#[cfg(test)]
mod testing {
    use super::*;

    /// An instance with these elements besides its application; errors as their text.
    pub(super) fn with(elements: &str) -> Result<InstanceInfo, String> {
        instance(&format!("<instance><app>A</app>{elements}</instance>")).map_err(|e| e.to_string())
    }

    pub(super) fn refused(elements: &str) -> String {
        with(elements).expect_err(elements)
    }
}
