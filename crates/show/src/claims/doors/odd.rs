//! Inputs that nobody should send: malformed, oversized, deep, odd. The same seed gives the same ones.

use serde_json::{Value, json};

use crate::dice::Dice;

const TEXTS: [&str; 12] = [
    "",
    " ",
    "\u{0}",
    "null",
    "\u{202e}evil\u{202c}",
    "{{action}}",
    "../../etc/passwd",
    "'; drop table asks; --",
    "<script>alert(1)</script>",
    "\u{1b}[2J",
    "🦀🦀🦀",
    "%00%0a",
];

/// A value of any kind, at most so deep.
pub(crate) fn value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 7 } else { 9 }) {
        0 => Value::Null,
        1 => json!(dice.below(2) == 0),
        2 => json!(-1),
        3 => json!(1.5e300),
        4 => json!(u64::MAX),
        5 => json!(*dice.pick(&TEXTS)),
        6 => json!("x".repeat(dice.below(5_000))),
        7 => (0..dice.below(5)).map(|_| value(dice, depth - 1)).collect(),
        _ => (0..dice.below(5)).map(|_| ((*dice.pick(&TEXTS)).to_owned(), value(dice, depth - 1))).collect(),
    }
}

/// A body that is wrong in one way or another; `good` is one that is not.
pub(crate) fn body(dice: &mut Dice, good: &Value) -> Vec<u8> {
    let text = good.to_string();
    match dice.below(14) {
        // Cut off.
        0 => text.as_bytes()[..dice.below(text.len())].to_vec(),
        // One byte changed.
        1 => {
            let mut bytes = text.into_bytes();
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
            bytes
        }
        2 => "[".repeat(*dice.pick(&[65, 100, 10_000, 200_000])).into_bytes(),
        3 => format!("{}{}", "{\"a\":".repeat(5_000), "}".repeat(5_000)).into_bytes(),
        4 => b"\xff\xfe\x00\xd8".to_vec(),
        5 => format!("\"{}\"", "x".repeat(1_200_000)).into_bytes(),
        6 => Vec::new(),
        7 => b"{\"$serde_json::private::RawValue\":\"1\"}".to_vec(),
        8 => with(good, "input", json!({"$serde_json::private::RawValue": "{"})),
        9 => {
            let field = *dice.pick(&["edited_input", "__proto__", "unknown", ""]);
            with(good, field, value(dice, 2))
        }
        10 => with(good, "input", nested(120)),
        11 => text.replacen('{', "{\"kind\":\"form\",\"kind\":\"question\",", 1).into_bytes(),
        12 => text.replacen('"', "\"\\ud800", 1).into_bytes(),
        _ => one_changed(dice, good),
    }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

fn with(good: &Value, key: &str, odd: Value) -> Vec<u8> {
    let mut changed = good.clone();
    if let Value::Object(map) = &mut changed {
        map.insert(key.to_owned(), odd);
    }
    changed.to_string().into_bytes()
}

/// One of its values replaced by another.
fn one_changed(dice: &mut Dice, good: &Value) -> Vec<u8> {
    let mut changed = good.clone();
    if let Value::Object(map) = &mut changed {
        let at = dice.below(map.len());
        if let Some(place) = map.values_mut().nth(at) {
            *place = value(dice, 3);
        }
    }
    changed.to_string().into_bytes()
}

/// What an agent's program might say: some of it wrong, and then the end of its turn.
pub(crate) fn lines(dice: &mut Dice) -> Vec<u8> {
    let input = value(dice, 3);
    let tool = json!({"type": "tool_use", "id": "call", "name": *dice.pick(&TEXTS), "input": input});
    let hook = json!({"subtype": "hook_callback", "callback_id": "x", "input": input, "tool_use_id": "call"});
    let may = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": input, "tool_use_id": "call"});
    let good = [
        json!({"type": "system", "subtype": "init", "session_id": "s", "tools": []}),
        json!({"type": "assistant", "message": {"id": "m", "content": [tool]}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "call", "content": input}]}}),
        json!({"type": "control_request", "request_id": "1", "request": hook}),
        json!({"type": "control_request", "request_id": "2", "request": may}),
        json!({"type": "control_request", "request_id": "3", "request": {"subtype": "no_such_request"}}),
    ];
    let mut lines = Vec::new();
    for _ in 0..dice.below(12) {
        let good = &good[dice.below(good.len())];
        let line = if dice.below(3) == 0 { good.to_string().into_bytes() } else { body(dice, good) };
        lines.extend(line);
        lines.push(b'\n');
    }
    let end =
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "", "session_id": "s"});
    lines.extend(end.to_string().into_bytes());
    lines.push(b'\n');
    lines
}

/// A script that is none, or asks what cannot be asked.
pub(crate) fn script(dice: &mut Dice) -> String {
    match dice.below(9) {
        0 => format!("approve Bash {}", "[".repeat(*dice.pick(&[65, 2_000]))),
        1 => format!("approve Bash {}", nested(100)),
        2 => "approve Bash {\"$serde_json::private::RawValue\": \"{\"}".to_owned(),
        3 => format!("form {{\"fields\": {}}}", value(dice, 2)),
        4 => "repeat 99999999999999999999\nsay x\nend".to_owned(),
        5 => "together\ntogether\nsay x".to_owned(),
        6 => format!("ask {}: | |", "H".repeat(dice.below(3_000))),
        7 => format!("tool {} {}", *dice.pick(&TEXTS), value(dice, 3)),
        _ => {
            let options: Vec<_> = (0..1_500).map(|n| json!({"value": n.to_string(), "label": "x"})).collect();
            let field = json!({"id": "f", "label": "F", "type": "select", "options": options});
            format!("form {}", json!({"fields": [field]}))
        }
    }
}
