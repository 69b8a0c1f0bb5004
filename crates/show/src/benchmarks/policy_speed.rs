//! How long a decision by rules takes, and that time grows in proportion to what an agent sends: from 1 KB to 1 MB at most
//! two and a half times as long per doubling, in the reader, the rules' parser, the decision and the answers.
//!
//! Only the growth gates. The time of one decision is recorded.

use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

use holdstead_core::policy::Rules;
use holdstead_core::policy::rule::RuleFile;
use holdstead_core::policy::shell::{self, Shell};
use holdstead_core::{Command, Confirmed, Quota, Request, Respond, State, Together, asking, decide, fold};
use holdstead_protocol::{
    AskBody, Capabilities, Event, EventId, InteractionId, MessageId, Origin, OwnerId, PromptId,
    ResponseDraft, Seq, SessionId, SessionOpened, Surface, Timestamp, TurnId,
};
use serde_json::{Value, json};

use crate::latency::{Latencies, milliseconds};
use crate::policy_lines::{Asked, EXAMPLE, rules};
use crate::{Result, ensure};

const RULES: usize = 1_000;
const ROUNDS: usize = 20_000;
const LINE: &str = "cd crates/core && git status --short && git diff --stat HEAD~1 | head -20; ls -la src && \
                    cargo test -p core policy 2>&1 | tail -30; grep -rn 'fn main' src | wc -l && echo done";

const SMALLEST: usize = 1024;
const LARGEST: usize = 1024 * 1024;
const LIMIT: f64 = 2.5;
/// Below this the clock is what is measured.
const FLOOR: Duration = Duration::from_micros(50);
const TRIES: usize = 5;
const ATTEMPTS: usize = 40;

/// What is repeated until the line is long enough.
const SHAPES: [(&str, &str); 16] = [
    ("ls ", "a"),
    ("ls ", "a "),
    ("", "ls\n"),
    ("", "ls | "),
    ("ls '", "a'b'"),
    ("ls ", "\"a\" "),
    ("ls ", "\\' "),
    ("ls ", "$("),
    ("", "(("),
    ("ls ", "{a,"),
    ("", "sudo "),
    ("sudo ", "sh -c 'a;b' "),
    ("find . ", "-exec rm {} ; "),
    ("git commit -m \"", "$(cat <<'EOF'\na\nEOF\n)"),
    ("cat <<EOF\n", "`a` "),
    ("cat ", "../"),
];

fn grown(start: &str, repeated: &str, size: usize) -> String {
    start.to_owned() + &repeated.repeat(size.saturating_sub(start.len()) / repeated.len())
}

/// glibc gives freed memory back to the kernel above some size and has it faulted in again at the next round: one doubling
/// would cost more than the code does. With these it keeps what it has.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_TRIM_THRESHOLD_", "2000000000"),
    ("MALLOC_MMAP_THRESHOLD_", "1000000000"),
    ("MALLOC_TOP_PAD_", "200000000"),
];

pub(crate) fn show() -> Result<String> {
    if std::env::var_os(KEEP_MEMORY[0].0).is_none() {
        // They are read when a process starts.
        let mut again = std::process::Command::new(std::env::current_exe()?);
        return Err(again.args(std::env::args().skip(1)).envs(KEEP_MEMORY).exec().into());
    }
    let speed = speed()?;
    let rules = rules(EXAMPLE)?;
    let mut worst: f64 = 0.0;
    for (start, repeated) in SHAPES {
        let line = |size| grown(start, repeated, size);
        let reads = |line: &String| drop(std::hint::black_box(shell::read(line, Shell::Bash)));
        let decides = |line: &String| drop(std::hint::black_box(Asked::trusted(line).verdict(&rules)));
        let marks = |line: &String| drop(std::hint::black_box(Asked::trusted(line).marks()));
        worst = worst.max(growth(&format!("reader, {repeated:?}"), line, reads)?);
        worst = worst.max(growth(&format!("decision, {repeated:?}"), line, decides)?);
        worst = worst.max(growth(&format!("marks, {repeated:?}"), line, marks)?);
    }
    for repeated in [
        "allow Bash(ls:*)\n",
        "deny Bash(rm:*) # a\n  yes rm x\n",
        "allow Edit(a/**)\n",
        "x\n",
        "a",
        "#\n",
        " yes x\n",
    ] {
        let text = |size| grown("", repeated, size - 1);
        worst = worst.max(growth(&format!("rules, {repeated:?}"), text, |text| drop(RuleFile::parse(text)))?);
        let file = |size| RuleFile::parse(&text(size)).unwrap_or_default();
        let matches = |file: &RuleFile| {
            let mut rules = Rules::default();
            rules.add(holdstead_core::policy::Source::Person, file.clone());
            drop(std::hint::black_box(Asked::trusted("ls a && rm x").verdict(&rules)));
        };
        worst = worst.max(growth(&format!("matcher, {repeated:?}"), file, matches)?);
    }
    let one = |size| json!({"q": "a".repeat(size)});
    let many = |size| json!({"q": vec!["a"; size / 4]});
    worst = worst.max(growth("answer, one text", |size| Answered::new(one(size)), Answered::decide)?);
    worst = worst.max(growth("answer, many choices", |size| Answered::new(many(size)), Answered::decide)?);
    Ok(format!("{speed}; from 1 KB to 1 MB at most {worst:.2} times as long per doubling (limit {LIMIT})"))
}

/// One decision: a thousand rules, and a line of ten commands whose paths were looked up.
fn speed() -> Result<String> {
    let mut text = EXAMPLE.to_owned();
    let mut count = text.lines().filter(|line| line.starts_with(['a', 'd'])).count();
    // Half of them are about programs of the line, so that they are looked at.
    while count < RULES {
        let effect = if count % 4 == 1 { "deny" } else { "allow" };
        match count % 2 {
            0 => writeln!(text, "{effect} Bash(git show branch-{count})")?,
            _ => writeln!(text, "{effect} Bash(cargo test -p crate-{count} --release)")?,
        }
        count += 1;
    }
    let rules = rules(&text)?;
    let asked = Asked::trusted(LINE);
    let parts = asked.verdict(&rules).parts.len();
    ensure!(parts == 10 && asked.is_allowed(&rules), "{parts} commands, {:?}", asked.verdict(&rules).reason);
    let mut took = Latencies::default();
    asked.repeated(&rules, ROUNDS, |time| took.add(time));
    let [p50, p99] = [took.p50(), took.p99()].map(|time| time.as_secs_f64() * 1e6);
    Ok(format!("{RULES} rules and {parts} commands: p50 {p50:.1} µs, p99 {p99:.1} µs"))
}

/// The worst of all doublings. A machine that does other work only makes it slower, so the best of several tries counts.
fn growth<T>(name: &str, input: impl Fn(usize) -> T, run: impl Fn(&T)) -> Result<f64> {
    let sizes: Vec<usize> = std::iter::successors(Some(SMALLEST), |size| Some(size * 2))
        .take_while(|size| *size <= LARGEST)
        .collect();
    let mut best = vec![Duration::MAX; sizes.len()];
    let mut worst = f64::MAX;
    for _ in 0..ATTEMPTS {
        for (size, best) in sizes.iter().zip(&mut best) {
            let given = input(*size);
            for _ in 0..TRIES {
                let begin = Instant::now();
                run(&given);
                *best = begin.elapsed().clamp(FLOOR, *best);
            }
        }
        let per_doubling = |times: &[Duration]| times[1].as_secs_f64() / times[0].as_secs_f64();
        worst = best.windows(2).map(per_doubling).fold(0.0, f64::max);
        if worst <= LIMIT {
            break;
        }
    }
    let largest = best.last().copied().unwrap_or_default();
    println!("{name}: {} for 1 MB, at most {worst:.2} per doubling", milliseconds(largest));
    ensure!(worst <= LIMIT, "{name}: {worst:.2} times as long per doubling");
    Ok(worst)
}

const NOW: Timestamp = Timestamp::from_micros(1);

/// A session that asked a question, and an answer to it.
struct Answered {
    state: State,
    respond: Command,
}

impl Answered {
    #[expect(clippy::expect_used, reason = "what is asked is written above")]
    fn new(answers: Value) -> Self {
        let owner = OwnerId::new("ada").expect("a name");
        let session = SessionId::derive(&owner, "s");
        let question = json!({"kind": "question", "questions": [{
            "id": "q", "header": "Q", "question": "Which?", "options": [{"label": "a"}, {"label": "b"}], "multiSelect": true,
        }]});
        let body: AskBody = serde_json::from_value(question).expect("a question");
        let response: ResponseDraft =
            serde_json::from_value(json!({"action": "submit", "answers": answers})).expect("an answer");
        let request = asking(
            InteractionId::derive(session, "a"),
            PromptId::generate(),
            Origin::Caller,
            "t",
            Value::from("x"),
            body,
            Capabilities { reason: true, edit_input: true, scopes: true },
        );
        let respond = Respond {
            interaction_id: request.interaction_id,
            prompt_id: request.prompt_id,
            idempotency_key: "k".to_owned(),
            response,
            secrets_mac: None,
            name: "ana".to_owned(),
            surface: Surface::Api,
            actor: None,
            together: Together::Alone,
            confirmed: Confirmed::NotRequired,
            turn_id: TurnId::generate(),
            message_id: MessageId::generate(),
        };
        let asked = Request { request, owner_grants: Vec::new(), allowed_by: None, quota: Quota::default() };
        let mut state = State::Unopened;
        let commands =
            [Command::Open(Box::new(SessionOpened::new(owner, "caller"))), Command::Request(Box::new(asked))];
        for (seq, command) in (1..).zip(commands) {
            for body in decide(&state, &command, None, NOW).expect("it is asked") {
                fold(
                    &mut state,
                    &Event { id: EventId::generate(), seq: Seq(seq), at: NOW, heard: None, body },
                );
            }
        }
        Self { state, respond: Command::Respond(Box::new(respond)) }
    }

    fn decide(&self) {
        drop(std::hint::black_box(decide(&self.state, &self.respond, None, NOW)));
    }
}
