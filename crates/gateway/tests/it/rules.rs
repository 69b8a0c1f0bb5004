//! Rules decide before a person is bothered: files, answers that are remembered, modes. Each decision names them.

use holdstead_agents::{AgentEvent, Resolution};
use holdstead_core::{Command, Rejection};
use holdstead_gateway::{GatewayConfig, GatewayError, Person};
use holdstead_protocol::api::{ListedRule, NewRule, TrustFolder};
use holdstead_protocol::{
    AskBody, AskState, CallDecision, DecidedBy, Decider, EventBody, Grant, GrantId, InteractionRequest,
    Layer, PermissionMode, Requirement, ResponseDraft, Risk, Rule, RuleText, RulesFileChanged, RulesFileOf,
    Scope, SessionId, Settlement, Told,
};
use serde_json::json;

use crate::actor::{Stage, approval};
use crate::world::{PATIENCE, Talk, World, ada, answer, approve, opening, owner, respond};

const LS_TWICE: &str = "approve Bash {\"command\":\"ls\"}\napprove Bash {\"command\":\"ls\"}";

fn scoped(scope: Scope, lines: &[&str]) -> ResponseDraft {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    ResponseDraft::Approve { scope: Some(scope), lines, edited_input: None }
}

/// What was decided about calls without asking.
fn decisions(talk: &Talk) -> Vec<CallDecision> {
    let decisions = talk.seen.iter().filter_map(|event| match &event.body {
        EventBody::ToolCallEnd(end) => end.decision.as_deref().cloned(),
        _ => None,
    });
    decisions.collect()
}

fn rules_of(decision: &CallDecision) -> Vec<RuleText> {
    decision.verdict.parts.iter().filter_map(|part| part.rule.clone()).collect()
}

fn by(text: &str, layer: Layer) -> RuleText {
    RuleText { text: text.to_owned(), layer }
}

fn asks(talk: &Talk) -> usize {
    talk.seen.iter().filter(|event| matches!(event.body, EventBody::InteractionRequest(_))).count()
}

async fn listed(talk: &Talk) -> Vec<ListedRule> {
    talk.gateway.rules(&owner("ada")).await.unwrap()
}

#[tokio::test]
async fn what_is_saved_is_what_was_shown_and_decides_with_the_calls_own_event() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(&format!("{LS_TWICE}\napprove Bash {{\"command\":\"ls -a\"}}")).await;
    let ask = talk.ask().await;
    let AskBody::Approval { offered_scopes, .. } = &ask.body else { panic!("an approval") };
    let lines = |rule: &Rule| match rule {
        Rule::Lines { lines } => lines.join(" + "),
        Rule::ExactInput { .. } => "exact".to_owned(),
        Rule::Key { .. } => "key".to_owned(),
    };
    let offered: Vec<_> = offered_scopes.iter().map(|offer| (offer.scope, lines(&offer.rule))).collect();
    let of = |scope, text: &str| (scope, text.to_owned());
    let expected = [
        of(Scope::Once, "exact"),
        of(Scope::Session, "allow Bash(ls)"),
        of(Scope::Hour, "allow Bash(ls)"),
        of(Scope::Always, "allow Bash(ls)"),
        of(Scope::Session, "allow Bash(ls:*)"),
        of(Scope::Hour, "allow Bash(ls:*)"),
        of(Scope::Always, "allow Bash(ls:*)"),
    ];
    assert_eq!(offered, expected);
    talk.respond(&ask, scoped(Scope::Session, &["allow Bash(ls)"])).await;
    let other = talk.ask().await;
    assert_eq!(other.input, json!({"command": "ls -a"}), "the narrow rule does not cover it");
    let [decision] = decisions(&talk).try_into().unwrap();
    assert_eq!((decision.told, &decision.by), (Told::Allowed, &DecidedBy::Rules));
    assert_eq!(rules_of(&decision), [by("allow Bash(ls)", Layer::Session)]);
    talk.respond(&other, approve()).await;
    talk.completed().await;
    assert_eq!(asks(&talk), 2);
    assert_eq!(talk.results().await.len(), 3);
}

#[tokio::test]
async fn a_rule_that_was_not_offered_is_refused() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls\"}\napprove Bash {\"command\":\"rm -rf build\"}").await;
    let ask = talk.ask().await;
    for draft in [
        scoped(Scope::Session, &["allow Bash(cat:*)"]),
        scoped(Scope::Always, &["allow Bash(ls)", "allow Bash(cat:*)"]),
        scoped(Scope::Once, &["allow Bash(ls)"]),
    ] {
        let refused = respond(&talk.gateway, &ask, draft).await;
        let Err(GatewayError::Rejected(Rejection::Invalid { errors })) = refused else {
            panic!("{refused:?}")
        };
        assert!(errors.contains_key("lines"));
    }
    talk.respond(&ask, approve()).await;
    // What is marked can be approved once.
    let marked = talk.ask().await;
    assert_eq!(marked.marks.iter().map(|mark| mark.risk).collect::<Vec<_>>(), [Risk::Deletes]);
    let refused = respond(&talk.gateway, &marked, scoped(Scope::Session, &[])).await;
    let Err(GatewayError::Rejected(Rejection::Invalid { errors })) = refused else { panic!("{refused:?}") };
    assert!(errors.contains_key("scope"));
    talk.respond(&marked, approve()).await;
    talk.completed().await;
}

#[tokio::test]
async fn a_rule_is_listed_with_its_uses_and_taken_back_by_its_owner() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(&format!("{LS_TWICE}\nask Store: Where? | a | b\napprove Bash {{\"command\":\"ls\"}}")).await;
    let ask = talk.ask().await;
    talk.respond(&ask, scoped(Scope::Session, &[])).await;
    let question = talk.ask().await;
    let rules = listed(&talk).await;
    let [rule] = rules.as_slice() else { panic!("one: {rules:?}") };
    assert_eq!(rule.rule, Rule::Lines { lines: vec!["allow Bash(ls)".to_owned()] });
    assert_eq!(
        (rule.layer, rule.scope, rule.session_id),
        (Layer::Session, Some(Scope::Session), Some(talk.session))
    );
    assert_eq!((rule.uses, rule.given_by.as_deref()), (1, Some("Ada")));
    assert!(rule.last_use > rule.given_at);
    let id = rule.grant_id.unwrap();

    assert_eq!(talk.gateway.rules(&owner("ben")).await.unwrap(), []);
    let ben = Person { owner: owner("ben"), ..ada() };
    let refused = talk.gateway.revoke(&ben, id, Some(talk.session)).await;
    assert!(matches!(refused, Err(GatewayError::NoSession)), "{refused:?}");
    talk.gateway.revoke(&ada(), id, Some(talk.session)).await.unwrap();
    assert_eq!(listed(&talk).await, []);

    talk.respond(&question, answer(json!({ "store": "a" }))).await;
    // The next match asks, and is not decided yet.
    let again = talk.ask().await;
    talk.respond(&again, approve()).await;
    talk.completed().await;
}

#[tokio::test]
async fn an_approval_for_once_is_for_once() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say(LS_TWICE).await;
    for _ in 0..2 {
        let ask = talk.ask().await;
        talk.respond(&ask, approve()).await;
    }
    talk.completed().await;
    assert_eq!(decisions(&talk), []);
}

#[tokio::test]
async fn where_no_rule_can_be_written_the_very_same_input_is_remembered_for_the_session() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let call = "approve Deploy {\"to\":\"staging\"}";
    talk.say(&format!("{call}\n{call}\napprove Deploy {{\"to\":\"production\"}}")).await;
    let ask = talk.ask().await;
    talk.respond(&ask, scoped(Scope::Session, &[])).await;
    let other = talk.ask().await;
    assert_eq!(other.input, json!({"to": "production"}));
    let [decision] = decisions(&talk).try_into().unwrap();
    let grant_id = GrantId::from_answer(ask.prompt_id);
    assert_eq!(decision.by, DecidedBy::Grant { grant_id });
    let [rule] = listed(&talk).await.try_into().unwrap();
    assert_eq!((rule.input, rule.uses), (Some(json!({"to": "staging"})), 1));
    talk.respond(&other, approve()).await;
    talk.completed().await;
}

#[tokio::test]
async fn mode_auto_allows_what_no_rule_asks_about_and_still_asks_questions() {
    let world = World::with_rules("ask Bash(git push:*)\ndeny Bash(shutdown:*) # Not on this machine").await;
    let mut talk = world.talk_in(PermissionMode::Auto).await;
    let line = |command: &str| format!("approve Bash {{\"command\":\"{command}\"}}");
    let push = line("git push");
    talk.say(&format!("{}\n{}\n{push}\nask Store: Where? | a | b", line("make it so"), line("shutdown now")))
        .await;
    let asked = talk.ask().await;
    assert_eq!(asked.input, json!({"command": "git push"}));
    let verdict = asked.verdict.clone().unwrap();
    assert_eq!(verdict.parts[0].rule, Some(by("ask Bash(git push:*)", Layer::Organisation)));
    let [allowed, denied] = decisions(&talk).try_into().unwrap();
    assert_eq!((allowed.told, allowed.by), (Told::Allowed, DecidedBy::Mode { mode: PermissionMode::Auto }));
    assert_eq!((denied.told, denied.by), (Told::Denied, DecidedBy::Rules));
    talk.respond(&asked, approve()).await;
    let question = talk.ask().await;
    assert_eq!(question.body.kind(), "question");
    let results = talk.results().await;
    assert!(results[1].output.to_string().contains("Not on this machine"), "{results:?}");
    assert_eq!(results.len(), 3);
}

#[tokio::test]
async fn an_organisation_denies_and_allows_before_anybody_is_asked() {
    let rules = "allow Bash(ls:*)\ndeny Bash(curl:*) # Use the mirror\nallow Deploy when mode plan";
    let world = World::with_rules(rules).await;
    let mut talk = world.talk().await;
    let line = |command: &str| format!("approve Bash {{\"command\":\"{command}\"}}");
    let calls = [line("ls && ls -a"), line("ls; curl x"), line("ls && touch x")];
    talk.say(&calls.join("\n")).await;
    let asked = talk.ask().await;
    assert_eq!(asked.input, json!({"command": "ls && touch x"}));
    let parts = asked.verdict.clone().unwrap().parts;
    let told: Vec<_> = parts.iter().map(|part| (part.text.as_deref(), part.rule.is_some())).collect();
    assert_eq!(told, [(Some("ls"), true), (Some("touch x"), false)]);
    let [allowed, denied] = decisions(&talk).try_into().unwrap();
    assert_eq!(rules_of(&allowed), vec![by("allow Bash(ls:*)", Layer::Organisation); 2]);
    assert_eq!(denied.verdict.reason.as_deref(), Some("Use the mirror"));
    talk.respond(&asked, approve()).await;
    talk.completed().await;
    let results = talk.results().await;
    assert!(results[1].output.to_string().contains("Use the mirror"), "{results:?}");
    let uses: Vec<_> = listed(&talk).await.iter().map(|rule| rule.uses).collect();
    assert_eq!(uses, [2, 1, 0], "the line that asked counts for none");
}

async fn settled(talk: &Talk, id: holdstead_protocol::InteractionId) -> Decider {
    let settled = async {
        loop {
            let ask = talk.gateway.interaction(&owner("ada"), id).await.unwrap();
            match (ask.state, ask.response) {
                (AskState::Settled { .. }, Some(response)) => return response.decider,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("settled by the new rule")
}

#[tokio::test]
async fn a_new_rule_settles_what_waits_and_is_covered_but_nothing_marked() {
    let world = World::new().await;
    let line = |command: &str| format!("approve Bash {{\"command\":\"{command}\"}}");
    let (mut one, mut two, mut three) = (world.talk().await, world.talk().await, world.talk().await);
    one.say(&line("cat src")).await;
    two.say(&line("cat -A src")).await;
    three.say(&line("cat credentials.json")).await;
    let (first, covered, marked) = (one.ask().await, two.ask().await, three.ask().await);
    assert_eq!(marked.marks.len(), 1, "{:?}", marked.marks);
    one.respond(&first, scoped(Scope::Always, &["allow Bash(cat:*)"])).await;
    let rule = Decider::Rule { name: "allow Bash(cat:*)".to_owned() };
    assert_eq!(settled(&two, covered.interaction_id).await, rule);
    two.completed().await;
    one.completed().await;
    let waits = world.gateway.interaction(&owner("ada"), marked.interaction_id).await.unwrap();
    assert_eq!(waits.state, AskState::Open);
    three.respond(&marked, approve()).await;
    three.completed().await;
}

#[tokio::test]
async fn a_gateway_that_was_killed_before_it_settled_them_is_made_good_by_the_next() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"ls -a\"}").await;
    let ask = talk.ask().await;
    let journal = world.gateway.journal();
    let own = SessionId::derive(&owner("ada"), "owner");
    let lines = vec!["allow Bash(ls:*)".to_owned()];
    let grant = Grant {
        grant_id: GrantId::of_line(&owner("ada"), &lines[0]),
        rule: Rule::Lines { lines },
        scope: Scope::Always,
        given_by: "Ada".to_owned(),
        interaction_id: None,
        given_at: journal.now().await.unwrap(),
        expires_at: None,
    };
    journal.append(own, Command::Grant(grant)).await.unwrap();
    let world = world.restart().await;
    let mut talk = talk.on(&world).await;
    assert_eq!(
        settled(&talk, ask.interaction_id).await,
        Decider::Rule { name: "allow Bash(ls:*)".to_owned() }
    );
    talk.completed().await;
    assert_eq!(talk.results().await.len(), 1);
}

#[tokio::test]
async fn a_person_writes_a_rule_and_a_wrong_one_is_refused_with_its_column() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let wrong = NewRule { line: "allow Bash(git:*)".to_owned() };
    let refused = talk.gateway.add_rule(&ada(), wrong).await;
    let Err(GatewayError::Rejected(Rejection::WrongRule { column: 12, .. })) = refused else {
        panic!("{refused:?}")
    };
    let line = "deny Bash(ls:*) # Use find".to_owned();
    let id = talk.gateway.add_rule(&ada(), NewRule { line: line.clone() }).await.unwrap();
    assert_eq!(talk.gateway.add_rule(&ada(), NewRule { line }).await.unwrap(), id, "twice is once");
    talk.say(LS_TWICE).await;
    talk.completed().await;
    assert_eq!((asks(&talk), decisions(&talk).len()), (0, 2));
    talk.gateway.revoke(&ada(), id, None).await.unwrap();
    talk.say("approve Bash {\"command\":\"ls\"}").await;
    let ask = talk.ask().await;
    talk.respond(&ask, approve()).await;
    talk.completed().await;
}

#[tokio::test]
async fn a_projects_file_only_narrows_until_a_person_trusts_the_folder_as_it_is() {
    let world = World::new().await;
    let folder = world.folder.path();
    std::fs::create_dir(folder.join(".holdstead")).unwrap();
    std::fs::write(
        folder.join(".holdstead/rules"),
        "allow Bash(ls)\nallow Bash(make test)\ndeny Bash(rm:*) # No\n",
    )
    .unwrap();
    let mut talk = world.talk().await;
    let line = |command: &str| format!("approve Bash {{\"command\":\"{command}\"}}");
    let script = [line("rm x"), line("ls"), line("make test")].join("\n");
    talk.say(&script).await;
    let ls = talk.ask().await;
    let told = talk.seen.iter().any(|event| match &event.body {
        EventBody::Error(error) => error.message.contains("`allow Bash(ls)` does not count"),
        _ => false,
    });
    assert!(told, "{:#?}", talk.seen);
    talk.respond(&ls, approve()).await;
    let make = talk.ask().await;
    let needs = |ask: &InteractionRequest| ask.verdict.clone().unwrap().requirements;
    assert_eq!((needs(&ls), needs(&make)), (vec![], vec![Requirement::FolderTrust]), "the card says so");
    talk.respond(&make, approve()).await;
    talk.completed().await;
    let [denied] = decisions(&talk).try_into().unwrap();
    assert_eq!(rules_of(&denied), [by("deny Bash(rm:*) # No", Layer::Project)]);

    let shown = world
        .gateway
        .folder_files(&owner("ada"), "rules", &folder.display().to_string(), None)
        .await
        .unwrap();
    assert_eq!((shown.files.len(), shown.trust_id), (1, None));
    let trust = TrustFolder {
        agent: "rules".to_owned(),
        folder: shown.folder.clone(),
        digest: shown.digest.clone().unwrap(),
        runner: None,
    };
    world.gateway.trust(&ada(), trust).await.unwrap();
    let before = asks(&talk);
    talk.say(&script).await;
    talk.completed().await;
    assert_eq!(asks(&talk), before, "all three are decided by the trusted file");
    // Another file is another trust.
    std::fs::write(folder.join(".holdstead/rules"), "allow Bash(ls:*)\n").unwrap();
    talk.say(&line("ls")).await;
    let again = talk.ask().await;
    talk.respond(&again, approve()).await;
    talk.completed().await;
}

#[tokio::test]
async fn allowed_tools_of_a_session_are_rules() {
    let world = World::new().await;
    let cwd = Some(world.folder.path().display().to_string());
    let tools = ["Bash(ls:*)", "mcp__docs__*"].map(str::to_owned).to_vec();
    let open = holdstead_protocol::api::OpenSession { cwd, allowed_tools: tools, ..opening("scripted") };
    let mut talk = Talk::open(&world.gateway, open).await;
    talk.say("approve Bash {\"command\":\"ls -a\"}\napprove mcp__docs__search {}\napprove Bash {\"command\":\"ls; id\"}").await;
    let ask = talk.ask().await;
    assert_eq!(ask.input, json!({"command": "ls; id"}));
    let rules: Vec<_> = decisions(&talk).iter().flat_map(rules_of).collect();
    assert_eq!(rules, [by("allow Bash(ls:*)", Layer::Session), by("allow mcp__docs__*", Layer::Session)]);
    talk.respond(&ask, approve()).await;
    talk.completed().await;
}

#[tokio::test]
async fn an_ask_and_its_answer_name_the_message_that_made_the_call() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    talk.say("approve Bash {\"command\":\"make\"}").await;
    let ask = talk.ask().await;
    let made = talk.seen.iter().find_map(|event| match &event.body {
        EventBody::ToolCallStart(start) => Some(start.message_id),
        _ => None,
    });
    assert!(made.is_some());
    assert_eq!(ask.response_id, made);
    talk.respond(&ask, approve()).await;
    let answered = talk.until(|body| match body {
        EventBody::InteractionResponse(response) => Some(response.response_id),
        _ => None,
    });
    assert_eq!(answered.await, made);
    talk.completed().await;
}

/// Two gateways of one deployment, of which the second was started with other rules of the organisation.
#[tokio::test]
async fn a_gateway_with_older_rules_of_the_organisation_allows_nothing_by_them() {
    let allows = World::with_rules("allow Bash(ls:*)\ndeny Bash(rm:*)\n").await;
    let mut talk = allows.talk().await;
    talk.say("approve Bash {\"command\":\"ls -a\"}").await;
    talk.completed().await;
    assert_eq!((decisions(&talk).len(), asks(&talk)), (1, 0));
    // Its successor has recorded other rules for this owner meanwhile.
    let journal = allows.gateway.journal();
    let own = SessionId::derive(&owner("ada"), "owner");
    let head = journal.session(own).await.unwrap().expect("it was opened").state;
    let read_at = journal.now().await.unwrap();
    let (file, digest) = (RulesFileOf::Organisation { read_at }, holdstead_core::digest(&json!("others")));
    let changed = RulesFileChanged { file, digest };
    journal.append(own, Command::SeeRulesFile { changed, after: head.rules_seq }).await.unwrap();
    talk.say("approve Bash {\"command\":\"rm a\"}\napprove Bash {\"command\":\"ls -a\"}").await;
    let ask = talk.ask().await;
    assert_eq!(ask.input["command"], "ls -a");
    assert_eq!(decisions(&talk).len(), 2, "what it denied stays denied");
    talk.respond(&ask, approve()).await;
    talk.completed().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_could_not_be_judged_is_not_asked_and_its_agent_is_told_so() {
    let mut stage = Stage::ruled("allow Bash(ls)").await;
    let (mut talk, mut actor) = stage.talk().await;
    stage.judging_breaks(true);
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let Resolution::Closed { message } = actor.is_told("call_1").await else { panic!("nothing was decided") };
    assert!(message.contains("a bug in Holdstead: nothing was allowed"), "{message}");
    assert_eq!(talk.error().await, message, "the person is told, too");
    assert_eq!((asks(&talk), decisions(&talk)), (0, Vec::new()));

    // The session goes on.
    stage.judging_breaks(false);
    actor.says(AgentEvent::Ask(Box::new(approval("call_2", "ls")))).await;
    let Resolution::Settled { settlement: Settlement::Approved, .. } = actor.is_told("call_2").await else {
        panic!("a rule allows it")
    };
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_could_not_be_judged_again_waits_for_its_person() {
    let mut stage = Stage::new(GatewayConfig::DEFAULT_HOLD).await;
    let (mut talk, mut actor) = stage.talk().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_1", "ls")))).await;
    let first = talk.ask().await;
    actor.says(AgentEvent::Ask(Box::new(approval("call_2", "ls")))).await;
    let second = talk.ask().await;
    stage.judging_breaks(true);
    // The rule that this saves covers the other ask.
    talk.respond(&first, scoped(Scope::Session, &["allow Bash(ls)"])).await;
    actor.is_told("call_1").await;
    stage.broke(1).await;
    actor.is_heard(&mut talk).await;
    let waits = talk.gateway.interaction(&owner("ada"), second.interaction_id).await.unwrap();
    assert_eq!(waits.state, AskState::Open);
    assert!(actor.hears_nothing(), "a judgement that failed allows nothing");
    talk.respond(&second, approve()).await;
    let Resolution::Settled { settlement: Settlement::Approved, .. } = actor.is_told("call_2").await else {
        panic!("its person approved it")
    };
}
