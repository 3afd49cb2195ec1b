/** Services for benchmarks: groups of their rules, and a node that programs them through HNS. */
import { SwitchDatapath } from "#hns/ports/switch-datapath.ts";
import { HnsService } from "#hns/service/hns-service.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { defined } from "#core/base/assert.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import { Host } from "#dataplane/host/host.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { type Ipv4, formatIp, hostPrefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { LbnatBackEnd, Rule } from "#dataplane/vfp/rule.ts";
import { V2, networkDocument } from "./hns-documents.ts";

export const BACK_ENDS = 10;
/** 203.0.113.10:443, where the fixture's segments go. */
const VIP = 0xcb00_710a as Ipv4;
const VIP_PORT = 443;
export const FIRST_VIP = 0x0a60_0001;
const FIRST_BACK_END = 0x0af4_0201;

export function backEndsOf(count: number): readonly LbnatBackEnd[] {
  return Array.from({ length: count }, (_, index) => ({ ip: (FIRST_BACK_END + index) as Ipv4, port: 8080 }));
}

function serviceRule(vip: Ipv4, backEnds: readonly LbnatBackEnd[]): Rule {
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
export function dsrGroup(services: number, backEnds: readonly LbnatBackEnd[]): Group {
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

/** The HNS of a node with a switch, on an adapter with 10.0.0.11. */
export function makeBenchHns(): HnsService {
  const clock = new VirtualClock();
  const env = { clock, prng: new Prng(1), recorder: undefined };
  const host = new Host(env, { name: "win-1", os: "windows" });
  const [device] = memoryPair(clock, { delayMs: 0 });
  const mac = 0x0015_5d00_0011 as Mac;
  const address = { ip: 0x0a00_000b as Ipv4, length: 24 };
  const adapter = host.root.addInterface({ name: "Ethernet", mac, device });
  host.root.addAddress(adapter, address);
  return new HnsService(env, {
    node: "win-1",
    windows: defined(parseProfile("ws2025"), "a profile"),
    datapath: new SwitchDatapath(env, host),
    adapters: [{ name: "Ethernet", mac, device, addresses: [address] }],
  });
}

/** @returns the endpoint of a new pod. */
export function addBenchPod(hns: HnsService, network: string, ip: Ipv4): string {
  const namespace = hns.create("Namespace", { SchemaVersion: V2 });
  const endpoint = hns.create("Endpoint", {
    HostComputeNetwork: network,
    IpConfigurations: [{ IpAddress: formatIp(ip) }],
    SchemaVersion: V2,
  });
  hns.modify("Namespace", namespace, {
    ResourceType: "Endpoint",
    RequestType: "Add",
    Settings: { EndpointId: endpoint },
  });
  return endpoint;
}

/** A node with an L2Bridge network, `pods` pods and the remote endpoints that services send to. */
export class BenchNode {
  readonly hns: HnsService;
  readonly network: string;
  readonly backEnds: readonly string[];
  /** Endpoints of the pods. */
  readonly pods: readonly string[];

  constructor(pods: number) {
    this.hns = makeBenchHns();
    const network = this.hns.create("Network", networkDocument("10.244.1.0/24", "10.244.1.1"));
    this.network = network;
    this.pods = Array.from({ length: pods }, (_, index) =>
      addBenchPod(this.hns, network, (0x0af4_0105 + index) as Ipv4),
    );
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

  /** @returns the ids of the load balancers. */
  addServices(count: number, isDsr: boolean, backEnds: readonly string[] = this.backEnds): string[] {
    return Array.from({ length: count }, (_, index) => this.addService(FIRST_VIP + index, isDsr, backEnds));
  }

  /** @returns the id of a load balancer with these back ends. */
  addService(vip: number, isDsr: boolean, backEnds: readonly string[] = this.backEnds): string {
    return this.hns.create("LoadBalancer", {
      HostComputeEndpoints: backEnds,
      FrontendVIPs: [formatIp(vip as Ipv4)],
      PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 8080 }],
      Flags: isDsr ? 1 : 0,
      SchemaVersion: V2,
    });
  }
}
