/** The addresses of a new network: its Ipams, or the subnet that the service picks (hcn.md §2.5, §4.1). */
import {
  type HostComputeNetwork,
  IP_SUBNET_FLAGS,
  type IpamType,
  type NetworkType,
  type Subnet,
  subnetsOf,
} from "#contracts/hcn/documents/network.ts";
import { parseSubnetPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  type Ip,
  type Ipv4,
  type Prefix,
  addToIp,
  formatIp,
  formatPrefix,
  prefixCovers,
  prefixFamily,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type { BareSubnetRecord, NetworkRecord, SubnetRecord } from "../records.ts";
import { checkDisjoint, readSubnetRecord } from "./network-validation.ts";
import type { ServiceContext } from "../service-context.ts";
import { traitsOf } from "./type-traits.ts";
import type { Prng } from "#core/base/prng.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// The subnet that the service picks for a network that names none (hcn.md §4.1).

/** Results that were seen have 20 bits (hcn.md §4.1). */
const LENGTH = 20;
const BLOCK_SIZE = 2 ** (32 - LENGTH);

/**
 * Private ranges (RFC 1918) in the order in which they are tried: 172.16.0.0/12, where all published results lie.
 * Inferred: then 192.168.0.0/16 and 10.0.0.0/8.
 */
const RANGES = [
  { start: 0xac10_0000, blocks: 256 },
  { start: 0xc0a8_0000, blocks: 16 },
  { start: 0x0a00_0000, blocks: 4_096 },
] as const;

/**
 * A private /20 that overlaps nothing in `taken`.
 * @throws HcnError HCN_E_INVALID_NETWORK when all are taken.
 */
export function chooseFreeSubnet(taken: readonly Prefix[], prng: Prng): Prefix {
  for (const { start, blocks } of RANGES) {
    const offset = prng.below(blocks);
    for (let tried = 0; tried < blocks; tried++) {
      const address = (start + ((offset + tried) % blocks) * BLOCK_SIZE) as Ipv4;
      const candidate: Prefix = Object.freeze({ address, length: LENGTH });
      if (!taken.some((prefix) => prefixesOverlap(prefix, candidate))) return candidate;
    }
  }
  throw new HcnError("HCN_E_INVALID_NETWORK", {
    detail: WORDS.privateSubnetsExhausted({ length: LENGTH }),
  });
}

type Addressing = Pick<NetworkRecord, "ipamType" | "subnets" | "bareSubnets">;

function invalid(detail: string): HcnError {
  return new HcnError("HCN_E_INVALID_NETWORK", { detail });
}

/** How the endpoints get their addresses; undefined: the request does not say. */
function ipamTypeOf(document: HostComputeNetwork, type: NetworkType): IpamType | undefined {
  const ipams = document.Ipams ?? [];
  const types = new Set(ipams.map((ipam) => ipam.Type ?? "Static"));
  for (const given of types) {
    if (!traitsOf(type).ipams.includes(given)) throw invalid(WORDS.ipamTypeUnsupported({ given, type }));
  }
  const [first] = types;
  // Inferred: no client sends both.
  if (types.size > 1) throw invalid(WORDS.ipamTypesMixed);
  return first;
}

/** What docker writes for "pick a subnet for me" (hcn.md §4.1). */
function isAnySubnet({ IpAddressPrefix }: Subnet): boolean {
  return IpAddressPrefix === "0.0.0.0/0";
}

/** Subnets that the service must not pick from: those of networks and those that the node itself is in. */
function takenPrefixes(context: ServiceContext): readonly Prefix[] {
  const ofNetworks = [...context.state.networks.values()].flatMap((network) =>
    network.subnets.map((subnet) => subnet.prefix),
  );
  const ofNode = context.adapters.flatMap((adapter) =>
    context.datapath.addressesOf(adapter).map(({ ip, length }) => prefixOf(ip, length)),
  );
  return [...ofNetworks, ...ofNode];
}

function chosenSubnet(context: ServiceContext, wanted: Subnet): Subnet {
  const prefix = chooseFreeSubnet(takenPrefixes(context), context.prng);
  return { ...wanted, IpAddressPrefix: formatPrefix(prefix), Routes: [] };
}

/**
 * Where the host translates it is the gateway. Inferred: by the first address of the subnet, which is what results
 * show where the service picked the subnet (hcn.md §9.1), and clients leave routes out (hcn.md §4.1).
 */
export function withGatewayOf(type: NetworkType, subnet: SubnetRecord): SubnetRecord {
  if (!traitsOf(type).hasChosenSubnet) return subnet;
  const gateway = addToIp(subnet.prefix.address, 1);
  if (gateway === undefined || subnet.routes.some((route) => route.destination.length === 0)) return subnet;
  const destination = prefixOf(subnet.prefix.address, 0);
  const route = Object.freeze({ destination, nextHop: gateway, metric: undefined });
  return Object.freeze({ ...subnet, routes: Object.freeze([...subnet.routes, route]), gateway });
}

/** A subnet of a DHCP network need not say which addresses it has (hcn.md §9.7). */
function readBareSubnet(context: ServiceContext, subnet: Subnet, where: string): BareSubnetRecord {
  const policies = (subnet.Policies ?? []).map((policy, index) =>
    parseSubnetPolicy(policy, `${where}.Policies[${index}]`),
  );
  return Object.freeze({
    id: context.chooseId(subnet.ID),
    name: subnet.Name ?? "",
    policies: Object.freeze(policies),
    flags: subnet.Flags ?? 0,
  });
}

/** Flags of the block that the service makes: where it translates it enters both (hcn.md §9.1, §2.5). */
export function blockFlagsOf(type: NetworkType): number {
  if (!traitsOf(type).hasChosenSubnet) return 0;
  return IP_SUBNET_FLAGS.EnableBroadcast | IP_SUBNET_FLAGS.ReserveNetworkAddress;
}

/**
 * An Overlay network has exactly one VSID (hcn.md §4.1). That it is 4096 or more is flannel's rule, not the service's
 * (hcn.md §3.2). Inferred (hcn.md §11.26): networks on one adapter may have the same one, and different UDP ports.
 */
export function checkIsolation(
  type: NetworkType,
  subnets: readonly SubnetRecord[],
  code: "HCN_E_INVALID_NETWORK" | "HCN_E_INVALID_SUBNET",
): void {
  if (type !== "Overlay") return;
  const count = subnets.flatMap((subnet) =>
    subnet.policies.filter((policy) => policy.Type === "VSID"),
  ).length;
  if (count === 1) return;
  throw new HcnError(code, {
    detail: WORDS.overlayVsidCount({ count: count === 0 ? "none" : count }),
  });
}

/**
 * A NAT network has one subnet of IPv4, and one of IPv6 with dual stack (hcn.md §4.1).
 * Inferred: the code for more.
 */
export function checkSubnetCount(
  type: NetworkType,
  subnets: readonly SubnetRecord[],
  code: "HCN_E_INVALID_NETWORK" | "HCN_E_INVALID_SUBNET",
): void {
  if (type !== "NAT") return;
  const families = new Set(subnets.map((subnet) => prefixFamily(subnet.prefix)));
  if (families.size === subnets.length) return;
  throw new HcnError(code, { detail: WORDS.natSubnetsTooMany });
}

/** Reads the addressing of a create request. @throws HcnError HCN_E_INVALID_NETWORK. */
export function readAddressing(
  context: ServiceContext,
  document: HostComputeNetwork,
  type: NetworkType,
): Addressing {
  const traits = traitsOf(type);
  const ipamType = ipamTypeOf(document, type);
  const given = subnetsOf(document);
  const wanted = traits.hasChosenSubnet && given.length === 0 ? [{ IpAddressPrefix: "0.0.0.0/0" }] : given;
  const blockFlags = blockFlagsOf(type);
  const subnets: SubnetRecord[] = [];
  const bareSubnets: BareSubnetRecord[] = [];
  for (const [index, subnet] of wanted.entries()) {
    const where = `Subnets[${index}]`;
    if (ipamType === "Dhcp" && (subnet.IpAddressPrefix ?? "") === "") {
      bareSubnets.push(readBareSubnet(context, subnet, where));
      continue;
    }
    const source = traits.hasChosenSubnet && isAnySubnet(subnet) ? chosenSubnet(context, subnet) : subnet;
    const record = readSubnetRecord(context, source, where, "HCN_E_INVALID_NETWORK", blockFlags);
    subnets.push(withGatewayOf(type, record));
  }
  checkFamilies(context, subnets, type);
  checkDisjoint(subnets, "HCN_E_INVALID_NETWORK");
  checkIsolation(type, subnets, "HCN_E_INVALID_NETWORK");
  checkSubnetCount(type, subnets, "HCN_E_INVALID_NETWORK");
  return {
    ipamType: ipamType ?? (subnets.length > 0 ? "Static" : undefined),
    subnets: Object.freeze(subnets),
    bareSubnets: Object.freeze(bareSubnets),
  };
}

function checkFamilies(context: ServiceContext, subnets: readonly SubnetRecord[], type: NetworkType): void {
  const ipv6 = subnets.find((subnet) => prefixFamily(subnet.prefix) === 6);
  if (ipv6 === undefined || context.has("IPv6DualStack")) return;
  const { title } = context.windows.profile;
  throw invalid(`${title} has no IPv6 on ${type} networks: ${formatIp(ipv6.prefix.address)}`);
}

// Subnets that a host that translates cannot serve at once (hcn.md §4.1).

/** Networks whose gateway is the host. */
function hostedNetworks(context: ServiceContext, exceptId: string): readonly NetworkRecord[] {
  return [...context.state.networks.values()].filter(
    (network) => network.switchKind === "internal" && network.id !== exceptId,
  );
}

function codeOf(type: NetworkType): HcnErrorCode {
  return traitsOf(type).needsIcs ? "ERROR_DUP_NAME" : "ERROR_OBJECT_ALREADY_EXISTS";
}

/** What has `ip` on the host; undefined: nothing. */
function ownerOnHost(context: ServiceContext, ip: Ip, exceptId: string): string | undefined {
  for (const adapter of context.adapters)
    if (context.datapath.addressesOf(adapter).some((address) => address.ip === ip)) return adapter.name;
  for (const network of hostedNetworks(context, exceptId))
    if (network.subnets.some((subnet) => subnet.gateway === ip)) return `vEthernet (${network.name})`;
  return undefined;
}

/** Quirk `single-nat-prefix`: @throws HcnError for a subnet outside of what the first NAT network translates. */
function checkSinglePrefix(prefix: Prefix, others: readonly NetworkRecord[]): void {
  const first = others.find(({ type }) => traitsOf(type).hasChosenSubnet);
  if (first === undefined || first.subnets.some((subnet) => prefixCovers(subnet.prefix, prefix))) return;
  const whole = first.subnets.map((subnet) => formatPrefix(subnet.prefix)).join(", ");
  throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", {
    detail: `${formatPrefix(prefix)} is not in ${whole} of network ${first.name}`,
    explanation: "hns-nat-prefix-single",
  });
}

/**
 * Checks the subnets of a network whose gateway is the host: no other such network translates for the same addresses,
 * and nothing else on the host has the gateway's. Inferred: an Internal network may overlap others, since nothing is
 * translated; its gateway answers as that of NAT does.
 * @throws HcnError ERROR_OBJECT_ALREADY_EXISTS, for ICS ERROR_DUP_NAME.
 */
export function checkHostSubnets(
  context: ServiceContext,
  network: Pick<NetworkRecord, "id" | "type">,
  subnets: readonly SubnetRecord[],
): void {
  const traits = traitsOf(network.type);
  if (traits.switchKind !== "internal") return;
  for (const { prefix, gateway } of subnets) {
    const owner = gateway === undefined ? undefined : ownerOnHost(context, gateway, network.id);
    if (gateway !== undefined && owner !== undefined) {
      throw new HcnError(codeOf(network.type), {
        detail: `${owner} has the gateway's address ${formatIp(gateway)} already; choose another subnet`,
      });
    }
    if (!traits.hasChosenSubnet) continue;
    if (context.hasQuirk("single-nat-prefix")) {
      checkSinglePrefix(prefix, hostedNetworks(context, network.id));
      continue;
    }
    for (const other of hostedNetworks(context, network.id)) {
      if (!traitsOf(other.type).hasChosenSubnet) continue;
      const clash = other.subnets.find((candidate) => prefixesOverlap(candidate.prefix, prefix));
      if (clash === undefined) continue;
      throw new HcnError(codeOf(network.type), {
        detail: `${formatPrefix(prefix)} overlaps ${formatPrefix(clash.prefix)} of network ${other.name}; choose another subnet`,
      });
    }
  }
}
