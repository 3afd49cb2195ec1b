/** Addresses of CNS: asked for over HTTP, read as the interfaces of the pod, given back (cni.md §5.7). */
import type { AzureDifferences } from "./differences.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import {
  type InterfaceAddress,
  formatIp,
  type Ip,
  addToIp,
  familyOf,
  parseIp,
  parseIpv6,
  parseInterfaceAddress,
  prefixContains,
  prefixOf,
} from "#core/net/ip.ts";
import type { CniIp, CniRoute } from "#contracts/cni/result.ts";
import { defined } from "#core/base/assert.ts";
import { parseMac } from "#core/net/mac.ts";
import type { CnsRoute, IpConfiguration, PodIpInfo, IpConfigsRequest, PodContext } from "../cns/documents.ts";
import { withGateway } from "../windows-endpoint/hcn-endpoint.ts";
import { type CnsClient, CnsError, isCnsFailure } from "../cns/client.ts";
import { type AzureAllocation, type AzureNic, PLAIN_NIC, type AddressSource } from "./address-source.ts";
import { addressesWhenReady, cnsFailure } from "./cns-failure.ts";
import type { AzureConfiguration } from "./conf.ts";
import type { PendingReleases } from "./host.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** The next hop of IPv6 in overlays: an address that VFP answers for (cni.md §5.7). */
const OVERLAY_GATEWAY_V6 = defined(parseIp("fe80::1234:5678:9abc"), "address");
const DEFAULT_ROUTES = {
  4: defined(parseInterfaceAddress("0.0.0.0/0"), "prefix"),
  6: defined(parseInterfaceAddress("::/0"), "prefix"),
} as const;

interface CnsNicOptions {
  readonly isOverlay: boolean;
  readonly differences: AzureDifferences;
}

/** Says which member of the answer is wrong; upstream's own sentences have no next step. */
function wrong(message: string, member: string, { differences }: CnsNicOptions): CniError {
  const details = differences.explains
    ? `CNS answered this in "podIPInfo[].${member}"; look at the log of CNS`
    : "";
  return new CniError(CNI_CODES.internal, message, { details, knowledge: "azure-cns-answer-wrong" });
}

function prefixLengthOf(ip: Ip, { IPSubnet, IPSubnetV6 }: IpConfiguration): number {
  return familyOf(ip) === 6 && IPSubnetV6.PrefixLength > 0 ? IPSubnetV6.PrefixLength : IPSubnet.PrefixLength;
}

function gatewayOf(ip: Ip, { GatewayIPAddress, GatewayIPv6Address }: IpConfiguration): Ip | undefined {
  const own = familyOf(ip) === 6 ? parseIp(GatewayIPv6Address) : undefined;
  return own ?? parseIp(GatewayIPAddress);
}

function readRoutes(
  routes: readonly CnsRoute[],
  skipsDefaultRoutes: boolean,
  options: CnsNicOptions,
): readonly CniRoute[] {
  return routes.map(({ IPAddress, GatewayIPAddress }) => {
    const destination = parseInterfaceAddress(IPAddress);
    if (destination === undefined) {
      const message = `unable to parse destination ${IPAddress}: invalid CIDR address: ${IPAddress}`;
      throw wrong(message, "Routes", options);
    }
    const gateway = parseIp(GatewayIPAddress);
    if (gateway === undefined && skipsDefaultRoutes)
      throw wrong(`${GatewayIPAddress}: invalid gateway IP`, "Routes", options);
    return gateway === undefined ? { destination } : { destination, gateway };
  });
}

function requireAddress(text: string, length: number, options: CnsNicOptions): InterfaceAddress {
  const address = parseInterfaceAddress(`${text}/${length}`);
  if (address !== undefined) return address;
  const message = WORDS.cnsAddressInvalid({ text, length });
  throw wrong(message, "PodIPConfig", options);
}

function requireMac(text: string, options: CnsNicOptions): string {
  if (parseMac(text) === undefined)
    throw wrong(`Invalid mac address: address ${text}: invalid MAC address`, "MacAddress", options);
  return text.toLowerCase().replaceAll("-", ":");
}

/** Row 140: in overlays CNS need not name a gateway. */
function overlayGateway({ ip, length }: InterfaceAddress, options: CnsNicOptions): Ip {
  if (familyOf(ip) === 6) return OVERLAY_GATEWAY_V6;
  const subnet = prefixOf(ip, length);
  const gateway = addToIp(subnet.address, 1);
  if (gateway !== undefined && prefixContains(subnet, gateway)) return gateway;
  throw wrong("Failed to retrieve overlay gateway from podsubnet: invalid arg(s)", "PodIPConfig", options);
}

function requireHost({ HostPrimaryIPInfo: host }: PodIpInfo, options: CnsNicOptions): void {
  if (parseIp(host.PrimaryIP) === undefined) {
    const message = `Host IP address ${host.PrimaryIP} from response is invalid`;
    throw wrong(message, "HostPrimaryIPInfo.PrimaryIP", options);
  }
  if (parseIp(host.Gateway) === undefined) {
    const message = `Host Gateway ${host.Gateway} from response is invalid`;
    throw wrong(message, "HostPrimaryIPInfo.Gateway", options);
  }
}

/** One more address of the interface that is on the cluster's network; the last one says what is said once. */
function extendInfra(before: AzureNic | undefined, info: PodIpInfo, options: CnsNicOptions): AzureNic {
  const primary = info.NetworkContainerPrimaryIPConfig;
  const text = info.PodIPConfig.IPAddress;
  const ip = parseIp(text);
  const length = ip === undefined ? primary.IPSubnet.PrefixLength : prefixLengthOf(ip, primary);
  const address = requireAddress(text, length, options);
  const named = gatewayOf(address.ip, primary);
  if (named === undefined && !options.isOverlay) {
    const message = `Gateway address ${primary.GatewayIPAddress} from response is invalid: invalid arg(s)`;
    throw wrong(message, "NetworkContainerPrimaryIPConfig.GatewayIPAddress", options);
  }
  const gateway = named ?? overlayGateway(address, options);
  const { Subnet } = info.HostPrimaryIPInfo;
  const hostSubnet = parseInterfaceAddress(Subnet);
  if (hostSubnet === undefined) {
    const message = `unable to parse hostSubnet: invalid CIDR address: ${Subnet}`;
    throw wrong(message, "HostPrimaryIPInfo.Subnet", options);
  }
  const routes = readRoutes(info.Routes, info.SkipDefaultRoutes, options);
  const fallback = { destination: DEFAULT_ROUTES[familyOf(address.ip)], gateway };
  if (!options.isOverlay) requireHost(info, options);
  return {
    ...PLAIN_NIC,
    skipsDefaultRoutes: info.SkipDefaultRoutes,
    ips: [...(before?.ips ?? []), { address, gateway }],
    routes: [...(before?.routes ?? []), ...(routes.length > 0 ? routes : [fallback])],
    hostSubnet,
    policies: info.EndpointPolicies.map(({ Type, Data }) => ({ name: Type, value: Data })),
  };
}

function readSecondAddress(
  { NetworkContainerIPv6Config: config }: PodIpInfo,
  options: CnsNicOptions,
): readonly CniIp[] {
  const text = config.IPSubnet.IPAddress;
  if (text === "") return [];
  const ip = parseIpv6(text);
  const member = "NetworkContainerIPv6Config";
  if (ip === undefined) {
    const message = `${text}: invalid IPv6 address from NetworkContainerIPv6Config`;
    throw wrong(message, `${member}.IPSubnet`, options);
  }
  const gateway = parseIpv6(config.GatewayIPAddress);
  if (gateway === undefined) {
    const message = `${config.GatewayIPAddress}: invalid gateway IPv6 address`;
    throw wrong(message, `${member}.GatewayIPAddress`, options);
  }
  return [{ address: { ip, length: config.IPSubnet.PrefixLength }, gateway }];
}

/** An interface of the pod's own, which the host hands over. */
function frontendNic(info: PodIpInfo, options: CnsNicOptions): AzureNic {
  const { IPAddress, PrefixLength } = info.PodIPConfig;
  const address = requireAddress(IPAddress, PrefixLength, options);
  const mac = requireMac(info.MacAddress, options);
  const primary = info.NetworkContainerPrimaryIPConfig;
  return {
    ...PLAIN_NIC,
    type: "FrontendNIC",
    mac,
    skipsDefaultRoutes: info.SkipDefaultRoutes,
    ips: [withGateway(address, parseIp(primary.GatewayIPAddress)), ...readSecondAddress(info, options)],
    routes: readRoutes(info.Routes, info.SkipDefaultRoutes, options),
  };
}

/** A device without addresses. Upstream forgets one whose device CNS does not name. */
function backendNic(info: PodIpInfo, options: CnsNicOptions): readonly AzureNic[] {
  const mac = requireMac(info.MacAddress, options);
  if (info.PnPID === "") {
    if (!options.differences.refusesUnknownNics) return [];
    throw wrong("pnp id is not received from cns", "PnPID", options);
  }
  const { PnPID: pnpId, SkipDefaultRoutes: skipsDefaultRoutes } = info;
  return [{ ...PLAIN_NIC, type: "BackendNIC", mac, skipsDefaultRoutes, pnpId }];
}

/** The way between the host and the container. */
function apipaNic(info: PodIpInfo, options: CnsNicOptions): AzureNic {
  const { IPAddress, PrefixLength } = info.PodIPConfig;
  const address = requireAddress(IPAddress, PrefixLength, options);
  return {
    ...PLAIN_NIC,
    type: "ApipaNIC",
    ips: [withGateway(address, parseIp(info.NetworkContainerPrimaryIPConfig.GatewayIPAddress))],
    skipsDefaultRoutes: true,
    networkContainerId: info.NetworkContainerID,
    allowsHostToContainer: info.AllowHostToNCCommunication,
    allowsContainerToHost: info.AllowNCToHostCommunication,
  };
}

/** Row 139. */
function requireOneDefault(count: number, options: CnsNicOptions): void {
  if (count === 1) return;
  const message = "add result requires exactly one interface with default routes";
  throw wrong(message, "SkipDefaultRoutes", options);
}

/** @throws CniError for an answer that no pod can be made of */
function allocationOf(infos: readonly PodIpInfo[], options: CnsNicOptions): AzureAllocation {
  const nics = new Map<string, AzureNic>();
  let primaryIp = "";
  let defaults = 0;
  for (const info of infos) {
    const key = info.MacAddress.toLowerCase();
    switch (info.NICType) {
      case "FrontendNIC":
        if (!info.SkipDefaultRoutes) defaults++;
        nics.set(key, frontendNic(info, options));
        break;
      case "BackendNIC":
        for (const nic of backendNic(info, options)) nics.set(key, nic);
        break;
      case "ApipaNIC":
        nics.set("ApipaNIC", apipaNic(info, options));
        break;
      case "InfraNIC":
      case "": {
        const before = nics.get("InfraNIC");
        // Two families are one interface.
        if (before === undefined && !info.SkipDefaultRoutes) defaults++;
        const { IPAddress } = info.NetworkContainerPrimaryIPConfig.IPSubnet;
        if (typeof parseIp(IPAddress) === "number") primaryIp = IPAddress;
        nics.set("InfraNIC", extendInfra(before, info, options));
        break;
      }
      default:
        if (options.differences.refusesUnknownNics) {
          const message = WORDS.cnsNicTypeUnknown({ type: JSON.stringify(info.NICType) });
          throw wrong(message, "NICType", options);
        }
    }
  }
  requireOneDefault(defaults, options);
  const all = [...nics.values()];
  const infra = all.filter(({ type }) => type === "InfraNIC");
  return {
    nics: [...infra, ...all.filter(({ type }) => type !== "InfraNIC")],
    primaryIp,
    snat: { forDns: false, onHost: false },
  };
}

interface CnsAddressesOptions {
  readonly client: CnsClient;
  readonly pendingReleases: PendingReleases;
  readonly configuration: AzureConfiguration;
  readonly containerId: string;
  /** The endpoint's name, by which CNS distinguishes attachments. */
  readonly podInterfaceId: string;
  readonly pod: PodContext;
  readonly differences: AzureDifferences;
}

export class CnsAddresses implements AddressSource {
  private readonly options: CnsAddressesOptions;

  constructor(options: CnsAddressesOptions) {
    this.options = options;
  }

  async add(): Promise<AzureAllocation> {
    const { client, differences, configuration } = this.options;
    const prefix = "IPAM Invoker Add failed with error: failed to add ipam invoker";
    let infos: readonly PodIpInfo[];
    try {
      infos = await client.requestIps(this.request(null));
    } catch (error) {
      throw cnsFailure(`${prefix}: Failed to get IP address from CNS`, error, client, differences);
    }
    try {
      return allocationOf(infos, { isOverlay: configuration.isOverlay, differences });
    } catch (error) {
      if (differences.givesBackAddresses) await this.forgive(() => client.releaseIps(this.request(null)));
      throw cnsFailure(prefix, error, client, differences);
    }
  }

  /** When CNS is not there, a file reports it later (row 137). */
  async release(address: InterfaceAddress | undefined): Promise<void> {
    const { client, differences, configuration } = this.options;
    const request = this.request(address === undefined ? null : [formatIp(address.ip)]);
    try {
      await client.releaseIps(request);
    } catch (error) {
      if (!isCnsFailure(error, "unreachable")) {
        const shown = `[${(request.desiredIPAddresses ?? []).join(" ")}]`;
        const action = `failed to release IP ${shown} using ReleaseIPs with err %w`;
        throw cnsFailure(differences.explains ? "failed to release IP" : action, error, client, differences);
      }
      if (configuration.hasNoAsyncDelete) {
        const action = WORDS.releaseWithoutAsyncDelete;
        throw cnsFailure(action, error, client, differences);
      }
      await this.leaveToCns();
    }
  }

  /** @throws CniError when CNS holds no address for the container any more */
  async check(): Promise<void> {
    const { containerId, podInterfaceId } = this.options;
    const assigned = await this.ask("CHECK", () => this.options.client.addressesIn("Assigned"));
    const isHeld = assigned.some(
      (each) => each.containerId === containerId || each.interfaceId === podInterfaceId,
    );
    if (isHeld) return;
    const message = `CNS holds no address for container ${containerId} any more; recreate it`;
    throw new CniError(CNI_CODES.internal, message);
  }

  /** Ready when CNS answers and has an address. */
  async status(): Promise<void> {
    const { client } = this.options;
    const free = await addressesWhenReady(client);
    if (free.length > 0) return;
    throw new CniError(CNI_CODES.pluginNotAvailable, `CNS at ${client.origin} has no free address`, {
      knowledge: "azure-cns-pool-exhausted",
    });
  }

  /** CNS says who holds addresses, so what no attachment holds is given back without a state of ours. */
  async gc(valid: readonly GcAttachment[] | undefined): Promise<void> {
    if (valid === undefined) return;
    const { client } = this.options;
    const assigned = await this.ask("GC", () => client.addressesIn("Assigned"));
    const stale = new Map(
      assigned
        .filter(({ containerId }) => !valid.some((each) => each.containerId === containerId))
        .map((each) => [each.interfaceId, each.containerId]),
    );
    for (const [podInterfaceID, infraContainerID] of stale) {
      const request = { ...this.request(null), podInterfaceID, infraContainerID, orchestratorContext: null };
      await this.ask("GC", () => client.releaseIps(request));
    }
  }

  private async ask<T>(verb: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw cnsFailure(`${verb}: CNS`, error, this.options.client, this.options.differences);
    }
  }

  private async leaveToCns(): Promise<void> {
    const { pendingReleases, containerId, podInterfaceId, differences } = this.options;
    try {
      await pendingReleases.add(containerId, podInterfaceId, differences.writesWholeReleases);
    } catch (error) {
      const message = WORDS.pendingReleaseNotWritten({
        containerId,
        podInterfaceId,
        error: describeError(error),
      });
      throw new CniError(CNI_CODES.internal, message, { knowledge: "azure-cns-down", cause: error });
    }
  }

  private async forgive(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof CnsError)) throw error;
      // DEL will release them.
    }
  }

  private request(desiredIPAddresses: readonly string[] | null): IpConfigsRequest {
    const { podInterfaceId, containerId, pod } = this.options;
    return {
      desiredIPAddresses,
      podInterfaceID: podInterfaceId,
      infraContainerID: containerId,
      orchestratorContext: pod,
      ifname: "",
    };
  }
}
