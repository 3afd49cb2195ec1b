/** The first part of a trace to a name: what the sender's resolver asks, of whom, and what comes of it. */
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { planNames, readResolverOptions } from "#dataplane/host/resolver/candidate-names.ts";
import { NameLookup } from "#dataplane/host/resolver/name-lookup.ts";
import type { AskedQuestion, NameResult, ResolverManner } from "#dataplane/host/resolver/name-result.ts";
import { assert } from "#core/base/assert.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { buildLeg } from "./build-trace.ts";
import { type HeardEvent, TraceCollector } from "./trace-collector.ts";
import type { AddressFamily, TraceLeg, TraceQuestionStep, TraceResolution } from "./trace-report.ts";

/** Longer than any resolver goes on asking: 32 suffixes, each asked until it gives up. */
const LOOKUP_MS_MAX = 1_200_000;

/** A name that is looked up from a compartment of the cluster, found again in each copy. */
export interface NameRequest {
  readonly name: string;
  readonly family: AddressFamily | undefined;
  /** Default `system`. */
  readonly manner?: ResolverManner;
  /** Who is asked. Default: the servers of the compartment. */
  readonly servers?: readonly Ip[];
  readonly senderIn: (cluster: Cluster) => Compartment;
}

function lookUp(cluster: Cluster, request: NameRequest, followedQuestion?: number): NameResult {
  const { name, family, manner = "system", servers, senderIn } = request;
  const lookup = new NameLookup({
    compartment: senderIn(cluster),
    name,
    type: family === "ipv6" ? "AAAA" : "A",
    manner,
    servers,
    ...(followedQuestion === undefined ? {} : { followedQuestion }),
  });
  lookup.start();
  const endMs = cluster.clock.nowMs + LOOKUP_MS_MAX;
  while (lookup.result === undefined && cluster.clock.nowMs < endMs && cluster.clock.step());
  assert(lookup.result !== undefined, "a lookup ends by its own waits");
  return lookup.result;
}

/** Resolves in `cluster` itself, on whose clock time passes. */
export function resolveName(cluster: Cluster, request: NameRequest): NameResult {
  return lookUp(cluster, request);
}

/** What became of the packet of the question that decided. */
export interface FollowedLookup {
  readonly result: NameResult;
  readonly forward: TraceLeg;
  readonly reply: TraceLeg | undefined;
  readonly heard: readonly HeardEvent[];
}

/** The question that the outcome hangs on: the last one that was sent. */
function decidingQuestion({ questions }: NameResult): number {
  return questions.findLastIndex(({ sentCount }) => sentCount > 0);
}

/** Resolves in `cluster` itself and follows the question that decides, which a copy tells beforehand. */
export function followLookup(cluster: Cluster, request: NameRequest): FollowedLookup {
  const position = decidingQuestion(lookUp(forkCluster(cluster), request));
  const collector = new TraceCollector();
  const { recorder } = cluster.env;
  cluster.env.recorder = collector;
  const result = lookUp(cluster, request, Math.max(0, position));
  cluster.env.recorder = recorder;
  const answered = collector.legOf(2);
  return {
    result,
    // The resolver may know the name without a packet.
    forward: buildLeg(collector.legOf(1)),
    reply: answered.length === 0 ? undefined : buildLeg(answered),
    heard: collector.heard,
  };
}

function describeQuestion(question: AskedQuestion): TraceQuestionStep {
  const { name, type, suffix, outcome, server, sentCount, addresses, detail, isCached, isOverTcp } = question;
  return {
    name,
    type,
    ...(suffix === "" ? {} : { suffix }),
    outcome,
    ...(server === undefined ? {} : { server: formatIp(server) }),
    sent: sentCount,
    addresses: addresses.map(formatIp),
    detail: [detail, ...(isOverTcp ? ["over TCP"] : []), ...(isCached ? ["remembered"] : [])].join(", "),
  };
}

/** The resolution as the report has it. */
export function describeResolution(
  compartment: Compartment,
  result: NameResult,
  manner: ResolverManner = "system",
): TraceResolution {
  const { dns, profile } = compartment;
  const { os } = profile;
  const plan = planNames(os, result.name, dns, manner);
  return {
    name: result.name,
    resolver: os,
    servers: dns.servers.map(formatIp),
    search: dns.search,
    ...(os === "linux" ? { ndots: readResolverOptions(dns.options ?? []).ndots } : {}),
    questions: result.questions.map(describeQuestion),
    unusedSuffixes: plan.unusedSuffixes,
    outcome: result.outcome,
    addresses: result.outcome === "resolved" ? result.addresses.map(formatIp) : [],
    ...(result.outcome === "resolved"
      ? { canonicalName: result.canonicalName }
      : { code: result.code, detail: result.detail }),
  };
}
