//! The forms of the tables, as `oracle/probe.py` is asked about them.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use holdstead_core::policy::programs::{Style, Switch, programs};
use serde::Serialize;

use super::answer::Answer;
use crate::Result;
use crate::claims::bypass::oracle::python;

/// A form, or what may stand before a subcommand or behind `--`.
#[derive(Serialize)]
pub(super) struct Question {
    pub(super) head: Vec<&'static str>,
    pub(super) options: Vec<&'static str>,
    /// `-name` is one option, and no bundle of letters.
    pub(super) whole_words: bool,
    #[serde(skip)]
    pub(super) switches: &'static HashMap<&'static str, Switch>,
    #[serde(skip)]
    pub(super) needs: &'static str,
}

/// All forms with options.
pub(super) fn questions() -> Vec<Question> {
    let mut questions = Vec::new();
    let mut add = |head: &[&'static str], switches: &'static HashMap<_, _>, whole_words, needs| {
        let options: Vec<&str> = switches.keys().copied().collect();
        questions.push(Question { head: head.to_vec(), options, whole_words, switches, needs });
    };
    for (name, program) in programs() {
        for form in &program.forms {
            let whole_words = matches!(form.style, Style::Find | Style::OneDash);
            add(
                &form.head,
                &form.words.options,
                whole_words,
                form.needs.first().copied().unwrap_or_default(),
            );
            if let Some(after) = &form.after {
                add(&[form.head.as_slice(), &["--"]].concat(), &after.options, whole_words, "");
            }
        }
        add(&[name], &program.before, false, "");
    }
    questions.retain(|question| !question.options.is_empty());
    questions.sort_by_key(|question| question.head.clone());
    questions
}

/// What the programs of a PATH say, which are not in the other one as well.
pub(super) fn ask(
    questions: Vec<Question>,
    path: &str,
    before: Option<&str>,
) -> Result<Vec<(Question, Answer)>> {
    let queue = Mutex::new(questions);
    std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| ask_one_by_one(&queue, path, before)));
        let told = threads.map(|thread| thread.join().map_err(|_| "a thread of the show ended")?);
        told.into_iter().collect::<Result<Vec<_>>>().map(|told| told.into_iter().flatten().collect())
    })
}

/// Asks about what is left in the queue.
fn ask_one_by_one(
    queue: &Mutex<Vec<Question>>,
    path: &str,
    before: Option<&str>,
) -> Result<Vec<(Question, Answer)>> {
    let mut probe = python("probe.py")?;
    probe.arg(path).args(before);
    let mut probe = probe.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = probe.stdin.take().ok_or("no input of the probe")?;
    let mut answers = BufReader::new(probe.stdout.take().ok_or("no output of the probe")?).lines();
    let mut told = Vec::new();
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
    while let Some(question) = next() {
        writeln!(input, "{}", serde_json::to_string(&question)?)?;
        told.push((question, serde_json::from_str(&answers.next().ok_or("the probe ended")??)?));
    }
    drop(input);
    probe.wait()?;
    Ok(told)
}
