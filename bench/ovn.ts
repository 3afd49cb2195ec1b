/**
 * What do OVN's logical flows cost: compiling those of 100 pods, 100 Services and 100 NetworkPolicies, a packet through them, and one
 * NetworkPolicy that changes among 100 and among 1 000, from the object to the flows of the switch?
 */
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { formatIp, parseIpv4, parsePrefix, prefixOf, type Ipv4 } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { NetworkPolicy } from "#contracts/kubernetes/objects.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { rowsOfTables } from "#dataplane/ovs/ovsdb-tables.ts";
import { type Southbound, toSouthbound } from "#dataplane/ovs/southbound.ts";
import { type OvnInput, macOfAddress } from "#programs/ovn/kube/input.ts";
import { OvnChain } from "#test/support/cluster/ovn-chain.ts";
import { namespace, policy } from "#test/support/policy/policy-node.ts";
import { type Measured, measure, printTable } from "./measure.ts";

const PODS = 100;
const SERVICES = 100;
const CHANGES = 101;
const PACKETS = 200;
const COUNTS = [100, 1_000];
const NODES = ["win-2", "win-3"];

function addressOf(index: number): string {
  return formatIp(
    (defined(parseIpv4("10.128.2.0"), "an address") + 256 * (index % 2) + 3 + (index >> 1)) as Ipv4,
  );
}

/** One application lets another one in, at a port; there are ten of each. */
function policyOf(index: number, port: number): NetworkPolicy {
  return policy(`p-${index}`, {
    podSelector: { matchLabels: { app: `app-${index % 10}` } },
    policyTypes: ["Ingress"],
    ingress: [
      { from: [{ podSelector: { matchLabels: { app: `app-${(index + 7) % 10}` } } }], ports: [{ port }] },
    ],
  });
}

function inputOf(policies: readonly NetworkPolicy[]): OvnInput {
  const services = Array.from({ length: SERVICES }, (_, index) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: `s-${index}`, namespace: "default" },
    spec: { clusterIP: `10.96.0.${index + 10}`, ports: [{ port: 80, targetPort: 8_080, protocol: "TCP" }] },
  })) as unknown as OvnInput["services"];
  const slices = Array.from({ length: SERVICES }, (_, index) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `s-${index}`,
      namespace: "default",
      labels: { "kubernetes.io/service-name": `s-${index}` },
    },
    addressType: "IPv4",
    endpoints: [0, 1].map((each) => ({
      addresses: [addressOf((index + each) % PODS)],
      conditions: { ready: true },
    })),
    ports: [{ port: 8_080, protocol: "TCP" }],
  })) as unknown as OvnInput["slices"];
  return {
    clusterCIDR: defined(parsePrefix("10.128.0.0/16"), "a range"),
    nodes: NODES.map((name, index) => ({
      name,
      id: index + 2,
      subnet: prefixOf((defined(parseIpv4("10.128.2.0"), "an address") + 256 * index) as Ipv4, 24),
      chassis: name,
      gateway: {
        address: `10.0.0.${index + 2}`,
        length: 24,
        mac: `00:15:5d:00:00:0${index + 2}`,
        nextHop: "10.0.0.1",
        neighbours: new Map(),
      },
    })),
    pods: Array.from({ length: PODS }, (_, index) => ({
      namespace: "default",
      name: `pod-${index}`,
      uid: `u-${index}`,
      node: defined(NODES[index % 2], "a node"),
      ip: addressOf(index),
      labels: { app: `app-${index % 10}` },
      ports: [],
    })),
    namespaces: [namespace("default")],
    services,
    slices,
    policies,
  };
}

class World {
  private readonly chain: OvnChain;
  private readonly input = inputOf([]);

  private constructor(chain: OvnChain) {
    this.chain = chain;
  }

  static async start(): Promise<World> {
    return new World(await OvnChain.start("bench"));
  }

  southbound(): Southbound {
    return toSouthbound(rowsOfTables(this.chain.sb));
  }

  sync(policies: readonly NetworkPolicy[]): Promise<LogicalNetwork> {
    return this.chain.sync({ ...this.input, policies });
  }
}

/** A change in each world in turn, so that what else the machine does meets all of them. */
async function changing(): Promise<readonly Measured[]> {
  const worlds = await Promise.all(
    COUNTS.map(async (count) => {
      const world = await World.start();
      const policies = Array.from({ length: count }, (_, index) => policyOf(index, 8_080));
      await world.sync(policies);
      return { count, world, policies, samples: [] as number[] };
    }),
  );
  for (let change = 0; change < CHANGES; change++)
    for (const { world, policies, samples } of worlds) {
      const next = [policyOf(0, 9_000 + change), ...policies.slice(1)];
      const started = process.cpuUsage();
      await world.sync(next);
      const { user, system } = process.cpuUsage(started);
      samples.push((user + system) * 1_000);
    }
  return worlds.map(({ count, samples }) => {
    const sorted = samples.toSorted((a, b) => a - b);
    const [least = Number.NaN] = sorted;
    return { name: `${count} policies`, ns: sorted[CHANGES >> 1] ?? Number.NaN, minNs: least };
  });
}

function packets(network: LogicalNetwork): number {
  const chassis = new Chassis(new Set(network.ports.keys()), new VirtualClock());
  const mac = (text: string): Mac => defined(parseMac(text), "a MAC");
  let steps = 0;
  for (let index = 0; index < PACKETS; index++) {
    const frame = buildTcpFrame({
      link: { sourceMac: mac(macOfAddress(addressOf(0))), destinationMac: mac(macOfAddress("10.128.2.1")) },
      ip: {
        source: defined(parseIpv4(addressOf(0)), "an address"),
        destination: defined(parseIpv4(addressOf(1)), "an address"),
        ttl: 64,
        identification: 1,
        isDontFragment: true,
      },
      tcp: {
        sourcePort: 5_000 + index,
        destinationPort: 8_080,
        sequence: 1,
        acknowledgment: 0,
        flags: TcpFlag.syn,
        window: 1,
      },
    });
    steps += runLogicalFlows(network, chassis, "default_pod-0", frame).steps.length;
  }
  return steps;
}

export async function run(): Promise<void> {
  const world = await World.start();
  const network = await world.sync(
    Array.from({ length: COUNTS[0] ?? 0 }, (_, index) => policyOf(index, 8_080)),
  );
  const southbound = world.southbound();
  const operations = southbound.flows.length;
  const texts = southbound.flows.map((flow) => JSON.stringify(flow));
  const parsing = {
    name: "JSON.parse",
    operations,
    run: () => texts.reduce((sum, text) => sum + String(JSON.parse(text)).length, 0),
  };
  const compiling = { name: "compiled", operations, run: () => new LogicalNetwork(southbound).ports.size };
  printTable(`${operations} logical flows, each`, measure([parsing, compiling]), parsing.name);
  const walk = { name: "a new connection to a pod", operations: PACKETS, run: () => packets(network) };
  printTable(`A packet through ${operations} logical flows`, measure([walk]), walk.name);
  printTable("One NetworkPolicy of ten pods changes", await changing(), `${COUNTS[0] ?? 0} policies`);
}
