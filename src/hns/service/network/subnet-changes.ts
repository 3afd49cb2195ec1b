/** Subnets and IP subnets that come to a network and go (hcn.md §4.2, §5.2). */
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import type { ModifyRequestType } from "#contracts/hcn/documents/request.ts";
import {
  IP_SUBNET_READER,
  type IpSubnet,
  SUBNET_READER,
  type Subnet,
} from "#contracts/hcn/documents/network.ts";
import { type Prefix, bitsOf, familyOf, formatPrefix, prefixOf } from "#core/net/ip.ts";
import type { IpSubnetRecord, NetworkRecord, SubnetRecord } from "../records.ts";
import {
  checkDisjoint,
  findSharedAddresses,
  outermost,
  readIpSubnetRecord,
  readSubnetRecord,
} from "./network-validation.ts";
import type { ServiceContext } from "../service-context.ts";
import {
  blockFlagsOf,
  checkIsolation,
  checkSubnetCount,
  withGatewayOf,
  checkHostSubnets,
} from "./addressing.ts";
import { traitsOf } from "./type-traits.ts";

interface Entry {
  readonly id: Guid;
  readonly prefix: Prefix;
}

/** @throws HcnError HCN_E_ENTITY_HAS_REFERENCES when a local endpoint has an address of one of them. */
function checkUnused(context: ServiceContext, network: NetworkRecord, leaving: readonly Entry[]): void {
  const prefixes = new Set(leaving.map(({ prefix }) => formatPrefix(prefix)));
  const lengths = new Set(leaving.map(({ prefix }) => prefix.length));
  for (const endpoint of context.state.membersOf(network.id).local.values()) {
    for (const { ip } of endpoint.ipConfigs) {
      const possible = [...lengths].filter((length) => length <= bitsOf(familyOf(ip)));
      const around = possible.map((length) => formatPrefix(prefixOf(ip, length)));
      const found = around.find((prefix) => prefixes.has(prefix));
      if (found === undefined) continue;
      throw new HcnError("HCN_E_ENTITY_HAS_REFERENCES", {
        detail: `Endpoint ${endpoint.id} has an address of ${found}; delete it first`,
      });
    }
  }
}

function checkTakesSubnets({ type, ipamType }: NetworkRecord): void {
  if (ipamType !== "Dhcp" && traitsOf(type).ipams.includes("Static")) return;
  throw new HcnError("HCN_E_INVALID_SUBNET", {
    detail: "The network gets its addresses by DHCP and has no subnets",
  });
}

function addSubnets(
  context: ServiceContext,
  network: NetworkRecord,
  given: readonly Subnet[],
): readonly SubnetRecord[] {
  checkTakesSubnets(network);
  const { type } = network;
  const added = given.map((subnet, index) => {
    const where = `Subnets[${index}]`;
    const record = readSubnetRecord(context, subnet, where, "HCN_E_INVALID_SUBNET", blockFlagsOf(type));
    return withGatewayOf(type, record);
  });
  const subnets = [...network.subnets, ...added];
  checkDisjoint(subnets, "HCN_E_INVALID_SUBNET");
  checkIsolation(type, subnets, "HCN_E_INVALID_SUBNET");
  checkSubnetCount(type, subnets, "HCN_E_INVALID_SUBNET");
  checkHostSubnets(context, network, added);
  return subnets;
}

function unknownSubnet(name: string): HcnError {
  return new HcnError("HCN_E_SUBNET_NOT_FOUND", { detail: `The network has no subnet ${name}` });
}

/**
 * The entries that a request names, none of them in use. Inferred: one that is not there is told, since clients that
 * remove one hold its id.
 */
function findLeaving<R extends Entry>(
  context: ServiceContext,
  network: NetworkRecord,
  entries: readonly R[],
  given: readonly IpSubnet[],
): ReadonlySet<R> {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const byPrefix = new Map(entries.map((entry) => [formatPrefix(entry.prefix), entry]));
  const leaving = given.map(({ ID, IpAddressPrefix }) => {
    const found = (ID === undefined ? undefined : byId.get(ID)) ?? byPrefix.get(IpAddressPrefix ?? "");
    if (found === undefined) throw unknownSubnet(IpAddressPrefix ?? ID ?? "without a prefix");
    return found;
  });
  checkUnused(context, network, leaving);
  return new Set(leaving);
}

function removeSubnets(
  context: ServiceContext,
  network: NetworkRecord,
  given: readonly Subnet[],
): readonly SubnetRecord[] {
  const leaving = findLeaving(context, network, network.subnets, given);
  return network.subnets.filter((subnet) => !leaving.has(subnet));
}

/** The subnets of a network after a `Subnet` request. */
export function changeSubnets(
  context: ServiceContext,
  network: NetworkRecord,
  requestType: ModifyRequestType,
  settings: JsonObject,
): readonly SubnetRecord[] {
  const reader = new JsonReader(settings, "Settings", "HCN_E_INVALID_JSON");
  const given = reader.list("Subnets", (each) => SUBNET_READER.read(each)) ?? [];
  const change = requestType === "Add" ? addSubnets : removeSubnets;
  return Object.freeze(change(context, network, given));
}

/** Inferred: the blocks of a subnet are apart, as subnets are. */
function addBlocks(
  context: ServiceContext,
  subnet: SubnetRecord,
  given: readonly IpSubnet[],
): readonly IpSubnetRecord[] {
  const added = given.map((block, index) =>
    readIpSubnetRecord(context, block, subnet.prefix, `IpSubnets[${index}]`),
  );
  // A network may have been made with blocks within blocks.
  const present = outermost(subnet.ipSubnets);
  const found = findSharedAddresses([...present, ...added]);
  if (found === undefined) return [...subnet.ipSubnets, ...added];
  const [block, other] = [found.entry, found.other].map(({ prefix }) => formatPrefix(prefix));
  throw new HcnError("HCN_E_INVALID_IP_SUBNET", {
    detail: `IpSubnets[${found.index - present.length}] ${block} overlaps the block ${other}`,
  });
}

/** Inferred: the last block of a subnet stays, because endpoints bind to one. */
function removeBlocks(
  context: ServiceContext,
  network: NetworkRecord,
  subnet: SubnetRecord,
  given: readonly IpSubnet[],
): readonly IpSubnetRecord[] {
  const leaving = findLeaving(context, network, subnet.ipSubnets, given);
  const blocks = subnet.ipSubnets.filter((block) => !leaving.has(block));
  if (blocks.length > 0) return blocks;
  throw new HcnError("HCN_E_INVALID_IP_SUBNET", {
    detail: `${formatPrefix(subnet.prefix)} would have no block left; remove the subnet instead`,
  });
}

/** The subnets of a network after an `IPSubnet` request. */
export function changeIpSubnets(
  context: ServiceContext,
  network: NetworkRecord,
  requestType: ModifyRequestType,
  settings: JsonObject,
): readonly SubnetRecord[] {
  const reader = new JsonReader(settings, "Settings", "HCN_E_INVALID_JSON");
  const subnetId = reader.guid("SubnetId");
  const subnet = network.subnets.find((candidate) => candidate.id === subnetId);
  if (subnet === undefined) throw unknownSubnet(subnetId ?? "without SubnetId");
  const given = reader.list("IpSubnets", (each) => IP_SUBNET_READER.read(each)) ?? [];
  const ipSubnets =
    requestType === "Add" ? addBlocks(context, subnet, given) : removeBlocks(context, network, subnet, given);
  const changed = Object.freeze({ ...subnet, ipSubnets: Object.freeze(ipSubnets) });
  return Object.freeze(network.subnets.map((each) => (each === subnet ? changed : each)));
}
