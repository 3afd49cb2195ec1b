/** Why bytes were refused: one stable word for programs, one sentence of `data/words/malformed.md` for people. */
import { malformed } from "#data/words.js";

/** All reasons. The words are stable. */
export const MALFORMED_REASONS = [
  "ethernet-truncated",
  "vlan-truncated",
  "arp-truncated",
  "arp-not-ethernet-ipv4",
  "ipv4-truncated",
  "ipv4-version",
  "ipv4-header-length",
  "ipv4-total-length",
  "ipv4-option-length",
  "ipv6-truncated",
  "ipv6-version",
  "ipv6-payload-length",
  "ipv6-extension-truncated",
  "ipv6-extension-chain",
  "tcp-truncated",
  "tcp-data-offset",
  "tcp-option-length",
  "udp-truncated",
  "udp-length",
  "icmp-truncated",
  "nd-truncated",
  "nd-not-discovery",
  "nd-option-length",
  "mld-truncated",
  "vxlan-truncated",
  "vxlan-vni-invalid",
  "geneve-truncated",
  "geneve-version",
  "geneve-option-length",
  "geneve-not-ethernet",
  "nvgre-truncated",
  "gre-not-nvgre",
  "stt-truncated",
  "stt-version",
  "stt-segment-length",
  "stt-segment-overlap",
  "dns-truncated",
  "dns-too-long",
  "dns-name",
  "dns-record-length",
] as const;

/** Why a header was refused. */
export type MalformedReason = (typeof MALFORMED_REASONS)[number];

/** By reason: asked for once, a text is found again without making anything. */
const WORDS: Readonly<Record<MalformedReason, string>> = malformed();

/** One clause that says to a person what is wrong. */
export function describeMalformed(reason: MalformedReason): string {
  return WORDS[reason];
}
