/** What tests of stacks and fabrics start from: an environment, ears for traces, and ears on cables. */
import { type Clock, VirtualClock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { formatHex } from "#core/base/encodings.ts";
import { Prng } from "#core/base/prng.ts";
import type { PacketTag, Recorder, TraceEvent } from "#core/base/recorder.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import {
  type InterfaceAddress,
  type Ip,
  type Prefix,
  parseInterfaceAddress,
  parseIp,
  parsePrefix,
} from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type ChecksumProblem, verifyChecksums } from "#core/wire/transport-checksum.ts";
import type { DeliveryFailure } from "#dataplane/host/delivery-failure.ts";
import type { EchoReply, EchoRequest } from "#dataplane/host/probes/echo-request.ts";

/** An environment whose clock tests may move. */
export interface TestEnvironment extends Environment {
  readonly clock: VirtualClock;
}

export function makeEnvironment(seed: string | number = 1): TestEnvironment {
  return { clock: new VirtualClock(), prng: new Prng(seed), recorder: undefined };
}

/** The address `text`, which the test wrote. */
export function ip(text: string): Ip {
  return parseIp(text)!;
}

/** The address with prefix length `text`, which the test wrote. */
export function cidr(text: string): InterfaceAddress {
  return parseInterfaceAddress(text)!;
}

/** The prefix `text`, which the test wrote. */
export function prefix(text: string): Prefix {
  return parsePrefix(text)!;
}

/** The MAC `text`, which the test wrote. */
export function mac(text: string): Mac {
  return parseMac(text)!;
}

/** Keeps what a trace hears. */
export class EventList implements Recorder {
  readonly events: { readonly tag: PacketTag; readonly event: TraceEvent; readonly frame: Uint8Array }[] = [];

  record(tag: PacketTag, event: TraceEvent, frame: Uint8Array): void {
    this.events.push({ tag, event, frame: frame.slice() });
  }

  /** One line per event: `1 send w1/host`, `2 drop router/host ttl-expired`. */
  lines(): string[] {
    return this.events.map(({ tag, event }) => {
      const code = event.kind === "drop" ? ` ${event.code}` : "";
      return `${tag} ${event.kind} ${event.node}/${event.place}${code}`;
    });
  }
}

/** A frame that was sent into a device. */
export interface CapturedFrame {
  readonly atMs: number;
  readonly frame: Uint8Array;
}

/** Keeps a copy of every frame that is sent through it. */
export class CaptureDevice implements Device {
  readonly frames: CapturedFrame[] = [];
  private readonly inner: Device;
  private readonly clock: Clock;

  constructor(clock: Clock, inner: Device) {
    this.clock = clock;
    this.inner = inner;
  }

  get mtuBytes(): number {
    return this.inner.mtuBytes;
  }

  transmit(packet: Packet): boolean {
    this.frames.push({ atMs: this.clock.nowMs, frame: packet.frame.slice() });
    return this.inner.transmit(packet);
  }

  attach(receiver: Receiver): void {
    this.inner.attach(receiver);
  }

  /** Frames as time and hexadecimal, to compare two runs. */
  lines(): string[] {
    return this.frames.map(({ atMs, frame }) => `${atMs} ${formatHex(frame)}`);
  }
}

/** What is wrong with each frame: malformed, or a checksum that does not fit. Empty when all are right. */
export function findWrongFrames(frames: readonly CapturedFrame[]): (ChecksumProblem | string)[] {
  const problems: (ChecksumProblem | string)[] = [];
  for (const { frame } of frames) {
    const headers = new Headers();
    const problem = headers.parseBytes(frame, 0, frame.length) ?? verifyChecksums(frame, headers);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

/** Hears what becomes of echo requests. */
export class EchoLog {
  readonly replies: EchoReply[] = [];
  readonly failures: DeliveryFailure[] = [];

  echoAnswered(_request: EchoRequest, reply: EchoReply): void {
    this.replies.push(reply);
  }

  echoFailed(_request: EchoRequest, failure: DeliveryFailure): void {
    this.failures.push(failure);
  }
}
