//! The agent's program: its arguments, its stdin, its end.

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::session_file::SessionFile;
use super::turn::{Incoming, Leave, Performer};
use crate::ResumeAt;
use crate::private::Private;

/// How far who speaks to the agent may run ahead of it.
const INBOX: usize = 64;

#[derive(Debug, PartialEq, Eq)]
struct Args {
    state_dir: PathBuf,
    /// The gateway's own.
    private: Vec<PathBuf>,
    resume: Option<(String, ResumeAt)>,
    refuse_parking: bool,
}

const USAGE: &str = "usage: --state-dir FOLDER [--private PATH]… [--resume CONVERSATION [--at open-asks|next-message]] [--refuse-parking]";

/// Runs the scripted agent over this process's stdin and stdout until it goes. Blocks.
pub fn run(args: impl IntoIterator<Item = String>) -> ExitCode {
    let Some(args) = parse(args) else { return last_words(USAGE, 2) };
    let opened = open(&args);
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            let folder = args.state_dir.display();
            return last_words(&format!("the conversation could not be opened in {folder}: {error}"), 1);
        }
    };
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => return last_words(&format!("there is no current folder: {error}"), 1),
    };
    let private = Private::new(&args.private, &cwd, None);
    let performer = Performer::new(io::stdout(), listen(), file, private, args.refuse_parking);
    match performer.perform() {
        Leave::Closed | Leave::Parked => ExitCode::SUCCESS,
        Leave::Failed(words) => last_words(&words, 1),
        Leave::Broken(error) => last_words(&error.to_string(), 1),
        Leave::Crashed => std::process::abort(),
    }
}

fn open(args: &Args) -> io::Result<SessionFile> {
    match &args.resume {
        None => SessionFile::create(&args.state_dir),
        Some((id, ResumeAt::OpenAsks)) => SessionFile::load(&args.state_dir, id),
        Some((id, ResumeAt::NextMessage)) => {
            let mut file = SessionFile::load(&args.state_dir, id)?;
            file.conversation.place = None;
            file.save()?;
            Ok(file)
        }
    }
}

fn last_words(words: &str, code: u8) -> ExitCode {
    // Nobody may be there to read them.
    drop(writeln!(io::stderr(), "{words}"));
    ExitCode::from(code)
}

/// Reads stdin on a thread of its own. The inbox closes with it.
fn listen() -> Receiver<Incoming> {
    let (inbox, incoming) = sync_channel(INBOX);
    std::thread::spawn(move || read_stdin(&inbox));
    incoming
}

fn read_stdin(inbox: &SyncSender<Incoming>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let heard = match serde_json::from_str(&line) {
            Ok(said) => Incoming::Said(said),
            Err(error) => Incoming::Garbled(format!("a line on stdin is not understood: {error}")),
        };
        if inbox.send(heard).is_err() {
            return;
        }
    }
}

fn parse(args: impl IntoIterator<Item = String>) -> Option<Args> {
    let mut args = args.into_iter();
    let (mut state_dir, mut private, mut resume, mut refuse_parking) = (None, Vec::new(), None, false);
    let mut at = ResumeAt::OpenAsks;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--state-dir" => state_dir = Some(PathBuf::from(args.next()?)),
            "--private" => private.push(PathBuf::from(args.next()?)),
            "--resume" => resume = Some(args.next()?),
            "--refuse-parking" => refuse_parking = true,
            "--at" => {
                at = match args.next()?.as_str() {
                    "open-asks" => ResumeAt::OpenAsks,
                    "next-message" => ResumeAt::NextMessage,
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    Some(Args { state_dir: state_dir?, private, resume: resume.map(|id| (id, at)), refuse_parking })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn arguments() {
        let state_dir = || PathBuf::from("s");
        let plain = Args { state_dir: state_dir(), private: Vec::new(), resume: None, refuse_parking: false };
        assert_eq!(parse(words("--state-dir s")), Some(plain));
        let resume = Some(("c".to_owned(), ResumeAt::NextMessage));
        let all = Args { state_dir: state_dir(), private: vec!["p".into()], resume, refuse_parking: true };
        assert_eq!(
            parse(words("--resume c --at next-message --refuse-parking --private p --state-dir s")),
            Some(all)
        );
        for bad in ["", "--state-dir", "--state-dir s --at noon", "--state-dir s x"] {
            assert_eq!(parse(words(bad)), None, "{bad}");
        }
    }
}
