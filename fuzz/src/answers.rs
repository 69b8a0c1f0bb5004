//! Any ask, and any answer to it, decided by the core: an answer that is taken settles what was asked.

use holdstead_core::{
    Ask, Command, Confirmed, Quota, Request, Respond, State, Together, asking, decide, fold,
};
use holdstead_protocol::{
    AskBody, Capabilities, Event, EventId, InteractionId, MessageId, Origin, OwnerId, PromptId,
    ResponseDraft, Seq, SessionId, SessionOpened, Surface, Timestamp, TurnId, json,
};
use serde_json::Value;

pub fn run(bytes: &[u8]) {
    // Two lines: what is asked, and what is answered.
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
    let (Ok(body), Ok(draft)) = (json::read(&bytes[..end]), json::read(&bytes[end + 1..])) else { return };
    let Ok(body) = serde_json::from_value::<AskBody>(body) else { return };
    let Ok(response) = serde_json::from_value::<ResponseDraft>(draft) else { return };
    let owner = OwnerId::new("ada").expect("a name");
    let session = SessionId::derive(&owner, "s");
    let now = Timestamp::from_micros(1);
    let mut state = State::Unopened;
    let mut seq = 0;
    let mut apply = |state: &mut State, command: Command| {
        let Ok(events) = decide(state, &command, None, now) else { return false };
        for body in events {
            seq += 1;
            fold(state, &Event { id: EventId::generate(), seq: Seq(seq), at: now, heard: None, body });
        }
        true
    };
    apply(&mut state, Command::Open(Box::new(SessionOpened::new(owner, "caller"))));
    let request = asking(
        InteractionId::derive(session, "a"),
        PromptId::generate(),
        Origin::Caller,
        "t",
        Value::from("x"),
        body,
        Capabilities { reason: true, edit_input: true, scopes: true },
    );
    let (interaction_id, prompt_id) = (request.interaction_id, request.prompt_id);
    let quota = Quota::default();
    let asked = Request { request, owner_grants: Vec::new(), allowed_by: None, quota };
    if !apply(&mut state, Command::Request(Box::new(asked))) {
        return;
    }
    let respond = Respond {
        interaction_id,
        prompt_id,
        idempotency_key: "k".to_owned(),
        response,
        secrets_mac: None,
        name: "ana".to_owned(),
        surface: Surface::Api,
        actor: None,
        together: Together::Alone,
        confirmed: Confirmed::NotRequired,
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
    };
    let taken = apply(&mut state, Command::Respond(Box::new(respond)));
    let open =
        state.session().is_some_and(|session| session.asks.get(&interaction_id).is_some_and(Ask::is_live));
    assert_eq!(taken, !open, "taken, or still open");
}
