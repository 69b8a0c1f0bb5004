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
    /// The process that ended last.
    life: std::cell::Cell<u32>,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept {
            copies: folder.path().join("ours"),
            projects: Some(folder.path().join("projects")),
            private: vec![folder.path().canonicalize().unwrap().join("ours")],
            account: None,
        };
        let session = SessionId::generate(&OwnerId::new("local").expect("a name"));
        let home = Self { folder, kept, session, life: std::cell::Cell::new(1) };
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

    fn now(&self) -> Life {
        Life { session: self.session, number: self.life.get() }
    }

    fn keep(&self) {
        self.kept.keep(&self.now(), CONVERSATION).unwrap();
    }

    /// For the next process, which then ends without being seen to.
    fn put_back(&self, at: ResumeAt) -> Found {
        self.life.set(self.life.get() + 1);
        self.kept.put_back(&self.now(), CONVERSATION, at).unwrap()
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
        let Found::Changed(Some(replaced)) = home.put_back(ResumeAt::OpenAsks) else {
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
    let Found::Changed(Some(replaced)) = home.put_back(ResumeAt::OpenAsks) else { panic!("it was not seen") };
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
fn a_copy_that_cannot_be_made_leaves_the_older_one() {
    let home = Home::new();
    home.keep();
    let fails = |why: &str| {
        let failed = home.kept.keep(&home.now(), CONVERSATION).unwrap_err();
        assert!(failed.to_string().contains(why), "{failed}");
    };
    let transcript = File::options().write(true).open(home.path("transcript")).unwrap();
    transcript.set_len(MOST_BYTES + 1).unwrap();
    fails("larger than 512 MB");
    home.write("transcript", MORE);
    fails("no longer what was said before");
    std::fs::remove_file(home.path("transcript")).unwrap();
    fails("no longer what was said before");
    // The life that could not be copied may have said more, and that is gone.
    home.life.set(2);
    assert_eq!(home.put_back(ResumeAt::NextMessage), Found::Older);
    assert_eq!(home.read("transcript"), SAID);
    // Many files that are empty are too much as well.
    for number in 0..=MOST_BYTES / EACH {
        home.write(&format!("beside/{number}"), "");
    }
    fails("larger than 512 MB");
    assert_eq!(
        std::fs::read_dir(home.kept.folder_of(home.session)).unwrap().count(),
        1,
        "nothing else is left"
    );
}

#[test]
fn a_copy_of_an_earlier_process_takes_nothing_back_that_was_said_since() {
    let home = Home::new();
    home.keep();
    home.write("transcript", &format!("{SAID}{MORE}"));
    // Another gateway of the same home had the session meanwhile, and parked it.
    home.life.set(3);
    assert_eq!(home.put_back(ResumeAt::OpenAsks), Found::AsItWas);
    assert_eq!(home.read("transcript"), format!("{SAID}{MORE}"));
}

#[test]
fn what_is_in_the_way_stops_no_conversation() {
    let home = Home::new();
    home.keep();
    let project = home.path("transcript").parent().unwrap().to_owned();
    let elsewhere = home.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    // A folder in the place of the transcript; a file, and then a link, in the place of its folder.
    std::fs::remove_file(home.path("transcript")).unwrap();
    std::fs::create_dir_all(home.path("transcript").join("deep")).unwrap();
    home.put_back(ResumeAt::NextMessage);
    assert_eq!(home.read("transcript"), SAID);
    std::fs::remove_dir_all(&project).unwrap();
    std::fs::write(&project, "a file").unwrap();
    home.put_back(ResumeAt::NextMessage);
    assert_eq!(home.read("transcript"), SAID);
    std::fs::remove_dir_all(&project).unwrap();
    symlink(&elsewhere, &project).unwrap();
    home.put_back(ResumeAt::NextMessage);
    assert_eq!(home.read("transcript"), SAID);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing was written through the link");
    // One that leads into our own folder is refused.
    let projects = home.folder.path().join("projects");
    std::fs::rename(&projects, home.folder.path().join("moved")).unwrap();
    symlink(home.folder.path().join("ours"), &projects).unwrap();
    let refused = home.kept.put_back(&home.now(), CONVERSATION, ResumeAt::NextMessage).unwrap_err();
    assert!(refused.to_string().contains("Holdstead's own"), "{refused}");
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
    let ours = home.kept.copy_of(home.session).join("projects/-src-project").join(CONVERSATION);
    let names: Vec<_> = std::fs::read_dir(ours).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["tool-results"]);
    // Put back, a link is replaced, and not what it leads to.
    std::fs::remove_file(home.path("transcript")).unwrap();
    symlink(secret.join("token"), home.path("transcript")).unwrap();
    home.put_back(ResumeAt::NextMessage);
    assert_eq!(home.read("transcript"), SAID);
    assert_eq!(std::fs::read_to_string(secret.join("token")).unwrap(), "a token");
    for name in ["../../secret", "", "*", "token"] {
        assert!(home.kept.keep(&home.now(), name).is_err(), "{name}");
    }
}

#[test]
fn copies_are_its_owners_alone_and_go_with_the_session() {
    let home = Home::new();
    home.keep();
    let ours = home.kept.folder_of(home.session);
    assert_eq!(ours.metadata().unwrap().permissions().mode() & 0o77, 0);
    assert_eq!(home.kept.sessions(), [home.session]);
    home.write("transcript", MORE);
    home.put_back(ResumeAt::NextMessage);
    home.kept.discard(home.session).unwrap();
    home.kept.discard(home.session).unwrap();
    assert_eq!(std::fs::read_dir(home.folder.path().join("ours")).unwrap().count(), 0);
}
