/**
 * The twin of a node: the cluster that its Kubernetes objects describe, run here. A fault that was found is brought to a
 * copy of it, and a packet says what that breaks: it arrives without the fault, and does not with it.
 */
import { type Ip, familyOf, formatIp, formatPrefix } from "#core/net/ip.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { type Cluster, type ClusterNode, forkCluster } from "#cluster/cluster.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import { RequestError } from "#cluster/request-error.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { InputText } from "#cluster/session/session.ts";
import { type TraceRequest, tracePacket } from "#cluster/trace/trace.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  createEndpointOnly,
  createLoadBalancer,
  deleteLoadBalancer,
  listLoadBalancers,
  listNetworks,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import type { Proof, TwinChange, TwinFrontEnd } from "./check.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const NAMES: Readonly<Record<number, "tcp" | "udp">> = { 6: "tcp", 17: "udp" };

class NotDone extends Error {
  override readonly name = "NotDone";
}

function isUsable({ spec, status }: Pod, node: string | undefined): boolean {
  return (
    status?.phase === "Running" &&
    status.podIP !== undefined &&
    spec?.hostNetwork !== true &&
    spec?.nodeName === node
  );
}

function reference({ metadata }: Pod): string {
  return `pod/${metadata.namespace}/${metadata.name}`;
}

async function loadBalancersAt(client: HcnClient, { vip, port, protocol }: TwinFrontEnd) {
  const all = await listLoadBalancers(client);
  const found = all.filter(
    ({ FrontendVIPs = [], PortMappings = [] }) =>
      FrontendVIPs.includes(formatIp(vip)) &&
      PortMappings.some((each) => each.ExternalPort === port && each.Protocol === protocol),
  );
  if (found.length === 0) throw new NotDone(`the twin has no load balancer for ${formatIp(vip)}:${port}`);
  return found;
}

async function podNetwork(client: HcnClient) {
  const networks = await listNetworks(client);
  const network = networks.find(
    ({ Type }) => Type === "Overlay" || Type === "L2Bridge" || Type === "L2Tunnel",
  );
  if (network === undefined) throw new NotDone("the twin has no network for pods");
  return network;
}

async function addRemote(client: HcnClient, address: Ip, nodeAddress: string): Promise<string> {
  const network = await podNetwork(client);
  return createEndpointOnly(client, network.ID, {
    Name: "Ethernet",
    MacAddress: "02-11-22-33-44-55",
    Flags: ENDPOINT_FLAGS.RemoteEndpoint,
    IpConfigurations: [{ IpAddress: formatIp(address), PrefixLength: familyOf(address) === 4 ? 32 : 128 }],
    ...(network.Type === "Overlay" && {
      Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: nodeAddress } }],
    }),
  });
}

async function applyChange(node: ClusterNode, other: string, change: TwinChange): Promise<void> {
  const client = hcnClientOf(node);
  switch (change.change) {
    case "remove-load-balancer":
      for (const { ID } of await loadBalancersAt(client, change)) await deleteLoadBalancer(client, ID);
      return;
    case "stale-back-end": {
      const endpoint = await addRemote(client, change.address, other);
      for (const each of await loadBalancersAt(client, change)) {
        await deleteLoadBalancer(client, each.ID);
        await createLoadBalancer(client, { ...each, HostComputeEndpoints: [endpoint] });
      }
      return;
    }
    case "remove-remote-subnet-route": {
      const network = await podNetwork(client);
      const gone = (network.Policies ?? []).filter(
        ({ Type, Settings }) =>
          Type === "RemoteSubnetRoute" && Settings?.["DestinationPrefix"] === change.range,
      );
      if (gone.length === 0) throw new NotDone(`the twin has no route to ${change.range}`);
      await modifyNetworkPolicies(client, network.ID, "Remove", gone);
      return;
    }
    case "remote-endpoint":
      await addRemote(client, change.address, other);
  }
}

/** A twin that is up, or why there is none. */
export class Twin {
  private readonly cluster: Cluster;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  /** @returns the reason, where the objects make no cluster. */
  static async open(texts: readonly InputText[]): Promise<Twin | string> {
    if (texts.length === 0) return WORDS.twinWithoutObjects;
    const read = readInput(texts);
    if (!("input" in read)) return read.problems[0]?.message ?? WORDS.twinWithoutObjects;
    const { file, objects, limits } = read.input;
    if (limits.length > 0) return WORDS.twinNotJudged;
    try {
      const { session } = await openSession({ file, objects });
      return new Twin(session.cluster);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      return error.message;
    }
  }

  /** The packet that a change should break: from a pod of the node, where there is one. */
  private question(name: string, change: TwinChange): TraceRequest {
    const pods = this.cluster.objects.Pod;
    const here = pods.find((pod) => isUsable(pod, name));
    if ("vip" in change) {
      if (here === undefined) throw new NotDone(`no pod runs on ${name} to send a packet`);
      const protocol = NAMES[change.protocol] ?? "tcp";
      return { from: reference(here), to: formatIp(change.vip), protocol, port: change.port };
    }
    if (change.change === "remote-endpoint") {
      const target = pods.find((pod) => pod.status?.podIP === formatIp(change.address));
      const other = pods.find((pod) => isUsable(pod, pod.spec?.nodeName) && pod !== target);
      if (target === undefined || other === undefined)
        throw new NotDone(`no pod of the twin has ${formatIp(change.address)}`);
      return { from: reference(other), to: reference(target), protocol: "tcp", port: undefined };
    }
    const peer = this.cluster.nodes.find(({ spec }) => formatPrefix(spec.podCIDR) === change.range);
    const there = pods.find((pod) => isUsable(pod, peer?.spec.name));
    if (here === undefined || there === undefined)
      throw new NotDone(`no two pods run on ${name} and behind ${change.range}`);
    return { from: reference(here), to: reference(there), protocol: "tcp", port: undefined };
  }

  private ask(cluster: Cluster, question: TraceRequest): TraceReport {
    try {
      return tracePacket(cluster, question).report;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      throw new NotDone(error.message);
    }
  }

  /** What packets on a copy say about a fault of a node. */
  async prove(name: string, change: TwinChange): Promise<Proof> {
    try {
      const question = this.question(name, change);
      const flow = `${question.from} → ${question.to}${question.port === undefined ? "" : `:${question.port}`}`;
      const sound = this.ask(this.cluster, question);
      if (sound.verdict !== "answered")
        return { isProved: false, says: WORDS.twinFailsAnyway({ flow, summary: sound.summary }) };
      const copy = forkCluster(this.cluster);
      const node = copy.nodes.find(({ spec }) => spec.name === name);
      if (node === undefined) throw new NotDone(`the twin has no node ${name}`);
      const other = copy.nodes.find((each) => each !== node);
      await applyChange(node, other === undefined ? "" : formatIp(other.spec.address), change);
      const broken = this.ask(copy, question);
      if (broken.verdict === "answered") return { isProved: false, says: WORDS.twinStillWorks({ flow }) };
      return {
        isProved: true,
        says: WORDS.twinProves({ flow, summary: broken.summary }),
        ...(broken.code === undefined ? {} : { observed: broken.code }),
      };
    } catch (error) {
      if (error instanceof NotDone || error instanceof HcnError)
        return { isProved: false, says: error.message };
      throw error;
    }
  }
}
