/**
 * What one end of a TCP connection offered, what the peer offered, and what both therefore use: segment size, window
 * scale, timestamps, ECN.
 */
import { TcpFlag } from "#core/wire/tcp.ts";
import { type SackBlock, type TcpOption, parseTcpOptions } from "#core/wire/tcp-options.ts";
import type { TcpProfile, SynOptionStyle } from "../stack-profile.ts";
import { type TcpSegment, isAfter, isBefore, hasFlag } from "./tcp-segment.ts";

const ECN_ASKED = TcpFlag.ece | TcpFlag.cwr;

export class TcpNegotiation {
  /** Shifts of the windows that the peer sends, and that this end sends. */
  sendScale = 0;
  receiveScale = 0;
  private readonly profile: TcpProfile;
  /** Payload and options that fit a packet of the interface. */
  private readonly ownMss: number;
  private readonly timestampOffset: number;
  private hasTimestamps = false;
  private isSackPermitted = false;
  private isScaled = false;
  private hasEcn = false;
  private isCongestionEchoed = false;
  /** The peer's newest timestamp. */
  private peerTimestamp = 0;

  constructor(profile: TcpProfile, ownMss: number, timestampOffset: number) {
    this.profile = profile;
    this.ownMss = ownMss;
    this.timestampOffset = timestampOffset;
  }

  /** The window that is offered, in bytes: the owner takes data at once, so it never closes. */
  get windowBytes(): number {
    return synWindow(this.profile.synOptions, this.ownMss, false, this.hasTimestamps);
  }

  /** Bytes of options in every segment after the handshake. */
  get optionBytes(): number {
    return segmentOptionBytes(this.hasTimestamps);
  }

  /** Takes what the peer's SYN or SYN/ACK says. @returns the segment size of the peer. */
  takeSyn(segment: TcpSegment): number {
    const peer = readSynOptions(segment.options);
    this.isScaled = peer.windowScale !== undefined;
    this.sendScale = peer.windowScale ?? 0;
    this.receiveScale = this.isScaled ? this.profile.windowScale : 0;
    // docs: dataplane.md §2.1: Windows uses no timestamps.
    this.hasTimestamps = this.profile.synOptions === "linux" && peer.timestamp !== undefined;
    this.peerTimestamp = peer.timestamp ?? 0;
    this.isSackPermitted = peer.isSackPermitted;
    const asked = segment.flags & ECN_ASKED;
    const isSynAck = hasFlag(segment, TcpFlag.ack);
    this.hasEcn = isSynAck ? this.profile.isEcnOffered && asked === TcpFlag.ece : asked === ECN_ASKED;
    return peer.mssBytes;
  }

  /** Options and window of a SYN (`isAnswer` false) or SYN/ACK. */
  synFields(isAnswer: boolean, nowMs: number): { readonly options: TcpOption[]; readonly window: number } {
    const style = this.profile.synOptions;
    const hasTimestamps = style === "linux" && (!isAnswer || this.hasTimestamps);
    const own: SynOptions = {
      mssBytes: this.ownMss,
      windowScale: isAnswer && !this.isScaled ? undefined : this.profile.windowScale,
      isSackPermitted: !isAnswer || this.isSackPermitted,
      timestamp: hasTimestamps ? this.timestamp(nowMs) : undefined,
    };
    const window = synWindow(style, this.ownMss, isAnswer, hasTimestamps);
    return { options: listSynOptions(style, own, this.peerTimestamp), window };
  }

  /**
   * ECN flags of a SYN or SYN/ACK (RFC 3168 §6.1.1). Inferred: a SYN that is sent again asks for no ECN, as §6.1.1.1
   * there advises.
   */
  synFlags(isAnswer: boolean, isRepeated: boolean): number {
    if (isAnswer) return this.hasEcn ? TcpFlag.ece : 0;
    return this.profile.isEcnOffered && !isRepeated ? ECN_ASKED : 0;
  }

  /** True when both ends say what came out of order. */
  get usesSack(): boolean {
    return this.isSackPermitted;
  }

  /** How many blocks of what came out of order a segment has room for. */
  get sackBlocksMax(): number {
    if (!this.isSackPermitted) return 0;
    return Math.floor((OPTION_BYTES_MAX - this.optionBytes - SACK_BYTES) / SACK_BLOCK_BYTES);
  }

  /** Options of a segment after the handshake. */
  segmentOptions(nowMs: number, blocks: readonly SackBlock[]): TcpOption[] {
    const options = this.hasTimestamps ? listTimestampOptions(this.timestamp(nowMs), this.peerTimestamp) : [];
    // net/ipv4/tcp_output.c, tcp_options_write. Inferred: Windows fills up in the same way.
    if (blocks.length > 0) options.push(NOP, NOP, { kind: "sack", blocks });
    return options;
  }

  /** What the peer says that came out of order. */
  sackedBy(segment: TcpSegment): readonly SackBlock[] {
    if (!this.isSackPermitted || segment.options.length === 0) return [];
    const options = parseTcpOptions(segment.options);
    if (typeof options === "string") return [];
    for (const option of options) if (option.kind === "sack") return option.blocks;
    return [];
  }

  /** ECN flags of a segment after the handshake. Inferred: this end marks no packet as ECN-capable, though it may. */
  segmentFlags(): number {
    return this.isCongestionEchoed ? TcpFlag.ece : 0;
  }

  /** True for an old duplicate, which shows by its timestamp (RFC 7323 §5). */
  isOldDuplicate(segment: TcpSegment): boolean {
    if (!this.hasTimestamps || segment.timestamps === undefined || hasFlag(segment, TcpFlag.rst))
      return false;
    return isBefore(segment.timestamps.value, this.peerTimestamp);
  }

  /** Takes timestamps and congestion marks of an acceptable segment; `expected` is the next sequence number. */
  takeSegment(segment: TcpSegment, expected: number): void {
    const isInOrder = !isAfter(segment.sequence, expected);
    if (this.hasTimestamps && segment.timestamps !== undefined && isInOrder)
      this.peerTimestamp = segment.timestamps.value;
    if (!this.hasEcn) return;
    // RFC 3168 §6.1.3: a mark of congestion is echoed until the sender says that it heard.
    if (hasFlag(segment, TcpFlag.cwr)) this.isCongestionEchoed = false;
    if (segment.isCongestionExperienced) this.isCongestionEchoed = true;
  }

  private timestamp(nowMs: number): number {
    return (Math.floor(nowMs) + this.timestampOffset) >>> 0;
  }
}

/** RFC 9293 §3.7.1: the segment size of a peer that does not say. */
const MSS_DEFAULT = 536;
/** A smaller one would make headers of everything; Linux' TCP_MIN_MSS. */
const MSS_MIN = 88;
/** RFC 7323 §2.3. */
const WINDOW_SCALE_MAX = 14;
const WINDOW_MAX = 0xffff;
const TIMESTAMP_BYTES = 12;
/** RFC 9293 §3.1: what the data offset leaves for options. */
const OPTION_BYTES_MAX = 40;
/** Two fillers, kind and length; then each block (RFC 2018 §3). */
const SACK_BYTES = 4;
const SACK_BLOCK_BYTES = 8;

/** Bytes of the option that reports `count` blocks. */
export function sackOptionBytes(count: number): number {
  return count === 0 ? 0 : SACK_BYTES + count * SACK_BLOCK_BYTES;
}

/** The options of a SYN or SYN/ACK. */
interface SynOptions {
  readonly mssBytes: number;
  /** Undefined: no scaling. */
  readonly windowScale: number | undefined;
  readonly isSackPermitted: boolean;
  /** Undefined: no timestamps. */
  readonly timestamp: number | undefined;
}

/** Reads the options of a peer's SYN; broken ones count as absent. */
export function readSynOptions(bytes: Uint8Array): SynOptions {
  const parsed = parseTcpOptions(bytes);
  const options = typeof parsed === "string" ? [] : parsed;
  let mssBytes = MSS_DEFAULT;
  let windowScale: number | undefined;
  let isSackPermitted = false;
  let timestamp: number | undefined;
  for (const option of options) {
    if (option.kind === "mss") mssBytes = Math.max(option.mssBytes, MSS_MIN);
    else if (option.kind === "window-scale") windowScale = Math.min(option.shift, WINDOW_SCALE_MAX);
    else if (option.kind === "sack-permitted") isSackPermitted = true;
    else if (option.kind === "timestamps") timestamp = option.value;
  }
  return { mssBytes, windowScale, isSackPermitted, timestamp };
}

const NOP: TcpOption = Object.freeze({ kind: "nop" });
const SACK_PERMITTED: TcpOption = Object.freeze({ kind: "sack-permitted" });

/**
 * The option list of a SYN or SYN/ACK in the order of the system. `echo` is the peer's timestamp.
 * docs: dataplane.md §2.1 and vectors V1, V4, V6 of §6.10 (Windows); net/ipv4/tcp_output.c, tcp_options_write (Linux).
 */
function listSynOptions(style: SynOptionStyle, own: SynOptions, echo: number): TcpOption[] {
  const options: TcpOption[] = [{ kind: "mss", mssBytes: own.mssBytes }];
  const scale: TcpOption[] =
    own.windowScale === undefined ? [] : [NOP, { kind: "window-scale", shift: own.windowScale }];
  if (style === "windows") {
    options.push(...scale);
    if (own.isSackPermitted) options.push(NOP, NOP, SACK_PERMITTED);
    return options;
  }
  if (own.timestamp !== undefined) {
    // SACK permitted takes the place of the two fillers before the timestamps.
    options.push(...(own.isSackPermitted ? [SACK_PERMITTED] : [NOP, NOP]));
    options.push({ kind: "timestamps", value: own.timestamp, echo });
  } else if (own.isSackPermitted) {
    options.push(NOP, NOP, SACK_PERMITTED);
  }
  options.push(...scale);
  return options;
}

/** The timestamps of every segment after the handshake (RFC 7323 appendix A). */
function listTimestampOptions(value: number, echo: number): TcpOption[] {
  return [NOP, NOP, { kind: "timestamps", value, echo }];
}

/**
 * The window of a SYN or SYN/ACK: as many full segments as 16 bits can say. 64860 at an MSS of 1410 and 64240 at 1460
 * for both systems; a SYN/ACK of Windows says 65535 (docs: dataplane.md §2.1; V1 and V4 of §6.10), one of Linux counts
 * segments without their timestamps (65160).
 */
export function synWindow(
  style: SynOptionStyle,
  mssBytes: number,
  isAnswer: boolean,
  hasTimestamps: boolean,
): number {
  if (style === "windows" && isAnswer) return WINDOW_MAX;
  const segmentBytes = isAnswer && hasTimestamps ? mssBytes - TIMESTAMP_BYTES : mssBytes;
  return Math.floor(WINDOW_MAX / segmentBytes) * segmentBytes;
}

/** Bytes of options in every segment after the handshake. */
function segmentOptionBytes(hasTimestamps: boolean): number {
  return hasTimestamps ? TIMESTAMP_BYTES : 0;
}
