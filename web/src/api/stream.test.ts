import { describe, expect, it } from "vitest";
import { FrameReader } from "./stream";

const STREAM =
  'event: resume\ndata: {"head":2}\n\n: heartbeat\n\nid: 1\nevent: text_delta\ndata: {"text":"ä: b"}\n\ndata: a\ndata: b\n\n';

describe("frames", () => {
  it("are the same wherever the chunks are cut", () => {
    const whole = new FrameReader().take(STREAM);
    expect(whole).toEqual([
      { event: "resume", data: '{"head":2}' },
      { event: "text_delta", data: '{"text":"ä: b"}' },
      { event: "message", data: "a\nb" },
    ]);
    for (let at = 1; at < STREAM.length; at++) {
      const reader = new FrameReader();
      expect([...reader.take(STREAM.slice(0, at)), ...reader.take(STREAM.slice(at))]).toEqual(whole);
    }
  });

  it("that are not complete wait", () => {
    const reader = new FrameReader();
    expect(reader.take("data: half\n")).toEqual([]);
    expect(reader.take("\n")).toEqual([{ event: "message", data: "half" }]);
  });
});
