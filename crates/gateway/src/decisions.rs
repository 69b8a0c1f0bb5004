//! Asks that are over, as the history tells them: what was asked, what became of it, by whom.

use holdstead_core::{ResponseRecord, SearchWords};
use holdstead_protocol::api::{Decision, DecisionBy, DecisionOutcome, DecisionPage, FoundKind};
use holdstead_protocol::{
    AskBody, AskState, Closing, Decider, InteractionId, InteractionRequest, Layer, Meaning, OwnerId,
    Response, Subject, Surface, Timestamp,
};
use holdstead_store::{DecidedRecord, FoundPlace, SearchQuery};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::{Gateway, GatewayError, cursor};

/// How many are read at once: each may be as large as an event.
const CHUNK: u32 = 16;
/// Of a text, in characters.
const TEXT: usize = 300;
const WORDS: usize = 500;

impl Gateway {
    /// A page of all, the newest first, and where the next one begins.
    pub async fn decisions(
        &self,
        owner: &OwnerId,
        before: Option<(Timestamp, InteractionId)>,
        limit: u32,
    ) -> Result<DecisionPage, GatewayError> {
        let (mut decisions, mut place): (Vec<Decision>, _) = (Vec::new(), before);
        while decisions.len() < limit as usize {
            let wanted = CHUNK.min(limit - u32::try_from(decisions.len()).unwrap_or(limit));
            let some = self.inner.journal.decisions(owner, place, wanted).await?;
            let is_last = some.len() < wanted as usize;
            place = some.last().map(|last| (last.decided_at, last.record.id)).or(place);
            for decided in some {
                decisions.push(self.decision(decided).await?);
            }
            if is_last {
                return Ok(DecisionPage { decisions, next: None });
            }
        }
        let next = place.map(|(at, id)| cursor::place(at, id));
        Ok(DecisionPage { decisions, next })
    }

    /// A page of those that have all the words.
    pub async fn decisions_with(
        &self,
        owner: &OwnerId,
        words: SearchWords,
        before: Option<FoundPlace>,
        limit: u32,
    ) -> Result<DecisionPage, GatewayError> {
        let kind = Some(FoundKind::Decision);
        let query = SearchQuery { owner: owner.clone(), words, kind, before, limit };
        let found = self.inner.journal.search(query).await?;
        let next = found.last().filter(|_| found.len() == limit as usize);
        let next = next.map(|last| cursor::found(last.place));
        let mut seen = BTreeSet::new();
        let mut decisions = Vec::new();
        for id in found.into_iter().filter_map(|found| found.interaction) {
            // One that was asked again was answered more than once.
            if seen.insert(id)
                && let Some(decided) = self.inner.journal.decision(owner, id).await?
            {
                decisions.push(self.decision(decided).await?);
            }
        }
        Ok(DecisionPage { decisions, next })
    }

    async fn decision(&self, decided: DecidedRecord) -> Result<Decision, GatewayError> {
        let late = self.late_answer_of(&decided.record).await?.map(|late| late.response);
        let DecidedRecord { record, cwd, decided_at } = decided;
        let meaning = self.driver(&record.agent).ok().map(|driver| driver.meaning(&record.request.tool_name));
        let (outcome, decider) = match record.ask.state {
            AskState::Closed { closing } => {
                (DecisionOutcome::Closed { closing }, record.ask.late.as_ref().map(decided_by))
            }
            AskState::Settled { settlement } => {
                (DecisionOutcome::Settled { settlement }, record.ask.responses.last().map(decided_by))
            }
            // None of them has a time at which it was decided.
            AskState::Open | AskState::Submitted { .. } | AskState::Queued => {
                (DecisionOutcome::Closed { closing: Closing::Cancelled }, None)
            }
        };
        let closed_by = record.ask.closed_by.map(|name| DecisionBy::Person { name });
        let (by, surface) = match decider {
            Some((by, surface)) => (Some(with_layer(by, &record.request)), surface),
            None => (closed_by, None),
        };
        let response = late.or(record.response.map(|response| response.response));
        let remembered = match &response {
            Some(Response::Approve { lines, .. }) if !record.ask.rule_unsaved => lines.clone(),
            Some(
                Response::Approve { .. }
                | Response::Deny { .. }
                | Response::Answer { .. }
                | Response::Submit { .. }
                | Response::Cancel { .. },
            )
            | None => Vec::new(),
        };
        let waited = decided_at.since(record.ask.opened_at).as_millis();
        Ok(Decision {
            interaction_id: record.id,
            session_id: record.session,
            session_title: record.session_title,
            agent: record.agent,
            cwd: record.request.cwd.clone().or(cwd),
            kind: record.request.body.kind().to_owned(),
            text: asked(&record.request, meaning),
            tool_name: record.request.tool_name,
            marks: record.request.marks,
            outcome,
            by,
            surface,
            remembered,
            words: response.as_ref().and_then(said),
            opened_at: record.ask.opened_at,
            decided_at,
            waited_ms: u64::try_from(waited).unwrap_or(u64::MAX),
        })
    }
}

fn decided_by(response: &ResponseRecord) -> (DecisionBy, Option<Surface>) {
    match &response.decider {
        Decider::Person { name, surface, .. } => (DecisionBy::Person { name: name.clone() }, Some(*surface)),
        Decider::Rule { name } => (DecisionBy::Rule { text: name.clone(), layer: None }, None),
        Decider::Grant { grant_id } => (DecisionBy::Grant { grant_id: *grant_id }, None),
        Decider::Earlier { interaction_id } => {
            (DecisionBy::Earlier { interaction_id: *interaction_id }, None)
        }
    }
}

/// What was asked names the rules that spoke about it, and whose they are.
fn with_layer(by: DecisionBy, request: &InteractionRequest) -> DecisionBy {
    let DecisionBy::Rule { text, .. } = by else { return by };
    let rules =
        request.verdict.iter().flat_map(|verdict| &verdict.parts).filter_map(|part| part.rule.as_ref());
    let layer: Option<Layer> = rules.into_iter().find(|rule| rule.text == text).map(|rule| rule.layer);
    DecisionBy::Rule { text, layer }
}

/// What was asked, in a line.
fn asked(request: &InteractionRequest, meaning: Option<Meaning<'_>>) -> String {
    let text = if let AskBody::Question { questions } = &request.body {
        questions.iter().map(|question| question.question.as_str()).collect::<Vec<_>>().join(" · ")
    } else if request.body.is_approval() {
        let field = meaning.and_then(|meaning| match meaning.subject {
            Subject::Shell { field, .. }
            | Subject::Reads { field }
            | Subject::Searches { field, .. }
            | Subject::Edits { field }
            | Subject::Fetches { field } => Some(field),
            Subject::Whole => None,
        });
        let named =
            field.or(Some("command")).and_then(|field| request.input.get(field)).and_then(Value::as_str);
        named.map_or_else(|| request.input.to_string(), str::to_owned)
    } else {
        let shown = RefCell::new(Vec::new());
        request.body.clone().for_each_shown(|text| shown.borrow_mut().push(std::mem::take(text)), |_| {});
        shown.into_inner().join(" · ")
    };
    beginning(&text, TEXT)
}

/// A person's own words. A secret is not among them: what the journal has in its place is.
fn said(response: &Response) -> Option<String> {
    let words = match response {
        Response::Deny { reason } | Response::Cancel { reason } => reason.clone()?,
        Response::Answer { answers } => {
            answers.iter().flat_map(|answer| answer.values()).collect::<Vec<_>>().join(", ")
        }
        Response::Submit { input } => {
            let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            input.iter().map(|(id, given)| format!("{id}: {}", value(given))).collect::<Vec<_>>().join("; ")
        }
        Response::Approve { .. } => return None,
    };
    (!words.trim().is_empty()).then(|| beginning(&words, WORDS))
}

fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
