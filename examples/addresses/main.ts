/** Addresses as values: which node's range has a pod, and which addresses of a range are left. */
import {
  type Ip,
  type Prefix,
  addToIp,
  familyOf,
  formatIp,
  formatMac,
  formatPrefix,
  lastIp,
  parseIp,
  parseMac,
  parsePortRange,
  parsePrefix,
  prefixContains,
  prefixesOverlap,
} from "mullion/net";

function prefix(text: string): Prefix {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new TypeError(`no prefix: ${text}`);
  return parsed;
}

/** @returns what a person wants to see of it. */
export function runExample(): readonly string[] {
  const ranges = new Map([
    ["win-1", prefix("10.244.1.0/24")],
    ["win-2", prefix("10.244.2.0/24")],
  ]);
  const nodeOf = (ip: Ip): string =>
    [...ranges].find(([, range]) => prefixContains(range, ip))?.[0] ?? "no node";
  const lines: string[] = [];
  for (const text of ["10.244.2.7", "10.244.9.1", "fd00::7", "10.244.2"]) {
    // A text that is no address parses to undefined; nothing throws.
    const ip = parseIp(text);
    lines.push(
      ip === undefined ? `${text} is not an address` : `${text} (IPv${familyOf(ip)}): ${nodeOf(ip)}`,
    );
  }
  for (const [node, range] of ranges) {
    // Beyond the ends of the family there is nothing.
    const ends = [addToIp(range.address, 3), addToIp(lastIp(range), -1)].filter((ip) => ip !== undefined);
    lines.push(`${node}: pods from ${ends.map(formatIp).join(" to ")}`);
  }
  const service = prefix("10.244.0.0/16");
  const inside = [...ranges.values()].filter((range) => prefixesOverlap(range, service));
  lines.push(`${inside.length} ranges are in ${formatPrefix(service)}`);
  const mac = parseMac("00:15:5d:00:00:0b");
  const ports = parsePortRange("30000-32767");
  lines.push(`${mac === undefined ? "" : formatMac(mac)} ${ports?.first} to ${ports?.last}`);
  return lines;
}

if (import.meta.filename === process.argv[1]) console.log(runExample().join("\n"));
