/** NetworkPolicies as port groups, address sets and ACLs (control-planes.md §4.2, "NetworkPolicy → ACL"). */
import { mapOf, setOf } from "#contracts/ovsdb/client.ts";
import { type LabelSelector, matchesSelector } from "#contracts/kubernetes/labels.ts";
import type { NetworkPolicy } from "#contracts/kubernetes/objects.ts";
import { Prng } from "#core/base/prng.ts";
import { parsePrefix } from "#core/net/ip.ts";
import { type WantedRows, reference, uuidOf } from "../wanted-rows.ts";
import { type OvnInput, type OvnPod, portName } from "./input.ts";

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

class PolicyRows {
  private readonly wanted: WantedRows;
  private readonly input: OvnInput;

  constructor(wanted: WantedRows, input: OvnInput) {
    this.wanted = wanted;
    this.input = input;
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
    pods: readonly OvnPod[],
    acls: readonly string[],
    ids: Readonly<Record<string, string>>,
  ): void {
    this.wanted.put("Port_Group", name, {
      name,
      ports: setOf(pods.map((pod) => reference(uuidOf("Logical_Switch_Port", portName(pod))))),
      acls: setOf(acls.map(reference)),
      external_ids: mapOf(ids),
    });
  }

  /** The pods that a peer of a policy of a namespace stands for. */
  peers({ podSelector, namespaceSelector }: Peer, namespace: string): readonly OvnPod[] {
    const labels = new Map(
      this.input.namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]),
    );
    return this.input.pods.filter(
      (pod) =>
        (namespaceSelector === undefined || namespaceSelector === null
          ? pod.namespace === namespace
          : matchesSelector(namespaceSelector, labels.get(pod.namespace) ?? {})) &&
        (podSelector === undefined || podSelector === null || matchesSelector(podSelector, pod.labels)),
    );
  }

  /** A set of addresses for one peer. @returns its name */
  addressSet(key: string, pods: readonly OvnPod[], ids: Readonly<Record<string, string>>): string {
    const name = hashed(key);
    this.wanted.put("Address_Set", name, {
      name,
      addresses: setOf(pods.map(({ ip }) => ip)),
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
  const sets = pods.map(
    (peer, index) =>
      `$${rows.addressSet(`${key} ${index}`, rows.peers(peer, namespace), { "k8s.ovn.org/name": key })}`,
  );
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
function portMatches(direction: Direction, rule: Rule, pods: readonly OvnPod[]): readonly string[] {
  const ports = rule.ports ?? [];
  if (ports.length === 0) return [""];
  return ports.flatMap(({ protocol = "TCP", port, endPort }) => {
    const proto = protocol.toLowerCase();
    if (port === undefined || port === null) return [proto];
    if (typeof port === "string") return namedPort(direction, port, protocol, pods);
    if (endPort !== undefined && endPort !== null) return [`${proto} && ${port}<=${proto}.dst<=${endPort}`];
    return [`${proto} && ${proto}.dst==${port}`];
  });
}

function putPolicy(rows: PolicyRows, input: OvnInput, policy: NetworkPolicy): void {
  const { namespace, name } = policy.metadata;
  const group = hashed(`${namespace}_${name}`);
  const selected = input.pods.filter(
    (pod) => pod.namespace === namespace && matchesSelector(policy.spec?.podSelector ?? {}, pod.labels),
  );
  const ids = { "k8s.ovn.org/owner-type": "NetworkPolicy", "k8s.ovn.org/name": `${namespace}:${name}` };
  const acls: string[] = [];
  for (const direction of directionsOf(policy)) {
    const rules = ((direction === "Ingress" ? policy.spec?.ingress : policy.spec?.egress) ??
      []) as readonly Rule[];
    for (const [index, rule] of rules.entries()) {
      const key = `NP:${namespace}:${name}:${direction}:${index}`;
      const { match: side } = sideOf(direction, group);
      const to = direction === "Ingress" ? selected : input.pods;
      const who = peerMatches(rows, direction, rule, key, namespace);
      const what = portMatches(direction, rule, to);
      for (const peer of who)
        for (const port of what) {
          const match = [peer, port, side].filter((part) => part !== "").join(" && ");
          acls.push(rows.acl(`${key} ${match}`, direction, ALLOW_PRIORITY, "allow-related", match, ids, key));
        }
    }
  }
  rows.group(group, selected, acls, ids);
}

/** What no policy of a namespace allows: one group for each direction, with ARP let through. */
function putDenials(rows: PolicyRows, input: OvnInput, namespace: string, direction: Direction): void {
  const policies = input.policies.filter(
    (policy) => policy.metadata.namespace === namespace && directionsOf(policy).includes(direction),
  );
  if (policies.length === 0) return;
  const isolated = input.pods.filter(
    (pod) =>
      pod.namespace === namespace &&
      policies.some(({ spec }) => matchesSelector(spec?.podSelector ?? {}, pod.labels)),
  );
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

export function putPolicies(wanted: WantedRows, input: OvnInput): void {
  const rows = new PolicyRows(wanted, input);
  for (const policy of input.policies) putPolicy(rows, input, policy);
  for (const namespace of new Set(input.policies.map(({ metadata }) => metadata.namespace)))
    for (const direction of ["Ingress", "Egress"] as const) putDenials(rows, input, namespace, direction);
}
