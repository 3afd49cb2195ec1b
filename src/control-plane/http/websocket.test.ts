// Frames as RFC 6455 §5.7 shows them, and frames that no client should send.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WebSocketConnection } from "./websocket.node.ts";

class Wire extends Duplex {
  readonly sent: Buffer[] = [];

  override _read(): void {
    // Pushed by the test.
  }

  override _write(part: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.sent.push(part);
    done();
  }
}

interface World {
  readonly wire: Wire;
  readonly messages: string[];
  readonly connection: WebSocketConnection;
  readonly isClosed: () => boolean;
}

function open(head: Buffer = Buffer.alloc(0)): World {
  const request = new IncomingMessage(new Socket());
  request.headers = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  const wire = new Wire();
  const messages: string[] = [];
  let isClosed = false;
  const connection = new WebSocketConnection(request, wire, {
    protocol: "v5.channel.k8s.io",
    head,
    owner: { received: (message) => messages.push(message.toString()), closed: () => (isClosed = true) },
  });
  return { wire, messages, connection, isClosed: () => isClosed };
}

/** What was sent behind the handshake. */
function answersOf({ wire }: World): Buffer {
  return Buffer.concat(wire.sent.slice(1));
}

function bytes(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

const MASKED_HELLO = "81 85 37 fa 21 3d 7f 9f 4d 51 58";

describe("a WebSocket", () => {
  it("answers the handshake of RFC 6455 §1.3", () => {
    const { wire } = open();
    const text = wire.sent[0]?.toString() ?? "";
    expect(text).toContain("HTTP/1.1 101 Switching Protocols\r\n");
    expect(text).toContain("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    expect(text).toContain("Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n");
  });

  it.each([
    ["a masked message", MASKED_HELLO, ["Hello"]],
    ["one in two frames", "01 83 00 00 00 00 48 65 6c 80 82 00 00 00 00 6c 6f", ["Hello"]],
    ["a pong, which says nothing", "8a 80 00 00 00 00", []],
  ])("reads %s, also byte by byte", (_, hex, expected) => {
    const whole = open(bytes(hex));
    expect(whole.messages).toEqual(expected);
    const slow = open();
    for (const byte of bytes(hex)) slow.wire.emit("data", Buffer.from([byte]));
    expect(slow.messages).toEqual(expected);
  });

  it("answers a ping with its payload, and a goodbye with a goodbye", () => {
    expect(answersOf(open(bytes("89 85 37 fa 21 3d 7f 9f 4d 51 58"))).toString("hex")).toBe("8a0548656c6c6f");
    const world = open(bytes("88 80 00 00 00 00"));
    expect(answersOf(world).toString("hex")).toBe("880203e8");
    expect(world.isClosed()).toBe(true);
  });

  it.each([
    ["without a mask", "81 05 48 65 6c 6c 6f", 1_002],
    ["with a reserved bit", "c1 85 37 fa 21 3d 7f 9f 4d 51 58", 1_002],
    ["that goes on with nothing", "80 80 00 00 00 00", 1_002],
    ["of control that is long", "89 fe 00 7e 00 00 00 00", 1_002],
    ["of control in pieces", "09 80 00 00 00 00", 1_002],
    ["longer than a message may be", "82 ff 00 00 00 00 00 10 00 01 00 00 00 00", 1_009],
    ["of 2^63 bytes", "82 ff 80 00 00 00 00 00 00 00 00 00 00 00", 1_009],
  ])("a frame %s ends it", (_, hex, code) => {
    const world = open(bytes(hex));
    expect(world.messages).toEqual([]);
    expect(answersOf(world).subarray(-2).readUInt16BE()).toBe(code);
    expect(world.isClosed()).toBe(true);
  });

  it.each([
    [125, "827d"],
    [126, "827e007e"],
    [65_536, "827f0000000000010000"],
  ])("sends %d bytes under their length", async (length, head) => {
    const world = open();
    await world.connection.send(Buffer.alloc(length));
    expect(answersOf(world).toString("hex").slice(0, head.length)).toBe(head);
    expect(answersOf(world)).toHaveLength(head.length / 2 + length);
  });

  it("takes any bytes without harm", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (noise) => {
        const { messages, wire } = open(Buffer.from(noise));
        expect(messages.join("").length).toBeLessThanOrEqual(noise.length * 3);
        expect(wire.sent.length).toBeGreaterThan(0);
      }),
      { numRuns: 200 },
    );
  });
});
