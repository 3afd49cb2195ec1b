/**
 * The public door of addresses as values, `mullion/net`: what `mullion/wire`, `mullion/vfp` and `mullion/cni` take and give.
 * Addresses are numbers, compared with `===` and usable as keys; prefixes are frozen pairs. Nothing throws: a text that is
 * no address parses to `undefined`.
 *
 * @example
 * const pod = parseIp("10.244.1.7");
 * const range = parsePrefix("10.244.1.0/24");
 * if (pod !== undefined && range !== undefined) prefixContains(range, pod); // true
 */
export {
  ANY_IPV4,
  type InterfaceAddress,
  type Ip,
  type IpFamily,
  type Ipv4,
  type Ipv6,
  type Prefix,
  addToIp,
  familyOf,
  formatIp,
  formatPrefix,
  hostPrefix,
  lastIp,
  parseInterfaceAddress,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixOf,
  prefixesOverlap,
} from "./ip.ts";
export { BROADCAST_MAC, formatMac, type Mac, parseMac } from "./mac.ts";
export { isPort, parsePortRange, type PortRange } from "./port-range.ts";
