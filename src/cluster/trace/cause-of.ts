/**
 * Why a followed packet ended as it did. Where the last drop is a symptom, the code is that of its cause, the same that
 * `mullion verify` gives.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { type Cluster, type ClusterPod, podAt } from "../cluster.ts";
import { serviceKeyOf } from "../cluster-objects.ts";
import { driverTraits } from "../file/driver-traits.ts";
import { networkNamed } from "../networks/networks-of-node.ts";
import type { FollowedAttempt } from "./attempts.ts";
import type { TraceEnd } from "./find-trace-end.ts";
import type { TraceLeg, TraceStep, TraceVerdict } from "./trace-report.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Why. Without a code nothing explains the end, or nothing needs to. */
interface Cause {
  readonly code?: KnowledgeCode | undefined;
  /** A sentence behind the summary. */
  readonly remark?: string;
  /** The answer is that of another machine with the receiver's address. */
  readonly isAnsweredByOther?: boolean;
}

/** What was seen of the packet. */
interface SeenPacket {
  readonly verdict: TraceVerdict;
  readonly forward: TraceLeg;
  readonly reply: TraceLeg | undefined;
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

/** How a caller refuses an answer from an address that it never asked (dataplane.md §9 F-10). */
const REFUSED_ANSWER_CODES: readonly (KnowledgeCode | undefined)[] = [
  undefined,
  "port-not-listening",
  "no-answer",
  "connection-invalid",
  "martian-source",
  "mac-not-local",
];

const SOURCES: readonly string[] = ["ip.src", "ipv6.src"];
const DESTINATIONS: readonly string[] = ["ip.dst", "ipv6.dst"];

function codeOfDrop(leg: TraceLeg | undefined): KnowledgeCode | undefined {
  return leg?.steps.findLast((step) => step.kind === "drop")?.code;
}

/** True when OutBoundNAT gave an answer another address than the one that was asked. */
function isAnswerTranslated(reply: TraceLeg | undefined): boolean {
  return (reply?.steps ?? []).some(
    ({ rule, changes }) =>
      rule?.provenance.policy?.type === "OutBoundNAT" && changes.some(({ field }) => SOURCES.includes(field)),
  );
}

function codeOfAnswer({ forward, reply }: SeenPacket): KnowledgeCode | undefined {
  const dropped = codeOfDrop(reply);
  if (dropped === "no-route") {
    const untranslated = forward.steps.find(
      (step) => step.code !== undefined && NAT_CODES.includes(step.code),
    );
    return untranslated?.code ?? "no-route-back";
  }
  if (isAnswerTranslated(reply) && REFUSED_ANSWER_CODES.includes(dropped)) return "outbound-nat-on-answers";
  return dropped ?? "no-answer";
}

function codeOf(seen: SeenPacket, ofService: KnowledgeCode | undefined): KnowledgeCode | undefined {
  const { verdict, forward, reply } = seen;
  if (verdict === "answered") return undefined;
  if (verdict === "no-answer") return codeOfAnswer(seen);
  const dropped = codeOfDrop(forward.end === "delivered" ? reply : forward);
  const service = forward.steps.find((step) => step.code !== undefined && SERVICE_CODES.includes(step.code));
  const isAstray = forward.end !== "delivered" && STRAY_CODES.includes(dropped);
  if (isAstray && service !== undefined) return service.code;
  // A segment that knows no way floods, and the last who hears it may only say that it is not for him.
  const isFlooded = ofService === "icmp-to-service-not-balanced" && dropped === "mac-not-local";
  return (isAstray || isFlooded) && ofService !== undefined ? ofService : dropped;
}

function podsWithAddress({ pods }: Cluster, address: string | undefined): readonly ClusterPod[] {
  return pods.filter(({ address: ip, address6 }) =>
    [ip, address6].some((each) => each !== undefined && formatIp(each) === address),
  );
}

/** The back end that a Service chose, when it is a pod of a network that its address does not lead to. */
function strayBackEnd(cluster: Cluster, to: TraceEnd, forward: TraceLeg): ClusterPod | undefined {
  const { file } = cluster;
  const asked = formatIp(to.ip);
  const chosen = forward.steps
    .flatMap(({ changes }) => changes)
    .find(({ field, before }) => DESTINATIONS.includes(field) && before === asked)?.after;
  const owners = podsWithAddress(cluster, chosen);
  const isStray = ({ spec }: ClusterPod): boolean => {
    const { driver, name } = networkNamed(file, spec.podNetwork);
    const isCutOff = driverTraits(driver).isIsolated || driver === "NAT";
    return spec.network !== "host" && name !== file.network.name && isCutOff;
  };
  return owners.every(isStray) ? owners[0] : undefined;
}

/**
 * Why a packet to a ClusterIP was not translated where no rule of its node says so: no node has a load balancer for a Service
 * without a ready back end, and those of OVN know no ICMP.
 */
function codeOfService(
  { file, objects }: Cluster,
  { to, protocol }: FollowedAttempt,
): KnowledgeCode | undefined {
  const asked = formatIp(to.ip);
  const service = objects.Service.find(
    ({ spec }) => spec?.clusterIP === asked || spec?.clusterIPs?.includes(asked) === true,
  );
  if (service === undefined) return undefined;
  if (protocol === "icmp")
    return file.network.plugin === "ovn-kubernetes" ? "icmp-to-service-not-balanced" : undefined;
  const { namespace, name } = service.metadata;
  const slices = objects.EndpointSlice.filter((slice) => serviceKeyOf(slice) === `${namespace}/${name}`);
  const isEmpty = slices.every(({ endpoints = [] }) =>
    endpoints.every(({ conditions }) => conditions?.ready === false),
  );
  return isEmpty ? "service-without-back-ends" : undefined;
}

/** Two virtual networks never exchange a packet (windows-networking-documentation.md §2). */
function isolationOf(cluster: Cluster, { from, to }: FollowedAttempt, forward: TraceLeg): Cause | undefined {
  const [one, other] = [podAt(cluster, from.compartment), podAt(cluster, to.compartment)];
  if (one === undefined || other === undefined) return undefined;
  const { podNetwork, namespace, name } = other.spec;
  const isVirtual = ({ spec }: ClusterPod): boolean =>
    spec.network !== "host" && driverTraits(networkNamed(cluster.file, spec.podNetwork).driver).isIsolated;
  if (one.spec.podNetwork === podNetwork || !isVirtual(one) || !isVirtual(other)) return undefined;
  const isAt = ({ kind, place }: TraceStep): boolean =>
    kind === "deliver" && place === `pod ${namespace}/${name}`;
  if (forward.steps.some(isAt)) return undefined;
  return {
    code: "pod-networks-isolated",
    remark: WORDS.remarkNetworksIsolated({ senderNetwork: one.spec.podNetwork, receiverNetwork: podNetwork }),
  };
}

/**
 * The node whose port of the fabric lets no MAC of a pod pass, where the packet ends with an address that nobody told:
 * the first frame that is lost is the question for it, or its answer (dataplane.md §2.6).
 */
function nodeWithMacGuard(cluster: Cluster, { from, to }: FollowedAttempt): string | undefined {
  const sender = podAt(cluster, from.compartment);
  const pods = [...(sender === undefined ? [] : [sender]), ...podsWithAddress(cluster, formatIp(to.ip))];
  const guarded = pods.find(
    ({ spec, node }) =>
      spec.network !== "host" &&
      networkNamed(cluster.file, spec.podNetwork).driver === "Transparent" &&
      !node.spec.hasMacSpoofing,
  );
  return guarded?.node.spec.name;
}

/** The logical port that lets nothing out of the pod: no chassis has bound it, or the pod's MAC is not that of the port (control-planes.md §4.5). */
function logicalPortAgainst({ ovn }: Cluster, sender: ClusterPod | undefined): Cause | undefined {
  const found = sender?.compartment.interfaceOf(sender.address);
  if (ovn === undefined || sender === undefined || found === undefined) return undefined;
  const port = `${sender.spec.namespace}_${sender.spec.name}`;
  const row = ovn.southbound.get("Port_Binding")?.find((each) => each.get("logical_port") === port);
  // An empty set, as columns without a value are.
  if (row !== undefined && typeof row.get("chassis") !== "string")
    return { code: "ovn-port-unbound", remark: WORDS.remarkPortUnbound({ port }) };
  const allowed = [row?.get("port_security") ?? []].flat().map(String);
  const mac = formatMac(found.mac).replaceAll("-", ":").toLowerCase();
  if (allowed.length === 0 || allowed.some((each) => each.startsWith(mac))) return undefined;
  const remark = WORDS.remarkPortSecurity({ port, allowed: allowed.join(", "), mac });
  return { code: "ovn-packet-dropped", remark };
}

/** Explains how `attempt` ended. */
export function causeOf(cluster: Cluster, attempt: FollowedAttempt, seen: SeenPacket): Cause {
  const { verdict, forward } = seen;
  const isolation = isolationOf(cluster, attempt, forward);
  if (isolation !== undefined)
    return verdict === "answered" ? { ...isolation, isAnsweredByOther: true } : isolation;
  if (verdict === "answered") return {};
  const stray = strayBackEnd(cluster, attempt.to, forward);
  if (stray !== undefined) {
    const { namespace, name, podNetwork } = stray.spec;
    return {
      code: "service-back-end-in-other-network",
      remark: WORDS.remarkBackEndInOtherNetwork({
        namespace,
        pod: name,
        podNetwork,
        servedNetwork: cluster.file.network.name,
      }),
    };
  }
  const code = codeOf(seen, codeOfService(cluster, attempt));
  if (code === "neighbor-unresolved") {
    const cut = logicalPortAgainst(cluster, podAt(cluster, attempt.from.compartment));
    if (cut !== undefined) return cut;
  }
  const guard = code === "neighbor-unresolved" ? nodeWithMacGuard(cluster, attempt) : undefined;
  return guard === undefined
    ? { code }
    : {
        code: "mac-spoofing-refused",
        remark: WORDS.remarkMacSpoofing({ guard }),
      };
}
