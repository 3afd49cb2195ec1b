/**
 * The names that a resolver asks for when a program gives it one, in their order.
 *
 * Windows (docs: windows-networking-documentation.md §6, dataplane.md §5.3): a name with a dot is taken as fully
 * qualified and gets no suffix; a single label gets one suffix, that of the pod's namespace, which stands first in the
 * list. Linux (glibc, resolv/res_query.c, and resolv.conf(5)): the search list, and the name as it is first or last,
 * as `ndots` says.
 */
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import type { DnsSettings } from "../stack.ts";
import type { ResolverManner } from "./name-result.ts";
import type { OperatingSystem } from "../stack-profile.ts";
import type { Ip } from "#core/net/ip.ts";

/** The line `options` of resolv.conf(5), as far as it decides whom to ask when. Windows reads none of it. */
export interface ResolverOptions {
  /** A name with at least so many dots is first asked for as it is. */
  readonly ndots: number;
  /** How long one server is waited for. */
  readonly timeoutSeconds: number;
  /** How often the list of servers is gone through. */
  readonly attempts: number;
}

/** Largest values that glibc takes (RES_MAXNDOTS, RES_MAXRETRANS, RES_MAXRETRY in resolv.h). */
const NDOTS_MAX = 15;
const TIMEOUT_SECONDS_MAX = 30;
const ATTEMPTS_MAX = 5;

function readNumber(options: readonly string[], name: string, byDefault: number, max: number): number {
  let value = byDefault;
  // The last one holds.
  for (const option of options) {
    const [key, text = ""] = option.split(":");
    if (key === name && /^\d{1,9}$/.test(text)) value = Math.min(Number(text), max);
  }
  return value;
}

/** Reads words such as `ndots:5`; unknown ones are passed by, as glibc does. */
export function readResolverOptions(options: readonly string[]): ResolverOptions {
  return {
    ndots: readNumber(options, "ndots", 1, NDOTS_MAX),
    timeoutSeconds: readNumber(options, "timeout", 5, TIMEOUT_SECONDS_MAX),
    attempts: readNumber(options, "attempts", 2, ATTEMPTS_MAX),
  };
}

/** One name to ask for. */
export interface CandidateName {
  /** Without the final dot. */
  readonly name: string;
  /** The suffix that was added; empty for the name as the program gave it. */
  readonly suffix: string;
}

/** What a resolver makes of a program's name. */
export interface NamePlan {
  readonly candidates: readonly CandidateName[];
  /** Suffixes of the settings that are not tried, in their order. */
  readonly unusedSuffixes: readonly string[];
  /** Why they are not tried. */
  readonly unusedBecause: "dot" | "single-suffix" | undefined;
}

function withoutFinalDot(name: string): string {
  return name.endsWith(".") && name !== "." ? name.slice(0, -1) : name;
}

function countDots(name: string): number {
  return name.split(".").length - 1;
}

/** What can be asked; a name that is too long with its suffix is left out. */
function candidates(names: readonly CandidateName[]): readonly CandidateName[] {
  return names.filter(({ name }) => isDnsName(name));
}

function join(name: string, suffix: string): CandidateName {
  return { name: `${name}.${withoutFinalDot(suffix)}`, suffix: withoutFinalDot(suffix) };
}

function asItIs(name: string): CandidateName {
  return { name, suffix: "" };
}

/** The suffixes of an adapter: its search list, else its own domain. */
function suffixesOf({ search, domain }: DnsSettings): readonly string[] {
  if (search.length > 0) return search;
  return domain === "" ? [] : [domain];
}

function planOnWindows(name: string, settings: DnsSettings): NamePlan {
  const suffixes = suffixesOf(settings);
  if (name.includes(".")) {
    return {
      candidates: candidates([asItIs(name)]),
      unusedSuffixes: suffixes,
      unusedBecause: suffixes.length > 0 ? "dot" : undefined,
    };
  }
  // LLMNR and NetBIOS, which Windows asks next for a single label, reach no host outside the pod's own segment.
  const [first, ...unused] = suffixes;
  const plain = settings.asksSingleLabels === true ? [asItIs(name)] : [];
  return {
    candidates: candidates(first === undefined ? plain : [join(name, first), ...plain]),
    unusedSuffixes: unused,
    unusedBecause: unused.length > 0 ? "single-suffix" : undefined,
  };
}

function planOnLinux(name: string, settings: DnsSettings): NamePlan {
  const { ndots } = readResolverOptions(settings.options ?? []);
  const searched = suffixesOf(settings).map((suffix) => join(name, suffix));
  const isFirst = countDots(name) >= ndots;
  const list = isFirst ? [asItIs(name), ...searched] : [...searched, asItIs(name)];
  return { candidates: candidates(list), unusedSuffixes: [], unusedBecause: undefined };
}

/**
 * `nslookup` of Windows has a resolver of its own (docs: windows-networking-documentation.md §6, dataplane.md §5.3): all
 * suffixes of the list one after the other, whether the name has a dot or not, and then the name as it is.
 */
function planForNslookup(name: string, settings: DnsSettings): NamePlan {
  const searched = suffixesOf(settings).map((suffix) => join(name, suffix));
  return {
    candidates: candidates([...searched, asItIs(name)]),
    unusedSuffixes: [],
    unusedBecause: undefined,
  };
}

/** A final dot makes a name complete on every system: nothing is added. */
export function planNames(
  os: OperatingSystem,
  name: string,
  settings: DnsSettings,
  manner: ResolverManner = "system",
): NamePlan {
  if (name.endsWith(".")) {
    const exact = candidates([asItIs(withoutFinalDot(name))]);
    return { candidates: exact, unusedSuffixes: [], unusedBecause: undefined };
  }
  if (manner === "nslookup" && os === "windows") return planForNslookup(name, settings);
  return os === "windows" ? planOnWindows(name, settings) : planOnLinux(name, settings);
}

// What Windows has in place of resolv.conf: name servers and suffixes in the registry, a key for each interface and
// one for the machine (docs: dataplane.md §5.3). HNS writes the key of an endpoint's interface when it attaches it
// (microsoft/SDN#222).

/** An interface's key of `Tcpip\\Parameters\\Interfaces`. */
export interface InterfaceNames {
  /** `NameServer`, `Domain`, `SearchList`: what was configured. */
  readonly configured: DnsSettings | undefined;
  /** `DhcpNameServer`: what a DHCP server or a router told of. */
  readonly learned: readonly Ip[];
}

/** What counts of an interface. */
export interface NamedInterface {
  readonly metric: number;
  readonly names: InterfaceNames | undefined;
}

function unique<T>(lists: readonly (readonly T[])[]): readonly T[] {
  return [...new Set(lists.flat())];
}

/**
 * What the resolver of a Windows machine is told: the servers of its interfaces, the one with the lowest metric first; the
 * suffixes of the machine, where there are any, else those of the interfaces. Of an interface `NameServer`, where it has a
 * value, takes precedence over `DhcpNameServer` (Microsoft's reference of both).
 *
 * Inferred (dataplane.md §5.3): the servers of all interfaces are one list; the machine's own stand in for interfaces where none
 * is configured.
 */
export function resolverSettings(machine: DnsSettings, interfaces: readonly NamedInterface[]): DnsSettings {
  const named = interfaces.filter(({ names }) => names !== undefined);
  const [only] = named;
  if (only?.names === undefined) return machine;
  const { asksSingleLabels = false } = machine;
  const isPlain =
    machine.servers.length + machine.search.length === 0 && machine.domain === "" && !asksSingleLabels;
  const { configured, learned } = only.names;
  if (named.length === 1 && isPlain && learned.length === 0 && configured !== undefined) return configured;
  const inOrder = named.toSorted((a, b) => a.metric - b.metric).flatMap(({ names }) => names ?? []);
  const settings = inOrder.flatMap((names) => names.configured ?? []);
  const ownServers = ({ configured: own }: InterfaceNames): readonly Ip[] => own?.servers ?? [];
  const serversOf = (names: InterfaceNames): readonly Ip[] =>
    ownServers(names).length > 0 ? ownServers(names) : names.learned;
  const isMachine = machine.servers.length > 0 && inOrder.every((names) => ownServers(names).length === 0);
  return {
    domain: settings.find(({ domain }) => domain !== "")?.domain ?? machine.domain,
    search: machine.search.length > 0 ? machine.search : unique(settings.map(({ search }) => search)),
    servers: isMachine
      ? machine.servers
      : unique(inOrder.map(machine.servers.length > 0 ? ownServers : serversOf)),
    ...(asksSingleLabels && { asksSingleLabels }),
  };
}
