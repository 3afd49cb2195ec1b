/**
 * Felix on a Windows node: it finds the endpoints of the network that it is told of by their addresses, and gives each the
 * ACLs of its pod, all anew when they differ (projectcalico/calico, felix/dataplane/windows/endpoint_mgr.go).
 */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { getHnsVersion, requestHns } from "#contracts/hcn/v1-operations.ts";
import { type JsonValue, isJsonObject } from "#core/base/json.ts";
import type { IndexedPod } from "../objects/pod-index.ts";
import {
  ATTACHED_STATES,
  type EngineFinding,
  type EngineReport,
  type PolicyEngine,
  type WrittenAcl,
} from "../policy-engine.ts";
import type { PolicyObjects } from "../policy-objects.ts";
import { type NetworkPattern, matchesNetwork } from "../network-pattern.ts";
import { type PolicySet, endpointAcls } from "./policy-set.ts";
import { policyEngines } from "#data/words.js";

const WORDS = policyEngines();

export interface FelixOptions {
  readonly client: HcnClient;
  readonly objects: PolicyObjects<PolicySet>;
  readonly network: NetworkPattern;
  /** IPv4 addresses of the node, without loopback. */
  readonly hostAddresses: () => readonly string[];
}

interface KnownEndpoint {
  readonly id: Guid;
  readonly network: string;
  readonly address: string;
}

/** What an endpoint was given, and what of. */
interface Applied {
  readonly pod: IndexedPod;
  readonly sets: readonly PolicySet[];
  readonly hosts: string;
  readonly acls: readonly WrittenAcl[];
}

/** A Host rule's priority where HNS asks for one (felix: `NewHostRule`). */
const OLD_HOST_PRIORITY = 100;

export class Felix implements PolicyEngine {
  readonly name = "calico";
  private readonly options: FelixOptions;
  private readonly applied = new Map<Guid, Applied>();
  private endpoints: readonly KnownEndpoint[] = [];
  private revision: number | undefined;
  private hostRulePriority: number | undefined;

  constructor(options: FelixOptions) {
    this.options = options;
  }

  async sync(): Promise<EngineReport> {
    const findings: EngineFinding[] = [];
    const written: Guid[] = [];
    await this.readEndpoints();
    const { objects, hostAddresses } = this.options;
    const hosts = hostAddresses().toSorted();
    const byAddress = new Map([...objects.pods.pods()].map((pod) => [pod.address, pod]));
    const found = new Set(this.endpoints.map(({ id }) => id));
    for (const id of this.applied.keys()) if (!found.has(id)) this.applied.delete(id);
    const said = new Set<PolicySet>();
    for (const endpoint of this.endpoints) {
      const pod = byAddress.get(endpoint.address);
      if (pod === undefined) continue;
      const sets = objects.policies.of(pod.key);
      for (const set of sets) {
        if (said.has(set)) continue;
        said.add(set);
        findings.push(...set.findings);
      }
      const finding = await this.program(endpoint.id, pod, sets, hosts, written);
      if (finding !== undefined) findings.push(finding);
    }
    // What it has written itself is no reason to read again.
    this.revision = this.options.client.revision;
    return { networks: [...new Set(this.endpoints.map(({ network }) => network))], written, findings };
  }

  listAcls(): Readonly<Record<Guid, readonly WrittenAcl[]>> {
    return Object.fromEntries([...this.applied].map(([id, { acls }]) => [id, acls]));
  }

  private async program(
    id: Guid,
    pod: IndexedPod,
    sets: readonly PolicySet[],
    hosts: readonly string[],
    written: Guid[],
  ): Promise<EngineFinding | undefined> {
    const before = this.applied.get(id);
    const hostText = hosts.join(",");
    if (before?.sets === sets && before.pod === pod && before.hosts === hostText) return undefined;
    const acls = endpointAcls(pod.namespace, sets, {
      hosts: hosts.map((address) => `${address}/32`),
      hostRulePriority: await this.priorityOfHostRules(),
    });
    const next: Applied = { pod, sets, hosts: hostText, acls };
    if (before !== undefined && isSame(before.acls, acls)) {
      this.applied.set(id, next);
      return undefined;
    }
    try {
      await this.apply(id, acls);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      this.applied.delete(id);
      const message = WORDS.engineRefused({ pod: pod.key, detail: error.message });
      return { code: "policy-engine-refused", message };
    }
    this.applied.set(id, next);
    written.push(id);
    return undefined;
  }

  /**
   * `ApplyACLPolicy` posts the ACLs. Inferred: policies of other types stay, as they do on nodes with Calico, whose pods go on
   * being translated (hcn.md §3.5); here the list is read and written whole.
   */
  private async apply(id: Guid, acls: readonly WrittenAcl[]): Promise<void> {
    const path = `/endpoints/${id}`;
    const document = await requestHns(this.options.client, "GET", path);
    const policies = isJsonObject(document) ? document["Policies"] : [];
    const others = listOf(policies).filter((policy) => !isJsonObject(policy) || policy["Type"] !== "ACL");
    const own = acls.map(({ acl }) => ({ Type: "ACL", ...acl }));
    await requestHns(this.options.client, "POST", path, { ID: id, Policies: [...others, ...own] });
  }

  private async readEndpoints(): Promise<void> {
    const { client, network } = this.options;
    if (client.revision !== undefined && client.revision === this.revision) return;
    const list = await requestHns(client, "GET", "/endpoints/");
    const found: KnownEndpoint[] = [];
    for (const each of listOf(list)) {
      if (!isJsonObject(each) || each["IsRemoteEndpoint"] === true) continue;
      const { ID: id, VirtualNetworkName: name, IPAddress: address, State: state } = each;
      if (typeof id !== "string" || typeof name !== "string" || typeof address !== "string") continue;
      if (!matchesNetwork(network, name)) continue;
      if (typeof state !== "number" || !ATTACHED_STATES.includes(state)) continue;
      found.push({ id, network: name, address });
    }
    this.endpoints = found;
    this.revision = client.revision;
  }

  private async priorityOfHostRules(): Promise<number> {
    if (this.hostRulePriority !== undefined) return this.hostRulePriority;
    const version = await getHnsVersion(this.options.client);
    this.hostRulePriority = hasFeature(version, "AclHostRulePriority") ? 0 : OLD_HOST_PRIORITY;
    return this.hostRulePriority;
  }
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function isSame(a: readonly WrittenAcl[], b: readonly WrittenAcl[]): boolean {
  return JSON.stringify(a.map(({ acl }) => acl)) === JSON.stringify(b.map(({ acl }) => acl));
}
