/** Networks in stored form. */
import {
  type HostComputeNetwork,
  NETWORK_FLAGS,
  NETWORK_TYPES,
  parseNetwork,
  subnetsOf,
  type Subnet,
} from "#contracts/hcn/documents/network.ts";
import { parseNetworkPolicy, parseSubnetPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { NETWORK_POLICY_TYPES } from "#contracts/hcn/documents/policy-type.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { chooseMac, chooseMacRange } from "../service/address-pool.ts";
import type {
  BareSubnetRecord,
  IpSubnetRecord,
  MacRange,
  NetworkRecord,
  SubnetRecord,
} from "../service/records.ts";
import { bringUpNetwork } from "../service/network/networks.ts";
import { traitsOf } from "../service/network/type-traits.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { networkDocument, networkDocumentV1 } from "../view/network-view.ts";
import { type LenientReader, readPrefix, readBaseFields, readPolicyRecords } from "./lenient-reader.ts";
import { type StoredKindRow, storedKind } from "./stored-kind.ts";
import { hnsFiles } from "#data/words.js";

const WORDS = hnsFiles();

const NO_MAC = 0 as Mac;
const NO_EXTENSIONS = Object.freeze({});

function readMacRanges(document: HostComputeNetwork): readonly MacRange[] {
  const ranges: MacRange[] = [];
  for (const { StartMacAddress, EndMacAddress } of document.MacPool?.Ranges ?? []) {
    const [first, last] = [parseMac(StartMacAddress ?? ""), parseMac(EndMacAddress ?? "")];
    if (first !== undefined && last !== undefined && first <= last)
      ranges.push(Object.freeze({ first, last }));
  }
  return Object.freeze(ranges);
}

function readIpSubnets(subnet: Subnet, reader: LenientReader): readonly IpSubnetRecord[] {
  const blocks: IpSubnetRecord[] = [];
  for (const block of subnet.IpSubnets ?? []) {
    const prefix = readPrefix(block.IpAddressPrefix);
    if (prefix === undefined)
      reader.note(`The IP subnet ${block.IpAddressPrefix ?? ""} is not a prefix; left out`);
    else
      blocks.push(
        Object.freeze({ id: block.ID ?? "", name: block.Name ?? "", prefix, flags: block.Flags ?? 0 }),
      );
  }
  return Object.freeze(blocks);
}

function readSubnet(subnet: Subnet, reader: LenientReader): SubnetRecord | undefined {
  const prefix = readPrefix(subnet.IpAddressPrefix);
  if (prefix === undefined) {
    reader.note(`The subnet ${JSON.stringify(subnet.IpAddressPrefix ?? "")} is not a prefix; left out`);
    return undefined;
  }
  const own = reader.inside({ Routes: subnet.Routes ?? [], Policies: subnet.Policies ?? [] });
  const routes = own.routes();
  return Object.freeze({
    id: subnet.ID ?? "",
    name: subnet.Name ?? "",
    prefix,
    routes,
    gateway: routes.find((route) => route.destination.length === 0)?.nextHop,
    policies: readPolicyRecords(own, ["VLAN", "VSID"], parseSubnetPolicy),
    ipSubnets: readIpSubnets(subnet, reader),
    flags: subnet.Flags ?? 0,
  });
}

/** Of a DHCP network, whose endpoints get their addresses elsewhere. */
function isBare(subnet: Subnet): boolean {
  return (subnet.IpAddressPrefix ?? "") === "";
}

function readBareSubnet(subnet: Subnet, reader: LenientReader): BareSubnetRecord {
  const own = reader.inside({ Policies: subnet.Policies ?? [] });
  return Object.freeze({
    id: subnet.ID ?? "",
    name: subnet.Name ?? "",
    policies: readPolicyRecords(own, ["VLAN", "VSID"], parseSubnetPolicy),
    flags: subnet.Flags ?? 0,
  });
}

/** The parts of the document that are read one by one, so that one that does not read costs itself only. */
const PARTS = ["MacPool", "Ipams"] as const;

function readParts(reader: LenientReader): HostComputeNetwork {
  const parts = PARTS.map((part) =>
    reader.attempt(() => parseNetwork({ [part]: reader.document[part] ?? null })),
  );
  return Object.assign({}, ...parts) as HostComputeNetwork;
}

function read(context: ServiceContext, reader: LenientReader): NetworkRecord {
  const document = readParts(reader);
  const policies = readPolicyRecords(reader, NETWORK_POLICY_TYPES, parseNetworkPolicy);
  const adapter = policies.find((policy) => policy.Type === "NetAdapterName");
  const given = subnetsOf(document);
  const ipamType = document.Ipams?.[0] === undefined ? undefined : (document.Ipams[0].Type ?? "Static");
  const isDhcp = ipamType === "Dhcp";
  const subnets = given
    .filter((subnet) => !(isDhcp && isBare(subnet)))
    .map((subnet) => readSubnet(subnet, reader));
  const type = reader.attempt((strict) => strict.enumeration("Type", NETWORK_TYPES));
  const { switchKind } = traitsOf(type ?? "NAT");
  const switchId =
    reader.guidAt("Health", "Extra", "SwitchGuid") ?? reader.guidAt("Health", "Extra", "LayeredOn");
  return {
    ...readBaseFields(context, reader),
    type: type ?? "NAT",
    switchKind,
    adapterName: switchKind === "external" ? (adapter?.Settings.NetworkAdapterName ?? "") : undefined,
    switchId: switchId ?? "",
    layerId: reader.guidAt("Health", "Extra", "LayeredOn") ?? "",
    policies,
    macRanges: readMacRanges(document),
    dns: reader.dns(),
    ipamType,
    subnets: Object.freeze(subnets.filter((subnet) => subnet !== undefined)),
    bareSubnets: Object.freeze(
      isDhcp ? given.filter(isBare).map((subnet) => readBareSubnet(subnet, reader)) : [],
    ),
    flags: reader.number("Flags"),
    drMac: NO_MAC,
    hostMac: switchKind === "internal" ? NO_MAC : undefined,
    isIsolated: (reader.number("Flags") & NETWORK_FLAGS.IsolateVSwitch) !== 0,
    extensions: NO_EXTENSIONS,
    addressedAtMs: 0,
  };
}

/** Dumps of old builds show no blocks: one covers the subnet then. */
function blocksOf({ ipSubnets, prefix }: SubnetRecord): readonly IpSubnetRecord[] {
  return ipSubnets.length > 0 ? ipSubnets : [{ id: "", name: "", prefix, flags: 0 }];
}

/** True when the id is that of another network's switch, and that switch is of another kind or on another adapter. */
function hasOtherSwitch(context: ServiceContext, network: NetworkRecord): boolean {
  return [...context.state.networks.values()].some(
    (other) =>
      other.switchId === network.switchId &&
      (other.switchKind !== network.switchKind || other.adapterName !== network.adapterName),
  );
}

/** What neither document nor `internal` says: the service chooses it, as for a new network. */
function complete(context: ServiceContext, network: NetworkRecord): NetworkRecord {
  const taken = [...context.state.networks.values()].flatMap((other) => other.macRanges);
  const subnets = network.subnets.map((subnet) =>
    Object.freeze({
      ...subnet,
      id: context.chooseId(subnet.id === "" ? undefined : subnet.id),
      ipSubnets: Object.freeze(
        blocksOf(subnet).map((block) =>
          Object.freeze({ ...block, id: context.chooseId(block.id === "" ? undefined : block.id) }),
        ),
      ),
    }),
  );
  const isClashing = network.switchId !== "" && hasOtherSwitch(context, network);
  const switchId = network.switchId === "" || isClashing ? context.prng.guid() : network.switchId;
  const bareSubnets = network.bareSubnets.map((subnet) =>
    Object.freeze({ ...subnet, id: context.chooseId(subnet.id === "" ? undefined : subnet.id) }),
  );
  return {
    ...network,
    switchId,
    layerId: network.layerId === "" || isClashing ? switchId : network.layerId,
    bareSubnets: Object.freeze(bareSubnets),
    hostMac: network.hostMac === NO_MAC ? chooseMac(context.prng) : network.hostMac,
    macRanges:
      network.macRanges.length === 0
        ? Object.freeze([chooseMacRange(taken, context.prng)])
        : network.macRanges,
    drMac: network.drMac === NO_MAC ? chooseMac(context.prng) : network.drMac,
    subnets: Object.freeze(subnets),
  };
}

export const STORED_NETWORK: StoredKindRow = storedKind<NetworkRecord>({
  kind: "Network",
  records: (state) => state.networks,
  document: (context, network) => networkDocument(context, network, false),
  documentV1: (context, network) => networkDocumentV1(context, network, false),
  replace: (state, network) => state.networks.set(network.id, network),
  read,
  enter: (context, read_, report) => {
    const network = Object.freeze(complete(context, read_));
    if (read_.switchId !== "" && network.switchId !== read_.switchId) report(WORDS.switchIdTaken);
    if (!bringUpNetwork(context, network))
      report(
        `There is no adapter ${JSON.stringify(network.adapterName ?? "")} here; the network has no switch`,
      );
  },
});
