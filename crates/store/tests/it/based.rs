//! An append that was judged on an owner's rules: their revision is compared in its own transaction.

use std::sync::Arc;

use holdstead_core::{Basis, Command, Rejection};
use holdstead_protocol::{Grant, GrantId, Rule, Scope, SessionId};
use holdstead_store::{AppendError, Journal};

use crate::commands::{open, owner, say};
use crate::fixture::Fixture;

fn rule(journal: &dyn Journal, owners: SessionId, line: &str) -> holdstead_store::PendingAppend {
    let grant = Grant {
        grant_id: GrantId::of_line(&owner(), line),
        rule: Rule::Lines { lines: vec![line.to_owned()] },
        scope: Scope::Always,
        given_by: "ada".to_owned(),
        interaction_id: None,
        given_at: holdstead_protocol::Timestamp::from_micros(0),
        expires_at: None,
    };
    journal.append(owners, Command::Grant(grant))
}

async fn basis(journal: &dyn Journal, session: SessionId, owners: SessionId) -> Basis {
    let head = async |id| journal.session(id).await.expect("read").expect("it is open").state;
    Basis {
        session: Some(head(session).await.rules_seq),
        owner: (owners, head(owners).await.rules_seq),
        until: None,
    }
}

fn is_stale(appended: &Result<holdstead_store::Appended, AppendError>) -> bool {
    matches!(appended, Err(AppendError::Rejected(Rejection::RulesChanged)))
}

pub(crate) async fn what_was_judged_before_a_rule_changed_is_rejected(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, owners) = (open(journal, "work").await, open(journal, "rules").await);
    let then = basis(journal, session, owners).await;
    let judged = |text: &str| say(text).based_on(then.clone(), None);
    journal.append(session, judged("one")).await.expect("the rules are those that it was judged on");
    journal.append(session, judged("two")).await.expect("so they are again");
    rule(journal, owners, "deny Bash(rm:*)").await.expect("a rule");
    assert!(is_stale(&journal.append(session, judged("three")).await));

    let unopened = SessionId::generate(&owner());
    let gone =
        Basis { owner: (unopened, holdstead_protocol::Seq(1)), ..basis(journal, session, owners).await };
    assert!(is_stale(&journal.append(session, say("six").based_on(gone, None)).await));
}

/// Each instance remembers what it wrote last, and decides on that if it can.
pub(crate) async fn a_rule_of_another_instance_counts_from_its_commit(fixture: &Fixture) {
    let (here, there) = (Arc::clone(fixture.journal()), fixture.second().await);
    let (session, owners) = (open(&*here, "work").await, open(&*here, "rules").await);
    for round in 0..25 {
        let then = basis(&*here, session, owners).await;
        let judged = |text: &str| say(text).based_on(then.clone(), None);
        here.append(session, judged("before")).await.expect("the rules are those that it was judged on");
        // The session's writer shares the owner's head with the writer of the rule, whichever of them is first.
        let changed = rule(&*there, owners, &format!("deny Bash(rm {round})"));
        let meanwhile = here.append(session, judged("meanwhile"));
        changed.await.expect("a rule");
        assert!(is_stale(&here.append(session, judged("after")).await), "round {round}");
        let meanwhile = meanwhile.await;
        assert!(meanwhile.is_ok() || is_stale(&meanwhile), "{meanwhile:?}");
    }
}
