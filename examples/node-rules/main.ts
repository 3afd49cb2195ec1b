/** What vfpctrl printed on two nodes: held against each other, and one of them run with packets. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Ip, formatIp, parseIp, parseMac } from "mullion/net";
import {
  type ReadPort,
  VfpPort,
  compareListings,
  loadListing,
  parseRules,
  describeDifference,
} from "mullion/vfp";
import { Headers, type Packet, buildUdpFrame, destinationIp } from "mullion/wire";

function ip(text: string): Ip {
  const address = parseIp(text);
  if (address === undefined) throw new TypeError(`no address: ${text}`);
  return address;
}

function read(file: string): ReadPort {
  const { ports, problems } = parseRules(readFileSync(join(import.meta.dirname, file), "utf8"));
  const [port] = ports;
  if (port === undefined || problems.length > 0)
    throw new TypeError(problems.map(({ line, message }) => `${file}:${line}: ${message}`).join("\n"));
  return port;
}

/** A port that does what the node's port does, as far as the text says it. */
function makePort(file: string): VfpPort {
  const { layers } = loadListing(read(file).layers, file);
  const port = new VfpPort({
    id: file,
    name: "pod",
    node: file,
    layers: layers.map(({ definition }) => definition),
  });
  for (const { definition, groups } of layers) port.setGroups(definition.name, groups);
  return port;
}

function dnsQuestion(from: string, to: string): Packet {
  const sourceMac = parseMac("0E-2A-0A-F4-01-0A");
  const destinationMac = parseMac("0E-2A-0A-F4-02-05");
  if (sourceMac === undefined || destinationMac === undefined) throw new TypeError("no MAC address");
  return buildUdpFrame({
    link: { sourceMac, destinationMac },
    ip: { source: ip(from), destination: ip(to), ttl: 128, identification: 1, isDontFragment: false },
    udp: { sourcePort: 49_200, destinationPort: 53 },
    payload: new Uint8Array(12),
  });
}

/** Sends a question to the cluster's DNS through the port; says which rules decided, with their lines. */
function ask(port: VfpPort, from: string): readonly string[] {
  const packet = dnsQuestion(from, "10.96.0.10");
  packet.tag = 1;
  const headers = new Headers();
  if (headers.parse(packet) !== undefined) throw new TypeError("malformed");
  const decided: string[] = [];
  const verdict = port.process("out", packet, headers, 0, {
    record(_tag, event) {
      if ("rule" in event && event.rule !== undefined)
        decided.push(`  ${event.rule.action} ${event.rule.name}, ${event.rule.provenance.name}`);
    },
  });
  return [`${port.node}: ${verdict}, to ${formatIp(destinationIp(packet.bytes, headers))}`, ...decided];
}

/** @returns what a person wants to see of it. */
export function runExample(): readonly string[] {
  const names = { left: "good-node", right: "bad-node" };
  const differences = compareListings(read("good-node.txt"), read("bad-node.txt"));
  return [
    ...differences.map((difference) => describeDifference(difference, names)),
    ...ask(makePort("good-node.txt"), "10.244.1.10"),
    ...ask(makePort("bad-node.txt"), "10.244.4.10"),
  ];
}

if (import.meta.filename === process.argv[1]) console.log(runExample().join("\n"));
