/** Calls to HNS with the deadline that the configuration sets for each (cni.md §5.1, `hnsTimeoutDurationInSeconds`). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { type CallNamer, HnsCaller } from "../windows-endpoint/failure.ts";
import type { AzureHost } from "./host.ts";

const SECONDS_PER_MINUTE = 60;

/** As Go prints durations. */
function printDuration(seconds: number): string {
  const hours = Math.floor(seconds / SECONDS_PER_MINUTE ** 2);
  const minutes = Math.floor(seconds / SECONDS_PER_MINUTE) % SECONDS_PER_MINUTE;
  const rest = `${seconds % SECONDS_PER_MINUTE}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

export class AzureCaller extends HnsCaller {
  private readonly host: AzureHost;
  private readonly timeoutSeconds: number;

  constructor(
    client: HcnClient,
    compat: Compat,
    limit: { readonly host: AzureHost; readonly timeoutSeconds: number },
  ) {
    super(client, compat);
    this.host = limit.host;
    this.timeoutSeconds = limit.timeoutSeconds;
  }

  override hcn<T>(name: string | CallNamer, run: (client: HcnClient) => Promise<T>): Promise<T> {
    const shown = typeof name === "string" ? name.replace(/^hcn/, "") : "ModifyNamespace";
    return this.limit(shown, () => super.hcn(name, run));
  }

  override hns<T>(run: (client: HcnClient) => Promise<T>): Promise<T> {
    return this.limit("HNSCall", () => super.hns(run));
  }

  private async limit<T>(name: string, run: () => Promise<T>): Promise<T> {
    if (this.timeoutSeconds <= 0) return run();
    const timer = this.host.startTimer(this.timeoutSeconds * 1000);
    const expired = timer.done.then((): never => {
      const message = `${name} timeout value is ${printDuration(this.timeoutSeconds)} : timed out calling hns`;
      throw new CniError(CNI_CODES.internal, message, { knowledge: "hns-unreachable" });
    });
    try {
      return await Promise.race([run(), expired]);
    } finally {
      timer.cancel();
    }
  }
}
