/**
 * `Set-DnsClientServerAddress`, `Set-DnsClient` and `Set-DnsClientGlobalSetting`. They print nothing, and change the registry of the
 * compartment in which they run.
 *
 * Inferred: how an address that is none, and an interface that is not there, are refused.
 */
import { isLike } from "../powershell/cmdlet.ts";
import type { Cmdlet, CmdletOutput, Fault, Given } from "../powershell/cmdlet.ts";
import type { Adapter, Machine } from "../../machine.ts";
import { configureNames, configureServers, parseServers } from "../change-names.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const NOTHING: CmdletOutput = { objects: [] };

function missing(name: string, className: string, property: string, pattern: string): Fault {
  return {
    message: WORDS.noObjectWithProperty({ className, property, pattern }),
    category: `ObjectNotFound: (${pattern}:String)`,
    exception: "CimJobException",
    id: `CmdletizationQuery_NotFound_${property},${name}`,
  };
}

function wrong(name: string, text: string): CmdletOutput {
  const fault: Fault = {
    message: `Invalid parameter: ${text}`,
    category: "InvalidArgument: (:)",
    exception: "CimException",
    id: `WIN32 87,${name}`,
  };
  return { objects: [], fault };
}

/** Changes each adapter that is named; without a name none is. */
function onAdapters(
  machine: Machine,
  given: Given,
  [name, className]: readonly [string, string],
  change: (adapter: Adapter) => void,
): CmdletOutput {
  const [alias, index] = [given.get("InterfaceAlias"), given.get("InterfaceIndex")];
  const found = machine.adapters.filter((each) =>
    index === undefined ? isLike(each.link.name, alias ?? "") : String(each.index) === index,
  );
  for (const adapter of found) change(adapter);
  if (found.length > 0 || (alias ?? "").includes("*")) return NOTHING;
  const [property, pattern] =
    index === undefined ? ["InterfaceAlias", alias ?? ""] : ["InterfaceIndex", index];
  return { objects: [], fault: missing(name, className, property, pattern) };
}

const OTHERS = ["CimSession", "ThrottleLimit", "AsJob", "PassThru", "InputObject", "Confirm", "WhatIf"];

export const SET_DNS_CLIENT_SERVER_ADDRESS: Cmdlet = {
  name: "Set-DnsClientServerAddress",
  usages: [
    "Set-DnsClientServerAddress [-InterfaceAlias] NAME|-InterfaceIndex INDEX -ServerAddresses ADDRESS[,ADDRESS]|-ResetServerAddresses",
  ],
  parameters: ["InterfaceAlias", "InterfaceIndex", "ServerAddresses"],
  positions: 1,
  switches: ["ResetServerAddresses"],
  others: [...OTHERS, "Validate"],
  isChange: true,
  run: (machine, given) => {
    const list = given.get("ServerAddresses");
    const servers = given.has("ResetServerAddresses") ? [] : parseServers(list ?? "");
    if (servers === undefined) return wrong("Set-DnsClientServerAddress", list ?? "ServerAddresses");
    const kind = ["Set-DnsClientServerAddress", "MSFT_DNSClientServerAddress"] as const;
    return onAdapters(machine, given, kind, ({ link }) => {
      const hasBoth = servers.length === 0;
      for (const family of [4, 6] as const) {
        const own = servers.filter((ip) => (typeof ip === "number") === (family === 4));
        if (own.length > 0 || hasBoth) configureServers(machine, link, own, family);
      }
    });
  },
};

export const SET_DNS_CLIENT: Cmdlet = {
  name: "Set-DnsClient",
  usages: [
    "Set-DnsClient [-InterfaceAlias] NAME|-InterfaceIndex INDEX [-ConnectionSpecificSuffix SUFFIX] [-ConnectionSpecificSuffixSearchList SUFFIX[,SUFFIX]]",
  ],
  parameters: [
    "InterfaceAlias",
    "InterfaceIndex",
    "ConnectionSpecificSuffix",
    "ConnectionSpecificSuffixSearchList",
  ],
  positions: 1,
  switches: [],
  others: [
    ...OTHERS,
    "RegisterThisConnectionsAddress",
    "UseSuffixWhenRegistering",
    "ResetConnectionSpecificSuffix",
  ],
  isChange: true,
  run: (machine, given) => {
    const domain = given.get("ConnectionSpecificSuffix");
    const list = given.get("ConnectionSpecificSuffixSearchList");
    return onAdapters(machine, given, ["Set-DnsClient", "MSFT_DNSClient"], ({ link }) => {
      configureNames(link, {
        ...(domain !== undefined && { domain }),
        ...(list !== undefined && { search: suffixesOf(list) }),
      });
    });
  },
};

function suffixesOf(list: string): readonly string[] {
  const texts = list.replaceAll(/[@()"']/g, "").split(",");
  return texts.map((each) => each.trim()).filter((each) => each !== "");
}

export const SET_DNS_CLIENT_GLOBAL_SETTING: Cmdlet = {
  name: "Set-DnsClientGlobalSetting",
  usages: ["Set-DnsClientGlobalSetting -SuffixSearchList SUFFIX[,SUFFIX]"],
  parameters: ["SuffixSearchList"],
  positions: 0,
  switches: [],
  others: [...OTHERS, "UseDevolution", "DevolutionLevel"],
  isChange: true,
  run: ({ compartment }, given) => {
    const list = given.get("SuffixSearchList");
    if (list !== undefined) compartment.dns = { ...compartment.namesOfMachine, search: suffixesOf(list) };
    return NOTHING;
  },
};
