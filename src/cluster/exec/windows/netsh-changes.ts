/**
 * `netsh interface ipv4|ipv6 set|add|delete`: they write the registry of the compartment in which they run, and no other. Words may
 * stand in their order or as `name=value` (Microsoft's reference of netsh).
 *
 * Inferred: what is printed for a wrong address, a server that stands there already and one that does not; servers are not asked
 * whether they answer, as with `validate=no`.
 */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { CommandOutput } from "../command.ts";
import type { Adapter, Machine } from "../machine.ts";
import { configureServers, configuredServers } from "./change-names.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** What each verb takes. */
export const CHANGES: Readonly<Record<string, readonly string[]>> = {
  set: ["dnsservers", "interface", "subinterface"],
  add: ["dnsservers"],
  delete: ["dnsservers"],
};

/** The parameters in their order. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  "set dnsservers": ["name", "source", "address", "register", "validate"],
  "add dnsservers": ["name", "address", "index", "validate"],
  "delete dnsservers": ["name", "address", "validate"],
  "set interface": ["interface", "forwarding", "metric", "mtu", "store"],
  "set subinterface": ["interface", "mtu", "store"],
};

export interface ChangeLine {
  readonly family: 4 | 6;
  readonly verb: string;
  readonly what: string;
  readonly rest: readonly string[];
}

const DONE: CommandOutput = { stdout: [""], exitCode: 0 };
const OK: CommandOutput = { stdout: ["Ok.", ""], exitCode: 0 };

function failed(text: string): CommandOutput {
  return { stdout: [text, ""], exitCode: 1 };
}

function readParameters(
  names: readonly string[],
  words: readonly string[],
): ReadonlyMap<string, string> | undefined {
  const given = new Map<string, string>();
  for (const word of words) {
    const at = word.indexOf("=");
    const name = at < 0 ? names.find((each) => !given.has(each)) : word.slice(0, at).toLowerCase();
    if (name === undefined || !names.includes(name) || given.has(name)) return undefined;
    given.set(name, word.slice(at + 1).replaceAll('"', ""));
  }
  return given;
}

function findAdapter({ adapters }: Machine, text: string): Adapter | undefined {
  const wanted = text.toLowerCase();
  return adapters.find(({ index, link }) => String(index) === wanted || link.name.toLowerCase() === wanted);
}

/** Undefined: no address, as `none` and `all` say. */
type Server = Ip | undefined | "wrong";

function readServer(text: string | undefined, family: 4 | 6): Server {
  if (text === undefined || /^(none|all)$/i.test(text)) return undefined;
  const ip = parseIp(text);
  return ip === undefined || (typeof ip === "number") !== (family === 4) ? "wrong" : ip;
}

function changeServers(
  machine: Machine,
  { link }: Adapter,
  { family, verb }: ChangeLine,
  given: ReadonlyMap<string, string>,
): CommandOutput | undefined {
  const address = given.get("address");
  const server = readServer(address, family);
  if (server === "wrong")
    return failed(`Invalid address parameter (${address ?? ""}). It should be a valid IPv${family} address.`);
  const present = configuredServers(machine, link).filter(
    (ip) => (typeof ip === "number") === (family === 4),
  );
  if (verb === "set") {
    const source = (given.get("source") ?? "").toLowerCase();
    if (source !== "static" && source !== "dhcp") return undefined;
    if ((source === "static") !== given.has("address")) return failed("The parameter is incorrect.");
    configureServers(machine, link, server === undefined ? [] : [server], family);
    return DONE;
  }
  if (verb === "delete") {
    if (server !== undefined && !present.includes(server)) return failed("Element not found.");
    configureServers(
      machine,
      link,
      server === undefined ? [] : present.filter((ip) => ip !== server),
      family,
    );
    return DONE;
  }
  if (server === undefined) return failed("The parameter is incorrect.");
  if (present.includes(server)) return failed("The object is already in the list.");
  const place = Number(given.get("index") ?? present.length + 1);
  if (!Number.isInteger(place) || place < 1) return failed("The parameter is incorrect.");
  configureServers(machine, link, present.toSpliced(place - 1, 0, server), family);
  return DONE;
}

/** RFC 791 and RFC 8200: what every link has to carry. */
const MTU_MIN = { 4: 576, 6: 1_280 } as const;
const METRIC_MAX = 9_999;

function numberIn(text: string | undefined, min: number, max: number): number | undefined | "wrong" {
  if (text === undefined) return undefined;
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : "wrong";
}

function setInterface(
  { compartment }: Machine,
  { link }: Adapter,
  { family }: ChangeLine,
  given: ReadonlyMap<string, string>,
): CommandOutput {
  const mtu = numberIn(given.get("mtu"), MTU_MIN[family], link.device.mtuBytes);
  const metric = numberIn(given.get("metric"), 0, METRIC_MAX);
  const forwarding = given.get("forwarding")?.toLowerCase();
  const isSwitch = forwarding === undefined || forwarding === "enabled" || forwarding === "disabled";
  if (mtu === "wrong" || metric === "wrong" || !isSwitch) return failed("The parameter is incorrect.");
  if (mtu !== undefined) link.mtuBytes = mtu;
  // 0 is the automatic one.
  if (metric !== undefined)
    compartment.setMetric(link, metric === 0 ? compartment.profile.interfaceMetric : metric);
  if (forwarding !== undefined) link.isForwarding = forwarding === "enabled";
  return OK;
}

/** Undefined for parameters that are not built. */
export function changeInterface(machine: Machine, line: ChangeLine): CommandOutput | undefined {
  const { verb, what, rest } = line;
  const names = PARAMETERS[`${verb} ${what}`];
  const given = names === undefined ? undefined : readParameters(names, rest);
  const named = given?.get("name") ?? given?.get("interface");
  if (given === undefined || named === undefined) return undefined;
  const adapter = findAdapter(machine, named);
  if (adapter === undefined) return failed(WORDS.interfaceNameWrong);
  return what === "dnsservers"
    ? changeServers(machine, adapter, line, given)
    : setInterface(machine, adapter, line, given);
}
