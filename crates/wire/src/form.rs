//! The forms in which a document can be asked for.

/// How a document is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `application/json`, as the Java server's legacy Jackson codec writes it.
    Json,
    /// `application/xml`, as the Java server's XStream codec writes it.
    Xml,
}

/// How much of an instance a document shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Detail {
    /// Everything.
    #[default]
    Full,
    /// What a caller needs to reach the instance: no metadata, no lease, no URLs.
    ///
    /// **Compat:** asked for with `X-Eureka-Accept: compact`; written by the Java server's "mini" codecs, whose
    /// field order and scalar types differ from the full ones.
    Compact,
}

/// A format and a detail together: what one encoded document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// JSON or XML.
    pub format: Format,
    /// Full or compact.
    pub detail: Detail,
}

impl Form {
    /// Full JSON, what most clients read.
    pub const JSON: Self = Self { format: Format::Json, detail: Detail::Full };
    /// Full XML.
    pub const XML: Self = Self { format: Format::Xml, detail: Detail::Full };
    /// Compact JSON.
    pub const JSON_COMPACT: Self = Self { format: Format::Json, detail: Detail::Compact };
    /// Compact XML.
    pub const XML_COMPACT: Self = Self { format: Format::Xml, detail: Detail::Compact };
    /// All four forms.
    pub const ALL: [Self; 4] = [Self::JSON, Self::XML, Self::JSON_COMPACT, Self::XML_COMPACT];
}
