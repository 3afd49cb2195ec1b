/** NetworkPolicies as port groups, address sets and ACLs (control-planes.md §4.2, "NetworkPolicy → ACL"). */
import { mapOf, setOf } from "#contracts/ovsdb/client.ts";
import type { LabelSelector } from "#contracts/kubernetes/labels.ts";
import type { NetworkPolicy } from "#contracts/kubernetes/objects.ts";
import { Prng } from "#core/base/prng.ts";
import { parsePrefix } from "#core/net/ip.ts";
import { type WantedParts, WantedRows, reference, uuidOf } from "../wanted-rows.ts";
import { type OvnInput, type OvnPod, portName } from "./input.ts";
import { type PodChoice, type PodSet, PodSets } from "./pod-sets.ts";

const DENY_PRIORITY = 1_000;
const ALLOW_PRIORITY = 1_001;
const NAME_CHARACTERS_MAX = 63;
/** What a back end that talks to itself through its Service is seen as. */
const HAIRPIN_MATCH = "ip4.src == 169.254.169.5";

type Direction = "Ingress" | "Egress";

interface Peer {
  readonly podSelector?: LabelSelector | null;
  readonly namespaceSelector?: LabelSelector | null;
  readonly ipBlock?: { readonly cidr?: string; readonly except?: readonly string[] | null } | null;
}
interface PolicyPort {
  readonly protocol?: string;
  readonly port?: number | string | null;
  readonly endPort?: number | null;
}
interface Rule {
  readonly from?: readonly Peer[] | null;
  readonly to?: readonly Peer[] | null;
  readonly ports?: readonly PolicyPort[] | null;
}

/** Names of groups and sets are hashes, since they stand in matches. */
function hashed(text: string): string {
  return `a${new Prng(text).guid().replaceAll("-", "").slice(0, 19)}`;
}

function directionsOf({ spec }: NetworkPolicy): readonly Direction[] {
  const types = spec?.policyTypes ?? [];
  if (types.length === 0) return (spec?.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
  return (["Ingress", "Egress"] as const).filter((direction) => types.includes(direction));
}

/** Ingress is what comes to a port, egress what a port sends, behind the load balancers. */
function sideOf(
  direction: Direction,
  group: string,
): { readonly match: string; readonly columns: Readonly<Record<string, string>> } {
  return direction === "Ingress"
    ? { match: `outport == @${group}`, columns: { direction: "to-lport" } }
    : { match: `inport == @${group}`, columns: { direction: "from-lport" } };
}

/** The rows of one policy, or of one denial, and the sets of pods that they were made of. */
class PolicyRows {
  readonly wanted = new WantedRows();
  /** Keys of the sets. */
  readonly uses: string[] = [];
  /** All pods of the cluster were looked at, not only those of the sets. */
  usesAll = false;
  private readonly sets: PodSets;

  constructor(sets: PodSets) {
    this.sets = sets;
  }

  /** The pods of a choice. */
  choose(choice: PodChoice): PodSet {
    const set = this.sets.use(choice);
    this.uses.push(set.key);
    return set;
  }

  everyPod(): readonly OvnPod[] {
    this.usesAll = true;
    return this.sets.all;
  }

  acl(
    key: string,
    direction: Direction,
    priority: number,
    action: string,
    match: string,
    ids: Readonly<Record<string, string>>,
    name = "",
  ): string {
    return this.wanted.put("ACL", key, {
      priority,
      action,
      match,
      direction: direction === "Ingress" ? "to-lport" : "from-lport",
      options: mapOf(direction === "Egress" ? { "apply-after-lb": "true" } : {}),
      name: setOf(name === "" ? [] : [name.slice(0, NAME_CHARACTERS_MAX)]),
      external_ids: mapOf(ids),
    });
  }

  group(
    name: string,
    pods: Iterable<OvnPod>,
    acls: readonly string[],
    ids: Readonly<Record<string, string>>,
  ): void {
    this.wanted.put("Port_Group", name, {
      name,
      ports: setOf([...pods].map((pod) => reference(uuidOf("Logical_Switch_Port", portName(pod))))),
      acls: setOf([...new Set(acls)].map(reference)),
      external_ids: mapOf(ids),
    });
  }

  /** A set of addresses for one peer. @returns its name */
  addressSet(key: string, pods: Iterable<OvnPod>, ids: Readonly<Record<string, string>>): string {
    const name = hashed(key);
    this.wanted.put("Address_Set", name, {
      name,
      addresses: setOf([...new Set([...pods].map(({ ip }) => ip))]),
      external_ids: mapOf(ids),
    });
    return name;
  }
}

function ipBlockMatch(
  field: string,
  { cidr = "", except }: NonNullable<Peer["ipBlock"]>,
): string | undefined {
  const prefix = parsePrefix(cidr);
  if (prefix === undefined || typeof prefix.address !== "number") return undefined;
  const others = (except ?? []).join(", ");
  return others === "" ? `${field} == ${cidr}` : `(${field} == ${cidr} && ${field} != {${others}})`;
}

/** Who: a text for each peer; one that is always true for a rule without peers. */
function peerMatches(
  rows: PolicyRows,
  direction: Direction,
  rule: Rule,
  key: string,
  namespace: string,
): readonly string[] {
  const peers = [...(rule.from ?? []), ...(rule.to ?? [])];
  const field = direction === "Ingress" ? "ip4.src" : "ip4.dst";
  if (peers.length === 0) return [""];
  const pods = peers.filter(({ ipBlock }) => ipBlock === undefined || ipBlock === null);
  const sets = pods.map(({ podSelector, namespaceSelector }, index) => {
    const { members } = rows.choose({ namespace, namespaceSelector, podSelector });
    return `$${rows.addressSet(`${key} ${index}`, members.values(), { "k8s.ovn.org/name": key })}`;
  });
  const blocks = peers.flatMap(({ ipBlock }) =>
    ipBlock === undefined || ipBlock === null ? [] : (ipBlockMatch(field, ipBlock) ?? []),
  );
  return [...(sets.length === 0 ? [] : [`${field} == {${sets.join(", ")}}`]), ...blocks];
}

/** A port that has a name is another number for each pod that has it. */
function namedPort(
  direction: Direction,
  name: string,
  protocol: string,
  pods: readonly OvnPod[],
): readonly string[] {
  return pods.flatMap((pod) =>
    pod.ports
      .filter((port) => port.name === name && port.protocol === protocol)
      .map(({ port }) => {
        const pair = `${protocol.toLowerCase()}.dst==${port}`;
        return direction === "Ingress"
          ? `(outport == "${portName(pod)}" && ${pair})`
          : `(ip4.dst == ${pod.ip} && ${pair})`;
      }),
  );
}

/** What: a text for each port; one that is always true for a rule without ports. */
function portMatches(direction: Direction, rule: Rule, pods: () => readonly OvnPod[]): readonly string[] {
  const ports = rule.ports ?? [];
  if (ports.length === 0) return [""];
  return ports.flatMap(({ protocol = "TCP", port, endPort }) => {
    const proto = protocol.toLowerCase();
    if (port === undefined || port === null) return [proto];
    if (typeof port === "string") return namedPort(direction, port, protocol, pods());
    if (endPort !== undefined && endPort !== null) return [`${proto} && ${port}<=${proto}.dst<=${endPort}`];
    return [`${proto} && ${proto}.dst==${port}`];
  });
}

function putPolicy(rows: PolicyRows, policy: NetworkPolicy): void {
  const { namespace, name } = policy.metadata;
  const group = hashed(`${namespace}_${name}`);
  const { members } = rows.choose({ namespace, podSelector: policy.spec?.podSelector });
  const ids = { "k8s.ovn.org/owner-type": "NetworkPolicy", "k8s.ovn.org/name": `${namespace}:${name}` };
  const acls: string[] = [];
  for (const direction of directionsOf(policy)) {
    const rules = ((direction === "Ingress" ? policy.spec?.ingress : policy.spec?.egress) ??
      []) as readonly Rule[];
    for (const [index, rule] of rules.entries()) {
      const key = `NP:${namespace}:${name}:${direction}:${index}`;
      const { match: side } = sideOf(direction, group);
      const who = peerMatches(rows, direction, rule, key, namespace);
      const what = portMatches(direction, rule, () =>
        direction === "Ingress" ? [...members.values()] : rows.everyPod(),
      );
      for (const peer of who)
        for (const port of what) {
          const match = [peer, port, side].filter((part) => part !== "").join(" && ");
          acls.push(rows.acl(`${key} ${match}`, direction, ALLOW_PRIORITY, "allow-related", match, ids, key));
        }
    }
  }
  rows.group(group, members.values(), acls, ids);
}

/** What no policy of a namespace allows: one group for each direction, with ARP let through. */
function putDenials(
  rows: PolicyRows,
  { namespace, direction }: Pick<Denial, "namespace" | "direction">,
  isolated: Iterable<OvnPod>,
): void {
  const group = `${hashed(namespace)}_${direction.toLowerCase()}DefaultDeny`;
  const ids = { "k8s.ovn.org/owner-type": "NetpolNamespace", "k8s.ovn.org/name": namespace };
  const { match } = sideOf(direction, group);
  const title = `NP:${namespace}:${direction}`;
  rows.group(
    group,
    isolated,
    [
      rows.acl(`${title} deny`, direction, DENY_PRIORITY, "drop", match, ids, title),
      rows.acl(`${title} arp`, direction, ALLOW_PRIORITY, "allow", `${match} && (arp || nd)`, ids, title),
      ...(direction === "Ingress"
        ? [
            rows.acl(
              `${title} hairpin`,
              direction,
              ALLOW_PRIORITY,
              "allow-related",
              `${match} && ${HAIRPIN_MATCH}`,
              ids,
              title,
            ),
          ]
        : []),
    ],
    ids,
  );
}

/** What the policies of a namespace isolate in one direction. */
interface Denial {
  readonly namespace: string;
  readonly direction: Direction;
  /** Keys of the sets of pods that policies select, each with how many do. */
  readonly selected: Map<string, number>;
}

interface KnownPolicy {
  readonly policy: NetworkPolicy;
  readonly uses: readonly string[];
  readonly usesAll: boolean;
}

function nameOf({ metadata: { namespace, name } }: NetworkPolicy): string {
  return `${namespace}/${name}`;
}

/** The rows of all policies, a part for each and one for each denial: what changes is made anew, and nothing else. */
export class PolicyParts {
  private readonly parts: WantedParts;
  private readonly sets = new PodSets();
  /** By `namespace/name`. */
  private readonly known = new Map<string, KnownPolicy>();
  private policies: ReadonlySet<NetworkPolicy> = new Set();
  /** Names of the policies that were made of a set, by its key. */
  private readonly users = new Map<string, Set<string>>();
  private readonly denials = new Map<string, Denial>();
  private readonly staleDenials = new Set<string>();

  constructor(parts: WantedParts) {
    this.parts = parts;
  }

  sync(input: Pick<OvnInput, "pods" | "namespaces" | "policies">): void {
    const { sets, hasAny } = this.sets.update(input);
    const now = new Set(input.policies);
    const stale = new Map<string, NetworkPolicy | undefined>();
    for (const policy of this.policies) if (!now.has(policy)) stale.set(nameOf(policy), undefined);
    for (const policy of now) if (!this.policies.has(policy)) stale.set(nameOf(policy), policy);
    this.policies = now;
    const affected = [...sets].flatMap((key) => [...(this.users.get(key) ?? [])]);
    if (hasAny) for (const [name, { usesAll }] of this.known) if (usesAll) affected.push(name);
    for (const name of affected) if (!stale.has(name)) stale.set(name, this.known.get(name)?.policy);
    for (const [key, { selected }] of this.denials)
      if ([...sets].some((set) => selected.has(set))) this.staleDenials.add(key);
    for (const [name, policy] of stale) this.renew(name, policy);
    for (const key of this.staleDenials) this.renewDenial(key);
    this.staleDenials.clear();
  }

  private renew(name: string, policy: NetworkPolicy | undefined): void {
    const before = this.known.get(name);
    if (policy !== undefined) this.make(name, policy);
    else {
      this.known.delete(name);
      this.parts.set(`policy ${name}`, undefined);
    }
    if (before === undefined) return;
    this.isolate(before.policy, -1, before.uses[0] ?? "");
    const uses = new Set(this.known.get(name)?.uses);
    for (const key of before.uses) {
      this.sets.release(key);
      if (uses.has(key)) continue;
      this.users.get(key)?.delete(name);
      if (this.users.get(key)?.size === 0) this.users.delete(key);
    }
  }

  private make(name: string, policy: NetworkPolicy): void {
    const rows = new PolicyRows(this.sets);
    putPolicy(rows, policy);
    const { uses, usesAll } = rows;
    this.parts.set(`policy ${name}`, rows.wanted);
    this.known.set(name, { policy, uses, usesAll });
    for (const key of uses) {
      const users = this.users.get(key) ?? new Set<string>();
      this.users.set(key, users);
      users.add(name);
    }
    this.isolate(policy, 1, uses[0] ?? "");
  }

  /** A policy more, or one less, isolates the pods that it selects. */
  private isolate(policy: NetworkPolicy, more: 1 | -1, set: string): void {
    const { namespace } = policy.metadata;
    for (const direction of directionsOf(policy)) {
      const key = `${namespace} ${direction}`;
      const denial = this.denials.get(key) ?? { namespace, direction, selected: new Map<string, number>() };
      this.denials.set(key, denial);
      const count = (denial.selected.get(set) ?? 0) + more;
      if (count === 0) denial.selected.delete(set);
      else denial.selected.set(set, count);
      const isNew = more === 1 ? count === 1 : count === 0;
      if (isNew) this.staleDenials.add(key);
    }
  }

  private renewDenial(key: string): void {
    const denial = this.denials.get(key);
    if (denial === undefined) return;
    if (denial.selected.size === 0) {
      this.denials.delete(key);
      this.parts.set(`denial ${key}`, undefined);
      return;
    }
    const isolated = new Map([...denial.selected.keys()].flatMap((set) => [...this.sets.membersOf(set)]));
    const rows = new PolicyRows(this.sets);
    putDenials(rows, denial, isolated.values());
    this.parts.set(`denial ${key}`, rows.wanted);
  }
}
