//! Characters that a screen shows as something else than a shell reads.

/// Control characters other than tab and newline, blanks that are no blanks to a shell, marks that are not seen or that
/// turn the order of what is.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\x08'
        | '\x0b'..='\x1f'
        | '\x7f'..='\u{a0}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{1680}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
