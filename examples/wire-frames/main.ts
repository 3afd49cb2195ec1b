/** A frame as a pod sends it, as its node sends it on through VXLAN, and as the other node finds it in there. */
import { type Ip, type Mac, parseIp, parseMac } from "mullion/net";
import {
  Headers,
  type Packet,
  TcpFlag,
  buildTcpFrame,
  decapsulateVxlan,
  destinationIp,
  encapsulateVxlan,
  formatFrame,
  isVxlan,
  verifyChecksums,
} from "mullion/wire";

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError("no address");
  return value;
}
const ip = (text: string): Ip => known(parseIp(text));
const mac = (text: string): Mac => known(parseMac(text));

/** What a pod sends to open a connection. */
function synOfPod(): Packet {
  return buildTcpFrame({
    link: { sourceMac: mac("0E-2A-0A-F4-01-07"), destinationMac: mac("0E-2A-0A-F4-02-09") },
    ip: {
      source: ip("10.244.1.7"),
      destination: ip("10.244.2.9"),
      ttl: 128,
      identification: 1,
      isDontFragment: true,
    },
    tcp: {
      sourcePort: 49_200,
      destinationPort: 80,
      sequence: 1,
      acknowledgment: 0,
      flags: TcpFlag.syn,
      window: 64_240,
    },
  });
}

/** @returns what a person wants to see of it. */
export function runExample(): readonly string[] {
  const packet = synOfPod();
  const lines = ["The pod sends", ...formatFrame(packet.frame)];

  encapsulateVxlan(packet, {
    link: { sourceMac: mac("00-15-5D-00-00-0B"), destinationMac: mac("00-15-5D-00-00-0C") },
    ip: {
      source: ip("10.0.0.11"),
      destination: ip("10.0.0.12"),
      ttl: 128,
      identification: 2,
      isDontFragment: true,
    },
    sourcePort: 53_211,
    vni: 4096,
  });
  lines.push("The node sends", ...formatFrame(packet.frame));

  const headers = new Headers();
  const fault = headers.parse(packet);
  if (fault !== undefined || !isVxlan(packet.bytes, headers)) throw new TypeError("no VXLAN packet");
  lines.push(`VNI ${decapsulateVxlan(packet, headers)}`);
  headers.parse(packet);
  const isForPod = destinationIp(packet.bytes, headers) === ip("10.244.2.9");
  const isSound = verifyChecksums(packet.bytes, headers) === undefined;
  return [...lines, `for the pod: ${isForPod}`, `checksums right: ${isSound}`];
}

if (import.meta.filename === process.argv[1]) console.log(runExample().join("\n"));
