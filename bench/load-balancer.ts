/**
 * What does a service cost: a packet of a known connection, the first one among ten thousand services, and the
 * programming of one more service?
 */
import { SwitchDatapath } from "../src/hns/switch-datapath.ts";
import { HnsService } from "../src/hns/hns-service.ts";
import { VirtualClock } from "../src/base/clock.ts";
import { Prng } from "../src/base/prng.ts";
import { defined } from "../src/base/assert.ts";
import { memoryPair } from "../src/device/memory-pair.ts";
import { Host } from "../src/host/host.ts";
import { parseProfile } from "../src/knowledge/profiles.ts";
import { formatIp, type Ipv4 } from "../src/net/ip.ts";
import type { Mac } from "../src/net/mac.ts";
import { hostPrefix } from "../src/net/prefix.ts";
import { type Group, createGroup } from "../src/vfp/group.ts";
import type { BackEnd, Rule } from "../src/vfp/rule.ts";
import type { VfpPort } from "../src/vfp/vfp-port.ts";
import { makePort, segmentOf, sendOnce, sender } from "./engine-fixture.ts";
import { type Candidate, measure, measureAllocation, printTable } from "./measure.ts";

const OPERATIONS = 100_000;
const FLOWS = 1_000;
const FRAMES = Array.from({ length: FLOWS }, (_, index) => segmentOf(index));
const FIRST_PACKETS = 2_000;
const SERVICES = 10_000;
const BACK_ENDS = 10;
/** 203.0.113.10:443, where the fixture's segments go. */
const VIP = 0xcb00_710a as Ipv4;
const VIP_PORT = 443;
const FIRST_VIP = 0x0a60_0001;
const FIRST_BACK_END = 0x0af4_0201;

function backEndsOf(count: number): readonly BackEnd[] {
  return Array.from({ length: count }, (_, index) => ({ ip: (FIRST_BACK_END + index) as Ipv4, port: 8080 }));
}

function serviceRule(vip: Ipv4, backEnds: readonly BackEnd[]): Rule {
  const id = `LB_DSR_${formatIp(vip)}`;
  return {
    id,
    name: id,
    priority: 100,
    condition: {
      protocols: [6],
      destination: [hostPrefix(vip)],
      destinationPorts: [{ first: VIP_PORT, last: VIP_PORT }],
    },
    action: { type: "lbnat", backEnds, distribution: "5-tuple", rewrites: "address-and-port" },
    isTerminating: true,
    isStateful: true,
    provenance: { object: "HostComputeLoadBalancer", id, name: id },
  };
}

/** LB_DSR with `services` rules, the one that the segments ask for last. */
function dsrGroup(services: number, backEnds: readonly BackEnd[]): Group {
  const others = Array.from({ length: services - 1 }, (_, index) =>
    serviceRule((FIRST_VIP + index) as Ipv4, backEnds),
  );
  return createGroup({
    name: "LB_DSR_IPv4_OUT",
    direction: "out",
    family: 4,
    priority: 100,
    match: "priority",
    rules: [...others, serviceRule(VIP, backEnds)],
  });
}

function portWith(group: Group | undefined): VfpPort {
  const port = makePort(false);
  if (group !== undefined) port.setGroups("LB_DSR", [group]);
  return port;
}

function hits(name: string, group: Group | undefined): Candidate {
  const send = sender(portWith(group), FRAMES);
  send(FLOWS);
  return { name, operations: OPERATIONS, run: () => send(OPERATIONS) };
}

function firstPackets(name: string, group: Group | undefined): Candidate {
  const frames = Array.from({ length: FIRST_PACKETS }, (_, index) => segmentOf(index));
  return {
    name,
    operations: FIRST_PACKETS,
    isCollectedBefore: true,
    run: () => sendOnce(portWith(group), frames),
  };
}

/** A node with an L2Bridge network, `pods` pods and the remote endpoints that services send to. */
class Node {
  readonly hns: HnsService;
  readonly backEnds: readonly string[];

  constructor(pods: number) {
    const clock = new VirtualClock();
    const env = { clock, prng: new Prng(1), recorder: undefined };
    const host = new Host(env, { name: "win-1", os: "windows" });
    const [device] = memoryPair(clock, { delayMs: 0 });
    const mac = 0x0015_5d00_0011 as Mac;
    const address = { ip: 0x0a00_000b as Ipv4, length: 24 };
    const adapter = host.root.addInterface({ name: "Ethernet", mac, device });
    host.root.addAddress(adapter, address);
    this.hns = new HnsService(env, {
      node: "win-1",
      windows: defined(parseProfile("ws2025"), "a profile"),
      datapath: new SwitchDatapath(env, host),
      adapters: [{ name: "Ethernet", mac, device, addresses: [address] }],
    });
    const network = this.hns.create("Network", NETWORK);
    for (let index = 0; index < pods; index++) {
      const namespace = this.hns.create("Namespace", { SchemaVersion: V2 });
      const ip = formatIp((0x0af4_0105 + index) as Ipv4);
      const endpoint = this.hns.create("Endpoint", {
        HostComputeNetwork: network,
        IpConfigurations: [{ IpAddress: ip }],
        SchemaVersion: V2,
      });
      this.hns.modify("Namespace", namespace, {
        ResourceType: "Endpoint",
        RequestType: "Add",
        Settings: { EndpointId: endpoint },
      });
    }
    this.backEnds = Array.from({ length: BACK_ENDS }, (_, index) =>
      this.hns.create("Endpoint", {
        HostComputeNetwork: network,
        IpConfigurations: [{ IpAddress: formatIp((FIRST_BACK_END + index) as Ipv4) }],
        MacAddress: `02-11-0a-f4-02-${(index + 1).toString(16).padStart(2, "0")}`,
        Flags: 1,
        SchemaVersion: V2,
      }),
    );
  }

  addServices(count: number, isDsr: boolean): void {
    for (let index = 0; index < count; index++) {
      this.hns.create("LoadBalancer", {
        HostComputeEndpoints: this.backEnds,
        FrontendVIPs: [formatIp((FIRST_VIP + index) as Ipv4)],
        PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 8080 }],
        Flags: isDsr ? 1 : 0,
        SchemaVersion: V2,
      });
    }
  }
}

const V2 = { Major: 2, Minor: 0 };
const NETWORK = {
  Name: "cbr0",
  Type: "L2Bridge",
  Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.1.0/24",
          Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
  SchemaVersion: V2,
};
const PODS = 10;

/** Programs `count` services on a fresh node once: each round would begin with another state. */
function programming(count: number, isDsr: boolean): number {
  const node = new Node(PODS);
  const started = process.hrtime.bigint();
  node.addServices(count, isDsr);
  return Number(process.hrtime.bigint() - started) / count;
}

function printProgramming(isDsr: boolean): void {
  programming(500, isDsr);
  const counts = [SERVICES / 10, SERVICES];
  const rows = counts.map((count) => {
    const ns = programming(count, isDsr);
    return { name: `${count} services`, ns, minNs: ns };
  });
  const title = `Programming one service of ${BACK_ENDS} back ends on ${PODS} pods, ${isDsr ? "DSR" : "non-DSR"}`;
  printTable(title, rows, `${SERVICES / 10} services`);
}

export function run(): void {
  const ten = backEndsOf(BACK_ENDS);
  const one = dsrGroup(1, ten);
  const wide = dsrGroup(1, backEndsOf(1_024));
  const many = dsrGroup(SERVICES, ten);
  const hit = measure([
    hits("flow hit, plain", undefined),
    hits("flow hit, lbnat, 10 back ends", one),
    hits("flow hit, lbnat, 1024 back ends", wide),
    hits("flow hit, lbnat, 10 000 services", many),
  ]);
  printTable(`Flow hit, ${FLOWS} flows (66-byte frame, parse included)`, hit, "flow hit, plain");
  const send = sender(portWith(many), FRAMES);
  send(FLOWS);
  const bytes = measureAllocation(OPERATIONS, () => void send(OPERATIONS));
  process.stdout.write(`  allocated per lbnat hit: ${bytes.toFixed(2)} bytes\n`);
  const first = measure([
    firstPackets("first packet, plain", undefined),
    firstPackets("first packet, 1 service", one),
    firstPackets("first packet, 1024 back ends", wide),
    firstPackets("first packet, 10 000 services", many),
  ]);
  printTable(`First packet of each of ${FIRST_PACKETS} connections`, first, "first packet, plain");
  printProgramming(true);
  printProgramming(false);
}
