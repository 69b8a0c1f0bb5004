//! What holds for any order of commands.

#![expect(clippy::wildcard_enum_match_arm, reason = "each property looks at the events it speaks of")]

use std::collections::{BTreeMap, BTreeSet};

use crate::world::*;
use holdstead_core::{
    Ask, AskSpec, Basis, Cancel, Command, Exit, Expire, ExpireCause, Finish, Outcome, Output, Rejection,
    Start, State, Trigger, TurnEnd, Verdict, decide, fold,
};
use holdstead_protocol::{
    AskBody, AskChange, AskState, Decider, Delivery, Event, EventBody, Incarnation, InteractionId,
    InteractionRequest, Origin, Response, ResponseDraft, Scope, Seq, Settlement, StopReason, Timestamp,
    ToolCallEnd, ToolCallId, ToolResult,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Message(u8),
    Begin(u8),
    /// A process is about to be started, or was.
    Resume,
    Exit {
        parked: bool,
    },
    Ask {
        n: u8,
        what: u8,
        kind: u8,
        handler: bool,
        deadline: bool,
    },
    AskByRule {
        n: u8,
        what: u8,
        /// It was judged on rules of so many events before those that count.
        ago: u64,
    },
    Respond {
        n: u8,
        old_prompt: bool,
        key: u8,
        draft: u8,
    },
    Outcome {
        n: u8,
        verdict: u8,
        timeout: bool,
    },
    Queue(u8),
    Expire {
        n: u8,
        hold: bool,
    },
    CancelAsk(u8),
    CancelTurn,
    Park(u8),
    Stay,
    Delivering {
        n: u8,
        old_life: bool,
    },
    Delivered(u8),
    Acknowledge(u8),
    Retell(u8),
    CallNames(u8),
    CallHeard(u8),
    Revoke,
    Finish,
    End,
    Later,
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0..4_u8;
    prop_oneof![
        4 => (1..4_u8).prop_map(Step::Message),
        8 => (1..4_u8).prop_map(Step::Begin),
        24 => Just(Step::Resume),
        8 => any::<bool>().prop_map(|parked| Step::Exit { parked }),
        32 => (n.clone(), 0..2_u8, 0..4_u8, any::<bool>(), any::<bool>())
            .prop_map(|(n, what, kind, handler, deadline)| Step::Ask { n, what, kind, handler, deadline }),
        4 => (n.clone(), 0..2_u8, 0..2_u64).prop_map(|(n, what, ago)| Step::AskByRule { n, what, ago }),
        40 => (n.clone(), prop::bool::weighted(0.2), 0..8_u8, 0..24_u8)
            .prop_map(|(n, old_prompt, key, draft)| Step::Respond { n, old_prompt, key, draft: if draft < 8 { draft } else { 8 + draft % 4 } }),
        32 => (n.clone(), 0..4_u8, prop::bool::weighted(0.2))
            .prop_map(|(n, verdict, timeout)| Step::Outcome { n, verdict, timeout }),
        4 => n.clone().prop_map(Step::Queue),
        8 => (n.clone(), any::<bool>()).prop_map(|(n, hold)| Step::Expire { n, hold }),
        4 => n.clone().prop_map(Step::CancelAsk),
        2 => Just(Step::CancelTurn),
        8 => n.clone().prop_map(Step::Park),
        4 => Just(Step::Stay),
        24 => (n.clone(), prop::bool::weighted(0.2)).prop_map(|(n, old_life)| Step::Delivering { n, old_life }),
        12 => n.clone().prop_map(Step::Delivered),
        12 => n.clone().prop_map(Step::Acknowledge),
        12 => n.clone().prop_map(Step::Retell),
        2 => n.clone().prop_map(Step::CallNames),
        1 => n.prop_map(Step::CallHeard),
        4 => Just(Step::Revoke),
        1 => Just(Step::Finish),
        4 => Just(Step::Later),
        1 => Just(Step::End),
    ]
}

/// Tools show four asks of all kinds again; then anything happens.
fn after_reprompts() -> impl Strategy<Value = Vec<Step>> {
    let shown_again = |n| {
        [
            Step::Ask { n, what: 0, kind: n % 3, handler: true, deadline: n % 2 == 0 },
            Step::Respond { n, old_prompt: false, key: n, draft: 8 },
            Step::Outcome { n, verdict: 3, timeout: false },
        ]
    };
    let first: Vec<Step> = (0..4).flat_map(shown_again).collect();
    prop::collection::vec(step(), 1..40).prop_map(move |steps| [first.clone(), steps].concat())
}

fn draft(kind: u8) -> ResponseDraft {
    match kind {
        0 => approve(),
        1 => approve_for(Scope::Session),
        2 => deny(),
        3 => answer("SQLite"),
        4 => answer(""),
        5 => submit("a@b"),
        6 => ResponseDraft::Cancel { reason: None },
        7 => ResponseDraft::Approve {
            lines: Vec::new(),
            scope: None,
            edited_input: Some(serde_json::json!({"command": "ls"})),
        },
        _ => unreachable!("drafts are counted to 7"),
    }
}

/// Drafts of which one fits each kind of ask.
const ONE_OF_EACH: [u8; 3] = [1, 3, 5];

fn make_request(n: u8, what: u8, kind: u8) -> InteractionRequest {
    match kind {
        0 => approval(n, what),
        1 => question(n),
        _ => form(n),
    }
}

fn command(world: &World, step: &Step) -> Command {
    let session = world.state.session();
    let lives = session.map_or(0, |session| session.head.incarnations);
    let attempt =
        |n: u8| session.and_then(|session| session.asks.get(&ask_id(n))).map_or(1, |ask| ask.attempt);
    match *step {
        Step::Message(n) => message(n),
        Step::Begin(n) => Command::Begin { turn_id: turn(n), start: Start::default() },
        Step::Resume => match session.map(|session| &session.head) {
            Some(head) if head.alive.is_none() => start(lives + 1, head.turn),
            Some(_) | None => resume(lives),
        },
        Step::Exit { parked } => {
            // Every other life ends its turn with it.
            let reason = StopReason::Failed;
            let turn_end = lives.is_multiple_of(2).then(|| TurnEnd { reason, words: Some("gone".into()) });
            Command::Exit(Exit { incarnation: Incarnation(lives), parked, message: None, turn_end })
        }
        Step::Ask { n, what, kind, handler, deadline } => {
            let mut request = make_request(n, what, kind);
            request.has_handler = handler;
            request.origin = if handler { Origin::Tool } else { Origin::Agent };
            request.deadline = deadline.then(|| world.now.after(std::time::Duration::from_secs(5)));
            ask(request)
        }
        Step::AskByRule { n, what, ago } => {
            let basis = world.basis();
            let session = basis.session.map(|now| Seq(now.0.saturating_sub(ago)));
            let basis = Basis { session, ..basis };
            ask_by_rule(approval(n, what), "auto").based_on(basis, None)
        }
        Step::Respond { n, old_prompt, key, draft: kind } => {
            let attempt = if old_prompt { 1 } else { attempt(n) };
            // Mostly what the ask wants, so that something is won; sometimes anything.
            let fitting = session.and_then(|session| session.asks.get(&ask_id(n))).map(|ask| {
                if ask.is_approval() {
                    [0, 0, 1, 7]
                } else if let AskSpec::Question { .. } = ask.spec {
                    [3, 3, 3, 6]
                } else {
                    [5, 5, 5, 6]
                }
            });
            let kind = match (kind.checked_sub(8), fitting) {
                (Some(choice), Some(fitting)) => fitting[usize::from(choice)],
                (Some(choice), None) => choice,
                (None, _) => kind,
            };
            respond(n, attempt, &format!("key {key}"), draft(kind))
        }
        Step::Outcome { n, verdict, timeout } => {
            let attempt = attempt(n);
            let verdict = match verdict {
                0 | 1 => Verdict::Complete { result: None },
                2 => Verdict::Pending { message: "later".to_owned() },
                _ => {
                    let ask = session.and_then(|session| session.asks.get(&ask_id(n)));
                    let again = match ask.map(|ask| &ask.spec) {
                        Some(AskSpec::Approval { .. }) => approval(n, 1),
                        Some(AskSpec::Question { .. }) => question(n),
                        _ => form(n),
                    };
                    let in_time = ask.is_some_and(|ask| ask.deadline.is_some());
                    Verdict::Reprompt(Box::new(InteractionRequest {
                        prompt_id: prompt(n, attempt + 1),
                        origin: Origin::Tool,
                        has_handler: true,
                        deadline: in_time.then(|| world.now.after(std::time::Duration::from_secs(5))),
                        ..again
                    }))
                }
            };
            Command::Outcome(Box::new(Outcome {
                interaction_id: ask_id(n),
                prompt_id: prompt(n, attempt),
                trigger: if timeout { Trigger::Timeout } else { Trigger::Response },
                verdict,
            }))
        }
        Step::Queue(n) => Command::Queue { interaction_id: ask_id(n), message: "later".to_owned() },
        Step::Expire { n, hold } => Command::Expire(Expire {
            interaction_id: ask_id(n),
            prompt_id: prompt(n, attempt(n)),
            cause: if hold {
                ExpireCause::Hold { message: "nobody".to_owned() }
            } else {
                ExpireCause::Deadline
            },
        }),
        Step::CancelAsk(n) => Command::Cancel(Cancel::Ask(ask_id(n))),
        Step::CancelTurn => Command::Cancel(Cancel::Turn { by: "Ada".to_owned() }),
        Step::Park(n) => Command::Park {
            interaction_id: ask_id(n),
            incarnation: Incarnation(lives),
            awaited: BTreeSet::new(),
        },
        Step::Stay => Command::Stay { incarnation: Incarnation(lives) },
        Step::Delivering { n, old_life } => Command::Delivering {
            interaction_id: ask_id(n),
            incarnation: Incarnation(if old_life { 1 } else { lives }),
        },
        Step::Delivered(n) => {
            Command::Delivered { interaction_id: ask_id(n), incarnation: Incarnation(lives) }
        }
        Step::Acknowledge(n) => Command::Acknowledge { interaction_id: ask_id(n) },
        Step::Retell(n) => retell(n),
        Step::Revoke => {
            let grant = session.and_then(|session| session.head.grants.keys().next().copied());
            match grant {
                Some(grant_id) => Command::Revoke { grant_id, name: "ana".to_owned() },
                None => message(2),
            }
        }
        Step::CallNames(n) => Command::Record(vec![Output::ToolCallEnd(ToolCallEnd {
            turn_id: turn(1),
            tool_call_id: named_by(n),
            tool_name: None,
            input: serde_json::json!({ "interaction_id": ask_id(n) }),
            decision: None,
        })]),
        Step::CallHeard(n) => Command::Record(vec![Output::ToolResult(ToolResult {
            turn_id: turn(1),
            tool_call_id: named_by(n),
            output: serde_json::json!({ "ok": true }),
            is_error: false,
        })]),
        Step::Finish => Command::Finish(Finish {
            turn_id: session.and_then(|session| session.head.turn).unwrap_or(turn(1)),
            reason: StopReason::Completed,
            usage: None,
            words: None,
        }),
        Step::End => Command::End { name: "ana".to_owned() },
        Step::Later => message(3),
    }
}

fn play(steps: &[Step]) -> World {
    play_and_look(steps, |_| {})
}

/// Plays the steps, and looks at the session after each.
fn play_and_look(steps: &[Step], mut look: impl FnMut(&World)) -> World {
    let mut world = World::running();
    for step in steps {
        if matches!(step, Step::Later) {
            world.now = world.now.after(std::time::Duration::from_secs(4));
        }
        let command = command(&world, step);
        only_what_concerns_it_is_needed(&world, &command);
        // A rejection is a fine result; a panic is not.
        let _decided = world.apply(&command);
        look(&world);
    }
    world
}

/// Sends responses of all kinds to every prompt of every ask but its current one. Returns the state of each ask that was
/// shown more than once.
fn answer_other_prompts(world: &World) -> BTreeSet<String> {
    let mut states = BTreeSet::new();
    for n in 0..4 {
        let Some(ask) = world.session().asks.get(&ask_id(n)) else { continue };
        let is_due = ask.state == AskState::Open && ask.is_due(world.now);
        if ask.attempt > 1 {
            states.insert(if is_due { "due".to_owned() } else { format!("{:?}", ask.state) });
        }
        // The prompt before the current one, and one that the ask does not have.
        for attempt in [ask.attempt - 1, ask.attempt + 1] {
            for kind in ONE_OF_EACH {
                let decided = decide(
                    &world.state,
                    &respond(n, attempt, "a new key", draft(kind)),
                    Some(world.owner),
                    world.now,
                );
                let why = decided.expect_err("only the current prompt takes a response");
                if let Rejection::StalePrompt { current } = why {
                    assert_eq!(current, ask.prompt_id);
                    takes_a_response(world, n);
                }
            }
            for earlier in &ask.responses {
                let key = earlier.key.as_deref().unwrap_or_default();
                for kind in ONE_OF_EACH {
                    match decide(
                        &world.state,
                        &respond(n, attempt, key, draft(kind)),
                        Some(world.owner),
                        world.now,
                    ) {
                        Ok(events) => assert_eq!(events, [], "a repeat writes nothing"),
                        Err(Rejection::KeyReused) => {}
                        Err(why) => assert_eq!(earlier.key, None, "{why}"),
                    }
                }
            }
        }
    }
    states
}

/// A caller who is told to answer the current prompt can do that.
fn takes_a_response(world: &World, n: u8) {
    let attempt = world.ask(n).attempt;
    let taken = ONE_OF_EACH.into_iter().any(|kind| {
        let command = respond(n, attempt, "a new key", draft(kind));
        decide(&world.state, &command, Some(world.owner), world.now).is_ok_and(|events| !events.is_empty())
    });
    assert!(taken, "no response to the current prompt is taken in {:?}", world.ask(n).state);
}

/// A store loads only the asks that a command names. The decision and the folded state must not differ.
fn only_what_concerns_it_is_needed(world: &World, command: &Command) {
    let State::Opened(session) = &world.state else { return };
    let mut part = session.clone();
    let (named, needs) = (command.names(), command.needs());
    part.asks.retain(|id, ask| named.contains(id) || needs.include(ask));
    let mut part = State::Opened(part);
    let decided = decide(&part, command, Some(world.owner), world.now);
    assert_eq!(decided, decide(&world.state, command, Some(world.owner), world.now), "{command:?}");
    let mut whole = world.state.clone();
    for (index, body) in decided.into_iter().flatten().enumerate() {
        let event = Event {
            id: holdstead_protocol::EventId::from_uuid(uuid::Uuid::nil()),
            seq: holdstead_protocol::Seq((world.journal.len() + index + 1) as u64),
            at: world.now,
            heard: None,
            body,
        };
        fold(&mut part, &event);
        fold(&mut whole, &event);
    }
    let (State::Opened(mut part), State::Opened(whole)) = (part, whole) else { panic!("both stay open") };
    for (id, ask) in &part.asks {
        assert_eq!(Some(ask), whole.asks.get(id));
    }
    part.asks.clone_from(&whole.asks);
    assert_eq!(part, whole);
}

fn settlements(journal: &[Event]) -> Vec<(InteractionId, Settlement)> {
    journal
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::InteractionResponse(response) => {
                response.settlement.map(|settlement| (response.interaction_id, settlement))
            }
            EventBody::InteractionUpdate(update) => match &update.change {
                AskChange::Settled { settlement, .. } => Some((update.interaction_id, *settlement)),
                AskChange::Queued { .. }
                | AskChange::Delivery { .. }
                | AskChange::RanOtherThanApproved { .. }
                | AskChange::InTerminal { .. }
                | AskChange::RuleSaved { .. } => None,
            },
            _ => None,
        })
        .collect()
}

fn named_by(n: u8) -> ToolCallId {
    ToolCallId::new(format!("names_{n}")).expect("a good id")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_winner_per_prompt_and_one_settlement_per_ask(steps in prop::collection::vec(step(), 1..60)) {
        let world = play(&steps);
        let mut won = BTreeSet::new();
        for event in &world.journal {
            if let EventBody::InteractionResponse(response) = &event.body {
                prop_assert!(won.insert(response.prompt_id), "two winners of {}", response.prompt_id);
            }
        }
        let mut settled = BTreeSet::new();
        for (ask, _) in settlements(&world.journal) {
            prop_assert!(settled.insert(ask), "{ask} was settled twice");
        }
    }

    #[test]
    fn the_head_counts_what_its_asks_are(steps in prop::collection::vec(step(), 1..60)) {
        let world = play(&steps);
        let session = world.session();
        let count = |is: fn(&Ask) -> bool| session.asks.values().filter(|ask| is(ask)).count();
        prop_assert_eq!(session.head.live, count(Ask::is_live));
        prop_assert_eq!(session.head.blocking, count(Ask::is_blocking));
        prop_assert_eq!(session.head.submitted, count(Ask::is_submitted));
        prop_assert_eq!(session.head.undelivered, count(|ask| ask.undelivered));
        let bytes: u64 = session.asks.values().filter(|ask| ask.is_live()).map(|ask| ask.bytes).sum();
        prop_assert_eq!(session.head.live_bytes, bytes);
    }

    #[test]
    fn a_replayed_journal_folds_to_the_live_state(steps in prop::collection::vec(step(), 1..60)) {
        let world = play(&steps);
        let mut replayed = State::Unopened;
        for event in &world.journal {
            fold(&mut replayed, event);
        }
        prop_assert_eq!(replayed, world.state);
    }

    #[test]
    fn no_allow_without_a_person_a_grant_or_a_rule(steps in prop::collection::vec(step(), 1..60)) {
        let silent: Vec<Step> = steps
            .into_iter()
            .filter(|step| !matches!(step, Step::Respond { .. } | Step::AskByRule { .. }))
            .collect();
        let world = play(&silent);
        prop_assert!(settlements(&world.journal).is_empty(), "something was settled though nobody decided");
        prop_assert!(!world.journal.iter().any(|event| matches!(
            &event.body,
            EventBody::InteractionResponse(_) | EventBody::LateAnswer(_) | EventBody::GrantAdded(_)
        )));
    }

    #[test]
    fn a_rule_or_grant_allows_nothing_while_a_turn_is_being_stopped(steps in prop::collection::vec(step(), 1..60)) {
        let world = play(&steps);
        let mut state = State::Unopened;
        for event in &world.journal {
            if let EventBody::InteractionResponse(response) = &event.body
                && let Response::Approve { .. } = response.response
                && let Some(by) = &state.session().expect("open").head.stopped_by
            {
                prop_assert!(
                    matches!(response.decider, Decider::Person { .. }),
                    "{:?} allowed a call of a turn that {by} stopped", response.decider
                );
            }
            fold(&mut state, event);
        }
    }

    #[test]
    fn every_allow_names_its_decider(steps in prop::collection::vec(step(), 1..60)) {
        let world = play(&steps);
        let mut grants = BTreeSet::new();
        let mut approved_by_person = BTreeSet::new();
        let mut inputs = BTreeMap::new();
        for event in &world.journal {
            match &event.body {
                EventBody::GrantAdded(added) => { grants.insert(added.grant.grant_id); }
                EventBody::GrantRevoked(revoked) => { grants.remove(&revoked.grant_id); }
                EventBody::InteractionRequest(request) => {
                    if let AskBody::Approval { .. } = request.body {
                        inputs.insert(request.interaction_id, request.input_digest.clone());
                    }
                }
                EventBody::InteractionResponse(response) => {
                    let Response::Approve { .. } = response.response else { continue };
                    match &response.decider {
                        Decider::Person { name, .. } => {
                            prop_assert_eq!(name, "ana");
                            approved_by_person.insert(response.interaction_id);
                        }
                        Decider::Grant { grant_id } => prop_assert!(grants.contains(grant_id)),
                        Decider::Rule { name } => prop_assert_eq!(name, "auto"),
                        Decider::Earlier { interaction_id } => {
                            prop_assert_eq!(&inputs[interaction_id], &inputs[&response.interaction_id]);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    fn nothing_is_delivered_twice_and_nothing_dead_is_delivered(steps in prop::collection::vec(step(), 1..60)) {
        let world = play(&steps);
        let mut written: BTreeSet<(InteractionId, Incarnation)> = BTreeSet::new();
        let mut approvals: BTreeMap<InteractionId, u32> = BTreeMap::new();
        let mut state = State::Unopened;
        for event in &world.journal {
            if let EventBody::InteractionUpdate(update) = &event.body
                && let AskChange::Delivery { delivery: Delivery::Delivering { incarnation } } = &update.change
            {
                let session = state.session().expect("open");
                let ask = &session.asks[&update.interaction_id];
                prop_assert!(matches!(ask.state, AskState::Settled { .. }), "{:?} was written to the agent", ask.state);
                prop_assert_eq!(session.head.alive, Some(*incarnation));
                prop_assert!(written.insert((update.interaction_id, *incarnation)), "written twice to one process");
                if ask.is_approval() {
                    *approvals.entry(update.interaction_id).or_default() += 1;
                }
            }
            fold(&mut state, event);
        }
        prop_assert!(approvals.values().all(|times| *times == 1), "an approval was written twice: {approvals:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_becomes_a_message_once_and_an_approval_that_was_in_time_never(steps in prop::collection::vec(step(), 1..60)) {
        let world = play(&steps);
        let approved: BTreeSet<_> = settlements(&world.journal)
            .into_iter()
            .filter_map(|(ask, settlement)| (settlement == Settlement::Approved).then_some(ask))
            .collect();
        let mut told = BTreeSet::new();
        for event in &world.journal {
            if let EventBody::LateAnswer(late) = &event.body {
                prop_assert!(told.insert(late.interaction_id), "told twice");
                prop_assert!(!approved.contains(&late.interaction_id));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_response_to_another_prompt_writes_nothing_in_any_state(steps in after_reprompts()) {
        play_and_look(&steps, |world| {
            answer_other_prompts(world);
        });
    }
}

#[test]
fn responses_to_other_prompts_are_tried_in_every_state() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let strategy = after_reprompts();
    let mut seen = BTreeSet::new();
    for _ in 0..100 {
        let steps = strategy.new_tree(&mut runner).expect("a tree").current();
        play_and_look(&steps, |world| seen.append(&mut answer_other_prompts(world)));
    }
    for wanted in ["Open", "due", "Submitted", "Settled", "Queued", "Expired", "Cancelled", "AnsweredLate"] {
        assert!(seen.iter().any(|state| state.contains(wanted)), "no ask was {wanted}: {seen:?}");
    }
}

/// The steps must reach the states that matter, or the properties above would hold for nothing.
#[test]
fn the_steps_reach_every_state() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(step(), 1..60);
    let mut seen = BTreeMap::new();
    for _ in 0..1_000 {
        let steps = strategy.new_tree(&mut runner).expect("a tree").current();
        for event in play(&steps).journal {
            let name = match &event.body {
                EventBody::InteractionUpdate(update) => match &update.change {
                    AskChange::Settled { .. } => "settled by handler".to_owned(),
                    AskChange::Queued { .. } => "queued".to_owned(),
                    AskChange::RanOtherThanApproved { .. } => "ran other than approved".to_owned(),
                    AskChange::InTerminal { .. } => "known".to_owned(),
                    AskChange::RuleSaved { .. } => "rule saved".to_owned(),
                    AskChange::Delivery { delivery } => {
                        format!("{delivery:?}").split(' ').next().unwrap_or("").to_owned()
                    }
                },
                EventBody::InteractionResponse(response) => {
                    format!("{:?}", response.decider).split(' ').next().unwrap_or("").to_owned()
                }
                EventBody::InteractionRequest(request) if request.attempt > 1 => "reprompt".to_owned(),
                EventBody::InteractionClosed(closed) => format!("{:?}", closed.closing),
                EventBody::SessionStatus(status) => format!("agent {:?}", status.agent),
                EventBody::LateAnswer(late) if late.text.contains("cut off") => "told again".to_owned(),
                other => other.event_type().as_str().to_owned(),
            };
            *seen.entry(name).or_insert(0) += 1;
        }
    }
    for wanted in [
        "settled by handler",
        "queued",
        "Delivering",
        "Delivered",
        "Acknowledged",
        "Unknown",
        "Undeliverable",
        "Person",
        "Grant",
        "Rule",
        "Earlier",
        "reprompt",
        "Expired",
        "Cancelled",
        "AnsweredLate",
        "late_answer",
        "told again",
        "agent Parking",
        "agent Parked",
        "agent Detached",
        "agent Ended",
        "grant_added",
        "grant_revoked",
        "done",
    ] {
        assert!(seen.contains_key(wanted), "no run reached `{wanted}`: {seen:?}");
    }
}

#[test]
fn time_is_given_never_read() {
    // The same commands at the same moments give the same journal: nothing inside reads a clock.
    let steps = [
        Step::Ask { n: 0, what: 0, kind: 0, handler: false, deadline: true },
        Step::Respond { n: 0, old_prompt: false, key: 0, draft: 1 },
        Step::Delivering { n: 0, old_life: false },
    ];
    assert_eq!(play(&steps).journal, play(&steps).journal);
    assert!(play(&steps).journal.iter().all(|event| event.at == Timestamp::from_micros(1_000_000)));
}
