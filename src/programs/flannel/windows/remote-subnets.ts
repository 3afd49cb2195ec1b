/**
 * The ways to other nodes as policies of the overlay network (control-planes.md §1.8). Upstream makes each change
 * once and does not look what came of it; `hardened` mode keeps what is wanted, and puts right what differs.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import {
  type RemoteSubnet,
  changePolicy,
  destinationOf,
  leadsTo,
  remoteSubnetPolicy,
} from "./overlay-network.ts";

/** The policies of HNS as they were read, by the prefix that they lead to. */
export class PresentSubnets {
  readonly networkId: string;
  readonly byPrefix: Map<string, PolicyDocument[]>;
  /** HNS's revision that this is; undefined where HNS reports none, and then it holds for one batch. */
  revision: number | undefined;

  constructor(networkId: string, byPrefix: Map<string, PolicyDocument[]>, revision: number | undefined) {
    this.networkId = networkId;
    this.byPrefix = byPrefix;
    this.revision = revision;
  }
}

export class RemoteSubnets {
  private readonly client: HcnClient;
  private readonly networkName: string;
  private present: PresentSubnets | undefined;

  constructor(client: HcnClient, networkName: string) {
    this.client = client;
    this.networkName = networkName;
  }

  /** Reads HNS, unless it is still as it was read. @throws when the network is not there. */
  async read(): Promise<void> {
    const { revision } = this.client;
    if (this.present !== undefined && revision !== undefined && this.present.revision === revision) return;
    this.present = undefined;
    const network = await getNetworkByName(this.client, this.networkName);
    const byPrefix = new Map<string, PolicyDocument[]>();
    for (const policy of network.Policies ?? []) {
      const prefix = destinationOf(policy);
      if (prefix === undefined) continue;
      addToList(byPrefix, prefix, policy);
    }
    this.present = new PresentSubnets(network.ID, byPrefix, revision);
  }

  /** Prefixes that policies lead to. */
  prefixes(): readonly string[] {
    return [...(this.present?.byPrefix.keys() ?? [])];
  }

  /** True when exactly this way leads to its prefix. */
  has(remote: RemoteSubnet): boolean {
    const policies = this.present?.byPrefix.get(remote.destinationPrefix) ?? [];
    const [first] = policies;
    return policies.length === 1 && first !== undefined && leadsTo(first, remote);
  }

  /** Takes every way to that prefix away. @returns what failed. */
  async clear(prefix: string): Promise<readonly Error[]> {
    const failures: Error[] = [];
    for (const policy of this.present?.byPrefix.get(prefix) ?? []) {
      const failure = await this.change("Remove", policy);
      if (failure !== undefined) failures.push(failure);
    }
    return failures;
  }

  /** @returns what failed. */
  add(remote: RemoteSubnet): Promise<Error | undefined> {
    return this.change("Add", remoteSubnetPolicy(remote));
  }

  /** Takes the way away that has exactly these settings. @returns what failed. */
  remove(remote: RemoteSubnet): Promise<Error | undefined> {
    return this.change("Remove", remoteSubnetPolicy(remote));
  }

  private async change(requestType: "Add" | "Remove", policy: PolicyDocument): Promise<Error | undefined> {
    const { present } = this;
    if (present === undefined) return new Error(`network ${this.networkName} was not read`);
    const wasKnown = present.revision !== undefined && present.revision === this.client.revision;
    try {
      const call = changePolicy(this.client, present.networkId, requestType, policy);
      // Where HNS is at hand, the change is made when the promise is there.
      const { revision } = this.client;
      await call;
      if (wasKnown) present.revision = revision;
    } catch (error) {
      this.present = new PresentSubnets(present.networkId, present.byPrefix, undefined);
      return error instanceof Error ? error : new Error(String(error));
    }
    this.note(present, requestType, policy);
    return undefined;
  }

  private note({ byPrefix }: PresentSubnets, requestType: "Add" | "Remove", policy: PolicyDocument): void {
    const prefix = destinationOf(policy) ?? "";
    const policies = byPrefix.get(prefix) ?? [];
    if (requestType === "Add") {
      byPrefix.set(prefix, [...policies, policy]);
      return;
    }
    const removed = JSON.stringify(policy.Settings);
    const kept = policies.filter((other) => other !== policy && JSON.stringify(other.Settings) !== removed);
    if (kept.length === 0) byPrefix.delete(prefix);
    else byPrefix.set(prefix, kept);
  }
}
