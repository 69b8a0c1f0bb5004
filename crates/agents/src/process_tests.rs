use holdstead_protocol::AgentBox;
use uuid::Uuid;

use super::*;
use crate::marks::Marks;

/// Every line is text; `parked` parks; `echo` is said back.
#[derive(Debug)]
struct Plain;

impl Wire for Plain {
    fn hear(&mut self, line: &str) -> Vec<Effect> {
        match line {
            "parked" => vec![Effect::Parked],
            "echo" => vec![Effect::Write("echo".to_owned())],
            _ => vec![Effect::Event(AgentEvent::Text { text: line.to_owned(), parents: Vec::new() })],
        }
    }

    fn heard(&mut self, _line: Value, _flaw: Option<&Flaw>) -> Vec<Effect> {
        Vec::new()
    }

    fn say(&mut self, outgoing: &Outgoing) -> Vec<Effect> {
        let line = if let Outgoing::Message { text } = outgoing { text.clone() } else { String::new() };
        vec![Effect::Write(line)]
    }
}

fn unboxed(command: Vec<String>) -> Hosted {
    let marks = Marks { life: Uuid::new_v4().to_string(), hosted_by: None };
    Hosted { command, boxed: AgentBox::None { why: String::new() }, marks, account: None }
}

fn spawn_shell(script: &str) -> Agent {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let env = vec![("FROM_DRIVER".to_owned(), "yes".to_owned())];
    let hosted = unboxed(command);
    spawn(Spawn { hosted, cwd: std::env::temp_dir(), env, hint: "", wire: Box::new(Plain), files: None })
        .unwrap()
}

async fn next(agent: &mut Agent) -> Option<AgentEvent> {
    tokio::time::timeout(Duration::from_secs(20), agent.events.recv()).await.expect("something in time")
}

/// Its lines, and how it ended.
async fn all(agent: &mut Agent) -> (Vec<String>, AgentExit) {
    let mut lines = Vec::new();
    loop {
        let event = next(agent).await.expect("its exit comes before the end");
        if let AgentEvent::Exited(exit) = event {
            assert_eq!(next(agent).await, None, "its exit is its last event");
            return (lines, exit);
        }
        let (AgentEvent::Text { text, .. } | AgentEvent::Error { message: text }) = event else {
            panic!("{event:?}")
        };
        lines.push(text);
    }
}

fn exit(parked: bool, code: Option<i32>, stderr: &str) -> AgentExit {
    AgentExit { parked, code, stderr: stderr.to_owned() }
}

#[tokio::test]
async fn lines_go_both_ways_and_the_exit_comes_last() {
    let mut agent = spawn_shell("read a; echo \"got $a\"; echo why >&2; exit 3");
    agent.input.send(Outgoing::Message { text: "hello".into() }).await.unwrap();
    assert_eq!(all(&mut agent).await, (vec!["got hello".to_owned()], exit(false, Some(3), "why")));
    let late = agent.input.send(Outgoing::Message { text: "still there?".into() }).await;
    assert_eq!(late, Err(WriteError));
}

#[tokio::test]
async fn what_it_says_may_be_answered_at_once() {
    let mut agent = spawn_shell("echo echo; read a; echo \"got $a\"");
    assert_eq!(all(&mut agent).await, (vec!["got echo".to_owned()], exit(false, Some(0), "")));
}

#[tokio::test]
async fn parked_is_said_and_done() {
    let mut parked = spawn_shell("echo parked");
    assert_eq!(all(&mut parked).await.1, exit(true, Some(0), ""));
    let mut failed = spawn_shell("echo parked; exit 1");
    assert_eq!(all(&mut failed).await.1, exit(false, Some(1), ""));
}

#[tokio::test]
async fn only_a_few_variables_are_inherited() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "there is something not to inherit");
    let (lines, _) = all(&mut spawn_shell("env")).await;
    let names: Vec<_> = lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    // A shell adds the last three by itself.
    let allowed = |name: &&&str| {
        INHERITED.contains(*name) || ["FROM_DRIVER", "HOLDSTEAD_LIFE", "PWD", "SHLVL", "_"].contains(*name)
    };
    assert_eq!(names.iter().filter(|name| !allowed(name)).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(names.contains(&"PATH") && names.contains(&"FROM_DRIVER"), "{names:?}");
}

#[tokio::test]
async fn an_endless_line_is_skipped_alone() {
    let (lines, _) = all(&mut spawn_shell("head -c 9000000 /dev/zero; echo; echo after")).await;
    let too_long = "the agent wrote a line of more than 8388608 bytes; it was skipped";
    assert_eq!(lines, [too_long, "after"]);
}

#[tokio::test]
async fn only_the_end_of_stderr_is_kept() {
    let (_, exit) = all(&mut spawn_shell("head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2")).await;
    assert!(exit.stderr.len() <= STDERR_LIMIT && exit.stderr.ends_with("xend"));
}

#[tokio::test]
async fn a_program_or_folder_that_is_missing_is_named() {
    let start = |program: &str, cwd: &str| {
        let command = vec![program.to_owned()];
        spawn(Spawn {
            hosted: unboxed(command),
            cwd: cwd.into(),
            env: Vec::new(),
            hint: "install it",
            wire: Box::new(Plain),
            files: None,
        })
    };
    assert!(matches!(start("no-such-program", "/"), Err(StartError::NotFound { hint: "install it", .. })));
    assert!(matches!(start("sh", "/no/such/folder"), Err(StartError::NoFolder { .. })));
}

#[cfg(target_os = "linux")]
mod group {
    use super::*;

    /// Starts an agent with a child of its own, and gives that child's pid.
    async fn with_child() -> (Agent, String) {
        let mut agent = spawn_shell("sleep 1000 & echo $!; wait");
        let Some(AgentEvent::Text { text: pid, .. }) = next(&mut agent).await else { panic!("a pid") };
        assert!(is_alive(&pid));
        (agent, pid)
    }

    fn is_alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A dead process that nobody has collected yet is dead.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    }

    async fn dies(pid: &str) {
        let dead = async {
            while is_alive(pid) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), dead).await.expect("it dies");
    }

    #[tokio::test]
    async fn killing_an_agent_kills_its_children() {
        let (mut agent, child) = with_child().await;
        agent.input.kill();
        assert_eq!(all(&mut agent).await, (Vec::new(), exit(false, None, "")));
        dies(&child).await;
    }

    #[tokio::test]
    async fn dropping_an_agent_kills_its_children() {
        let (agent, child) = with_child().await;
        let input = agent.input.clone();
        drop(agent);
        dies(&child).await;
        // Its pipe closes a moment after it died.
        while input.send(Outgoing::Interrupt).await.is_ok() {}
    }

    #[tokio::test]
    async fn an_agent_that_ends_takes_its_children_along() {
        let mut agent = spawn_shell("sleep 1000 & echo $!");
        let (lines, ended) = all(&mut agent).await;
        assert_eq!(ended, exit(false, Some(0), ""));
        dies(&lines[0]).await;
    }

    #[test]
    fn the_end_of_the_runtime_is_the_end_of_the_group() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (agent, child) = runtime.block_on(with_child());
        drop(runtime);
        let watcher = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        watcher.block_on(dies(&child));
        drop(agent);
    }
}
