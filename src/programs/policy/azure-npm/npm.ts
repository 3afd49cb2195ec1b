/**
 * Azure NPM on a Windows node: sets first, then the ACLs of each policy on the endpoints of the pods that it selects
 * (Azure/azure-container-networking, npm/pkg/dataplane; control-planes.md §7.2).
 */
import { textOf } from "#core/base/json.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError, HcnNotFoundError } from "#contracts/hcn/error.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import {
  getEndpointById,
  getNetworkByName,
  listEndpoints,
  modifyEndpointPolicies,
  modifyNetworkPolicies,
  queryBy,
} from "#contracts/hcn/operations.ts";
import type { NpmObjects } from "../policy-objects.ts";
import {
  ATTACHED_STATES,
  type EngineFinding,
  type EngineReport,
  type PolicyEngine,
  type WrittenAcl,
} from "../policy-engine.ts";
import { NPM, type NpmPolicy, aclId, nodeAcl } from "./npm-policy.ts";
import { type SetEntry, setPolicy } from "./set-table.ts";
import { policyEngines } from "#data/words.js";

const WORDS = policyEngines();

/** What Azure's CNI calls its network, and what Calico's does: NPM takes no other (`getHCnNetwork`). */
export const NPM_NETWORKS = ["azure", "Calico"] as const;
export type NpmNetwork = (typeof NPM_NETWORKS)[number];

export interface NpmOptions {
  readonly client: HcnClient;
  readonly objects: NpmObjects;
  /** `WindowsNetworkName` of its configuration. */
  readonly network: NpmNetwork;
  readonly nodeAddress: string;
}

/** What Calico's own endpoints get besides (`baseACLsForCalicoCNI`). */
const CALICO_BASE: readonly WrittenAcl[] = (
  [
    {
      Id: "azure-acl-baseazurewireserver",
      Action: "Block",
      Direction: "Out",
      RemoteAddresses: "168.63.129.16/32",
      RemotePorts: "80",
      Protocols: "6",
      RuleType: "Switch",
      Priority: 200,
    },
    { Id: "azure-acl-baseallowinswitch", Action: "Allow", Direction: "In", Priority: 65_499 },
    { Id: "azure-acl-baseallowoutswitch", Action: "Allow", Direction: "Out", Priority: 65_499 },
    { Id: "azure-acl-baseallowinhost", Action: "Allow", Direction: "In", RuleType: "Host" },
    { Id: "azure-acl-baseallowouthost", Action: "Allow", Direction: "Out", RuleType: "Host" },
  ] as const
).map((acl) => ({
  acl,
  origin: { why: "base", direction: acl.Direction === "In" ? "ingress" : "egress", policies: [] },
}));

/** The policies on an endpoint as they were written, by their keys. */
interface Programmed {
  readonly pod: string;
  readonly policies: Map<string, NpmPolicy>;
  acls: readonly WrittenAcl[];
}

export class Npm implements PolicyEngine {
  readonly name = "azure-npm";
  private readonly options: NpmOptions;
  private readonly programmed = new Map<Guid, Programmed>();
  private sets: ReadonlyMap<string, SetEntry> = new Map();
  private tries = 0;

  constructor(options: NpmOptions) {
    this.options = options;
  }

  async sync(): Promise<EngineReport> {
    const { network } = this.options;
    const id = await this.findNetwork();
    if (id === undefined) return { networks: [], written: [], findings: [] };
    const { objects } = this.options;
    const stillThere = (programmed: Programmed | undefined): readonly NpmPolicy[] =>
      [...(programmed?.policies.values() ?? [])].filter((policy) => objects.policies.has(policy));
    const findings: EngineFinding[] = [];
    const wanted = objects.sets();
    const refused = await this.tried(() => this.writeSets(id, wanted), network);
    if (refused !== undefined) return { networks: [network], written: [], findings: [refused] };
    const written: Guid[] = [];
    const byAddress = new Map([...objects.pods.pods()].map((pod) => [pod.address, pod.key]));
    const endpoints = await this.endpoints();
    const known = new Set(endpoints.map((endpoint) => endpoint.ID));
    for (const endpoint of this.programmed.keys()) if (!known.has(endpoint)) this.programmed.delete(endpoint);
    for (const { ID, IpConfigurations: [first] = [] } of endpoints) {
      const before = this.programmed.get(ID);
      const current = byAddress.get(first?.IpAddress ?? "");
      const pod = current ?? before?.pod;
      if (pod === undefined) continue;
      // An endpoint outlives its pod's object; what is no policy any more goes from it all the same.
      const policies = current === undefined ? stillThere(before) : objects.policies.of(current);
      for (const { findings: own } of policies)
        for (const each of own) if (!findings.includes(each)) findings.push(each);
      const failed = await this.tried(async () => {
        if (await this.program(ID, pod, policies)) written.push(ID);
      }, pod);
      if (failed !== undefined) findings.push(failed);
    }
    const kept = await this.tried(() => this.removeSets(id, wanted), network);
    if (kept !== undefined) findings.push(kept);
    return { networks: [network], written, findings };
  }

  listAcls(): Readonly<Record<Guid, readonly WrittenAcl[]>> {
    return Object.fromEntries([...this.programmed].map(([id, { acls }]) => [id, acls]));
  }

  /** True when NPM has looked for its network so often that it ends; it is then started again. */
  get hasGivenUp(): boolean {
    return this.tries >= NPM.networkTries;
  }

  private async findNetwork(): Promise<Guid | undefined> {
    if (this.hasGivenUp) return undefined;
    try {
      const { ID } = await getNetworkByName(this.options.client, this.options.network);
      this.tries = 0;
      return ID;
    } catch (error) {
      if (!(error instanceof HcnNotFoundError)) throw error;
      this.tries++;
      return undefined;
    }
  }

  private async tried(work: () => Promise<void>, pod: string): Promise<EngineFinding | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      if (error instanceof HcnNotFoundError) return undefined;
      if (!(error instanceof HcnError)) throw error;
      return { code: "policy-engine-refused", message: WORDS.engineRefused({ pod, detail: error.message }) };
    }
  }

  private async endpoints(): Promise<readonly StoredEndpoint[]> {
    const found = new Map<Guid, StoredEndpoint>();
    for (const state of ATTACHED_STATES)
      for (const endpoint of await listEndpoints(this.options.client, queryBy({ State: state })))
        if (!found.has(endpoint.ID)) found.set(endpoint.ID, endpoint);
    return [...found.values()];
  }

  /** Plain sets before those that have them as members. */
  private async writeSets(network: Guid, wanted: ReadonlyMap<string, SetEntry>): Promise<void> {
    const changed = [...wanted.values()].filter(
      ({ set, values }) => this.sets.get(set.name)?.values !== values || !this.sets.has(set.name),
    );
    const isNew = ({ set }: SetEntry): boolean => !this.sets.has(set.name);
    for (const [kind, entries] of [
      ["Add", changed.filter(isNew)],
      ["Update", changed.filter((entry) => !isNew(entry))],
    ] as const)
      for (const isNested of [false, true]) {
        const policies = entries.filter(({ set }) => set.isNested === isNested).map(setPolicy);
        if (policies.length > 0) await modifyNetworkPolicies(this.options.client, network, kind, policies);
      }
    this.sets = new Map([...this.sets, ...wanted]);
  }

  /** Those that nothing needs any more: sets of sets first. */
  private async removeSets(network: Guid, wanted: ReadonlyMap<string, SetEntry>): Promise<void> {
    const gone = [...this.sets.values()].filter(({ set }) => !wanted.has(set.name));
    for (const isNested of [true, false]) {
      const policies = gone.filter(({ set }) => set.isNested === isNested).map(setPolicy);
      if (policies.length > 0) await modifyNetworkPolicies(this.options.client, network, "Remove", policies);
    }
    this.sets = wanted;
  }

  /** True when something was written. */
  private async program(endpoint: Guid, pod: string, policies: readonly NpmPolicy[]): Promise<boolean> {
    const before = this.programmed.get(endpoint);
    const isOther = before !== undefined && before.pod !== pod;
    if (isOther) await this.reset(endpoint);
    const own = before === undefined || isOther ? await this.begin(endpoint, pod) : before;
    const wanted = new Map(
      policies.filter(({ acls }) => acls !== undefined).map((policy) => [policy.stored.key, policy]),
    );
    const gone = [...own.policies].filter(([key, policy]) => wanted.get(key) !== policy).map(([key]) => key);
    for (const key of gone) {
      await this.remove(endpoint, own, key);
    }
    const fresh = [...wanted.values()].filter(({ stored }) => !own.policies.has(stored.key));
    for (const batch of this.batches(fresh)) {
      const acls = batch.flatMap((policy) => this.aclsOfPolicy(policy));
      await modifyEndpointPolicies(this.options.client, endpoint, "Add", acls.map(document));
      own.acls = [...own.acls, ...acls];
      for (const policy of batch) own.policies.set(policy.stored.key, policy);
    }
    return gone.length + fresh.length > 0;
  }

  private async begin(endpoint: Guid, pod: string): Promise<Programmed> {
    const base = this.options.network === "Calico" ? CALICO_BASE : [];
    if (base.length > 0)
      await modifyEndpointPolicies(this.options.client, endpoint, "Add", base.map(document));
    const begun: Programmed = { pod, policies: new Map(), acls: base };
    this.programmed.set(endpoint, begun);
    return begun;
  }

  private aclsOfPolicy({ stored, acls }: NpmPolicy): readonly WrittenAcl[] {
    return [...(acls ?? []), nodeAcl(stored, this.options.nodeAddress)];
  }

  /** At most thirty ACLs in a call, and those of a policy together. */
  private batches(policies: readonly NpmPolicy[]): readonly (readonly NpmPolicy[])[] {
    const batches: NpmPolicy[][] = [];
    let size = 0;
    for (const policy of policies) {
      const more = this.aclsOfPolicy(policy).length;
      const last = batches.at(-1);
      if (last !== undefined && size + more <= NPM.aclsPerCall) {
        last.push(policy);
        size += more;
      } else {
        batches.push([policy]);
        size = more;
      }
    }
    return batches;
  }

  /** HNS is read, and everything but the policy's ACLs written again, what is no ACL first. */
  private async remove(endpoint: Guid, own: Programmed, key: string): Promise<void> {
    const policy = own.policies.get(key);
    if (policy === undefined) return;
    const id = aclId(policy.stored);
    await this.keep(endpoint, (each) => each !== id);
    own.policies.delete(key);
    own.acls = own.acls.filter(({ acl }) => acl.Id !== id);
  }

  private async reset(endpoint: Guid): Promise<void> {
    await this.keep(endpoint, (id) => !id.startsWith("azure-acl"));
    this.programmed.delete(endpoint);
  }

  private async keep(endpoint: Guid, isKept: (id: string) => boolean): Promise<void> {
    const { client } = this.options;
    const { Policies = [] } = await getEndpointById(client, endpoint);
    const others = Policies.filter(({ Type }) => Type !== "ACL");
    const acls = Policies.filter(({ Type }) => Type === "ACL");
    const kept = acls.filter(({ Settings }) => {
      const id = (Settings as { readonly Id?: unknown } | undefined)?.Id;
      return isKept(textOf(id));
    });
    await modifyEndpointPolicies(client, endpoint, "Update", [...others, ...kept]);
  }
}

function document({ acl }: WrittenAcl): PolicyDocument {
  return { Type: "ACL", Settings: { ...acl } };
}
