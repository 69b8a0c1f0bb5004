use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use holdstead_protocol::OwnerId;
use tempfile::TempDir;

use super::*;

const CONVERSATION: &str = "810787e2-1f9a-499d-998a-b5e2410cd06c";
const SAID: &str = "{\"type\":\"user\",\"uuid\":\"a\"}\n";
const MORE: &str = "{\"type\":\"user\",\"uuid\":\"b\",\"parentUuid\":\"a\"}\n";

/// A person's home with one conversation in it, and our folder.
struct Home {
    folder: TempDir,
    kept: Kept,
    session: SessionId,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(folder.path().join("ours"), Some(folder.path().join("projects")));
        let home =
            Self { folder, kept, session: SessionId::generate(&OwnerId::new("local").expect("a name")) };
        home.write("transcript", SAID);
        home.write("beside/tool-results/long.txt", "a long result");
        home
    }

    fn path(&self, of: &str) -> PathBuf {
        let project = self.folder.path().join("projects/-src-project");
        match of {
            "transcript" => project.join(format!("{CONVERSATION}.jsonl")),
            beside => project.join(CONVERSATION).join(beside.trim_start_matches("beside/")),
        }
    }

    fn write(&self, of: &str, text: &str) {
        std::fs::create_dir_all(self.path(of).parent().unwrap()).unwrap();
        std::fs::write(self.path(of), text).unwrap();
    }

    fn read(&self, of: &str) -> String {
        std::fs::read_to_string(self.path(of)).unwrap()
    }

    fn keep(&self) {
        assert!(self.kept.keep(self.session, CONVERSATION).unwrap());
    }

    fn put_back(&self, at: ResumeAt) -> Found {
        self.kept.put_back(self.session, CONVERSATION, at).unwrap()
    }
}

#[test]
fn what_was_deleted_or_changed_while_parked_is_put_back() {
    let home = Home::new();
    home.keep();
    std::fs::remove_dir_all(home.folder.path().join("projects")).unwrap();
    assert_eq!(home.put_back(ResumeAt::OpenAsks), Found::AsItWas);
    assert_eq!(
        (home.read("transcript"), home.read("beside/tool-results/long.txt")),
        (SAID.into(), "a long result".into())
    );
    for changed in [format!("{SAID}{MORE}"), MORE.to_owned(), String::new()] {
        home.keep();
        home.write("transcript", &changed);
        let Found::Changed(replaced) = home.put_back(ResumeAt::OpenAsks) else {
            panic!("{changed:?} was not seen")
        };
        assert_eq!(home.read("transcript"), SAID);
        assert_eq!(std::fs::read_to_string(replaced).unwrap(), changed, "the changed file is kept");
    }
}

#[test]
fn a_long_transcript_is_put_back_whole() {
    let home = Home::new();
    let long = SAID.repeat(10_000);
    home.write("transcript", &long);
    home.keep();
    // As long as before, and different at its end alone.
    let changed = format!("{}?", &long[..long.len() - 1]);
    home.write("transcript", &changed);
    let Found::Changed(replaced) = home.put_back(ResumeAt::OpenAsks) else { panic!("it was not seen") };
    assert!(home.read("transcript") == long);
    assert!(std::fs::read_to_string(replaced).unwrap() == changed);
}

#[test]
fn what_was_said_after_the_copy_was_made_stays() {
    let home = Home::new();
    home.keep();
    // The process started, was parked nowhere, and died with its runner.
    assert_eq!(home.put_back(ResumeAt::OpenAsks), Found::AsItWas);
    home.write("transcript", &format!("{SAID}{MORE}"));
    for at in [ResumeAt::OpenAsks, ResumeAt::NextMessage] {
        assert_eq!(home.put_back(at), Found::AsItWas);
        assert_eq!(home.read("transcript"), format!("{SAID}{MORE}"));
    }
    // Without a copy there is nothing to compare with.
    home.kept.discard(home.session).unwrap();
    home.write("transcript", MORE);
    assert_eq!(home.put_back(ResumeAt::OpenAsks), Found::AsItWas);
    assert_eq!(home.read("transcript"), MORE);
}

#[test]
fn an_old_transcript_is_young_when_its_program_starts() {
    let home = Home::new();
    home.keep();
    let old = SystemTime::now() - Duration::from_secs(40 * 24 * 60 * 60);
    for of in ["transcript", "beside/tool-results/long.txt"] {
        File::options().write(true).open(home.path(of)).unwrap().set_modified(old).unwrap();
    }
    assert_eq!(home.put_back(ResumeAt::NextMessage), Found::AsItWas);
    for of in ["transcript", "beside/tool-results/long.txt"] {
        let age = home.path(of).metadata().unwrap().modified().unwrap().elapsed().unwrap();
        assert!(age < Duration::from_secs(60), "{of} is {age:?} old");
    }
}

#[test]
fn a_copy_that_cannot_be_made_leaves_no_older_one() {
    let home = Home::new();
    home.keep();
    let transcript = File::options().write(true).open(home.path("transcript")).unwrap();
    transcript.set_len(MOST_BYTES + 1).unwrap();
    let failed = home.kept.keep(home.session, CONVERSATION).unwrap_err();
    assert!(failed.to_string().contains("larger than 512 MB"), "{failed}");
    assert_eq!(home.kept.sessions(), []);
    // A conversation that the program did not write down.
    std::fs::remove_file(home.path("transcript")).unwrap();
    assert!(!home.kept.keep(home.session, CONVERSATION).unwrap());
}

#[test]
fn links_and_names_of_an_agents_making_lead_nowhere() {
    let home = Home::new();
    let secret = home.folder.path().join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("token"), "a token").unwrap();
    symlink(&secret, home.path("beside/link")).unwrap();
    symlink(secret.join("token"), home.path("beside/token")).unwrap();
    home.keep();
    let ours = home.kept.copy_of(home.session, "").join("-src-project").join(CONVERSATION);
    let names: Vec<_> = std::fs::read_dir(ours).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["tool-results"]);
    // Put back, a link is replaced, and not what it leads to.
    std::fs::remove_file(home.path("transcript")).unwrap();
    symlink(secret.join("token"), home.path("transcript")).unwrap();
    home.put_back(ResumeAt::NextMessage);
    assert_eq!(home.read("transcript"), SAID);
    assert_eq!(std::fs::read_to_string(secret.join("token")).unwrap(), "a token");
    for name in ["../../secret", "", "*", "token"] {
        assert!(home.kept.keep(home.session, name).is_err(), "{name}");
    }
}

#[test]
fn copies_are_its_owners_alone_and_go_with_the_session() {
    let home = Home::new();
    home.keep();
    let ours = home.kept.copy_of(home.session, "");
    assert_eq!(ours.metadata().unwrap().permissions().mode() & 0o77, 0);
    assert_eq!(home.kept.sessions(), [home.session]);
    home.write("transcript", MORE);
    home.put_back(ResumeAt::NextMessage);
    home.kept.discard(home.session).unwrap();
    home.kept.discard(home.session).unwrap();
    assert_eq!(std::fs::read_dir(home.folder.path().join("ours")).unwrap().count(), 0);
}
