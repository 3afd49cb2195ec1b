/** An HNS that fails now and then, as a program sees it: calls are refused, or not answered in time. */
import type { Prng } from "#core/base/prng.ts";
import type { HcnClient, HcnCreateOptions, HcnObjectKind, HostComputeQuery } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ForwardingHcnClient } from "#contracts/hcn/forwarding-client.ts";

const REFUSALS: readonly HcnErrorCode[] = [
  "HCN_E_PORT_NOT_FOUND",
  "HCN_E_PORT_ALREADY_EXISTS",
  "ERROR_INVALID_PARAMETER",
  "HCN_E_MANAGER_STOPPED",
];

export class UnreliableHcnClient extends ForwardingHcnClient {
  private readonly prng: Prng;
  /** Of a thousand calls so many fail. */
  failuresPerMille = 0;

  constructor(inner: HcnClient, prng: Prng) {
    super(inner);
    this.prng = prng;
  }

  /** Not known, as over a socket. */
  override get revision(): undefined {
    return undefined;
  }

  override enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    return this.perform(() => this.inner.enumerate(kind, query));
  }

  override create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return this.perform(() => this.inner.create(kind, settings, options));
  }

  override query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.perform(() => this.inner.query(kind, id, query));
  }

  override modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    return this.perform(() => this.inner.modify(kind, id, settings));
  }

  override delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    return this.perform(() => this.inner.delete(kind, id));
  }

  override async call(method: string, path: string, body: string): Promise<JsonObject> {
    try {
      return await this.perform(() => this.inner.call(method, path, body));
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      const { Error: text, ErrorCode } = error.toRecord();
      return { Success: false, Error: text, ErrorCode };
    }
  }

  /** A third is refused; a third hangs and is carried out all the same; a third hangs and is lost. */
  private async perform<T>(call: () => Promise<T>): Promise<T> {
    if (this.prng.below(1_000) >= this.failuresPerMille) return call();
    const kind = this.prng.below(3);
    if (kind === 0) throw new HcnError(REFUSALS[this.prng.below(REFUSALS.length)] ?? "E_NOTIMPL");
    if (kind === 1) await call();
    throw new HcnError("RPC_S_SERVER_UNAVAILABLE", { detail: "no answer within 30 s" });
  }
}
