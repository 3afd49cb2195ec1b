/** vxlan on Windows as upstream has it: each change is programmed once, and what HNS answers is not looked at. */
import { messageOf } from "#core/base/thrown.ts";
import { findingOf } from "../reports.ts";
import type { LeaseEvent } from "../leases/lease.ts";
import type { RemoteSubnet } from "./overlay-network.ts";
import { WindowsVxlanBackend } from "./vxlan-backend.ts";

export class UpstreamVxlanBackend extends WindowsVxlanBackend {
  override async synced(): Promise<void> {}

  override async tick(): Promise<undefined> {}

  protected override registered(): void {}

  protected override async program(type: LeaseEvent["type"], remote: RemoteSubnet): Promise<void> {
    const { networkName } = this.options;
    try {
      await this.remotes.read();
    } catch (error) {
      this.parts.log.write("E", `Unable to find network ${networkName}, error: ${messageOf(error)}`);
      return;
    }
    if (type === "added") {
      await this.remotes.clear(remote.destinationPrefix);
      if (remote.mac !== undefined) this.note(remote, await this.remotes.add(remote));
    } else if (remote.mac !== undefined) await this.remotes.remove(remote);
  }

  /** Upstream reports it nowhere; here it is a finding. */
  private note(remote: RemoteSubnet, failure: Error | undefined): void {
    if (failure === undefined) return;
    this.trouble = findingOf(
      failure,
      "flannel-route-not-programmed",
      `the way to ${remote.destinationPrefix} over ${remote.providerAddress} is not programmed: `,
    );
  }
}
