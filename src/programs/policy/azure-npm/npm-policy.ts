/**
 * A NetworkPolicy as NPM's ACLs for Windows, which name sets; what Windows has not ends the whole policy
 * (Azure/azure-container-networking, npm/pkg/controlplane/translation, npm/pkg/dataplane/policies/policy_windows.go).
 */
import type { LabelRequirement, LabelSelector } from "#contracts/kubernetes/labels.ts";
import type { PodIndex } from "../objects/pod-index.ts";
import type { CompiledPolicy } from "../objects/policy-index.ts";
import type {
  PolicyDirection,
  StoredPeer,
  StoredPolicy,
  StoredPort,
  StoredRule,
} from "../objects/stored-policy.ts";
import type { AclFields, EngineFinding, WrittenAcl } from "../policy-engine.ts";
import {
  ALL_NAMESPACES,
  type NpmSet,
  cidrSet,
  hashedName,
  namespaceLabelSet,
  namespaceSet,
  nestedLabelSet,
  podLabelSet,
} from "./ip-sets.ts";
import { policyEngines } from "#data/words.js";

const WORDS = policyEngines();

/** `policy_windows.go`, `policymanager_windows.go`. */
export const NPM: {
  readonly nodePriority: number;
  readonly allowPriority: number;
  readonly blockPriority: number;
  readonly aclsPerCall: number;
  readonly networkTries: number;
  readonly networkWaitS: number;
} = Object.freeze({
  nodePriority: 201,
  allowPriority: 222,
  blockPriority: 3_000,
  aclsPerCall: 30,
  /** How often it looks for its network, and how many seconds between. */
  networkTries: 240,
  networkWaitS: 5,
});

/** A set that a policy brings along, with what is in it. */
export interface OwnSet {
  readonly set: NpmSet;
  /** Addresses and ranges, or names of sets. */
  readonly members: readonly string[];
}

export interface NpmPolicy extends CompiledPolicy {
  /** Without the node's rule, which needs its address; undefined: NPM refuses the policy. */
  readonly acls: readonly WrittenAcl[] | undefined;
  readonly ownSets: readonly OwnSet[];
  /** Sets that its ACLs name; those that no pod is in are there, too. */
  readonly named: readonly NpmSet[];
  readonly findings: readonly EngineFinding[];
}

/** A refusal of the whole policy. */
class Unsupported extends Error {
  override readonly name = "Unsupported";
  readonly code: EngineFinding["code"];

  constructor(code: EngineFinding["code"], message: string) {
    super(message);
    this.code = code;
  }
}

const PROTOCOLS: Readonly<Record<string, string>> = Object.freeze({ TCP: "6", UDP: "17" });

/** Alternatives of the sets that all have to hold. */
type SetLists = readonly (readonly NpmSet[])[];

interface FlatRequirement extends LabelRequirement {
  readonly values: readonly string[];
}

/** One selector for each value of what has several: "any of them", also for NotIn (`flattenNameSpaceSelector`). */
function flattened({ matchExpressions }: LabelSelector): readonly (readonly FlatRequirement[])[] {
  return (matchExpressions ?? []).reduce<readonly (readonly FlatRequirement[])[]>(
    (lists, { key, operator, values }) => {
      const all = values ?? [];
      const each = all.length === 0 ? [[]] : all.map((value) => [value]);
      return lists.flatMap((list) => each.map((one) => [...list, { key, operator, values: one }]));
    },
    [[]],
  );
}

class Translation {
  private readonly stored: StoredPolicy;
  private readonly ownSets: OwnSet[] = [];
  private readonly named = new Map<string, NpmSet>();

  constructor(stored: StoredPolicy) {
    this.stored = stored;
  }

  run(): Pick<NpmPolicy, "acls" | "ownSets" | "named"> {
    // The policy's own selector is held to the same limits as those of its peers.
    this.podSets(this.stored.pods, "spec.podSelector");
    const acls = this.stored.directions.flatMap((direction) => this.ofDirection(direction));
    return { acls, ownSets: this.ownSets, named: [...this.named.values()] };
  }

  private ofDirection(direction: PolicyDirection): readonly WrittenAcl[] {
    const rules = this.stored.rules[direction];
    const open = rules.findIndex(({ peers, ports }) => peers.length + ports.length === 0);
    if (open >= 0) return [this.allow(direction, open, [], undefined)];
    const acls = rules.flatMap((rule, index) => this.ofRule(direction, rule, index));
    const acl = {
      ...this.fields(direction, [], undefined),
      Action: "Block" as const,
      Priority: NPM.blockPriority,
    };
    return [...acls, { acl, origin: { why: "default", direction, policies: [this.stored.key] } }];
  }

  private ofRule(
    direction: PolicyDirection,
    { peers, ports }: StoredRule,
    index: number,
  ): readonly WrittenAcl[] {
    const at = `spec.${direction}[${index}]`;
    const sources: SetLists =
      peers.length === 0
        ? [[]]
        : peers.flatMap((peer, place) => this.setsOfPeer(peer, { direction, rule: index, peer: place, at }));
    const wanted: readonly (StoredPort | undefined)[] = ports.length === 0 ? [undefined] : ports;
    return sources.flatMap((sets) =>
      wanted.map((port) => {
        if (port !== undefined) this.checkPort(port, at);
        return this.allow(direction, index, sets, port);
      }),
    );
  }

  private checkPort({ port, protocol }: StoredPort, at: string): void {
    if (typeof port === "string" && !/^\d+$/.test(port))
      throw new Unsupported("network-policy-named-port", WORDS.npmRefusesNamedPort({ at, name: port }));
    if (protocol === "SCTP") throw new Unsupported("network-policy-sctp", WORDS.npmRefusesSctp({ at }));
  }

  private setsOfPeer(
    { ipBlock, podSelector, namespaceSelector }: StoredPeer,
    place: {
      readonly direction: PolicyDirection;
      readonly rule: number;
      readonly peer: number;
      readonly at: string;
    },
  ): SetLists {
    const { at, direction } = place;
    const block = ipBlock ?? undefined;
    if (block !== undefined) return [[this.blockSet(block, place)]];
    const namespaces = namespaceSelector ?? undefined;
    const pods = podSelector ?? undefined;
    if (namespaces === undefined)
      return [[...this.podSets(pods ?? {}, at), this.name(namespaceSet(this.stored.namespace))]];
    const own = pods === undefined ? [] : this.podSets(pods, at);
    return this.namespaceSets(namespaces, direction, at).map((sets) => [...sets, ...own]);
  }

  private blockSet(
    { cidr = "", except }: NonNullable<StoredPeer["ipBlock"]>,
    {
      direction,
      rule,
      peer,
      at,
    }: {
      readonly direction: PolicyDirection;
      readonly rule: number;
      readonly peer: number;
      readonly at: string;
    },
  ): NpmSet {
    if (cidr.includes(":")) throw new Unsupported("network-policy-ipv6", WORDS.npmRefusesIpv6({ at, cidr }));
    if ((except ?? []).length > 0)
      throw new Unsupported("network-policy-except", WORDS.npmRefusesExcept({ at }));
    const set = cidrSet(this.stored, { rule, peer, direction: direction === "ingress" ? "IN" : "OUT" });
    // Linux' sets take no /0, and so Windows' have two halves as well.
    const members = cidr === "0.0.0.0/0" ? ["0.0.0.0/1", "128.0.0.0/1"] : [cidr];
    this.ownSets.push({ set, members });
    return this.name(set);
  }

  private podSets({ matchLabels, matchExpressions }: LabelSelector, at: string): readonly NpmSet[] {
    const labels = Object.entries(matchLabels ?? {}).map(([key, value]) => podLabelSet(key, value));
    const others = (matchExpressions ?? []).map(({ key, operator, values }) => {
      if (operator === "NotIn" || operator === "DoesNotExist")
        throw new Unsupported(
          "network-policy-negated-selector",
          WORDS.npmRefusesNegation({ at, operator, key }),
        );
      const [first, ...more] = values ?? [];
      if (operator !== "In" || first === undefined) return podLabelSet(key);
      if (more.length === 0) return podLabelSet(key, first);
      const set = nestedLabelSet(this.stored.key, key, [first, ...more]);
      const members = [first, ...more].map((value) => this.name(podLabelSet(key, value)).name);
      this.ownSets.push({ set, members });
      return set;
    });
    return [...labels, ...others].map((set) => this.name(set));
  }

  /**
   * A negated selector of namespaces ends the policy where it is about sources. About destinations upstream looks at sources
   * alone and writes the set as if it were not negated (`convertToAclSettings`).
   */
  private namespaceSets(selector: LabelSelector, direction: PolicyDirection, at: string): SetLists {
    const labels = Object.entries(selector.matchLabels ?? {});
    if (labels.length + (selector.matchExpressions ?? []).length === 0)
      return [[this.name(namespaceLabelSet(ALL_NAMESPACES))]];
    return flattened(selector).map((requirements) => {
      const negated = requirements.find(
        ({ operator }) => operator === "NotIn" || operator === "DoesNotExist",
      );
      if (negated !== undefined && direction === "ingress") {
        const { operator, key } = negated;
        throw new Unsupported(
          "network-policy-negated-selector",
          WORDS.npmRefusesNegation({ at, operator, key }),
        );
      }
      return [
        ...labels.map(([key, value]) => namespaceLabelSet(key, value)),
        ...requirements.map(({ key, values: [value] }) => namespaceLabelSet(key, value)),
      ].map((set) => this.name(set));
    });
  }

  private name(set: NpmSet): NpmSet {
    this.named.set(set.name, set);
    return set;
  }

  private allow(
    direction: PolicyDirection,
    index: number,
    sets: readonly NpmSet[],
    port: StoredPort | undefined,
  ): WrittenAcl {
    const acl = {
      ...this.fields(direction, sets, port),
      Action: "Allow" as const,
      Priority: NPM.allowPriority,
    };
    return { acl, origin: { why: "rule", direction, policies: [this.stored.key], index } };
  }

  /** Sources stand in LocalAddresses and destinations in RemoteAddresses, in both directions. */
  private fields(
    direction: PolicyDirection,
    sets: readonly NpmSet[],
    port: StoredPort | undefined,
  ): Omit<AclFields, "Action"> {
    const isIn = direction === "ingress";
    const addresses = sets.map(({ name }) => hashedName(name)).join(",");
    const protocol = port === undefined ? undefined : PROTOCOLS[port.protocol ?? "TCP"];
    const ports = port === undefined ? "" : portList(port);
    return {
      Id: aclId(this.stored),
      ...(protocol === undefined ? {} : { Protocols: protocol }),
      Direction: isIn ? "In" : "Out",
      ...(addresses === "" ? {} : { [isIn ? "LocalAddresses" : "RemoteAddresses"]: addresses }),
      ...(ports === "" ? {} : { [isIn ? "LocalPorts" : "RemotePorts"]: ports }),
      RuleType: "Switch",
    };
  }
}

/** One id for all ACLs of a policy. */
export function aclId({ namespace, name }: Pick<StoredPolicy, "namespace" | "name">): string {
  return `azure-acl-${namespace}-${name}`;
}

/** A range is written out port by port. */
function portList({ port, endPort }: StoredPort): string {
  if (port === undefined || port === null) return "";
  const first = Number(port);
  const last = Math.max(first, endPort ?? first);
  return Array.from({ length: last - first + 1 }, (_, offset) => first + offset).join(",");
}

/** Readiness probes: what comes from the node, for each policy. */
export function nodeAcl(stored: StoredPolicy, nodeAddress: string): WrittenAcl {
  return {
    acl: {
      Id: aclId(stored),
      Action: "Allow",
      Direction: "In",
      RemoteAddresses: nodeAddress,
      RuleType: "Switch",
      Priority: NPM.nodePriority,
    },
    origin: { why: "node", direction: "ingress", policies: [stored.key] },
  };
}

export function compileNpmPolicy(stored: StoredPolicy, _pods: PodIndex): NpmPolicy {
  try {
    return Object.freeze({ stored, uses: [], ...new Translation(stored).run(), findings: [] });
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    const finding = { code: error.code, policy: stored.key, message: error.message };
    return Object.freeze({ stored, uses: [], acls: undefined, ownSets: [], named: [], findings: [finding] });
  }
}
