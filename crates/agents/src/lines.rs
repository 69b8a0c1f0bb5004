//! Lines of a bounded length from a stream that nobody vouches for.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// It was longer than allowed and was skipped, but for its beginning.
    TooLong {
        beginning: String,
    },
}

/// How much of a line that is too long is kept.
const BEGINNING: usize = 1024;

#[derive(Debug)]
pub(crate) struct Lines<R> {
    from: R,
    limit: usize,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) const fn new(from: R, limit: usize) -> Self {
        Self { from, limit }
    }

    /// The next line without its end, or nothing at the end of the stream. A call that is given up loses what it
    /// had read of its line.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let chunk = self.from.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(if line.is_empty() && !too_long { None } else { Some(finished(line, too_long)) });
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = end.map_or(chunk, |end| &chunk[..end]);
            if too_long || line.len() + part.len() > self.limit {
                // Only its beginning is kept: an endless line must not grow in memory.
                too_long = true;
                let missing = BEGINNING.saturating_sub(line.len()).min(part.len());
                line.extend_from_slice(&part[..missing]);
                line.truncate(BEGINNING);
                line.shrink_to_fit();
            } else {
                line.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                return Ok(Some(finished(line, too_long)));
            }
        }
    }
}

fn finished(mut line: Vec<u8>, too_long: bool) -> Line {
    if too_long {
        return Line::TooLong { beginning: String::from_utf8_lossy(&line).into_owned() };
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Line::Text(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::BufReader;

    async fn all(bytes: &[u8], limit: usize) -> Vec<Line> {
        // A buffer smaller than the lines, so that they arrive in pieces.
        let mut lines = Lines::new(BufReader::with_capacity(3, bytes), limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        found
    }

    fn text(text: &str) -> Line {
        Line::Text(text.to_owned())
    }

    #[tokio::test]
    async fn lines_come_in_order_with_or_without_a_last_end() {
        assert_eq!(
            all(b"one\n\nthree\r\nfour", 8).await,
            [text("one"), text(""), text("three"), text("four")]
        );
        assert_eq!(all(b"", 8).await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_alone() {
        let too_long = || Line::TooLong { beginning: "123456789".to_owned() };
        assert_eq!(all(b"12345678\n123456789\nok\n", 8).await, [text("12345678"), too_long(), text("ok")]);
        assert_eq!(all(b"123456789", 8).await, [too_long()]);
        let endless = all(&b"12345678".repeat(1000), 8).await;
        let [Line::TooLong { beginning }] = &endless[..] else { panic!("{endless:?}") };
        assert_eq!(beginning.len(), BEGINNING);
    }

    #[tokio::test]
    async fn bytes_that_are_not_text_are_kept_readable() {
        assert_eq!(all(b"a\xffb\n", 8).await, [text("a\u{fffd}b")]);
    }
}
