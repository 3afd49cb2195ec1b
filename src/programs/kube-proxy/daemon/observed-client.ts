/** An `HcnClient` whose calls are measured, and whose failures are counted as upstream counts them (kube-proxy.md §6). */
import type {
  HcnClient,
  HcnCreateOptions,
  HcnObjectKind,
  HostComputeQuery,
  ServiceProperties,
} from "#contracts/hcn/client.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { Clock } from "#core/base/clock.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ForwardingHcnClient } from "#contracts/hcn/forwarding-client.ts";
import { isJsonObject } from "#core/base/json.ts";
import { type IpFamily, familyOf, parseIp } from "#core/net/ip.ts";
import type { Behaviour } from "../behaviour.ts";
import type { ProxyObjects } from "../tracking/proxy-objects.ts";
import type { FailedCall, FailureReason, LoadBalancerType } from "./proxy-metrics.ts";

const IPV6_FLAG = 2;

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : 0;
}

/**
 * What a load balancer stands for, by its document: for the labels of metrics, when a call has failed. Looks the front
 * end's address up among Services: seldom, so all are looked through.
 */
export function frontEndKindOf(
  loadBalancer: JsonObject,
  objects: ProxyObjects,
  behaviour: Behaviour,
): FrontEndKind {
  const [vip] = listOf(loadBalancer["FrontendVIPs"]);
  if (typeof vip !== "string" || vip === "") {
    const family: IpFamily = (numberOf(loadBalancer["Flags"]) & IPV6_FLAG) === 0 ? 4 : 6;
    return { family, type: "nodeport" };
  }
  const ip = parseIp(vip);
  const family = ip === undefined ? 4 : familyOf(ip);
  const [mapping] = listOf(loadBalancer["PortMappings"]);
  const external = isJsonObject(mapping) ? numberOf(mapping["ExternalPort"]) : 0;
  for (const [, { ports }] of objects.tracker(family, behaviour).allServices()) {
    if (ports[0]?.clusterIp === vip) return { family, type: "clusterip" };
    if (ports[0]?.externalIps.includes(vip) === true) return { family, type: "externalip" };
    // The forwarded health check has a port that is none of the Service's.
    if (ports[0]?.ingressIps.includes(vip) === true)
      return { family, type: ports.some(({ port }) => port === external) ? "ingressip" : "healthcheck" };
  }
  return { family, type: "clusterip" };
}

/** What a load balancer of HNS is for. */
export interface FrontEndKind {
  readonly family: IpFamily;
  readonly type: LoadBalancerType;
}

export interface ClientObserver {
  readonly clock: Clock;
  /** A call that takes longer counts as not answered; absent: it is waited for. */
  readonly limitMs?: number | undefined;
  readonly called: (operation: string, kind: string, isGood: boolean, seconds: number) => void;
  /** What a load balancer is for by its document. */
  readonly kindOf: (loadBalancer: JsonObject) => FrontEndKind;
  readonly failed: (call: FailedCall, kind: FrontEndKind, reason: FailureReason) => void;
}

/** As many as the proxier itself remembers (`repairing-load-balancers.ts`). */
const KINDS_MAX = 16_384;

/** The labels of upstream for HRESULTs. */
const REASONS: Readonly<Record<string, FailureReason>> = {
  HCN_E_NETWORK_NOT_FOUND: "network_not_found",
  HCN_E_PORT_ALREADY_EXISTS: "port_already_exists",
  E_NOTIMPL: "not_implemented",
  HCN_E_INVALID_IP: "invalid_ip",
};

function reasonOf(error: unknown): FailureReason {
  return (error instanceof HcnError ? REASONS[error.code] : undefined) ?? "other";
}

export class ObservedHcnClient extends ForwardingHcnClient {
  private readonly observer: ClientObserver;
  /**
   * What the load balancers are for that were made through this client, oldest first. Those that others delete stay for
   * a while: the proxier may still ask for their deletion, and that failure is counted, too.
   */
  private readonly kinds = new Map<Guid, FrontEndKind>();

  constructor(client: HcnClient, observer: ClientObserver) {
    super(client);
    this.observer = observer;
  }

  override enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    return this.timed("enumerate", kind, () => this.inner.enumerate(kind, query));
  }

  override async create(
    kind: HcnObjectKind,
    settings: JsonObject,
    options?: HcnCreateOptions,
  ): Promise<Guid> {
    const call = (): Promise<Guid> =>
      this.timed("create", kind, () => this.inner.create(kind, settings, options));
    if (kind !== "LoadBalancer") return call();
    const id = await this.counted("create", this.observer.kindOf(settings), call);
    this.kinds.set(id, this.observer.kindOf(settings));
    const oldest = this.kinds.keys().next();
    if (this.kinds.size > KINDS_MAX && oldest.done !== true) this.kinds.delete(oldest.value);
    return id;
  }

  override query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.timed("query", kind, () => this.inner.query(kind, id, query));
  }

  override async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    const call = (): Promise<void> => this.timed("modify", kind, () => this.inner.modify(kind, id, settings));
    return kind === "LoadBalancer" ? this.counted("update", this.observer.kindOf(settings), call) : call();
  }

  override async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    const call = (): Promise<void> => this.timed("delete", kind, () => this.inner.delete(kind, id));
    const known = kind === "LoadBalancer" ? this.kinds.get(id) : undefined;
    if (known === undefined) return call();
    await this.counted("delete", known, call);
    this.kinds.delete(id);
  }

  override queryService(properties: ServiceProperties): Promise<JsonObject> {
    return this.timed("query", "Service", () => this.inner.queryService(properties));
  }

  override call(method: string, path: string, body: string): Promise<JsonObject> {
    return this.timed(method.toLowerCase(), "v1", () => this.inner.call(method, path, body));
  }

  private timed<T>(operation: string, kind: string, call: () => Promise<T>): Promise<T> {
    const { clock, called } = this.observer;
    const beganMs = clock.nowMs;
    const report = (isGood: boolean): void =>
      called(operation, kind, isGood, (clock.nowMs - beganMs) / 1_000);
    // The call itself is made at once: HNS's revision is looked at right behind it.
    const result = this.inTime(call());
    result.then(
      () => report(true),
      () => report(false),
    );
    return result;
  }

  /** A late answer is thrown away: what the call did is found by the next comparison. */
  private inTime<T>(answer: Promise<T>): Promise<T> {
    const { clock, limitMs } = this.observer;
    if (limitMs === undefined) return answer;
    return new Promise((resolve, reject) => {
      const late = (): void => {
        const detail = `no answer within ${limitMs / 1_000} s`;
        reject(new HcnError("RPC_S_SERVER_UNAVAILABLE", { detail, explanation: "hns-service-hangs" }));
      };
      const timer = clock.schedule(limitMs, { run: late });
      const end = (settle: () => void): void => {
        clock.cancel(timer);
        settle();
      };
      answer.then(
        (value) => end(() => resolve(value)),
        (error: unknown) => end(() => reject(error)),
      );
    });
  }

  private async counted<T>(call: FailedCall, kind: FrontEndKind, make: () => Promise<T>): Promise<T> {
    try {
      return await make();
    } catch (error) {
      this.observer.failed(call, kind, reasonOf(error));
      throw error;
    }
  }
}
