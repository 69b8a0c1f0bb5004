//! A gateway in this process, without a server, and a person who gives the answers of the command line, one after the
//! other: `approve`, `session`, `deny REASON`, a label or free text, or `field=value`.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::sync::Arc;

use holdstead_gateway::{
    Answering, Gateway, GatewayConfig, HintsBy, Masks, Person, PolicyConfig, Quota, SecretsKey, Tool,
    ToolCall, Watch, WhenNobody,
};
use holdstead_protocol::api::Respond;
use holdstead_protocol::{
    AskBody, AskChange, AskState, EventBody, InteractionRequest, OwnerId, PromptId, ResponseDraft, Scope,
    Seq, SessionId, Surface, ToolCallId,
};
use serde_json::{Map, Value};

/// Calls the tool with each input, prints what it came to, and the late answers that became messages.
pub(crate) async fn play(tool: Arc<dyn Tool>, inputs: Vec<Value>) -> Result<(), Box<dyn Error>> {
    let name = tool.name().to_owned();
    let journal = holdstead_store::open("sqlite::memory:").await?;
    let config = GatewayConfig {
        node: None,
        hints_by: HintsBy::Notify,
        age_out: None,
        hold: GatewayConfig::DEFAULT_HOLD,
        secrets_key: SecretsKey::generate(),
        masks: Masks::default(),
        tools: vec![tool],
        mcp_url: None,
        quota: Quota::default(),
        policy: PolicyConfig::default(),
    };
    let gateway = Gateway::start(journal, Vec::new(), config).await?;
    let owner = OwnerId::new("ada")?;
    let person = Person::new(owner.clone(), "ada", Surface::Terminal);
    let session = gateway.own_session(&person).await?;
    let _watching = gateway.watching(&person, "terminal", Answering::On, Watch::Session(session));
    let answering = tokio::spawn(answer(gateway.clone(), person, session));
    for (number, input) in inputs.into_iter().enumerate() {
        let call = ToolCall {
            owner: owner.clone(),
            session,
            turn: None,
            tool_call_id: ToolCallId::new(format!("call_{number}"))?,
            name: name.clone(),
            input,
            when_nobody: WhenNobody::Refuse,
        };
        match gateway.call_tool(call).await {
            Ok(result) => println!("result: {result}"),
            Err(error) => println!("failed: {error}"),
        }
    }
    // A person may answer after the call was over: what they say becomes a message.
    let messages = tokio::time::timeout(std::time::Duration::from_secs(5), answering)
        .await??
        .map_err(|error| error.to_string())?;
    for message in messages {
        println!("message: {message}");
    }
    gateway.stop().await;
    Ok(())
}

/// Answers until the command line has no more answers. Returns the late ones that became messages.
async fn answer(
    gateway: Gateway,
    person: Person,
    session: SessionId,
) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    let mut answers = std::env::args().skip(1).collect::<Vec<_>>().into_iter().peekable();
    let mut events = gateway.stream(&person.owner, session, Seq(0)).await?;
    let mut queued: Option<InteractionRequest> = None;
    let mut last: Option<InteractionRequest> = None;
    while answers.peek().is_some() {
        let Some(event) = events.next().await? else { break };
        if let EventBody::InteractionRequest(request) = event.body {
            let now = gateway.interaction(&person.owner, request.interaction_id).await?;
            if now.state != AskState::Open {
                println!("not asked, remembered: {}", shown(&request));
                continue;
            }
            println!("asked: {}", shown(&request));
            last = Some(*request);
        } else if matches!(&event.body, EventBody::InteractionUpdate(update)
            if matches!(update.change, AskChange::Queued { .. }))
        {
            // The agent went on. The person still answers.
            queued = last.clone();
        } else {
            continue;
        }
        let Some(request) = queued.take().or_else(|| last.clone()) else { continue };
        let words = answers.next().unwrap_or_default();
        let body = Respond {
            prompt_id: request.prompt_id,
            idempotency_key: PromptId::generate().to_string(),
            response: draft(&request, &words),
        };
        if let Err(error) = gateway.respond(&person, request.interaction_id, body).await {
            println!("refused: {error}");
        }
    }
    let mut messages = Vec::new();
    while let Ok(Ok(Some(event))) =
        tokio::time::timeout(std::time::Duration::from_millis(500), events.next()).await
    {
        if let EventBody::LateAnswer(late) = event.body {
            messages.push(late.text.replace('\n', " "));
        }
    }
    Ok(messages)
}

fn shown(request: &InteractionRequest) -> String {
    let what = if let AskBody::Question { questions } = &request.body {
        questions.iter().map(|question| question.question.as_str()).collect::<Vec<_>>().join(" / ")
    } else if let AskBody::Form { form } = &request.body {
        form.title.clone().unwrap_or_default()
    } else {
        request.input.to_string()
    };
    match &request.error {
        Some(error) => format!("{what} ({error})"),
        None => what,
    }
}

fn draft(request: &InteractionRequest, words: &str) -> ResponseDraft {
    if request.body.is_approval() {
        let scope = match words {
            "approve" => Scope::Once,
            "session" => Scope::Session,
            _ => {
                let reason = words.strip_prefix("deny ").map(str::to_owned);
                return ResponseDraft::Deny { reason };
            }
        };
        return ResponseDraft::Approve { scope: Some(scope), lines: Vec::new(), edited_input: None };
    }
    let mut given = Map::new();
    for (index, part) in words.split(';').enumerate() {
        let (key, value) = part.split_once('=').unwrap_or(("", part));
        let key = if key.is_empty() { index.to_string() } else { key.to_owned() };
        given.insert(key, value.into());
    }
    // Each kind reads its own part.
    ResponseDraft::Submit { answers: Some(given.clone()), input: Some(given) }
}
