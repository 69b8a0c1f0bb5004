//! Sealed secrets come and go.

use holdstead_core::Command;
use holdstead_protocol::{InteractionId, PromptId, SessionId};
use holdstead_store::{Journal, SealedSecret, SecretsOf};

use crate::commands::{from_now, open, owner};
use crate::fixture::Fixture;

async fn sealed(journal: &dyn Journal, session: SessionId, answer: &str, ask: &str) -> SealedSecret {
    SealedSecret {
        answer: answer.to_owned(),
        session,
        interaction: InteractionId::derive(session, ask),
        prompt: PromptId::generate(),
        sealed: vec![0, 1, 254, 255],
        at: from_now(journal, 0).await,
    }
}

async fn kept(journal: &dyn Journal) -> Vec<String> {
    journal.secrets().await.expect("a look").into_iter().map(|secret| secret.answer).collect()
}

pub(crate) async fn a_secret_is_kept_until_it_is_dropped(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = SessionId::generate(&owner());
    let first = sealed(journal, session, "a", "one").await;
    let same_prompt = SealedSecret { answer: "b".to_owned(), ..first.clone() };
    let same_ask = SealedSecret { answer: "c".to_owned(), prompt: PromptId::generate(), ..first.clone() };
    let other = sealed(journal, session, "d", "two").await;
    for secret in [&first, &same_prompt, &same_ask, &other] {
        journal.keep_secret(secret.clone()).await.expect("kept");
        assert_eq!(
            journal.secret(secret.interaction, &secret.answer).await.expect("a look").as_ref(),
            Some(secret)
        );
    }
    // The same answer again changes nothing.
    journal.keep_secret(SealedSecret { sealed: vec![7], ..first.clone() }).await.expect("kept");
    assert_eq!(journal.secret(first.interaction, "a").await.expect("a look"), Some(first.clone()));
    journal.drop_secrets(SecretsOf::Answer(first.interaction, "a".to_owned())).await.expect("dropped");
    assert_eq!(journal.secret(first.interaction, "a").await.expect("a look"), None);
    assert_eq!(kept(journal).await, ["b", "c", "d"]);
    journal.drop_secrets(SecretsOf::Prompt(first.interaction, first.prompt)).await.expect("dropped");
    assert_eq!(kept(journal).await, ["c", "d"]);
    journal.drop_secrets(SecretsOf::Ask(first.interaction)).await.expect("dropped");
    assert_eq!(kept(journal).await, ["d"]);
}

pub(crate) async fn secrets_go_with_an_erased_session(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (erased, other) = (open(journal, "erased").await, open(journal, "other").await);
    for (session, answer) in [(erased, "a"), (other, "b")] {
        journal.keep_secret(sealed(journal, session, answer, "one").await).await.expect("kept");
    }
    journal.append(erased, Command::End { name: "ada".to_owned() }).await.expect("ended");
    journal.erase(erased, "Ada").await.expect("erased");
    assert_eq!(kept(journal).await, ["b"]);
}
