//! Escapes in `$'…'`.

/// The letter that these stand for after a backslash, and how many of them were read.
pub fn read(rest: impl Iterator<Item = char> + Clone) -> (char, usize) {
    let digits = |skip: usize, most: usize, radix: u32| {
        let digits: Vec<u32> = rest.clone().skip(skip).take(most).map_while(|c| c.to_digit(radix)).collect();
        let value = digits.iter().fold(0, |value, digit| value * radix + digit);
        (char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER), skip + digits.len())
    };
    match rest.clone().next() {
        None => ('\\', 0),
        Some('n') => ('\n', 1),
        Some('t') => ('\t', 1),
        Some('r') => ('\r', 1),
        Some('x') => digits(1, 2, 16),
        Some('u') => digits(1, 4, 16),
        Some('U') => digits(1, 8, 16),
        Some('0'..='7') => digits(0, 3, 8),
        Some(other) => (other, 1),
    }
}
