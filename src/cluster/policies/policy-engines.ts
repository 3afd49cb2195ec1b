/** The engines of NetworkPolicies of all Windows nodes, each beside its node's HNS. */
import { Felix } from "#programs/policy/calico/felix.ts";
import { Npm, NPM_NETWORKS, type NpmNetwork } from "#programs/policy/azure-npm/npm.ts";
import { defined } from "#core/base/assert.ts";
import { formatIp, parseIpv4 } from "#core/net/ip.ts";
import type { EngineFinding, PolicyEngine, WrittenAcl } from "#programs/policy/policy-engine.ts";
import { CALICO_NETWORK_DEFAULT, parseNetworkPattern } from "#programs/policy/network-pattern.ts";
import { NpmObjects, calicoObjects } from "#programs/policy/policy-objects.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import type { ClusterObjects } from "../cluster-objects.ts";
import { HcnError, HcnNotFoundError } from "#contracts/hcn/error.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { ENGINE_TITLES, type Enforcement, type NodeEnforcement } from "./enforcement.ts";
import { policyEngines } from "#data/words.js";

const WORDS = policyEngines();

/** Engines that share what they read of the objects. */
interface Fleet {
  readonly update: (objects: ClusterObjects) => void;
  readonly engineOf: (node: ClusterNode) => PolicyEngine;
}

/** Addresses of all interfaces, as felix asks for them; those without a way out are in it, too. */
function hostAddresses({ host }: ClusterNode): readonly string[] {
  const addresses = host.root.listInterfaces().flatMap((each) => each.addresses);
  return [...new Set(addresses.map(({ ip }) => formatIp(ip)))].filter(
    (text) => parseIpv4(text) !== undefined && !text.startsWith("127."),
  );
}

function calicoFleet(pattern: string): Fleet {
  const objects = calicoObjects();
  const network = defined(parseNetworkPattern(pattern), "the cluster file's pattern was read before");
  return {
    update: ({ Pod, Namespace, NetworkPolicy }) =>
      objects.update({ pods: Pod, namespaces: Namespace, policies: NetworkPolicy }),
    engineOf: (node) =>
      new Felix({
        client: hcnClientOf(node),
        objects,
        network,
        hostAddresses: () => hostAddresses(node),
      }),
  };
}

function npmFleet(name: NpmNetwork): Fleet {
  const objects = NpmObjects.create();
  return {
    update: ({ Pod, Namespace, NetworkPolicy }) =>
      objects.update({ pods: Pod, namespaces: Namespace, policies: NetworkPolicy }),
    engineOf: (node) =>
      new Npm({
        client: hcnClientOf(node),
        objects,
        network: name,
        nodeAddress: formatIp(node.spec.address),
      }),
  };
}

export class PolicyEngines {
  private readonly cluster: Cluster;
  private readonly fleet: Fleet | undefined;
  private readonly engines = new Map<string, PolicyEngine>();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    const { engine, network } = cluster.file.policy;
    if (engine === "calico") this.fleet = calicoFleet(network ?? CALICO_NETWORK_DEFAULT);
    if (engine === "azure-npm")
      this.fleet = npmFleet(NPM_NETWORKS.find((name) => name === network) ?? NPM_NETWORKS[0]);
  }

  /** True where machines have to be up for engines to work on them. */
  get runs(): boolean {
    return this.fleet !== undefined;
  }

  /** Lets the engines of all nodes that are up follow the objects. */
  async sync(objects: ClusterObjects, isUp: (node: string) => boolean): Promise<void> {
    const { engine } = this.cluster.file.policy;
    if (engine === undefined) return;
    this.fleet?.update(objects);
    const nodes: Record<string, NodeEnforcement> = {};
    for (const node of this.cluster.nodes) {
      const { name } = node.spec;
      if (node.hns === undefined) continue;
      nodes[name] = isUp(name) ? await this.syncOn(node) : NOTHING;
    }
    const enforcement: Enforcement = Object.freeze({ engine, nodes });
    this.cluster.enforcement = enforcement;
  }

  private async syncOn(node: ClusterNode): Promise<NodeEnforcement> {
    const { name } = node.spec;
    const engine = this.engines.get(name) ?? this.fleet?.engineOf(node);
    if (engine === undefined) return NOTHING;
    this.engines.set(name, engine);
    try {
      const { networks, findings } = await engine.sync();
      return { networks, findings, acls: engine.listAcls() };
    } catch (error) {
      // HNS refuses (a fault of the node): what stood stands, and the next change lets the engine try again.
      if (!(error instanceof HcnError || error instanceof HcnNotFoundError)) throw error;
      const { networks, acls } = this.cluster.enforcement?.nodes[name] ?? NOTHING;
      const message = WORDS.engineCannotAsk({ engine: ENGINE_TITLES[engine.name], detail: error.message });
      return { networks, acls, findings: [{ code: "policy-engine-refused", message }] };
    }
  }
}

const NO_FINDINGS: readonly EngineFinding[] = Object.freeze([]);
const NO_ACLS: Readonly<Record<string, readonly WrittenAcl[]>> = Object.freeze({});
const NOTHING: NodeEnforcement = Object.freeze({ networks: [], findings: NO_FINDINGS, acls: NO_ACLS });
