// Which rules a load balancer puts on which ports (dataplane.md §2.2.3, §10), and the node's budget of ports (§3.5).
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { memoryPair } from "#dataplane/device/memory-pair.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { Host } from "#dataplane/host/host.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { CBR0 } from "#test/support/hns/hns-node.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import type { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import { HnsService } from "../hns-service.ts";
import { SwitchDatapath } from "../../ports/switch-datapath.ts";

const V2 = { Major: 2, Minor: 0 };
const VIP = "10.96.0.50";
const NODE = "10.0.2.15";

let host: Host;
let hns: HnsService;
let datapath: SwitchDatapath;
let network: Guid;

function boot(profile: string): void {
  const clock = new VirtualClock();
  const env = { clock, prng: new Prng(1), recorder: undefined };
  host = new Host(env, { name: "w1", os: "windows" });
  const mac = defined(parseMac("00-22-48-01-02-03"), "a MAC");
  const [device] = memoryPair(clock, { delayMs: 0 });
  const address = { ip: defined(parseIp(NODE), "an address"), length: 24 };
  host.root.addAddress(host.root.addInterface({ name: "Ethernet", mac, device }), address);
  datapath = new SwitchDatapath(env, host);
  const windows = defined(parseProfile(profile), "a profile");
  const adapters = [{ name: "Ethernet", mac, device, addresses: [address] }];
  // What it adds to LB_DSR has tests of its own.
  const quirks = { "l2bridge-dsr-kb5005619": "off" } as const;
  hns = new HnsService(env, { node: "w1", windows, datapath, adapters, quirks });
  network = hns.create("Network", CBR0);
}

function addPod(ip: string): Guid {
  const namespace = hns.create("Namespace", { SchemaVersion: V2 });
  const endpoint = hns.create("Endpoint", {
    HostComputeNetwork: network,
    IpConfigurations: [{ IpAddress: ip }],
    SchemaVersion: V2,
  });
  const change = { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: endpoint } };
  hns.modify("Namespace", namespace, change);
  return endpoint;
}

function addRemote(ip: string): Guid {
  return hns.create("Endpoint", {
    HostComputeNetwork: network,
    IpConfigurations: [{ IpAddress: ip }],
    MacAddress: "02-11-0a-f4-03-0a",
    Flags: 1,
    SchemaVersion: V2,
  });
}

interface Wanted {
  readonly vips?: readonly string[];
  readonly port?: number;
  readonly flags?: number;
  readonly mapping?: number;
}

function balance(endpoints: readonly Guid[], wanted: Wanted = {}): Guid {
  return hns.create("LoadBalancer", {
    HostComputeEndpoints: endpoints,
    FrontendVIPs: wanted.vips ?? [VIP],
    PortMappings: [
      { Protocol: 6, ExternalPort: wanted.port ?? 80, InternalPort: 8080, Flags: wanted.mapping ?? 0 },
    ],
    Flags: wanted.flags ?? 0,
    SchemaVersion: V2,
  });
}

function theSwitch(): VirtualSwitch {
  return defined(datapath.listSwitches()[0], "the network has a switch");
}
function hostPort(): SwitchPort {
  return defined(theSwitch().hostPort, "the switch has a host port");
}
function podPorts(): readonly SwitchPort[] {
  return theSwitch()
    .listPorts()
    .filter((port) => port.kind === "container");
}
/** Names of the rules in one layer, the load balancer's five characters written as `<h>`. */
function rules(port: SwitchPort, layer: string): readonly string[] {
  const groups = port.vfp.getLayer(layer)?.groups ?? [];
  return groups.flatMap((group) =>
    group.rules.map(({ name }) => `${group.name}: ${name.replace(/_[0-9A-F]{5}_/, "_<h>_")}`),
  );
}

beforeEach(() => boot("ws2022"));

describe("DSR", () => {
  it("DT-103, DT-102 every pod's port gets the rule, whether it is a back end or not; one more per service", () => {
    const ports = ["10.244.2.10", "10.244.2.11", "10.244.2.12"].map(addPod);
    balance([addRemote("10.244.3.10")], { flags: 1 });
    const name = `LB_DSR_IPv4_OUT: LB_DSR_<h>_${NODE}_${VIP}_80_8080_6`;
    expect(podPorts().map((port) => rules(port, "LB_DSR"))).toEqual([[name], [name], [name]]);
    balance(ports.slice(0, 1), { flags: 1, port: 443 });
    for (const port of podPorts()) expect(rules(port, "LB_DSR")).toHaveLength(2);
  });

  it("<h> are the first five characters of the id", () => {
    const id = balance([addPod("10.244.2.10")], { flags: 1 });
    const [rule] = podPorts()[0]?.vfp.getLayer("LB_DSR")?.groups[0]?.rules ?? [];
    expect(rule?.name).toBe(`LB_DSR_${id.slice(0, 5).toUpperCase()}_${NODE}_${VIP}_80_8080_6`);
    expect(rule?.provenance).toEqual({ object: "HostComputeLoadBalancer", id, name: `${VIP}:80` });
  });

  it("all ports share one group", () => {
    addPod("10.244.2.10");
    balance([addPod("10.244.2.11")], { flags: 1 });
    const [first, second] = podPorts().map((port) => port.vfp.getLayer("LB_DSR")?.groups[0]);
    expect(first).toBeDefined();
    expect(first).toBe(second);
  });

  it("DT-121, DT-124 one local back end: NAT_ and HairPin_ on the host's port, NAT_ and ALLOW_NAT_ on the pod's", () => {
    balance([addPod("10.244.2.10")], { flags: 1 });
    addPod("10.244.2.11");
    expect(rules(hostPort(), "SLB_LB_LAYER")).toEqual([`SLB_GROUP_LB_IPv4_OUT: NAT_<h>_${VIP}_80_80_6`]);
    expect(rules(hostPort(), "SLB_HAIRPIN_LAYER")).toEqual([
      `SLB_GROUP_HAIRPIN_IPv4_IN: HairPin_<h>_${VIP}_80_80_6`,
    ]);
    expect(rules(hostPort(), "LB")).toEqual([]);
    const [backEnd, other] = podPorts();
    expect(rules(backEnd!, "SLB_NAT_LAYER").toSorted()).toEqual([
      `SLB_GROUP_NAT_IPv4_IN: NAT_<h>_${VIP}_80_6`,
      `SLB_GROUP_NAT_IPv4_OUT: ALLOW_NAT_<h>_${VIP}_80_6`,
    ]);
    expect(rules(other!, "SLB_NAT_LAYER")).toEqual([]);
  });

  it("DT-122 two local back ends: LB_", () => {
    balance([addPod("10.244.2.10"), addPod("10.244.2.11")], { flags: 1 });
    expect(rules(hostPort(), "SLB_LB_LAYER")).toEqual([`SLB_GROUP_LB_IPv4_OUT: LB_<h>_${VIP}_80_80_6`]);
  });

  it("DT-123 a remote back end among them: LB_HOST_ with both ports", () => {
    balance([addPod("10.244.2.10"), addRemote("10.244.3.10")], { flags: 1 });
    expect(rules(hostPort(), "LB")).toEqual([`LB_OUT: LB_HOST_<h>_${VIP}_80_8080_6`]);
    expect(rules(hostPort(), "SLB_LB_LAYER")).toEqual([]);
  });

  it("DT-120 NodePort: the VIP part is the node's address", () => {
    balance([addPod("10.244.2.10")], { vips: [], port: 30_080, flags: 1, mapping: 18 });
    expect(rules(hostPort(), "SLB_HAIRPIN_LAYER")).toEqual([
      `SLB_GROUP_HAIRPIN_IPv4_IN: HairPin_<h>_${NODE}_30080_30080_6`,
    ]);
  });

  it("needs no ports of the node (dataplane.md §3.3)", () => {
    balance([addPod("10.244.2.10"), addRemote("10.244.3.10")], { flags: 1 });
    expect(theSwitch().portBlocks.usedCount).toBe(0);
  });

  it("DT-168 IPv6: rules in LB_DSR_IPv6_OUT, and on the host's port in groups of their own family", () => {
    const namespace = hns.create("Namespace", { SchemaVersion: V2 });
    const dual = hns.create("Network", {
      ...CBR0,
      Name: "dual",
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            {
              IpAddressPrefix: "10.244.9.0/24",
              Routes: [{ NextHop: "10.244.9.1", DestinationPrefix: "0.0.0.0/0" }],
            },
            { IpAddressPrefix: "fd00:9::/64", Routes: [{ NextHop: "fd00:9::1", DestinationPrefix: "::/0" }] },
          ],
        },
      ],
    });
    const endpoint = hns.create("Endpoint", {
      HostComputeNetwork: dual,
      IpConfigurations: [{ IpAddress: "10.244.9.10" }, { IpAddress: "fd00:9::10" }],
      SchemaVersion: V2,
    });
    const change = { ResourceType: "Endpoint", RequestType: "Add", Settings: { EndpointId: endpoint } };
    hns.modify("Namespace", namespace, change);
    balance([endpoint], { vips: ["fd00:96::50"], flags: 3 });
    expect(podPorts().flatMap((port) => rules(port, "LB_DSR"))).toEqual([
      `LB_DSR_IPv6_OUT: LB_DSR_<h>_${NODE}_fd00:96::50_80_8080_6`,
    ]);
    expect(rules(hostPort(), "SLB_HAIRPIN_LAYER")).toEqual([
      "SLB_GROUP_HAIRPIN_IPv6_IN: HairPin_<h>_fd00:96::50_80_80_6",
    ]);
    expect(rules(hostPort(), "SLB_LB_LAYER")).toEqual(["SLB_GROUP_LB_IPv6_OUT: NAT_<h>_fd00:96::50_80_80_6"]);
  });

  it("the rules go with the load balancer, and with the last back end", () => {
    const pod = addPod("10.244.2.10");
    const id = balance([pod], { flags: 1 });
    hns.delete("LoadBalancer", id);
    expect(podPorts().flatMap((port) => rules(port, "LB_DSR"))).toEqual([]);
    expect(rules(podPorts()[0]!, "SLB_NAT_LAYER")).toEqual([]);
    expect(hostPort().vfp.isEnabled).toBe(false);
    balance([addRemote("10.244.3.10")], { flags: 1, port: 81 });
    const last = addPod("10.244.2.11");
    balance([last], { flags: 1 });
    hns.delete("Endpoint", last);
    expect(rules(podPorts()[0]!, "LB_DSR")).toEqual([`LB_DSR_IPv4_OUT: LB_DSR_<h>_${NODE}_${VIP}_81_8080_6`]);
  });

  it("a change of one service leaves the rules of the others the same objects", () => {
    const pod = addPod("10.244.2.10");
    const kept = balance([pod], { flags: 1 });
    const gone = balance([pod], { flags: 1, port: 443 });
    const ruleOf = (id: Guid): unknown =>
      podPorts()[0]
        ?.vfp.getLayer("LB_DSR")
        ?.groups[0]?.rules.find((rule) => rule.provenance.id === id);
    const before = ruleOf(kept);
    hns.delete("LoadBalancer", gone);
    expect(ruleOf(kept)).toBe(before);
    expect(ruleOf(gone)).toBeUndefined();
  });
});

describe("without DSR", () => {
  it("nothing on the pods' ports but what lets answers pass; source NAT and choice on the host's", () => {
    balance([addPod("10.244.2.10"), addRemote("10.244.3.10")]);
    const [pod] = podPorts();
    expect(rules(pod!, "LB_DSR")).toEqual([]);
    expect(rules(pod!, "SLB_NAT_LAYER")).toEqual([`SLB_GROUP_NAT_IPv4_OUT: ALLOW_NAT_<h>_${VIP}_80_6`]);
    expect(rules(hostPort(), "SNAT")).toEqual([
      `SLB_GROUP_NAT_IPv4_OUT: SNAT_TCP_<h>_${NODE}_${VIP}_80_8080_6`,
    ]);
    expect(rules(hostPort(), "LB")).toEqual([`LB_OUT: LB_HOST_<h>_${VIP}_80_8080_6`]);
  });
});

describe("ports of the node (dataplane.md §3.5)", () => {
  /** Server 2019 before KB4551853. */
  const UNSHARED = "17763.1000";

  it("DT-109 each load balancer holds a block of 64; the 257th finds none: 0x803b0013", () => {
    boot(UNSHARED);
    const pod = addPod("10.244.2.10");
    for (let index = 0; index < 256; index++) balance([pod], { port: 1_000 + index });
    expect(theSwitch().portBlocks.usedCount).toBe(256);
    expect(host.root.tcp.ports.listExcluded()).toHaveLength(256);
    expect(() => balance([pod], { port: 2_000 })).toThrow(
      expect.objectContaining({ code: "HCN_E_PORT_ALREADY_EXISTS" }),
    );
    expect(hns.enumerate("LoadBalancer")).toHaveLength(256);
  });

  it("a deleted load balancer gives its block back", () => {
    boot(UNSHARED);
    const pod = addPod("10.244.2.10");
    const id = balance([pod]);
    balance([pod], { port: 81 });
    hns.delete("LoadBalancer", id);
    expect(theSwitch().portBlocks.usedCount).toBe(1);
    expect(host.root.tcp.ports.listExcluded()).toHaveLength(1);
  });

  it("DT-111 F-14 since KB4551853 load balancers share blocks: 300 of them hold one", () => {
    const pod = addPod("10.244.2.10");
    const ids = Array.from({ length: 300 }, (_, index) => balance([pod], { port: 1_000 + index }));
    expect(theSwitch().portBlocks.usedCount).toBe(1);
    for (const id of ids) hns.delete("LoadBalancer", id);
    expect(theSwitch().portBlocks.usedCount).toBe(0);
  });

  it("UDP services take theirs from the UDP ports", () => {
    const pod = addPod("10.244.2.10");
    hns.create("LoadBalancer", {
      HostComputeEndpoints: [pod],
      FrontendVIPs: [VIP],
      PortMappings: [{ Protocol: 17, ExternalPort: 53, InternalPort: 53 }],
      SchemaVersion: V2,
    });
    expect(host.root.tcp.ports.listExcluded()).toEqual([]);
    expect(host.root.udp.ports.listExcluded()).toHaveLength(1);
  });
});
