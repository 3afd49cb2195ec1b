// What br-ext of a Linux node does with single frames (control-planes.md §4.1, the table of flows).
import { beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { readU32 } from "#core/base/bytes.ts";
import { type Ipv4, formatIp, parseIpv4 } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { buildArpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import type { Packet } from "#core/wire/packet.ts";
import { LinuxBridge } from "#dataplane/fabric/linux-bridge.ts";
import { FlowTextError, parseFlow } from "#dataplane/fabric/openflow/flow-text.ts";
import { OpenFlowBridge } from "#dataplane/fabric/openflow/openflow-bridge.ts";
import { type SessionWorld, openSessionWorld } from "#test/support/cluster/session-world.ts";
import { type Cluster, forkCluster } from "../cluster.ts";

const FILE = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: hybrid }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.132.0.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.128.0.0/23 }
network: { plugin: ovn-hybrid-overlay, clusterCIDR: 10.128.0.0/13 }
pods: [{ name: a, node: win-1 }, { name: c, node: linux-1 }]
`;

const ip = (text: string): Ipv4 => defined(parseIpv4(text), text);
const mac = (text: string) => defined(parseMac(text), text);
const GATEWAY = "0a:58:0a:80:00:01";
const ROUTER = "0a:58:0a:80:00:03";

function rootOf(cluster: Cluster) {
  const found = cluster.nodes.find(({ spec }) => spec.name === "linux-1");
  return defined(found, "linux-1").host.root;
}

function bridgeOf(cluster: Cluster): OpenFlowBridge {
  const bridge = rootOf(cluster).udp.tunnels.get(4_789);
  if (!(bridge instanceof OpenFlowBridge)) throw new Error("br-ext takes tunnels");
  return bridge;
}

/** A port of OVN's switch of linux-1: sends, and keeps what comes to it. */
function probe(cluster: Cluster) {
  const bridge = rootOf(cluster).getInterface("ovn-k8s-mp0")?.bridge;
  if (!(bridge instanceof LinuxBridge)) throw new Error("pods of a Linux node hang on a bridge");
  const device = bridge.connect("probe");
  const got: string[] = [];
  device.attach({ receive: (packet) => got.push(describeFrame(packet.frame)) });
  const ask = (packet: Packet): readonly string[] => {
    device.transmit(packet);
    cluster.clock.runUntil(cluster.clock.nowMs + 100);
    return got;
  };
  return { ask };
}

describe("br-ext", () => {
  let world: SessionWorld;
  let routerOfWindows = "";
  beforeAll(async () => {
    world = await openSessionWorld(FILE);
    const node = world.session.listObjects("Node").find(({ metadata }) => metadata.name === "win-1");
    const { annotations } = defined(node, "win-1").metadata as unknown as {
      readonly annotations: Readonly<Record<string, string>>;
    };
    routerOfWindows = annotations["k8s.ovn.org/hybrid-overlay-distributed-router-gateway-mac"] ?? "";
  });

  const request = (target: string): Packet =>
    buildArpFrame({
      link: { sourceMac: mac("02:00:00:00:00:09"), destinationMac: mac("ff:ff:ff:ff:ff:ff") },
      arp: {
        operation: "request",
        senderMac: mac("02:00:00:00:00:09"),
        senderIp: ip("10.128.0.9"),
        targetIp: ip(target),
      },
    });

  it("answers for its own address with its own MAC address", () => {
    const [answer = ""] = probe(forkCluster(world.session.cluster)).ask(request("10.128.0.3"));
    expect(answer).toContain("10.128.0.3");
    expect(answer.toLowerCase().replaceAll("-", ":")).toContain(ROUTER);
  });

  it("answers for any address of a Windows node with the MAC address of that node's router (CP-O6)", () => {
    for (const target of ["10.132.0.3", "10.132.0.200"]) {
      const [answer = ""] = probe(forkCluster(world.session.cluster)).ask(request(target));
      expect(answer).toContain(target);
      expect(answer).toContain(routerOfWindows);
    }
  });

  it("answers for no address of another range", () => {
    expect(probe(forkCluster(world.session.cluster)).ask(request("10.133.0.3"))).toEqual([]);
  });

  it.each([
    ["of the gateway router leaves with the bridge's own address", "100.64.0.2", "10.128.0.3"],
    ["of a pod keeps its address", "10.128.0.4", "10.128.0.4"],
  ])("CP-O8: a packet %s", (_title, from, seen) => {
    const copy = forkCluster(world.session.cluster);
    const sources: string[] = [];
    copy.underlay.segment.filter = {
      filterFrame: (_port: string, packet: Packet) => {
        // Behind Ethernet, IPv4, UDP, VXLAN and Ethernet: the address of the sender.
        if (packet.length > 90) sources.push(formatIp(readU32(packet.bytes, packet.start + 76) as Ipv4));
        return [packet];
      },
    };
    // OVN's switch shows its frames to no rules of the host, so this one comes by the cable itself.
    bridgeOf(copy).receive(
      buildUdpFrame({
        link: { sourceMac: mac(GATEWAY), destinationMac: mac(ROUTER) },
        ip: {
          source: ip(from),
          destination: ip("10.132.0.3"),
          ttl: 63,
          identification: 1,
          isDontFragment: true,
        },
        udp: { sourcePort: 5_000, destinationPort: 5_001 },
        payload: new Uint8Array(20),
      }),
    );
    copy.clock.runUntil(copy.clock.nowMs + 100);
    expect(sources[0]).toBe(seen);
  });
});

describe("a line of ovs-ofctl", () => {
  it.each([
    ["table=0,priority=1,actions=learn(table=20)", 'there is no action "learn(table=20)"'],
    ["table=0,ipv6_dst=::1,actions=drop", 'there is no field "ipv6_dst"'],
    ["table=255,actions=drop", '"255" is not a table'],
    ["priority=70000,actions=drop", '"70000" is not a priority'],
    ["table=0,arp_tpa=10.0.0,actions=drop", '"10.0.0" is not a value of a field'],
    ["table=0,ip", "a flow without actions"],
    ["x".repeat(5_000), "a flow of 5000 characters is too long"],
  ])("%s is refused by name", (line, message) => {
    expect(() => parseFlow(line)).toThrow(new FlowTextError(message));
  });

  it("has the priority 32768 and table 0 unless it says otherwise (ovs-ofctl(8))", () => {
    expect(parseFlow("actions=drop")).toMatchObject({ table: 0, priority: 32_768 });
  });
});
