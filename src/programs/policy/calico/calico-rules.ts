/**
 * A rule of a NetworkPolicy as Calico's rules: one for each protocol and peer (projectcalico/calico,
 * libcalico-go/lib/backend/k8s/conversion/conversion.go).
 */
import { formatPrefix, parsePrefix } from "#core/net/ip.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { PodQuery } from "../objects/pod-index.ts";
import type {
  PolicyDirection,
  StoredPeer,
  StoredPolicy,
  StoredPort,
  StoredRule,
} from "../objects/stored-policy.ts";

/** Who is at the other end; absent: everybody. */
export type CalicoPeer =
  | { readonly kind: "pods"; readonly query: PodQuery }
  | { readonly kind: "block"; readonly cidr: string; readonly except: readonly string[] };

export interface CalicoRule {
  readonly direction: PolicyDirection;
  /** Its place among the policy's rules of the direction, as they are written. */
  readonly index: number;
  /** Absent: any. */
  readonly protocol?: string;
  /** None: all. */
  readonly ports: readonly PortRange[];
  readonly namedPorts: readonly string[];
  readonly peer?: CalicoPeer;
}

/** The port of a rule: a number, a range, or a name. */
function addPort(
  { port, endPort }: StoredPort,
  into: { readonly ranges: PortRange[]; readonly names: string[] },
): boolean {
  if (port === undefined || port === null) return false;
  if (typeof port === "number" || /^\d+$/.test(port))
    into.ranges.push({ first: Number(port), last: endPort ?? Number(port) });
  else into.names.push(port);
  return true;
}

/** Ranges that touch become one: `SimplifyPorts`. */
function simplified(ranges: readonly PortRange[]): readonly PortRange[] {
  const merged: PortRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.first - b.first)) {
    const last = merged.at(-1);
    if (last !== undefined && range.first <= last.last + 1)
      merged[merged.length - 1] = { first: last.first, last: Math.max(last.last, range.last) };
    else merged.push(range);
  }
  return merged;
}

type PortsOfProtocol = Pick<CalicoRule, "ports" | "namedPorts">;
const ALL_PORTS: PortsOfProtocol = Object.freeze({
  ports: Object.freeze([]),
  namedPorts: Object.freeze([]),
});

/** By protocol, in their order; a protocol that is named once without a port has all of them. */
function portsByProtocol(ports: readonly StoredPort[]): readonly (readonly [string, PortsOfProtocol])[] {
  const found = new Map<string, { ranges: PortRange[]; names: string[]; isAll: boolean }>();
  for (const each of ports) {
    const protocol = each.protocol ?? "TCP";
    const own = found.get(protocol) ?? { ranges: [], names: [], isAll: false };
    found.set(protocol, own);
    if (!addPort(each, own)) own.isAll = true;
  }
  return [...found]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([protocol, { ranges, names, isAll }]) => [
      protocol,
      isAll ? ALL_PORTS : { ports: simplified(ranges), namedPorts: names },
    ]);
}

function peerOf({ ipBlock, namespaceSelector, podSelector }: StoredPeer, namespace: string): CalicoPeer {
  const block = ipBlock ?? undefined;
  if (block !== undefined) {
    const cidr = parsePrefix(block.cidr ?? "");
    const normal = cidr === undefined ? (block.cidr ?? "") : formatPrefix(cidr);
    return { kind: "block", cidr: normal, except: block.except ?? [] };
  }
  const query: PodQuery = {
    pods: podSelector ?? {},
    ...(namespaceSelector === undefined || namespaceSelector === null
      ? { namespace }
      : { namespaces: namespaceSelector }),
  };
  return { kind: "pods", query };
}

function ofRule(
  { peers, ports }: StoredRule,
  where: Pick<CalicoRule, "direction" | "index">,
  namespace: string,
): readonly CalicoRule[] {
  const byProtocol = portsByProtocol(ports);
  const wanted = byProtocol.length === 0 ? [[undefined, ALL_PORTS] as const] : byProtocol;
  const ends = peers.length === 0 ? [undefined] : peers.map((peer) => peerOf(peer, namespace));
  return wanted.flatMap(([protocol, own]) =>
    ends.map((peer) => ({
      ...where,
      ...own,
      ...(protocol === undefined ? {} : { protocol }),
      ...(peer === undefined ? {} : { peer }),
    })),
  );
}

/** All rules of a policy, those of ingress first. */
export function calicoRules({ namespace, directions, rules }: StoredPolicy): readonly CalicoRule[] {
  return (["ingress", "egress"] as const).flatMap((direction) =>
    directions.includes(direction)
      ? rules[direction].flatMap((rule, index) => ofRule(rule, { direction, index }, namespace))
      : [],
  );
}
