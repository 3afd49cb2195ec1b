/**
 * Whether HNS is still as a proxier knows it. Upstream reads all endpoints and load balancers in each sync; where HNS
 * tells its revision, what was read stays known until somebody else changes something. Plain data.
 */
import type { HcnClient } from "../hcn/client.ts";

export class OwnCalls {
  private readonly client: HcnClient;
  /** HNS's revision that is known; undefined: HNS has to be read. */
  private known: number | undefined;

  constructor(client: HcnClient) {
    this.client = client;
  }

  /** True when only calls that `make` made have changed HNS since it was read. */
  get areAll(): boolean {
    return this.known !== undefined && this.known === this.client.revision;
  }

  /** What HNS's revision is, to be told to `read` when everything has been read. */
  get revision(): number | undefined {
    return this.client.revision;
  }

  /** HNS was read, and was at this revision before. */
  read(revision: number | undefined): void {
    this.known = revision;
  }

  /** What is known has got lost. */
  forget(): void {
    this.known = undefined;
  }

  /** Makes a call whose effect the caller takes over into what is known. */
  make<T>(call: () => Promise<T>): Promise<T> {
    const wereAll = this.areAll;
    const result = call();
    if (wereAll) this.known = this.client.revision;
    return result;
  }
}
