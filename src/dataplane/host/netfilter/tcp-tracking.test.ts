// net/netfilter/nf_conntrack_proto_tcp.c: what a segment makes of a tracked connection.
import { describe, expect, it } from "vitest";
import { TcpFlag } from "#core/wire/tcp.ts";
import {
  type ConntrackDirection,
  TCP_TIMEOUTS_MS,
  type TcpTrackState,
  nextTcpState,
} from "./connection-table.ts";

const { syn, ack, fin, rst } = TcpFlag;
type Step = readonly [direction: ConntrackDirection, flags: number, state: string];

const LIVES: readonly (readonly [what: string, steps: readonly Step[]])[] = [
  [
    "opened, used, closed by the client",
    [
      ["original", syn, "syn-sent"],
      ["reply", syn | ack, "syn-received"],
      ["original", ack, "established"],
      ["original", ack, "established"],
      ["original", fin | ack, "fin-wait"],
      ["reply", ack, "close-wait"],
      ["reply", fin | ack, "last-ack"],
      ["original", ack, "time-wait"],
      ["original", syn, "syn-sent"],
    ],
  ],
  [
    "refused",
    [
      ["original", syn, "syn-sent"],
      ["reply", rst | ack, "close"],
    ],
  ],
  [
    "opened by both at once",
    [
      ["original", syn, "syn-sent"],
      ["reply", syn, "syn-sent-2"],
      ["original", syn | ack, "syn-received"],
      ["reply", ack, "syn-received"],
      ["original", ack, "established"],
    ],
  ],
  ["met in its middle", [["original", ack, "established"]]],
  ["a SYN/ACK without its SYN", [["original", syn | ack, "invalid"]]],
  ["a reset out of nothing", [["original", rst, "invalid"]]],
  ["a FIN out of nothing", [["original", fin | ack, "invalid"]]],
  ["no flags at all", [["original", 0, "invalid"]]],
];

describe("states", () => {
  it.each(LIVES)("%s", (_what, steps) => {
    let state: TcpTrackState = "none";
    const seen = steps.map(([direction, flags]) => {
      const next = nextTcpState(state, direction, flags);
      if (next !== "invalid" && next !== "ignored") state = next;
      return next;
    });
    expect(seen).toEqual(steps.map(([, , expected]) => expected));
  });

  it("a SYN into an established connection passes and changes nothing", () => {
    expect(nextTcpState("established", "original", syn)).toBe("ignored");
  });
});

// Documentation/networking/nf_conntrack-sysctl.rst, in seconds.
it.each([
  ["syn-sent", 120],
  ["syn-received", 60],
  ["established", 432_000],
  ["fin-wait", 120],
  ["close-wait", 60],
  ["last-ack", 30],
  ["time-wait", 120],
  ["close", 10],
] as const)("nf_conntrack_tcp_timeout of %s: %d s", (state, seconds) => {
  expect(TCP_TIMEOUTS_MS[state]).toBe(seconds * 1_000);
});
