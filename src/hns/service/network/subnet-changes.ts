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
import { type Prefix, formatPrefix, prefixContains, prefixesOverlap } from "#core/net/ip.ts";
import type { IpSubnetRecord, NetworkRecord, SubnetRecord } from "./network-record.ts";
import { checkDisjoint, readIpSubnetRecord, readSubnetRecord } from "./network-validation.ts";
import type { ServiceContext } from "../service-context.ts";
import {
  blockFlagsOf,
  checkIsolation,
  checkSubnetCount,
  withGatewayOf,
  checkHostSubnets,
} from "./addressing.ts";
import { traitsOf } from "./type-traits.ts";

/** @throws HcnError HCN_E_ENTITY_HAS_REFERENCES when a local endpoint has an address of `prefix`. */
function checkUnused(context: ServiceContext, network: NetworkRecord, prefix: Prefix): void {
  const user = [...context.state.membersOf(network.id).local.values()].find((endpoint) =>
    endpoint.ipConfigs.some((config) => prefixContains(prefix, config.ip)),
  );
  if (user === undefined) return;
  throw new HcnError("HCN_E_ENTITY_HAS_REFERENCES", {
    detail: `Endpoint ${user.id} has an address of ${formatPrefix(prefix)}; delete it first`,
  });
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

/** The entry that a request names, by its id or by its prefix. */
function findNamed<R extends { readonly id: Guid; readonly prefix: Prefix }>(
  entries: readonly R[],
  { ID, IpAddressPrefix }: IpSubnet,
): R | undefined {
  const byId = ID === undefined ? undefined : entries.find((entry) => entry.id === ID);
  return byId ?? entries.find((entry) => formatPrefix(entry.prefix) === IpAddressPrefix);
}

function unknownSubnet(name: string): HcnError {
  return new HcnError("HCN_E_SUBNET_NOT_FOUND", { detail: `The network has no subnet ${name}` });
}

/**
 * The entries that a request names, none of them in use. Inferred: one that is not there is told, since clients that
 * remove one hold its id.
 */
function findLeaving<R extends { readonly id: Guid; readonly prefix: Prefix }>(
  context: ServiceContext,
  network: NetworkRecord,
  entries: readonly R[],
  given: readonly IpSubnet[],
): readonly R[] {
  const leaving = given.map((named) => {
    const found = findNamed(entries, named);
    if (found === undefined) throw unknownSubnet(named.IpAddressPrefix ?? named.ID ?? "without a prefix");
    return found;
  });
  for (const { prefix } of leaving) checkUnused(context, network, prefix);
  return leaving;
}

function removeSubnets(
  context: ServiceContext,
  network: NetworkRecord,
  given: readonly Subnet[],
): readonly SubnetRecord[] {
  const leaving = findLeaving(context, network, network.subnets, given);
  return network.subnets.filter((subnet) => !leaving.includes(subnet));
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
  const blocks = [...subnet.ipSubnets];
  for (const [index, block] of given.entries()) {
    const record = readIpSubnetRecord(context, block, subnet.prefix, `IpSubnets[${index}]`);
    const other = blocks.find((candidate) => prefixesOverlap(candidate.prefix, record.prefix));
    if (other !== undefined) {
      throw new HcnError("HCN_E_INVALID_IP_SUBNET", {
        detail: `IpSubnets[${index}] ${formatPrefix(record.prefix)} overlaps the block ${formatPrefix(other.prefix)}`,
      });
    }
    blocks.push(record);
  }
  return blocks;
}

/** Inferred: the last block of a subnet stays, because endpoints bind to one. */
function removeBlocks(
  context: ServiceContext,
  network: NetworkRecord,
  subnet: SubnetRecord,
  given: readonly IpSubnet[],
): readonly IpSubnetRecord[] {
  const leaving = findLeaving(context, network, subnet.ipSubnets, given);
  const blocks = subnet.ipSubnets.filter((block) => !leaving.includes(block));
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
