//! Numbers, and whether we keep them digit by digit.

use serde_json::{Number, Value};

/// How long the number is that the text begins with, by JSON's grammar.
pub(super) fn length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    // A leading zero stands alone.
    if whole == 0 || (whole > 1 && bytes[at] == b'0') {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}

/// The nearest number that we have, and whether it is the very same.
pub(super) fn value(text: &str) -> (Value, bool) {
    if let Ok(number) = text.parse::<u64>() {
        return (number.into(), true);
    }
    // Minus zero is no whole number of ours.
    if let Some(number) = text.parse::<i64>().ok().filter(|number| *number != 0) {
        return (number.into(), true);
    }
    let parsed: f64 = text.parse().unwrap_or(f64::NAN);
    match Number::from_f64(parsed) {
        // As it will be written again. Some numbers have two shortest texts, and only one of them comes back.
        Some(number) => {
            let kept = decimal(text) == decimal(&number.to_string());
            (Value::Number(number), kept)
        }
        None => (Value::Null, false),
    }
}

/// Its digits without zeros at either end, and the power of ten of the first.
fn decimal(text: &str) -> Option<(&str, String, i64)> {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = i64::try_from(all.len() - digits.len()).ok()?;
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some((sign, String::new(), 0));
    }
    let whole = i64::try_from(whole.len()).ok()?;
    // An exponent that is no number of ours is of no number that we keep.
    let power = exponent.parse::<i64>().ok()?.checked_add(whole - leading)?;
    Some((sign, digits.to_owned(), power))
}
