//! Server-sent events, cut out of a stream of bytes.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub name: String,
    pub data: String,
}

#[derive(Debug, Default)]
pub(crate) struct Frames {
    rest: Vec<u8>,
}

impl Frames {
    /// The events that are complete with this chunk.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Vec<Frame> {
        self.rest.extend_from_slice(chunk);
        let mut frames = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            let block = String::from_utf8_lossy(&block);
            let field = |name: &str| {
                let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                lines.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect::<Vec<_>>().join("\n")
            };
            let frame = Frame { name: field("event"), data: field("data") };
            // A heartbeat has neither.
            if !frame.data.is_empty() {
                frames.push(frame);
            }
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_across_chunks_and_heartbeats_are_not_frames() {
        let mut frames = Frames::default();
        assert!(frames.take(b"event: snapshot\nda").is_empty());
        let found = frames.take(b"ta: {\"a\":1}\n\n:\n\nid: 7\nevent: upsert\ndata: x\n\n");
        let frame = |name: &str, data: &str| Frame { name: name.to_owned(), data: data.to_owned() };
        assert_eq!(found, [frame("snapshot", "{\"a\":1}"), frame("upsert", "x")]);
    }
}
