//! A project's own rules. They come with a repository, so whoever wrote it may have written them.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use holdstead_core::policy::rule::RuleFile;
use holdstead_core::policy::{Rules, Source, Trust, Withheld};
use holdstead_protocol::Digest;
use sha2::{Digest as _, Sha256};

/// Where a project keeps its rules.
pub(crate) const FILE: &str = ".holdstead/rules";
/// The word for a folder's rules and its repository where others name the kind of agent whose files are trusted.
pub(crate) const KIND: &str = "rules";
/// The longest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// A project's file as it is now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Rules {
        file: RuleFile,
        digest: Digest,
    },
    /// It is there and does not count.
    Wrong {
        why: String,
        digest: Option<Digest>,
    },
}

impl Found {
    /// Names the file as it is; also where there is none.
    pub(crate) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Nothing => Some(digest(b"")),
            Self::Rules { digest, .. } => Some(digest.clone()),
            Self::Wrong { digest, .. } => digest.clone(),
        }
    }
}

/// Adds what counts of a folder's rules, and tells whether a person trusts the folder as it is.
pub(super) fn add(rules: &mut Rules, folder: &Path, trusts: &[holdstead_protocol::Trust]) -> Trust {
    let found = find(folder);
    let trust = trust(&found, folder, trusts);
    if let Found::Rules { file, .. } = found {
        rules.add(Source::Project(trust), file);
    }
    trust
}

/// What of a folder's rules does not count, in words; nothing if all of it does.
pub(crate) fn left_out(folder: &Path, trusts: &[holdstead_protocol::Trust]) -> Option<String> {
    let found = find(folder);
    let trust = trust(&found, folder, trusts);
    match found {
        Found::Nothing => None,
        Found::Wrong { why, .. } => Some(format!("No rule of this folder's {FILE} counts: {why}")),
        Found::Rules { file, .. } => {
            let withheld = Rules::default().add(Source::Project(trust), file);
            let first: Vec<String> = withheld.iter().take(3).map(Withheld::to_string).collect();
            let more = withheld.len().saturating_sub(first.len());
            let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
            (!first.is_empty()).then(|| format!("In this folder's {FILE}: {}{rest}", first.join("; ")))
        }
    }
}

fn trust(found: &Found, folder: &Path, trusts: &[holdstead_protocol::Trust]) -> Trust {
    let folder = folder.display().to_string();
    let now = found.digest();
    let covers = |trust: &&holdstead_protocol::Trust| {
        trust.agent == KIND && trust.folder == folder && Some(&trust.digest) == now.as_ref()
    };
    super::trust_of(trusts.iter().any(|trust| covers(&trust)))
}

/// Follows no link: it could lead to a file that nobody showed.
pub(crate) fn find(folder: &Path) -> Found {
    let wrong = |why: &str| Found::Wrong { why: why.to_owned(), digest: None };
    let path = folder.join(FILE);
    let Some(parent) = path.parent() else { return Found::Nothing };
    match parent.symlink_metadata() {
        Err(_) => return Found::Nothing,
        Ok(meta) if !meta.is_dir() => return wrong("`.holdstead` is no folder, or a link to one"),
        Ok(_) => {}
    }
    match path.symlink_metadata() {
        Err(_) => return Found::Nothing,
        Ok(meta) if !meta.is_file() => return wrong("it is no file, or a link to one"),
        Ok(meta) if meta.len() > MAX_BYTES => return wrong("it is longer than 64 KB"),
        Ok(_) => {}
    }
    // It may have become something else since: nothing that this waits for.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let open = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&path);
    let mut bytes = Vec::new();
    match open.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
        Err(error) => return wrong(&format!("it cannot be read: {error}")),
        Ok(_) if bytes.len() as u64 > MAX_BYTES => return wrong("it is longer than 64 KB"),
        Ok(_) => {}
    }
    let digest = digest(&bytes);
    let Ok(text) = String::from_utf8(bytes) else { return wrong("it is not written in UTF-8") };
    match RuleFile::parse(&text) {
        Ok(file) => Found::Rules { file, digest },
        Err(errors) => Found::Wrong {
            why: errors.first().map_or_else(String::new, ToString::to_string),
            digest: Some(digest),
        },
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest::from_bytes(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(rules: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".holdstead")).expect("a folder");
        std::fs::write(folder.path().join(FILE), rules).expect("a file");
        folder
    }

    #[test]
    fn a_project_narrows_until_a_person_trusts_it_as_it_is() {
        let folder = folder_with(b"allow Bash(make test)\ndeny Bash(rm:*)\n");
        let counted = |trusts: &[holdstead_protocol::Trust]| {
            let mut rules = Rules::default();
            let trust = add(&mut rules, folder.path(), trusts);
            (trust, rules.iter().map(|placed| placed.rule.text.clone()).collect::<Vec<_>>())
        };
        assert_eq!(counted(&[]), (Trust::Untrusted, vec!["deny Bash(rm:*)".to_owned()]));
        let words = left_out(folder.path(), &[]).expect("words");
        assert!(words.contains("allow Bash(make test)"), "{words}");
        let trusted = |digest: Option<Digest>| holdstead_protocol::Trust {
            trust_id: holdstead_protocol::TrustId::of(KIND, "x", digest.as_ref().expect("a digest")),
            agent: KIND.to_owned(),
            folder: folder.path().display().to_string(),
            digest: digest.expect("a digest"),
            files: vec![FILE.to_owned()],
            given_by: "ana".to_owned(),
            given_at: holdstead_protocol::Timestamp::from_micros(0),
        };
        let trust = trusted(find(folder.path()).digest());
        assert_eq!(counted(std::slice::from_ref(&trust)).1.len(), 2);
        assert_eq!(left_out(folder.path(), std::slice::from_ref(&trust)), None);
        std::fs::write(folder.path().join(FILE), "allow Bash(make test)\nallow Bash(make all)\n")
            .expect("a file");
        assert_eq!(counted(std::slice::from_ref(&trust)), (Trust::Untrusted, Vec::new()));
    }

    #[test]
    fn what_is_no_plain_file_of_rules_does_not_count_and_says_why() {
        for (bytes, words) in [
            (&b"allow Bash"[..], "this would allow every command"),
            (b"allow Read\xff", "UTF-8"),
            (&[b'#'; 70_000], "longer than 64 KB"),
        ] {
            let folder = folder_with(bytes);
            let why = left_out(folder.path(), &[]).expect("words");
            assert!(why.contains(words), "{why}");
        }
        let folder = folder_with(b"allow Read");
        let file = folder.path().join(FILE);
        std::fs::rename(&file, folder.path().join("elsewhere")).expect("moved");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).expect("a link");
        assert!(left_out(folder.path(), &[]).is_some_and(|why| why.contains("a link")));
        assert_eq!(find(Path::new("/nowhere")), Found::Nothing);
    }
}
