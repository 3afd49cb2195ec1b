/** Brings ports, pools, uplinks and stacks of a node in line with its defects. Each knows only its own setting. */
import type { QuirkName } from "#core/catalogue/quirks.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { DEFAULT_FLOW_SETTINGS } from "#dataplane/vfp/port-settings.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import { ReceivePace, type TakenPort, type WireFaults } from "#dataplane/switch/wire-faults.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import type { LayerName } from "../../compile/layers.ts";
import type { QuirkSet } from "../quirk-set.ts";
import type { FilterProgram } from "#dataplane/host/windows-filtering/filter-program.ts";
import type { EndpointRecord } from "../../service/records.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import type { Task } from "#core/base/clock.ts";
import type { Group } from "#dataplane/vfp/group.ts";

/** Longer than anything idles: two days. */
const UNFORGOTTEN_TTL_MS = 172_800_000;
/** One later fragment in a hundred (dataplane.md §9, F-04). */
const COLLISION_RATE = 0.01;
const REUSED_PORTS_MAX = 64;
/** 100 KiB/s (dataplane.md §9, F-28). */
const COALESCED_BYTES_PER_SECOND = 102_400;
const AZURE_PORT = 65_330;
/** The thread shows some seconds of each (dataplane.md §9, F-55). Inferred: five. */
const OUTAGE_MS = 5_000;
/** Inferred: how long the first seconds of a pod are (dataplane.md §9, F-45). */
const COLD_RESOLVER_MS = 3_000;
/** How long VNET_ENCAP_LAYER is gone (dataplane.md §9, F-03). */
const GAP_MIN_MS = 0.3;
const GAP_MAX_MS = 32;

/** Layers whose rules come late, and by how much (dataplane.md §9, F-30 and F-39). */
const LATE_LAYERS: readonly (readonly [layer: LayerName, quirk: QuirkName, lateMs: number])[] = [
  ["ACL_ENDPOINT_LAYER", "acl-applied-late", 60_000],
  ["LB_DSR", "load-balancer-rules-late", 30_000],
];

const TAKEN_UDP: readonly (readonly [quirk: QuirkName, taken: TakenPort])[] = [
  ["vxlan-port-taken", { side: "destination", port: VXLAN_PORT, code: "vxlan-port-taken" }],
  ["udp-port-65330-taken", { side: "source", port: AZURE_PORT, code: "udp-port-65330-taken" }],
];

/** Plain data, part of a node's datapath. */
export class SwitchDefects {
  private readonly quirks: QuirkSet;

  constructor(quirks: QuirkSet) {
    this.quirks = quirks;
  }

  /** `isBridge`: the switch is that of an L2Bridge network; asked of an uplink. */
  settlePort(port: SwitchPort, isBridge = false): void {
    if (port.kind === "external") {
      port.wireFaults = this.wireFaultsOf(port.id, isBridge);
      return;
    }
    const { vfp, id } = port;
    const ttlMs = this.quirks.strikes("idle-flows-forgotten", id)
      ? DEFAULT_FLOW_SETTINGS.defaultTtlMs
      : UNFORGOTTEN_TTL_MS;
    if (vfp.flowSettings.defaultTtlMs !== ttlMs)
      vfp.flowSettings = { ...vfp.flowSettings, defaultTtlMs: ttlMs, halfOpenTtlMs: ttlMs };
    this.settleFragments(port);
    vfp.losesUdpFragments = port.kind === "container" && this.quirks.strikes("large-udp-dropped", id);
    const isSlow = this.quirks.strikes("receive-coalescing-slow", id);
    if (isSlow !== (port.pace !== undefined))
      port.pace = isSlow ? new ReceivePace(COALESCED_BYTES_PER_SECOND) : undefined;
    if (port.kind === "container") this.settlePools(port);
  }

  /** A vNIC was put into the compartment of a pod. */
  settleNewPod(compartment: Compartment, portId: string): void {
    this.settleSockets(compartment);
    if (this.quirks.strikes("names-fail-at-first", portId))
      compartment.namesFailUntilMs = compartment.nowMs + COLD_RESOLVER_MS;
  }

  /** Containers only: the host's own programs are not concerned (dataplane.md §9, F-27). */
  settleSockets(compartment: Compartment): void {
    compartment.refusesSockets = this.quirks.strikes(
      "sockets-refused",
      `${compartment.node}/${compartment.id}`,
    );
  }

  /** `leg`: the host's own vNIC in an L2Bridge network. */
  settleRouting(leg: Interface, portId: string): void {
    leg.refusesRouting = this.quirks.strikes("bridge-endpoint-not-routed", portId);
  }

  /** By how much a change of these rules comes late to a port, in milliseconds. */
  lateMs(layer: LayerName, portId: string): number {
    const row = LATE_LAYERS.find(([late]) => late === layer);
    return row !== undefined && this.quirks.strikes(row[1], portId) ? row[2] : 0;
  }

  endsFlowsOnAclChange(portId: string): boolean {
    return this.quirks.strikes("acl-change-resets-flows", portId);
  }

  /** How long the router's port of a network is without its layer while it changes; 0: it is not. `change` counts. */
  gapMs(networkId: string, change: number): number {
    if (!this.quirks.strikes("encap-layer-rebuilt", `${networkId}/${change}`)) return 0;
    const chance = this.quirks.chanceOf("encap-layer-rebuilt", `${networkId}/${change}`);
    return GAP_MIN_MS + ((GAP_MAX_MS - GAP_MIN_MS) * chance.nextU32()) / 0x1_0000_0000;
  }

  private settleFragments({ vfp, id }: SwitchPort): void {
    const rate = this.quirks.rateOf("fragment-collisions", COLLISION_RATE);
    if (rate === (vfp.fragmentCollisions?.rate ?? 0)) return;
    vfp.fragmentCollisions =
      rate === 0 ? undefined : { rate, random: this.quirks.chanceOf("fragment-collisions", id) };
  }

  private settlePools({ vfp, id }: SwitchPort): void {
    const reusesPorts = this.quirks.strikes("nat-ports-reused", id);
    const isExhausted = this.quirks.strikes("nat-ports-exhausted", id);
    const hasAny = reusesPorts || isExhausted;
    for (const pool of vfp.listNatPools())
      pool.defects = hasAny
        ? { reusesPorts, isExhausted, ...(reusesPorts && { portsMax: REUSED_PORTS_MAX }) }
        : undefined;
  }

  private wireFaultsOf(portId: string, isBridge: boolean): WireFaults | undefined {
    const takenUdp = TAKEN_UDP.flatMap(([quirk, taken]) =>
      this.quirks.strikes(quirk, portId) ? [taken] : [],
    );
    const isUnstable = isBridge && this.quirks.strikes("l2bridge-unstable", portId);
    if (takenUdp.length === 0 && !isUnstable) return undefined;
    const shiftMs = this.quirks.chanceOf("l2bridge-unstable", portId).below(2 * OUTAGE_MS);
    const outages = { worksMs: OUTAGE_MS, failsMs: OUTAGE_MS, shiftMs, code: "l2bridge-unstable" } as const;
    return { takenUdp, ...(isUnstable && { outages }) };
  }
}

// `proxy-policy-limit`: beyond about 15 L4WFPPROXY policies of a node further ones have no effect (dataplane.md §9, F-31).

const PROXIES_MAX = 15;

/** Inferred: policies count in the order in which their endpoints were made. */
function proxiesBefore(context: ServiceContext, endpoint: EndpointRecord): number {
  let count = 0;
  for (const other of context.state.localEndpoints()) {
    if (other.id === endpoint.id) break;
    count += other.policies.filter((policy) => policy.Type === "L4WFPPROXY").length;
  }
  return count;
}

/** What is left of a program whose proxies are too many for the node. */
export function limitProxies(
  context: ServiceContext,
  endpoint: EndpointRecord,
  program: FilterProgram,
): FilterProgram {
  if (!context.quirks.strikes("proxy-policy-limit", endpoint.networkId)) return program;
  const room = Math.max(0, PROXIES_MAX - proxiesBefore(context, endpoint));
  if (room >= program.redirections.length) return program;
  return Object.freeze({ ...program, redirections: Object.freeze(program.redirections.slice(0, room)) });
}

// What comes to a port later than HNS says: groups of a layer, the layer itself, the end of a router (dataplane.md §9).

/** Puts groups into a layer when their time has come. */
export class LateGroups implements Task {
  private readonly port: SwitchPort;
  private readonly layer: LayerName;
  private readonly groups: readonly Group[];

  constructor(port: SwitchPort, layer: LayerName, groups: readonly Group[]) {
    this.port = port;
    this.layer = layer;
    this.groups = groups;
  }

  run(): void {
    this.port.vfp.setGroups(this.layer, this.groups);
  }
}

const REBUILT: LayerName = "VNET_ENCAP_LAYER";

/** VNET_ENCAP_LAYER of a router's port is gone; this puts it back. Flows that were made meanwhile are not judged again. */
export class RebuiltLayer implements Task {
  private readonly port: SwitchPort;

  constructor(port: SwitchPort) {
    this.port = port;
  }

  /** Takes the layer away. */
  begin(): void {
    this.port.vfp.setLayerPresent(REBUILT, false, false);
  }

  run(): void {
    this.port.vfp.setLayerPresent(REBUILT, true, false);
  }
}
