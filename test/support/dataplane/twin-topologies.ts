/** The recorded networks, for twins of extensions: on one chassis, and with a tunnel between two. */
import type { Mac } from "#core/net/mac.ts";
import { recorded } from "./logical-world.ts";
import type { Host, TwinOptions } from "./logical-twins.ts";

const CHASSIS = new Map([
  ["hv1", { ip: "10.9.0.11", mac: 0x0015_5d00_0011 as Mac }],
  ["hv2", { ip: "10.9.0.12", mac: 0x0015_5d00_0012 as Mac }],
]);

/** `p02` is 10.0.0.2 behind the router's port ff:00. */
function host(port: string, chassis: string): Host {
  const [subnet, last] = [port.charAt(1), port.charAt(2)];
  return {
    port,
    chassis,
    mac: `50:54:00:00:0${subnet}:0${last}`,
    ip: `10.0.${subnet}.${last}`,
    routerMac: `00:00:00:00:ff:0${subnet}`,
  };
}

const OUTSIDE = [{ ip: "10.0.9.9" }, { ip: "10.0.0.1" }, { ip: "10.0.1.1" }];
const SERVICES = [
  { ip: "10.96.0.10", protocol: "tcp", port: 80 },
  { ip: "10.96.0.10", protocol: "tcp", port: 80 },
  { ip: "10.96.0.10", protocol: "udp", port: 53 },
  { ip: "10.96.0.11", protocol: "tcp", port: 80 },
] as const;

function optionsOf(name: string, ports: readonly string[], isOfTwo: boolean): TwinOptions {
  const hosts = ports.map((port, index) => host(port, isOfTwo && index % 2 === 1 ? "hv2" : "hv1"));
  const southbound = recorded(name);
  const chassis = [...CHASSIS].map(([id, { ip }]) => ({
    id,
    name: id,
    encapsulations: [{ type: "geneve", ip }],
  }));
  const at = new Map(hosts.map((each) => [each.port, each.chassis]));
  return {
    southbound: {
      ...southbound,
      chassis,
      ports: southbound.ports.map((port) => ({ ...port, chassis: at.get(port.name) ?? "" })),
    },
    hosts,
    destinations: [...OUTSIDE, ...(name === "southbound-services" ? SERVICES : [])],
    chassis: isOfTwo ? CHASSIS : new Map([...CHASSIS].slice(0, 1)),
    claimed: new Set(),
  };
}

const DUMP_PORTS = ["p02", "p03", "p12", "p13"];
const SERVICE_PORTS = ["p02", "p03", "p04", "p12"];

/** By name. */
export const TWIN_TOPOLOGIES: readonly (readonly [string, () => TwinOptions])[] = [
  ["stateless ACLs and a router", () => optionsOf("southbound-dump", DUMP_PORTS, false)],
  ["connections, ACLs and services", () => optionsOf("southbound-services", SERVICE_PORTS, false)],
  ["the same of two chassis with a tunnel", () => optionsOf("southbound-services", SERVICE_PORTS, true)],
];
