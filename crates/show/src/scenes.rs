//! Scenes that a show plays one after the other: it prints what each saw, and goes on after a failure.

use std::time::Instant;

use crate::{Result, ensure};

#[derive(Debug)]
pub(crate) struct Scenes {
    begin: Instant,
    played: usize,
    failures: Vec<String>,
}

impl Scenes {
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), played: 0, failures: Vec::new() }
    }

    /// Counts a scene. Returns whether it went well.
    pub(crate) fn add(&mut self, name: &str, seen: Result<String>) -> bool {
        self.played += 1;
        match seen {
            Ok(seen) => {
                println!("✓ {name}: {}", seen.replace('\n', "\n    "));
                true
            }
            Err(error) => {
                println!("✕ {name}: {error}");
                self.failures.push(format!("{name}: {error}"));
                false
            }
        }
    }

    /// How many scenes were played. Fails if one of them failed.
    pub(crate) fn end(self) -> Result<usize> {
        let Self { begin, played, failures } = self;
        println!("took {:.0} s", begin.elapsed().as_secs_f64());
        ensure!(
            failures.is_empty(),
            "{} of {played} scenes failed:\n{}",
            failures.len(),
            failures.join("\n")
        );
        Ok(played)
    }
}
