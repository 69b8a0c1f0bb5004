//! Asks that are over, as the history tells them: what was asked, what became of it, by whom.

use holdstead_core::SearchWords;
use holdstead_protocol::api::{Decision, DecisionPage, FoundKind, Interaction};
use holdstead_protocol::{
    AskBody, AskChange, EventBody, InteractionId, InteractionRequest, Meaning, OwnerId, Response, Subject,
    Timestamp,
};
use holdstead_store::{AskRecord, DecidedRecord, FoundPlace, SearchQuery};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::{Gateway, GatewayError, cursor, view};

/// How many are read at once: each may be as large as an event.
const CHUNK: u32 = 16;
/// Of a text, in characters.
const TEXT: usize = 300;
const WORDS: usize = 500;
/// Events that are read at once, and how often, for the input that ran in the place of another one.
const PAGE: u32 = 200;
const MOST_PAGES: usize = 20;

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
        let DecidedRecord { record, cwd, decided_at } = decided;
        let late = self.late_answer(&record).await?;
        let meaning = self.driver(&record.agent).ok().map(|driver| driver.meaning(&record.request.tool_name));
        let ran_instead =
            if record.ask.ran_other_than_approved { self.ran_instead(&record).await? } else { None };
        let rule_unsaved = record.ask.rule_unsaved;
        let ask = Interaction { late, ..view::interaction(record) };
        let ending = ask.ending().ok_or(GatewayError::NoAsk)?;
        let ran = ran_instead.or(ending.edited_input).map(|input| called(&input, meaning));
        let response = ask.late.map(|late| late.response).or(ask.response.map(|response| response.response));
        let remembered = match &response {
            Some(Response::Approve { lines, .. }) if !rule_unsaved => lines.clone(),
            Some(
                Response::Approve { .. }
                | Response::Deny { .. }
                | Response::Answer { .. }
                | Response::Submit { .. }
                | Response::Cancel { .. },
            )
            | None => Vec::new(),
        };
        let waited = decided_at.since(ask.opened_at).as_millis();
        Ok(Decision {
            interaction_id: ask.request.interaction_id,
            session_id: ask.session_id,
            session_title: ask.session_title,
            agent: ask.agent,
            cwd: ask.request.cwd.clone().or(cwd),
            kind: ask.request.body.kind().to_owned(),
            text: asked(&ask.request, meaning),
            tool_name: ask.request.tool_name,
            marks: ask.request.marks,
            outcome: ending.outcome,
            by: ending.by,
            in_terminal: ending.in_terminal,
            too_late: ending.too_late,
            ran,
            surface: ending.surface,
            remembered,
            words: response.as_ref().and_then(said),
            opened_at: ask.opened_at,
            decided_at,
            waited_ms: u64::try_from(waited).unwrap_or(u64::MAX),
        })
    }

    /// The input that ran in the place of the one that was approved.
    async fn ran_instead(&self, record: &AskRecord) -> Result<Option<Value>, GatewayError> {
        let mut after = record.ask.request_seq;
        // What an ask comes to is told soon after it is answered.
        for _ in 0..MOST_PAGES {
            let events = self.inner.journal.read(record.session, after, PAGE).await?;
            let Some(last) = events.last() else { return Ok(None) };
            after = last.seq;
            for event in events {
                if let EventBody::InteractionUpdate(update) = event.body
                    && update.interaction_id == record.id
                    && let AskChange::RanOtherThanApproved { ran, .. } = update.change
                {
                    return Ok(ran);
                }
            }
        }
        Ok(None)
    }
}

/// What was asked, in a line.
fn asked(request: &InteractionRequest, meaning: Option<Meaning<'_>>) -> String {
    let text = if let AskBody::Question { questions } = &request.body {
        questions.iter().map(|question| question.question.as_str()).collect::<Vec<_>>().join(" · ")
    } else if request.body.is_approval() {
        return called(&request.input, meaning);
    } else {
        let shown = RefCell::new(Vec::new());
        request.body.clone().for_each_shown(|text| shown.borrow_mut().push(std::mem::take(text)), |_| {});
        shown.into_inner().join(" · ")
    };
    beginning(&text, TEXT)
}

/// What a call does, in a line: its command, its path, or its whole input.
fn called(input: &Value, meaning: Option<Meaning<'_>>) -> String {
    let field = meaning.and_then(|meaning| match meaning.subject {
        Subject::Shell { field, .. }
        | Subject::Reads { field }
        | Subject::Searches { field, .. }
        | Subject::ReadsBelow { field, .. }
        | Subject::Edits { field }
        | Subject::Fetches { field } => Some(field),
        Subject::Whole => None,
    });
    let named = input.get(field.unwrap_or("command")).and_then(Value::as_str);
    beginning(&named.map_or_else(|| input.to_string(), str::to_owned), TEXT)
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
