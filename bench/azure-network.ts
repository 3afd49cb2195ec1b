/**
 * What do the rules and routes of a virtual network of Azure cost a first packet, up to the 1 000 rules of a group and the 400
 * routes of a table? And what does it cost to write the routes of 500 nodes, and to replace one of them?
 */
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { type Ipv4, type Prefix, formatPrefix, parseIpv4, parsePrefix, prefixOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { Headers } from "#core/wire/headers.ts";
import type { UserRoute } from "#dataplane/fabric/azure/effective-routes.ts";
import type { SecurityGroup } from "#dataplane/fabric/azure/security-group.ts";
import { VirtualNetwork } from "#dataplane/fabric/azure/virtual-network.ts";
import type { FabricMachine } from "#dataplane/fabric/fabric-rules.ts";
import {
  type CloudRoute,
  DONE,
  type RouteListing,
  type RouteOperation,
  type RoutesProvider,
} from "#control-plane/cloud/cloud-route.ts";
import { RoutesController } from "#control-plane/cloud/routes-controller.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { measure, publishFigure } from "./measure.ts";

const FRAMES = 5_000;
/** Short ones: one in a slice of the processor's time is not disturbed. */
const MANY_ROUNDS = 45;
const RULES = 1_000;
const ROUTES = 400;
/** Longer than a flow is remembered. */
const ROUND_MS = 300_000;

function ip(text: string): Ipv4 {
  return defined(parseIpv4(text), "an address is one");
}

function range(text: string): Prefix {
  return defined(parsePrefix(text), "a range is one");
}

const SENDER: FabricMachine = { name: "a", mac: 0x0a01 as Mac, addresses: [ip("10.240.0.4")] };
const RECEIVER: FabricMachine = { name: "b", mac: 0x0a02 as Mac, addresses: [ip("10.240.0.5")] };
const MACHINES = { ownerOf: (): FabricMachine => RECEIVER, router: undefined };

/** Rules for ports of hosts outside; none of them decides. */
function groupOf(count: number): SecurityGroup {
  return {
    name: "nodes",
    rules: Array.from({ length: count }, (_, index) => ({
      name: `r${index}`,
      priority: 100 + index,
      direction: index % 2 === 0 ? ("Inbound" as const) : ("Outbound" as const),
      access: "Deny" as const,
      protocol: "Udp" as const,
      source: { kind: "ranges" as const, ranges: [prefixOf((0xc633_0000 + index) as Ipv4, 32)] },
      destination: { kind: "any" as const },
      sourcePorts: [],
      destinationPorts: [{ first: 1_000 + index, last: 1_000 + index }],
    })),
  };
}

function routesOf(count: number): readonly UserRoute[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `n${index}`,
    prefix: prefixOf((0x0af4_0000 + index * 256) as Ipv4, 24),
    nextHopType: "VirtualAppliance" as const,
    nextHop: ip("10.240.0.5"),
  }));
}

class Candidate {
  readonly name: string;
  readonly operations = FRAMES;
  private readonly network: VirtualNetwork;
  private readonly frames: readonly Uint8Array[];
  private readonly headers = new Headers();
  private nowMs = 0;

  constructor(name: string, rules: number, routes: number) {
    this.name = name;
    const securityGroup = groupOf(rules);
    const nic = (machine: FabricMachine) => ({
      machine: machine.name,
      address: machine.addresses[0] as Ipv4,
      securityGroup,
      isForwarding: true,
      applicationGroups: [],
    });
    this.network = new VirtualNetwork({
      spaces: { own: [range("10.240.0.0/16")], peered: [], learned: [], serviceEndpoints: [] },
      subnets: [
        {
          name: "nodes",
          prefix: range("10.240.0.0/16"),
          securityGroup,
          routeTable: "pods",
          routes: routesOf(routes),
        },
      ],
      nics: [nic(SENDER), nic(RECEIVER)],
    });
    this.frames = Array.from({ length: FRAMES }, (_, index) => {
      const { bytes, start, end } = buildUdpFrame({
        link: { sourceMac: SENDER.mac, destinationMac: RECEIVER.mac },
        ip: {
          source: ip("10.240.0.4"),
          destination: ip("10.240.0.5"),
          ttl: 128,
          identification: 1,
          isDontFragment: false,
        },
        udp: { sourcePort: 1_024 + index, destinationPort: 53 },
        payload: new Uint8Array(1),
      });
      return bytes.slice(start, end);
    });
  }

  /** Each frame begins a flow: those of the round before are forgotten. */
  run(): number {
    this.nowMs += ROUND_MS;
    let delivered = 0;
    for (const bytes of this.frames) {
      this.headers.parseBytes(bytes, 0, bytes.length);
      const decision = this.network.decide(SENDER, bytes, this.headers, MACHINES, this.nowMs);
      if (decision.kind === "to") delivered++;
    }
    if (delivered !== FRAMES) throw new Error(`${FRAMES - delivered} packets were not delivered`);
    return delivered;
  }
}

function firstPackets(): void {
  const title = "First packet through a virtual network";
  const [none, ...others] = measure(
    [
      new Candidate("no rule and no route", 0, 0),
      new Candidate("1 000 rules", RULES, 0),
      new Candidate("400 routes", 0, ROUTES),
      new Candidate("1 000 rules and 400 routes", RULES, ROUTES),
    ],
    MANY_ROUNDS,
  );
  if (none === undefined) return;
  process.stdout.write(`\n${title}\n  ${none.name.padEnd(28)} ${none.ns.toFixed(0).padStart(6)} ns\n`);
  for (const { name, ns } of others) {
    publishFigure(title, name, ns / none.ns);
    process.stdout.write(
      `  ${name.padEnd(28)} ${ns.toFixed(0).padStart(6)} ns ${(ns / none.ns).toFixed(2).padStart(6)} ×\n`,
    );
  }
}

/** A cloud that does at once what it is told, and counts it. */
class CountingCloud implements RoutesProvider {
  calls = 0;
  private readonly routes = new Map<string, CloudRoute>();

  observeNodes(): void {}

  listRoutes(): RouteListing {
    return { state: "listed", routes: [...this.routes.values()] };
  }

  createRoute(_nameHint: string, route: CloudRoute): RouteOperation {
    this.calls++;
    this.routes.set(route.destinationCidr, route);
    return { outcome: DONE };
  }

  deleteRoute({ destinationCidr }: CloudRoute): RouteOperation {
    this.calls++;
    this.routes.delete(destinationCidr);
    return { outcome: DONE };
  }

  advance(): number | undefined {
    return undefined;
  }
}

const NODES = 500;

function nodeText(index: number, generation: number): string {
  const name = `node-${index}-${generation}`;
  const podCIDR = formatPrefix(prefixOf((0x0a64_0000 + index * 256) as Ipv4, 24));
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: name },
    spec: { podCIDR, podCIDRs: [podCIDR] },
    status: { addresses: [{ type: "InternalIP", address: `10.240.${index >> 8}.${index & 255}` }] },
  });
}

async function routesOfNodes(): Promise<void> {
  const title = "Routes of 500 nodes, by the Routes controller";
  const kube = new MemoryKube(new Prng(1), { clusterCIDRs: [], serviceCIDRs: [] });
  const source = new MemoryKubeSource(kube);
  const provider = new CountingCloud();
  const controller = new RoutesController({
    provider,
    clusterCidrs: [range("10.100.0.0/15")],
    prng: new Prng(1),
    epochMs: 0,
  });
  const apply = (...texts: readonly string[]): void => {
    kube.apply(loadManifests(texts.map((text, index) => ({ name: `${index}.json`, text }))).objects);
  };
  let nowMs = 0;
  const round = async (): Promise<number> => {
    provider.calls = 0;
    const started = performance.now();
    for (let step = 0; step < 3; step++)
      nowMs += Math.max(1, (await controller.advance(nowMs, source)).nextInMs);
    return performance.now() - started;
  };
  process.stdout.write(`\n${title}\n`);
  const print = (row: string, ms: number): void => {
    publishFigure(title, row, provider.calls, "calls");
    process.stdout.write(
      `  ${row.padEnd(28)} ${`${provider.calls}`.padStart(6)} calls ${ms.toFixed(1)} ms\n`,
    );
  };
  apply(...Array.from({ length: NODES }, (_, index) => nodeText(index, 0)));
  print("500 nodes", await round());
  kube.delete("Node", "", "node-7-0");
  apply(nodeText(7, 1));
  print("one of them replaced", await round());
}

export async function run(): Promise<void> {
  firstPackets();
  await routesOfNodes();
}
