/**
 * What kube-proxies put right in HNS, reported as the executable does: counted as its metric
 * `mullion_kube_proxy_repairs_total` is, written as an Event of Kubernetes, and sent to all listeners of the session.
 */
import type { Clock } from "#core/base/clock.ts";
import { EventRecorder, repairEvent } from "#programs/kube-proxy/daemon/event-recorder.ts";
import { SourceFeed } from "#programs/kube-proxy/daemon/source-feed.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";
import type { NodeRepair } from "./service-proxies.ts";
import type { RepairCount, SessionEvents } from "../session/session.ts";

export interface NodeRepairsParts {
  readonly clock: Clock;
  /** Where Events are written. */
  readonly source: KubeSource;
  readonly events: SessionEvents;
}

export class NodeRepairs {
  private readonly parts: NodeRepairsParts;
  /** By node, family and kind. */
  private readonly counts = new Map<string, RepairCount>();
  private readonly recorders = new Map<string, EventRecorder>();

  constructor(parts: NodeRepairsParts) {
    this.parts = parts;
  }

  /** Resolves when all Events are written. */
  async report(repairs: readonly NodeRepair[]): Promise<void> {
    for (const { node, repair } of repairs) {
      const family = repair.family === 4 ? "IPv4" : "IPv6";
      const key = `${node} ${family} ${repair.kind}`;
      const count = (this.counts.get(key)?.count ?? 0) + 1;
      this.counts.set(key, { node, family, kind: repair.kind, count });
      const { message: text, code } = repair;
      this.parts.events.send({ type: "node", node, text: `kube-proxy: ${text}`, code });
      this.recorderOf(node).record(repairEvent(node, repair));
    }
    for (const node of new Set(repairs.map((each) => each.node))) await this.recorders.get(node)?.flush();
  }

  /** By node, family and kind; those that never happened are not there. */
  list(node?: string): readonly RepairCount[] {
    const sorted = [...this.counts].toSorted(([left], [right]) => (left < right ? -1 : 1));
    return sorted.map(([, count]) => count).filter((each) => node === undefined || each.node === node);
  }

  private recorderOf(node: string): EventRecorder {
    const known = this.recorders.get(node);
    if (known !== undefined) return known;
    const { clock, source, events } = this.parts;
    const recorder = new EventRecorder({
      sink: new SourceFeed({ source, clock, hostname: node }).events,
      wallMs: () => CAPTURE_EPOCH_MS + clock.nowMs,
      failed: (error) =>
        events.send({ type: "node", node, text: `kube-proxy cannot write an Event: ${String(error)}` }),
    });
    this.recorders.set(node, recorder);
    return recorder;
  }
}
