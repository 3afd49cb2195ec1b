/**
 * As `service-row-world.ts`, on an overlay network: W1 is the node, W2 has the pods elsewhere, X is outside (dataplane.md §2.3).
 * The node's pods are 192.168.4.0/24, so that the source VIP is 192.168.4.3 here.
 */
import { defined } from "#core/base/assert.ts";
import { createEndpoint, createLoadBalancerOnly } from "#contracts/hcn/operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { TcpProbe, UdpProbe } from "#dataplane/host/probes/probe.ts";
import { IdentificationServer, parseIdentification } from "#dataplane/host/services/identification-server.ts";
import { formatIp, parsePrefix } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { ip } from "../dataplane/driver-world.ts";
import { ADDRESS } from "./kube-proxy-node.ts";
import { OVERLAY_MACS } from "../dataplane/overlay-stages.ts";
import { OverlayWorld, remoteSubnet } from "../dataplane/overlay-world.ts";
import type { NotedLoadBalancer, Served } from "./service-row-world.ts";

const NODE_IP = "10.0.0.11";
const OTHER_NODE = "10.0.0.12";
const SOURCE_VIP = "192.168.4.3";
export const OVERLAY_POD_CLIENT = "192.168.4.30";
export const OVERLAY_OUTSIDE_CLIENT = "203.0.113.10";
const PROTOCOL_NUMBERS = { tcp: 6, udp: 17, sctp: 132 } as const;

/** The addresses of the table in this world. */
const HERE: Readonly<Record<string, string>> = {
  ...ADDRESS,
  N: NODE_IP,
  SV: SOURCE_VIP,
  X: OTHER_NODE,
  U: OVERLAY_OUTSIDE_CLIENT,
};

export function overlayAddressOf(symbol: string): string {
  return HERE[symbol] ?? symbol;
}

export class ServiceRowOverlay {
  private readonly world: OverlayWorld = new OverlayWorld("ws2022", 1_500, {
    // That Server 2022 loses node ports is told by the documentation, and not by the table.
    "overlay-nodeport-ws2022": "off",
  });
  private readonly endpoints: Map<string, string> = new Map();
  private readonly compartments: Map<string, Compartment> = new Map();

  static async of(loadBalancers: readonly NotedLoadBalancer[]): Promise<ServiceRowOverlay> {
    const row = new ServiceRowOverlay();
    await row.begin();
    for (const { protocol, internalPort, backEnds } of loadBalancers)
      for (const name of backEnds) row.serve(name, protocol, internalPort);
    for (const each of loadBalancers) await row.balance(each);
    return row;
  }

  /** What load balancers without DSR hide clients behind: the source VIP that the row says (O-5). */
  hiddenBehind({ sourceVip }: NotedLoadBalancer): string {
    return overlayAddressOf(sourceVip);
  }

  ask(from: "pod" | "outside", protocol: "tcp" | "udp", vip: string, port: number): Served | undefined {
    const { clock } = this.world;
    const compartment = this.compartmentOf(from === "pod" ? "client" : "U");
    const destination = ip(vip === "∅" ? NODE_IP : overlayAddressOf(vip));
    const probe = new (protocol === "tcp" ? TcpProbe : UdpProbe)({ compartment, destination, port });
    probe.start();
    for (let ran = 0; probe.result === undefined && ran < 60_000; ran += 100)
      clock.runUntil(clock.nowMs + 100);
    const result = defined(probe.result, "a probe ends");
    if (result.outcome !== "answered") return undefined;
    const reported = defined(parseIdentification(result.answer), "an answer of our servers");
    return { by: reported.name, client: formatIp(reported.clientIp) };
  }

  private async begin(): Promise<void> {
    const { w1, w2, underlay } = this.world;
    const { W1dr, W2dr } = OVERLAY_MACS;
    const hostRoute = { Type: "HostRoute", Settings: {} };
    await w1.overlay("192.168.4.0/24", {
      router: W1dr,
      policies: [hostRoute, remoteSubnet("192.168.2.0/24", OTHER_NODE, W2dr)],
    });
    await w2.overlay("192.168.2.0/24", {
      router: W2dr,
      policies: [hostRoute, remoteSubnet("192.168.4.0/24", NODE_IP, W1dr)],
    });
    const Exceptions = ["192.168.0.0/16", "10.20.0.0/16", "10.0.0.0/24"];
    const Policies = [
      { Type: "OutBoundNAT", Settings: { Exceptions } },
      { Type: "SDNRoute", Settings: { DestinationPrefix: "10.20.0.0/16", NeedEncap: true } },
    ];
    for (const [name, address, at] of [
      ["L1", ADDRESS.L1, w1],
      ["L2", ADDRESS.L2, w1],
      ["client", OVERLAY_POD_CLIENT, w1],
      ["R1", ADDRESS.R1, w2],
      ["R2", ADDRESS.R2, w2],
    ] as const) {
      const pod = await at.pod(address, { Policies });
      if (at === w1) this.endpoints.set(name, pod.endpoint);
      this.compartments.set(name, pod.compartment);
    }
    await createEndpoint(w1.client, w1.network, {
      IpConfigurations: [{ IpAddress: SOURCE_VIP }],
      MacAddress: formatMac(OVERLAY_MACS.W1m),
    });
    this.compartments.set("X", w2.host.root);
    this.compartments.set("U", defined(underlay.getOutsideHost("X"), "X is there").compartment);
    for (const address of [ADDRESS.E, ADDRESS.E2, ADDRESS.G, ADDRESS.G2])
      underlay.router.addRoute({
        prefix: defined(parsePrefix(`${address}/32`), "a prefix"),
        nextHop: ip(NODE_IP),
      });
  }

  private compartmentOf(name: string): Compartment {
    return defined(this.compartments.get(name), `${name} is somebody`);
  }

  private async balance(noted: NotedLoadBalancer): Promise<void> {
    const { w1 } = this.world;
    const HostComputeEndpoints: string[] = [];
    for (const name of noted.backEnds) HostComputeEndpoints.push(await this.endpointOf(name));
    if (noted.vip.startsWith("C")) await this.remote(noted.vip, NODE_IP);
    await createLoadBalancerOnly(w1.client, {
      HostComputeEndpoints,
      ...(noted.sourceVip === "" ? {} : { SourceVIP: overlayAddressOf(noted.sourceVip) }),
      ...(noted.vip === "∅" ? {} : { FrontendVIPs: [overlayAddressOf(noted.vip)] }),
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
    });
  }

  /** Pods of W2 are behind it; what is no pod has the address that the table says: its own, or the node's. */
  private async endpointOf(name: string): Promise<string> {
    const known = this.endpoints.get(name);
    if (known !== undefined) return known;
    return this.remote(name, name === "U" ? NODE_IP : OTHER_NODE);
  }

  private async remote(name: string, ProviderAddress: string): Promise<string> {
    const known = this.endpoints.get(name);
    if (known !== undefined) return known;
    const { w1 } = this.world;
    const IpAddress = overlayAddressOf(name);
    const hex = IpAddress.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
    const made = await createEndpoint(w1.client, w1.network, {
      IpConfigurations: [{ IpAddress }],
      MacAddress: `02-11-${hex.join("-")}`,
      Flags: 1,
      Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress } }],
    });
    this.endpoints.set(name, made.ID ?? "");
    return made.ID ?? "";
  }

  private serve(name: string, protocol: NotedLoadBalancer["protocol"], port: number): void {
    if (protocol === "sctp") return;
    const server = new IdentificationServer(this.compartmentOf(name), `${name}:${port}`);
    if (protocol === "tcp") server.listenTcp(port);
    else server.listenUdp(port);
  }
}
