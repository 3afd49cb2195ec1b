/** Addresses of pods, as the annotation `k8s.ovn.org/pod-networks` has them (control-planes.md §4.2, "Per pod"). */
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import {
  type Ipv4,
  type Prefix,
  addToIp,
  formatIp,
  formatPrefix,
  lastIp,
  parseInterfaceAddress,
  parseIp,
  prefixContains,
} from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { macOfAddress } from "./input.ts";

export const POD_NETWORKS = "k8s.ovn.org/pod-networks";

/** The router has the first address of a node's subnet, the node itself the second; pods have the others. */
const FIRST_POD = 3;

/** Why a pod gets no address. */
export class PodNetworkRefused extends Error {
  override readonly name = "PodNetworkRefused";
  readonly isExhausted: boolean;

  constructor(message: string, isExhausted: boolean) {
    super(message);
    this.isExhausted = isExhausted;
  }
}

/** What a node's program reads of the annotation. */
export interface PodNetwork {
  readonly address: Ipv4;
  readonly length: number;
  readonly mac: string;
  readonly gateway: string;
}

function firstOf(value: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(value) ? (value as readonly JsonValue[])[0] : undefined;
}

/** Reads the annotation's network `default`; undefined for a text that is none. */
export function readPodNetworks(text: string): PodNetwork | undefined {
  let document: JsonValue;
  try {
    document = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  const own = mappingOf(document)["default"];
  if (!isJsonObject(own)) return undefined;
  const {
    ip_addresses: ips,
    ip_address: only,
    mac_address: mac,
    gateway_ips: gateways,
    gateway_ip: gateway,
  } = own;
  const first = firstOf(ips) ?? only;
  const via = firstOf(gateways) ?? gateway;
  const address = typeof first === "string" ? parseInterfaceAddress(first) : undefined;
  if (
    address === undefined ||
    typeof address.ip !== "number" ||
    typeof mac !== "string" ||
    parseMac(mac) === undefined ||
    typeof via !== "string" ||
    parseIp(via) === undefined
  )
    return undefined;
  return { address: address.ip, length: address.length, mac, gateway: via };
}

/** Gives the pods of one cluster their addresses, as the controller does when a pod has a node. */
export class PodNetworks {
  private readonly clusterCIDR: Prefix;
  /** By pod; and which addresses they are. */
  private readonly given = new Map<string, Ipv4>();
  private readonly taken = new Set<Ipv4>();
  private readonly kept: ReadonlySet<Ipv4>;

  /** `kept`: addresses that pods ask for: nobody else gets them. */
  constructor(clusterCIDR: Prefix, kept: readonly Ipv4[]) {
    this.clusterCIDR = clusterCIDR;
    this.kept = new Set(kept);
  }

  /** The annotation of a pod of a node with this subnet. @throws PodNetworkRefused */
  annotate(pod: string, subnet: Prefix, wanted: Ipv4 | undefined): JsonObject {
    const address = this.given.get(pod) ?? this.take(subnet, wanted);
    this.given.set(pod, address);
    const gateway = formatIp(addToIp(subnet.address, 1) as Ipv4);
    const ip = `${formatIp(address)}/${subnet.length}`;
    return {
      default: {
        ip_addresses: [ip],
        mac_address: macOfAddress(formatIp(address)),
        gateway_ips: [gateway],
        routes: [{ dest: formatPrefix(this.clusterCIDR), nextHop: gateway }],
        ip_address: ip,
        gateway_ip: gateway,
        role: "primary",
      },
    };
  }

  release(pod: string): void {
    const address = this.given.get(pod);
    if (address === undefined) return;
    this.given.delete(pod);
    this.taken.delete(address);
  }

  private take(subnet: Prefix, wanted: Ipv4 | undefined): Ipv4 {
    const [first, last] = [Number(subnet.address) + FIRST_POD, Number(lastIp(subnet)) - 1];
    const isPods = (ip: number): boolean => ip >= first && ip <= last;
    if (wanted !== undefined && (!prefixContains(subnet, wanted) || !isPods(wanted)))
      throw new PodNetworkRefused(
        `${formatIp(wanted)} is not an address for pods of ${formatPrefix(subnet)}`,
        false,
      );
    if (wanted !== undefined && this.taken.has(wanted))
      throw new PodNetworkRefused(`another pod has the address ${formatIp(wanted)}`, false);
    let found = wanted;
    for (let ip = first; found === undefined && ip <= last; ip++)
      if (!this.taken.has(ip as Ipv4) && !this.kept.has(ip as Ipv4)) found = ip as Ipv4;
    if (found === undefined)
      throw new PodNetworkRefused(`no address is free in ${formatPrefix(subnet)}`, true);
    this.taken.add(found);
    return found;
  }
}
