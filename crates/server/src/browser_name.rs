//! What a browser is called in the list of a person's devices, by what it says of itself.

/// Found in this order: each also claims to be some of those behind it.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Never what it says word for word: the list is read by people.
pub(crate) fn browser_name(user_agent: &str) -> String {
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, Some(system)) => format!("Browser on {system}"),
        (None, None) => "Browser".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ones_are_told_apart() {
        let apple = "AppleWebKit/605.1.15 (KHTML, like Gecko)";
        let chrome = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";
        for (said, name) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0", "Firefox on Linux"),
            (
                &format!("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) {apple} Safari/604.1"),
                "Safari on iPhone",
            ),
            (&format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {chrome}"), "Chrome on a Mac"),
            (&format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) {chrome} Edg/130.0.0.0"), "Edge on Windows"),
            (&format!("Mozilla/5.0 (Linux; Android 14; Pixel 8) {chrome}"), "Chrome on Android"),
            ("curl/8.5.0", "Browser"),
            ("<script>\u{1b}[31m", "Browser"),
            ("", "Browser"),
        ] {
            assert_eq!(browser_name(said), name, "{said}");
        }
    }
}
