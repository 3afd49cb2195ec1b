/** What a command is to reach: an address, or what a name leads to by the machine's own resolver. */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { NameResult } from "#dataplane/host/resolver/name-result.ts";
import { assert } from "#core/base/assert.ts";
import { resolveName } from "../trace/trace-name.ts";
import type { Machine } from "./machine.ts";

export interface Target {
  readonly ip: Ip;
  /** Without a final dot, where aliases led; undefined for an address that was given as such. */
  readonly canonicalName: string | undefined;
}

export type UnknownName = Extract<NameResult, { readonly outcome: "failed" }>;

export function isTarget(found: Target | UnknownName): found is Target {
  return "ip" in found;
}

/** Asks for one family; a literal address is taken whatever its family is. */
export function findTarget(
  { cluster, compartment }: Machine,
  name: string,
  isIpv6: boolean,
): Target | UnknownName {
  const literal = parseIp(name);
  if (literal !== undefined) return { ip: literal, canonicalName: undefined };
  const result = resolveName(cluster, {
    name,
    family: isIpv6 ? "ipv6" : "ipv4",
    senderIn: () => compartment,
  });
  if (result.outcome === "failed") return result;
  const [ip] = result.addresses;
  assert(ip !== undefined, "a name that was resolved has an address");
  return { ip, canonicalName: result.canonicalName.replace(/\.$/, "") };
}
