/**
 * `route`. The form of `route print` is that of two containers in one public repository's log (default gateway as
 * persistent route `Default`, loopback before the adapter), of docker/for-win#12297 and of microsoft/WSL#5068.
 */
import {
  type Ipv4,
  type Prefix,
  formatIp,
  formatPrefix,
  lengthOfMask,
  maskOf,
  prefixContains,
  parseIpv4,
  prefixOf,
} from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../command.ts";
import type { Machine } from "../machine.ts";
import { effectiveRoutes } from "./effective-routes.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const RULE = "=".repeat(75);
const IPV6_NEXT_LINE = " ".repeat(36);
function ipv4Lines(machine: Machine): readonly string[] {
  return effectiveRoutes(machine, 4).map(({ prefix, nextHop, source, metric, linkMetric }) =>
    [
      formatIp(prefix.address).padStart(17),
      formatIp(maskOf(prefix.length)).padStart(17),
      // Windows writes a blank behind the word, which counts.
      (nextHop === undefined ? "On-link " : formatIp(nextHop)).padStart(17),
      source.padStart(17),
      String(metric + linkMetric).padStart(7),
    ].join(""),
  );
}

function ipv6Lines(machine: Machine): readonly string[] {
  return effectiveRoutes(machine, 6).flatMap(({ prefix, nextHop, index, metric, linkMetric }) => {
    const head = `${String(index).padStart(3)}${String(metric + linkMetric).padStart(7)} `;
    const destination = formatPrefix(prefix);
    const gateway = nextHop === undefined ? "On-link" : formatIp(nextHop);
    return destination.length <= 24
      ? [head + destination.padEnd(25) + gateway]
      : [head + destination, IPV6_NEXT_LINE + gateway];
  });
}

/** Inferred: default gateways are kept with their interface; of other routes only those that were added with -p. */
function persistentLines({ compartment }: Machine): readonly string[] {
  const lines = compartment.listRoutes().flatMap(({ prefix, nextHop, metric, isPersistent = false }) => {
    const isDefault = prefix.length === 0;
    if (typeof nextHop !== "number" || !(isDefault || isPersistent)) return [];
    const parts = [formatIp(prefix.address), formatIp(maskOf(prefix.length)), formatIp(nextHop)];
    const shown = isPersistent ? String(metric).padStart(8) : "  Default";
    return [parts.map((part) => part.padStart(17)).join("") + shown];
  });
  if (lines.length === 0) return ["  None"];
  return ["  Network Address          Netmask  Gateway Address  Metric", ...lines];
}

function interfaceLines({ loopback, adapters }: Machine): readonly string[] {
  return [
    `${String(loopback.index).padStart(3)}...........................${loopback.description}`,
    ...adapters.map(({ index, description, link }) => {
      const mac = formatMac(link.mac).replaceAll("-", " ").toLowerCase();
      return `${String(index).padStart(3)}...${mac} ......${description}`;
    }),
  ];
}

/** `route print`, and `netstat -r`. */
export function printRoutes(machine: Machine, families: readonly (4 | 6)[]): CommandOutput {
  const persistent = persistentLines(machine);
  const ipv4 = [
    "",
    "IPv4 Route Table",
    RULE,
    "Active Routes:",
    "Network Destination        Netmask          Gateway       Interface  Metric",
    ...ipv4Lines(machine),
    RULE,
    "Persistent Routes:",
    ...persistent,
    ...(persistent[0] === "  None" ? [] : [RULE]),
  ];
  const ipv6 = [
    "",
    "IPv6 Route Table",
    RULE,
    "Active Routes:",
    " If Metric Network Destination      Gateway",
    ...ipv6Lines(machine),
    RULE,
    "Persistent Routes:",
    "  None",
  ];
  const tables = [...(families.includes(4) ? ipv4 : []), ...(families.includes(6) ? ipv6 : [])];
  return { stdout: [RULE, "Interface List", ...interfaceLines(machine), RULE, ...tables], exitCode: 0 };
}

/** Inferred: these sentences, that they stand on stderr, and the exit code. */
const FAILED: Readonly<Record<"add" | "delete", CommandOutput>> = {
  add: { stdout: [], stderr: ["The route addition failed: The parameter is incorrect.", ""], exitCode: 1 },
  delete: { stdout: [], stderr: ["The route deletion failed: Element not found.", ""], exitCode: 1 },
};
const NOT_NEAR: CommandOutput = {
  stdout: [],
  stderr: [WORDS.routeGatewayNotNear, ""],
  exitCode: 1,
};
const DONE: CommandOutput = { stdout: [" OK!"], exitCode: 0 };

/** The words behind the verb: `10.1.0.0 mask 255.255.0.0 10.0.0.1 metric 5 if 2`. */
interface Given {
  readonly prefix: Prefix;
  /** Without a mask `delete` takes every route to the address; `add` one to the host. */
  readonly hasMask: boolean;
  readonly gateway: Ipv4 | undefined;
  readonly metric: number;
  readonly index: number | undefined;
}

function readRoute(words: readonly string[]): Given | undefined {
  const rest = words.map((word) => word.toLowerCase());
  const take = (name: string): string | undefined => {
    const at = rest.indexOf(name);
    return at < 0 ? undefined : rest.splice(at, 2)[1];
  };
  const [mask, metric, index] = [take("mask"), take("metric"), take("if")];
  const [address, gateway] = rest.map(parseIpv4);
  const ones = parseIpv4(mask ?? "255.255.255.255");
  const length = ones === undefined ? undefined : lengthOfMask(ones);
  if (address === undefined || length === undefined) return undefined;
  if (rest.length > 2 || (rest.length === 2 && gateway === undefined)) return undefined;
  const prefix = prefixOf(address, length);
  // The real program refuses bits of the host behind the mask.
  if (prefix.address !== address) return undefined;
  return {
    prefix,
    hasMask: mask !== undefined,
    gateway,
    metric: Number(metric ?? 1),
    index: index === undefined ? undefined : Number(index),
  };
}

function add({ compartment, adapters }: Machine, given: Given, isPersistent: boolean): CommandOutput {
  const { prefix, gateway, metric, index } = given;
  if (gateway === undefined || !Number.isInteger(metric) || metric < 1 || metric > 9_999) return FAILED.add;
  const named = adapters.find((each) => each.index === index)?.link;
  const reaching = adapters.find(
    ({ link }) => compartment.output.routeFor(gateway)?.interface === link,
  )?.link;
  const link = index === undefined ? reaching : named;
  if (link === undefined) return FAILED.add;
  const isNear = link.addresses.some(({ ip, length }) => prefixContains(prefixOf(ip, length), gateway));
  if (!isNear) return NOT_NEAR;
  const isOwn = link.hasAddress(gateway);
  const hop = isOwn ? {} : { nextHop: gateway };
  compartment.addRoute({ prefix, interface: link, metric, ...hop, ...(isPersistent && { isPersistent }) });
  return DONE;
}

function remove({ compartment }: Machine, { prefix, gateway, hasMask }: Given): CommandOutput {
  const routes = compartment
    .listRoutes()
    .filter(
      ({ prefix: each, origin, nextHop }) =>
        origin === "static" &&
        each.address === prefix.address &&
        (!hasMask || each.length === prefix.length) &&
        (gateway === undefined || nextHop === gateway),
    );
  if (routes.length === 0) return FAILED.delete;
  for (const route of routes) compartment.removeRoute(route);
  return DONE;
}

/** The verb, and the words behind it; options in front of it say the family. */
function readWords(args: readonly string[]): {
  readonly verb: string;
  readonly words: readonly string[];
  readonly options: readonly string[];
} {
  const options = args.filter((arg) => /^[-/][a-z0-9?]$/i.test(arg)).map((arg) => optionOf(arg) ?? "");
  const [verb = "", ...words] = args.filter((arg) => optionOf(arg) === undefined || arg.length !== 2);
  return { verb: verb.toLowerCase(), words, options };
}

export const ROUTE: ListedCommand = {
  name: "route",
  os: "windows",
  usages: [
    "route print [-4|-6]",
    "route [-p] add DESTINATION mask MASK GATEWAY [metric METRIC] [if INDEX]",
    "route delete DESTINATION [mask MASK] [GATEWAY]",
  ],
  isChange: (args) => ["add", "delete"].includes(readWords(args).verb),
  run: (machine, args) => {
    const { verb, words, options } = readWords(args);
    const isPersistent = options.includes("p");
    const other = options.find((each) => each !== "4" && each !== "6" && (each !== "p" || verb !== "add"));
    if (other !== undefined) return notBuilt(ROUTE, `-${other}`);
    if (verb === "print") {
      if (words.length > 0) return notBuilt(ROUTE, `print ${words.join(" ")}`);
      const families = ([4, 6] as const).filter(
        (each) => options.length === 0 || options.includes(String(each)),
      );
      return printRoutes(machine, families);
    }
    if (verb === "change") return notBuilt(ROUTE, "change");
    if (verb !== "add" && verb !== "delete") return notBuilt(ROUTE, verb);
    const given = readRoute(words);
    if (given === undefined) return FAILED[verb];
    return verb === "add" ? add(machine, given, isPersistent) : remove(machine, given);
  },
};
