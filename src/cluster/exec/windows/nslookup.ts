/**
 * `nslookup`. Its form is that of Azure/acs-engine#558 and #2027 (an answer; no server), microsoft/Windows-Containers#216 and of
 * dataplane.md §5.3: a resolver of its own, a server without a name, two seconds for each question.
 */
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import type { NameResult } from "#dataplane/host/resolver/name-result.ts";
import { resolveName } from "../../trace/trace-name.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../command.ts";
import type { Machine } from "../machine.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/**
 * Inferred: the server has no name, since nobody here answers for addresses; with a cluster DNS that does, Windows prints it. The
 * answer is authoritative, as that of CoreDNS for its own zone. The program ends with 0 whatever it found.
 */
const UNKNOWN = "UnKnown";
const TIMED_OUT = ["DNS request timed out.", "    timeout was 2 seconds."];

function ask({ cluster, compartment }: Machine, name: string, family: "ipv4" | "ipv6"): NameResult {
  return resolveName(cluster, { name, family, manner: "nslookup", senderIn: () => compartment });
}

/** IPv6 addresses stand before the others; from the second on below the first. */
function addressLines(addresses: readonly Ip[]): readonly string[] {
  const [first = "", ...others] = addresses.map(formatIp);
  if (others.length === 0) return [`Address:  ${first}`];
  return [`Addresses:  ${first}`, ...others.map((each) => `          ${each}`)];
}

/**
 * What it says of a name that it found nothing for; what it waited for stands before that. Inferred: the line of a name without
 * addresses, and that these lines stand on stderr.
 */
function failureLines(result: NameResult, name: string): readonly string[] {
  const silent = result.questions.find(({ outcome }) => outcome === "timed-out");
  if (silent !== undefined)
    return [
      ...Array.from({ length: silent.sentCount }, () => TIMED_OUT).flat(),
      `*** Request to ${UNKNOWN} timed-out`,
    ];
  const said = result.questions.at(-1)?.outcome;
  if (said === "no-data") return [WORDS.nslookupNoData({ name })];
  return [
    `*** ${UNKNOWN} can't find ${name}: ${said === "name-error" ? "Non-existent domain" : "Server failed"}`,
  ];
}

function lookUp(machine: Machine, name: string): CommandOutput {
  const [server] = machine.compartment.dns.servers;
  if (server === undefined) return notBuilt(NSLOOKUP, "on a machine without a DNS server");
  const found = ask(machine, name, "ipv4");
  const head = [`Server:  ${UNKNOWN}`, `Address:  ${formatIp(server)}`, ""];
  if (found.outcome === "failed") return { stdout: head, stderr: failureLines(found, name), exitCode: 0 };
  const canonical = found.canonicalName.replace(/\.$/, "");
  const asked = found.questions.at(-1)?.name.replace(/\.$/, "") ?? canonical;
  const second = ask(machine, `${asked}.`, "ipv6");
  const ipv6 = second.outcome === "resolved" ? second.addresses : [];
  const isAlias = asked.toLowerCase() !== canonical.toLowerCase();
  return {
    stdout: [
      ...head,
      `Name:    ${canonical}`,
      ...addressLines([...ipv6, ...found.addresses]),
      ...(isAlias ? [`Aliases:  ${asked}`] : []),
      "",
    ],
    exitCode: 0,
  };
}

export const NSLOOKUP: ListedCommand = {
  name: "nslookup",
  os: "windows",
  usages: ["nslookup NAME"],
  run: (machine, args) => {
    const [name, ...others] = args;
    const isOther =
      name === undefined || others.length > 0 || optionOf(name) !== undefined || parseIp(name) !== undefined;
    return isOther ? notBuilt(NSLOOKUP, args.join(" ") || "without a name") : lookUp(machine, name);
  },
};
