//! Documents out.
//!
//! What is written is what the Java server writes, byte for byte: field order, number or string, and which absent
//! fields are left out. Only the order of metadata differs, which is sorted here and unspecified there.

use std::borrow::Cow;

use crate::json;
use crate::xml;
use crate::{AppName, Form, Format, InstanceInfo, LeaseInfo, ReplicationInstance, ReplicationListResponse};

/// One instance as a document shows it: the record with the lease of the moment.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The record.
    pub info: &'a InstanceInfo,
    /// Shown instead of the record's own lease, if there is one.
    pub lease: Option<LeaseInfo>,
}

impl Shown<'_> {
    /// The lease that the document shows.
    pub(crate) fn lease(&self) -> Option<LeaseInfo> {
        self.lease.or(self.info.lease_info)
    }
}

impl<'a> From<&'a InstanceInfo> for Shown<'a> {
    /// The record with its own lease.
    fn from(info: &'a InstanceInfo) -> Self {
        Self { info, lease: None }
    }
}

/// A document of one instance.
pub fn instance(form: Form, shown: Shown<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match form.format {
        Format::Json => json::encode::instance(&mut out, form.detail, shown),
        Format::Xml => xml::encode::instance(&mut out, form.detail, shown),
    }
    out
}

/// A document of one application.
pub fn application<'a>(
    form: Form,
    name: &AppName,
    instances: impl IntoIterator<Item = Shown<'a>>,
) -> Vec<u8> {
    let mut out = Vec::new();
    match form.format {
        Format::Json => json::encode::application(&mut out, form.detail, name, instances),
        Format::Xml => xml::encode::application(&mut out, form.detail, name, instances),
    }
    out
}

/// What a document of applications begins with.
///
/// The document is `head`, then a [`piece`] for each application with the [`separator`] between each two of them,
/// then [`tail`]. The pieces depend on nothing outside their application, so they can be kept and used again.
///
/// **Compat:** version and hash code stand before the applications in a full document and after them in a compact
/// one.
pub fn head(form: Form, version: i64, hash_code: &str) -> Vec<u8> {
    let mut out = Vec::new();
    match form.format {
        Format::Json => json::encode::head(&mut out, form.detail, version, hash_code),
        Format::Xml => xml::encode::head(&mut out, form.detail, version, hash_code),
    }
    out
}

/// One application inside a document of applications.
pub fn piece<'a>(form: Form, name: &AppName, instances: impl IntoIterator<Item = Shown<'a>>) -> Vec<u8> {
    let mut out = Vec::new();
    piece_onto(&mut out, form, name, instances);
    out
}

fn piece_onto<'a>(
    out: &mut Vec<u8>,
    form: Form,
    name: &AppName,
    instances: impl IntoIterator<Item = Shown<'a>>,
) {
    match form.format {
        Format::Json => json::encode::piece(out, form.detail, name, instances),
        Format::Xml => xml::encode::piece(out, form.detail, name, instances),
    }
}

/// What stands between two applications, and neither before the first nor after the last.
pub fn separator(form: Form) -> &'static [u8] {
    match form.format {
        Format::Json => b",",
        Format::Xml => b"",
    }
}

/// What a document of applications ends with.
pub fn tail(form: Form, version: i64, hash_code: &str) -> Vec<u8> {
    let mut out = Vec::new();
    match form.format {
        Format::Json => json::encode::tail(&mut out, form.detail, version, hash_code),
        Format::Xml => xml::encode::tail(&mut out, form.detail, version, hash_code),
    }
    out
}

/// Writes a document of applications, one application after the other.
#[derive(Debug)]
pub struct ApplicationsWriter {
    form: Form,
    version: i64,
    hash_code: Box<str>,
    /// Whether the next application is the first.
    first: bool,
    out: Vec<u8>,
}

impl ApplicationsWriter {
    /// A document that has no application yet.
    pub fn new(form: Form, version: i64, hash_code: &str) -> Self {
        Self { form, version, hash_code: hash_code.into(), first: true, out: head(form, version, hash_code) }
    }

    /// Makes room for about so many bytes, so that a long document is not moved again and again while it grows.
    pub fn reserve(&mut self, bytes: usize) {
        self.out.reserve(bytes);
    }

    /// Adds an application.
    pub fn application<'a>(&mut self, name: &AppName, instances: impl IntoIterator<Item = Shown<'a>>) {
        if !self.first {
            self.out.extend_from_slice(separator(self.form));
        }
        self.first = false;
        piece_onto(&mut self.out, self.form, name, instances);
    }

    /// The whole document.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.extend_from_slice(&tail(self.form, self.version, &self.hash_code));
        self.out
    }
}

/// A batch from one server to another, in JSON.
pub fn replication_list(items: &[ReplicationInstance]) -> Vec<u8> {
    let mut out = Vec::new();
    json::encode::replication_list(&mut out, items);
    out
}

/// The answer to a batch.
pub fn replication_response(format: Format, response: &ReplicationListResponse) -> Vec<u8> {
    let mut out = Vec::new();
    match format {
        Format::Json => json::encode::replication_response(&mut out, response),
        Format::Xml => xml::encode::replication_response(&mut out, response),
    }
    out
}

/// The JSON object of an instance without a root around it, for a document of another kind.
pub fn instance_fields_json(shown: Shown<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    json::encode::instance_fields(&mut out, crate::Detail::Full, shown);
    out
}

/// The XML element of an instance under another name, for a document of another kind: indented by two spaces for
/// each level of `depth`, without a newline before or after it.
pub fn instance_element_xml(name: &str, depth: usize, shown: Shown<'_>) -> String {
    let mut out = Vec::new();
    xml::encode::instance_element(&mut out, name, depth, shown);
    String::from_utf8(out).expect("what the encoder writes is made of strings")
}

/// Text as it stands between two tags.
///
/// **Compat:** the five predefined entities, both quotes included, and `&#xd;` for a carriage return, which a
/// parser would otherwise turn into a newline. What XML cannot hold at all becomes U+FFFD.
pub fn escape_xml_text(text: &str) -> Cow<'_, str> {
    xml::escape::text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> InstanceInfo {
        InstanceInfo::new("ORDERS".into())
    }

    #[test]
    fn a_document_in_pieces_is_the_document_at_once() {
        let info = sample();
        for form in Form::ALL {
            let mut writer = ApplicationsWriter::new(form, 3, "UP_3_");
            let mut pieces = head(form, 3, "UP_3_");
            for (i, app) in ["A", "B", "C"].into_iter().enumerate() {
                let name = AppName::new(app);
                writer.application(&name, [Shown::from(&info)]);
                if i > 0 {
                    pieces.extend_from_slice(separator(form));
                }
                pieces.extend(piece(form, &name, [Shown::from(&info)]));
            }
            pieces.extend(tail(form, 3, "UP_3_"));
            assert_eq!(
                String::from_utf8_lossy(&writer.finish()),
                String::from_utf8_lossy(&pieces),
                "{form:?}"
            );
        }
    }

    #[test]
    fn the_lease_of_the_moment_is_shown_instead_of_the_records_own() {
        let mut info = sample();
        let shown = |info: &InstanceInfo, lease| {
            String::from_utf8(instance(Form::JSON, Shown { info, lease })).expect("JSON is UTF-8")
        };
        let lease = LeaseInfo { duration_secs: 17, ..LeaseInfo::default() };
        assert!(!shown(&info, None).contains("leaseInfo"));
        assert!(shown(&info, Some(lease)).contains("\"durationInSecs\":17"));
        info.lease_info = Some(LeaseInfo::default());
        assert!(shown(&info, None).contains("\"durationInSecs\":90"));
        assert!(shown(&info, Some(lease)).contains("\"durationInSecs\":17"));
    }
}
