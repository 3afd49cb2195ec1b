/**
 * `nslookup` of BIND. Its form is that of kubernetes/kubernetes#97043 and #14633 (an answer; no such name) and
 * kubernetes-sigs/external-dns#2027 (no server). It asks for the names of the search list as the resolver does, reads no hosts file,
 * and looks for IPv6 behind IPv4 (CHANGES of BIND 9.12).
 */
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import { DnsRcode, dnsRcodeName } from "#core/wire/dns/dns.ts";
import { planNames } from "#dataplane/host/resolver/candidate-names.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import type { Machine } from "../machine.ts";
import { findTarget, isTarget } from "../target.ts";
import { type DnsReply, askServers } from "../dns-exchange.ts";

/** `timeout` and `retry` of nslookup(1). */
const WAIT_MS = 5_000;
const TRIES = 3;

function ask(
  { cluster, compartment }: Machine,
  name: string,
  type: string,
  servers: readonly Ip[],
): DnsReply | undefined {
  return askServers(cluster, { compartment, servers, name, type, waitMs: WAIT_MS, tries: TRIES });
}

function answerLines({ message }: DnsReply): readonly string[] {
  return message.answers.flatMap((each) => {
    if (each.type === "CNAME") return [`${each.name}\tcanonical name = ${each.target}.`];
    if (each.type !== "A" && each.type !== "AAAA") return [];
    return [`Name:\t${each.name}`, `Address: ${formatIp(each.ip)}`];
  });
}

function lookUp(machine: Machine, name: string, servers: readonly Ip[]): CommandOutput {
  const { candidates } = planNames("linux", name, machine.compartment.dns);
  let reply: DnsReply | undefined;
  for (const candidate of candidates) {
    reply = ask(machine, candidate.name, "A", servers);
    if (reply === undefined)
      return { stdout: [";; connection timed out; no servers could be reached", ""], exitCode: 1 };
    if (reply.message.rcode !== DnsRcode.nameError) break;
  }
  if (reply === undefined) return notBuilt(NSLOOKUP, name);
  const { message, server } = reply;
  const head = [`Server:\t\t${formatIp(server)}`, `Address:\t${formatIp(server)}#53`, ""];
  if (message.rcode !== DnsRcode.noError)
    return {
      stdout: [...head, `** server can't find ${name}: ${dnsRcodeName(message.rcode)}`, ""],
      exitCode: 1,
    };
  const asked = message.questions[0]?.name ?? name;
  const found = answerLines(reply);
  // Aliases have been followed with the first answer.
  const target = message.answers.findLast((each) => each.type === "A")?.name ?? asked;
  const second = ask(machine, target, "AAAA", servers);
  const lines = [...found, ...(second === undefined ? [] : answerLines(second))];
  if (lines.length === 0) return { stdout: [...head, `*** Can't find ${name}: No answer`, ""], exitCode: 0 };
  return {
    stdout: [...head, ...(message.isAuthoritative ? [] : ["Non-authoritative answer:"]), ...lines, ""],
    exitCode: 0,
  };
}

export const NSLOOKUP: ListedCommand = {
  name: "nslookup",
  os: "linux",
  usages: ["nslookup NAME [SERVER]"],
  run: (machine, args) => {
    const [name, server, ...others] = args;
    const isOther =
      name === undefined ||
      others.length > 0 ||
      args.some((arg) => arg.startsWith("-")) ||
      parseIp(name) !== undefined ||
      !isDnsName(name);
    if (isOther) return notBuilt(NSLOOKUP, args.join(" ") || "without a name");
    const target = server === undefined ? undefined : findTarget(machine, server, false);
    if (target !== undefined && !isTarget(target))
      return {
        stdout: [],
        stderr: [`nslookup: couldn't get address for '${server ?? ""}': not found`],
        exitCode: 1,
      };
    const own = target === undefined ? machine.compartment.dns.servers : [target.ip];
    return own.length === 0
      ? notBuilt(NSLOOKUP, "on a machine without a DNS server")
      : lookUp(machine, name, own);
  },
};
