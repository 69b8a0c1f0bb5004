//! The journal for itself, and against what clients saw of it.

use std::collections::{BTreeMap, BTreeSet};

use holdstead_protocol::{EventBody, Seq};

use super::{Finding, Found, History, add};

pub(super) fn check(history: &History, found: &mut Vec<Found>) {
    journal(history, found);
    turns(history, found);
    for seen in &history.seen {
        let places: BTreeMap<_, _> = history.journal.iter().map(|event| (event.seq, event.id)).collect();
        let mut last = Seq::START;
        for event in seen {
            match places.get(&event.seq) {
                Some(id) if *id == event.id => {}
                Some(id) => {
                    let words = format!("a client saw {} as event {}; it is {id}", event.id, event.seq);
                    add(found, Finding::LostEvent, words);
                }
                None => {
                    add(found, Finding::LostEvent, format!("a client saw event {}; it is gone", event.seq))
                }
            }
            if event.seq <= last {
                add(found, Finding::DoubledEvent, format!("a client saw {} after {last}", event.seq));
            } else if event.seq.0 > last.0 + 1 {
                add(found, Finding::LostEvent, format!("a client saw {} right after {last}", event.seq));
            }
            last = last.max(event.seq);
        }
    }
}

fn journal(history: &History, found: &mut Vec<Found>) {
    let (mut ids, mut last) = (BTreeSet::new(), 0);
    for event in &history.journal {
        if !ids.insert(event.id) {
            add(found, Finding::DoubledEvent, format!("{} is twice in the journal", event.id));
        }
        if event.seq.0 <= last {
            add(found, Finding::DoubledEvent, format!("seq {} follows {last}", event.seq));
        } else if event.seq.0 > last + 1 {
            add(found, Finding::Gap, format!("seq {} follows {last}", event.seq));
        }
        last = last.max(event.seq.0);
    }
}

/// Every message has its turn, and every turn an end.
fn turns(history: &History, found: &mut Vec<Found>) {
    let mut open = BTreeSet::new();
    for event in &history.journal {
        if let EventBody::UserMessage(message) = &event.body {
            open.insert(message.turn_id);
        } else if let EventBody::Done(done) = &event.body
            && !open.remove(&done.turn_id)
        {
            add(found, Finding::DoubledEvent, format!("turn {} ended twice", done.turn_id));
        }
    }
    for turn in open {
        add(found, Finding::Unfinished, format!("turn {turn} has no end"));
    }
}
