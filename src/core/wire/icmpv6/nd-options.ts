/** Options of neighbour discovery (RFC 4861 §4.6, RFC 8106): type 0, length in units of 8 bytes 1, data 2. */
import { assert } from "../../base/assert.ts";
import {
  readU128,
  readU32,
  readU48,
  readU8,
  writeU128,
  writeU16,
  writeU32,
  writeU48,
  writeU8,
} from "../../base/bytes.ts";
import { type Ipv6, type Prefix, prefixOf } from "../../net/ip.ts";
import type { Mac } from "../../net/mac.ts";

/** Types of the options that are read. Any octet may arrive. */
export const NdOptionType = {
  sourceLinkLayer: 1,
  targetLinkLayer: 2,
  prefixInformation: 3,
  mtu: 5,
  recursiveDnsServers: 25,
} as const;

const PREFIX_FLAG = { onLink: 0x80, autonomous: 0x40 } as const;

/** One option. A known type with a wrong length is `unknown`. */
export type NdOption =
  | { readonly kind: "source-link-layer" | "target-link-layer"; readonly mac: Mac }
  | {
      readonly kind: "prefix-information";
      readonly prefix: Prefix;
      readonly isOnLink: boolean;
      readonly isAutonomous: boolean;
      /** 0xffffffff: for ever. */
      readonly validSeconds: number;
      /** 0xffffffff: for ever. */
      readonly preferredSeconds: number;
    }
  | { readonly kind: "mtu"; readonly mtuBytes: number }
  | {
      readonly kind: "recursive-dns-servers";
      readonly lifetimeSeconds: number;
      readonly servers: readonly Ipv6[];
    }
  /** `data` follows type and length; 6 bytes more than a multiple of 8. */
  | { readonly kind: "unknown"; readonly type: number; readonly data: Uint8Array };

function readPrefixInformation(bytes: Uint8Array, at: number): NdOption {
  const flags = readU8(bytes, at + 3);
  return {
    kind: "prefix-information",
    prefix: prefixOf(readU128(bytes, at + 16) as Ipv6, readU8(bytes, at + 2)),
    isOnLink: (flags & PREFIX_FLAG.onLink) !== 0,
    isAutonomous: (flags & PREFIX_FLAG.autonomous) !== 0,
    validSeconds: readU32(bytes, at + 4),
    preferredSeconds: readU32(bytes, at + 8),
  };
}

function readServers(bytes: Uint8Array, at: number, length: number): NdOption {
  const servers: Ipv6[] = [];
  for (let server = at + 8; server < at + length; server += 16) servers.push(readU128(bytes, server) as Ipv6);
  return { kind: "recursive-dns-servers", lifetimeSeconds: readU32(bytes, at + 4), servers };
}

/** The option at `at`, whose length is checked. */
export function readNdOption(bytes: Uint8Array, at: number): NdOption {
  const type = readU8(bytes, at);
  const length = readU8(bytes, at + 1) * 8;
  if (type === NdOptionType.sourceLinkLayer && length === 8) {
    return { kind: "source-link-layer", mac: readU48(bytes, at + 2) as Mac };
  }
  if (type === NdOptionType.targetLinkLayer && length === 8) {
    return { kind: "target-link-layer", mac: readU48(bytes, at + 2) as Mac };
  }
  if (type === NdOptionType.prefixInformation && length === 32 && readU8(bytes, at + 2) <= 128) {
    return readPrefixInformation(bytes, at);
  }
  if (type === NdOptionType.mtu && length === 8) return { kind: "mtu", mtuBytes: readU32(bytes, at + 4) };
  if (type === NdOptionType.recursiveDnsServers && length >= 24 && length % 16 === 8) {
    return readServers(bytes, at, length);
  }
  return { kind: "unknown", type, data: bytes.subarray(at + 2, at + length) };
}

function optionLength(option: NdOption): number {
  switch (option.kind) {
    case "source-link-layer":
    case "target-link-layer":
    case "mtu":
      return 8;
    case "prefix-information":
      return 32;
    case "recursive-dns-servers":
      return 8 + option.servers.length * 16;
    case "unknown":
      return 2 + option.data.length;
  }
}

/** Bytes that `emitNdOptions` writes. */
export function ndOptionsLength(options: readonly NdOption[]): number {
  let length = 0;
  for (const option of options) length += optionLength(option);
  return length;
}

function emitPrefixInformation(
  option: Extract<NdOption, { kind: "prefix-information" }>,
  bytes: Uint8Array,
  at: number,
): void {
  const { address, length } = option.prefix;
  assert(typeof address === "bigint", "prefix information is about an IPv6 prefix");
  const flags =
    (option.isOnLink ? PREFIX_FLAG.onLink : 0) | (option.isAutonomous ? PREFIX_FLAG.autonomous : 0);
  writeU8(bytes, at, NdOptionType.prefixInformation);
  writeU8(bytes, at + 2, length);
  writeU8(bytes, at + 3, flags);
  writeU32(bytes, at + 4, option.validSeconds);
  writeU32(bytes, at + 8, option.preferredSeconds);
  writeU32(bytes, at + 12, 0);
  writeU128(bytes, at + 16, address);
}

function emitOption(option: NdOption, bytes: Uint8Array, at: number): void {
  const length = optionLength(option);
  assert(length % 8 === 0 && length <= 2040, "a neighbour discovery option fills up to 255 units of 8 bytes");
  writeU8(bytes, at + 1, length / 8);
  switch (option.kind) {
    case "source-link-layer":
    case "target-link-layer":
      writeU8(
        bytes,
        at,
        option.kind === "source-link-layer" ? NdOptionType.sourceLinkLayer : NdOptionType.targetLinkLayer,
      );
      writeU48(bytes, at + 2, option.mac);
      return;
    case "prefix-information":
      emitPrefixInformation(option, bytes, at);
      return;
    case "mtu":
      writeU8(bytes, at, NdOptionType.mtu);
      writeU16(bytes, at + 2, 0);
      writeU32(bytes, at + 4, option.mtuBytes);
      return;
    case "recursive-dns-servers":
      writeU8(bytes, at, NdOptionType.recursiveDnsServers);
      writeU16(bytes, at + 2, 0);
      writeU32(bytes, at + 4, option.lifetimeSeconds);
      for (const [index, server] of option.servers.entries()) writeU128(bytes, at + 8 + index * 16, server);
      return;
    case "unknown":
      writeU8(bytes, at, option.type);
      bytes.set(option.data, at + 2);
  }
}

/** Writes the options at `offset`. @returns the bytes written. */
export function emitNdOptions(options: readonly NdOption[], bytes: Uint8Array, offset: number): number {
  let at = offset;
  for (const option of options) {
    emitOption(option, bytes, at);
    at += optionLength(option);
  }
  return at - offset;
}
