/** `mullion resolve`: one name as pods and nodes resolve it, beside each other, each in a copy of the cluster. */
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import { parseIp } from "#core/net/ip.ts";
import type { NameResult } from "#dataplane/host/resolver/name-result.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import type { FlowLimit, LimitReason } from "../session/flow-limit.ts";
import type { LookupProgram, NameLookupReport, ResolutionReport } from "./resolve-report.ts";
import { type NameRequest, describeResolution, resolveName } from "./trace-name.ts";
import type { AddressFamily } from "./trace-report.ts";
import { checkDnsName } from "./trace-target.ts";
import { DNS_PORT, type Sender, findSender, reasonsAgainst } from "./trace.ts";

export interface ResolveRequest {
  /** Who asks: at least one, as the sender of a trace is written. */
  readonly from: readonly string[];
  readonly name: string;
  /** Default `system`. */
  readonly program?: LookupProgram | undefined;
  /** `ipv6` asks for AAAA. Default A. */
  readonly family?: AddressFamily | undefined;
  /** Lookups of each sender, one after the other. Default 1. */
  readonly times?: number | undefined;
  /** Between the beginnings of two of them, if the first has ended by then. Default a second. */
  readonly intervalMs?: number | undefined;
}

const INTERVAL_MS = 1_000;

/** @throws RequestError for what is no name. */
function checkName(name: string): void {
  if (parseIp(name) !== undefined)
    throw new RequestError("bad-usage", `${name} is an address`, "Write the name that is to be looked up.");
  checkDnsName(name, "Write a name such as web, web.shop or kubernetes.default.svc.cluster.local.");
}

/** @throws RequestError for a command that the sender's system does not have. */
function checkProgram(sender: Sender, program: LookupProgram): void {
  const { reference } = sender.description;
  if (program !== "Resolve-DnsName" || sender.compartment.profile.os === "windows") return;
  throw new RequestError(
    "bad-usage",
    `Resolve-DnsName is a command of Windows, and ${reference} is on Linux`,
    "Ask there as ping or nslookup, or leave --as out.",
  );
}

function reasonsOf(
  cluster: Cluster,
  { from, result }: { readonly from: Sender; readonly result: NameResult },
  limits: readonly FlowLimit[],
): readonly LimitReason[] {
  const server = result.questions.findLast(({ asked }) => asked.length > 0)?.asked[0];
  if (server === undefined) return [];
  const description = { reference: `name/${result.name}`, address: "" };
  const to = { description, compartment: undefined, ip: server };
  return reasonsAgainst(cluster, { from, to, protocol: "udp", port: DNS_PORT }, limits);
}

/** The lookups of one sender in a copy that nobody else has asked in. */
function lookupsOf(
  cluster: Cluster,
  request: ResolveRequest,
  who: string,
  limits: readonly FlowLimit[],
): readonly NameLookupReport[] {
  const copy = forkCluster(cluster);
  const { name, program = "system", family, times = 1, intervalMs = INTERVAL_MS } = request;
  const sender = findSender(copy, who);
  checkProgram(sender, program);
  const manner = program === "nslookup" ? "nslookup" : "system";
  const asked: NameRequest = { name, family, manner, senderIn: (each) => findSender(each, who).compartment };
  const startMs = copy.clock.nowMs;
  return Array.from({ length: times }, (_, index): NameLookupReport => {
    copy.clock.runUntil(Math.max(copy.clock.nowMs, startMs + index * intervalMs));
    const afterMs = copy.clock.nowMs - startMs;
    const result = resolveName(copy, asked);
    const notJudged = reasonsOf(copy, { from: sender, result }, limits);
    return {
      from: sender.description,
      number: index + 1,
      afterMs,
      tookMs: result.tookMs,
      ...describeResolution(sender.compartment, result, manner),
      ...(notJudged.length === 0 ? {} : { notJudged }),
    };
  });
}

/**
 * Resolves a name as each sender does. The cluster stays as it is: no cache of it is filled. `limits` are those of the
 * cluster: each lookup says which of them concern it.
 * @throws RequestError for what is no name, for a sender that does not exist, and for a command that it does not have.
 */
export function resolveNames(
  cluster: Cluster,
  request: ResolveRequest,
  limits: readonly FlowLimit[] = [],
): ResolutionReport {
  checkName(request.name);
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "Resolution",
    name: request.name,
    as: request.program ?? "system",
    lookups: request.from.flatMap((who) => lookupsOf(cluster, request, who, limits)),
  };
}
