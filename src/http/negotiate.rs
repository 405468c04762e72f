//! What a client asks to be answered with.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use eurekad_wire::{Detail, Form, Format};

use super::reject::Reject;
use crate::blocking::Workers;
use crate::cache::Payload;

/// The header by which a client asks for compact documents.
const EUREKA_ACCEPT: &str = "x-eureka-accept";

/// The answer a client asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) form: Form,
    gzip: bool,
    charset: bool,
}

/// What the headers ask for.
///
/// **Compat:** JSON if `Accept` contains `json` anywhere, else XML, whatever the quality values say. Content types on
/// a GET mean nothing. If no type in `Accept` could be either, 406. Unlike Java the label always fits the body.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Wanted, Reject> {
    if !accepts_either(headers) {
        return Err(Reject::NotAcceptable);
    }
    let compact = text(headers, EUREKA_ACCEPT).eq_ignore_ascii_case("compact");
    let detail = if compact { Detail::Compact } else { Detail::Full };
    Ok(Wanted {
        form: Form { format: format(headers), detail },
        gzip: accepts_gzip(headers),
        charset: accept(headers).to_ascii_lowercase().replace(' ', "").contains("charset=utf-8"),
    })
}

/// JSON or XML, by the rule above.
pub(super) fn format(headers: &HeaderMap) -> Format {
    if accept(headers).contains("json") { Format::Json } else { Format::Xml }
}

fn accepts_either(headers: &HeaderMap) -> bool {
    let accept = accept(headers);
    accept.trim().is_empty()
        || accept.split(',').any(|range| {
            let media = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            matches!(media.as_str(), "*/*" | "*" | "application/*" | "application/json" | "application/xml")
        })
}

/// Whether `Accept-Encoding` lists gzip. **Compat:** Java looks for the word alone; here `gzip;q=0` means no.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    values.flat_map(|v| v.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(|part| part.trim().to_ascii_lowercase());
        let named = matches!(parts.next().as_deref(), Some("gzip" | "x-gzip"));
        let refused =
            |p: String| p.strip_prefix("q=").is_some_and(|q| q.parse().is_ok_and(|q: f32| q == 0.0));
        named && !parts.any(refused)
    })
}

/// All `Accept` headers as one text.
fn accept(headers: &HeaderMap) -> String {
    let values = headers.get_all(header::ACCEPT).iter();
    values.filter_map(|v| v.to_str().ok()).collect::<Vec<_>>().join(",")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

impl Wanted {
    /// A document as the client wants it.
    pub(super) async fn answer(self, payload: &Payload, workers: &Workers) -> Response {
        let body = if self.gzip { payload.gzip(workers).await } else { payload.plain() };
        let mut response = body.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        headers.insert(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding, X-Eureka-Accept"));
        if self.gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }

    fn content_type(self) -> &'static str {
        // **Compat:** a charset that the client names comes back to it.
        match (self.form.format, self.charset) {
            (Format::Json, false) => "application/json",
            (Format::Json, true) => "application/json;charset=UTF-8",
            (Format::Xml, false) => "application/xml",
            (Format::Xml, true) => "application/xml;charset=UTF-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(accept: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(header::ACCEPT, accept.parse().unwrap());
        }
        headers
    }

    /// Catalog: A36
    /// Case: P018
    #[test]
    fn json_is_answered_to_whoever_accepts_json_and_xml_to_all_others() {
        for (accept, format) in [
            (None, Format::Xml),
            (Some("*/*"), Format::Xml),
            (Some("application/*"), Format::Xml),
            (Some("application/xml"), Format::Xml),
            (Some("application/json"), Format::Json),
            (Some("text/html, application/json;q=0.5"), Format::Json),
            (Some("application/xml;q=0.9, application/json;q=0.1"), Format::Json),
        ] {
            assert_eq!(wanted(&headers(accept)).ok().map(|w| w.form.format), Some(format), "{accept:?}");
        }
    }

    /// Case: P013, P014
    #[test]
    fn gzip_is_answered_to_whoever_lists_it() {
        for (listed, gzip) in [
            ("gzip", true),
            ("gzip, x-gzip, deflate", true),
            ("deflate, GZIP;q=0.5", true),
            ("identity", false),
            ("deflate", false),
            ("gzip;q=0", false),
            ("gzip; q=0.000, identity", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, listed.parse().unwrap());
            assert_eq!(accepts_gzip(&headers), gzip, "{listed:?}");
        }
    }

    /// Catalog: A37
    #[test]
    fn a_client_that_takes_neither_is_refused() {
        for accept in ["text/html", "text/json", "text/plain", "image/*"] {
            assert!(wanted(&headers(Some(accept))).is_err(), "{accept}");
        }
    }
}
