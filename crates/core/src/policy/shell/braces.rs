//! `a.{ts,tsx}`: a word that stands for several.

/// A word stands for no more of them here,
const MAX: usize = 64;
/// and a long one for no more than all of them have bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The words that shells and searches make of it; the word itself if it has no such braces.
pub fn braces(word: &str) -> Vec<String> {
    let most = MAX.min(MAX_BYTES / word.len().max(1));
    let (mut done, mut left) = (Vec::new(), vec![word.to_owned()]);
    while let Some(word) = left.pop() {
        match innermost(&word).filter(|_| done.len() + left.len() < most) {
            Some((start, end)) => {
                let parts = word[start + 1..end].split(',');
                left.extend(parts.rev().map(|part| [&word[..start], part, &word[end + 1..]].concat()));
            }
            None => done.push(word),
        }
    }
    done
}

/// Where the first pair of braces without others inside begins and ends, if it has a comma.
fn innermost(word: &str) -> Option<(usize, usize)> {
    let mut open = None;
    for (at, c) in word.char_indices() {
        match (c, open) {
            ('{', _) => open = Some(at),
            ('}', Some(start)) if word[start..at].contains(',') => return Some((start, at)),
            ('}', Some(_)) => open = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::braces;

    #[test]
    fn words_in_braces() {
        for (word, expected) in [
            ("*.{ts,tsx}", &["*.ts", "*.tsx"][..]),
            ("a{b,{c,d}}", &["ab", "ac", "ab", "ad"]),
            ("stash@{0}", &["stash@{0}"]),
            ("{a", &["{a"]),
        ] {
            assert_eq!(braces(word), expected, "{word}");
        }
        assert!(braces(&"{a,b}".repeat(100)).len() <= super::MAX + 1);
        assert_eq!(braces(&"{a,b}".repeat(100_000)).len(), 1);
    }
}
