/** What `docker network create` on Windows is given; the command line reads it without the engine. */
import type { Ipv4, Prefix } from "#core/net/ip.ts";

/** Drivers of networks that one engine makes by itself. */
export const DOCKER_DRIVERS = ["nat", "transparent", "l2bridge", "l2tunnel"] as const;
export type DockerDriver = (typeof DOCKER_DRIVERS)[number];

/** What the options of networks begin with on Windows. */
export const DOCKER_OPTION = "com.docker.network.windowsshim";

/** What `docker network create` is given. */
export interface DockerNetworkRequest {
  readonly name: string;
  readonly driver: DockerDriver;
  /** `--subnet`; undefined: HNS chooses one, or a DHCP server gives addresses. */
  readonly subnet: Prefix | undefined;
  /** `--gateway`. */
  readonly gateway: Ipv4 | undefined;
  /** `-o com.docker.network.windowsshim.interface`. */
  readonly adapter: string | undefined;
  /** `-o com.docker.network.windowsshim.vlanid`; 0: none. */
  readonly vlan: number;
  /** `-o …dnsservers` and `…dnssuffix`; empty: none. */
  readonly dnsServers: readonly Ipv4[];
  readonly dnsSuffix: string;
  /** False: `-o …disable_gatewaydns=true`, containers do not ask the gateway. */
  readonly hasGatewayDns: boolean;
  /** `-o …enable_outboundnat=true` with its exceptions; undefined: endpoints have no OutBoundNAT. */
  readonly outboundNat: readonly Prefix[] | undefined;
}

/** `docker network create` without an option; it is also the network that an engine makes at its first start (§8.1). */
export const UNASKED: Omit<DockerNetworkRequest, "name"> = Object.freeze({
  driver: "nat",
  subnet: undefined,
  gateway: undefined,
  adapter: undefined,
  vlan: 0,
  dnsServers: [],
  dnsSuffix: "",
  hasGatewayDns: true,
  outboundNat: undefined,
});
