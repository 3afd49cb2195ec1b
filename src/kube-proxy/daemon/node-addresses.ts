/** The node's addresses as kube-proxy takes them (kube-proxy.md §2.1). */
import type { Node } from "../../kube/objects.ts";
import { type IpFamily, familyOf } from "../../net/ip.ts";
import { parseTolerantIp } from "../configuration/validate.ts";

/** Internal addresses before external ones: the first, and the first of the other family. Empty: there are none. */
export function nodeAddresses(node: Node | undefined): readonly string[] {
  const all = node?.status?.addresses ?? [];
  const wanted = ["InternalIP", "ExternalIP"].flatMap((type) => all.filter((each) => each.type === type));
  const known = wanted.flatMap(({ address }) => {
    const ip = parseTolerantIp(address);
    return ip === undefined ? [] : [{ address, family: familyOf(ip) }];
  });
  const [first] = known;
  if (first === undefined) return [];
  const second = known.find(({ family }) => family !== first.family);
  return second === undefined ? [first.address] : [first.address, second.address];
}

export interface NodeAddress {
  readonly address: string;
  readonly family: IpFamily;
  readonly isLoopback: boolean;
}

const UNSPECIFIED: readonly string[] = ["0.0.0.0", "::"];

/** `bindAddress`, if it is one; else the Node's first address; else 127.0.0.1. */
export function primaryAddress(bindAddress: string, ofNode: readonly string[]): NodeAddress {
  const bound = UNSPECIFIED.includes(bindAddress) ? undefined : parseTolerantIp(bindAddress);
  const address = bound === undefined ? (ofNode[0] ?? "127.0.0.1") : bindAddress;
  const ip = parseTolerantIp(address);
  const isLoopback = address.startsWith("127.") || address === "::1";
  return { address, family: ip === undefined ? 4 : familyOf(ip), isLoopback };
}
