/** Which load balancers a service port should have, from what is known of its back ends (kube-proxy.md §3.5). */
import type { Guid } from "#contracts/hcn/guid.ts";
import {
  type HostComputeLoadBalancer,
  LOAD_BALANCER_DISTRIBUTIONS,
  LOAD_BALANCER_FLAGS,
  LOAD_BALANCER_PORT_FLAGS,
} from "#contracts/hcn/documents/load-balancer.ts";
import type { Behaviour } from "../behaviour.ts";
import type { FrontEndAndBackEnds } from "./load-balancer-identity.ts";
import type { LoadBalancerSlot, ServiceEntry } from "./service-entry.ts";
import { PROTOCOL_NUMBERS } from "../tracking/tracked-service.ts";

/** Back ends of one service port as HNS endpoints. */
export interface BackEnds {
  readonly all: readonly Guid[];
  /** Those that HNS calls local, whatever the slice says. */
  readonly local: readonly Guid[];
  /** Passed to every load balancer of the Service; empty on networks that are no overlay. */
  readonly sourceVip: string;
  /** Some endpoint is neither terminating nor out of service. */
  readonly areAvailable: boolean;
  /** Some endpoint serves, perhaps while it terminates. */
  readonly areServing: boolean;
}

/** What of the proxy's configuration shows in load balancers. */
export interface FrontEndSettings {
  readonly behaviour: Behaviour;
  readonly isIpv6: boolean;
  /** `--enable-dsr`. */
  readonly enableDSR: boolean;
  /** The endpoint in the node's own compartment; undefined: health checks are not forwarded. */
  readonly rootEndpoint: Guid | undefined;
  readonly healthzPort: number;
}

export interface WantedLoadBalancer extends FrontEndAndBackEnds {
  readonly slot: LoadBalancerSlot;
  /** False: neither made nor updated; what is there already may be deleted. */
  readonly isAllowed: boolean;
  /** What the check before a deletion looks for, where a version looks for something else (kube-proxy.md §3.6). */
  readonly deletionCheck: FrontEndAndBackEnds;
}

const { DSR, IPv6 } = LOAD_BALANCER_FLAGS;
const { LocalRoutedVip, UseMux, PreserveDip, VipExternalIP } = LOAD_BALANCER_PORT_FLAGS;
const SOURCE_IP = LOAD_BALANCER_DISTRIBUTIONS.indexOf("SourceIP");

/** How one kind of front end is made. */
interface FrontEndShape {
  readonly externalPort: number;
  readonly internalPort: number;
  readonly backEnds: readonly Guid[];
  readonly isAllowed: boolean;
  readonly isDsr: boolean;
  readonly portFlags: number;
  /** The health check has neither affinity nor, in any version seen, the bit of its family. */
  readonly isPlain?: boolean;
}

function shapeOf(
  slot: LoadBalancerSlot,
  entry: ServiceEntry,
  backEnds: BackEnds,
  settings: FrontEndSettings,
): FrontEndShape | undefined {
  const { behaviour } = settings;
  const { port, hasLocalTrafficDsr, preservesDestination, targetPort } = entry;
  const external = behaviour.marksExternalVips ? VipExternalIP : 0;
  const preserve = preservesDestination ? UseMux + PreserveDip : 0;
  const toLocal = hasLocalTrafficDsr || preservesDestination;
  const ports = { externalPort: port.port, internalPort: targetPort };
  // `hardened` as KEP-1669 has it: pods that serve while they terminate are better than none, at every front end.
  const mayBeUsed = behaviour.servesWhileTerminating ? backEnds.areServing : backEnds.areAvailable;
  switch (slot.kind) {
    case "ClusterIP": {
      const list = port.isInternalPolicyLocal ? backEnds.local : backEnds.all;
      return { ...ports, backEnds: list, isAllowed: true, isDsr: settings.enableDSR, portFlags: 0 };
    }
    case "NodePort":
      return {
        externalPort: port.nodePort,
        internalPort: targetPort,
        backEnds: toLocal ? backEnds.local : backEnds.all,
        isAllowed: mayBeUsed,
        isDsr: hasLocalTrafficDsr,
        portFlags: LocalRoutedVip + external,
      };
    case "ExternalIP":
      return {
        ...ports,
        backEnds: hasLocalTrafficDsr ? backEnds.local : backEnds.all,
        isAllowed: mayBeUsed,
        isDsr: hasLocalTrafficDsr,
        portFlags: external,
      };
    case "Ingress":
      return {
        ...ports,
        backEnds: toLocal ? backEnds.local : backEnds.all,
        isAllowed: true,
        isDsr: toLocal || (behaviour.hasIngressDsr && settings.enableDSR),
        portFlags: external + preserve,
      };
    case "HealthCheck": {
      if (settings.rootEndpoint === undefined || !backEnds.areAvailable) return undefined;
      const checked = port.healthCheckNodePort === 0 ? settings.healthzPort : port.healthCheckNodePort;
      return {
        externalPort: checked,
        internalPort: checked,
        backEnds: [settings.rootEndpoint],
        isAllowed: true,
        isDsr: false,
        portFlags: preserve,
        isPlain: true,
      };
    }
  }
}

/** What upstream looks for before it deletes: not always what it wants (`deleteExistingLoadBalancer`). */
function deletionCheckOf(
  wanted: FrontEndAndBackEnds,
  slot: LoadBalancerSlot,
  entry: ServiceEntry,
  backEnds: BackEnds,
  { behaviour, isIpv6 }: FrontEndSettings,
): FrontEndAndBackEnds {
  const isClusterIp = slot.kind === "ClusterIP";
  const list = isClusterIp && behaviour.checksAllBackEnds ? backEnds.all : wanted.backEnds;
  const family = behaviour.checksOwnFamily ? { isIpv6 } : {};
  const looked = { ...wanted, backEnds: list, ...family };
  if (!behaviour.checksWrongFrontEnd) return looked;
  const ports = { internalPort: entry.targetPort & 0xffff, externalPort: entry.port.port };
  return { ...looked, ...ports, vip: backEnds.sourceVip };
}

/** The load balancer that `slot` should hold now; undefined: leave the slot as it is. */
export function wantedLoadBalancer(
  slot: LoadBalancerSlot,
  entry: ServiceEntry,
  backEnds: BackEnds,
  settings: FrontEndSettings,
): WantedLoadBalancer | undefined {
  const shape = shapeOf(slot, entry, backEnds, settings);
  if (shape === undefined) return undefined;
  const isPlain = shape.isPlain === true;
  const isIpv6 = settings.isIpv6 && !isPlain;
  // Upstream makes numbers of 16 bits of them; `hardened` says that there is no such port.
  const portOf = (port: number): number => (settings.behaviour.wrapsPorts ? port & 0xffff : port);
  const identity: FrontEndAndBackEnds = {
    protocol: PROTOCOL_NUMBERS[entry.port.protocol],
    internalPort: portOf(shape.internalPort),
    externalPort: portOf(shape.externalPort),
    vip: slot.vip,
    isIpv6,
    backEnds: shape.backEnds,
    flags: (shape.isDsr ? DSR : 0) + (isIpv6 ? IPv6 : 0),
    portFlags: shape.portFlags,
    distribution: entry.port.hasClientIpAffinity && !isPlain ? SOURCE_IP : 0,
    sourceVip: backEnds.sourceVip,
  };
  return {
    ...identity,
    slot,
    isAllowed: shape.isAllowed,
    deletionCheck: deletionCheckOf(identity, slot, entry, backEnds, settings),
  };
}

/** The document for HNS. Members that are zero or empty are left out, as a Go client does. */
export function loadBalancerDocument(wanted: WantedLoadBalancer): HostComputeLoadBalancer {
  const { backEnds, sourceVip, vip, flags, portFlags, distribution } = wanted;
  return {
    HostComputeEndpoints: backEnds,
    ...(sourceVip === "" ? {} : { SourceVIP: sourceVip }),
    ...(vip === "" ? {} : { FrontendVIPs: [vip] }),
    PortMappings: [
      {
        Protocol: wanted.protocol,
        InternalPort: wanted.internalPort,
        ExternalPort: wanted.externalPort,
        ...(distribution === 0 ? {} : { DistributionType: distribution }),
        ...(portFlags === 0 ? {} : { Flags: portFlags }),
      },
    ],
    ...(flags === 0 ? {} : { Flags: flags }),
  };
}
