/**
 * `Get-NetAdapter`. Its form is that of antrea-io/antrea#3636, microsoft/SDN#219 and ChrisTitusTech/winutil#1889 (the table),
 * and of outputs of `| fl` that name a vNIC of Server 2022; saltstack/salt#56275 has the order of the properties.
 *
 * Inferred: the adapters of the own compartment alone, in the order in which they came, each of 10 Gbps; a node's physical
 * adapter under a virtual switch is none of the machine's, and its driver's date and version are left out.
 */
import { formatMac } from "#core/net/mac.ts";
import type { Adapter, Machine } from "../../machine.ts";
import { type Cmdlet, type Filter, filterObjects } from "../powershell/cmdlet.ts";
import { type ObjectKind, makeObject } from "../powershell/objects.ts";

const UP = { text: "Up", number: 1 };
const IS_VIRTUAL = /^vEthernet/;
const SPEED_GBPS = 10;

function medium({ link }: Adapter): string {
  return IS_VIRTUAL.test(link.name) ? "Unspecified" : "802.3";
}

const NET_ADAPTER: ObjectKind<Adapter> = {
  properties: [
    { name: "ifAlias", read: ({ link }) => link.name },
    { name: "InterfaceAlias", read: ({ link }) => link.name },
    { name: "ifIndex", read: ({ index }) => index },
    { name: "ifDesc", read: ({ description }) => description },
    { name: "LinkLayerAddress", read: ({ link }) => formatMac(link.mac) },
    { name: "MacAddress", read: ({ link }) => formatMac(link.mac) },
    { name: "Status", read: () => "Up" },
    { name: "LinkSpeed", read: () => `${SPEED_GBPS} Gbps` },
    { name: "MediaType", read: () => "802.3" },
    { name: "PhysicalMediaType", read: medium },
    { name: "AdminStatus", read: () => UP },
    { name: "MediaConnectionState", read: () => ({ text: "Connected", number: 1 }) },
    { name: "ifOperStatus", read: () => UP },
    { name: "Name", read: ({ link }) => link.name },
    { name: "InterfaceDescription", read: ({ description }) => description },
    { name: "InterfaceIndex", read: ({ index }) => index },
    { name: "MtuSize", read: ({ link }) => link.mtuBytes },
    { name: "ConnectorPresent", read: ({ link }) => !IS_VIRTUAL.test(link.name) },
  ],
  table: [
    { name: "Name", width: 25, fit: "keep-number" },
    { name: "InterfaceDescription", width: 39, fit: "keep-number" },
    { name: "ifIndex", width: 7, isRight: true },
    { name: "Status", width: 12 },
    { name: "MacAddress", width: 17 },
    { name: "LinkSpeed", width: 14, isRight: true },
  ],
  list: [
    { name: "Name", read: ({ link }) => link.name },
    { name: "InterfaceDescription", read: ({ description }) => description },
    { name: "InterfaceIndex", read: ({ index }) => index },
    { name: "MacAddress", read: ({ link }) => formatMac(link.mac) },
    { name: "MediaType", read: () => "802.3" },
    { name: "PhysicalMediaType", read: medium },
    { name: "InterfaceOperationalStatus", read: () => UP },
    { name: "AdminStatus", read: () => UP },
    { name: "LinkSpeed(Gbps)", read: () => SPEED_GBPS },
    { name: "MediaConnectionState", read: () => "Connected" },
    { name: "ConnectorPresent", read: ({ link }) => !IS_VIRTUAL.test(link.name) },
  ],
};

const FILTERS: readonly Filter[] = [
  { parameter: "Name", property: "Name" },
  { parameter: "InterfaceDescription", property: "InterfaceDescription" },
  { parameter: "InterfaceIndex", property: "InterfaceIndex" },
  { parameter: "ifIndex", property: "InterfaceIndex" },
  { parameter: "InterfaceAlias", property: "Name" },
];

export const GET_NET_ADAPTER: Cmdlet = {
  name: "Get-NetAdapter",
  usages: [
    "Get-NetAdapter [[-Name] NAME] [-InterfaceDescription TEXT] [-InterfaceIndex INDEX] [-IncludeHidden]",
  ],
  parameters: FILTERS.map(({ parameter }) => parameter),
  positions: 1,
  switches: ["IncludeHidden"],
  others: ["Physical", "CimSession", "ThrottleLimit", "AsJob"],
  run: ({ adapters }: Machine, given) =>
    filterObjects(
      "Get-NetAdapter",
      "MSFT_NetAdapter",
      adapters.map((each) => makeObject(NET_ADAPTER, each)),
      FILTERS,
      given,
    ),
};
