/**
 * `Get-NetNeighbor`. Its form is that of outputs that people print in answers about virtual machines: the highest index first, IPv6 in
 * front of IPv4, a MAC of zeros where nobody answered.
 */
import { type IpFamily, familyOf, formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { NeighborState } from "#dataplane/host/ip/neighbor-table.ts";
import type { Adapter, Machine } from "../../machine.ts";
import { neighboursOf } from "../neighbours.ts";
import { ADDRESS_FAMILIES } from "./address-family.ts";
import { type Cmdlet, type Filter, filterObjects } from "../powershell/cmdlet.ts";
import { type ObjectKind, type Value, makeObject } from "../powershell/objects.ts";

interface NeighborRow {
  readonly ip: string;
  readonly family: IpFamily;
  readonly mac: string;
  readonly state: Value;
  readonly index: number;
  readonly alias: string;
}

/** The states of MSFT_NetNeighbor. */
const STATES: Readonly<Record<NeighborState, Value>> = {
  failed: { text: "Unreachable", number: 0 },
  incomplete: { text: "Incomplete", number: 1 },
  probe: { text: "Probe", number: 2 },
  reachable: { text: "Reachable", number: 5 },
  permanent: { text: "Permanent", number: 6 },
};
const NO_MAC = "00-00-00-00-00-00";

const NET_NEIGHBOR: ObjectKind<NeighborRow> = {
  properties: [
    { name: "ifIndex", read: ({ index }) => index },
    { name: "InterfaceIndex", read: ({ index }) => index },
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "AddressFamily", read: ({ family }) => ADDRESS_FAMILIES[family] },
    { name: "IPAddress", read: ({ ip }) => ip },
    { name: "LinkLayerAddress", read: ({ mac }) => mac },
    { name: "State", read: ({ state }) => state },
    { name: "PolicyStore", read: () => "ActiveStore" },
  ],
  table: [
    { name: "ifIndex", width: 7 },
    { name: "IPAddress", width: 50 },
    { name: "LinkLayerAddress", width: 21 },
    { name: "State", width: 11 },
    { name: "PolicyStore", width: 11 },
  ],
};

function rowsOf({ index, link }: Adapter, family: IpFamily): readonly NeighborRow[] {
  return neighboursOf(link)
    .filter(({ ip }) => familyOf(ip) === family)
    .map(({ ip, mac, state }) => ({
      index,
      alias: link.name,
      family,
      ip: formatIp(ip),
      mac: mac === undefined ? NO_MAC : formatMac(mac),
      state: STATES[state],
    }));
}

const FILTERS: readonly Filter[] = [
  { parameter: "IPAddress", property: "IPAddress" },
  { parameter: "InterfaceIndex", property: "InterfaceIndex" },
  { parameter: "ifIndex", property: "InterfaceIndex" },
  { parameter: "InterfaceAlias", property: "InterfaceAlias" },
  { parameter: "LinkLayerAddress", property: "LinkLayerAddress" },
  { parameter: "State", property: "State" },
  { parameter: "AddressFamily", property: "AddressFamily" },
];

export const GET_NET_NEIGHBOR: Cmdlet = {
  name: "Get-NetNeighbor",
  usages: [
    "Get-NetNeighbor [[-IPAddress] ADDRESS] [-InterfaceIndex INDEX] [-InterfaceAlias NAME] [-AddressFamily IPv4|IPv6]",
    "Get-NetNeighbor [-LinkLayerAddress MAC] [-State Reachable|Permanent|Unreachable]",
  ],
  parameters: FILTERS.map(({ parameter }) => parameter),
  positions: 1,
  switches: [],
  others: [
    "AssociatedIPInterface",
    "IncludeAllCompartments",
    "PolicyStore",
    "CimSession",
    "ThrottleLimit",
    "AsJob",
  ],
  run: (machine: Machine, given) => {
    const rows = ([6, 4] as const).flatMap((family) =>
      machine.adapters.toReversed().flatMap((adapter) => rowsOf(adapter, family)),
    );
    const objects = rows.map((each) => makeObject(NET_NEIGHBOR, each));
    return filterObjects("Get-NetNeighbor", "MSFT_NetNeighbor", objects, FILTERS, given);
  },
};
