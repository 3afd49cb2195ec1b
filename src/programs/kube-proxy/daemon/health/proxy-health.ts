/** Whether kube-proxy keeps up with changes, and whether its node wants traffic (kube-proxy.md §5.2). */
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { IpFamily } from "#core/net/ip.ts";
import { type HttpAnswer, type HttpHandler, JSON_HEADERS, NOT_FOUND } from "./http-answer.ts";

export interface ProxyHealthOptions {
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  /** A change that waits longer makes the proxy unhealthy. */
  readonly timeoutMs: number;
  /** Version of Kubernetes: what answers hold. */
  readonly minor: number;
  /** `KubeProxyDrainingTerminatingNodes`: a node that goes away is not healthy. */
  readonly drainsNodes: boolean;
  /** Until it says so the proxy is not healthy; upstream's does not ask. */
  readonly isReady?: () => boolean;
  /** Hears each answer. */
  readonly answered?: (path: "/healthz" | "/livez", status: number) => void;
}

/** The autoscaler's mark on a node that it takes away. */
const TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler";

/** First minor with `/livez` and `nodeEligible`. */
export const LIVEZ_SINCE = 28;

/** As Go prints a time. */
function timeText(ms: number): string {
  if (ms === 0) return "0001-01-01 00:00:00 +0000 UTC";
  const text = new Date(ms).toISOString().replace("T", " ").replace("Z", "");
  return `${text} +0000 UTC`;
}

/** What a kube-proxy knows of itself when it is asked. */
export interface ProxyHealthState {
  readonly isHealthy: boolean;
  /** Milliseconds since 1970. */
  readonly lastUpdatedMs: number;
  readonly nowMs: number;
  /** Undefined where the page or the version does not have it. */
  readonly isNodeEligible: boolean | undefined;
}

/** What `/healthz` and `/livez` answer. */
export function proxyHealthAnswer({
  isHealthy,
  lastUpdatedMs,
  nowMs,
  isNodeEligible,
}: ProxyHealthState): HttpAnswer {
  // Once the time of the last sync, idle or not, was shown; a healthy proxy still shows the present.
  const last = timeText(isHealthy ? nowMs : lastUpdatedMs);
  const node = isNodeEligible === undefined ? "" : `, "nodeEligible": ${isNodeEligible}`;
  const body = `{"lastUpdated": "${last}","currentTime": "${timeText(nowMs)}"${node}}`;
  return { status: isHealthy ? 200 : 503, headers: JSON_HEADERS, body };
}

export class ProxyHealth {
  private readonly options: ProxyHealthOptions;
  private readonly updatedMs = new Map<IpFamily, number>();
  private readonly queuedMs = new Map<IpFamily, number>();
  private isNodeEligible = true;

  constructor(options: ProxyHealthOptions) {
    this.options = options;
  }

  /** A sync of the family has done its work. */
  updated(family: IpFamily): void {
    this.queuedMs.delete(family);
    this.updatedMs.set(family, this.options.wallMs());
  }

  /** A change waits for a sync of the family. */
  queued(family: IpFamily): void {
    if (!this.queuedMs.has(family)) this.queuedMs.set(family, this.options.wallMs());
  }

  /** The node as it is now; undefined: it is gone, which says nothing. */
  setNode(node: Node | undefined): void {
    if (node === undefined) return;
    const isLeaving = node.metadata.deletionTimestamp !== undefined;
    this.isNodeEligible = !isLeaving && (node.spec?.taints ?? []).every(({ key }) => key !== TO_BE_DELETED);
  }

  /** Without a look at the node. */
  get isHealthy(): boolean {
    return this.check().isHealthy;
  }

  /** `/healthz` and `/livez`. */
  readonly handle: HttpHandler = (path) => {
    if (path === "/healthz") return this.healthz();
    return path === "/livez" && this.options.minor >= LIVEZ_SINCE ? this.livez() : NOT_FOUND;
  };

  private check(): { readonly isHealthy: boolean; readonly lastUpdatedMs: number } {
    const nowMs = this.options.wallMs();
    let lastUpdatedMs = 0;
    // Families that never were updated are not looked at.
    for (const [family, updatedMs] of this.updatedMs) {
      lastUpdatedMs = Math.max(lastUpdatedMs, updatedMs);
      const queuedMs = this.queuedMs.get(family);
      if (queuedMs !== undefined && nowMs - queuedMs >= this.options.timeoutMs)
        return { isHealthy: false, lastUpdatedMs: updatedMs };
    }
    return { isHealthy: true, lastUpdatedMs };
  }

  private healthz(): HttpAnswer {
    const { minor, drainsNodes, isReady } = this.options;
    const checked = this.check();
    const isEligible = !drainsNodes || this.isNodeEligible;
    const isHealthy = checked.isHealthy && isEligible && (isReady?.() ?? true);
    const isNodeEligible = minor >= LIVEZ_SINCE ? isEligible : undefined;
    return this.answer("/healthz", isHealthy, checked.lastUpdatedMs, isNodeEligible);
  }

  private livez(): HttpAnswer {
    const { isHealthy, lastUpdatedMs } = this.check();
    return this.answer("/livez", isHealthy, lastUpdatedMs, undefined);
  }

  private answer(
    path: "/healthz" | "/livez",
    isHealthy: boolean,
    lastUpdatedMs: number,
    isNodeEligible: boolean | undefined,
  ): HttpAnswer {
    const nowMs = this.options.wallMs();
    const answer = proxyHealthAnswer({ isHealthy, lastUpdatedMs, nowMs, isNodeEligible });
    this.options.answered?.(path, answer.status);
    return answer;
  }
}
