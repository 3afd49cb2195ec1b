/** What both sides of a TCP connection agree on with SYN and SYN/ACK: options, windows, ECN. */
import { type TcpOption, parseTcpOptions } from "#core/wire/tcp-options.ts";
import type { SynOptionStyle } from "../stack-profile.ts";

/** RFC 9293 §3.7.1: the segment size of a peer that does not say. */
const MSS_DEFAULT = 536;
/** A smaller one would make headers of everything; Linux' TCP_MIN_MSS. */
const MSS_MIN = 88;
/** RFC 7323 §2.3. */
const WINDOW_SCALE_MAX = 14;
const WINDOW_MAX = 0xffff;
const TIMESTAMP_BYTES = 12;

/** The options of a SYN or SYN/ACK. */
export interface SynOptions {
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
export function listSynOptions(style: SynOptionStyle, own: SynOptions, echo: number): TcpOption[] {
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
export function listTimestampOptions(value: number, echo: number): TcpOption[] {
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
export function segmentOptionBytes(hasTimestamps: boolean): number {
  return hasTimestamps ? TIMESTAMP_BYTES : 0;
}
