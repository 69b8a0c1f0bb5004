//! The answers that won, against what clients sent and were told.

use std::collections::BTreeMap;

use holdstead_protocol::{
    AskChange, Decider, Delivery, EventBody, InteractionId, InteractionRequest, InteractionResponse,
    PromptId, Response, ResponseDraft, Seq, Settlement, Timestamp,
};

use super::{Finding, Found, History, Sent, Told, add};

/// An ask as the journal has it.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) opened: Seq,
    pub(super) request: &'a InteractionRequest,
    pub(super) responses: Vec<(Seq, &'a InteractionResponse)>,
    pub(super) deliveries: Vec<(Timestamp, &'a Delivery)>,
    pub(super) closed: bool,
}

impl Ask<'_> {
    pub(super) fn settlement(&self) -> Option<Settlement> {
        self.responses.last()?.1.settlement
    }

    pub(super) fn delivery(&self) -> Option<&Delivery> {
        self.deliveries.last().map(|(_, delivery)| *delivery)
    }

    /// When the agent may first have been told.
    pub(super) fn sent_out(&self) -> Option<Timestamp> {
        let mut deliveries = self.deliveries.iter();
        deliveries.find(|(_, delivery)| matches!(delivery, Delivery::Delivering { .. })).map(|(at, _)| *at)
    }
}

/// The asks of a journal in the order they were opened.
pub(super) fn asks(history: &History) -> Vec<Ask<'_>> {
    let mut asks: Vec<Ask<'_>> = Vec::new();
    for event in &history.journal {
        if let EventBody::InteractionRequest(request) = &event.body {
            let (opened, responses, deliveries) = (event.seq, Vec::new(), Vec::new());
            asks.push(Ask { opened, request, responses, deliveries, closed: false });
        } else if let EventBody::InteractionResponse(response) = &event.body
            && let Some(ask) = find(&mut asks, response.interaction_id)
        {
            ask.responses.push((event.seq, response));
        } else if let EventBody::InteractionUpdate(update) = &event.body
            && let AskChange::Delivery { delivery } = &update.change
            && let Some(ask) = find(&mut asks, update.interaction_id)
        {
            ask.deliveries.push((event.at, delivery));
        } else if let EventBody::InteractionClosed(closed) = &event.body
            && let Some(ask) = find(&mut asks, closed.interaction_id)
        {
            ask.closed = true;
        }
    }
    asks
}

fn find<'a, 'b>(asks: &'b mut [Ask<'a>], id: InteractionId) -> Option<&'b mut Ask<'a>> {
    asks.iter_mut().rev().find(|ask| ask.request.interaction_id == id)
}

pub(super) fn check(history: &History, found: &mut Vec<Found>) {
    let asks = asks(history);
    let mut winners: BTreeMap<PromptId, Vec<&str>> = BTreeMap::new();
    for ask in &asks {
        let id = ask.request.interaction_id;
        if ask.responses.len() > 1 {
            add(
                found,
                Finding::TwoWinners,
                format!("the journal has {} answers to {id}", ask.responses.len()),
            );
        }
        for (_, response) in &ask.responses {
            given(history, &asks, response, found);
        }
        let last = ask.delivery();
        if !ask.responses.is_empty() && !last.is_some_and(Delivery::is_final) {
            add(found, Finding::Unfinished, format!("what was settled for {id} is {last:?}"));
        }
    }
    for sent in &history.sent {
        match &sent.told {
            // In these sessions nothing closes an ask, so it is answered in the end, by whomever.
            Told::Nothing => {
                add(found, Finding::Unanswerable, format!("{} never heard of {}", sent.by, sent.key));
            }
            Told::Refused { why } => {
                add(found, Finding::Unanswerable, format!("{}'s answer was refused: {why}", sent.by));
            }
            Told::Won { seq } => {
                winners.entry(sent.prompt).or_default().push(&sent.key);
                if !recorded(&asks, sent, *seq) {
                    let words = format!("{} was told that {} won at {seq}", sent.by, sent.key);
                    add(found, Finding::LostAnswer, words);
                }
            }
            Told::Lost { winner, action } => {
                if !won_by(&asks, sent.interaction, winner.as_deref(), action) {
                    let words = format!("{} was told that {winner:?} was first with {action}", sent.by);
                    add(found, Finding::LostAnswer, words);
                }
            }
        }
    }
    for (prompt, keys) in winners {
        if keys.len() > 1 {
            add(
                found,
                Finding::TwoWinners,
                format!("{} clients were told that they won {prompt}", keys.len()),
            );
        }
    }
}

fn recorded(asks: &[Ask<'_>], sent: &Sent, at: Seq) -> bool {
    let responses = asks.iter().filter(|ask| ask.request.interaction_id == sent.interaction);
    responses
        .flat_map(|ask| &ask.responses)
        .any(|(seq, response)| *seq == at && response.idempotency_key.as_deref() == Some(&sent.key))
}

fn won_by(asks: &[Ask<'_>], id: InteractionId, winner: Option<&str>, action: &str) -> bool {
    let responses = asks.iter().filter(|ask| ask.request.interaction_id == id).flat_map(|ask| &ask.responses);
    responses.into_iter().any(|(_, response)| {
        let name = match &response.decider {
            Decider::Person { name, .. } => Some(name.as_str()),
            Decider::Grant { .. } | Decider::Rule { .. } | Decider::Earlier { .. } => None,
        };
        name == winner && action_of(&response.response) == action
    })
}

/// Somebody gave this answer: a client sent it, or it stands for one that a client sent.
fn given(history: &History, asks: &[Ask<'_>], response: &InteractionResponse, found: &mut Vec<Found>) {
    let good = match &response.decider {
        Decider::Person { name, .. } => history.sent.iter().any(|sent| {
            sent.interaction == response.interaction_id
                && sent.prompt == response.prompt_id
                && Some(&sent.key) == response.idempotency_key.as_ref()
                && sent.by == name
                && draft_action(&sent.draft) == action_of(&response.response)
        }),
        Decider::Earlier { interaction_id } => asks.iter().any(|ask| {
            ask.request.interaction_id == *interaction_id
                && ask.settlement() == Some(Settlement::Approved)
                && ask.sent_out().is_none()
        }),
        // Nobody gave a grant or wrote a rule in these sessions.
        Decider::Grant { .. } | Decider::Rule { .. } => false,
    };
    if !good {
        let finding = match response.response {
            Response::Approve { .. } => Finding::AllowNobodyGave,
            Response::Deny { .. } | Response::Cancel { .. } => Finding::RefusalNobodyGave,
            Response::Answer { .. } | Response::Submit { .. } => Finding::WrongAnswer,
        };
        let words =
            format!("{} has an answer that nobody sent: {:?}", response.interaction_id, response.decider);
        add(found, finding, words);
    }
}

const fn action_of(response: &Response) -> &'static str {
    match response {
        Response::Approve { .. } => "approve",
        Response::Deny { .. } => "deny",
        Response::Answer { .. } | Response::Submit { .. } => "submit",
        Response::Cancel { .. } => "cancel",
    }
}

const fn draft_action(draft: &ResponseDraft) -> &'static str {
    match draft {
        ResponseDraft::Approve { .. } => "approve",
        ResponseDraft::Deny { .. } => "deny",
        ResponseDraft::Submit { .. } => "submit",
        ResponseDraft::Cancel { .. } => "cancel",
    }
}
