/** Says in words what keeps a Service from working, beside what HNS refused. */
import { isPort } from "#core/net/port-range.ts";
import type { ServiceFinding } from "../report.ts";
import type { LoadBalancerSlot, ServiceEntry } from "../load-balancers/service-entry.ts";
import type { BackEnds, WantedLoadBalancer } from "../load-balancers/wanted-load-balancers.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

const FRONT_ENDS = {
  ClusterIP: "The ClusterIP",
  NodePort: "The node port",
  ExternalIP: "The external address",
  Ingress: "The load balancer's address",
  HealthCheck: "The forwarded health check",
} as const;

/** `The node port 30080`, `The ClusterIP 10.96.0.1`. */
export function frontEndText(slot: LoadBalancerSlot, entry: ServiceEntry): string {
  return `${FRONT_ENDS[slot.kind]} ${slot.kind === "NodePort" ? entry.port.nodePort : slot.vip}`;
}

/** Why a Service with endpoints in its slices, or without, has no back ends. */
export function noBackEnds(listed: number): ServiceFinding {
  return {
    code: "service-without-usable-endpoints",
    message:
      listed === 0 ? "No EndpointSlice lists an endpoint for this port" : WORDS.noEndpointReady({ listed }),
  };
}

/** What lets only pods of this node stand behind a front end. */
function localOnly(
  slot: LoadBalancerSlot,
  entry: ServiceEntry,
): Pick<ServiceFinding, "code"> & { reason: string } {
  if (slot.kind === "ClusterIP")
    return { code: "internal-policy-local-without-endpoint", reason: "internalTrafficPolicy Local" };
  return entry.hasLocalTrafficDsr
    ? {
        code: "external-traffic-policy-local-without-local-endpoint",
        reason: "externalTrafficPolicy Local",
      }
    : { code: "service-without-usable-endpoints", reason: "the annotation preserve-destination" };
}

/** Why one front end stays empty although the Service has back ends. */
export function emptyFrontEnd(
  wanted: WantedLoadBalancer,
  entry: ServiceEntry,
  backEnds: BackEnds,
): ServiceFinding | undefined {
  const { slot, isAllowed } = wanted;
  const frontEnd = { kind: slot.kind, vip: slot.vip };
  if (wanted.backEnds.length === 0 && backEnds.all.length > 0) {
    const { code, reason } = localOnly(slot, entry);
    return {
      code,
      message: WORDS.localEndpointsMissing({ frontEndText: frontEndText(slot, entry), reason }),
      frontEnd,
    };
  }
  if (isAllowed) return undefined;
  return {
    code: "service-endpoints-terminating",
    message: WORDS.endpointsTerminating({ frontEndText: frontEndText(slot, entry) }),
    frontEnd,
  };
}

/** Why a front end cannot be made, whatever HNS says: no API server takes such a Service. */
export function portOutOfRange(wanted: WantedLoadBalancer, entry: ServiceEntry): ServiceFinding | undefined {
  const { slot } = wanted;
  const port = [wanted.externalPort, wanted.internalPort].find((each) => !isPort(each) || each === 0);
  if (port === undefined) return undefined;
  return {
    code: "service-load-balancer-refused",
    message: `${frontEndText(slot, entry)} is not programmed: ${port} is not a port`,
    frontEnd: { kind: slot.kind, vip: slot.vip },
  };
}

/** k8s.io/kubernetes, pkg/proxy/winkernel: "hnslib.AddLoadBalancer() doesn't support endpoints with different ports". */
export function otherPorts(
  { port, targetPort }: ServiceEntry,
  addressByPort: ReadonlyMap<number, string>,
): readonly ServiceFinding[] {
  const others = [...addressByPort].filter(([number]) => number !== targetPort);
  if (others.length === 0) return [];
  const isOfService = port.targetPort === targetPort && !addressByPort.has(targetPort);
  const used = addressByPort.get(targetPort);
  return [
    {
      code: isOfService ? "slice-port-not-used" : "service-target-ports-differ",
      message: WORDS.targetPortsDiffer({
        targetPort,
        used: used === undefined ? "" : ` of ${used}`,
        others: others.map(([number, address]) => `${number} of ${address}`).join(", "),
      }),
      addresses: [...addressByPort.values()],
    },
  ];
}

/** What HNS silently does not do for this Service. */
export function unsupportedFeatures(
  entry: ServiceEntry,
  hns: { readonly hasDsr: boolean; readonly hasSessionAffinity: boolean },
): readonly ServiceFinding[] {
  const findings: ServiceFinding[] = [];
  const { isExternalPolicyLocal, hasClientIpAffinity } = entry.port;
  if (isExternalPolicyLocal && !hns.hasDsr) {
    findings.push({
      code: "external-traffic-policy-local-without-dsr",
      message: WORDS.externalTrafficPolicyIgnored,
    });
  }
  if (hasClientIpAffinity && !hns.hasSessionAffinity) {
    findings.push({
      code: "session-affinity-unsupported",
      message: WORDS.sessionAffinityUnsupported,
    });
  }
  return findings;
}
