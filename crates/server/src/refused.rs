//! A refusal as a page: a person who opens an address in a browser reads words, a program reads JSON.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use holdstead_protocol::Refusal;

const PAGE: &str = include_str!("refused.html");

/// Turns the refusal of an address that was opened in a browser into a page.
pub(crate) fn as_page(response: Response) -> Response {
    match response.extensions().get::<Refusal>() {
        Some(refusal) => {
            let nonce = format!("{:032x}", rand::random::<u128>());
            let policy = format!("default-src 'none'; style-src 'nonce-{nonce}'; frame-ancestors 'none'");
            let page = PAGE.replace("{nonce}", &nonce).replace("{words}", &marked_up(&refusal.detail));
            let headers =
                [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)];
            (response.status(), headers, page).into_response()
        }
        None => response,
    }
}

/// Browsers ask for a page by name where an address is opened, and nowhere else.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepts.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/html"))
}

/// Words as HTML: what stands between backticks is to be typed.
fn marked_up(words: &str) -> String {
    let escaped =
        words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut html = String::new();
    for (number, part) in escaped.split('`').enumerate() {
        match number % 2 {
            0 => html.push_str(part),
            _ => html.push_str(&format!("<code>{part}</code>")),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        assert_eq!(marked_up("Run `holdstead pair`."), "Run <code>holdstead pair</code>.");
        assert_eq!(
            marked_up("<img src=\"x\"> & `<b>`"),
            "&lt;img src=&quot;x&quot;&gt; &amp; <code>&lt;b&gt;</code>"
        );
    }

    #[test]
    fn only_an_address_that_was_opened_wants_a_page() {
        for (accept, page) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("application/xhtml+xml, text/html;q=0.9", true),
            ("*/*", false),
            ("application/json", false),
            ("text/event-stream", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]);
            assert_eq!(wants_page(&headers), page, "{accept}");
        }
        assert!(!wants_page(&HeaderMap::new()));
    }
}
