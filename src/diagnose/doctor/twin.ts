/**
 * The twin of a node: the cluster that its Kubernetes objects describe, run here. A fault that was found is brought to a
 * copy of it, and a packet says what that breaks: it arrives without the fault, and does not with it.
 */
import { type Ip, familyOf, formatIp, formatPrefix } from "#core/net/ip.ts";
import { configureNames } from "#cluster/exec/windows/change-names.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { type Cluster, type ClusterNode, forkCluster } from "#cluster/cluster.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import { RequestError } from "#cluster/request-error.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { type TraceRequest, tracePacket } from "#cluster/trace/trace.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import {
  createEndpointOnly,
  createLoadBalancer,
  deleteEndpoint,
  deleteLoadBalancer,
  listEndpoints,
  listLoadBalancers,
  listNetworks,
  modifyEndpointPolicies,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { type KnownFile, loaderOf } from "#control-plane/load/known-manifests.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import type { Proof, TwinChange, TwinFrontEnd } from "./check.ts";
import { isDnsService } from "./checks/front-ends.ts";
import { type AclChange, askFor, findPeer, replaceAcls } from "./twin-acls.ts";
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

function nameOf({ namespace, name }: Pick<Pod["metadata"], "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

function reference({ metadata }: Pod): string {
  return `pod/${nameOf(metadata)}`;
}

/** By what a pod can be asked: a port that it serves, else an echo. */
function askable({ spec }: Pod): Pick<TraceRequest, "protocol" | "port"> {
  const [port] = (spec?.containers ?? []).flatMap(({ ports = [] }) => ports);
  if (port === undefined) return { protocol: "icmp", port: undefined };
  return { protocol: port.protocol === "UDP" ? "udp" : "tcp", port: port.containerPort };
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

async function endpointAt(
  client: HcnClient,
  address: Ip,
): Promise<Awaited<ReturnType<typeof listEndpoints>>[number]> {
  const text = formatIp(address);
  const all = await listEndpoints(client);
  const found = all.find(
    ({ Flags = 0, IpConfigurations = [] }) =>
      (Flags & ENDPOINT_FLAGS.RemoteEndpoint) === 0 &&
      IpConfigurations.some(({ IpAddress }) => IpAddress === text),
  );
  if (found === undefined) throw new NotDone(`the twin has no endpoint with ${text}`);
  return found;
}

/** The interface of the pod that has an address. */
function interfaceWith(node: ClusterNode, address: Ip): Interface {
  const found = node.host
    .listCompartments()
    .flatMap((compartment) => compartment.listInterfaces())
    .find(({ addresses }) => addresses.some(({ ip }) => ip === address));
  if (found === undefined) throw new NotDone(`no pod of the twin has ${formatIp(address)}`);
  return found;
}

/** Takes the route to a range of pods away, or puts one with other settings in its place. */
async function changeRoute(client: HcnClient, range: string, settings?: JsonObject): Promise<void> {
  const network = await podNetwork(client);
  const [route] = (network.Policies ?? []).filter(
    ({ Type, Settings }) => Type === "RemoteSubnetRoute" && Settings?.["DestinationPrefix"] === range,
  );
  if (route === undefined) throw new NotDone(`the twin has no route to ${range}`);
  await modifyNetworkPolicies(client, network.ID, "Remove", [route]);
  if (settings !== undefined)
    await modifyNetworkPolicies(client, network.ID, "Add", [
      { ...route, Settings: { ...route.Settings, ...settings } },
    ]);
}

async function applyChange(
  node: ClusterNode,
  other: string,
  change: Exclude<TwinChange, AclChange>,
): Promise<void> {
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
    case "remove-remote-subnet-route":
      return changeRoute(client, change.range);
    case "wrong-remote-subnet-route":
      return changeRoute(client, change.range, change.settings);
    case "remote-endpoint":
      await addRemote(client, change.address, other);
      return;
    case "remove-endpoint":
      return deleteEndpoint(client, (await endpointAt(client, change.address)).ID);
    case "other-names": {
      const { servers, search } = change;
      const changes = { ...(servers !== undefined && { servers }), ...(search !== undefined && { search }) };
      configureNames(interfaceWith(node, change.address), changes);
      return;
    }
    case "remove-outbound-nat": {
      const { ID, Policies = [] } = await endpointAt(client, change.address);
      const gone = Policies.filter(({ Type }) => Type === "OutBoundNAT");
      if (gone.length === 0) throw new NotDone(`the twin does not translate ${formatIp(change.address)}`);
      await modifyEndpointPolicies(client, ID, "Remove", gone);
      return;
    }
    case "wrong-exceptions": {
      const { ID, Policies = [] } = await endpointAt(client, change.address);
      const own = Policies.filter(({ Type }) => Type === "OutBoundNAT");
      if (own.length === 0) throw new NotDone(`the twin does not translate ${formatIp(change.address)}`);
      await modifyEndpointPolicies(client, ID, "Remove", own);
      await modifyEndpointPolicies(
        client,
        ID,
        "Add",
        own.map((each) => ({ ...each, Settings: { ...each.Settings, Exceptions: [...change.exceptions] } })),
      );
    }
  }
}

/** Clusters with more Services have a twin with some of them: each is programmed on each node. */
const SERVICES_MAX = 200;
/** And those with more pods: each is attached to a network by its plugin. */
const PODS_MAX = 500;
/** So many pods of each node send and receive what proves a fault. */
const PODS_OF_NODE = 3;

/** Of many Services those that changes are about; what serves an address does not depend on the others. */
function concerned(
  objects: readonly LoadedObject[],
  changes: readonly TwinChange[],
): readonly LoadedObject[] {
  if (objects.filter(({ object }) => object.kind === "Service").length <= SERVICES_MAX) return objects;
  const vips = new Set(changes.flatMap((change) => ("vip" in change ? formatIp(change.vip) : [])));
  const kept = new Set(
    objects.flatMap(({ object }) => {
      if (object.kind !== "Service") return [];
      const { clusterIP = "", clusterIPs = [clusterIP] } = object.spec ?? {};
      return clusterIPs.some((vip) => vips.has(vip)) ? [nameOf(object.metadata)] : [];
    }),
  );
  return objects.filter(({ object }) => {
    const { metadata } = object;
    if (object.kind === "Service") return kept.has(nameOf(metadata)) || isDnsService(metadata);
    if (object.kind !== "EndpointSlice") return true;
    const service = { ...metadata, name: metadata.labels?.[SERVICE_NAME_LABEL] ?? "" };
    return kept.has(nameOf(service)) || isDnsService(service);
  });
}

/** Ports of translation are given out as they come: whom a receiver saw is the address. */
function senderIn(answer: string): string {
  return answer.replace(/:\d{1,5}$/u, "");
}

function flowOf({ from, to, port }: TraceRequest): string {
  return `${from} → ${to}${port === undefined ? "" : `:${port}`}`;
}

function nodeNamed({ nodes }: Cluster, name: string): ClusterNode {
  const found = nodes.find(({ spec }) => spec.name === name);
  if (found === undefined) throw new NotDone(`the twin has no node ${name}`);
  return found;
}

/** True where the receiver's stack had the packet, whether something listens there or not. */
function arrives({ verdict }: TraceReport): boolean {
  return verdict === "answered" || verdict === "refused";
}

/** A packet that arrives in spite of a fault shows it where the receiver sees another sender. */
function answeredBoth(flow: string, { answer: before }: TraceReport, { answer: after }: TraceReport): Proof {
  if (before === undefined || after === undefined || senderIn(before) === senderIn(after))
    return { isProved: false, says: WORDS.twinStillWorks({ flow }) };
  return { isProved: true, says: WORDS.twinSeenDifferently({ flow, before, after }) };
}

function addressesIn(change: TwinChange): readonly Ip[] {
  const { address, peer, from } = { address: undefined, peer: undefined, from: undefined, ...change };
  return [address, peer, from].flatMap((each) => each ?? []);
}

/** What makes pods: those that are left out would be made anew. */
const MAKERS: readonly string[] = [
  "CronJob",
  "DaemonSet",
  "Deployment",
  "Job",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
];

/** Of many pods those that changes and kept slices name, and a few of each node. */
function withFewPods(
  objects: readonly LoadedObject[],
  changes: readonly TwinChange[],
): readonly LoadedObject[] {
  if (objects.filter(({ object }) => object.kind === "Pod").length <= PODS_MAX) return objects;
  const named = new Set(changes.flatMap(addressesIn).map(formatIp));
  for (const { object } of objects)
    if (object.kind === "EndpointSlice")
      for (const { addresses } of object.endpoints ?? []) for (const each of addresses) named.add(each);
  const kept = new Map<string | undefined, number>();
  return objects.filter(({ object }) => {
    if (object.kind !== "Pod") return !MAKERS.includes(object.kind);
    if (named.has(object.status?.podIP ?? "")) return true;
    const node = object.spec?.nodeName;
    const count = kept.get(node) ?? 0;
    if (count >= PODS_OF_NODE || !isUsable(object, node)) return false;
    kept.set(node, count + 1);
    return true;
  });
}

export class Twin {
  private readonly cluster: Cluster;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  /**
   * @param changes what will be brought to it
   * @returns the reason, where the objects make no cluster.
   */
  static async open(files: readonly KnownFile[], changes: readonly TwinChange[]): Promise<Twin | string> {
    if (files.length === 0) return WORDS.twinWithoutObjects;
    const texts = files.map(({ name, text }) => ({ name, text }));
    const read = readInput(texts, {}, loaderOf(files));
    if (!("input" in read)) return read.problems[0]?.message ?? WORDS.twinWithoutObjects;
    const { file, objects, limits } = read.input;
    if (limits.length > 0) return WORDS.twinNotJudged;
    try {
      const { session } = await openSession({
        file,
        objects: withFewPods(concerned(objects, changes), changes),
      });
      return new Twin(session.cluster);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      return error.message;
    }
  }

  private podAt(address: Ip): Pod {
    const pod = this.cluster.objects.Pod.find(({ status }) => status?.podIP === formatIp(address));
    if (pod === undefined) throw new NotDone(`no pod of the twin has ${formatIp(address)}`);
    return pod;
  }

  /** From another pod to the one of this address. */
  private towards(address: Ip): TraceRequest {
    const target = this.podAt(address);
    const other = this.cluster.objects.Pod.find((pod) => isUsable(pod, pod.spec?.nodeName) && pod !== target);
    if (other === undefined) throw new NotDone("no other pod of the twin runs");
    return { from: reference(other), to: reference(target), ...askable(target) };
  }

  /** A pod looks for a Service by the name that its suffixes complete, where its namespace has one. */
  private lookupBy(address: Ip): TraceRequest {
    const pod = this.podAt(address);
    const { Service: services } = this.cluster.objects;
    const beside = services.find(({ metadata: { namespace } }) => namespace === pod.metadata.namespace);
    const name = beside?.metadata.name ?? `kubernetes.default.svc.${this.cluster.file.dns.domain}`;
    return { from: reference(pod), to: `name/${name}`, protocol: "dns", port: undefined };
  }

  /** Between the pod of an endpoint and a peer of an ACL. */
  private aclQuestion({ address, aim }: AclChange): TraceRequest {
    const own = this.podAt(address);
    const others = this.cluster.objects.Pod.filter((pod) => isUsable(pod, pod.spec?.nodeName) && pod !== own);
    const peer = findPeer(others, aim);
    if (peer === undefined) throw new NotDone(WORDS.twinWithoutPeer);
    const [from, to] = aim.isInbound ? [peer, own] : [own, peer];
    return { from: reference(from), to: reference(to), ...askFor(aim, to, askable(to)) };
  }

  /** What a packet meets with these ACLs at the endpoint. */
  private async withAcls(
    name: string,
    { address }: AclChange,
    acls: AclChange["stated"],
  ): Promise<(question: TraceRequest) => TraceReport> {
    const copy = forkCluster(this.cluster);
    const client = hcnClientOf(nodeNamed(copy, name));
    await replaceAcls(client, await endpointAt(client, address), acls);
    return (question) => this.ask(copy, question);
  }

  /** Proved by a packet that fares one way by the ACLs of HNS and another by the rules of VFP. */
  private async proveAcls(name: string, change: AclChange): Promise<Proof> {
    const question = this.aclQuestion(change);
    const flow = flowOf(question);
    const stated = (await this.withAcls(name, change, change.stated))(question);
    const programmed = (await this.withAcls(name, change, change.programmed))(question);
    const before = arrives(stated) ? "arrives" : "does not arrive";
    const after = arrives(programmed) ? "arrives" : "does not arrive";
    if (before === after) return { isProved: false, says: WORDS.twinAclsAlike({ flow, before }) };
    const { code } = arrives(stated) ? programmed : stated;
    return {
      isProved: true,
      says: WORDS.twinAcls({ flow, before, after }),
      ...(code === undefined ? {} : { observed: code }),
    };
  }

  /** The packet that a change should break: from a pod of the node, where there is one. */
  private question(name: string, change: Exclude<TwinChange, AclChange>): TraceRequest {
    const pods = this.cluster.objects.Pod;
    const here = pods.find((pod) => isUsable(pod, name));
    if (change.change === "remote-endpoint" || change.change === "remove-endpoint")
      return this.towards(change.address);
    if (change.change === "remove-outbound-nat") {
      const [outside] = this.cluster.file.outside;
      if (outside === undefined) throw new NotDone("the twin has no host outside of the cluster");
      return {
        from: reference(this.podAt(change.address)),
        to: outside.name,
        protocol: "tcp",
        port: undefined,
      };
    }
    if (change.change === "other-names") return this.lookupBy(change.address);
    if (change.change === "wrong-exceptions") {
      const target = this.podAt(change.peer);
      return { from: reference(this.podAt(change.address)), to: reference(target), ...askable(target) };
    }
    if ("vip" in change) {
      const own = change.change === "remove-load-balancer" ? change.from : undefined;
      const sender = own === undefined ? here : this.podAt(own);
      if (sender === undefined) throw new NotDone(`no pod runs on ${name} to send a packet`);
      const protocol = NAMES[change.protocol] ?? "tcp";
      return { from: reference(sender), to: formatIp(change.vip), protocol, port: change.port };
    }
    const peer = this.cluster.nodes.find(({ spec }) => formatPrefix(spec.podCIDR) === change.range);
    const there = pods.find((pod) => isUsable(pod, peer?.spec.name));
    if (here === undefined || there === undefined)
      throw new NotDone(`no two pods run on ${name} and behind ${change.range}`);
    return { from: reference(here), to: reference(there), ...askable(there) };
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
      if (change.change === "other-acls") return await this.proveAcls(name, change);
      const question = this.question(name, change);
      const flow = flowOf(question);
      const sound = this.ask(this.cluster, question);
      if (sound.verdict !== "answered")
        return { isProved: false, says: WORDS.twinFailsAnyway({ flow, summary: sound.summary }) };
      const copy = forkCluster(this.cluster);
      const node = nodeNamed(copy, name);
      const other = copy.nodes.find((each) => each !== node);
      await applyChange(node, other === undefined ? "" : formatIp(other.spec.address), change);
      const broken = this.ask(copy, question);
      if (broken.verdict === "answered") return answeredBoth(flow, sound, broken);
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
