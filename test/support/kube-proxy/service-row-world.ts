/**
 * A node on which the load balancers of a row of kube-proxy's decision table are made by hand, with pods, a client in a pod
 * and one outside: L2Bridge, pods in a range of their own (dataplane.md §2.4 B-4, B-7).
 */
import { defined } from "#core/base/assert.ts";
import { createEndpoint, createLoadBalancerOnly } from "#contracts/hcn/operations.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import { HOST_ATTACH, attachHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { IdentificationServer, parseIdentification } from "#dataplane/host/services/identification-server.ts";
import { formatIp, parseInterfaceAddress, parsePrefix } from "#core/net/ip.ts";
import { DriverWorld, ip } from "../dataplane/driver-world.ts";
import { ADDRESS } from "./kube-proxy-node.ts";

/** One load balancer in the notation of the table (kube-proxy.md §8.1), taken apart. */
export interface NotedLoadBalancer {
  readonly text: string;
  readonly protocol: "tcp" | "udp" | "sctp";
  /** A symbol or an address; `∅`: none. */
  readonly vip: string;
  readonly externalPort: number;
  readonly internalPort: number;
  readonly backEnds: readonly string[];
  readonly flags: number;
  readonly portFlags: number;
  readonly distribution: number;
  readonly sourceVip: string;
}

const NOTATION = /^(udp |sctp )?(\S+):(\d+)→(\d+) \[(.*)\] L(\d+) P(\d+) D(\d+)(?: S=(\S+))?$/;
const PROTOCOL_NUMBERS = { tcp: 6, udp: 17, sctp: 132 } as const;

export function readNotation(text: string): NotedLoadBalancer {
  const [, protocol, vip, external, internal, backEnds, flags, portFlags, distribution, source] = defined(
    NOTATION.exec(text) ?? undefined,
    `${text} is a load balancer of the table`,
  );
  return {
    text,
    protocol: protocol === "udp " ? "udp" : protocol === "sctp " ? "sctp" : "tcp",
    vip: vip ?? "",
    externalPort: Number(external),
    internalPort: Number(internal),
    backEnds: (backEnds ?? "").split(",").map((name) => name.replace(/^EP-/, "")),
    flags: Number(flags),
    portFlags: Number(portFlags),
    distribution: Number(distribution),
    sourceVip: source ?? "",
  };
}

export function addressOf(symbol: string): string {
  return (ADDRESS as Readonly<Record<string, string>>)[symbol] ?? symbol;
}

/** Who answered, and whom it saw. */
export interface Served {
  /** `L1:8080`. */
  readonly by: string;
  readonly client: string;
}

const NODE_IP = "10.0.0.11";
const ROOT_LEG = "192.168.4.2";
export const POD_CLIENT = "192.168.4.30";
export const OUTSIDE_CLIENT = "198.51.100.7";

function isRemote(symbol: string): boolean {
  return symbol.startsWith("R");
}

export class ServiceRowWorld {
  private readonly world: DriverWorld = new DriverWorld();
  private readonly endpoints: Map<string, string> = new Map();
  private readonly compartments: Map<string, Compartment> = new Map();
  private network = "";

  /** Makes the network, the pods of this node and the client; programs listen at `ports`. */
  static async of(loadBalancers: readonly NotedLoadBalancer[]): Promise<ServiceRowWorld> {
    const row = new ServiceRowWorld();
    await row.begin();
    for (const { protocol, internalPort, externalPort, backEnds } of loadBalancers)
      for (const name of backEnds)
        for (const port of new Set([internalPort, externalPort])) row.serve(name, protocol, port);
    for (const each of loadBalancers) await row.balance(each);
    return row;
  }

  /** What load balancers without DSR hide clients behind (B-4, B-7). */
  hiddenBehind(_noted: NotedLoadBalancer): string {
    return NODE_IP;
  }

  /** An address of the pod that it would need for packets whose destination is preserved. */
  own(name: string, address: string): void {
    const compartment = defined(this.compartments.get(name), `${name} is a pod of this node`);
    const nic = defined(compartment.listInterfaces()[0], "a pod has a vNIC");
    compartment.addAddress(nic, defined(parseInterfaceAddress(`${addressOf(address)}/32`), "an address"));
  }

  /** One question from a pod of this node, or from outside. Undefined: nobody answered. */
  ask(from: "pod" | "outside", protocol: "tcp" | "udp", vip: string, port: number): Served | undefined {
    const { world } = this;
    const client =
      from === "pod" ? defined(this.compartments.get("client"), "the client") : world.e.compartment;
    const to = vip === "∅" ? NODE_IP : addressOf(vip);
    const result = world.ask(client, protocol, to, port);
    if (result.outcome !== "answered") return undefined;
    const reported = defined(parseIdentification(result.answer), "an answer of our servers");
    return { by: reported.name, client: formatIp(reported.clientIp) };
  }

  private async begin(): Promise<void> {
    const { world } = this;
    this.network = await world.network("L2Bridge", { prefix: "192.168.4.0/24", gateway: "192.168.4.1" });
    const leg = await createEndpoint(world.client, this.network, {
      Name: "cbr0",
      IpConfigurations: [{ IpAddress: ROOT_LEG }],
    });
    await attachHnsEndpoint(world.client, leg.ID ?? "", HOST_ATTACH);
    this.endpoints.set("GW", leg.ID ?? "");
    this.compartments.set("GW", world.node.root);
    for (const each of world.node.root.listInterfaces()) each.isForwarding = true;
    for (const [name, address] of [
      ["L1", ADDRESS.L1],
      ["L2", ADDRESS.L2],
      ["client", POD_CLIENT],
    ] as const)
      await this.pod(name, address);
    this.route();
  }

  private async pod(name: string, address: string): Promise<void> {
    const exceptions = { Type: "OutBoundNAT", Settings: { Exceptions: ["192.168.0.0/16", "10.20.0.0/16"] } };
    const pod = await this.world.pod(name, this.network, {
      IpConfigurations: [{ IpAddress: address }],
      Routes: [{ NextHop: ROOT_LEG, DestinationPrefix: "0.0.0.0/0" }],
      Policies: [exceptions],
    });
    this.endpoints.set(name, pod.endpoint);
    this.compartments.set(name, pod.compartment);
  }

  /** The other node has the remote pods; the router brings the Service's addresses to this one. */
  private route(): void {
    const { node, neighbour, underlay } = this.world;
    const prefix = (text: string): NonNullable<ReturnType<typeof parsePrefix>> =>
      defined(parsePrefix(text), "a prefix");
    const there = defined(neighbour.root.listInterfaces()[0], "an adapter");
    for (const name of ["R1", "R2"] as const) {
      neighbour.root.addAddress(there, defined(parseInterfaceAddress(`${ADDRESS[name]}/32`), "an address"));
      this.compartments.set(name, neighbour.root);
    }
    neighbour.root.addRoute({
      prefix: prefix("192.168.4.0/24"),
      nextHop: ip(NODE_IP),
      interface: there,
      metric: 1,
    });
    const here = defined(
      node.root.listInterfaces().find(({ addresses }) => addresses.some((each) => each.ip === ip(NODE_IP))),
      "the node's adapter",
    );
    node.root.addRoute({
      prefix: prefix("192.168.2.0/24"),
      nextHop: ip("10.0.0.12"),
      interface: here,
      metric: 1,
    });
    for (const address of [ADDRESS.E, ADDRESS.E2, ADDRESS.G, ADDRESS.G2])
      underlay.router.addRoute({ prefix: prefix(`${address}/32`), nextHop: ip(NODE_IP) });
  }

  private async balance(noted: NotedLoadBalancer): Promise<void> {
    const endpoints: string[] = [];
    for (const name of noted.backEnds) endpoints.push(await this.endpointOf(name));
    const document: HostComputeLoadBalancer = {
      HostComputeEndpoints: endpoints,
      ...(noted.vip === "∅" ? {} : { FrontendVIPs: [addressOf(noted.vip)] }),
      PortMappings: [
        {
          Protocol: PROTOCOL_NUMBERS[noted.protocol],
          InternalPort: noted.internalPort,
          ExternalPort: noted.externalPort,
          DistributionType: noted.distribution,
          Flags: noted.portFlags,
        },
      ],
      Flags: noted.flags,
    };
    await createLoadBalancerOnly(this.world.client, document);
  }

  /** As kube-proxy makes it for a pod elsewhere (kube-proxy.md §3.5). */
  private async endpointOf(name: string): Promise<string> {
    const known = this.endpoints.get(name);
    if (known !== undefined) return known;
    const address = addressOf(name);
    const hex = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
    const made = await createEndpoint(this.world.client, this.network, {
      IpConfigurations: [{ IpAddress: address }],
      MacAddress: `02-11-${hex.join("-")}`,
      Flags: 1,
    });
    this.endpoints.set(name, made.ID ?? "");
    return made.ID ?? "";
  }

  private serve(name: string, protocol: NotedLoadBalancer["protocol"], port: number): void {
    const compartment = defined(this.compartments.get(name), `${name} is a pod`);
    if (protocol === "sctp") return;
    const server = new IdentificationServer(compartment, `${name}:${port}`);
    const address = isRemote(name) ? ip(addressOf(name)) : undefined;
    // Several load balancers lead to one port.
    if (protocol === "tcp") server.listenTcp(port, address);
    else server.listenUdp(port, address);
  }
}
