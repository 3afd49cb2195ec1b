/** Names under in-addr.arpa and ip6.arpa (RFC 1035 §3.5, RFC 3596 §2.5). */
import { type Ip, type Ipv6, parseIpv4, parseIpv6 } from "../net/ip.ts";
import { isInZone } from "./answer.ts";

const V4_ZONE = "in-addr.arpa";
const V6_ZONE = "ip6.arpa";
const V6_DIGITS = 32;

/** True for names of the reverse zones; `name` is comparable. */
export function isReverseName(name: string): boolean {
  return isInZone(name, V4_ZONE) || isInZone(name, V6_ZONE);
}

/** The address that a comparable reverse name stands for; undefined when it is not one whole address. */
export function addressOfReverseName(name: string): Ip | undefined {
  if (name.endsWith(`.${V4_ZONE}`)) {
    const labels = name.slice(0, -V4_ZONE.length - 1).split(".");
    return labels.length === 4 ? parseIpv4(labels.toReversed().join(".")) : undefined;
  }
  if (!name.endsWith(`.${V6_ZONE}`)) return undefined;
  const digits = name.slice(0, -V6_ZONE.length - 1).split(".");
  if (digits.length !== V6_DIGITS || !digits.every((digit) => /^[0-9a-f]$/.test(digit))) return undefined;
  return BigInt(`0x${digits.toReversed().join("")}`) as Ipv6;
}

/** The address in the first label of a pod's name, `10-244-1-5` or `fd00--5`; undefined when it is none. */
export function addressOfPodLabel(label: string): Ip | undefined {
  const isDotted = label.split("-").length === 4 && !label.includes("--");
  return isDotted ? parseIpv4(label.replaceAll("-", ".")) : parseIpv6(label.replaceAll("-", ":"));
}
