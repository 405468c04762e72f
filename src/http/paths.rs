//! Paths, brought into one shape before they are routed, and what stands in them.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use eurekad_wire::AppName;

use super::reject::Reject;

/// Takes the context path off, folds repeated slashes and drops a trailing one. False if the request is not below the
/// context path.
///
/// **Compat:** Java clients ask for `apps/`, and a doubled slash in a client's base URL is a common slip. `%2F` is
/// data, not a separator, and stays.
pub fn normalise(context_path: &str, uri: &mut Uri) -> bool {
    let path = folded(uri.path());
    let rest = match path.strip_prefix(context_path) {
        Some("") => "/",
        Some(rest) if rest.starts_with('/') => rest,
        Some(_) | None => return false,
    };
    if rest == uri.path() {
        return true;
    }
    let target = match uri.query() {
        Some(query) => format!("{rest}?{query}"),
        None => rest.to_owned(),
    };
    let mut parts = std::mem::take(uri).into_parts();
    // Only characters that were valid already are left, so this cannot fail; if it did, the root is harmless.
    parts.path_and_query =
        Some(PathAndQuery::try_from(target).unwrap_or_else(|_| PathAndQuery::from_static("/")));
    *uri = Uri::from_parts(parts).unwrap_or_default();
    true
}

fn folded(path: &str) -> String {
    let mut folded = String::with_capacity(path.len());
    for c in path.chars() {
        if c != '/' || !folded.ends_with('/') {
            folded.push(c);
        }
    }
    if folded.len() > 1 && folded.ends_with('/') {
        folded.pop();
    }
    folded
}

/// The application in a path.
pub(super) struct AppPath(pub(super) AppName);

/// The application and the instance in a path.
pub(super) struct InstancePath {
    pub(super) app: AppName,
    pub(super) id: String,
}

/// The one name in a path: an instance's id or a VIP address.
pub(super) struct NamePath(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for AppPath {
    type Rejection = Reject;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reject> {
        let [app] = segments(parts, state).await?;
        Ok(Self(AppName::new(&app)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for InstancePath {
    type Rejection = Reject;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reject> {
        let [app, id] = segments(parts, state).await?;
        Ok(Self { app: AppName::new(&app), id })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for NamePath {
    type Rejection = Reject;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reject> {
        let [name] = segments(parts, state).await?;
        Ok(Self(name))
    }
}

/// The segments of a path that its route leaves open, percent-decoded.
async fn segments<const N: usize, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<[String; N], Reject> {
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|e| Reject::bad_request(&parts.headers, "cannot read the path", e.body_text()))?;
    let decoded: Vec<String> = params.iter().map(|(_, value)| value.to_owned()).collect();
    decoded
        .try_into()
        .map_err(|_| Reject::bad_request(&parts.headers, "cannot read the path", "a segment is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(context_path: &str, target: &str) -> Option<String> {
        let mut uri: Uri = target.parse().unwrap();
        normalise(context_path, &mut uri).then(|| uri.to_string())
    }

    /// Case: P019, P020
    #[test]
    fn repeated_and_trailing_slashes_are_folded_and_the_query_stays() {
        assert_eq!(normal("", "/eureka//apps/?a=//b/").as_deref(), Some("/eureka/apps?a=//b/"));
        assert_eq!(normal("", "/eureka/apps").as_deref(), Some("/eureka/apps"));
        assert_eq!(normal("", "///").as_deref(), Some("/"));
    }

    /// Case: P022
    #[test]
    fn an_encoded_slash_is_data() {
        assert_eq!(normal("", "/eureka/apps/A/a%2Fb/").as_deref(), Some("/eureka/apps/A/a%2Fb"));
    }

    #[test]
    fn the_context_path_is_taken_off_and_nothing_else_is_served() {
        assert_eq!(normal("/registry", "/registry/eureka/apps").as_deref(), Some("/eureka/apps"));
        assert_eq!(normal("/registry", "/registry").as_deref(), Some("/"));
        assert_eq!(normal("/registry", "/registryx/eureka/apps"), None);
        assert_eq!(normal("/registry", "/eureka/apps"), None);
    }
}
