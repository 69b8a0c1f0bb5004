//! Paths as text. Symbolic links are somebody else's to follow.

/// Without `.`, `..` and doubled `/`; `None` for what is not absolute, or climbs above the top.
pub(super) fn normal(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.strip_prefix('/')?.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            _ => names.push(name),
        }
    }
    Some(format!("/{}", names.join("/")))
}

/// The path relative to a folder it lies in; empty for the folder itself. Both are normal.
pub(super) fn inside<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let folder = folder.trim_end_matches('/');
    match path.strip_prefix(folder)? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

/// As a program that runs in `base` would open it.
pub(super) fn join(base: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", base.trim_end_matches('/')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_a_folder() {
        let cases = [
            ("/p", Some("")),
            ("/p/a", Some("a")),
            ("/p/./a//b/", Some("a/b")),
            ("/p/a/../b", Some("b")),
            ("/p/../q", None),
            ("/p/a/../../p/b", Some("b")),
            ("/pq/a", None),
            ("/", None),
            ("/../p/a", None),
            ("p/a", None),
        ];
        for (path, expected) in cases {
            let normal = normal(path);
            assert_eq!(normal.as_deref().and_then(|path| inside("/p", path)), expected, "{path}");
        }
        assert_eq!(inside("/", "/a/b"), Some("a/b"));
        assert_eq!((join("/p", "a").as_str(), join("/p/", "/a").as_str()), ("/p/a", "/a"));
    }
}
