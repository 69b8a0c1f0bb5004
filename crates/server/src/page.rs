//! What a browser is given: the web UI if it was built when this crate was, else a page that says how to get it.

use axum::Router;
use axum::extract::{Path, Request};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::App;
use crate::problem::ApiError;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types shell";

include!(concat!(env!("OUT_DIR"), "/web_ui.rs"));

/// What stands in for the web UI where it was not built: how to get it, and how to answer meanwhile.
const NO_WEB_UI: &str = include_str!("no-web-ui.html");

/// Where there is no web UI: what another program registered is no more.
const NO_SERVICE_WORKER: &str = "addEventListener('install', () => skipWaiting());\n\
    addEventListener('activate', (event) => event.waitUntil(registration.unregister()));\n";

/// What the browser is told to forget: see the standard of this header.
const CLEAR_SITE_DATA: &str = "clear-site-data";
const CACHED: &str = "\"cache\"";

/// Whether people get a screen, or only words that say how to get one.
pub const fn has_web_ui() -> bool {
    !WEB_UI.is_empty()
}

/// Where the page stands, whatever it then shows.
const SCREENS: [&str; 6] = ["/", "/sessions", "/sessions/{id}", "/decided", "/rules", "/you"];
/// Files beside the page whose names stay the same.
const BESIDE: [&str; 6] =
    ["icon.svg", "icon-waiting.svg", "icon-512.png", "manifest.webmanifest", "service-worker.js", "theme.js"];

pub(crate) fn routes() -> Router<App> {
    let screens = SCREENS.into_iter().fold(Router::new(), |router, path| router.route(path, get(index)));
    let screens = screens.route("/login", get(login));
    let beside = BESIDE.into_iter().fold(screens, |router, name| {
        router.route(&format!("/{name}"), get(async move |headers| serve(name, Cache::Ask, &headers)))
    });
    beside.route("/assets/{name}", get(asset))
}

/// What another program left in the cache, while it had this port, is not what a browser logs in with.
async fn login(headers: HeaderMap) -> Result<Response, ApiError> {
    let mut response = index(headers).await?;
    response.headers_mut().insert(CLEAR_SITE_DATA, HeaderValue::from_static(CACHED));
    Ok(response)
}

async fn index(headers: HeaderMap) -> Result<Response, ApiError> {
    serve("index.html", Cache::Ask, &headers)
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    // Their names carry a hash of what is in them.
    serve(&format!("assets/{name}"), Cache::Forever, &headers)
}

/// How long a browser may use a file without asking.
#[derive(Debug, Clone, Copy)]
enum Cache {
    Ask,
    Forever,
}

/// Browsers say of such a request what it is for.
pub(crate) fn wants_service_worker(request: &Request) -> bool {
    *request.method() == Method::GET
        && request.headers().get("service-worker").is_some_and(|value| value == "script")
}

/// Our service worker, at any path where a browser looks for one: where another program had this port for a while, its own may
/// be registered anywhere, and is replaced by this. What that program put into the browser's cache goes, too.
pub(crate) fn service_worker(headers: &HeaderMap) -> Response {
    let mut response = serve("service-worker.js", Cache::Ask, headers).unwrap_or_else(|_| {
        ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], NO_SERVICE_WORKER).into_response()
    });
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("service-worker-allowed", HeaderValue::from_static("/"));
    headers.insert(CLEAR_SITE_DATA, HeaderValue::from_static(CACHED));
    response
}

fn serve(name: &str, cache: Cache, headers: &HeaderMap) -> Result<Response, ApiError> {
    let (kind, body, zipped) = find(name, headers).ok_or(ApiError::NotFound)?;
    let cache = match cache {
        Cache::Ask => "no-cache",
        Cache::Forever => "public, max-age=31536000, immutable",
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CACHE_CONTROL, HeaderValue::from_static(cache)),
        (VARY, HeaderValue::from_static("accept-encoding")),
    ];
    let encoding = zipped.then_some([(CONTENT_ENCODING, HeaderValue::from_static("gzip"))]);
    Ok((headers, encoding, body).into_response())
}

/// The type and bytes of a file, and whether they are zipped.
fn find(name: &str, headers: &HeaderMap) -> Option<(&'static str, &'static [u8], bool)> {
    if !has_web_ui() {
        return (name == "index.html").then_some(("text/html; charset=utf-8", NO_WEB_UI.as_bytes(), false));
    }
    let built = |name: &str| WEB_UI.iter().find(|(file, _)| *file == name).map(|(_, bytes)| *bytes);
    let accepts = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let zipped = accepts
        .is_some_and(|accepts| accepts.contains("gzip"))
        .then(|| built(&format!("{name}.gz")))
        .flatten();
    match zipped {
        Some(bytes) => Some((kind(name)?, bytes, true)),
        None => Some((kind(name)?, built(name)?, false)),
    }
}

fn kind(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    match ending {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        "webmanifest" => Some("application/manifest+json"),
        "woff2" => Some("font/woff2"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_web_ui_the_page_says_how_to_get_it_and_how_to_answer_meanwhile() {
        for words in ["just web", "just install", "holdstead inbox", "holdstead answer ID"] {
            assert!(NO_WEB_UI.contains(words), "{words}");
        }
        // The policy of the page allows none of these.
        for part in ["<script", "<style", "style=", "src=", "href="] {
            assert!(!NO_WEB_UI.contains(part), "{part}");
        }
    }
}
