//! Texts of a known form. Whether the address or the link leads anywhere is not ours to know.

use holdstead_protocol::TextFormat;

pub(super) fn fits(format: TextFormat, text: &str) -> bool {
    match format {
        TextFormat::Email => is_email(text),
        TextFormat::Uri => is_uri(text),
        TextFormat::DateTime => is_date_time(text),
    }
}

/// As browsers check it: something before the `@`, and a host name after it.
fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let in_name = |c: char| c.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(c);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    !name.is_empty() && name.chars().all(in_name) && text.len() <= 254 && host.split('.').all(is_label)
}

/// A scheme and what follows it, in the letters that RFC 3986 has.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let host = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?', '#']).next());
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(in_scheme)
        && !rest.is_empty()
        && rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c))
        && rest
            .split('%')
            .skip(1)
            .all(|after| after.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)))
        && (!web || host.is_some_and(|host| !host.is_empty()))
}

/// RFC 3339. The parser alone takes more: other separators, no seconds, zones by name.
fn is_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20
        && bytes.get(10).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'T'))
        && bytes.get(16) == Some(&b':')
        && !text.contains('[')
        && text.parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_takes_its_own_and_refuses_others() {
        let cases: [(TextFormat, &[&str], &[&str]); 3] = [
            (
                TextFormat::Email,
                &["ana@example.org", "a.b+c@localhost", "jürgen@bücher.example"],
                &[
                    "ana",
                    "@example.org",
                    "ana@",
                    "a b@example.org",
                    "ana@example..org",
                    "ana@-x.org",
                    "a@b@c",
                ],
            ),
            (
                TextFormat::Uri,
                &["https://example.org/a?b=%20#c", "mailto:ana@example.org", "urn:isbn:0451450523"],
                &["example.org", "https://", "http:x", "https://a b", "https://x/%2", "1a:b", ":x", "x:"],
            ),
            (
                TextFormat::DateTime,
                &["2026-01-31T09:30:00Z", "2026-01-31t09:30:00.25+02:00"],
                &[
                    "2026-01-31",
                    "2026-01-31T09:30Z",
                    "2026-01-31 09:30:00Z",
                    "2026-01-31T09:30:00",
                    "2026-02-30T09:30:00Z",
                    "2026-01-31T09:30:00+01:00[Europe/Paris]",
                ],
            ),
        ];
        for (format, good, bad) in cases {
            for text in good {
                assert!(fits(format, text), "{format:?} refuses {text}");
            }
            for text in bad {
                assert!(!fits(format, text), "{format:?} takes {text}");
            }
        }
    }
}
