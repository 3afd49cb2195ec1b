// How long a session of WinNAT lives without packets (dataplane.md §3.8: Get-NetNat), by what has passed of it.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { type Ipv4, parseIp } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { NatBinding, NatSession } from "./session-table.ts";

const { syn, ack, fin, rst } = TcpFlag;
const ip = (text: string): Ipv4 => defined(parseIp(text), "an address") as Ipv4;
const REMOTE = ip("203.0.113.10");

function binding(protocol: number, mapping?: NatBinding["mapping"]): NatBinding {
  const ends = {
    internalIp: ip("172.20.0.2"),
    internalPort: 5000,
    externalIp: ip("10.0.0.11"),
    externalPort: 80,
  };
  return new NatBinding({ protocol, mapping, ...ends });
}

/** `>` goes out, `<` comes in. */
function play(session: NatSession, packets: string): void {
  const flags: Readonly<Record<string, number>> = { S: syn, SA: syn | ack, A: ack, F: fin | ack, R: rst };
  for (const word of packets.split(" "))
    session.touch(word.startsWith(">") ? "out" : "in", flags[word.slice(1)] ?? 0, 1_000);
}

describe("a TCP session", () => {
  it.each([
    [">S", "transient", 120],
    [">S <SA", "transient", 120],
    [">S <SA >A", "established", 1_800],
    [">S <SA <A", "transient", 120],
    [">S >A", "transient", 120],
    [">S >S <SA >A", "established", 1_800],
    [">S <SA >A <A", "established", 1_800],
    [">S <SA >A >F", "closing", 120],
    [">S <SA >A <F", "closing", 120],
    [">S <SA >A <R", "closing", 120],
    [">S <SA >A >F <F >A", "closing", 120],
    // The same ports again: a new connection, which is established by an answer of its own.
    [">S <SA >A >F <F >S", "transient", 120],
    [">S <SA >A >F <F >S >A", "transient", 120],
    [">S <SA >A >F <F >S <SA >A", "established", 1_800],
  ])("%s, opened from behind the host: %s, %d s", (packets, state, seconds) => {
    const session = new NatSession(binding(IpProtocol.tcp), REMOTE, 443, "out");
    play(session, packets);
    expect(session.state).toBe(state);
    expect(session.expiresAtMs).toBe(1_000 + seconds * 1_000);
  });

  it.each([
    ["<S", "transient"],
    ["<S >SA", "transient"],
    ["<S >SA >A", "transient"],
    ["<S >SA <A", "established"],
    ["<S <A", "transient"],
  ])("%s, opened from outside: %s", (packets, state) => {
    const session = new NatSession(binding(IpProtocol.tcp), REMOTE, 443, "in");
    play(session, packets);
    expect(session.state).toBe(state);
  });
});

describe("a session without connections", () => {
  it.each([
    [IpProtocol.udp, 120],
    [IpProtocol.icmp, 30],
  ])("of protocol %d lives %d s behind what went out, and not behind what came in", (protocol, seconds) => {
    const session = new NatSession(binding(protocol), REMOTE, 53, "out");
    session.touch("out", 0, 5_000);
    expect(session.expiresAtMs).toBe(5_000 + seconds * 1_000);
    session.touch("in", 0, 9_000);
    expect(session.expiresAtMs).toBe(5_000 + seconds * 1_000);
  });

  it.each([
    [REMOTE, 5_000, true],
    [REMOTE, 124_999, true],
    [REMOTE, 125_000, false],
    [ip("203.0.113.11"), 5_000, false],
  ])("lets %d in at %d ms: %s", (remote, nowMs, expected) => {
    const held = binding(IpProtocol.udp);
    const session = new NatSession(held, REMOTE, 53, "out");
    held.sessions.set("one", session);
    session.touch("out", 0, 5_000);
    expect(held.letsIn(remote, nowMs)).toBe(expected);
  });
});
