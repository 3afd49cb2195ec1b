/**
 * What one end of a TCP connection offered, what the peer offered, and what both therefore use: segment size, window
 * scale, timestamps, ECN.
 */
import { TcpFlag } from "#core/wire/tcp.ts";
import type { TcpOption } from "#core/wire/tcp-options.ts";
import type { TcpProfile } from "../stack-profile.ts";
import { type TcpSegment, hasFlag } from "./tcp-segment.ts";
import { isAfter, isBefore } from "./tcp-sequence.ts";
import {
  type SynOptions,
  listSynOptions,
  listTimestampOptions,
  readSynOptions,
  segmentOptionBytes,
  synWindow,
} from "./tcp-syn.ts";

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

  /** Options of a segment after the handshake. */
  segmentOptions(nowMs: number): TcpOption[] {
    return this.hasTimestamps ? listTimestampOptions(this.timestamp(nowMs), this.peerTimestamp) : [];
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
