//! `printf`: a format that only prints. `-v` and `%n` set variables, and zsh computes what stands for a number.

use super::super::values::shortened;
use crate::policy::shell::Word;

pub(crate) fn check<'a>(words: impl Iterator<Item = &'a Word>) -> Result<(), String> {
    let mut words = words.map(|word| {
        let pattern = || format!("`{}` stands for names that are not known", shortened(word.text()));
        word.literal().ok_or_else(pattern)
    });
    let Some(format) = words.next().transpose()? else { return Ok(()) };
    let format = if format == "--" { words.next().transpose()?.unwrap_or("") } else { format };
    if format.starts_with('-') {
        return Err(format!("`{}` is not known to be harmless for `printf`", shortened(format)));
    }
    let mut conversions = format.split('%').skip(1).peekable();
    let mut computes = false;
    while let Some(conversion) = conversions.next() {
        match conversion
            .trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.'".contains(c))
            .chars()
            .next()
        {
            Some('s' | 'b' | 'q' | 'c') => {}
            Some('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 'f' | 'F' | 'e' | 'E' | 'g' | 'G') => computes = true,
            // `%%`: the second one begins nothing.
            None if conversion.is_empty() && conversions.peek().is_some() => {
                conversions.next();
            }
            _ => {
                return Err(format!("`%{}` is not known to be harmless for `printf`", shortened(conversion)));
            }
        }
    }
    for argument in words {
        let argument = argument?;
        if computes && argument.contains(['[', ']', '(', ')', '$', '`', '=']) {
            return Err(format!("`{}` where `printf` may compute", shortened(argument)));
        }
    }
    Ok(())
}
