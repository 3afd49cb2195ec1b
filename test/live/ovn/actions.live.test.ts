// One network for which Debian's ovn-northd writes every action of the pipelines, and packets of all kinds through it: every action
// that is asked of a chassis is carried out here, none is refused, and ovn-trace matches the same flows where it carries them out.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { type Ip, type Ipv4, type Ipv6, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import {
  buildArpFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildNdFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "#core/wire/build-frame.ts";
import { buildDhcp } from "#core/wire/dhcp.ts";
import { emitDns } from "#core/wire/dns/dns.ts";
import { solicitedNodeMulticast } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import type { Action } from "#dataplane/ovs/language/actions.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { type Passage, runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { readDump } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import { OvsdbSocketClient } from "#contracts/ovsdb/socket-client.node.ts";
import { ChassisReporter } from "#programs/ovn/chassis-reports.ts";
import { OvnCentral } from "./ovn-central.ts";

const SCRIPT = `
nb lr-add lr0 -- set logical_router lr0 options:always_learn_from_arp_request=false
nb ls-add sw0 -- ls-add sw1 -- ls-add join -- ls-add ext
nb lrp-add lr0 lr0-sw0 00:00:00:00:ff:00 10.0.0.1/24 aef0::1/64
nb lrp-add lr0 lr0-sw1 00:00:00:00:ff:01 10.0.1.1/24 aef1::1/64
nb lrp-add lr0 lr0-join 00:00:00:00:ff:07 100.64.0.1/16
nb set logical_router_port lr0-sw0 ipv6_ra_configs:address_mode=dhcpv6_stateful ipv6_ra_configs:mtu=1450
for each in sw0 sw1 join; do
  nb lsp-add $each $each-lr0 -- lsp-set-type $each-lr0 router -- lsp-set-addresses $each-lr0 router -- lsp-set-options $each-lr0 router-port=lr0-$each
done
for each in "sw0 p02 50:54:00:00:00:02 10.0.0.2 aef0::2" "sw0 p03 50:54:00:00:00:03 10.0.0.3 aef0::3" "sw1 p12 50:54:00:00:01:02 10.0.1.2 aef1::2"; do
  set -- $each
  nb lsp-add $1 $2 -- lsp-set-addresses $2 "$3 $4 $5" -- lsp-set-port-security $2 "$3 $4 $5"
done
nb lsp-set-port-security p02 "50:54:00:00:00:02 10.0.0.2 10.0.0.50 aef0::2"
nb lsp-add sw1 open -- lsp-set-addresses open unknown
nb lsp-add sw0 vip -- lsp-set-type vip virtual -- set logical_switch_port vip options:virtual-ip=10.0.0.50 options:virtual-parents=p02,p03
v4=$(nb create dhcp_options cidr=10.0.0.0/24 options='"server_id"="10.0.0.1" "server_mac"="00:00:00:00:ff:00" "lease_time"="3600" "router"="10.0.0.1"')
v6=$(nb create dhcp_options cidr='"aef0::/64"' options='"server_id"="00:00:00:00:ff:00"')
nb lsp-set-dhcpv4-options p02 $v4 -- lsp-set-dhcpv6-options p02 $v6
dns=$(nb create dns records='"vm3.ovn.org"="10.0.0.3 aef0::3"')
nb set logical_switch sw0 dns_records=$dns
nb fwd-group-add group sw0 10.0.0.100 00:11:22:33:44:55 p03
nb qos-add sw1 from-lport 100 'ip4' rate=1000 burst=100
nb acl-add sw1 to-lport 1000 'ip4 && udp.dst == 99' reject
nb acl-add sw1 to-lport 1000 'ip4 && udp.dst == 98' drop
nb acl-add sw1 to-lport 900 'ip4' allow-related
nb --log --name=web acl-add sw1 to-lport 1001 'tcp.dst == 8080' allow-related
nb lb-add web 10.96.0.10:80 10.0.0.2:8080,10.0.1.2:8080 tcp
nb lb-add own 10.96.0.12:80 10.0.0.2:80 tcp
nb lb-add none 10.96.0.11:80 "" tcp
nb set load_balancer none options:event=true
for lb in web own none; do nb ls-lb-add sw0 $lb -- ls-lb-add sw1 $lb; done
nb lr-add gr -- set logical_router gr options:chassis=hv1 options:lb_force_snat_ip=100.64.0.2
nb lrp-add gr gr-join 00:00:00:00:ff:08 100.64.0.2/16
nb lsp-add join join-gr -- lsp-set-type join-gr router -- lsp-set-addresses join-gr router -- lsp-set-options join-gr router-port=gr-join
nb lrp-add gr gr-ext 00:00:00:00:ff:09 172.16.0.1/24
nb lsp-add ext ext-gr -- lsp-set-type ext-gr router -- lsp-set-addresses ext-gr router -- lsp-set-options ext-gr router-port=gr-ext
nb lsp-add ext out -- lsp-set-addresses out "50:54:00:00:09:09 172.16.0.9"
nb lsp-add ext ln -- lsp-set-type ln localnet -- lsp-set-addresses ln unknown -- lsp-set-options ln network_name=physnet
nb set logical_router_port gr-ext options:gateway_mtu=1400
nb lr-route-add gr 10.0.0.0/16 100.64.0.1
nb lr-route-add lr0 0.0.0.0/0 100.64.0.2
nb --ecmp-symmetric-reply lr-route-add gr 203.0.113.0/24 172.16.0.9 gr-ext
nb --ecmp-symmetric-reply lr-route-add gr 203.0.113.0/24 172.16.0.10 gr-ext
nb lr-nat-add gr snat 172.16.0.1 10.0.0.0/16
nb lr-nat-add gr dnat_and_snat 172.16.0.5 10.0.1.2
nb lb-add front 172.16.0.1:8080 10.0.0.2:80,10.0.1.2:80 tcp
nb lr-lb-add gr front
sb chassis-add hv1 geneve 127.0.0.1
sb set chassis hv1 other_config:ovn-ct-lb-related=true other_config:ct-no-masked-label=true other_config:port-up-notif=true
`;

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const mac = (text: string): Mac => defined(parseMac(text), "a MAC");

interface End {
  readonly port: string;
  readonly mac: string;
  readonly gateway: string;
  readonly ip: string;
  readonly ip6: string;
}
const P02: End = {
  port: "p02",
  mac: "50:54:00:00:00:02",
  gateway: "00:00:00:00:ff:00",
  ip: "10.0.0.2",
  ip6: "aef0::2",
};
const P12: End = {
  port: "p12",
  mac: "50:54:00:00:01:02",
  gateway: "00:00:00:00:ff:01",
  ip: "10.0.1.2",
  ip6: "aef1::2",
};
const OPEN: End = { ...P12, port: "open", mac: "50:54:00:00:01:77", ip: "10.0.1.77", ip6: "aef1::77" };
const OUT: End = {
  port: "out",
  mac: "50:54:00:00:09:09",
  gateway: "00:00:00:00:ff:09",
  ip: "172.16.0.9",
  ip6: "aef9::9",
};

function layers(from: End, destination: string, to = from.gateway, ttl = 64) {
  const isIpv6 = destination.includes(":");
  return {
    link: { sourceMac: mac(from.mac), destinationMac: mac(to) },
    ip: {
      source: ip(isIpv6 ? from.ip6 : from.ip),
      destination: ip(destination),
      ttl,
      identification: 1,
      isDontFragment: true,
    },
  };
}

function tcp(
  from: End,
  destination: string,
  port: number,
  more: { flags?: number; to?: string; bytes?: number; sourcePort?: number } = {},
): Packet {
  const { flags = TcpFlag.syn, to, bytes = 0, sourcePort = 5_000 } = more;
  return buildTcpFrame({
    ...layers(from, destination, to),
    tcp: { sourcePort, destinationPort: port, sequence: 1, acknowledgment: 0, flags, window: 1 },
    payload: new Uint8Array(bytes),
  });
}

function udp(
  from: End,
  destination: string,
  ports: readonly [number, number],
  payload: Uint8Array = new Uint8Array(4),
  to?: string,
): Packet {
  return buildUdpFrame({
    ...layers(from, destination, to),
    udp: { sourcePort: ports[0], destinationPort: ports[1] },
    payload,
  });
}

function arp(from: End, target: string, senderIp = from.ip): Packet {
  return buildArpFrame({
    link: { sourceMac: mac(from.mac), destinationMac: mac("ff:ff:ff:ff:ff:ff") },
    arp: {
      operation: "request",
      senderMac: mac(from.mac),
      senderIp: ip(senderIp) as Ipv4,
      targetIp: ip(target) as Ipv4,
    },
  });
}

function arpAnswer(from: End, target: string): Packet {
  const targetMac = mac(from.gateway);
  return buildArpFrame({
    link: { sourceMac: mac(from.mac), destinationMac: targetMac },
    arp: {
      operation: "reply",
      senderMac: mac(from.mac),
      senderIp: ip(from.ip) as Ipv4,
      targetMac,
      targetIp: ip(target) as Ipv4,
    },
  });
}

function solicitation(from: End, target: string): Packet {
  return buildNdFrame({
    ...layers(from, "ff02::1", "33:33:ff:00:00:01", 255),
    ip: {
      ...layers(from, "ff02::1", undefined, 255).ip,
      destination: solicitedNodeMulticast(ip(target) as Ipv6),
    },
    nd: {
      type: "neighbor-solicitation",
      target: ip(target) as Ipv6,
      options: [{ kind: "source-link-layer", mac: mac(from.mac) }],
    },
  });
}

function advertisement(from: End): Packet {
  const target = ip(from.ip6) as Ipv6;
  return buildNdFrame({
    ...layers(from, "aef1::1", undefined, 255),
    nd: {
      type: "neighbor-advertisement",
      target,
      isRouter: false,
      isSolicited: false,
      isOverride: true,
      options: [{ kind: "target-link-layer", mac: mac(from.mac) }],
    },
  });
}

const hexBytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));
const DHCP = buildDhcp({
  type: "discover",
  transaction: 7,
  clientMac: mac(P02.mac),
  yourIp: ip("0.0.0.0") as Ipv4,
});
const SOLICIT = hexBytes("0100abcd0001000a000300015054000000020003000c0000002a00000e1000001518");
const DNS = emitDns({
  id: 7,
  isResponse: false,
  opcode: 0,
  isAuthoritative: false,
  isTruncated: false,
  isRecursionDesired: true,
  isRecursionAvailable: false,
  rcode: 0,
  questions: [{ name: "vm3.ovn.org", type: "A", class: "IN" }],
  answers: [],
  authorities: [],
  additionals: [],
});
const SCTP = hexBytes("13880050000000000000000001000014112233440000ffff0001000100000001");

/** Each packet, in the order in which they are sent: what is established before is known to those behind. */
function packets(monitorMac: string): readonly (readonly [title: string, from: End, packet: Packet])[] {
  return [
    ["TCP to the router", P02, tcp(P02, "10.0.0.1", 80)],
    ["UDP to the router", P02, udp(P02, "10.0.0.1", [5_000, 99])],
    ["UDP to the router, IPv6", P02, udp(P02, "aef0::1", [5_000, 99])],
    ["SCTP to the router", P02, buildIpFrame({ ...layers(P02, "10.0.0.1"), protocol: 132, payload: SCTP })],
    [
      "an echo to the router",
      P02,
      buildIcmpFrame({
        ...layers(P02, "10.0.0.1"),
        icmp: { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(4) },
      }),
    ],
    [
      "an echo to the router, IPv6",
      P02,
      buildIcmpv6Frame({
        ...layers(P02, "aef0::1"),
        icmpv6: { type: "echo-request", identifier: 1, sequence: 1, payload: new Uint8Array(4) },
      }),
    ],
    ["ARP for the router", P02, arp(P02, "10.0.0.1")],
    ["an ARP answer to the router", OPEN, arpAnswer(OPEN, "10.0.1.1")],
    ["ARP for nobody", OPEN, arp(OPEN, "10.0.1.200")],
    ["ARP for an address that is translated", OUT, arp(OUT, "172.16.0.5")],
    ["an advertisement to the router", OPEN, advertisement(OPEN)],
    ["a solicitation for nobody", OPEN, solicitation(OPEN, "aef1::200")],
    ["a virtual address is announced", P02, arp({ ...P02, port: "p02" }, "10.0.0.50", "10.0.0.50")],
    ["a solicitation for the router", P02, solicitation(P02, "aef0::1")],
    ["a solicitation for a neighbour", P02, solicitation(P02, "aef0::3")],
    [
      "a router solicitation",
      P02,
      buildNdFrame({
        ...layers(P02, "ff02::2", "33:33:00:00:00:02", 255),
        nd: { type: "router-solicitation", options: [] },
      }),
    ],
    [
      "a DHCP request",
      P02,
      udp({ ...P02, ip: "0.0.0.0" }, "255.255.255.255", [68, 67], DHCP, "ff:ff:ff:ff:ff:ff"),
    ],
    [
      "a DHCPv6 request",
      P02,
      udp({ ...P02, ip6: "fe80::5254:ff:fe00:2" }, "ff02::1:2", [546, 547], SOLICIT, "33:33:00:01:00:02"),
    ],
    ["a DHCPv6 answer to the router", P02, udp(P02, "aef0::1", [547, 546])],
    ["a DNS question", P02, udp(P02, "10.0.0.53", [5_000, 53], DNS)],
    ["a forwarding group", P02, tcp(P02, "10.0.0.100", 80, { to: "00:11:22:33:44:55" })],
    [
      "what the monitor of services is answered",
      P02,
      tcp(P02, "10.0.0.9", 80, { to: monitorMac, flags: TcpFlag.syn | TcpFlag.ack }),
    ],
    ["an unknown MAC", OPEN, udp(OPEN, "10.0.1.99", [5_000, 80], undefined, "50:54:00:00:01:99")],
    ["an unknown neighbour", P02, udp(P02, "10.0.1.99", [5_000, 80])],
    ["an unknown neighbour, IPv6", P02, udp(P02, "aef1::99", [5_000, 80])],
    ["UDP that an ACL rejects", P02, udp(P02, "10.0.1.2", [5_000, 99])],
    ["TCP that an ACL logs", P02, tcp(P02, "10.0.1.2", 8_080)],
    ["its answer", P12, tcp(P12, "10.0.0.2", 5_000, { flags: TcpFlag.syn | TcpFlag.ack, sourcePort: 8_080 })],
    ["an error about it", P12, errorAbout(tcp(P02, "10.0.1.2", 8_080))],
    ["a Service", P12, tcp(P12, "10.96.0.10", 80)],
    ["its own Service", P02, tcp(P02, "10.96.0.12", 80)],
    ["a Service without back ends", P02, tcp(P02, "10.96.0.11", 80)],
    ["a Service from outside", OUT, tcp(OUT, "172.16.0.1", 8_080)],
    ["a pod's address outside", OUT, tcp(OUT, "172.16.0.5", 80, { sourcePort: 5_001 })],
    [
      "from behind one of two next hops",
      OUT,
      tcp({ ...OUT, ip: "203.0.113.5" }, "172.16.0.5", 80, { sourcePort: 5_002 }),
    ],
    [
      "its answer to the next hop",
      P12,
      tcp(P12, "203.0.113.5", 5_002, { sourcePort: 80, flags: TcpFlag.syn | TcpFlag.ack }),
    ],
    ["to the outside", P02, tcp(P02, "172.16.0.9", 80)],
    ["to one of two next hops", P02, tcp(P02, "203.0.113.7", 80)],
    [
      "a packet too large for the outside",
      P02,
      tcp(P02, "172.16.0.9", 80, { bytes: 1_460, sourcePort: 5_003 }),
    ],
  ];
}

/** Of the receiver of a packet that cannot take it. */
function errorAbout(packet: Packet): Packet {
  const invoking = packet.frame.slice(14);
  return buildIcmpFrame({
    ...layers(P12, "10.0.0.2"),
    icmp: { type: "destination-unreachable", code: 3, invoking },
  });
}

/** What ovn-trace leaves out: a flow that does nothing but go on. */
function isPassing({ match, actions }: { readonly match: string; readonly actions: string }): boolean {
  return match === "1" && actions === "next;";
}

/** Actions by their names in the language; assignments have none of their own. */
function namesOf(actions: readonly Action[]): readonly string[] {
  return actions.flatMap((action) => {
    switch (action.kind) {
      case "call":
        return [action.name];
      case "nested":
        return [action.name, ...namesOf(action.actions)];
      case "load":
      case "load-port":
      case "move":
        return ["="];
      case "exchange":
        return ["<->"];
      case "decrement-ttl":
        return ["ip.ttl--"];
      case "next":
      case "output":
        return [action.kind];
    }
  });
}

/** All that the flows of ovn-kubernetes, and those of an OVN with DHCP, DNS, routers for IPv6 and several next hops, ask of a chassis. */
const EVERY = [
  "next",
  "output",
  "drop",
  "=",
  "<->",
  "ip.ttl--",
  "clone",
  "ct_next",
  "ct_commit",
  "ct_commit_nat",
  "ct_lb_mark",
  "ct_snat",
  "ct_dnat",
  "ct_snat_to_vip",
  "ct_clear",
  "get_arp",
  "put_arp",
  "lookup_arp",
  "lookup_arp_ip",
  "get_nd",
  "put_nd",
  "lookup_nd",
  "lookup_nd_ip",
  "arp",
  "nd_ns",
  "nd_na",
  "nd_na_router",
  "icmp4",
  "icmp4_error",
  "icmp6",
  "tcp_reset",
  "sctp_abort",
  "reject",
  "check_in_port_sec",
  "check_out_port_sec",
  "chk_lb_hairpin",
  "chk_lb_hairpin_reply",
  "get_fdb",
  "put_fdb",
  "lookup_fdb",
  "handle_svc_check",
  "handle_dhcpv6_reply",
  "put_dhcp_opts",
  "put_dhcpv6_opts",
  "put_nd_ra_opts",
  "dns_lookup",
  "check_pkt_larger",
  "log",
  "set_meter",
  "bind_vport",
  "fwd_group",
  "trigger_event",
  "chk_ecmp_nh",
  "chk_ecmp_nh_mac",
  "commit_ecmp_nh",
  "select",
];

describe("every action of the pipelines", () => {
  let central: OvnCentral;
  let network: LogicalNetwork;
  const passages = new Map<string, Passage>();

  beforeAll(() => {
    central = new OvnCentral();
    central.script(SCRIPT);
    network = new LogicalNetwork(toSouthbound(readDump(central.dump())));
    const chassis = new Chassis(new Set(network.ports.keys()), new VirtualClock());
    const [monitor] = network.addressSet("svc_monitor_mac");
    const monitorMac = defined(monitor, "the MAC of the monitor").value.toString(16).padStart(12, "0");
    for (const [title, from, packet] of packets(monitorMac.replaceAll(/(..)(?=.)/g, "$1:")))
      passages.set(title, runLogicalFlows(network, chassis, from.port, packet));
  }, 120_000);

  afterAll(() => {
    central.stop();
  });

  it("northd's flows can all be read", () => {
    expect(network.unreadable).toEqual([]);
  });

  it("none is refused, and none goes round", () => {
    const bad = [...passages].flatMap(([title, { endings }]) =>
      endings
        .filter(({ kind }) => kind === "refused" || kind === "loop")
        .map((ending) => ({ title, ending })),
    );
    expect(bad).toEqual([]);
  });

  // ovn-trace takes a packet with options put for a request that was answered, and leaves its bytes as they are: what it matches
  // afterwards does not look at them here.
  it.each([
    [
      "a DHCP request",
      "sw0",
      'inport == "p02" && eth.src == 50:54:00:00:00:02 && eth.dst == ff:ff:ff:ff:ff:ff && ip.ttl == 64 && ip4.src == 0.0.0.0 && ip4.dst == 255.255.255.255 && udp.src == 68 && udp.dst == 67',
    ],
    [
      "a DHCPv6 request",
      "sw0",
      'inport == "p02" && eth.src == 50:54:00:00:00:02 && eth.dst == 33:33:00:01:00:02 && ip.ttl == 64 && ip6.src == fe80::5254:ff:fe00:2 && ip6.dst == ff02::1:2 && udp.src == 546 && udp.dst == 547',
    ],
    [
      "SCTP to the router",
      "lr0",
      'inport == "lr0-sw0" && eth.src == 50:54:00:00:00:02 && eth.dst == 00:00:00:00:ff:00 && ip.ttl == 64 && ip4.src == 10.0.0.2 && ip4.dst == 10.0.0.1 && sctp.src == 5000 && sctp.dst == 80',
    ],
  ])("%s matches in %s what it matches in ovn-trace", (title, datapath, microflow) => {
    const { steps } = defined(passages.get(title), "the passage");
    const ours = steps.flatMap((step) =>
      step.kind === "flow" &&
      network.datapaths.get(step.datapath)?.name === datapath &&
      !isPassing(step.flow.row)
        ? [`${step.flow.row.stage} ${step.flow.row.priority}`]
        : [],
    );
    const theirs = [];
    let isHere = false;
    for (const line of central.ask("trace", "--ct=new", "--ct=new", datapath, microflow).split("\n")) {
      const begun = /^ *(?:ingress|egress)\(dp="([^"]*)"/.exec(line);
      if (begun !== null) isHere = begun[1] === datapath;
      const flow = /^ *\d+\. (\w+) .*, priority (\d+), uuid/.exec(line);
      if (flow !== null && isHere) theirs.push(`${flow[1]} ${flow[2]}`);
    }
    expect(ours).toEqual(theirs);
    expect(ours.length).toBeGreaterThan(2);
  });

  it("each was carried out on a packet", () => {
    const counts = new Map<string, number>();
    for (const { steps } of passages.values())
      for (const step of steps)
        if (step.kind === "flow")
          for (const name of step.flow.actions.length === 0 ? ["drop"] : namesOf(step.flow.actions))
            counts.set(name, (counts.get(name) ?? 0) + 1);
    process.stdout.write(`actions: ${JSON.stringify(Object.fromEntries(counts))}\n`);
    expect(EVERY.filter((name) => !counts.has(name))).toEqual([]);
  });
});

/** IGMPv2 membership report for 239.1.1.1 (RFC 2236). */
const MEMBERSHIP = hexBytes("1600f9fcef010101");

describe("what a chassis has met, as rows that ovn-northd reads", () => {
  let central: OvnCentral;
  let client: OvsdbSocketClient;
  let reporter: ChassisReporter;
  let refused: string | undefined;
  const endings: string[] = [];

  beforeAll(async () => {
    central = new OvnCentral();
    central.script(`${SCRIPT}\nnb set logical_switch sw0 other_config:mcast_snoop=true\n`);
    const dump = `${central.dump()}\n${central.dumpOf(["IP_Multicast"])}`;
    const network = new LogicalNetwork(toSouthbound(readDump(dump)));
    const chassis = new Chassis(
      new Set([...network.ports.keys()].filter((port) => port !== "vip")),
      new VirtualClock(),
    );
    const report = buildIpFrame({
      ...layers(P02, "239.1.1.1", "01:00:5e:01:01:01", 1),
      protocol: 2,
      payload: MEMBERSHIP,
    });
    for (const packet of [arp(P02, "10.0.0.50", "10.0.0.50"), tcp(P02, "10.96.0.11", 80), report])
      endings.push(...runLogicalFlows(network, chassis, "p02", packet).endings.map(({ kind }) => kind));
    client = await OvsdbSocketClient.connect(central.socket("sb"), "OVN_Southbound");
    reporter = await ChassisReporter.start(client, "hv1");
    refused = await reporter.report(chassis.takeReports(network.multicast));
    central.script("");
  }, 120_000);

  afterAll(() => {
    reporter.close();
    client.close();
    central.stop();
  });

  it("no flow and no row is refused", () => {
    expect(endings).not.toContain("refused");
    expect(refused).toBeUndefined();
  });

  it("a virtual port is claimed, and the router resolves its address to the MAC of its parent", () => {
    const row = central.ask(
      "sb",
      "--bare",
      "--columns=virtual_parent",
      "find",
      "port_binding",
      "logical_port=vip",
    );
    expect(row.trim()).toBe("p02");
    const flows = central.ask("sb", "lflow-list", "lr0").split("\n");
    const resolved = flows.filter(
      (flow) => flow.includes("lr_in_arp_resolve") && flow.includes("reg0 == 10.0.0.50"),
    );
    expect(resolved).toEqual([expect.stringContaining("eth.dst = 50:54:00:00:00:02; next;")]);
  });

  it("a Service without back ends is an event that names it", () => {
    const row = central.ask(
      "sb",
      "--bare",
      "--columns=event_type,event_info,seq_num",
      "list",
      "controller_event",
    );
    expect(row).toMatch(/^empty_lb_backends\nload_balancer=\S+ protocol=tcp vip="?10\.96\.0\.11:80"?\n1\n$/);
  });

  it("a member of a group gets a flow and a group from ovn-northd", () => {
    const flows = central.ask("sb", "lflow-list", "sw0").split("\n");
    expect(flows.filter((flow) => flow.includes("ip4.dst == 239.1.1.1"))).toEqual([
      expect.stringMatching(/ls_in_l2_lkup .*outport = "239\.1\.1\.1"/),
    ]);
    const group = central.ask("sb", "--bare", "--columns=name", "find", "multicast_group", "name=239.1.1.1");
    expect(group.trim()).toBe("239.1.1.1");
  });
});
