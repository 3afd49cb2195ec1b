/** A transposition in the words that the ETW events of VFP have for it (dataplane.md §1.10). */
import type { TranspositionWords } from "#core/base/recorder.ts";
import { formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { Encapsulation } from "../actions/encapsulation.ts";
import { type AddressWords, type Transposition, wordsToIp } from "../actions/transposition.ts";

const IGNORE = "Ignore";

function ipOf(words: AddressWords | undefined): string {
  return words === undefined ? IGNORE : formatIp(wordsToIp(words));
}

function numberOf(value: number): string {
  return value < 0 ? IGNORE : `${value}`;
}

/** `Ignore` where every field is ignored. */
function modify(fields: Readonly<Record<string, string>>): string {
  const entries = Object.entries(fields);
  if (entries.every(([, value]) => value === IGNORE)) return IGNORE;
  return `Modify(${entries.map(([name, value]) => `${name} ${value}`).join(", ")})`;
}

function pushed({ fields }: Encapsulation): string {
  const { kind, id, source, destination, sourceMac, destinationMac } = fields;
  const parts = [
    `${kind.toUpperCase()} ${id}`,
    `SrcIp ${formatIp(source)}`,
    `DestIp ${formatIp(destination)}`,
    `SrcMac ${formatMac(sourceMac)}`,
    `DestMac ${formatMac(destinationMac)}`,
  ];
  return `Push(${parts.join(", ")})`;
}

export function describeTransposition(change: Transposition): TranspositionWords {
  const { sourceMac, destinationMac, ttlDecrements, mssDelta, tni, push } = change;
  const encap = [...(change.pops ? ["Pop"] : []), ...(push === undefined ? [] : [pushed(push)])];
  return {
    tni: tni < 0 ? IGNORE : `Modify(${tni})`,
    vlanId: IGNORE,
    mssDelta: mssDelta === 0 ? IGNORE : `Modify(${mssDelta})`,
    macHeader: modify({
      SrcMac: sourceMac === undefined ? IGNORE : formatMac(sourceMac),
      DestMac: destinationMac === undefined ? IGNORE : formatMac(destinationMac),
    }),
    ipHeader: modify({
      SrcIp: ipOf(change.newSource),
      DestIp: ipOf(change.newDestination),
      DecTtl: ttlDecrements === 0 ? IGNORE : `${ttlDecrements}`,
      Dscp: numberOf(change.dscp),
    }),
    transportHeader: modify({
      SrcPort: numberOf(change.sourcePort),
      DestPort: numberOf(change.destinationPort),
    }),
    encap: encap.length === 0 ? IGNORE : encap.join(", "),
  };
}

/** The parts that are not ignored, in one line; `nothing` where all are. */
export function summarizeTransposition(listed: TranspositionWords): string {
  const names: readonly (readonly [keyof TranspositionWords, string])[] = [
    ["encap", "Encap"],
    ["macHeader", "Mac"],
    ["ipHeader", "Ip"],
    ["transportHeader", "Transport"],
    ["tni", "Tni"],
    ["vlanId", "VlanId"],
    ["mssDelta", "MssDelta"],
  ];
  const reported = names
    .filter(([name]) => listed[name] !== IGNORE)
    .map(([name, label]) => `${label} ${listed[name]}`);
  return reported.length === 0 ? "nothing" : reported.join("; ");
}
