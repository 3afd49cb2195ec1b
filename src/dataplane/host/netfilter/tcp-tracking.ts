/**
 * The states of a tracked TCP connection, and how long each is remembered
 * (net/netfilter/nf_conntrack_proto_tcp.c; Documentation/networking/nf_conntrack-sysctl.rst).
 * Sequence numbers are not checked: a segment outside the window counts as one inside.
 */
import { TcpFlag } from "#core/wire/tcp.ts";

export type TcpTrackState =
  | "none"
  | "syn-sent"
  | "syn-received"
  | "established"
  | "fin-wait"
  | "close-wait"
  | "last-ack"
  | "time-wait"
  | "close"
  | "syn-sent-2";

export type ConntrackDirection = "original" | "reply";

/** `invalid`: the segment fits no connection. `ignored`: it passes and changes nothing. */
export type TcpStep = TcpTrackState | "invalid" | "ignored";

const ORDER: readonly TcpTrackState[] = [
  "none",
  "syn-sent",
  "syn-received",
  "established",
  "fin-wait",
  "close-wait",
  "last-ack",
  "time-wait",
  "close",
  "syn-sent-2",
];

const NAMES: Readonly<Record<string, TcpStep>> = {
  SS: "syn-sent",
  SR: "syn-received",
  ES: "established",
  FW: "fin-wait",
  CW: "close-wait",
  LA: "last-ack",
  TW: "time-wait",
  CL: "close",
  S2: "syn-sent-2",
  IV: "invalid",
  IG: "ignored",
};

type Segment = "syn" | "syn-ack" | "fin" | "ack" | "rst";

function row(text: string): readonly TcpStep[] {
  return text.split(" ").map((name) => NAMES[name] ?? "invalid");
}

/**
 * The next state, by the state before in the order of `ORDER`. A connection that is met in its middle is taken up
 * (`nf_conntrack_tcp_loose` is 1), which is why an ACK of nobody makes one that is established.
 */
const STEPS: Readonly<Record<ConntrackDirection, Readonly<Record<Segment, readonly TcpStep[]>>>> = {
  original: {
    //          none SS SR ES FW CW LA TW CL S2
    syn: row("SS SS IG IG IG IG IG SS SS S2"),
    "syn-ack": row("IV IV SR IV IV IV IV IV IV SR"),
    fin: row("IV IV FW FW LA LA LA TW CL IV"),
    ack: row("ES IV ES ES CW CW TW TW CL IV"),
    rst: row("IV CL CL CL CL CL CL CL CL CL"),
  },
  reply: {
    syn: row("IV S2 IV IV IV IV IV SS IV S2"),
    "syn-ack": row("IV SR IG IG IG IG IG IG IG SR"),
    fin: row("IV IV FW FW LA LA LA TW CL IV"),
    ack: row("IV IG SR ES CW CW TW TW CL IG"),
    rst: row("IV CL CL CL CL CL CL CL CL CL"),
  },
};

function segmentOf(flags: number): Segment | undefined {
  if ((flags & TcpFlag.rst) !== 0) return "rst";
  const hasAck = (flags & TcpFlag.ack) !== 0;
  if ((flags & TcpFlag.syn) !== 0) return hasAck ? "syn-ack" : "syn";
  if ((flags & TcpFlag.fin) !== 0) return "fin";
  return hasAck ? "ack" : undefined;
}

/** What a segment with `flags` makes of a connection in `state`. */
export function nextTcpState(state: TcpTrackState, direction: ConntrackDirection, flags: number): TcpStep {
  const segment = segmentOf(flags);
  if (segment === undefined) return "invalid";
  return STEPS[direction][segment][ORDER.indexOf(state)] ?? "invalid";
}

/** How long a connection is remembered after a segment that left it in that state. */
export const TCP_TIMEOUTS_MS: Readonly<Record<TcpTrackState, number>> = {
  none: 0,
  "syn-sent": 120_000,
  "syn-received": 60_000,
  established: 432_000_000,
  "fin-wait": 120_000,
  "close-wait": 60_000,
  "last-ack": 30_000,
  "time-wait": 120_000,
  close: 10_000,
  "syn-sent-2": 120_000,
};
