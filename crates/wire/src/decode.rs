//! Documents in.
//!
//! The decoders take what Eureka's many clients send: keys in any order, numbers as text, single objects for lists,
//! keys nobody knows. They refuse what would be misread or could not be served again, and say where it stands.

use std::borrow::Cow;

use crate::json;
use crate::text::is_xml_char;
use crate::xml;
use crate::{
    ActionType, Application, Applications, Format, InstanceInfo, LeaseInfo, ReplicationList,
    ReplicationListResponse,
};

/// The most items of one batch. A Java server sends 250; what sends more than this is no server.
pub const MAX_BATCH_ITEMS: usize = 100_000;

/// The longest place or problem, in characters: either may quote what a client sent, of whatever size.
const LONGEST: usize = 300;

/// Why a document could not be read.
///
/// Both parts fit into a log line and into any document: they are cut when they grow too long, and hold no
/// character that XML cannot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{problem}", place, if place.is_empty() { "" } else { ": " })]
pub struct DecodeError {
    /// The path to the value, such as `instance.port.$`, with line and column where they are known. Empty where the
    /// document as a whole is wrong.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
}

impl DecodeError {
    /// A problem at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: presentable(place.into()), problem: presentable(problem.into()) }
    }

    /// A problem at a path, with a line and a column if they are known. Both count from 1.
    pub(crate) fn at(path: &str, position: Option<(usize, usize)>, problem: impl Into<String>) -> Self {
        let path = presentable(path.to_owned());
        let place = match position {
            None => path,
            Some((line, column)) if path.is_empty() => format!("line {line}, column {column}"),
            Some((line, column)) => format!("{path} (line {line}, column {column})"),
        };
        Self { place, problem: presentable(problem.into()) }
    }
}

fn presentable(text: String) -> String {
    if text.chars().nth(LONGEST).is_none() && text.chars().all(is_xml_char) {
        return text;
    }
    let mut shown: String =
        text.chars().take(LONGEST).map(|c| if is_xml_char(c) { c } else { '\u{FFFD}' }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// Why a text cannot be let in, if it cannot: it holds a character that no XML document can.
pub(crate) fn unwritable(text: &str) -> Option<String> {
    crate::first_unwritable(text).map(|c| format!("the character U+{:04X} is not allowed", u32::from(c)))
}

/// **Compat:** a lease length of zero or less means the default.
pub(crate) fn with_sane_lengths(lease: LeaseInfo) -> LeaseInfo {
    let sane = |length, default| if length > 0 { length } else { default };
    LeaseInfo {
        renewal_interval_secs: sane(lease.renewal_interval_secs, LeaseInfo::DEFAULT_RENEWAL_INTERVAL_SECS),
        duration_secs: sane(lease.duration_secs, LeaseInfo::DEFAULT_DURATION_SECS),
        ..lease
    }
}

/// **Compat:** `na` is what a client writes for none, and `unknown` what an older one did.
pub(crate) fn meaningful_sid(sid: &str) -> Option<Box<str>> {
    (!matches!(sid, "na" | "unknown")).then(|| sid.into())
}

/// **Compat:** an action that is none of the three is not there.
pub(crate) fn action_type(word: &str) -> Option<ActionType> {
    [ActionType::Added, ActionType::Modified, ActionType::Deleted].into_iter().find(|a| a.as_str() == word)
}

/// The id that Spring's clients mean when they send none: the metadata's `instanceId`.
///
/// **Compat:** Spring's codec makes it unique with the host name in front, unless it begins with that already.
pub(crate) fn take_id_from_metadata(info: &mut InstanceInfo) {
    if info.instance_id.is_some() {
        return;
    }
    let Some(id) = info.metadata.get("instanceId").filter(|id| !id.trim().is_empty()) else { return };
    let id = if id.starts_with(&*info.host_name) {
        Cow::Borrowed(&**id)
    } else {
        Cow::Owned(format!("{}:{id}", info.host_name))
    };
    info.instance_id = Some((&*id).into());
}

/// The body as text, without the mark that some editors put in front of it.
fn text_of(body: &[u8]) -> Result<&str, DecodeError> {
    let text = std::str::from_utf8(body)
        .map_err(|e| DecodeError::new("", format!("not UTF-8: wrong byte at offset {}", e.valid_up_to())))?;
    Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text))
}

/// Reads a document of one instance.
///
/// # Errors
/// If it is no such document, or says something that would be misread.
pub fn instance(format: Format, body: &[u8]) -> Result<InstanceInfo, DecodeError> {
    match format {
        Format::Json => json::decode::instance(text_of(body)?),
        Format::Xml => xml::decode::instance(text_of(body)?),
    }
}

/// Reads a document of one application.
///
/// # Errors
/// If it is no such document, or one of its instances cannot be read.
pub fn application(format: Format, body: &[u8]) -> Result<Application, DecodeError> {
    match format {
        Format::Json => json::decode::application(text_of(body)?),
        Format::Xml => xml::decode::application(text_of(body)?),
    }
}

/// Reads a document of applications: a whole registry, a delta, or the answer to a VIP.
///
/// # Errors
/// If it is no such document, or one of its instances cannot be read.
pub fn applications(format: Format, body: &[u8]) -> Result<Applications, DecodeError> {
    match format {
        Format::Json => json::decode::applications(text_of(body)?),
        Format::Xml => xml::decode::applications(text_of(body)?),
    }
}

/// Reads a peer's whole registry, in JSON: what can be read of it, and for each instance that cannot, why.
///
/// **Compat:** a Java server takes and serves instances that are refused here (with a control character in their
/// metadata, say). Beside such a server they must not cost the copy of all others.
///
/// # Errors
/// If it is no document of applications at all.
pub fn registry_copy(body: &[u8]) -> Result<(Applications, Vec<DecodeError>), DecodeError> {
    let text = text_of(body)?;
    match json::decode::applications(text) {
        Ok(applications) => Ok((applications, Vec::new())),
        // Only then is it read in the slower way.
        Err(error) => json::decode::instances_that_can_be_read(text).map_err(|_| error),
    }
}

/// Reads a batch, which is always JSON.
///
/// **Compat:** the Java server answers 400 to the whole batch if one item cannot be read; here the error takes the
/// item's place and the others live.
///
/// # Errors
/// If it is no list of items at all.
pub fn replication_list(body: &[u8]) -> Result<ReplicationList, DecodeError> {
    json::decode::replication_list(text_of(body)?)
}

/// Reads the answer to a batch, which is asked for as JSON.
///
/// # Errors
/// If it is no list of answers.
pub fn replication_response(body: &[u8]) -> Result<ReplicationListResponse, DecodeError> {
    json::decode::replication_response(text_of(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_the_place_and_then_the_problem() {
        assert_eq!(DecodeError::new("instance.app", "missing").to_string(), "instance.app: missing");
        assert_eq!(DecodeError::new("", "not UTF-8").to_string(), "not UTF-8");
        assert_eq!(DecodeError::at("a.b", Some((2, 7)), "bad").to_string(), "a.b (line 2, column 7): bad");
        assert_eq!(DecodeError::at("", Some((2, 7)), "bad").to_string(), "line 2, column 7: bad");
    }

    #[test]
    fn an_error_never_grows_with_the_document_nor_carries_what_xml_cannot() {
        let error = DecodeError::new("k".repeat(1_000_000), "nul \0 here");
        assert_eq!(error.place.chars().count(), LONGEST + 1);
        assert_eq!(error.problem, "nul \u{FFFD} here");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_refused_with_their_offset() {
        for format in [Format::Json, Format::Xml] {
            let error = instance(format, b"{\"instance\xff\":{}}").unwrap_err();
            assert_eq!(error.to_string(), "not UTF-8: wrong byte at offset 10");
        }
        assert!(replication_list(b"\xff").is_err());
        assert!(replication_response(b"\xc0\x80").is_err());
    }

    /// Catalog: E32
    #[test]
    fn without_an_id_the_metadatas_instance_id_counts_with_the_host_in_front() {
        let id = |host: &str, in_metadata: Option<&str>, own: Option<&str>| {
            let mut info = InstanceInfo::new("A".into());
            info.host_name = host.into();
            info.instance_id = own.map(Into::into);
            info.metadata.extend(in_metadata.map(|id| ("instanceId".into(), id.into())));
            take_id_from_metadata(&mut info);
            info.instance_id.map(|id| id.to_string())
        };
        assert_eq!(id("hm", Some("abc"), None).as_deref(), Some("hm:abc"));
        assert_eq!(id("hm", Some("hm:abc"), None).as_deref(), Some("hm:abc"));
        assert_eq!(id("", Some("foo"), None).as_deref(), Some("foo"));
        assert_eq!(id("hm", Some("  "), None), None);
        assert_eq!(id("hm", None, None), None);
        assert_eq!(id("hm", Some("abc"), Some("own")).as_deref(), Some("own"));
        assert_eq!(id("hm", Some("abc"), Some("")).as_deref(), Some(""));
    }
}
