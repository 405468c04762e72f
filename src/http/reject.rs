//! Why a request is refused, and the one place that makes a status code of it.
//!
//! **Compat:** what Java answers with a 5xx for bad input is the fitting 4xx here. Bodies are empty where clients
//! choke on any: a 404 to a heartbeat above all, whose body several Java clients would read as an instance.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use eurekad_wire::encode::escape_xml_text;
use eurekad_wire::{DecodeError, Format, made_writable};
use serde::Serialize;

use super::negotiate;
use crate::registry::Oversize;

/// How long a client should wait before it tries an overloaded node again, in seconds.
const RETRY_AFTER_SECS: u32 = 5;

/// A refused request.
#[derive(Debug)]
pub(super) enum Reject {
    /// 404: no such application, instance or path.
    NotFound,
    /// 403: reads are not answered now.
    Forbidden,
    /// 406: the client takes neither JSON nor XML.
    NotAcceptable,
    /// A body with an `error` and a `detail`.
    Explained { status: StatusCode, format: Format, error: &'static str, detail: String },
    /// 400 with one of Eureka's own sentences, which people grep for.
    Sentence { format: Format, text: String },
    /// 503: try again later.
    Overloaded { format: Format, detail: String },
}

impl Reject {
    /// 400: a part of the request other than its body cannot be used.
    pub(super) fn bad_request(headers: &HeaderMap, error: &'static str, detail: impl Into<String>) -> Self {
        let format = negotiate::format(headers);
        Self::Explained { status: StatusCode::BAD_REQUEST, format, error, detail: detail.into() }
    }

    /// 400: the body cannot be read.
    ///
    /// **Compat:** Java's envelope in the body's own format; the `detail` is ours.
    pub(super) fn unreadable(format: Format, error: &DecodeError) -> Self {
        let status = StatusCode::BAD_REQUEST;
        Self::Explained { status, format, error: "cannot parse request body", detail: error.to_string() }
    }

    /// 415: the body is in no format that could be read.
    pub(super) fn unsupported(headers: &HeaderMap, detail: impl Into<String>) -> Self {
        let (status, format) = (StatusCode::UNSUPPORTED_MEDIA_TYPE, negotiate::format(headers));
        Self::Explained { status, format, error: "unsupported media type", detail: detail.into() }
    }

    /// 408: the body did not come in time.
    pub(super) fn too_slow(headers: &HeaderMap, limit: Duration) -> Self {
        let (status, format) = (StatusCode::REQUEST_TIMEOUT, negotiate::format(headers));
        let detail =
            format!("the body took more than the {limit:?} that eurekad.limits.body-timeout-ms allows");
        Self::Explained { status, format, error: "request too slow", detail }
    }

    /// 413: the body is larger than `setting` allows.
    pub(super) fn too_large(headers: &HeaderMap, setting: &str, limit: usize) -> Self {
        let (status, format) = (StatusCode::PAYLOAD_TOO_LARGE, negotiate::format(headers));
        let detail = format!("more than the {limit} bytes that {setting} allows");
        Self::Explained { status, format, error: "request too large", detail }
    }

    /// 413: the instance is larger than one may be.
    pub(super) fn oversize(headers: &HeaderMap, oversize: Oversize) -> Self {
        let (status, format) = (StatusCode::PAYLOAD_TOO_LARGE, negotiate::format(headers));
        Self::Explained { status, format, error: "request too large", detail: oversize.to_string() }
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a str,
    detail: &'a str,
}

impl IntoResponse for Reject {
    fn into_response(self) -> Response {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND.into_response(),
            Self::Forbidden => StatusCode::FORBIDDEN.into_response(),
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE.into_response(),
            Self::Explained { status, format, error, detail } => {
                with_body(status, format, explanation(format, error, &detail))
            }
            // The sentence repeats what the client sent, which may be anything.
            Self::Sentence { format, text } => {
                with_body(StatusCode::BAD_REQUEST, format, made_writable(&text))
            }
            Self::Overloaded { format, detail } => {
                let body = explanation(format, "overloaded", &detail);
                let mut response = with_body(StatusCode::SERVICE_UNAVAILABLE, format, body);
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECS));
                response
            }
        }
    }
}

fn with_body(status: StatusCode, format: Format, body: String) -> Response {
    let content_type = match format {
        Format::Json => "application/json",
        Format::Xml => "application/xml",
    };
    (status, [(header::CONTENT_TYPE, content_type)], Body::from(body)).into_response()
}

fn explanation(format: Format, error: &str, detail: &str) -> String {
    match format {
        Format::Json => {
            serde_json::to_string(&Envelope { error, detail }).expect("two strings are always JSON")
        }
        Format::Xml => {
            let (error, detail) = (escape_xml_text(error), escape_xml_text(detail));
            format!("<error><message>{error}</message><detail>{detail}</detail></error>")
        }
    }
}
