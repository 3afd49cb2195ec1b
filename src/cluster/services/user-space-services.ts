/**
 * kube-proxy in its mode userspace on Windows nodes (kubernetes v1.6, pkg/proxy/winuserspace): each node takes the addresses of
 * Services as its own, on one of its interfaces, listens there, and leads clients on by connections of its own, to one back
 * end after the other. Of policies it knows session affinity alone.
 */
import type { Prng } from "#core/base/prng.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import { type BackEndChooser, TcpRelay, UdpRelay } from "#dataplane/host/services/port-relay.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { type PlannedEndpoint, type PlannedPort, planService } from "./linux-service-plan.ts";

const MS_PER_SECOND = 1_000;
/** The port of a name service, whose questions the proxy completes. */
const DNS_PORT_NAME = ":dns";

/** An address and port that a node listens on for a Service; without an address: a node port. */
interface Portal {
  readonly ip: Ip | undefined;
  readonly port: number;
}

function portalsOf({ clusterIp, externalIps, ingressIps, port, nodePort }: PlannedPort): readonly Portal[] {
  const own = [clusterIp, ...externalIps, ...ingressIps].map((ip) => ({ ip, port }));
  return nodePort === 0 ? own : [...own, { ip: undefined, port: nodePort }];
}

/** Who answers for a port of a Service, in turn. */
class RoundRobin implements BackEndChooser {
  private readonly prng: Prng;
  private readonly compartment: Compartment;
  private readonly isBalanced: boolean;
  private endpoints: readonly PlannedEndpoint[] = [];
  private index = 0;
  private affinityMs = 0;
  private readonly clients = new Map<Ip, { readonly endpoint: PlannedEndpoint; usedAtMs: number }>();

  constructor(compartment: Compartment, prng: Prng, isBalanced: boolean) {
    this.compartment = compartment;
    this.prng = prng;
    this.isBalanced = isBalanced;
  }

  /** Ready ones, in an order of chance that holds until they change. */
  set({ endpoints, affinitySeconds = 0 }: PlannedPort): void {
    this.affinityMs = affinitySeconds * MS_PER_SECOND;
    const ready = endpoints.filter(({ isReady }) => isReady);
    const keyOf = ({ ip, port }: PlannedEndpoint): string => `${ip}/${port}`;
    const isSame =
      ready.length === this.endpoints.length &&
      ready.every((each) => this.endpoints.some((known) => keyOf(known) === keyOf(each)));
    if (isSame) return;
    const keys = new Set(ready.map(keyOf));
    for (const [client, { endpoint }] of this.clients)
      if (!keys.has(keyOf(endpoint))) this.clients.delete(client);
    this.endpoints = ready
      .map((each) => ({ each, order: this.prng.nextU32() }))
      .toSorted((a, b) => a.order - b.order)
      .map(({ each }) => each);
    this.index = 0;
  }

  next(client: Ip, isAgain: boolean): PlannedEndpoint | undefined {
    const { nowMs } = this.compartment;
    const known = this.clients.get(client);
    if (known !== undefined && !isAgain && nowMs - known.usedAtMs < this.affinityMs) {
      known.usedAtMs = nowMs;
      return known.endpoint;
    }
    const endpoint = this.endpoints[this.index];
    if (endpoint === undefined) return undefined;
    if (this.isBalanced || isAgain) this.index = (this.index + 1) % this.endpoints.length;
    if (this.affinityMs > 0) this.clients.set(client, { endpoint, usedAtMs: nowMs });
    return endpoint;
  }
}

/** A port of a Service on one node. */
interface ServedPort {
  readonly balancer: RoundRobin;
  readonly relays: Map<string, { readonly portal: Portal; readonly relay: TcpRelay | UdpRelay }>;
}

/** What the proxies of all nodes have in common. */
export interface UserSpaceOptions {
  /** The zone of the cluster's names. */
  readonly domain: string;
  /**
   * False: as Microsoft's article of 2017 has it, all clients of a node are led to one back end. Upstream's code takes them in
   * turn.
   */
  readonly isBalanced: boolean;
}

export interface UserSpaceNode {
  readonly compartment: Compartment;
  /** `INTERFACE_TO_ADD_SERVICE_IP`. */
  readonly addresses: Interface;
}

/** The kube-proxy of one node. */
class UserSpaceProxy {
  private readonly node: UserSpaceNode;
  private readonly suffixes: readonly string[];
  private readonly isBalanced: boolean;
  private readonly prng: Prng;
  /** By Service, then by port and protocol. */
  private readonly served = new Map<string, Map<string, ServedPort>>();

  constructor(node: UserSpaceNode, { domain, isBalanced }: UserSpaceOptions) {
    this.node = node;
    this.suffixes = ["", `default.svc.${domain}`, `svc.${domain}`, domain];
    this.isBalanced = isBalanced;
    this.prng = node.compartment.prng.derive("kube-proxy-userspace");
  }

  set(service: string, ports: readonly PlannedPort[]): void {
    const known = this.served.get(service) ?? new Map<string, ServedPort>();
    this.served.set(service, known);
    const keyOf = ({ name, protocol, port }: PlannedPort): string => `${name}/${protocol}/${port}`;
    const keys = new Set(ports.map(keyOf));
    for (const [key, port] of known)
      if (!keys.has(key)) {
        this.close(port, []);
        known.delete(key);
      }
    for (const port of ports) {
      const { compartment } = this.node;
      const served = known.get(keyOf(port)) ?? {
        balancer: new RoundRobin(compartment, this.prng.derive(keyOf(port)), this.isBalanced),
        relays: new Map(),
      };
      known.set(keyOf(port), served);
      served.balancer.set(port);
      const portals = portalsOf(port);
      this.close(served, portals);
      for (const portal of portals) this.open(served, port, portal);
    }
    if (ports.length === 0) this.served.delete(service);
  }

  private open({ balancer, relays }: ServedPort, { name, protocol }: PlannedPort, portal: Portal): void {
    const key = portalKey(portal);
    if (relays.has(key)) return;
    const { compartment, addresses } = this.node;
    // Inferred: the length. `netsh interface ipv4 add address` is given none, and the addresses of a Service are no subnet.
    if (portal.ip !== undefined) compartment.addAddress(addresses, { ip: portal.ip, length: 32 });
    const relayed = { compartment, ...portal, chooser: balancer };
    const suffixes = name.endsWith(DNS_PORT_NAME) ? this.suffixes : [];
    const relay = protocol === IpProtocol.tcp ? new TcpRelay(relayed) : new UdpRelay(relayed, suffixes);
    if (relay.listen() === undefined) relays.set(key, { portal, relay });
  }

  /** All relays but those of `kept`. The address goes with its relay, as upstream takes it away. */
  private close({ relays }: ServedPort, kept: readonly Portal[]): void {
    const keys = new Set(kept.map(portalKey));
    for (const [key, { portal, relay }] of relays) {
      if (keys.has(key)) continue;
      relay.close();
      relays.delete(key);
      if (portal.ip !== undefined) this.node.compartment.removeAddress(this.node.addresses, portal.ip);
    }
  }
}

function portalKey({ ip, port }: Portal): string {
  return `${ip === undefined ? "" : formatIp(ip)}:${port}`;
}

/** Of the nodes that a cluster begins with: nothing makes the networks of such a node anew, so none leaves or comes back. */
export class UserSpaceServices {
  private readonly options: UserSpaceOptions;
  private readonly proxies: UserSpaceProxy[] = [];

  constructor(options: UserSpaceOptions) {
    this.options = options;
  }

  addNode(node: UserSpaceNode): void {
    this.proxies.push(new UserSpaceProxy(node, this.options));
  }

  set(service: Service, slices: readonly EndpointSlice[]): void {
    const { namespace, name } = service.metadata;
    this.plan(`${namespace}/${name}`, planService(service, slices));
  }

  remove({ namespace, name }: { readonly namespace: string; readonly name: string }): void {
    this.plan(`${namespace}/${name}`, []);
  }

  private plan(service: string, ports: readonly PlannedPort[]): void {
    for (const proxy of this.proxies) proxy.set(service, ports);
  }
}
