/**
 * `Get-NetIPConfiguration`. Its form is that of printed outputs of Server 2019 and 2022: a list per adapter, without the line of a
 * network profile where there is none, and with one for an IPv6 address only where there is one that is not link-local.
 */
import { type Ip, formatIp } from "#core/net/ip.ts";
import { isLinkLocal } from "#dataplane/host/ip/address-scope.ts";
import { type Adapter, type Machine, namesOf } from "../../machine.ts";
import type { Cmdlet, CmdletOutput, Given } from "../powershell/cmdlet.ts";
import { isLike } from "../powershell/cmdlet.ts";
import { type ObjectKind, makeObject } from "../powershell/objects.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

interface Configuration {
  readonly machine: Machine;
  readonly adapter: Adapter;
}

function addressesOf({ adapter }: Configuration, type: "number" | "bigint"): string | undefined {
  const found = adapter.link.addresses.filter(({ ip }) => typeof ip === type && !isLinkLocal(ip));
  return found.length === 0 ? undefined : found.map(({ ip }) => formatIp(ip)).join("\n");
}

function gatewaysOf({ machine, adapter }: Configuration, type: "number" | "bigint"): string {
  const hops = machine.compartment
    .listRoutes()
    .flatMap(({ prefix, nextHop, interface: over }): readonly Ip[] =>
      prefix.length === 0 && nextHop !== undefined && over === adapter.link ? [nextHop] : [],
    );
  return hops
    .filter((ip) => typeof ip === type)
    .map(formatIp)
    .join("\n");
}

function serversOf(machine: Machine, { link }: Adapter): string {
  return namesOf(machine, link).servers.map(formatIp).join("\n");
}

/** Inferred: a container has no network profile. */
const NET_IP_CONFIGURATION: ObjectKind<Configuration> = {
  properties: [
    { name: "InterfaceAlias", read: ({ adapter }) => adapter.link.name },
    { name: "InterfaceIndex", read: ({ adapter }) => adapter.index },
    { name: "InterfaceDescription", read: ({ adapter }) => adapter.description },
    { name: "IPv6Address", read: (each) => addressesOf(each, "bigint") },
    { name: "IPv4Address", read: (each) => addressesOf(each, "number") },
    { name: "IPv6DefaultGateway", read: (each) => gatewaysOf(each, "bigint") },
    { name: "IPv4DefaultGateway", read: (each) => gatewaysOf(each, "number") },
    { name: "DNSServer", read: ({ machine, adapter }) => serversOf(machine, adapter) },
  ],
};

function show(machine: Machine, given: Given): CmdletOutput {
  const [alias, index] = [given.get("InterfaceAlias"), given.get("InterfaceIndex")];
  const found = machine.adapters.filter(
    (each) =>
      (alias === undefined || isLike(each.link.name, alias)) &&
      (index === undefined || String(each.index) === index),
  );
  const objects = found.map((adapter) => makeObject(NET_IP_CONFIGURATION, { machine, adapter }));
  if (objects.length > 0 || (alias ?? "").includes("*")) return { objects };
  const [property, value] = alias === undefined ? ["InterfaceIndex", index ?? ""] : ["InterfaceAlias", alias];
  return {
    objects,
    fault: {
      message: WORDS.noInterfaceWithProperty({ property, value }),
      category: `ObjectNotFound: (${value}:String)`,
      exception: "CimJobException",
      id: `CmdletizationQuery_NotFound_${property},Get-NetIPInterface`,
    },
  };
}

export const GET_NET_IP_CONFIGURATION: Cmdlet = {
  name: "Get-NetIPConfiguration",
  aliases: ["gip"],
  usages: ["Get-NetIPConfiguration [[-InterfaceAlias] NAME] [-InterfaceIndex INDEX] [-All]"],
  parameters: ["InterfaceAlias", "InterfaceIndex"],
  positions: 1,
  switches: ["All"],
  others: ["Detailed", "AllCompartments", "CompartmentId", "CimSession", "ComputerName"],
  run: show,
};
