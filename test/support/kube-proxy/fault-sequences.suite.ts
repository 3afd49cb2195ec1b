/**
 * Random changes of Services, slices and nodes on a node whose HNS fails, forgets and restarts, before a kube-proxy in
 * `hardened` mode: when all is quiet, HNS holds what it holds on a node where nothing ever failed.
 */
import { expect } from "vitest";
import { assert, defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import {
  createEndpoint,
  createNetwork,
  deleteEndpoint,
  deleteLoadBalancer,
  listEndpoints,
  listLoadBalancers,
} from "#contracts/hcn/operations.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import { CBR0, type HnsNode, hnsNode } from "../hns/hns-node.ts";
import { type EndpointSketch, NODE_NAME, NODE_PORT, service, slice } from "./kube-proxy-node.ts";
import { formatLoadBalancer } from "./load-balancer-notation.ts";
import { UnreliableHcnClient } from "../hns/unreliable-hcn-client.ts";
import { attempt } from "#programs/kube-proxy/load-balancers/hns-failure.ts";
import { type KubeProxy, ProxyObjects, createKubeProxy } from "#programs/kube-proxy/mod.ts";

const NAMES = ["a", "b", "c", "d"] as const;
const LOCALS = ["10.244.2.10", "10.244.2.11", "10.244.2.12"] as const;
const REMOTES = ["10.244.3.5", "10.244.3.6", "10.244.4.5", "10.244.4.6"] as const;
const STATES = ["ready", "ready", "ready", "unready", "serving", "terminating"] as const;
const PROFILES = ["ws2019", "ws2022", "ws2025"] as const;
const MINORS = [22, 26, 28, 31, 34, 36, 37] as const;
const SOURCE_VIP = "10.244.2.3";
const NODE_IP = "10.0.2.15";
/** Longer than any back-off. */
const PATIENCE_MS = 120_000;
/** Rounds in which everything has to come to rest. */
const QUIET_ROUNDS = 8;

const OVERLAY: HostComputeNetwork = {
  ...CBR0,
  Type: "Overlay",
  Policies: [
    { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
    ...["3", "4"].map((third) => ({
      Type: "RemoteSubnetRoute",
      Settings: {
        DestinationPrefix: `10.244.${third}.0/24`,
        IsolationId: 4096,
        ProviderAddress: `10.0.2.1${third}`,
        DistributedRouterMacAddress: `00-15-5D-00-00-0${third}`,
      },
    })),
  ],
  Ipams: [
    {
      ...CBR0.Ipams[0],
      Subnets: [
        { ...CBR0.Ipams[0].Subnets[0], Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }] },
      ],
    },
  ],
};

interface Case {
  readonly profile: string;
  readonly minor: number;
  readonly isOverlay: boolean;
  readonly enableDSR: boolean;
}

function pick<T>(prng: Prng, list: readonly T[]): T {
  return defined(list[prng.below(list.length)], "a list with something in it");
}

function randomCase(prng: Prng): Case {
  return {
    profile: pick(prng, PROFILES),
    minor: pick(prng, MINORS),
    isOverlay: prng.below(3) === 0,
    enableDSR: prng.below(2) === 0,
  };
}

function randomService(prng: Prng, index: number): Service {
  const policy = (): string => pick(prng, ["Cluster", "Cluster", "Local"]);
  return service({
    name: NAMES[index] ?? "",
    spec: {
      type: "LoadBalancer",
      clusterIP: `10.96.0.${50 + index}`,
      ports: [
        {
          ...defined(NODE_PORT[0], "a port"),
          port: pick(prng, [80, 81]),
          nodePort: prng.below(2) === 0 ? 0 : 30_001 + index,
        },
      ],
      externalTrafficPolicy: policy(),
      internalTrafficPolicy: policy(),
      sessionAffinity: pick(prng, ["None", "ClientIP"]),
      // Two Services may ask for the same address and port.
      externalIPs: pick(prng, [[], [], [`50.60.70.${80 + index}`]]),
    },
    ingress: pick(prng, [[], [{ ip: `11.21.31.${50 + index}` }]]),
    annotations: pick(prng, [{}, {}, { "preserve-destination": "true" }]),
  });
}

function randomSlice(prng: Prng, index: number): EndpointSlice {
  const endpoints = [...LOCALS, ...REMOTES]
    .filter(() => prng.below(2) === 0)
    .map(
      (address): EndpointSketch => ({
        at: { address, node: address.startsWith("10.244.2.") ? NODE_NAME : `node-${address.slice(7, 8)}` },
        is: pick(prng, STATES),
      }),
    );
  return slice(endpoints, { of: NAMES[index] ?? "" });
}

/** One node: its HNS, what Kubernetes knows, and the kube-proxy between. */
class World {
  readonly node: HnsNode;
  readonly client: UnreliableHcnClient;
  readonly services: Map<string, Service> = new Map();
  readonly slices: Map<string, EndpointSlice> = new Map();
  objects: ProxyObjects = new ProxyObjects();
  nowMs = 0;
  repairs = 0;
  readonly locals: Map<string, Guid> = new Map();
  private readonly about: Case;
  private network: Guid = "";
  private proxy: KubeProxy;

  constructor(about: Case, prng: Prng) {
    this.about = about;
    this.node = hnsNode({ profile: about.profile });
    this.client = new UnreliableHcnClient(this.node.client, prng);
    this.proxy = this.newProxy();
  }

  /** The HNS itself, without faults. */
  get hns(): HcnClient {
    return this.node.client;
  }

  async begin(): Promise<void> {
    const document = this.about.isOverlay ? OVERLAY : CBR0;
    this.network = (await createNetwork(this.hns, document)).ID ?? "";
    for (const address of LOCALS) await this.putLocal(address);
    this.objects.servicesListed([...this.services.values()]);
    this.objects.endpointSlicesListed([...this.slices.values()]);
    await this.startProxy();
  }

  async putLocal(address: string): Promise<void> {
    const IpConfigurations = [{ IpAddress: address, PrefixLength: 24 }];
    this.locals.set(address, (await createEndpoint(this.hns, this.network, { IpConfigurations })).ID);
  }

  /** A new process: what it knew is gone. */
  async restartProxy(): Promise<void> {
    this.objects = new ProxyObjects();
    this.objects.servicesListed([...this.services.values()]);
    this.objects.endpointSlicesListed([...this.slices.values()]);
    this.proxy = this.newProxy();
    await this.startProxy();
  }

  async sync(comparesHns: boolean): Promise<void> {
    const { families } = await this.proxy.sync({ nowMs: this.nowMs, comparesHns });
    for (const { repairs } of families) this.repairs += repairs.length;
  }

  setService(name: string, next: Service | undefined): void {
    this.objects.serviceChanged(this.services.get(name), next);
    if (next === undefined) this.services.delete(name);
    else this.services.set(name, next);
  }

  setSlice(name: string, next: EndpointSlice | undefined): void {
    this.objects.endpointSliceChanged(this.slices.get(name), next);
    if (next === undefined) this.slices.delete(name);
    else this.slices.set(name, next);
  }

  /** Nothing fails any more; the periodic sync goes on for a while. */
  async rest(): Promise<void> {
    this.client.failuresPerMille = 0;
    for (const address of LOCALS) if (!this.locals.has(address)) await this.putLocal(address);
    for (let round = 0; round < QUIET_ROUNDS; round++) await this.syncLater();
    const before = this.node.service.revision;
    await this.syncLater();
    assert(this.node.service.revision === before, "nothing is left to do");
  }

  private async syncLater(): Promise<void> {
    this.nowMs += PATIENCE_MS;
    this.node.clock.runUntil(this.nowMs);
    await this.sync(true);
  }

  /** Load balancers and remote endpoints, by addresses. */
  async holds(): Promise<readonly string[]> {
    const endpoints = await listEndpoints(this.hns);
    const byId = new Map(endpoints.map((endpoint) => [endpoint.ID, endpoint]));
    const loadBalancers = await listLoadBalancers(this.hns);
    const remote = endpoints
      .filter(({ Flags = 0 }) => (Flags & 1) !== 0)
      .map(
        ({ IpConfigurations, Policies }) =>
          `${IpConfigurations?.[0]?.IpAddress} ${JSON.stringify(Policies ?? [])}`,
      );
    return [...loadBalancers.map((each) => formatLoadBalancer(each, byId, new Map())), ...remote].toSorted();
  }

  private newProxy(): KubeProxy {
    const { minor, enableDSR } = this.about;
    return createKubeProxy({
      client: this.client,
      objects: this.objects,
      options: {
        kubernetes: { major: 1, minor },
        compat: "hardened",
        hostname: NODE_NAME,
        nodeIp: NODE_IP,
        networkName: "cbr0",
        enableDSR,
        featureGates: { WinDSR: true, WinOverlay: true },
        sourceVip: SOURCE_VIP,
        hostInterfaces: [{ mac: "00-22-48-01-02-03", addresses: [NODE_IP] }],
      },
    });
  }

  private async startProxy(): Promise<void> {
    const before = this.client.failuresPerMille;
    this.client.failuresPerMille = 0;
    for (let tries = 0; tries < 4; tries++) {
      const result = await this.proxy.start();
      if (result.state === "running") break;
      assert(result.state === "waiting", JSON.stringify(result));
    }
    this.client.failuresPerMille = before;
  }
}

/** What somebody else does to HNS. */
async function disturb(world: World, prng: Prng): Promise<void> {
  const { hns } = world;
  const loadBalancers = await listLoadBalancers(hns);
  const remotes = (await listEndpoints(hns)).filter(({ Flags = 0 }) => (Flags & 1) !== 0);
  const kind = prng.below(7);
  if (kind === 0) for (const { ID } of loadBalancers) await deleteLoadBalancer(hns, ID ?? "");
  if (kind === 1 && loadBalancers.length > 0)
    await deleteLoadBalancer(hns, pick(prng, loadBalancers).ID ?? "");
  if (kind === 2 && remotes.length > 0) await deleteEndpoint(hns, pick(prng, remotes).ID);
  // HNS changes what it has, as when it loses part of its state.
  if (kind === 3 && loadBalancers.length > 0) {
    const { HostComputeEndpoints = [], ...rest } = pick(prng, loadBalancers);
    await deleteLoadBalancer(hns, rest.ID ?? "");
    await createBack(hns, { ...rest, HostComputeEndpoints: HostComputeEndpoints.slice(0, 1) });
  }
  // A restart: load balancers are forgotten, and come back a moment later.
  if (kind === 4) {
    for (const { ID } of loadBalancers) await deleteLoadBalancer(hns, ID ?? "");
    await world.sync(prng.below(2) === 0);
    for (const loadBalancer of loadBalancers) await createBack(hns, loadBalancer);
  }
  if (kind === 5) await world.restartProxy();
  // A pod of this node goes and comes back with another endpoint.
  if (kind === 6) {
    const address = pick(prng, LOCALS);
    const id = world.locals.get(address);
    if (id !== undefined) {
      await deleteEndpoint(hns, id);
      world.locals.delete(address);
    } else {
      await world.putLocal(address);
    }
  }
}

/** As it was, unless something stands in its place by now. */
async function createBack(hns: HcnClient, loadBalancer: HostComputeLoadBalancer): Promise<void> {
  const { ID = "", HostComputeEndpoints, SourceVIP, FrontendVIPs, PortMappings, Flags } = loadBalancer;
  const fields = { HostComputeEndpoints, SourceVIP, FrontendVIPs, PortMappings, Flags };
  const document = JSON.parse(JSON.stringify(fields)) as JsonObject;
  const created = await attempt(() => hns.create("LoadBalancer", document, { id: ID }));
  assert(created.ok || created.failure instanceof HcnError, "HNS takes it or refuses it");
}

function change(world: World, prng: Prng): void {
  const index = prng.below(NAMES.length);
  const name = NAMES[index] ?? "";
  const kind = prng.below(8);
  if (kind === 0) world.setService(name, undefined);
  else if (kind === 1) world.setSlice(name, undefined);
  else if (kind <= 3) world.setService(name, randomService(prng, index));
  else if (kind === 4) removeNode(world, pick(prng, ["node-3", "node-4"]));
  else world.setSlice(name, randomSlice(prng, index));
}

/** A node goes away: none of its pods is listed any more. */
function removeNode(world: World, node: string): void {
  for (const [name, each] of world.slices) {
    const endpoints = (each.endpoints ?? []).filter(({ nodeName }) => nodeName !== node);
    world.setSlice(name, { ...each, endpoints });
  }
}

/** @returns how many repairs were told. */
export async function surviveFaults(seed: number, steps: number): Promise<number> {
  const prng = new Prng(seed);
  const about = randomCase(prng);
  const world = new World(about, prng);
  for (const [index] of NAMES.entries()) {
    world.setService(NAMES[index] ?? "", randomService(prng, index));
    world.setSlice(NAMES[index] ?? "", randomSlice(prng, index));
  }
  await world.begin();
  for (let step = 0; step < steps; step++) {
    world.client.failuresPerMille = pick(prng, [0, 0, 20, 200, 900]);
    if (prng.below(4) === 0) await disturb(world, prng);
    else change(world, prng);
    world.nowMs += pick(prng, [0, 100, 2_000, 30_000]);
    await world.sync(prng.below(3) === 0);
  }
  await world.rest();
  const calm = new World(about, new Prng(seed));
  for (const [name, each] of world.services) calm.setService(name, each);
  for (const [name, each] of world.slices) calm.setSlice(name, each);
  await calm.begin();
  await calm.sync(false);
  const replay = `seed ${seed} ${JSON.stringify(about)}`;
  expect({ replay, holds: await world.holds() }).toEqual({ replay, holds: await calm.holds() });
  await removeAll(world);
  expect({ replay, holds: await world.holds() }).toEqual({ replay, holds: [] });
  return world.repairs;
}

async function removeAll(world: World): Promise<void> {
  for (const name of NAMES) {
    world.setService(name, undefined);
    world.setSlice(name, undefined);
  }
  await world.rest();
}
