/** `mullion trace`: one packet and its answer through a copy of the cluster, explained. */
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import { assert } from "#core/base/assert.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { ProbeResult } from "#dataplane/host/probes/probe.ts";
import { buildLeg } from "./build-trace.ts";
import { type Cluster, forkCluster, podAt } from "../cluster.ts";
import { withPolicies } from "../policies/acl-origins.ts";
import { causeOf } from "./cause-of.ts";
import { type TraceEnd, byIpv6, findTraceEnd, findService } from "./find-trace-end.ts";
import { FlowEnds } from "../limits/flow-ends.ts";
import { type FlowLimit, type LimitReason, reasonOf } from "../session/flow-limit.ts";
import { type FollowedAttempt, runAttempt } from "./attempts.ts";
import { RequestError } from "../request-error.ts";
import { type HeardEvent, TraceCollector } from "./trace-collector.ts";
import type {
  AddressFamily,
  ProbeProtocol,
  TraceLeg,
  TraceProtocol,
  TraceReport,
  TraceVerdict,
} from "./trace-report.ts";
import { type NameRequest, describeResolution, followLookup, resolveName } from "./trace-name.ts";
import { type AskedEnd, endAt, readTraceTarget, serviceFromOutside } from "./trace-target.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

export interface TraceRequest {
  readonly from: string;
  readonly to: string;
  readonly protocol: TraceProtocol;
  /** Undefined: the first port on which the receiver serves the protocol. */
  readonly port: number | undefined;
  /** By which of their addresses. Undefined: the family of the receiver's. */
  readonly family?: AddressFamily | undefined;
  /** Sends the packet through the cluster itself: flows, counters and the clock go on. Default false: through a copy. */
  readonly isInjected?: boolean;
}

export interface Trace {
  readonly report: TraceReport;
  /** All that was heard, for captures. */
  readonly heard: readonly HeardEvent[];
}

function servicePorts(cluster: Cluster, reference: string): readonly { port: number; protocol: string }[] {
  const ports = findService(reference, cluster)?.spec?.ports ?? [];
  return ports.map(({ port, protocol = "TCP" }) => ({ port, protocol }));
}

/** The port to ask when the user names none. */
function choosePort(cluster: Cluster, to: TraceEnd, protocol: ProbeProtocol): number {
  const wanted = protocol.toUpperCase();
  const { reference } = to.description;
  const pod = podAt(cluster, to.compartment);
  const outside = cluster.file.outside.find((each) => each.name === reference);
  const ports = pod?.server.listPorts() ?? outside?.ports ?? servicePorts(cluster, reference);
  const port = ports.find((each) => each.protocol === wanted)?.port;
  if (port !== undefined) return port;
  const sctp = ports.find((each) => each.protocol === "SCTP");
  if (sctp !== undefined && findService(reference, cluster) !== undefined)
    throw new RequestError(
      "service-sctp-unsupported",
      WORDS.serviceSctpUnsupported({ reference, port: sctp.port }),
      WORDS.adviceTcpOrUdpPort,
    );
  throw new RequestError(
    "bad-usage",
    `${reference} serves no ${wanted} port that the cluster file names`,
    WORDS.advicePortOrIcmp,
  );
}

function verdictOf(result: ProbeResult, forward: TraceLeg): TraceVerdict {
  if (result.outcome === "answered") return "answered";
  if (result.outcome === "refused") return "refused";
  return forward.end === "delivered" ? "no-answer" : "not-delivered";
}

function summarize(
  verdict: TraceVerdict,
  result: ProbeResult,
  to: TraceEnd,
  legs: { readonly forward: TraceLeg; readonly reply: TraceLeg | undefined },
): string {
  const name = to.description.reference;
  if (verdict === "answered" && result.outcome === "answered") {
    return `Answered after ${result.rttMs.toFixed(3)} ms: ${result.answer.trim()}.`;
  }
  const drop = (leg: TraceLeg | undefined): string => {
    const step = leg?.steps.findLast((each) => each.kind === "drop");
    if (step === undefined) return "no further trace of it";
    const whose = step.networkPolicy === undefined ? "" : ` (${step.networkPolicy})`;
    return `${step.node}, ${step.place}: ${step.text}${whose}`;
  };
  if (result.outcome === "answered")
    return `The packet did not reach ${name}: another answered (${result.answer.trim()}).`;
  if (verdict === "refused") return `Refused by ${name}: ${result.detail}.`;
  return verdict === "no-answer"
    ? WORDS.summaryNoAnswer({ name, drop: drop(legs.reply) })
    : `The packet did not reach ${name}: ${drop(legs.forward)}.`;
}

/** Follows one packet and its answer in `cluster` itself, on whose clock time passes. */
export function followAttempt(cluster: Cluster, attempt: FollowedAttempt): Trace {
  const collector = new TraceCollector();
  const { recorder } = cluster.env;
  cluster.env.recorder = collector;
  const { from, to, protocol, port, sourcePort } = attempt;
  assert(from.compartment !== undefined, "a sender has a stack");
  // Also for what never reaches a switch: which ports a stack may take hangs on its Services.
  for (const { description } of [from, to])
    if (description.node !== undefined) cluster.demand.nodes.add(description.node);
  const result = runAttempt(cluster, {
    from: from.compartment,
    to: to.ip,
    protocol,
    port: port ?? 0,
    sourcePort,
    isFollowed: true,
  });
  cluster.env.recorder = recorder;
  const { enforcement } = cluster;
  const forward = withPolicies(enforcement, buildLeg(collector.legOf(1)));
  const answered = collector.legOf(2);
  const reply = answered.length === 0 ? undefined : withPolicies(enforcement, buildLeg(answered));
  const seen = verdictOf(result, forward);
  const cause = causeOf(cluster, attempt, { verdict: seen, forward, reply });
  const verdict = cause.isAnsweredByOther === true ? "not-delivered" : seen;
  const summary = summarize(verdict, result, to, { forward, reply });
  const { compat, ...head } = headOf(cluster, from);
  const report: TraceReport = {
    ...head,
    to: to.description,
    protocol,
    ...(port === undefined ? {} : { port }),
    compat,
    verdict,
    summary: cause.remark === undefined ? summary : `${summary} ${cause.remark}`,
    ...(cause.code === undefined ? {} : { code: cause.code }),
    ...(result.outcome === "answered" ? { answer: result.answer.trim() } : {}),
    forward,
    ...(reply === undefined ? {} : { reply }),
  };
  return { report, heard: collector.heard };
}

/** A request, and what keeps its outcome from being an answer. */
interface LimitedRequest extends TraceRequest {
  readonly limits: readonly FlowLimit[];
}

export const DNS_PORT = 53;

/** Who sends has a stack. */
export type Sender = TraceEnd & { readonly compartment: Compartment };

/** The sender by the name that a user wrote. @throws RequestError for who cannot send. */
export function findSender(cluster: Cluster, text: string): Sender {
  const sender = findTraceEnd(cluster, text);
  const { compartment, description } = sender;
  if (description.node !== undefined) cluster.part?.require(description.node);
  if (compartment !== undefined) return { ...sender, compartment };
  const isService = findService(text, cluster) !== undefined;
  throw new RequestError(
    "unknown-object",
    isService
      ? `${sender.description.reference} is a Service, which answers and does not ask`
      : WORDS.traceSourceUnknown({ text }),
    WORDS.adviceSender,
  );
}

function namespaceOf(cluster: Cluster, { compartment }: TraceEnd): string {
  return podAt(cluster, compartment)?.spec.namespace ?? "default";
}

/** What a report begins with. */
function headOf(
  cluster: Cluster,
  from: TraceEnd,
): Pick<TraceReport, "apiVersion" | "kind" | "from" | "compat"> {
  const node = cluster.nodes.find((each) => each.spec.name === from.description.node) ?? cluster.nodes[0];
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "Trace",
    from: from.description,
    compat: node?.spec.compat ?? "upstream",
  };
}

/** Where a question, or its answer, was lost. */
function lossOf(legs: readonly (TraceLeg | undefined)[]): string {
  const step = legs.flatMap((leg) => leg?.steps ?? []).findLast(({ kind }) => kind === "drop");
  if (step === undefined) return "";
  const why = step.code === undefined ? "" : ` (${step.code})`;
  return ` The question was lost on ${step.node}, ${step.place}: ${step.text}${why}.`;
}

/** Follows the question that decides; the name leads nowhere, or nothing more is wanted. */
function traceLookup(cluster: Cluster, request: LimitedRequest, name: string): Trace {
  const from = findSender(cluster, request.from);
  const followed = followLookup(cluster, nameRequest(request, name));
  const { result, forward, reply, heard } = followed;
  const server = result.questions.findLast(({ asked }) => asked.length > 0)?.asked[0];
  const isResolved = result.outcome === "resolved";
  const text = isResolved
    ? `${name} is ${result.addresses.map(formatIp).join(", ")}${result.questions.length === 0 ? ", and no server was asked" : ""}.`
    : `${name} does not resolve: ${result.detail}.${lossOf([forward, reply])}`;
  const report: TraceReport = {
    ...headOf(cluster, from),
    to: { reference: `name/${name}`, address: server === undefined ? "" : formatIp(server) },
    protocol: "dns",
    verdict: isResolved ? "answered" : "not-resolved",
    summary: text,
    ...(isResolved ? {} : { code: result.code }),
    resolution: describeResolution(from.compartment, result),
    forward,
    ...(reply === undefined ? {} : { reply }),
  };
  if (server === undefined) return { report, heard };
  const question = { from, to: { description: report.to, compartment: undefined, ip: server } };
  return {
    report: judgedReport(cluster, report, { ...question, protocol: "udp", port: DNS_PORT }, request),
    heard,
  };
}

function nameRequest(request: TraceRequest, name: string): NameRequest {
  return {
    name,
    family: request.family,
    senderIn: (cluster) => findSender(cluster, request.from).compartment,
  };
}

/** Resolves as the sender does, then follows the packet to the first address. */
function traceToName(
  cluster: Cluster,
  request: LimitedRequest,
  target: { name: string; port: number | undefined },
): Trace {
  const { name } = target;
  const asked = nameRequest(request, name);
  if (resolveName(forkCluster(cluster), asked).outcome === "failed")
    return traceLookup(cluster, request, name);
  const result = resolveName(cluster, asked);
  const [address] = result.outcome === "resolved" ? result.addresses : [];
  assert(address !== undefined, "what resolves in a copy resolves in the cluster");
  const from = findSender(cluster, request.from);
  const resolution = describeResolution(from.compartment, result);
  const { end, owner } = endAt(cluster, address, request.to);
  const wanted = portAsked(request, target.port);
  const trace = followTo(cluster, request, { end, port: wanted, isByName: true }, owner);
  const { from: sender, to, protocol, ...rest } = trace.report;
  const { apiVersion, kind, ...others } = rest;
  return { ...trace, report: { apiVersion, kind, from: sender, to, protocol, resolution, ...others } };
}

/** The port of a URL, or of --port; both, if they agree. @throws RequestError when they do not. */
function portAsked({ port, to }: TraceRequest, own: number | undefined): number | undefined {
  if (own !== undefined && port !== undefined && own !== port)
    throw new RequestError(
      "bad-usage",
      `${JSON.stringify(to)} means port ${own}, and --port says ${port}`,
      "Leave one of them out.",
    );
  return own ?? port;
}

/** Where the receiver is asked: a Service by a client outside where the outside reaches it. */
function askedEnd(cluster: Cluster, request: LimitedRequest, from: TraceEnd, reference: string): AskedEnd {
  const { family, port } = request;
  const protocol = packetProtocol(request);
  const service = findService(reference, cluster);
  const isOutside = cluster.outside.some(({ compartment }) => compartment === from.compartment);
  const outer =
    isOutside && service !== undefined
      ? serviceFromOutside(cluster, service, { protocol, port, family })
      : undefined;
  return outer ?? { end: findTraceEnd(cluster, reference, from), port };
}

/** A packet that is sent behind a resolution, or without one: a lookup sends none of its own. */
function packetProtocol({ protocol }: TraceRequest): ProbeProtocol {
  return protocol === "dns" ? "udp" : protocol;
}

/** `owner`: whose ports are meant when the user names none. */
function followTo(
  cluster: Cluster,
  request: LimitedRequest,
  asked: AskedEnd & { readonly isByName?: boolean },
  owner?: string,
): Trace {
  const sender = findSender(cluster, request.from);
  const protocol = packetProtocol(request);
  const to = request.family === "ipv6" ? byIpv6(asked.end) : asked.end;
  if (request.family === "ipv4" && typeof to.ip === "bigint")
    throw new RequestError("bad-usage", `${request.to} is an IPv6 address`, "Leave out --family ipv4.");
  // What is sent to an IPv6 address leaves with one; who has none hears it from the stack.
  const from = typeof to.ip === "bigint" && sender.ip6 !== undefined ? byIpv6(sender) : sender;
  const served = owner === undefined ? to : { ...to, description: { ...to.description, reference: owner } };
  const port = protocol === "icmp" ? undefined : (asked.port ?? choosePort(cluster, served, protocol));
  const attempt = { from, to, protocol, port };
  const judge = (report: TraceReport): TraceReport =>
    judgedReport(cluster, report, { ...attempt, isByName: asked.isByName === true }, request);
  const followed = followAttempt(cluster, attempt);
  const trace = { ...followed, report: judge(followed.report) };
  const isOutside = cluster.outside.some(({ compartment }) => compartment === from.compartment);
  const service = findService(to.description.reference, cluster);
  const isInner = service !== undefined && service.spec?.clusterIP === to.description.address;
  if (!isOutside || !isInner || trace.report.verdict === "answered") return trace;
  const summary = WORDS.summaryClusterIpFromOutside({
    summary: trace.report.summary,
    address: to.description.address,
  });
  return { ...trace, report: { ...trace.report, summary, code: "cluster-ip-from-outside" } };
}

/**
 * Follows one packet from `request.from` to `request.to`, and what the sender's resolver asks before, when that is a name.
 * The cluster itself stays as it is: the packet runs through a copy, unless it is to be injected. `limits` are those of the
 * cluster: the outcome says which of them concern it.
 * @throws RequestError for a party or port that does not exist.
 */
export function tracePacket(cluster: Cluster, asked: TraceRequest, limits: readonly FlowLimit[] = []): Trace {
  const request: LimitedRequest = { ...asked, limits };
  const copy = request.isInjected === true ? cluster : forkCluster(cluster);
  const from = findSender(copy, request.from);
  const target = readTraceTarget(copy, request.to, {
    protocol: request.protocol,
    namespace: namespaceOf(copy, from),
  });
  if (target.kind === "lookup") return traceLookup(copy, request, target.name);
  if (target.kind === "name") return traceToName(copy, request, target);
  const port = portAsked(request, target.port);
  return followTo(copy, request, askedEnd(copy, { ...request, port }, from, target.reference));
}

/** The report with the reasons why its outcome is not judged, if there are any. */
function judgedReport(
  cluster: Cluster,
  report: TraceReport,
  flow: JudgedFlow,
  { limits }: LimitedRequest,
): TraceReport {
  const notJudged = reasonsAgainst(cluster, flow, limits);
  return notJudged.length === 0 ? report : { ...report, notJudged };
}

export interface JudgedFlow {
  readonly from: TraceEnd;
  readonly to: TraceEnd;
  readonly protocol: ProbeProtocol;
  readonly port: number | undefined;
  readonly isByName?: boolean;
}

/** Why the outcome of an attempt is not judged; none when it is. */
export function reasonsAgainst(
  cluster: Cluster,
  { from, to, protocol, port = 0, isByName = false }: JudgedFlow,
  limits: readonly FlowLimit[],
): readonly LimitReason[] {
  if (limits.length === 0) return [];
  const flow = new FlowEnds(cluster).flowOf({
    from: from.description.reference,
    to: to.description.reference,
    address: to.ip,
    protocol,
    port,
    isByName,
  });
  return limits.filter((limit) => limit.covers(flow)).map((limit) => reasonOf(limit, flow));
}
