//! Two tasks that both believe to speak for one session, each with a view as old as it likes: one history.

#![expect(clippy::wildcard_enum_match_arm, reason = "each property looks at the events it speaks of")]

use std::collections::{BTreeMap, BTreeSet};

use crate::world::*;
use holdstead_core::{Command, Exit, Fence, Finish, Head, Output, Start, State, fold};
use holdstead_protocol::{
    AgentSeq, AskChange, Delivery, Event, EventBody, Incarnation, InteractionId, MessageId, ProcessChange,
    SessionError, StopReason, TextDelta,
};
use proptest::prelude::*;
use uuid::Uuid;

/// What one of the two does, or a person.
#[derive(Debug, Clone)]
enum Step {
    /// Reads the journal.
    Look(usize),
    Start(usize),
    Resume(usize),
    /// Takes in so many of what the agent said next, as one append.
    Hear(usize, u8),
    Begin(usize),
    Deliver(usize, u8),
    /// Gives up a turn without a process.
    GiveUp(usize),
    Complain(usize),
    Message(u8),
    Answer(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..2_usize;
    prop_oneof![
        6 => who.clone().prop_map(Step::Look),
        4 => who.clone().prop_map(Step::Start),
        4 => who.clone().prop_map(Step::Resume),
        16 => (who.clone(), 1..4_u8).prop_map(|(who, count)| Step::Hear(who, count)),
        4 => who.clone().prop_map(Step::Begin),
        8 => (who.clone(), 0..8_u8).prop_map(|(who, ask)| Step::Deliver(who, ask)),
        1 => who.clone().prop_map(Step::GiveUp),
        2 => who.prop_map(Step::Complain),
        2 => (1..200_u8).prop_map(Step::Message),
        8 => (0..8_u8, 0..4_u8).prop_map(|(ask, key)| Step::Answer(ask, key)),
    ]
}

/// What the agent says with each number, the same in every life: two words, an ask, a word; and with every fifth its turn or its
/// life ends.
enum Says {
    Word,
    Ask(u8),
    TurnDone,
    Exit,
}

fn says(life: u32, number: u64) -> Says {
    match number % 5 {
        0 if number.is_multiple_of(2) => Says::TurnDone,
        0 => Says::Exit,
        3 => Says::Ask(u8::try_from((u64::from(life) + number / 5) % 8).expect("small")),
        _ => Says::Word,
    }
}

struct Two {
    world: World,
    views: [Head; 2],
    /// What each history must say: `life.number` of every word, once, in order.
    delivered: BTreeMap<InteractionId, u32>,
}

impl Two {
    fn new() -> Self {
        let mut world = World::new();
        world.ok(open());
        world.ok(message(1));
        let head = Head::clone(&world.session().head);
        Self { world, views: [head.clone(), head], delivered: BTreeMap::new() }
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Look(who) => self.views[who] = Head::clone(&self.world.session().head),
            Step::Message(n) => drop(self.world.apply(&message(n))),
            Step::Answer(ask, key) => {
                let _first_wins = self.world.apply(&respond(ask, 1, &format!("key {key}"), approve()));
            }
            Step::Start(who) => {
                let view = &self.views[who];
                let command = start(view.incarnations + 1, view.turn);
                self.say(who, &command);
            }
            Step::Resume(who) => {
                let command = resume(self.views[who].incarnations);
                self.say(who, &command);
            }
            Step::Begin(who) => {
                if let Some(next) = self.views[who].pending.first() {
                    let command = Command::Begin { turn_id: next.turn_id, start: Start::default() };
                    self.say(who, &command);
                }
            }
            Step::Hear(who, count) => self.hear(who, count),
            Step::Deliver(who, n) => {
                if let Some(incarnation) = self.views[who].alive {
                    let interaction_id = ask_id(n);
                    let command = Command::Delivering { interaction_id, incarnation };
                    if self.world.apply(&command).is_ok() {
                        *self.delivered.entry(interaction_id).or_default() += 1;
                    }
                }
            }
            Step::GiveUp(who) => {
                let view = &self.views[who];
                if let Some(turn_id) = view.turn {
                    let (reason, words) = (StopReason::Failed, Some(format!("lives {}", view.incarnations)));
                    let finish = Command::Finish(Finish { turn_id, reason, usage: None, words });
                    let fence = Fence::NoProcess { lives: view.incarnations };
                    self.say(who, &finish.fenced(fence));
                }
            }
            Step::Complain(who) => {
                let lives = self.views[who].incarnations;
                let error = SessionError { turn_id: None, message: format!("lives {lives}") };
                let complaint = Command::Record(vec![Output::Error(error)]);
                self.say(who, &complaint.fenced(Fence::NoProcess { lives }));
            }
        }
    }

    fn say(&mut self, who: usize, command: &Command) {
        // A task that is refused reads the journal again; one that is not knows what it wrote.
        let _either = self.world.apply(command);
        self.views[who] = Head::clone(&self.world.session().head);
    }

    /// Words are joined; whatever else the agent says is an append of its own, behind the words.
    fn hear(&mut self, who: usize, count: u8) {
        let view = &self.views[who];
        let (Some(incarnation), Some(turn_id)) = (view.alive, view.turn) else { return };
        let (after, life) = (view.heard, incarnation.0);
        let mut words = Vec::new();
        let mut upto = after;
        let mut command = None;
        for number in after.0 + 1..=after.0 + u64::from(count) {
            let text = format!("{life}.{number} ");
            match says(life, number) {
                Says::Word => {
                    let message_id = MessageId::from_uuid(Uuid::nil());
                    words.push(Output::Text(TextDelta { turn_id, message_id, text, parents: Vec::new() }));
                    upto = AgentSeq(number);
                    continue;
                }
                _ if !words.is_empty() => {}
                Says::Ask(n) => {
                    upto = AgentSeq(number);
                    command = Some(ask(approval(n, n)));
                }
                Says::TurnDone => {
                    upto = AgentSeq(number);
                    let (reason, words) = (StopReason::Completed, Some(text));
                    command = Some(Command::Finish(Finish { turn_id, reason, usage: None, words }));
                }
                Says::Exit => {
                    upto = AgentSeq(number);
                    let (parked, message) = (false, Some(text));
                    command = Some(Command::Exit(Exit { incarnation, parked, message, turn_end: None }));
                }
            }
            break;
        }
        let command = command.unwrap_or(Command::Record(words));
        let fence = Fence::Heard { incarnation, after, upto };
        if upto > after {
            // One that does not look again goes on from where it believes to be.
            let _either = self.world.apply(&command.fenced(fence));
            self.views[who].heard = upto;
        }
    }
}

/// What the journal has of what the agent said, by its life and number.
fn heard_of(event: &Event) -> Vec<String> {
    let words = match &event.body {
        EventBody::TextDelta(delta) => Some(delta.text.clone()),
        EventBody::SessionStatus(status) => status.message.clone(),
        EventBody::Error(error) => Some(error.message.clone()),
        _ => None,
    };
    let words = words.unwrap_or_default();
    words.split(' ').filter(|word| word.contains('.')).map(str::to_owned).collect()
}

fn history_is_one(two: &Two) -> Result<(), TestCaseError> {
    let (mut state, mut alive, mut heard) = (State::Unopened, None, AgentSeq::START);
    let (mut seen, mut won, mut lives) = (BTreeSet::new(), BTreeSet::new(), 0);
    for event in &two.world.journal {
        for words in heard_of(event) {
            prop_assert!(seen.insert(words.clone()), "{words} was taken twice");
            let (life, number) = words.split_once('.').expect("both");
            prop_assert_eq!(
                Some(Incarnation(life.parse().expect("a number"))),
                alive,
                "of a life that is over"
            );
            prop_assert!(number.parse::<u64>().expect("a number") > heard.0, "out of order");
        }
        if let Some(number) = event.heard {
            prop_assert!(number > heard, "{number} came behind {heard}");
            let life = alive.map_or(0, |life: Incarnation| life.0);
            for missing in heard.0 + 1..=number.0 {
                if let Says::Word | Says::TurnDone | Says::Exit = says(life, missing) {
                    prop_assert!(seen.contains(&format!("{life}.{missing}")), "{life}.{missing} is missing");
                }
            }
            heard = number;
        }
        match &event.body {
            EventBody::SessionStatus(status) => match status.process() {
                Some(ProcessChange::Starting { incarnation }) => {
                    prop_assert_eq!(alive, None, "two lives at once");
                    prop_assert_eq!(incarnation.0, lives + 1);
                    (alive, lives, heard) = (Some(incarnation), incarnation.0, AgentSeq::START);
                }
                Some(ProcessChange::Began { incarnation, .. }) => {
                    prop_assert_eq!(alive, Some(incarnation));
                }
                Some(ProcessChange::Ended { incarnation }) => {
                    prop_assert_eq!(alive.take(), Some(incarnation));
                }
                None => {}
            },
            EventBody::InteractionResponse(response) => {
                prop_assert!(won.insert(response.prompt_id), "answered twice");
            }
            EventBody::Error(error) if error.message.starts_with("lives ") => {
                prop_assert_eq!(alive, None, "words about a process that is not there");
                prop_assert_eq!(&error.message, &format!("lives {lives}"));
            }
            EventBody::InteractionUpdate(update) => {
                if let AskChange::Delivery { delivery: Delivery::Delivering { incarnation } } = &update.change
                {
                    prop_assert_eq!(alive, Some(*incarnation));
                }
            }
            _ => {}
        }
        fold(&mut state, event);
    }
    prop_assert_eq!(&state, &two.world.state);
    prop_assert!(two.delivered.values().all(|times| *times == 1), "{:?}", two.delivered);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_who_speak_for_a_session_make_one_history(steps in prop::collection::vec(step(), 1..200)) {
        let mut two = Two::new();
        for step in &steps {
            two.play(step);
        }
        history_is_one(&two)?;
    }
}

/// The steps must come to what the property speaks of.
#[test]
fn the_steps_reach_what_two_can_quarrel_about() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(step(), 100..200);
    let (mut lives, mut delivered, mut given_up, mut complaints) = (0, 0, 0, 0);
    for _ in 0..200 {
        let mut two = Two::new();
        for step in strategy.new_tree(&mut runner).expect("a tree").current() {
            two.play(&step);
        }
        lives = lives.max(two.world.session().head.incarnations);
        delivered += two.delivered.len();
        for event in &two.world.journal {
            if let EventBody::Error(error) = &event.body
                && error.message.starts_with("lives ")
            {
                if error.turn_id.is_some() { given_up += 1 } else { complaints += 1 }
            }
        }
    }
    let reached = (lives, delivered, given_up, complaints);
    assert!(lives > 2 && delivered > 50 && given_up > 0 && complaints > 50, "{reached:?}");
}
