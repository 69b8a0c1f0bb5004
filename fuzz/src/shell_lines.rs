//! Any line, for every shell: what is understood has commands whose words stand where they say.

use holdstead_core::policy::shell::{Line, Shell, loose, quote, read};

use super::text;

pub fn run(bytes: &[u8]) {
    let text = text(bytes);
    for shell in [Shell::Bash, Shell::Sh, Shell::Zsh] {
        let Line::Plain(commands) = read(text, shell) else { continue };
        assert!(!commands.is_empty(), "no commands");
        for command in &commands {
            assert!(text.get(command.span.clone()).is_some(), "a span inside a character");
            // Written anew, the same words are read.
            let Some(words) = command.argv.iter().map(|word| word.literal()).collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let written: Vec<String> = words
                .iter()
                .enumerate()
                .map(|(at, word)| if at == 0 { (*word).to_owned() } else { quote(word) })
                .collect();
            if let Line::Plain(again) = read(&written.join(" "), Shell::Bash) {
                assert!(again.len() == 1, "one command became {}", again.len());
                let same: Vec<&str> = again[0].argv.iter().map(|word| word.text()).collect();
                assert_eq!(same, words);
            }
        }
    }
    for run in loose::runs(text) {
        assert!(
            run.words.iter().all(|word| text.get(word.span.clone()).is_some()),
            "a span inside a character"
        );
    }
}
