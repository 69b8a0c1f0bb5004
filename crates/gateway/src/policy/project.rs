//! A project's own rules. They come with a repository, so whoever wrote it may have written them.

use std::collections::BTreeSet;

use holdstead_agents::ProjectFiles;
use holdstead_core::policy::rule::RuleFile;
use holdstead_core::policy::{Rules, Source, Trust, Withheld};
use holdstead_protocol::Digest;
use holdstead_runner::{Ground, MAX_RULES, RULES_FILE, RulesFile, TrustedFolder, TrustedNow, rules_digest};

/// The word for a folder's rules and its repository where others name the kind of agent whose files are trusted.
pub(crate) const KIND: &str = "rules";

/// Names the file as it is; also where there is none.
pub(crate) fn digest_of(file: &RulesFile) -> Option<Digest> {
    match file {
        RulesFile::None => Some(rules_digest(b"")),
        RulesFile::Text { text } => Some(rules_digest(text.as_bytes())),
        RulesFile::Wrong { .. } => None,
    }
}

/// The rules in it, or why none counts.
fn read(file: &RulesFile) -> Result<Option<RuleFile>, String> {
    match file {
        RulesFile::None => Ok(None),
        RulesFile::Text { text } if text.len() as u64 > MAX_RULES => {
            Err("it is longer than 64 KB".to_owned())
        }
        RulesFile::Text { text } => RuleFile::parse(text)
            .map(Some)
            .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string)),
        RulesFile::Wrong { why } => Err(why.clone()),
    }
}

/// Adds what counts of a folder's rules, and tells whether a person trusts the folder as it is.
pub(super) fn add(rules: &mut Rules, ground: &Ground, trusts: &[holdstead_protocol::Trust]) -> Trust {
    let trust = trust(ground, trusts);
    if let Ok(Some(file)) = read(&ground.rules) {
        rules.add(Source::Project(trust), file);
    }
    trust
}

/// What of a folder's rules does not count, in words; nothing if all of it does.
pub(crate) fn left_out(ground: &Ground, trusts: &[holdstead_protocol::Trust]) -> Option<String> {
    match read(&ground.rules) {
        Ok(None) => None,
        Err(why) => Some(format!("No rule of this folder's {RULES_FILE} counts: {why}")),
        Ok(Some(file)) => {
            let withheld = Rules::default().add(Source::Project(trust(ground, trusts)), file);
            let first: Vec<String> = withheld.iter().take(3).map(Withheld::to_string).collect();
            let more = withheld.len().saturating_sub(first.len());
            let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
            (!first.is_empty()).then(|| format!("In this folder's {RULES_FILE}: {}{rest}", first.join("; ")))
        }
    }
}

/// The folders that are trusted for an agent. What they bring is known where the agent runs.
pub(super) fn folders<'a>(trusts: impl Iterator<Item = &'a holdstead_protocol::Trust>) -> Vec<TrustedFolder> {
    let folders = trusts.filter(|trust| trust.agent != KIND).map(folder_of);
    // More than one trust of a folder, if its files were trusted again after a change.
    folders.collect::<BTreeSet<_>>().into_iter().collect()
}

fn folder_of(trust: &holdstead_protocol::Trust) -> TrustedFolder {
    TrustedFolder { agent: trust.agent.clone(), folder: trust.folder.clone() }
}

fn covers(trust: &holdstead_protocol::Trust, now: &TrustedNow) -> bool {
    now.of == folder_of(trust) && now.digest.as_ref() == Some(&trust.digest)
}

/// Whether one of these trusts covers what this agent runs of the session's folder.
pub(super) fn trusted_files<'a>(
    ground: &Ground,
    mut trusts: impl Iterator<Item = &'a holdstead_protocol::Trust>,
    agent: &str,
) -> ProjectFiles {
    let now = ground.trusted.iter().find(|now| now.of.agent == agent && now.of.folder == ground.folder);
    match now {
        Some(now) if trusts.any(|trust| covers(trust, now)) => ProjectFiles::Trusted,
        Some(_) | None => ProjectFiles::Closed,
    }
}

/// The files in the session's folder that some agent runs in a trusted folder.
pub(super) fn runs(ground: &Ground, trusts: &[holdstead_protocol::Trust]) -> Vec<String> {
    let covered = ground.trusted.iter().filter(|now| trusts.iter().any(|trust| covers(trust, now)));
    let runs: BTreeSet<&String> = covered.flat_map(|now| &now.runs).collect();
    runs.into_iter().cloned().collect()
}

fn trust(ground: &Ground, trusts: &[holdstead_protocol::Trust]) -> Trust {
    let now = digest_of(&ground.rules);
    let covers = |trust: &&holdstead_protocol::Trust| {
        trust.agent == KIND && trust.folder == ground.folder && Some(&trust.digest) == now.as_ref()
    };
    super::trust_of(trusts.iter().any(|trust| covers(&trust)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use holdstead_runner::find_rules;

    use super::*;

    fn ground(folder: &Path) -> Ground {
        Ground { rules: find_rules(folder), ..Ground::unknown(folder) }
    }

    fn folder_with(rules: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".holdstead")).expect("a folder");
        std::fs::write(folder.path().join(RULES_FILE), rules).expect("a file");
        folder
    }

    #[test]
    fn a_project_narrows_until_a_person_trusts_it_as_it_is() {
        let folder = folder_with(b"allow Bash(make test)\ndeny Bash(rm:*)\n");
        let counted = |trusts: &[holdstead_protocol::Trust]| {
            let mut rules = Rules::default();
            let trust = add(&mut rules, &ground(folder.path()), trusts);
            (trust, rules.iter().map(|placed| placed.rule.text.clone()).collect::<Vec<_>>())
        };
        assert_eq!(counted(&[]), (Trust::Untrusted, vec!["deny Bash(rm:*)".to_owned()]));
        let words = left_out(&ground(folder.path()), &[]).expect("words");
        assert!(words.contains("allow Bash(make test)"), "{words}");
        let trusted = |digest: Option<Digest>| holdstead_protocol::Trust {
            trust_id: holdstead_protocol::TrustId::of(KIND, "x", digest.as_ref().expect("a digest")),
            agent: KIND.to_owned(),
            folder: folder.path().display().to_string(),
            digest: digest.expect("a digest"),
            files: vec![RULES_FILE.to_owned()],
            given_by: "ana".to_owned(),
            given_at: holdstead_protocol::Timestamp::from_micros(0),
        };
        let trust = trusted(digest_of(&find_rules(folder.path())));
        assert_eq!(counted(std::slice::from_ref(&trust)).1.len(), 2);
        assert_eq!(left_out(&ground(folder.path()), std::slice::from_ref(&trust)), None);
        std::fs::write(folder.path().join(RULES_FILE), "allow Bash(make test)\nallow Bash(make all)\n")
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
            let why = left_out(&ground(folder.path()), &[]).expect("words");
            assert!(why.contains(words), "{why}");
        }
        let folder = folder_with(b"allow Read");
        let file = folder.path().join(RULES_FILE);
        std::fs::rename(&file, folder.path().join("elsewhere")).expect("moved");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).expect("a link");
        assert!(left_out(&ground(folder.path()), &[]).is_some_and(|why| why.contains("a link")));
        assert_eq!(find_rules(Path::new("/nowhere")), RulesFile::None);
    }
}
