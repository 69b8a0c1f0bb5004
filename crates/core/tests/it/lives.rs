//! What the end of a process and a failed start come to, as tables.

use holdstead_core::{
    AfterStartError, EndedBy, FailedTurn, Gone, HeardEnd, MAX_FRUITLESS_STARTS, TurnEnd, after_start_error,
    exit,
};
use holdstead_protocol::{Incarnation, StopReason};

use crate::world::turn;

const QUIET: HeardEnd<'static> =
    HeardEnd { parked: false, code: Some(0), stderr: "", turn_stopped: false, ended_by: EndedBy::Itself };

#[test]
fn the_reason_at_the_end_is_what_is_known_of_it() {
    let let_go = "it had nothing to do for an hour; the next message starts it again";
    let table: [(Gone<'_>, Option<&str>); 11] = [
        (Gone::WhileStarting, Some("the gateway that was starting it went away")),
        (Gone::NotStarted("there is no such program"), Some("there is no such program")),
        (Gone::WithItsGateway, Some("the gateway that hosted it is gone")),
        (Gone::Heard(QUIET), None),
        (Gone::Heard(HeardEnd { code: None, ..QUIET }), None),
        (Gone::Heard(HeardEnd { code: Some(3), ..QUIET }), Some("its process ended with code 3")),
        (Gone::Heard(HeardEnd { code: Some(3), stderr: " no memory\n", ..QUIET }), Some("no memory")),
        (Gone::Heard(HeardEnd { parked: true, code: Some(3), stderr: "bye", ..QUIET }), None),
        (
            Gone::Heard(HeardEnd { code: Some(3), ended_by: EndedBy::GatewayStopping, ..QUIET }),
            Some("the gateway was stopped"),
        ),
        (
            Gone::Heard(HeardEnd { stderr: "no memory", ended_by: EndedBy::GatewayStopping, ..QUIET }),
            Some("no memory"),
        ),
        (Gone::Heard(HeardEnd { stderr: "killed", ended_by: EndedBy::LetGo, ..QUIET }), Some(let_go)),
    ];
    for (gone, message) in table {
        let exit = exit(Incarnation(7), gone, false);
        assert_eq!((exit.incarnation, exit.message.as_deref()), (Incarnation(7), message), "{gone:?}");
    }
}

#[test]
fn a_turn_that_was_stopped_is_interrupted_and_any_other_failed() {
    let stopped = Gone::Heard(HeardEnd { turn_stopped: true, ..QUIET });
    let interrupted = TurnEnd { reason: StopReason::Interrupted, words: None };
    let words = Some(FailedTurn::WentAway.words().to_owned());
    let failed = TurnEnd { reason: StopReason::Failed, words };
    for (gone, end) in
        [(stopped, interrupted), (Gone::Heard(QUIET), failed.clone()), (Gone::WithItsGateway, failed)]
    {
        assert_eq!(exit(Incarnation(1), gone, false).turn_end, Some(end), "{gone:?}");
        assert_eq!(exit(Incarnation(1), gone, true).turn_end, None, "it begins anew: {gone:?}");
    }
}

#[test]
fn an_agent_that_does_not_start_is_tried_a_few_times() {
    let with_turn = |tries| after_start_error(Some(turn(1)), tries);
    for tries in 1..MAX_FRUITLESS_STARTS {
        assert_eq!(with_turn(tries), AfterStartError::TryAgain);
        assert_eq!(after_start_error(None, tries), AfterStartError::TryAgain);
    }
    assert_eq!(with_turn(MAX_FRUITLESS_STARTS), AfterStartError::EndTurn(turn(1)));
    assert_eq!(after_start_error(None, MAX_FRUITLESS_STARTS), AfterStartError::Rest);
}
