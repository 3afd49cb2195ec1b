/** A switch port with two layers: a filter that lets the pod open connections, and a static NAT of one port. */
import { formatIp, hostPrefix, type Ip, parseIp, parseMac } from "mullion/net";
import { type Action, type Condition, type VfpDirection, VfpPort, createGroup } from "mullion/vfp";
import { Headers, type Packet, TcpFlag, buildTcpFrame, destinationIp, sourceIp } from "mullion/wire";

function ip(text: string): Ip {
  const address = parseIp(text);
  if (address === undefined) throw new TypeError(`no address: ${text}`);
  return address;
}

function rule(id: string, priority: number, condition: Condition, action: Action) {
  const provenance = { object: "example", id, name: id };
  return { id, name: id, priority, condition, action, isTerminating: true, isStateful: true, provenance };
}

function makePort(): VfpPort {
  const port = new VfpPort({
    id: "1",
    name: "pod web",
    node: "win-1",
    layers: [
      { name: "FILTER", priority: 100, isStateful: true, isDefaultAllow: false },
      { name: "NAT", priority: 200, isStateful: true, isDefaultAllow: true },
    ],
  });
  const group = { family: 4, priority: 1, match: "priority" } as const;
  const opens = rule("opens-connections", 100, { protocols: [6] }, { type: "allow" });
  port.setGroups("FILTER", [createGroup({ ...group, name: "OUT", direction: "out", rules: [opens] })]);
  const service = {
    destination: [hostPrefix(ip("10.96.0.80"))],
    destinationPorts: [{ first: 80, last: 80 }],
  };
  const nat = { type: "nat", side: "destination", ip: ip("10.244.2.9"), port: 8080 } as const;
  const toPod = rule("service-to-pod", 100, service, nat);
  port.setGroups("NAT", [createGroup({ ...group, name: "OUT", direction: "out", rules: [toPod] })]);
  return port;
}

function tcp(from: [string, number], to: [string, number], flags: number): Packet {
  const sourceMac = parseMac("0E-2A-0A-F4-01-07");
  const destinationMac = parseMac("0E-2A-0A-F4-02-09");
  if (sourceMac === undefined || destinationMac === undefined) throw new TypeError("no MAC address");
  return buildTcpFrame({
    link: { sourceMac, destinationMac },
    ip: { source: ip(from[0]), destination: ip(to[0]), ttl: 128, identification: 1, isDontFragment: true },
    tcp: {
      sourcePort: from[1],
      destinationPort: to[1],
      sequence: 1,
      acknowledgment: 0,
      flags,
      window: 64_240,
    },
  });
}

/** Offers a packet to the port, and says what becomes of it. */
function offer(port: VfpPort, direction: VfpDirection, packet: Packet): string {
  const headers = new Headers();
  if (headers.parse(packet) !== undefined) return "malformed";
  const verdict = port.process(direction, packet, headers, 0);
  const [from, to] = [sourceIp(packet.bytes, headers), destinationIp(packet.bytes, headers)];
  return `${direction}: ${verdict}, ${formatIp(from)} → ${formatIp(to)}`;
}

/** @returns what a person wants to see of it. */
export function runExample(): readonly string[] {
  const port = makePort();
  return [
    offer(port, "out", tcp(["10.244.1.7", 49_200], ["10.96.0.80", 80], TcpFlag.syn)),
    offer(port, "in", tcp(["10.244.2.9", 8080], ["10.244.1.7", 49_200], TcpFlag.syn | TcpFlag.ack)),
    offer(port, "in", tcp(["10.244.3.3", 50_000], ["10.244.1.7", 22], TcpFlag.syn)),
    `unified flows: ${port.unifiedFlowCount}`,
  ];
}

if (import.meta.filename === process.argv[1]) console.log(runExample().join("\n"));
