//! The model as an agent meets it: over HTTP.

use std::time::Duration;

use futures_util::StreamExt;
use holdstead_scripted_model::{INTERACTION_ID, Model, PLAN_FILE, Part, Script, Told, call, say, think};
use serde_json::{Value, json};

fn text(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

fn used(id: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}}]})
}

fn result(id: &str, content: Value, is_error: bool) -> Value {
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error});
    json!({"role": "user", "content": [result]})
}

fn told_result(id: &str, content: &str, is_error: bool) -> Told {
    Told::ToolResult { tool_use_id: id.into(), content: content.into(), is_error }
}

fn body(messages: &[Value]) -> Value {
    json!({"model": "m", "stream": true, "tools": [{"name": "Bash"}], "messages": messages})
}

fn http() -> reqwest::Client {
    holdstead_client::requests_to("http://").build().expect("a client")
}

async fn post(model: &Model, body: &Value) -> reqwest::Response {
    let url = format!("{}/v1/messages?beta=true", model.base_url());
    http().post(url).json(body).send().await.expect("the model answers")
}

fn events(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).expect("an event is JSON"))
        .collect()
}

/// Puts the blocks of a streamed reply together again, as an agent does.
fn assembled(events: &[Value]) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut input = String::new();
    for event in events {
        match event["type"].as_str().expect("an event has a type") {
            "content_block_start" => {
                assert_eq!(event["index"], blocks.len());
                blocks.push(event["content_block"].clone());
                input.clear();
            }
            "content_block_delta" => {
                let block = blocks.last_mut().expect("a delta follows its block");
                for key in ["text", "thinking", "signature"] {
                    if let Some(more) = event["delta"][key].as_str() {
                        block[key] = json!(format!("{}{more}", block[key].as_str().expect("it is text")));
                    }
                }
                if let Some(more) = event["delta"]["partial_json"].as_str() {
                    input.push_str(more);
                    block["input"] = serde_json::from_str(&input).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    blocks
}

async fn reply(model: &Model, messages: &[Value]) -> Vec<Value> {
    let response = post(model, &body(messages)).await;
    assert_eq!(response.status(), 200);
    assembled(&events(&response.text().await.expect("the reply ends")))
}

#[tokio::test]
async fn a_script_is_played_one_reply_per_request_and_then_echoes_what_it_was_told() {
    let model = Model::start().await.unwrap();
    let input = json!({"command": "echo 'a command that is longer than one piece'"});
    model.script(
        "two",
        Script::new()
            .reply([
                think("Hm."),
                say("Let me do that, in more than one piece."),
                call("Bash", input.clone()),
            ])
            .reply([call("Bash", json!({"command": "b"})), call("Bash", json!({"command": "c"}))]),
    );
    let mut messages = vec![text("user", "please go\nscript: two")];

    let first = reply(&model, &messages).await;
    assert_eq!(first[0]["thinking"], "Hm.");
    assert_eq!(first[1]["text"], "Let me do that, in more than one piece.");
    assert_eq!(first[2]["name"], "Bash");
    assert_eq!(first[2]["input"], input);

    messages.extend([used("a"), result("a", json!("done a"), false)]);
    let second = reply(&model, &messages).await;
    assert_eq!(second.len(), 2);
    assert_ne!(second[0]["id"], second[1]["id"]);

    let content = json!([{"type": "text", "text": "no b"}, {"type": "image"}]);
    messages.extend([used("b"), result("b", content, true), text("user", "go on")]);
    messages.push(text("user", "<system-reminder>be nice</system-reminder>"));
    messages.push(text("system", "today is today\nscript: not one"));
    let last = reply(&model, &messages).await;
    assert_eq!(last, [json!({"type": "text", "text": "told: [\"done a\",\"no b\\n[image]\",\"go on\"]"})]);

    let told = [
        told_result("a", "done a", false),
        told_result("b", "no b\n[image]", true),
        Told::Text { text: "go on".into() },
        Told::Reminder { text: "<system-reminder>be nice</system-reminder>".into() },
        Told::Reminder { text: "today is today\nscript: not one".into() },
    ];
    assert_eq!(model.told("two"), told);
    assert_eq!(model.requests("two"), 3);
}

#[tokio::test]
async fn a_prompt_may_carry_its_script_and_a_later_prompt_may_start_another() {
    let model = Model::start().await.unwrap();
    let script = json!({"name": "own", "replies": [[{"say": "hi"}, {"call": {"id": "x1", "name": "Bash", "input": {}}}]]});
    model.script("next", Script::new().reply([say("next")]));
    let mut messages = vec![text("user", &format!("go\nscript: {script}"))];

    let first = reply(&model, &messages).await;
    assert_eq!(first[0]["text"], "hi");
    assert_eq!(first[1]["id"], "x1");

    messages.extend([used("x1"), result("x1", json!("done"), false)]);
    messages.extend([text("assistant", "told"), text("user", "script: next")]);
    assert_eq!(reply(&model, &messages).await[0]["text"], "next");
    assert!(model.told("next").is_empty());
}

#[tokio::test]
async fn what_was_told_is_kept_when_a_later_request_drops_it_and_counted_when_it_comes_twice() {
    let model = Model::start().await.unwrap();
    model.script("drop", Script::new());
    let begin = text("user", "script: drop");
    reply(&model, &[begin.clone(), used("a"), result("a", json!("gone"), false)]).await;
    reply(&model, &[begin.clone(), text("user", "late")]).await;
    reply(&model, &[begin, text("user", "late"), text("assistant", "x"), text("user", "late")]).await;

    let late = Told::Text { text: "late".into() };
    assert_eq!(model.told("drop"), [told_result("a", "gone", false), late.clone(), late]);
}

#[tokio::test]
async fn requests_beside_the_conversation_get_a_harmless_word_and_move_nothing() {
    let model = Model::start().await.unwrap();
    model.script("main", Script::new().reply([say("one")]));
    let title = json!({"model": "m", "tools": [], "messages": [text("user", "Title for: script: main\nscript: main")]});
    let answer: Value = post(&model, &title).await.json().await.unwrap();
    assert_eq!(answer["content"], json!([{"type": "text", "text": "ok"}]));
    assert_eq!(model.requests("main"), 0);
    assert_eq!(model.bodies(), [title]);

    let count = http().post(format!("{}/v1/messages/count_tokens", model.base_url()));
    assert_eq!(count.json(&json!({})).send().await.unwrap().status(), 200);
    let elsewhere = http().get(format!("{}/v1/elsewhere", model.base_url())).send().await.unwrap();
    assert_eq!(elsewhere.status(), 404);
    assert_eq!(elsewhere.json::<Value>().await.unwrap()["error"]["type"], "not_found_error");
}

#[tokio::test]
async fn a_missing_or_broken_script_and_a_failing_reply_are_errors_of_the_api() {
    let model = Model::start().await.unwrap();
    model.script("fails", Script::new().reply([Part::Fail(529)]));
    for (prompt, status, words) in [
        ("script: gone", 400, "there is no script \"gone\""),
        ("script: {}", 400, "the script in the prompt cannot be read"),
        ("script: fails", 529, "the script fails here"),
    ] {
        let response = post(&model, &body(&[text("user", prompt)])).await;
        assert_eq!(response.status(), status);
        let error: Value = response.json().await.unwrap();
        assert!(error["error"]["message"].as_str().unwrap().starts_with(words), "{error}");
    }
}

#[tokio::test]
async fn a_stream_stands_still_at_a_gate_until_it_is_released() {
    let model = Model::start().await.unwrap();
    model.script("held", Script::new().reply([say("before"), Part::Hold("gate".into()), say("after")]));
    let response = post(&model, &body(&[text("user", "script: held")])).await;
    model.held("gate").await;

    let mut stream = response.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("content_block_stop") {
        seen.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    let more = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
    assert!(more.is_err(), "it went on: {more:?}");

    model.release("gate");
    while let Some(bytes) = stream.next().await {
        seen.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
    }
    let blocks = assembled(&events(&seen));
    assert_eq!((&blocks[0]["text"], &blocks[1]["text"]), (&json!("before"), &json!("after")));
    let again = post(&model, &body(&[text("user", "script: held")])).await.text().await.unwrap();
    assert!(again.contains("message_stop"), "the gate stays open");
}

#[tokio::test]
async fn a_test_can_wait_for_what_the_model_is_told_and_read_it_over_http() {
    let model = Model::start().await.unwrap();
    model.script("wait", Script::new());
    let request = body(&[text("user", "script: wait"), used("a"), result("a", json!("done"), false)]);
    let (told, _) = tokio::join!(model.told_when("wait", |told| !told.is_empty()), post(&model, &request));
    assert_eq!(told, [told_result("a", "done", false)]);

    let url = format!("{}/told?conversation=wait", model.base_url());
    assert_eq!(http().get(url).send().await.unwrap().json::<Vec<Told>>().await.unwrap(), told);
}

#[tokio::test]
async fn a_plan_is_written_where_the_agent_wants_it() {
    let model = Model::start().await.unwrap();
    model.script(
        "plan",
        Script::new().reply([call("Write", json!({"file_path": PLAN_FILE, "content": "1. Do it."}))]),
    );
    let wants =
        text("system", "No plan file exists yet. You should create your plan at /plans/a.md using Write.");
    let blocks = reply(&model, &[text("user", "script: plan"), wants]).await;
    assert_eq!(blocks[0]["input"], json!({"file_path": "/plans/a.md", "content": "1. Do it."}));
}

#[tokio::test]
async fn a_script_that_has_what_it_wants_ends_early() {
    let model = Model::start().await.unwrap();
    let again = || [call("Bash", json!({"command": "a"}))];
    model.script("again", Script::new().reply(again()).reply(again()).reply(again()).until("it is done"));
    let mut messages = vec![text("user", "script: again"), used("a"), result("a", json!("not yet"), true)];
    assert_eq!(reply(&model, &messages).await[0]["name"], "Bash");
    messages.extend([used("b"), result("b", json!("now it is done"), false)]);
    assert_eq!(reply(&model, &messages).await[0]["text"], "told: [\"not yet\",\"now it is done\"]");
}

#[tokio::test]
async fn the_same_scripts_play_over_the_gemini_api() {
    let model = Model::start().await.unwrap();
    let again = call("await_answer", json!({"interaction_id": INTERACTION_ID}));
    model.script("g", Script::new().reply([call("ask", json!({"question": "?"}))]).reply([again]));
    let generate = async |contents: Value| {
        let url = format!("{}/v1beta/models/m:streamGenerateContent?alt=sse", model.base_url());
        let body = json!({"contents": contents, "tools": [{"functionDeclarations": []}]});
        let reply = http().post(url).json(&body).send().await.unwrap().text().await.unwrap();
        let events = events(&reply);
        assert_eq!(events.len(), 1, "{reply}");
        events[0]["candidates"][0]["content"]["parts"][0].clone()
    };
    let asked = json!({"role": "user", "parts": [{"text": "context"}, {"text": "go\nscript: g"}]});
    let first = generate(json!([asked])).await;
    assert_eq!(first, json!({"functionCall": {"name": "ask", "args": {"question": "?"}}}));
    let result = json!({"id": "ask_1", "response": {"output": "{\"status\":\"pending\",\"interaction_id\":\"int_07\"}"}});
    let told = json!({"role": "user", "parts": [{"functionResponse": result}]});
    let second = generate(json!([asked, {"role": "model", "parts": [first]}, told])).await;
    assert_eq!(second["functionCall"]["args"], json!({"interaction_id": "int_07"}));
    let told = told_result("ask_1", "{\"status\":\"pending\",\"interaction_id\":\"int_07\"}", false);
    assert_eq!(model.told("g"), [told]);
}

/// Puts the pieces of a streamed chat completion together again, as an agent does.
fn completed(text: &str) -> Value {
    let (data, done) = text.split_at(text.find("data: [DONE]").expect("it says that it is done"));
    assert_eq!(done, "data: [DONE]\n\n");
    let (mut said, mut thought, mut calls, mut finish) = (String::new(), String::new(), vec![], Value::Null);
    for event in events(data) {
        let Some(choice) = event["choices"].get(0) else { continue };
        let delta = &choice["delta"];
        said.push_str(delta["content"].as_str().unwrap_or_default());
        thought.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let index =
                piece["index"].as_u64().and_then(|at| usize::try_from(at).ok()).expect("a call has a place");
            let more = piece["function"]["arguments"].as_str().expect("arguments are text");
            if index == calls.len() {
                let text = |value: &Value| value.as_str().expect("it is text").to_owned();
                calls.push((text(&piece["id"]), text(&piece["function"]["name"]), more.to_owned()));
            } else {
                calls[index].2.push_str(more);
            }
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    json!({"said": said, "thought": thought, "calls": calls, "finish": finish})
}

#[tokio::test]
async fn the_same_scripts_play_over_chat_completions() {
    let model = Model::start().await.unwrap();
    let command = json!({"command": "echo 'a command that is longer than one piece'"});
    let two = [think("Hm."), say("In more than one piece, I hope."), call("bash", command.clone())];
    model.script("c", Script::new().reply(two.into_iter().chain([call("bash", json!({}))])));
    let complete = async |messages: &[Value], stream: bool| {
        let url = format!("{}/v1/chat/completions", model.base_url());
        let tools = json!([{"type": "function", "function": {"name": "bash"}}]);
        let body = json!({"model": "m", "stream": stream, "tools": tools, "messages": messages});
        http().post(url).json(&body).send().await.unwrap().text().await.unwrap()
    };
    let system = json!({"role": "system", "content": "be nice\nscript: not one"});
    let prompt = json!({"role": "user", "content": [{"type": "text", "text": "go\nscript: c"}]});
    let mut messages = vec![system, prompt];

    let first = completed(&complete(&messages, true).await);
    assert_eq!(
        (&first["said"], &first["thought"]),
        (&json!("In more than one piece, I hope."), &json!("Hm."))
    );
    assert_eq!(first["finish"], "tool_calls");
    let arguments: Value = serde_json::from_str(first["calls"][0][2].as_str().unwrap()).unwrap();
    assert_eq!(arguments, command);
    assert_ne!(first["calls"][0][0], first["calls"][1][0]);

    let made = json!({"role": "assistant", "content": null, "tool_calls": []});
    let result = json!({"role": "tool", "tool_call_id": "call_a", "content": "(no output)"});
    messages.extend([made, result]);
    let last = completed(&complete(&messages, true).await);
    assert_eq!((&last["said"], &last["finish"]), (&json!("told: [\"(no output)\"]"), &json!("stop")));
    let whole: Value = serde_json::from_str(&complete(&messages, false).await).unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "told: [\"(no output)\"]");
    assert_eq!(model.told("c"), [told_result("call_a", "(no output)", false)]);
}

#[tokio::test]
async fn the_same_scripts_play_over_the_responses_api() {
    let model = Model::start().await.unwrap();
    let patch = "*** Begin Patch\n*** End Patch\n";
    model.script(
        "r",
        Script::new()
            .reply([
                think("Hm."),
                say("Let me do that, in more than one piece."),
                call("exec_command", json!({"cmd": "ls"})),
                call("mcp__files__find", json!({"name": "a"})),
            ])
            .reply([call("apply_patch", json!(patch))]),
    );
    let tools = json!([
        {"type": "function", "name": "exec_command"},
        {"type": "namespace", "name": "mcp__files", "tools": [{"type": "function", "name": "find"}]},
    ]);
    let respond = async |input: &[Value], tools: &Value| {
        let url = format!("{}/v1/responses", model.base_url());
        let body = json!({"model": "m", "stream": true, "input": input, "tools": tools});
        let reply = http().post(url).json(&body).send().await.unwrap().text().await.unwrap();
        let events = events(&reply);
        assert_eq!(events[0]["type"], "response.created");
        assert_eq!(events[events.len() - 1]["type"], "response.completed");
        let of =
            |kind: &str| events.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>();
        let words: String =
            of("response.output_text.delta").iter().map(|event| event["delta"].as_str().unwrap()).collect();
        let items = of("response.output_item.done").into_iter().map(|mut event| event["item"].take());
        (words, items.collect::<Vec<_>>())
    };
    let message = |role: &str, words: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]});
    let output = |kind: &str, item: &Value, output: Value| json!({"type": format!("{kind}_call_output"), "call_id": item["call_id"], "output": output});
    let mut input = vec![message("developer", "be nice"), message("user", "go\nscript: r")];
    assert_eq!(respond(&input, &json!([])).await.0, "ok", "without tools it is beside the conversation");

    let (words, first) = respond(&input, &tools).await;
    assert_eq!(words, "Let me do that, in more than one piece.");
    assert_eq!(first[0]["summary"][0]["text"], "Hm.");
    assert_eq!(
        (&first[2]["name"], &first[2]["arguments"]),
        (&json!("exec_command"), &json!("{\"cmd\":\"ls\"}"))
    );
    assert_eq!((&first[3]["namespace"], &first[3]["name"]), (&json!("mcp__files"), &json!("find")));
    input.extend(first.clone());
    input.push(output("function", &first[2], json!("a.txt")));
    input.push(output("function", &first[3], json!([{"type": "input_text", "text": "found"}])));

    let (_, second) = respond(&input, &tools).await;
    assert_eq!((&second[0]["type"], &second[0]["input"]), (&json!("custom_tool_call"), &json!(patch)));
    input.extend(second.clone());
    input.extend([output("custom_tool", &second[0], json!("done")), message("developer", "be brief")]);

    let (words, _) = respond(&input, &tools).await;
    assert_eq!(words, "told: [\"a.txt\",\"found\",\"done\"]");
    let id = |item: &Value| item["call_id"].as_str().unwrap().to_owned();
    let told = [
        told_result(&id(&first[2]), "a.txt", false),
        told_result(&id(&first[3]), "found", false),
        told_result(&id(&second[0]), "done", false),
        Told::Reminder { text: "be brief".into() },
    ];
    assert_eq!(model.told("r"), told);
    let models: Value =
        http().get(format!("{}/v1/models", model.base_url())).send().await.unwrap().json().await.unwrap();
    assert_eq!(models["data"][0]["id"], "scripted");
}

#[tokio::test]
async fn a_chat_completion_stands_still_at_a_gate_too() {
    let model = Model::start().await.unwrap();
    model.script("held", Script::new().reply([say("before"), Part::Hold("gate".into()), say("after")]));
    let url = format!("{}/v1/chat/completions", model.base_url());
    let prompt = json!({"role": "user", "content": "script: held"});
    let body = json!({"model": "m", "stream": true, "tools": [{}], "messages": [prompt]});
    let response = http().post(url).json(&body).send().await.unwrap();
    model.held("gate").await;
    let mut stream = response.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("before") {
        seen.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    let more = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
    assert!(more.is_err(), "it went on: {more:?}");
    model.release("gate");
    while let Some(bytes) = stream.next().await {
        seen.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
    }
    assert_eq!(completed(&seen)["said"], "beforeafter");
}
