/** Programs one service port (kube-proxy.md §3.4, §3.5, §3.7). */
import type { Guid } from "#contracts/hcn/guid.ts";
import {
  type FoundBackEnds,
  NETWORK_LOST,
  type SyncPass,
  ensureVipEndpoint,
  findBackEnds,
} from "../load-balancers/back-ends.ts";
import {
  type LoadBalancerSlot,
  type ServiceEntry,
  forgetFailures,
  noteFailure,
} from "../load-balancers/service-entry.ts";
import { BoundEndpoints } from "../load-balancers/bound-endpoints.ts";
import {
  emptyFrontEnd,
  frontEndText,
  noBackEnds,
  otherPorts,
  portOutOfRange,
  unsupportedFeatures,
} from "./findings.ts";
import { explanationOfRefusal, failureText } from "../load-balancers/hns-failure.ts";
import type { ServiceFinding } from "../report.ts";
import { type FrontEndSettings, wantedLoadBalancer } from "../load-balancers/wanted-load-balancers.ts";

/** What becomes of a Service when a front end fails: some fail alone (kube-proxy.md §3.5). */
type FailureScope = "service" | "front-end";

function scopeOf(slot: LoadBalancerSlot): FailureScope {
  return slot.kind === "ClusterIP" || slot.kind === "NodePort" ? "service" : "front-end";
}

function frontEndSettings({ configuration }: SyncPass, rootEndpoint: Guid | undefined): FrontEndSettings {
  const { behaviour, family, enableDSR, healthzPort } = configuration;
  return { behaviour, isIpv6: family === 6, enableDSR, rootEndpoint, healthzPort };
}

/** What programming the slots of an entry came to. */
interface SlotsOutcome {
  readonly findings: readonly ServiceFinding[];
  /** A failure of the whole Service. */
  readonly isStopped: boolean;
  readonly isPartial: boolean;
}

/** Goes through the slots in order. An ingress that fails takes its health check with it. */
async function programSlots(
  pass: SyncPass,
  entry: ServiceEntry,
  backEnds: FoundBackEnds,
  rootEndpoint: Guid | undefined,
): Promise<SlotsOutcome> {
  const settings = frontEndSettings(pass, rootEndpoint);
  const findings: ServiceFinding[] = [];
  let isPartial = false;
  let failed: LoadBalancerSlot | undefined;
  for (const slot of entry.slots) {
    if (slot.kind === "HealthCheck" && failed?.kind === "Ingress" && failed.vip === slot.vip) continue;
    const wanted = wantedLoadBalancer(slot, entry, backEnds, settings);
    if (wanted === undefined) {
      await pass.state.loadBalancers.leaveOut(slot);
      continue;
    }
    const noPort = settings.behaviour.wrapsPorts ? undefined : portOutOfRange(wanted, entry);
    if (noPort !== undefined) {
      await pass.state.loadBalancers.leaveOut(slot);
      findings.push(noPort);
      continue;
    }
    const failure = await pass.state.loadBalancers.program(wanted, entry.port.isOptimised);
    if (failure === undefined) {
      const empty = emptyFrontEnd(wanted, entry, backEnds);
      if (empty !== undefined && slot.id === undefined) findings.push(empty);
      continue;
    }
    failed = slot;
    isPartial = true;
    findings.push({
      code: explanationOfRefusal(failure, wanted.backEnds.length),
      message: `${frontEndText(slot, entry)} is not programmed with ${wanted.backEnds.length} back ends: ${failureText(failure)}`,
      frontEnd: { kind: slot.kind, vip: slot.vip },
    });
    if (scopeOf(slot) === "service" && settings.behaviour.stopsAtFailure)
      return { findings, isStopped: true, isPartial };
  }
  return { findings, isStopped: false, isPartial };
}

/** It is not applied; `hasFailed`: because of a failure, and not for want of back ends. */
function putOff(pass: SyncPass, entry: ServiceEntry, hasFailed: boolean): undefined {
  if (hasFailed) noteFailure(entry.backOff, pass.nowMs);
  else entry.isWaiting = true;
}

/**
 * Programs an entry that is not applied.
 * @returns `network-lost` when the pass has to end.
 */
export async function programService(
  pass: SyncPass,
  entry: ServiceEntry,
  rootEndpoint: Guid | undefined,
): Promise<typeof NETWORK_LOST | undefined> {
  const { configuration, state } = pass;
  const refused = await ensureVipEndpoint(pass, entry);
  if (refused !== undefined) {
    entry.findings = [refused];
    return putOff(pass, entry, true);
  }
  const bound = state.bound.get(entry.port.key) ?? new BoundEndpoints([]);
  const backEnds = await findBackEnds(pass, entry, bound);
  if (backEnds === NETWORK_LOST) return NETWORK_LOST;
  if (backEnds.all.length === 0) {
    if (entry.port.isOptimised) await state.loadBalancers.deleteAllOf(entry);
    entry.findings = backEnds.findings.length > 0 ? backEnds.findings : [noBackEnds(bound.size)];
    return putOff(pass, entry, backEnds.findings.length > 0);
  }
  const outcome = await programSlots(pass, entry, backEnds, rootEndpoint);
  entry.findings = [
    ...backEnds.findings,
    ...outcome.findings,
    ...otherPorts(entry, backEnds.addressByPort),
    ...unsupportedFeatures(entry, configuration),
  ];
  if (outcome.isStopped) return putOff(pass, entry, true);
  // Upstream calls a Service done whose external addresses failed, or whose pods were not all found.
  const isIncomplete = outcome.isPartial || backEnds.findings.length > 0;
  if (isIncomplete && configuration.behaviour.retriesPartialFailure) return putOff(pass, entry, true);
  forgetFailures(entry.backOff);
  entry.isApplied = true;
  state.pending.delete(entry);
  return undefined;
}
