/**
 * Calico's rules as ACLs of HNS v1 (projectcalico/calico, felix/dataplane/windows/policysets/policysets.go;
 * control-planes.md §7.2).
 */
import { type PortRange, formatPortRange } from "#core/net/port-range.ts";
import type { PodGroup, PodIndex } from "../objects/pod-index.ts";
import type { CompiledPolicy } from "../objects/policy-index.ts";
import type { PolicyDirection, StoredPolicy } from "../objects/stored-policy.ts";
import type { AclFields, AclOrigin, EngineFinding, WrittenAcl } from "../policy-engine.ts";
import { type CalicoRule, calicoRules } from "./calico-rules.ts";
import { policyEngines } from "#data/words.js";

const WORDS = policyEngines();

/** `policyset_defs.go`; the chunk: `ipPortsPerRule`, as Microsoft recommended. */
export const FELIX: {
  readonly hostPriority: number;
  readonly basePriority: number;
  readonly maxPriority: number;
  readonly chunk: number;
  readonly anyProtocol: number;
} = Object.freeze({
  hostPriority: 900,
  basePriority: 1_000,
  maxPriority: 65_000,
  chunk: 4_000,
  anyProtocol: 256,
});

const PROTOCOL_NUMBERS: Readonly<Record<string, number>> = Object.freeze({
  tcp: 6,
  udp: 17,
  icmp: 1,
  icmpv6: 58,
  sctp: 132,
  udplite: 136,
});

/** A policy's ACLs without their priorities, which depend on the others of an endpoint. */
export interface PolicySet extends CompiledPolicy {
  readonly acls: Readonly<Record<PolicyDirection, readonly WrittenAcl[]>>;
  readonly findings: readonly EngineFinding[];
}

/** The outcome of a rule: its ACLs, or why there is none. */
type Rendered = { readonly acls: readonly AclFields[] } | { readonly finding?: EngineFinding };

function chunks<T>(list: readonly T[], size: number): readonly (readonly T[])[] {
  if (list.length === 0) return [[]];
  const parts: (readonly T[])[] = [];
  for (let start = 0; start < list.length; start += size) parts.push(list.slice(start, start + size));
  return parts;
}

/** A template of `NewRule`: for the VFP port, any protocol, blocking. */
export function newAcl(direction: PolicyDirection, priority: number): AclFields {
  return {
    RuleType: "Switch",
    Action: "Block",
    Direction: direction === "ingress" ? "In" : "Out",
    Protocol: FELIX.anyProtocol,
    Priority: priority,
  };
}

class RuleWriter {
  private readonly stored: StoredPolicy;
  private readonly pods: PodIndex;
  readonly uses = new Set<PodGroup>();

  constructor(stored: StoredPolicy, pods: PodIndex) {
    this.stored = stored;
    this.pods = pods;
  }

  /** `position`: among the policy's rules as Calico has them. */
  render(rule: CalicoRule, position: number): Rendered {
    const { direction, index, namedPorts, peer } = rule;
    const at = `spec.${direction}[${index}]`;
    if (peer?.kind === "block" && peer.except.length > 0)
      return { finding: this.skipped("network-policy-except", WORDS.calicoSkipsExcept({ at })) };
    const [name] = namedPorts;
    if (name !== undefined)
      return { finding: this.skipped("network-policy-named-port", WORDS.calicoSkipsNamedPort({ at, name })) };
    if (peer?.kind === "block" && peer.cidr.includes(":"))
      return { finding: this.skipped("network-policy-ipv6", WORDS.calicoSkipsIpv6({ at, cidr: peer.cidr })) };
    const addresses = this.addressesOf(rule);
    // Nil from an empty set: `ErrMissingIPSet`, and the rule is not rendered.
    if (addresses?.length === 0) return {};
    return { acls: expand(rule, addresses ?? [], this.idOf(rule, position)) };
  }

  /** Undefined: everybody. */
  private addressesOf({ peer }: CalicoRule): readonly string[] | undefined {
    if (peer === undefined) return undefined;
    if (peer.kind === "block") return [peer.cidr];
    const group = this.pods.group(peer.query);
    this.uses.add(group);
    return group.addresses().map((address) => `${address}/32`);
  }

  /** Inferred (control-planes.md §7.2): what stands behind the policy, in place of upstream's hash of the rule. */
  private idOf({ direction }: CalicoRule, position: number): string {
    return `policy-KubernetesNetworkPolicy/${this.stored.key}-${direction}.${position}`;
  }

  private skipped(code: EngineFinding["code"], message: string): EngineFinding {
    return { code, policy: this.stored.key, message };
  }
}

/** As many ACLs as it takes: at most so many addresses, and ports, in each. */
function expand(
  { direction, protocol, ports }: CalicoRule,
  addresses: readonly string[],
  id: string,
): readonly AclFields[] {
  const base: AclFields = {
    ...newAcl(direction, FELIX.basePriority),
    Action: "Allow",
    Protocol:
      protocol === undefined
        ? FELIX.anyProtocol
        : (PROTOCOL_NUMBERS[protocol.toLowerCase()] ?? FELIX.anyProtocol),
  };
  const portField = direction === "ingress" ? "LocalPorts" : "RemotePorts";
  const portChunks: readonly (readonly PortRange[])[] = chunks(ports, FELIX.chunk);
  return chunks(addresses, FELIX.chunk).flatMap((addressChunk, outer) =>
    portChunks.map((portChunk, inner) => ({
      ...base,
      Id: `${id}-${outer * portChunks.length + inner}`,
      ...(addressChunk.length === 0 ? {} : { RemoteAddresses: addressChunk.join(",") }),
      ...(portChunk.length === 0 ? {} : { [portField]: portChunk.map(formatPortRange).join(",") }),
    })),
  );
}

/** Compiles a policy; rules that HNS cannot hold are left out, as upstream does, and said. */
export function compilePolicySet(stored: StoredPolicy, pods: PodIndex): PolicySet {
  const writer = new RuleWriter(stored, pods);
  const acls: Record<PolicyDirection, WrittenAcl[]> = { ingress: [], egress: [] };
  const findings: EngineFinding[] = [];
  for (const [position, rule] of calicoRules(stored).entries()) {
    const rendered = writer.render(rule, position);
    const { direction, index } = rule;
    const origin: AclOrigin = { why: "rule", direction, policies: [stored.key], index };
    if ("acls" in rendered) acls[direction].push(...rendered.acls.map((acl) => ({ acl, origin })));
    else if (rendered.finding !== undefined) findings.push(rendered.finding);
  }
  return Object.freeze({ stored, uses: [...writer.uses], acls, findings });
}

/** Profile `kns.NAMESPACE`, which every pod has: it allows everything (felix' `k8s` profiles). */
function profileAcls(direction: PolicyDirection, namespace: string): readonly WrittenAcl[] {
  const acl: AclFields = {
    ...newAcl(direction, FELIX.basePriority),
    Action: "Allow",
    Id: `profile-kns.${namespace}-${direction}-0`,
  };
  return [{ acl, origin: { why: "open", direction, policies: [] } }];
}

/**
 * The ACLs of one direction: the policies', by name, and a block at the end; where no policy of the direction selects the
 * pod, its profile's. Priorities count up from 1000, or by groups of one action where there are too many.
 */
function ofDirection(
  direction: PolicyDirection,
  namespace: string,
  sets: readonly PolicySet[],
): readonly WrittenAcl[] {
  const own = sets.filter(({ stored }) => stored.directions.includes(direction));
  const rules =
    own.length === 0 ? profileAcls(direction, namespace) : own.flatMap(({ acls }) => acls[direction]);
  const origin: AclOrigin = { why: "default", direction, policies: own.map(({ stored }) => stored.key) };
  // The end of the tier has a priority of its own, which stays where it is alone.
  const list = [...rules, { acl: newAcl(direction, FELIX.basePriority + 1), origin }];
  return withPriorities(list, FELIX.maxPriority);
}

/** `rewritePriorities`; exported for its limit, which no cluster of a test reaches. */
export function withPriorities(list: readonly WrittenAcl[], limit: number): readonly WrittenAcl[] {
  if (list.length <= 1) return list;
  const countsAlways = list.length < limit - FELIX.basePriority;
  let priority = FELIX.basePriority;
  return list.map((each, index) => {
    const before = list[index - 1];
    if (before !== undefined && (countsAlways || before.acl.Action !== each.acl.Action)) priority++;
    return { ...each, acl: { ...each.acl, Priority: priority } };
  });
}

/** Everything that felix gives an endpoint, in its order. `hosts`: the node's IPv4 addresses with their length. */
export function endpointAcls(
  namespace: string,
  sets: readonly PolicySet[],
  { hosts, hostRulePriority }: { readonly hosts: readonly string[]; readonly hostRulePriority: number },
): readonly WrittenAcl[] {
  const hostRule = (direction: PolicyDirection): WrittenAcl => ({
    acl: { ...newAcl(direction, hostRulePriority), RuleType: "Host", Action: "Allow" },
    origin: { why: "base", direction, policies: [] },
  });
  const node: readonly WrittenAcl[] =
    hosts.length === 0
      ? []
      : [
          {
            acl: {
              ...newAcl("ingress", FELIX.hostPriority),
              Action: "Allow",
              RemoteAddresses: hosts.join(","),
              Id: "allow-host-to-endpoint",
            },
            origin: { why: "node", direction: "ingress", policies: [] },
          },
        ];
  return [
    ...node,
    ...ofDirection("ingress", namespace, sets),
    hostRule("ingress"),
    ...ofDirection("egress", namespace, sets),
    hostRule("egress"),
  ];
}
