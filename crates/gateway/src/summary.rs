//! Asks as lists show them: enough to tell them apart, never more than a few kilobytes each.
//!
//! One that is cut says so. Nobody may decide on it before they have fetched it whole.

use std::sync::Arc;

use holdstead_protocol::api::{Cut, Interaction, InteractionPage};
use holdstead_protocol::{AskBody, FieldKind, FieldOption, InteractionRequest, Response};
use holdstead_store::{AskQuery, AskRecord, Journal, StoreError};
use serde_json::{Map, Value};

use crate::{cursor, view};

/// An ask that shows no more than this is listed whole.
const WHOLE: u64 = 4 * 1024;
/// Of a text, a list and an object that are cut: how much is left.
const CHARACTERS: usize = 300;
const ITEMS: usize = 12;
const LEVELS: usize = 4;
/// How many are read at once: each may be as large as an event.
const CHUNK: u32 = 32;

/// One page, and where the next one begins.
pub(crate) async fn page(
    journal: &Arc<dyn Journal>,
    mut query: AskQuery,
) -> Result<InteractionPage, StoreError> {
    let limit = query.limit as usize;
    let mut interactions: Vec<Interaction> = Vec::new();
    while interactions.len() < limit {
        query.limit = CHUNK.min(u32::try_from(limit - interactions.len()).unwrap_or(CHUNK));
        let asks = journal.asks(query.clone()).await?;
        let is_last = asks.len() < query.limit as usize;
        query.after = asks.last().map(|last| (last.ask.opened_at, last.id)).or(query.after);
        interactions.extend(asks.into_iter().map(summary));
        if is_last {
            return Ok(InteractionPage { interactions, next: None });
        }
    }
    let last = interactions.last();
    let next = last.map(|last| cursor::place(last.opened_at, last.request.interaction_id));
    Ok(InteractionPage { interactions, next })
}

/// The ask as a list shows it.
fn summary(record: AskRecord) -> Interaction {
    let bytes = record.ask.bytes;
    let mut ask = view::interaction(record);
    // What was typed may be large where the ask is not.
    let answered = ask.response.as_ref().is_some_and(|response| !is_small(&response.response));
    if bytes > WHOLE || answered {
        cut(&mut ask.request);
        ask.response = ask.response.filter(|_| !answered);
        ask.cut = Some(Cut { bytes });
    }
    ask
}

fn is_small(response: &Response) -> bool {
    serde_json::to_string(response).is_ok_and(|text| text.len() as u64 <= WHOLE)
}

fn cut(request: &mut InteractionRequest) {
    request.input = cut_value(&request.input, LEVELS);
    let texts = [&mut request.agent_says, &mut request.decision_reason, &mut request.error];
    texts.into_iter().flatten().for_each(cut_text);
    cut_text(&mut request.tool_name);
    request.parents.truncate(ITEMS);
    request.parents.iter_mut().for_each(cut_text);
    request.field_errors = Map::new();
    request.initial_values = Map::new();
    request.handler_state = None;
    match &mut request.body {
        AskBody::Approval { preview, .. } => preview.iter_mut().for_each(cut_text),
        AskBody::Question { questions } => {
            questions.truncate(ITEMS);
            for question in &mut *questions {
                question.options.truncate(ITEMS);
                for option in &mut question.options {
                    option.preview = None;
                }
            }
        }
        AskBody::Form { form } => {
            form.fields.truncate(ITEMS);
            for field in &mut form.fields {
                if let Some(options) = options(&mut field.kind) {
                    options.truncate(ITEMS);
                    options.iter_mut().flat_map(|one| [&mut one.value, &mut one.label]).for_each(cut_text);
                }
            }
        }
    }
    request.body.for_each_shown(cut_text, |value| *value = cut_value(value, LEVELS));
}

fn options(kind: &mut FieldKind) -> Option<&mut Vec<FieldOption>> {
    match kind {
        FieldKind::Select { options }
        | FieldKind::Multiselect { options, .. }
        | FieldKind::Radio { options } => Some(options),
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Number { .. }
        | FieldKind::Checkbox {}
        | FieldKind::Date { .. }
        | FieldKind::Secret {} => None,
    }
}

fn cut_text(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(CHARACTERS) {
        text.truncate(end);
        text.push('…');
    }
}

fn cut_value(value: &Value, levels: usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => {
            let mut text: String = text.chars().take(CHARACTERS + 1).collect();
            cut_text(&mut text);
            text.into()
        }
        Value::Array(_) | Value::Object(_) if levels == 0 => Value::from("…"),
        Value::Array(items) => items.iter().take(ITEMS).map(|item| cut_value(item, levels - 1)).collect(),
        Value::Object(map) => {
            let cut = map.iter().take(ITEMS).map(|(key, value)| {
                let mut key: String = key.chars().take(CHARACTERS + 1).collect();
                cut_text(&mut key);
                (key, cut_value(value, levels - 1))
            });
            cut.collect()
        }
    }
}
