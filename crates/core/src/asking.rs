//! The one place where an ask is made: whoever asks says what is its own, and takes the rest from here.

use holdstead_protocol::{
    AskBody, Capabilities, Digest, Hold, HoldThen, InteractionId, InteractionRequest, Origin, Presentation,
    PromptId,
};
use serde_json::{Map, Value, json};

use crate::digest;

/// Names what is asked, at its first showing: asking the same again finds the same ask, also if its tool asked something
/// else meanwhile. What an approval is about is its input.
pub fn asked(input: &Value, body: &AskBody) -> Digest {
    if body.is_approval() { digest(input) } else { digest(&json!([input, body])) }
}

/// The first showing of an ask that waits for an answer as long as it takes. The digest is that of the input.
pub fn asking(
    interaction_id: InteractionId,
    prompt_id: PromptId,
    origin: Origin,
    tool_name: impl Into<String>,
    input: Value,
    body: AskBody,
    capabilities: Capabilities,
) -> InteractionRequest {
    InteractionRequest {
        interaction_id,
        prompt_id,
        attempt: 1,
        origin,
        asked_by: None,
        turn_id: None,
        response_id: None,
        tool_call_id: None,
        parents: Vec::new(),
        tool_name: tool_name.into(),
        input_digest: digest(&input),
        input,
        body,
        agent_says: None,
        cwd: None,
        verdict: None,
        marks: Vec::new(),
        decision_reason: None,
        error: None,
        field_errors: Map::new(),
        initial_values: Map::new(),
        presentation: Presentation::Tool,
        completed_view: None,
        hold: Hold { after_ms: 0, then: HoldThen::Wait },
        deadline: None,
        can_park: false,
        capabilities,
        may_have_run: false,
        has_handler: false,
        handler_state: None,
    }
}
