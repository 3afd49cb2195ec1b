/**
 * `Get-NetRoute`. Its form is that of kubernetes-sigs/sig-windows-tools#214, aws/amazon-ecs-agent#3022 and antrea-io/antrea#2344:
 * the highest destination first, of one destination the last interface first, IPv6 behind IPv4.
 */
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { Machine } from "../../machine.ts";
import { type EffectiveRoute, effectiveRoutes } from "../effective-routes.ts";
import { notBuilt } from "../../command.ts";
import { ADDRESS_FAMILIES } from "./address-family.ts";
import {
  type Cmdlet,
  type CmdletOutput,
  type Filter,
  type Given,
  filterObjects,
} from "../powershell/cmdlet.ts";
import { type ObjectKind, makeObject } from "../powershell/objects.ts";

interface RouteRow {
  readonly route: EffectiveRoute;
  readonly alias: string;
  readonly family: 4 | 6;
}

function nextHop({ route, family }: RouteRow): string {
  if (route.nextHop !== undefined) return formatIp(route.nextHop);
  return family === 4 ? "0.0.0.0" : "::";
}

const NET_ROUTE: ObjectKind<RouteRow> = {
  properties: [
    { name: "ifIndex", read: ({ route }) => route.index },
    { name: "InterfaceIndex", read: ({ route }) => route.index },
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "AddressFamily", read: ({ family }) => ADDRESS_FAMILIES[family] },
    { name: "DestinationPrefix", read: ({ route }) => formatPrefix(route.prefix) },
    { name: "NextHop", read: nextHop },
    { name: "RouteMetric", read: ({ route }) => route.metric },
    { name: "ifMetric", read: ({ route }) => route.linkMetric },
    { name: "InterfaceMetric", read: ({ route }) => route.linkMetric },
    { name: "PolicyStore", read: () => "ActiveStore" },
  ],
  table: [
    { name: "ifIndex", width: 7 },
    { name: "DestinationPrefix", width: 46 },
    { name: "NextHop", width: 40 },
    { name: "RouteMetric", width: 11, isRight: true },
    { name: "ifMetric", width: 8 },
    { name: "PolicyStore", width: 11 },
  ],
};

function routeRows(machine: Machine): readonly RouteRow[] {
  const aliasOf = (index: number): string =>
    machine.adapters.find((each) => each.index === index)?.link.name ?? machine.loopback.name;
  return ([4, 6] as const).flatMap((family) =>
    effectiveRoutes(machine, family)
      .toReversed()
      .map((route) => ({ route, alias: aliasOf(route.index), family })),
  );
}

/** Every route here works. */
const STATES: readonly string[] = ["alive", "dead"];

function show(machine: Machine, given: Given): CmdletOutput {
  const state = given.get("State")?.toLowerCase() ?? "alive";
  if (!STATES.includes(state)) return notBuilt(GET_NET_ROUTE, `-State ${state}`);
  const rows = state === "alive" ? routeRows(machine) : [];
  const objects = rows.map((each) => makeObject(NET_ROUTE, each));
  return filterObjects("Get-NetRoute", "MSFT_NetRoute", objects, FILTERS, given);
}

const FILTERS: readonly Filter[] = [
  { parameter: "DestinationPrefix", property: "DestinationPrefix" },
  { parameter: "InterfaceIndex", property: "InterfaceIndex" },
  { parameter: "ifIndex", property: "InterfaceIndex" },
  { parameter: "InterfaceAlias", property: "InterfaceAlias" },
  { parameter: "NextHop", property: "NextHop" },
  { parameter: "AddressFamily", property: "AddressFamily" },
  { parameter: "RouteMetric", property: "RouteMetric" },
];

export const GET_NET_ROUTE: Cmdlet = {
  name: "Get-NetRoute",
  usages: [
    "Get-NetRoute [[-DestinationPrefix] PREFIX] [-InterfaceIndex INDEX] [-InterfaceAlias NAME] [-NextHop ADDRESS]",
    "Get-NetRoute [-AddressFamily IPv4|IPv6] [-State Alive|Dead]",
  ],
  parameters: [...FILTERS.map(({ parameter }) => parameter), "State"],
  positions: 1,
  switches: [],
  others: [
    "IncludeAllCompartments",
    "CompartmentId",
    "PolicyStore",
    "Protocol",
    "Publish",
    "InterfaceMetric",
    "PreferredLifetime",
    "ValidLifetime",
    "AssociatedIPInterface",
    "CimSession",
    "ThrottleLimit",
    "AsJob",
  ],
  run: show,
};
