//! Query strings.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;

use super::reject::Reject;

/// The parameters of a query, decoded, in their order.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// All parameters.
    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }

    /// The first value of a parameter.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The parameter `lastDirtyTimestamp`, epoch milliseconds.
    ///
    /// **Compat:** text that is no number, even none at all, is a 500 in Java after the call took effect; here a 400
    /// before it does.
    pub(super) fn last_dirty(&self, headers: &HeaderMap) -> Result<Option<i64>, Reject> {
        self.first("lastDirtyTimestamp")
            .map(|text| {
                text.parse().map_err(|_| {
                    let detail = format!("lastDirtyTimestamp: {text:?} is no number of milliseconds");
                    Reject::bad_request(headers, "bad query", detail)
                })
            })
            .transpose()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Reject;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Reject> {
        parse(parts.uri.query().unwrap_or_default())
            .map_err(|detail| Reject::bad_request(&parts.headers, "bad query", detail))
            .map(Self)
    }
}

fn parse(query: &str) -> Result<Vec<(String, String)>, String> {
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    parameters
        .map(|parameter| {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            Ok((decoded(key)?, decoded(value)?))
        })
        .collect()
}

fn decoded(text: &str) -> Result<String, String> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| format!("{text:?} is not percent-encoded UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_in_their_order() {
        let pairs = parse("a=1&b=x%20y+z&&c&a=2&d=%C3%A4%3D").unwrap();
        let expected = [("a", "1"), ("b", "x y z"), ("c", ""), ("a", "2"), ("d", "ä=")];
        assert_eq!(pairs, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(Query(pairs).first("a"), Some("1"));
    }

    #[test]
    fn what_is_no_utf8_is_refused() {
        assert!(parse("a=%ff").is_err());
    }
}
