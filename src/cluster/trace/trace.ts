/** `mullion trace`: one packet and its answer through a copy of the cluster, explained. */
import { assert } from "#core/base/assert.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp } from "#core/net/ip.ts";
import type { ProbeResult } from "#dataplane/host/probes/probe.ts";
import { buildLeg } from "./build-trace.ts";
import { type Cluster, type ClusterPod, forkCluster } from "../cluster.ts";
import { driverTraits } from "../file/driver-traits.ts";
import { type TraceEnd, byIpv6, findTraceEnd, findService } from "./find-trace-end.ts";
import { FlowEnds } from "../limits/flow-ends.ts";
import { type FlowLimit, type LimitReason, reasonOf } from "../session/flow-limit.ts";
import { networkNamed } from "../networks/networks-of-node.ts";
import { runAttempt } from "./attempts.ts";
import { RequestError } from "../request-error.ts";
import { type HeardEvent, TraceCollector } from "./trace-collector.ts";
import type { AddressFamily, ProbeProtocol, TraceLeg, TraceReport, TraceVerdict } from "./trace-report.ts";

export interface TraceRequest {
  readonly from: string;
  readonly to: string;
  readonly protocol: ProbeProtocol;
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
  const pod = cluster.pods.find((each) => each.compartment === to.compartment);
  const outside = cluster.file.outside.find((each) => each.name === reference);
  const ports = pod?.server.listPorts() ?? outside?.ports ?? servicePorts(cluster, reference);
  const port = ports.find((each) => each.protocol === wanted)?.port;
  if (port !== undefined) return port;
  throw new RequestError(
    "bad-usage",
    `${reference} serves no ${wanted} port that the cluster file names`,
    "Say which port to ask with --port, or ask with --protocol icmp.",
  );
}

function verdictOf(result: ProbeResult, forward: TraceLeg): TraceVerdict {
  if (result.outcome === "answered") return "answered";
  if (result.outcome === "refused") return "refused";
  return forward.end === "delivered" ? "no-answer" : "not-delivered";
}

/** What a source NAT left alone explains an answer that finds no way back better than the missing route does. */
const NAT_CODES: readonly KnowledgeCode[] = ["icmp-outbound-not-translated", "outbound-nat-exception"];

/** What a service's rules said of a packet explains its end on a way that it should not have gone. */
const SERVICE_CODES: readonly KnowledgeCode[] = ["service-without-back-ends", "icmp-to-service-not-balanced"];
const STRAY_CODES: readonly (KnowledgeCode | undefined)[] = [
  undefined,
  "no-route",
  "destination-not-local",
  "neighbor-unresolved",
  "ttl-expired",
];

function explain(
  verdict: TraceVerdict,
  forward: TraceLeg,
  reply: TraceLeg | undefined,
): KnowledgeCode | undefined {
  if (verdict === "answered") return undefined;
  const leg = forward.end === "delivered" ? reply : forward;
  const dropped = leg?.steps.findLast((step) => step.kind === "drop")?.code;
  if (forward.end === "delivered" && dropped === "no-route") {
    const untranslated = forward.steps.find(
      (step) => step.code !== undefined && NAT_CODES.includes(step.code),
    );
    return untranslated?.code ?? "no-route-back";
  }
  const service = forward.steps.find((step) => step.code !== undefined && SERVICE_CODES.includes(step.code));
  if (forward.end !== "delivered" && service !== undefined && STRAY_CODES.includes(dropped))
    return service.code;
  return dropped ?? (verdict === "no-answer" ? "no-answer" : undefined);
}

function summarize(
  verdict: TraceVerdict,
  result: ProbeResult,
  to: TraceEnd,
  legs: { readonly forward: TraceLeg; readonly reply: TraceLeg | undefined },
): string {
  const name = to.description.reference;
  if (result.outcome === "answered") {
    return `Answered after ${result.rttMs.toFixed(3)} ms: ${result.answer.trim()}.`;
  }
  const drop = (leg: TraceLeg | undefined): string => {
    const step = leg?.steps.findLast((each) => each.kind === "drop");
    return step === undefined ? "no further trace of it" : `${step.node}, ${step.place}: ${step.text}`;
  };
  if (verdict === "refused") return `Refused by ${name}: ${result.detail}.`;
  return verdict === "no-answer"
    ? `The packet reached ${name}, but its answer did not come back: ${drop(legs.reply)}.`
    : `The packet did not reach ${name}: ${drop(legs.forward)}.`;
}

const DESTINATIONS: readonly string[] = ["ip.dst", "ipv6.dst"];

/** The back end that a Service chose, when it is a pod of a network that its address does not lead to. */
function strayBackEnd({ file, pods }: Cluster, to: TraceEnd, forward: TraceLeg): ClusterPod | undefined {
  const asked = formatIp(to.ip);
  const chosen = forward.steps
    .flatMap(({ changes }) => changes)
    .find(({ field, before }) => DESTINATIONS.includes(field) && before === asked)?.after;
  const owners = pods.filter(({ address, address6 }) =>
    [address, address6].some((ip) => ip !== undefined && formatIp(ip) === chosen),
  );
  const isStray = ({ spec }: ClusterPod): boolean => {
    const { driver, name } = networkNamed(file, spec.podNetwork);
    const isCutOff = driverTraits(driver).isIsolated || driver === "NAT";
    return spec.network !== "host" && name !== file.network.name && isCutOff;
  };
  return owners.every(isStray) ? owners[0] : undefined;
}

/** An attempt that is followed: both ends are parties of the cluster in which it runs. */
export interface FollowedAttempt {
  readonly from: TraceEnd;
  readonly to: TraceEnd;
  readonly protocol: ProbeProtocol;
  /** Undefined for ICMP. */
  readonly port: number | undefined;
  /** Undefined: one of the system's choice. */
  readonly sourcePort?: number | undefined;
}

/** Follows one packet and its answer in `cluster` itself, on whose clock time passes. */
export function followAttempt(cluster: Cluster, attempt: FollowedAttempt): Trace {
  const collector = new TraceCollector();
  const { recorder } = cluster.env;
  cluster.env.recorder = collector;
  const { from, to, protocol, port, sourcePort } = attempt;
  assert(from.compartment !== undefined, "a sender has a stack");
  const result = runAttempt(cluster, {
    from: from.compartment,
    to: to.ip,
    protocol,
    port: port ?? 0,
    sourcePort,
    isFollowed: true,
  });
  cluster.env.recorder = recorder;
  const forward = buildLeg(collector.legOf(1));
  const answered = collector.legOf(2);
  const reply = answered.length === 0 ? undefined : buildLeg(answered);
  const verdict = verdictOf(result, forward);
  const stray = verdict === "answered" ? undefined : strayBackEnd(cluster, to, forward);
  const code = stray === undefined ? explain(verdict, forward, reply) : "service-back-end-in-other-network";
  const summary = summarize(verdict, result, to, { forward, reply });
  const node = cluster.nodes.find((each) => each.spec.name === from.description.node) ?? cluster.nodes[0];
  const report: TraceReport = {
    apiVersion: "mullion/v1alpha1",
    kind: "Trace",
    from: from.description,
    to: to.description,
    protocol,
    ...(port === undefined ? {} : { port }),
    compat: node?.spec.compat ?? "upstream",
    verdict,
    summary:
      stray === undefined
        ? summary
        : `${summary} Its back end ${stray.spec.namespace}/${stray.spec.name} is in network ${stray.spec.podNetwork}, and kube-proxy serves ${cluster.file.network.name}.`,
    ...(code === undefined ? {} : { code }),
    ...(result.outcome === "answered" ? { answer: result.answer.trim() } : {}),
    forward,
    ...(reply === undefined ? {} : { reply }),
  };
  return { report, heard: collector.heard };
}

/**
 * Follows one packet from `request.from` to `request.to`. The cluster itself stays as it is: the packet runs through
 * a copy, unless it is to be injected. `limits` are those of the cluster: the outcome says which of them concern it.
 * @throws RequestError for a party or port that does not exist.
 */
export function tracePacket(
  cluster: Cluster,
  request: TraceRequest,
  limits: readonly FlowLimit[] = [],
): Trace {
  const copy = request.isInjected === true ? cluster : forkCluster(cluster);
  const [sender, receiver] = [findTraceEnd(copy, request.from), findTraceEnd(copy, request.to)];
  const to = request.family === "ipv6" ? byIpv6(receiver) : receiver;
  if (request.family === "ipv4" && typeof to.ip === "bigint")
    throw new RequestError("bad-usage", `${request.to} is an IPv6 address`, "Leave out --family ipv4.");
  // What is sent to an IPv6 address leaves with one; who has none hears it from the stack.
  const from = typeof to.ip === "bigint" && sender.ip6 !== undefined ? byIpv6(sender) : sender;
  if (from.compartment === undefined) {
    const isService = findService(request.from, copy) !== undefined;
    throw new RequestError(
      "unknown-object",
      isService
        ? `${from.description.reference} is a Service, which answers and does not ask`
        : `no machine or pod of the cluster has the address ${request.from}, so it cannot be the source`,
      "Name a pod, a node or an outside host as the sender.",
    );
  }
  const { protocol } = request;
  const port = protocol === "icmp" ? undefined : (request.port ?? choosePort(copy, to, protocol));
  const notJudged = reasonsAgainst(copy, { from, to, protocol, port }, limits);
  const { report, heard } = followAttempt(copy, { from, to, protocol, port });
  return { report: notJudged.length === 0 ? report : { ...report, notJudged }, heard };
}

/** Why the outcome of an attempt is not judged; none when it is. */
function reasonsAgainst(
  cluster: Cluster,
  { from, to, protocol, port = 0 }: FollowedAttempt,
  limits: readonly FlowLimit[],
): readonly LimitReason[] {
  if (limits.length === 0) return [];
  const flow = new FlowEnds(cluster).flowOf({
    from: from.description.reference,
    to: to.description.reference,
    address: to.ip,
    protocol,
    port,
    isByName: false,
  });
  return limits.filter((limit) => limit.covers(flow)).map((limit) => reasonOf(limit, flow));
}
