//! Secret answers, sealed by whoever has the key. Here they are bytes that come and go.

use holdstead_protocol::{InteractionId, PromptId, SessionId};

use crate::db::{Db, Param, Row};
use crate::{SealedSecret, SecretsOf, StoreError, decode, sql};

/// One that is there already stays as it is: it is the same answer, sent again.
pub(crate) async fn keep(db: &dyn Db, secret: SealedSecret) -> Result<(), StoreError> {
    let params = vec![
        Param::Text(secret.answer),
        Param::Id(secret.session.uuid()),
        Param::Id(secret.interaction.uuid()),
        Param::Id(secret.prompt.uuid()),
        Param::Bytes(secret.sealed),
        Param::Int(secret.at.micros()),
    ];
    db.execute(sql::KEEP_SECRET, params).await.map(|_| ())
}

pub(crate) async fn find(db: &dyn Db, answer: &str) -> Result<Option<SealedSecret>, StoreError> {
    let rows = db.query(sql::SECRET, vec![Param::Text(answer.to_owned())]).await?;
    rows.first().map(secret).transpose()
}

pub(crate) async fn all(db: &dyn Db) -> Result<Vec<SealedSecret>, StoreError> {
    db.query(sql::SECRETS, Vec::new()).await?.iter().map(secret).collect()
}

pub(crate) async fn drop(db: &dyn Db, which: SecretsOf) -> Result<(), StoreError> {
    let (sql, params) = match which {
        SecretsOf::Answer(_, answer) => (sql::DROP_SECRET, vec![Param::Text(answer)]),
        SecretsOf::Prompt(ask, prompt) => {
            (sql::DROP_SECRETS_OF_PROMPT, vec![Param::Id(ask.uuid()), Param::Id(prompt.uuid())])
        }
        SecretsOf::Session(session) => (sql::DROP_SECRETS_OF_SESSION, vec![Param::Id(session.uuid())]),
        SecretsOf::Ask(ask) => (sql::DROP_SECRETS_OF_ASK, vec![Param::Id(ask.uuid())]),
    };
    db.execute(sql, params).await.map(|_| ())
}

fn secret(row: &Row) -> Result<SealedSecret, StoreError> {
    Ok(SealedSecret {
        answer: row.text("answer")?,
        session: SessionId::from_uuid(row.id("session_id")?),
        interaction: InteractionId::from_uuid(row.id("interaction_id")?),
        prompt: PromptId::from_uuid(row.id("prompt_id")?),
        sealed: row.bytes("sealed")?,
        at: decode::moment(row, "at")?,
    })
}
