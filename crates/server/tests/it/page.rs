//! What a browser is given, whether the web UI was built or not.

use reqwest::{Method, Response};

use crate::running::Running;

async fn get(running: &Running, path: &str) -> Response {
    let request = running.plain(Method::GET, path).header("accept-encoding", "gzip");
    request.send().await.expect("an answer")
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What stands between the quotes after `src=` and `href=`.
fn linked(html: &str) -> Vec<String> {
    ["src=\"", "href=\""]
        .iter()
        .flat_map(|attribute| html.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn every_screen_is_the_page_and_is_asked_for_anew() {
    let running = Running::start().await;
    for path in ["/", "/login", "/sessions", "/sessions/ses_1", "/decided", "/rules", "/you"] {
        let response = get(&running, path).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header(&response, "content-type"), "text/html; charset=utf-8");
        assert_eq!(header(&response, "cache-control"), "no-cache");
        let policy = header(&response, "content-security-policy");
        assert!(policy.contains("script-src 'self';") && !policy.contains("unsafe"), "{policy}");
    }
}

#[tokio::test]
async fn whatever_the_page_links_to_is_there() {
    let running = Running::start().await;
    // Unzipped, so that it can be read here.
    let index = running.plain(Method::GET, "/").send().await.expect("an answer").text().await.expect("text");
    let links = linked(&index);
    assert_eq!(links.iter().any(|link| link.ends_with(".js")), holdstead_server::has_web_ui(), "{links:?}");
    for link in links {
        let response = get(&running, &link).await;
        assert_eq!(response.status(), 200, "{link}");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff", "{link}");
        // A name with a hash in it may be kept; any other is asked for anew.
        let is_hashed = link.starts_with("/assets/") && link.contains('-') && !link.contains("icon");
        assert_eq!(header(&response, "cache-control").contains("immutable"), is_hashed, "{link}");
    }
    let missing = get(&running, "/assets/nothing.js").await;
    assert_eq!(missing.status(), 404);
}
