/** An HNS that several callers ask at once: chance decides whose call comes next. */
import type { HcnObjectKind, HostComputeQuery } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Prng } from "#core/base/prng.ts";
import { FakeHcnClient } from "./fake-hcn-client.ts";

export class TurningHcnClient extends FakeHcnClient {
  private readonly prng: Prng;
  private readonly waiting: (() => void)[] = [];

  constructor(prng: Prng) {
    super();
    this.prng = prng;
  }

  override async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    await this.turn();
    return super.enumerate(kind, query);
  }

  override async query(kind: HcnObjectKind, id: Guid): Promise<JsonObject> {
    await this.turn();
    return super.query(kind, id);
  }

  override async create(...call: Parameters<FakeHcnClient["create"]>): Promise<Guid> {
    await this.turn();
    return super.create(...call);
  }

  override async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    await this.turn();
    return super.delete(kind, id);
  }

  /** Everybody who can ask does so before the next one is answered. */
  private turn(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      if (this.waiting.length === 1) setImmediate(() => this.next());
    });
  }

  private next(): void {
    const [chosen] = this.waiting.splice(this.prng.below(this.waiting.length), 1);
    chosen?.();
    if (this.waiting.length > 0) setImmediate(() => this.next());
  }
}
