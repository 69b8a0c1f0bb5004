//! Every fuzz target over its committed inputs, and for `HOLDSTEAD_FUZZ_SECONDS` over random changes of them. libFuzzer,
//! which looks for new code paths, needs an instrumented build that takes minutes: `just nightly` runs it.

use std::env;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::RngExt as _;

#[expect(unreachable_pub, reason = "it is the library of the fuzz workspace")]
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;

/// As for libFuzzer: longer inputs make each run slow.
const LONGEST: usize = 16_384;
/// What the readers treat specially.
const TOKENS: [&[u8]; 16] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\0",
    b"'",
    b"$(",
    b"\xff",
    b"\xe2\x80\xae",
    b"-1e999",
    b"null",
];

macro_rules! targets {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            survives(stringify!($name), fuzz::$name::run);
        })*
    };
}

targets! {
    answers bodies claude_lines http json mcp places rule_lines schema scripted_lines scripts shell_lines signatures verdicts
}

#[test]
fn every_target_is_run_here() {
    let mut found: Vec<_> = files("fuzz_targets")
        .into_iter()
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, NAMES);
}

#[test]
#[should_panic(expected = "json fails for b\"")]
fn an_input_that_fails_is_told() {
    survives("json", |input| assert!(input.is_empty()));
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder);
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

fn survives(name: &str, target: fn(&[u8])) {
    let mut inputs: Vec<Vec<u8>> =
        files(&format!("seeds/{name}")).iter().map(|file| fs::read(file).expect("an input")).collect();
    assert!(!inputs.is_empty(), "{name} has no committed input");
    inputs.push(Vec::new());
    let run = |input: &[u8]| {
        let outcome = panic::catch_unwind(|| target(input));
        assert!(outcome.is_ok(), "{name} fails for b\"{}\"", input.escape_ascii());
    };
    inputs.iter().for_each(|input| run(input));

    let seconds =
        env::var("HOLDSTEAD_FUZZ_SECONDS").map_or(0, |text| text.parse().expect("a number of seconds"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = rand::rng();
    while Instant::now() < end {
        run(&changed(&inputs, &mut random));
    }
}

/// One of these inputs after a few random changes.
fn changed(inputs: &[Vec<u8>], random: &mut impl rand::Rng) -> Vec<u8> {
    let mut input = inputs[random.random_range(..inputs.len())].clone();
    for _ in 0..random.random_range(1..=8) {
        let at = random.random_range(..=input.len());
        let end = random.random_range(at..=input.len());
        match random.random_range(..6_u32) {
            // A bit is flipped.
            0 if at < input.len() => input[at] ^= 1 << random.random_range(..8_u32),
            // A token or a part of another input is inserted.
            0 | 1 => drop(input.splice(at..at, TOKENS[random.random_range(..TOKENS.len())].iter().copied())),
            2 => {
                let other = &inputs[random.random_range(..inputs.len())];
                let from = random.random_range(..=other.len());
                let to = random.random_range(from..=other.len());
                drop(input.splice(at..at, other[from..to].iter().copied()));
            }
            // A part is repeated, removed, or replaced by a token.
            3 => {
                let part = input[at..end].repeat(random.random_range(1..=64));
                drop(input.splice(at..at, part));
            }
            4 => drop(input.drain(at..end)),
            _ => drop(input.splice(at..end, TOKENS[random.random_range(..TOKENS.len())].iter().copied())),
        }
        input.truncate(LONGEST);
    }
    input
}
