//! Several asks answered by one request.

use holdstead_core::Rejection;
use holdstead_gateway::GatewayError;
use holdstead_protocol::api::{ManyReceipts, OneOfMany, OneReceipt, Respond, RespondMany};
use holdstead_protocol::{AskState, Code, InteractionRequest, ResponseDraft};

use crate::world::{World, ada, approve, owner};

fn one(ask: &InteractionRequest, response: ResponseDraft) -> OneOfMany {
    let answer =
        Respond { prompt_id: ask.prompt_id, idempotency_key: ask.interaction_id.to_string(), response };
    OneOfMany { interaction_id: ask.interaction_id, answer }
}

#[tokio::test]
async fn each_has_its_own_receipt_and_what_is_marked_is_left_alone() {
    let world = World::new().await;
    let line = |command: &str| format!("approve Bash {{\"command\":\"{command}\"}}");
    let (mut first, mut second, mut third) = (world.talk().await, world.talk().await, world.talk().await);
    first.say(&line("make a")).await;
    second.say(&line("make b")).await;
    third.say(&line("rm -rf build")).await;
    let (a, b, marked) = (first.ask().await, second.ask().await, third.ask().await);
    let deny = || ResponseDraft::Deny { reason: Some("not now".to_owned()) };
    let answers = || vec![one(&a, approve()), one(&marked, approve()), one(&b, deny())];
    let many = world.gateway.respond_to_many(&ada(), RespondMany { answers: answers() }).await.unwrap();
    let [
        OneReceipt::Taken { receipt: taken },
        OneReceipt::Refused { interaction_id, problem },
        OneReceipt::Taken { .. },
    ] = many.results.as_slice()
    else {
        panic!("{many:?}")
    };
    assert_eq!((taken.interaction_id, *interaction_id), (a.interaction_id, marked.interaction_id));
    assert_eq!(problem.code, Code::Invalid);
    assert!(problem.detail.contains("marked as risky"), "{problem:?}");
    first.completed().await;
    second.completed().await;
    assert!(second.results().await[0].output.to_string().contains("not now"));
    let waits = world.gateway.interaction(&owner("ada"), marked.interaction_id).await.unwrap();
    assert_eq!(waits.state, AskState::Open);
    // Sent again after a lost reply, each key finds its own receipt.
    let again = world.gateway.respond_to_many(&ada(), RespondMany { answers: answers() }).await.unwrap();
    let seqs = |many: &ManyReceipts| {
        let seq = |one: &OneReceipt| match one {
            OneReceipt::Taken { receipt } => Some(receipt.seq),
            OneReceipt::Refused { .. } => None,
        };
        many.results.iter().map(seq).collect::<Vec<_>>()
    };
    assert_eq!(seqs(&again), seqs(&many));

    let many = RespondMany { answers: vec![one(&marked, approve()); 51] };
    let refused = world.gateway.respond_to_many(&ada(), many).await;
    assert!(matches!(refused, Err(GatewayError::Rejected(Rejection::TooManyAtOnce { given: 51, most: 50 }))));
    third.respond(&marked, approve()).await;
    third.completed().await;
}
