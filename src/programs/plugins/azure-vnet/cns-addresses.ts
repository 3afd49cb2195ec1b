/** Addresses of CNS: asked for and given back over HTTP (cni.md §5.7). */
import type { Compat } from "#core/base/compat.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import { type InterfaceAddress, formatIp } from "#core/net/ip.ts";
import { type CnsClient, CnsError, isCnsFailure } from "../cns/client.ts";
import type { IpConfigsRequest, PodContext, PodIpInfo } from "../cns/documents.ts";
import type { AddressSource } from "./address-source.ts";
import { cnsFailure } from "./cns-failure.ts";
import { allocationOf } from "./cns-nics.ts";
import type { AzureConfiguration } from "./conf.ts";
import type { PendingReleases } from "./host.ts";
import type { AzureAllocation } from "./nics.ts";

export interface CnsAddressesOptions {
  readonly client: CnsClient;
  readonly pendingReleases: PendingReleases;
  readonly configuration: AzureConfiguration;
  readonly containerId: string;
  /** The endpoint's name, by which CNS tells attachments apart. */
  readonly podInterfaceId: string;
  readonly pod: PodContext;
  readonly compat: Compat;
}

export class CnsAddresses implements AddressSource {
  private readonly options: CnsAddressesOptions;

  constructor(options: CnsAddressesOptions) {
    this.options = options;
  }

  async add(): Promise<AzureAllocation> {
    const { client, compat, configuration } = this.options;
    const prefix = "IPAM Invoker Add failed with error: failed to add ipam invoker";
    let infos: readonly PodIpInfo[];
    try {
      infos = await client.requestIps(this.request(null));
    } catch (error) {
      throw cnsFailure(`${prefix}: Failed to get IP address from CNS`, error, client, compat);
    }
    try {
      return allocationOf(infos, { isOverlay: configuration.isOverlay, compat });
    } catch (error) {
      // Upstream leaves the addresses with the container until DEL.
      if (compat === "hardened") await this.forgive(() => client.releaseIps(this.request(null)));
      throw cnsFailure(prefix, error, client, compat);
    }
  }

  /** When CNS is not there, a file tells it later (row 137). */
  async release(address: InterfaceAddress | undefined): Promise<void> {
    const { client, compat, configuration } = this.options;
    const request = this.request(address === undefined ? null : [formatIp(address.ip)]);
    try {
      await client.releaseIps(request);
    } catch (error) {
      if (!isCnsFailure(error, "unreachable")) {
        const shown = `[${(request.desiredIPAddresses ?? []).join(" ")}]`;
        const action = `failed to release IP ${shown} using ReleaseIPs with err %w`;
        throw cnsFailure(compat === "hardened" ? "failed to release IP" : action, error, client, compat);
      }
      if (configuration.hasNoAsyncDelete) {
        const action = "failed to release IP address using ReleaseIPs and async delete is disabled";
        throw cnsFailure(action, error, client, compat);
      }
      await this.leaveToCns();
    }
  }

  /** @throws CniError when CNS holds no address for the container any more */
  async check(): Promise<void> {
    const { containerId, podInterfaceId } = this.options;
    const assigned = await this.ask("CHECK", () => this.options.client.addressesIn("Assigned"));
    const isHeld = assigned.some(
      (each) => each.containerId === containerId || each.interfaceId === podInterfaceId,
    );
    if (isHeld) return;
    const message = `CNS holds no address for container ${containerId} any more; recreate it`;
    throw new CniError(CNI_CODES.internal, message);
  }

  /** Ready when CNS answers and has an address. */
  async status(): Promise<void> {
    const { client } = this.options;
    let count: number;
    try {
      count = (await client.addressesIn("Available")).length;
    } catch (error) {
      const { message, details, knowledge } = cnsFailure("CNS is not ready", error, client, "hardened");
      throw new CniError(CNI_CODES.pluginNotAvailable, message, { details, knowledge, cause: error });
    }
    if (count > 0) return;
    throw new CniError(CNI_CODES.pluginNotAvailable, `CNS at ${client.origin} has no free address`, {
      knowledge: "azure-cns-pool-exhausted",
    });
  }

  /** CNS says who holds addresses, so what no attachment holds is given back without a state of ours. */
  async gc(valid: readonly GcAttachment[] | undefined): Promise<void> {
    if (valid === undefined) return;
    const { client } = this.options;
    const assigned = await this.ask("GC", () => client.addressesIn("Assigned"));
    const stale = new Map(
      assigned
        .filter(({ containerId }) => !valid.some((each) => each.containerId === containerId))
        .map((each) => [each.interfaceId, each.containerId]),
    );
    for (const [podInterfaceID, infraContainerID] of stale) {
      const request = { ...this.request(null), podInterfaceID, infraContainerID, orchestratorContext: null };
      await this.ask("GC", () => client.releaseIps(request));
    }
  }

  private async ask<T>(verb: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw cnsFailure(`${verb}: CNS`, error, this.options.client, this.options.compat);
    }
  }

  private async leaveToCns(): Promise<void> {
    const { pendingReleases, containerId, podInterfaceId, compat } = this.options;
    try {
      await pendingReleases.add(containerId, podInterfaceId, compat === "hardened");
    } catch (error) {
      const message = `failed to add file to watcher with containerID ${containerId} and podInterfaceID ${podInterfaceId}: error creating file: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, message, { knowledge: "azure-cns-down", cause: error });
    }
  }

  private async forgive(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof CnsError)) throw error;
      // DEL will release them.
    }
  }

  private request(desiredIPAddresses: readonly string[] | null): IpConfigsRequest {
    const { podInterfaceId, containerId, pod } = this.options;
    return {
      desiredIPAddresses,
      podInterfaceID: podInterfaceId,
      infraContainerID: containerId,
      orchestratorContext: pod,
      ifname: "",
    };
  }
}
