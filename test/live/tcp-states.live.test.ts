/**
 * FIN, RST and SYN in every state of TCP (RFC 9293 §3.3.2): our stack, as Linux and as Windows, beside this machine's kernel,
 * which gets the same segments over a TAP. Needs root, /dev/net/tun, iproute2 and util-linux.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { TcpFlag, type TcpView } from "#core/wire/tcp.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import { SERVER_MAC, makeRoutedPair } from "#test/support/dataplane/routed-pair.ts";
import { ip, mac } from "#test/support/dataplane/stack-world.ts";
import {
  FORGER_IP,
  FORGER_MAC,
  KERNEL_IP,
  KERNEL_MAC,
  KernelSockets,
} from "#test/support/live/kernel-sockets.ts";
import { tcpOf } from "#test/support/wire/tcp-lines.ts";

const { syn: S, ack: A, fin: F, rst: R } = TcpFlag;
const PORT = 8080;
/** The forger's first number after its SYN. */
const START = 1_000_001;
/** Behind every window. */
const FAR = 1_000_000;
/** Longer than an acknowledgement is put off, shorter than anything is sent again. */
const SETTLES_MS = 80;

/** The two ends of the wire, as frames name them. */
interface Ends {
  readonly ip: string;
  readonly mac: string;
  readonly peerIp: string;
  readonly peerMac: string;
}

/** A machine under test; its connections are known by the forger's port. */
interface Machine {
  readonly ends: Ends;
  connect(port: number): void;
  finish(port: number): void;
  send(packet: Packet): void;
  /** What it sent since, within `forMs` from now. */
  take(forMs: number): Promise<readonly Uint8Array[]>;
  state(port: number): string;
}

const NAMES: Readonly<Record<string, string>> = {
  "SYN-RECV": "SYN-RECEIVED",
  ESTAB: "ESTABLISHED",
};

function kernelMachine(kernel: KernelSockets): Machine {
  return {
    ends: { ip: KERNEL_IP, mac: KERNEL_MAC, peerIp: FORGER_IP, peerMac: FORGER_MAC },
    connect: (port) => kernel.connect(port),
    finish: (port) => kernel.finish(port),
    send: (packet) => kernel.send(packet),
    take: (forMs) => kernel.take(forMs),
    state: (port) => {
      const state = kernel.state(port);
      return NAMES[state] ?? state;
    },
  };
}

/** Does nothing by itself. */
const SILENT: TcpOwner = {
  tcpConnected: () => undefined,
  tcpData: () => undefined,
  tcpPeerFinished: () => undefined,
  tcpClosed: () => undefined,
};

function ownMachine(os: OperatingSystem): Machine {
  const pair = makeRoutedPair({ serverOs: os });
  const { compartment, netInterface, capture, lossy } = pair.server;
  compartment.tcp.listen({ port: PORT, acceptor: { tcpAccepted: () => SILENT } });
  const find = (port: number): TcpConnection | undefined =>
    compartment.tcp.listConnections().find(({ remotePort }) => remotePort === port);
  const ends = { ip: "10.0.2.20", mac: SERVER_MAC, peerIp: "10.0.1.10", peerMac: "52-54-00-00-00-02" };
  const take = async (forMs: number): Promise<readonly Uint8Array[]> => {
    pair.env.clock.runUntil(pair.env.clock.nowMs + forMs);
    return capture.frames.splice(0).map(({ frame }) => frame);
  };
  const machine: Machine = {
    ends,
    connect: (port) => void compartment.tcp.connect({ destination: ip(ends.peerIp), port, owner: SILENT }),
    finish: (port) => find(port)?.close(),
    send: (packet) => netInterface.receive(packet),
    take,
    state: (port) => find(port)?.state.toUpperCase() ?? "CLOSED",
  };
  // The first answer finds the router; the other host of the pair must not hear the rest.
  machine.send(frameOf(ends, { port: 1, sequence: 0, acknowledgment: 0, flags: A }));
  pair.env.clock.runUntil(pair.env.clock.nowMs + 20);
  capture.frames.length = 0;
  lossy.loseNext = Number.MAX_SAFE_INTEGER;
  return machine;
}

interface Forged {
  readonly port: number;
  /** Default: the one that is listened on. */
  readonly toPort?: number;
  readonly sequence: number;
  readonly acknowledgment: number;
  readonly flags: number;
}

function frameOf(ends: Ends, { port, toPort = PORT, sequence, acknowledgment, flags }: Forged): Packet {
  return buildTcpFrame({
    link: { sourceMac: mac(ends.peerMac), destinationMac: mac(ends.mac) },
    ip: {
      source: ip(ends.peerIp),
      destination: ip(ends.ip),
      ttl: 64,
      identification: 1,
      isDontFragment: true,
    },
    tcp: {
      sourcePort: port,
      destinationPort: toPort,
      sequence: sequence >>> 0,
      acknowledgment: acknowledgment >>> 0,
      flags,
      window: 65_000,
      options: [],
    },
    payload: new Uint8Array(0),
  });
}

/** A segment that comes in a state: where its number lies, from the one that is due, and what it acknowledges. */
interface Probe {
  readonly name: string;
  readonly at: number;
  readonly flags: number;
  /** From what is acknowledged already. Default 0. */
  readonly acknowledges?: number;
}

function flagsOf({ flags }: TcpView): string {
  const names = [
    [S, "SYN"],
    [R, "RST"],
    [F, "FIN"],
    [A, "ACK"],
  ] as const;
  return names.flatMap(([bit, name]) => ((flags & bit) === 0 ? [] : name)).join(" ");
}

/** What a segment that is sent again says again. */
function saidBy(tcp: TcpView): string {
  return `${flagsOf(tcp)} ${tcp.sequence}`;
}

/** One side of a connection that the test plays. */
class Forger {
  private readonly machine: Machine;
  private readonly port: number;
  private toPort = PORT;
  /** Of the machine, after its SYN. */
  private own = 0;
  private next = START;
  private acknowledged = 0;
  private readonly unacknowledged = new Set<string>();

  constructor(machine: Machine, port: number) {
    this.machine = machine;
    this.port = port;
  }

  /** `syn`, `ack`, `fin` come from the forger; `connect` and `finish` are done by the machine. */
  async play(step: string): Promise<void> {
    const { machine, port } = this;
    if (step === "connect" || step === "finish") {
      if (step === "connect") machine.connect(port);
      else machine.finish(port);
      const sent = await this.awaitSegment();
      if (step === "connect") this.learn(sent);
      return;
    }
    if (step === "syn") {
      this.send(-1, S);
      this.learn(await this.awaitSegment());
      return;
    }
    if (step === "ack") this.send(0, A);
    if (step === "ack of FIN") this.send(0, A, ++this.acknowledged);
    if (step === "fin") this.send(0, F | A, this.acknowledged);
    if (step === "fin") this.next++;
    // It acknowledges late, if at all, and its program needs its turn.
    await machine.take(SETTLES_MS);
  }

  /** @returns the answers, and the state afterwards. */
  async ask({ at, flags, acknowledges = 0 }: Probe): Promise<string> {
    this.send(at, flags, this.acknowledged + acknowledges);
    const answers = (await this.machine.take(SETTLES_MS)).flatMap((frame) => this.describe(frame));
    return `${answers.join(", ") || "nothing"}; ${this.machine.state(this.port)}`;
  }

  get state(): string {
    return this.machine.state(this.port);
  }

  private send(at: number, flags: number, acknowledged = this.acknowledged): void {
    const sequence = this.next + at;
    const acknowledgment = (flags & A) === 0 ? 0 : this.own + acknowledged;
    const { port, toPort, machine } = this;
    machine.send(frameOf(machine.ends, { port, toPort, sequence, acknowledgment, flags }));
  }

  /** What the machine sends next to this port. */
  private async awaitSegment(): Promise<TcpView> {
    for (let tries = 0; tries < 1_000; tries++)
      for (const frame of await this.machine.take(5)) {
        const tcp = tcpOf(frame)?.tcp;
        if (tcp?.destinationPort === this.port) return this.note(tcp);
      }
    throw new Error("the machine sends nothing");
  }

  private note(tcp: TcpView): TcpView {
    this.unacknowledged.add(saidBy(tcp));
    return tcp;
  }

  /** From the first number; that of a new connection is chosen anew, and a reset of what acknowledges nothing has none. */
  private placeOf(tcp: TcpView): string {
    const place = (tcp.sequence - this.own) | 0;
    if (tcp.sequence === 0) return "without a number";
    return (tcp.flags & S) !== 0 && place !== -1 ? "anew" : `${place}`;
  }

  private learn(tcp: TcpView): void {
    this.own = tcp.sequence + 1;
    this.toPort = tcp.sourcePort;
  }

  /** `ACK 0 of 1`: flags, number and acknowledgement from the first of each side. */
  private describe(frame: Uint8Array): readonly string[] {
    const tcp = tcpOf(frame)?.tcp;
    if (tcp?.destinationPort !== this.port) return [];
    // Nobody acknowledged it, and its time has come.
    if (this.unacknowledged.has(saidBy(tcp))) return [];
    const of = (tcp.flags & A) === 0 ? "" : ` of ${(tcp.acknowledgment - START) | 0}`;
    return [`${flagsOf(tcp)} ${this.placeOf(tcp)}${of}`];
  }
}

const HANDSHAKE = ["syn", "ack"] as const;
const STATES: Readonly<Record<string, readonly string[]>> = {
  "SYN-RECEIVED": ["syn"],
  ESTABLISHED: HANDSHAKE,
  "FIN-WAIT-1": [...HANDSHAKE, "finish"],
  "FIN-WAIT-2": [...HANDSHAKE, "finish", "ack of FIN"],
  "CLOSE-WAIT": [...HANDSHAKE, "fin"],
  CLOSING: [...HANDSHAKE, "finish", "fin"],
  "LAST-ACK": [...HANDSHAKE, "fin", "finish"],
  "TIME-WAIT": [...HANDSHAKE, "finish", "ack of FIN", "fin"],
};

const PROBES: readonly Probe[] = [
  { name: "RST", at: 0, flags: R },
  { name: "RST ACK", at: 0, flags: R | A },
  { name: "RST in the window", at: 100, flags: R },
  { name: "RST before the window", at: -1, flags: R },
  { name: "RST behind the window", at: FAR, flags: R },
  { name: "FIN ACK", at: 0, flags: F | A },
  { name: "FIN ACK in the window", at: 100, flags: F | A },
  { name: "FIN ACK again", at: -1, flags: F | A },
  { name: "FIN ACK before the window", at: -100, flags: F | A },
  { name: "FIN ACK behind the window", at: FAR, flags: F | A },
  { name: "FIN", at: 0, flags: F },
  { name: "SYN", at: 0, flags: S },
  { name: "SYN in the window", at: 100, flags: S },
  { name: "SYN before the window", at: -100, flags: S },
  { name: "SYN ACK", at: 0, flags: S | A },
];

/** Where both sides have finished: one acknowledgement more ends it. */
const LAST: Probe = { name: "ACK of FIN", at: 0, flags: A, acknowledges: 1 };

const OPENING: readonly Probe[] = [
  { name: "RST", at: 0, flags: R },
  { name: "RST ACK", at: 0, flags: R | A },
  { name: "RST ACK of another SYN", at: 0, flags: R | A, acknowledges: 100 },
  { name: "FIN", at: 0, flags: F },
  { name: "FIN ACK", at: 0, flags: F | A },
  { name: "FIN ACK of another SYN", at: 0, flags: F | A, acknowledges: 100 },
  { name: "SYN", at: -1, flags: S },
  { name: "SYN ACK", at: -1, flags: S | A },
  { name: "SYN ACK of another SYN", at: -1, flags: S | A, acknowledges: 100 },
  { name: "SYN RST", at: -1, flags: S | R },
];

let port = 10_000;

/** What a machine does in a state, by segment. */
async function behaviour(
  machine: Machine,
  state: string,
  steps: readonly string[],
  probes: readonly Probe[],
): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const probe of probes) {
    const forger = new Forger(machine, port++);
    for (const step of steps) await forger.play(step);
    expect(forger.state).toBe(state);
    found[probe.name] = await forger.ask(probe);
  }
  return found;
}

/** Where Windows is known to differ, or goes by the standards alone. */
const OF_WINDOWS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // RFC 9293 §3.10.7.4: back to LISTEN, without an answer.
  "SYN-RECEIVED": {
    SYN: "nothing; CLOSED",
    "SYN in the window": "nothing; CLOSED",
    "SYN ACK": "nothing; CLOSED",
  },
  // RFC 9293 §3.10.7.4: a reset outside of the window is dropped.
  "CLOSE-WAIT": { "RST before the window": "nothing; CLOSE-WAIT" },
  CLOSING: { "RST before the window": "nothing; CLOSING" },
  "LAST-ACK": { "RST before the window": "nothing; LAST-ACK" },
  // RFC 5961 §3.2: a reset in the window is challenged; RFC 9293 §3.10.7.4: a FIN starts the wait anew, one without ACK is dropped.
  "TIME-WAIT": {
    "RST in the window": "ACK 1 of 1; TIME-WAIT",
    "FIN ACK": "nothing; TIME-WAIT",
    "FIN ACK in the window": "nothing; TIME-WAIT",
    FIN: "nothing; TIME-WAIT",
  },
  // Microsoft KB 175523: it asks again.
  "SYN-SENT": { "RST ACK": "nothing; SYN-SENT" },
};

let kernel: KernelSockets;
beforeAll(async () => {
  kernel = await KernelSockets.open(PORT);
});
afterAll(() => kernel.close());

describe("FIN, RST and SYN", () => {
  it.each([...Object.entries(STATES), ["SYN-SENT", ["connect"]] as const])(
    "in %s do to ours what they do to the kernel",
    async (state, steps) => {
      const isFinished = state === "FIN-WAIT-1" || state === "CLOSING" || state === "LAST-ACK";
      const probes = state === "SYN-SENT" ? OPENING : isFinished ? [...PROBES, LAST] : PROBES;
      const expected = await behaviour(kernelMachine(kernel), state, steps, probes);
      expect(await behaviour(ownMachine("linux"), state, steps, probes), "linux").toEqual(expected);
      const windows = { ...expected, ...OF_WINDOWS[state] };
      expect(await behaviour(ownMachine("windows"), state, steps, probes), "windows").toEqual(windows);
    },
  );
});
