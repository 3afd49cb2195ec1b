/** vxlan on Windows that keeps HNS as it should be: what is wanted is compared, tried again, and put back. */
import { isNotFoundError } from "#contracts/hcn/error.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import { FlannelError, findingOf } from "../reports.ts";
import type { LeaseEvent } from "../leases/lease.ts";
import { Backoff, Recurring } from "../progress.ts";
import { type RemoteSubnet, isSameOverlay, routerMacOf } from "./overlay-network.ts";
import { WindowsVxlanBackend } from "./vxlan-backend.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

/** How often HNS is compared with what is wanted, and how what failed is tried again. */
const COMPARE_MS = 60_000;
const RETRY_MS = { first: 1_000, most: 60_000 } as const;

export class RepairingVxlanBackend extends WindowsVxlanBackend {
  /** What HNS is to have, by the prefix. */
  private readonly wanted = new Map<string, RemoteSubnet>();
  /** Policies for prefixes that no lease has may go: all leases are known. */
  private isSynced = false;
  private readonly look = new Recurring(COMPARE_MS);
  private readonly backoff = new Backoff(RETRY_MS.first, RETRY_MS.most);

  override async synced(nowMs: number): Promise<void> {
    this.isSynced = true;
    await this.compare(nowMs);
  }

  override async tick(nowMs: number): Promise<number | undefined> {
    if (this.look.isDue(nowMs)) await this.compare(nowMs);
    return this.look.waitMs(nowMs);
  }

  protected override registered(nowMs: number): void {
    if (this.look.waitMs(nowMs) === undefined) this.look.next(nowMs);
  }

  protected override async program(
    type: LeaseEvent["type"],
    remote: RemoteSubnet,
    nowMs: number,
  ): Promise<void> {
    const { destinationPrefix: prefix } = remote;
    if (type === "added" && remote.mac !== undefined) this.wanted.set(prefix, remote);
    else this.wanted.delete(prefix);
    try {
      await this.remotes.read();
      await this.put(prefix);
    } catch (error) {
      this.fail(error, nowMs);
    }
  }

  /** Makes HNS have for a prefix what is wanted for it. @throws what HNS answers. */
  private async put(prefix: string): Promise<void> {
    const remote = this.wanted.get(prefix);
    if (remote !== undefined && this.remotes.has(remote)) return;
    const [failure] = await this.remotes.clear(prefix);
    if (failure !== undefined) throw failure;
    const refused = remote === undefined ? undefined : await this.remotes.add(remote);
    if (refused !== undefined) throw refused;
  }

  private fail(error: unknown, nowMs: number): void {
    this.trouble = findingOf(error, "flannel-route-not-programmed", `${WORDS.routesIncomplete} `);
    this.parts.log.write("E", this.trouble.message);
    this.look.next(nowMs, this.backoff.next());
  }

  /** Makes HNS have what is wanted, and nothing from before; the network, too, if it has gone. */
  private async compare(nowMs: number): Promise<void> {
    try {
      const waitMs = await this.keepNetwork(nowMs);
      if (waitMs !== undefined) {
        this.look.next(nowMs, waitMs);
        return;
      }
      await this.remotes.read();
      const stale = this.isSynced ? this.remotes.prefixes().filter((prefix) => !this.wanted.has(prefix)) : [];
      for (const prefix of [...stale, ...this.wanted.keys()]) await this.put(prefix);
      this.trouble = undefined;
      this.backoff.reset();
      this.look.next(nowMs);
    } catch (error) {
      this.fail(error, nowMs);
    }
  }

  /** Finds the network, or makes it again. @returns how long to wait for it. @throws FlannelError when it cannot be made. */
  private async keepNetwork(nowMs: number): Promise<number | undefined> {
    if (this.phase === "running") {
      if (await this.isNetworkThere()) return undefined;
      this.parts.log.write("W", `network ${this.options.networkName} is gone or changed: it is made again`);
      this.phase = "network";
    }
    // What others know of this node is written again only where it differs.
    const progress = await this.advance(nowMs);
    if (progress.state === "failed") throw new FlannelError(progress.finding.code, progress.finding.message);
    if (progress.state === "done") return undefined;
    this.trouble = progress.finding;
    return progress.retryAfterMs;
  }

  private async isNetworkThere(): Promise<boolean> {
    const definition = this.definition();
    try {
      const network = await getNetworkByName(this.parts.client, this.options.networkName);
      return (
        definition !== undefined &&
        isSameOverlay(network, definition, true) &&
        routerMacOf(network) === this.routerMac
      );
    } catch (error) {
      if (isNotFoundError(error)) return false;
      throw error;
    }
  }
}
