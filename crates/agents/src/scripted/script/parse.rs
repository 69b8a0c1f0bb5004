//! From text to steps.

use holdstead_protocol::{Form, Question};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AskKind, Edit, Problem, Script, ScriptAsk, ScriptError, Settings, Step, pieces};

const MAX_DEPTH: usize = 8;
const MAX_TIMES: u32 = 1_000_000;

pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())).collect();
    let mut parser = Parser { lines, at: 0, parents: Vec::new() };
    let steps = parser.steps(None, 0)?;
    Ok(Script { steps })
}

struct Parser<'a> {
    /// With their numbers.
    lines: Vec<(usize, &'a str)>,
    at: usize,
    parents: Vec<String>,
}

/// A block that was begun and needs its `end`.
#[derive(Clone, Copy)]
struct Open {
    verb: &'static str,
    line: usize,
}

fn at<T>(line: usize, result: Result<T, Problem>) -> Result<T, ScriptError> {
    result.map_err(|problem| ScriptError { line, problem })
}

fn needed<'a>(text: &'a str, verb: &'static str, what: &'static str) -> Result<&'a str, Problem> {
    if text.is_empty() { Err(Problem::Missing { verb, what }) } else { Ok(text) }
}

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

impl<'a> Parser<'a> {
    fn next_line(&mut self) -> Option<(usize, &'a str)> {
        let line = self.lines.get(self.at).copied();
        self.at += 1;
        line
    }

    /// The lines up to `end`, as they are.
    fn block(&mut self, open: Open) -> Result<Vec<(usize, &'a str)>, ScriptError> {
        let mut inside = Vec::new();
        while let Some((number, line)) = self.next_line() {
            if line == "end" {
                return Ok(inside);
            }
            inside.push((number, line));
        }
        at(open.line, Err(Problem::NoEnd(open.verb)))
    }

    fn steps(&mut self, open: Option<Open>, depth: usize) -> Result<Vec<Step>, ScriptError> {
        let mut steps = Vec::new();
        while let Some((line, text)) = self.next_line() {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if text == "end" {
                return if open.is_some() { Ok(steps) } else { at(line, Err(Problem::StrayEnd)) };
            }
            steps.extend(self.step(line, text, depth)?);
        }
        match open {
            Some(open) => at(open.line, Err(Problem::NoEnd(open.verb))),
            None => Ok(steps),
        }
    }

    fn step(&mut self, line: usize, text: &str, depth: usize) -> Result<Option<Step>, ScriptError> {
        let (verb, rest) = first_word(text);
        if let Some(ask) = self.ask(line, verb, rest)? {
            return Ok(Some(Step::Ask(ask)));
        }
        let parents = self.parents.clone();
        let step = match verb {
            "say" => Step::Say { text: at(line, needed(rest, "say", "words"))?.to_owned(), parents },
            "think" => Step::Think { text: at(line, needed(rest, "think", "words"))?.to_owned(), parents },
            "tool" => at(line, tool(rest, parents))?,
            "echo" => Step::Echo { path: at(line, needed(rest, "echo", "a file"))?.to_owned(), parents },
            "wait" => Step::Wait(at(line, pieces::time(rest))?),
            "fail" => Step::Fail(at(line, needed(rest, "fail", "words"))?.to_owned()),
            "crash" => Step::Crash,
            "as" => {
                self.parents = rest
                    .split('>')
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect();
                return Ok(None);
            }
            "repeat" | "together" if depth >= MAX_DEPTH => return at(line, Err(Problem::TooDeep)),
            "repeat" => {
                let times = rest.parse().ok().filter(|times| (1..=MAX_TIMES).contains(times));
                let times = at(line, times.ok_or_else(|| Problem::BadCount(rest.to_owned())))?;
                Step::Repeat { times, steps: self.steps(Some(Open { verb: "repeat", line }), depth + 1)? }
            }
            "together" => Step::Together(self.together(line)?),
            _ => return at(line, Err(Problem::UnknownVerb(verb.to_owned()))),
        };
        Ok(Some(step))
    }

    fn together(&mut self, begun: usize) -> Result<Vec<ScriptAsk>, ScriptError> {
        let mut asks = Vec::new();
        while let Some((line, text)) = self.next_line() {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if text == "end" {
                let missing = Problem::Missing { verb: "together", what: "at least one ask" };
                return if asks.is_empty() { at(begun, Err(missing)) } else { Ok(asks) };
            }
            let (verb, rest) = first_word(text);
            match self.ask(line, verb, rest)? {
                Some(ask) => asks.push(ask),
                None => return at(line, Err(Problem::NotAnAsk)),
            }
        }
        at(begun, Err(Problem::NoEnd("together")))
    }

    /// An ask, if that is what the verb begins.
    fn ask(&mut self, line: usize, verb: &str, rest: &str) -> Result<Option<ScriptAsk>, ScriptError> {
        if !["ask", "approve", "form", "edit"].contains(&verb) {
            return Ok(None);
        }
        let (settings, rest) = at(line, pieces::settings(rest))?;
        let ask = match verb {
            "approve" => at(line, approval(rest))?,
            "form" => self.form(line, rest)?,
            "edit" => self.edit(line, rest)?,
            _ => self.questions(line, rest)?,
        };
        Ok(Some(ScriptAsk { settings, parents: self.parents.clone(), ..ask }))
    }

    fn questions(&mut self, line: usize, rest: &str) -> Result<ScriptAsk, ScriptError> {
        #[derive(Deserialize)]
        struct Given {
            questions: Vec<Question>,
        }
        let questions = if rest.is_empty() {
            let lines = self.block(Open { verb: "ask", line })?.into_iter();
            let lines = lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
            lines.map(|(line, text)| at(line, pieces::question(text))).collect::<Result<_, _>>()?
        } else if rest.starts_with('{') {
            let (value, tail) = at(line, pieces::json(rest))?;
            if !tail.is_empty() {
                let allowed = "nothing";
                return at(line, Err(Problem::AfterJson { found: tail.to_owned(), allowed }));
            }
            let given: Result<Given, _> = serde_json::from_value(value);
            at(line, given.map_err(|error| Problem::BadJson(error.to_string())))?.questions
        } else {
            vec![at(line, pieces::question(rest))?]
        };
        if questions.is_empty() {
            return at(line, Err(Problem::Missing { verb: "ask", what: "at least one question" }));
        }
        at(line, pieces::check_questions(&questions))?;
        Ok(bare("ask_user", json!({ "questions": questions }), AskKind::Questions(questions)))
    }

    fn form(&mut self, line: usize, rest: &str) -> Result<ScriptAsk, ScriptError> {
        let (value, tail) = if rest.is_empty() {
            let block = self.block(Open { verb: "form", line })?;
            let text = block.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
            let (value, tail) = at(line, pieces::json(&text))?;
            (value, tail.to_owned())
        } else {
            let (value, tail) = at(line, pieces::json(rest))?;
            (value, tail.to_owned())
        };
        let (because, says) = at(line, pieces::reasons(&tail))?;
        let form: Result<Form, _> = serde_json::from_value(value.clone());
        let form = at(line, form.map_err(|error| Problem::BadJson(error.to_string())))?;
        Ok(ScriptAsk { because, says, ..bare("show_form", value, AskKind::Form(form)) })
    }

    fn edit(&mut self, line: usize, rest: &str) -> Result<ScriptAsk, ScriptError> {
        let (path, tail) = first_word(at(line, needed(rest, "edit", "the path of a file"))?);
        let (because, says) = at(line, pieces::reasons(tail))?;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (number, text) in self.block(Open { verb: "edit", line })? {
            // Indentation after the mark belongs to the text.
            match text.split_at_checked(1) {
                Some(("-", text)) => old.push(text),
                Some(("+", text)) => new.push(text),
                Some(_) | None => return at(number, Err(Problem::BadEditLine)),
            }
        }
        let edit =
            Edit { file_path: path.to_owned(), old_string: old.join("\n"), new_string: new.join("\n") };
        Ok(ScriptAsk { because, says, ..bare("Edit", json!(edit), AskKind::Edit) })
    }
}

fn bare(tool: &str, input: Value, kind: AskKind) -> ScriptAsk {
    ScriptAsk {
        tool: tool.to_owned(),
        input,
        kind,
        because: None,
        says: None,
        parents: Vec::new(),
        settings: Settings::default(),
    }
}

fn approval(rest: &str) -> Result<ScriptAsk, Problem> {
    let (name, rest) = first_word(needed(rest, "approve", "the name of a tool and its input as JSON")?);
    let (input, tail) = pieces::json(rest)?;
    let (because, says) = pieces::reasons(tail)?;
    Ok(ScriptAsk { because, says, ..bare(name, input, AskKind::Approval) })
}

fn tool(rest: &str, parents: Vec<String>) -> Result<Step, Problem> {
    let (name, rest) = first_word(needed(rest, "tool", "the name of a tool and its input as JSON")?);
    let (input, tail) = pieces::json(rest)?;
    let (result, is_error) = match (tail.strip_prefix("=>"), tail.strip_prefix("=!")) {
        (Some(result), _) => (result.trim(), false),
        (None, Some(error)) => (error.trim(), true),
        (None, None) if tail.is_empty() => ("ok", false),
        (None, None) => {
            let allowed = "`=> RESULT` or `=! ERROR`";
            return Err(Problem::AfterJson { found: tail.to_owned(), allowed });
        }
    };
    Ok(Step::Tool { name: name.to_owned(), input, result: result.to_owned(), is_error, parents })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
