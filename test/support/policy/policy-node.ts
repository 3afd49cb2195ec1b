/** A Windows node with pods on one HNS network, for engines of NetworkPolicies. */
import { containerDocument, requireComputeSystems } from "#contracts/hcn/compute-systems.ts";
import type { AclPolicySetting } from "#contracts/hcn/documents/acl-policy.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  getEndpointById,
  getNetworkByName,
} from "#contracts/hcn/operations.ts";
import type { Labels } from "#contracts/kubernetes/labels.ts";
import type { Namespace, NetworkPolicy, Pod } from "#contracts/kubernetes/objects.ts";
import { CALICO_NETWORK_DEFAULT, parseNetworkPattern } from "#programs/policy/network-pattern.ts";
import { Felix } from "#programs/policy/calico/felix.ts";
import { Npm, type NpmNetwork } from "#programs/policy/azure-npm/npm.ts";
import type { PolicyEngine } from "#programs/policy/policy-engine.ts";
import { type PolicyInput, NpmObjects, calicoObjects } from "#programs/policy/policy-objects.ts";
import { CBR0, type HnsNode, type HnsNodeOptions, hnsNode } from "#test/support/hns/hns-node.ts";

export const NODE_ADDRESS = "10.0.2.15";

const OUTBOUND_NAT = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } };

export function policy(name: string, spec: object, inNamespace = "default"): NetworkPolicy {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace: inNamespace },
    spec: { podSelector: {}, ...spec },
  } as NetworkPolicy;
}

export function pod(name: string, podIP: string, labels: Labels = {}, inNamespace = "default"): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: inNamespace, labels },
    spec: { containers: [] },
    status: { phase: "Running", podIP },
  } as unknown as Pod;
}

export function namespace(name: string, labels: Labels = {}): Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } } as unknown as Namespace;
}

/** What the API has; the namespaces of its pods and policies, where none are given. */
export function input(
  policies: readonly NetworkPolicy[],
  pods: readonly Pod[],
  namespaces?: readonly Namespace[],
): PolicyInput {
  const names = new Set([...policies, ...pods].map(({ metadata }) => metadata.namespace));
  return { policies, pods, namespaces: namespaces ?? [...names].map((name) => namespace(name)) };
}

export class PolicyNode {
  readonly hns: HnsNode;
  readonly endpoints: Map<string, string> = new Map();
  private readonly networkName: string;
  private network = "";

  private constructor(networkName: string, options: HnsNodeOptions) {
    this.networkName = networkName;
    this.hns = hnsNode({ profile: "ws2022", ...options });
  }

  static async create(networkName: string, options: HnsNodeOptions = {}): Promise<PolicyNode> {
    const node = new PolicyNode(networkName, options);
    await node.addNetwork();
    return node;
  }

  /** A node whose HNS has no network yet. */
  static bare(networkName: string, options: HnsNodeOptions = {}): PolicyNode {
    return new PolicyNode(networkName, options);
  }

  async addNetwork(): Promise<void> {
    const { client } = this.hns;
    this.network = (await createNetwork(client, { ...CBR0, Name: this.networkName })).ID;
  }

  /** `isRunning`: a container has the endpoint. */
  async addPod(address: string, isRunning = true): Promise<void> {
    const { client } = this.hns;
    const { ID } = await createEndpoint(client, this.network, {
      IpConfigurations: [{ IpAddress: address, PrefixLength: 24 }],
      Policies: [OUTBOUND_NAT],
    });
    this.endpoints.set(address, ID);
    const { ID: sandbox } = await createNamespace(client);
    await addNamespaceEndpoint(client, sandbox, ID);
    if (!isRunning) return;
    await requireComputeSystems(client).create(`c-${address}`, containerDocument(sandbox));
  }

  felix(
    given: PolicyInput,
    kubeNetwork: string = CALICO_NETWORK_DEFAULT,
  ): { readonly engine: PolicyEngine; readonly update: (next: PolicyInput) => void } {
    const objects = calicoObjects();
    objects.update(given);
    const network = parseNetworkPattern(kubeNetwork);
    if (network === undefined) throw new Error(`${kubeNetwork} is not a pattern`);
    const { client } = this.hns;
    const engine = new Felix({ client, objects, network, hostAddresses: () => [NODE_ADDRESS] });
    return { engine, update: (next) => objects.update(next) };
  }

  npm(
    given: PolicyInput,
    network: NpmNetwork = "azure",
  ): { readonly engine: Npm; readonly update: (next: PolicyInput) => void } {
    const objects = NpmObjects.create();
    objects.update(given);
    const { client } = this.hns;
    const engine = new Npm({ client, objects, network, nodeAddress: NODE_ADDRESS });
    return { engine, update: (next) => objects.update(next) };
  }

  /** The ACLs of a pod's endpoint as HNS has them. */
  async acls(address: string): Promise<readonly AclPolicySetting[]> {
    const { Policies = [] } = await getEndpointById(this.hns.client, this.endpoints.get(address) ?? "");
    return Policies.filter(({ Type }) => Type === "ACL").map(
      ({ Settings }) => Settings as unknown as AclPolicySetting,
    );
  }

  /** `In 1000 Allow 6 80 from 10.244.2.11/32`, for rules of VFP. */
  async rules(address: string): Promise<readonly string[]> {
    return (await this.acls(address)).filter(({ RuleType }) => RuleType !== "Host").map(ruleText);
  }

  async otherPolicies(address: string): Promise<readonly string[]> {
    const { Policies = [] } = await getEndpointById(this.hns.client, this.endpoints.get(address) ?? "");
    return Policies.filter(({ Type }) => Type !== "ACL").map(({ Type }) => Type);
  }

  /** Values of the network's sets, by name. */
  async sets(): Promise<ReadonlyMap<string, { readonly id: string; readonly values: string }>> {
    const { Policies = [] } = await getNetworkByName(this.hns.client, this.networkName);
    return new Map(
      Policies.filter(({ Type }) => Type === "SetPolicy").map(({ Settings }) => {
        const { Id = "", Name = "", Values = "" } = Settings as Record<string, string>;
        return [Name, { id: Id, values: Values }];
      }),
    );
  }
}

function ruleText(acl: AclPolicySetting): string {
  const parts = [
    acl.Direction,
    String(acl.Priority ?? 0),
    acl.Action,
    acl.Protocols ?? "any",
    ...(acl.LocalPorts === undefined ? [] : [`local ports ${acl.LocalPorts}`]),
    ...(acl.RemotePorts === undefined ? [] : [`remote ports ${acl.RemotePorts}`]),
    ...(acl.LocalAddresses === undefined ? [] : [`local ${acl.LocalAddresses}`]),
    ...(acl.RemoteAddresses === undefined ? [] : [`remote ${acl.RemoteAddresses}`]),
  ];
  return parts.join(" ");
}
