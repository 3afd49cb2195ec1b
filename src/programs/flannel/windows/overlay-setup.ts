/** Makes the HNS network of the back end vxlan, or finds it, and waits until it is ready (control-planes.md §1.8). */
import {
  type StoredNetwork,
  createNetwork,
  deleteNetwork,
  getNetworkById,
  getNetworkByName,
} from "#contracts/hcn/operations.ts";
import type { FlanneldDifferences } from "../differences.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError, isNotFoundError } from "#contracts/hcn/error.ts";
import { parseIpv4 } from "#core/net/ip.ts";
import type { FlannelFinding, FlannelLog } from "../reports.ts";
import { type WindowsHost, interfaceWith } from "../node/flannel-host.ts";
import type { FlanneldBehaviour } from "../flanneld-options.ts";
import { Poll, type Progress, done, failed } from "../progress.ts";
import {
  type OverlayDefinition,
  changePolicy,
  isSameOverlay,
  managementIpOf,
  overlayDocument,
} from "./overlay-network.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export interface OverlaySetupParts {
  readonly client: HcnClient;
  readonly host: WindowsHost;
  readonly differences: FlanneldDifferences;
  /** Of the release that it is. */
  readonly behaviour: Pick<FlanneldBehaviour, "addsHostRoute">;
  readonly log: FlannelLog;
}

type Phase = "find" | "management-ip" | "interface" | "host-route" | "check";

/** How long HNS may take to report the network, and then its address. */
const HNS = { everyMs: 500, timeoutMs: 5_000 } as const;
const INTERFACE = { everyMs: 5_000, timeoutMs: 45_000 } as const;

/** The vNIC that a switch gives the host. */
const SWITCH_ADAPTER = /^vEthernet \(/i;

function isInvalidParameter(error: unknown): boolean {
  return error instanceof HcnError && error.code === "ERROR_INVALID_PARAMETER";
}

function cannotCreate(message: string): FlannelFinding {
  return { code: "flannel-network-not-made", message: `failed to create VXLAN network: ${message}` };
}

/** HNS has made it, and Windows is not done with it in time. */
function notReadyInTime(message: string): FlannelFinding {
  return { ...cannotCreate(message), code: "flannel-network-not-ready" };
}

/** Plain data. */
export class OverlaySetup {
  private readonly parts: OverlaySetupParts;
  private readonly definition: OverlayDefinition;
  private readonly hnsPoll = new Poll(HNS.everyMs, HNS.timeoutMs);
  private readonly interfacePoll = new Poll(INTERFACE.everyMs, INTERFACE.timeoutMs);
  private phase: Phase = "find";
  private id = "";

  constructor(parts: OverlaySetupParts, definition: OverlayDefinition) {
    this.parts = parts;
    this.definition = definition;
  }

  /** Call again while it waits. What it returns in the end is the network as it is then. */
  async advance(nowMs: number): Promise<Progress<StoredNetwork>> {
    for (;;) {
      const progress = await this.step(nowMs);
      if (progress !== undefined) return progress;
    }
  }

  /** @returns undefined: go on with the next phase. */
  private step(nowMs: number): Promise<Progress<StoredNetwork> | undefined> {
    switch (this.phase) {
      case "find":
        return this.find(nowMs);
      case "management-ip":
        return this.waitForManagementIp(nowMs);
      case "interface":
        return this.waitForInterface(nowMs, "host-route", notReadyInTime);
      case "host-route":
        return this.addHostRoute();
      case "check":
        // Upstream looks once more before it publishes the node's end of the tunnels.
        return this.waitForInterface(nowMs, undefined, (message) => ({
          code: "flannel-network-not-ready",
          message,
        }));
    }
  }

  private async find(nowMs: number): Promise<Progress<StoredNetwork> | undefined> {
    const { client, log } = this.parts;
    const { checksFoundNetwork, readsAgain } = this.parts.differences;
    const { name } = this.definition;
    let existing: StoredNetwork | undefined;
    try {
      existing = await getNetworkByName(client, name);
    } catch (error) {
      if (!isNotFoundError(error)) {
        const message = `HNS does not return the network ${name}: ${messageOf(error)}`;
        log.write("W", message);
        // Else whatever keeps the look-up from finding it counts as not being there, as upstream has it.
        if (readsAgain) return this.wait(this.hnsPoll.next(nowMs), { code: "hns-unreachable", message });
      }
    }
    this.hnsPoll.reset();
    if (existing !== undefined && isSameOverlay(existing, this.definition, checksFoundNetwork)) {
      log.write("I", `Found existing HostComputeNetwork ${name}`);
      this.id = existing.ID;
      // A network from before a restart of HNS may not have its address yet; upstream takes it as it is.
      this.phase = checksFoundNetwork ? "management-ip" : "host-route";
      return undefined;
    }
    if (existing !== undefined) {
      try {
        await deleteNetwork(client, existing.ID);
      } catch (error) {
        return failed(
          cannotCreate(`failed to delete existing HostComputeNetwork ${name}: ${messageOf(error)}`),
        );
      }
      log.write("I", `Deleted stale HostComputeNetwork ${name}`);
    }
    log.write("I", `Attempting to create HostComputeNetwork ${name}`);
    try {
      this.id = (await createNetwork(client, overlayDocument(this.definition))).ID;
    } catch (error) {
      const refused = cannotCreate(`failed to create HostComputeNetwork ${name}: ${messageOf(error)}`);
      const isOwnVnic = SWITCH_ADAPTER.test(this.definition.adapterName) && isInvalidParameter(error);
      return failed(isOwnVnic ? { ...refused, code: "flannel-adapter-is-switch" } : refused);
    }
    log.write("I", `Waiting to get ManagementIP from HostComputeNetwork ${name}`);
    this.phase = "management-ip";
    return undefined;
  }

  private async read(): Promise<StoredNetwork | string> {
    try {
      return await getNetworkById(this.parts.client, this.id);
    } catch (error) {
      return messageOf(error);
    }
  }

  private async waitForManagementIp(nowMs: number): Promise<Progress<StoredNetwork> | undefined> {
    const network = await this.read();
    if (typeof network !== "string" && managementIpOf(network) !== "") {
      this.hnsPoll.reset();
      this.phase = "interface";
      return undefined;
    }
    const why = typeof network === "string" ? `: ${network}` : "";
    return this.wait(
      this.hnsPoll.next(nowMs),
      notReadyInTime(
        `timeout, failed to get management IP from HostComputeNetwork ${this.definition.name}${why}`,
      ),
    );
  }

  private async waitForInterface(
    nowMs: number,
    next: Phase | undefined,
    finding: (message: string) => FlannelFinding,
  ): Promise<Progress<StoredNetwork> | undefined> {
    const { host, log } = this.parts;
    const { name } = this.definition;
    const network = await this.read();
    if (typeof network === "string")
      return failed({ code: "flannel-network-not-made", message: `failed to get HNS network: ${network}` });
    const address = managementIpOf(network);
    const ip = parseIpv4(address);
    const found = ip === undefined ? undefined : interfaceWith(await host.listInterfaces(), ip);
    if (found !== undefined) {
      this.interfacePoll.reset();
      log.write("I", `Host interface: ${found.name} bound by ${name} ready`);
      if (next === undefined) return done(network);
      if (this.phase === "interface") log.write("I", `Created HostComputeNetwork ${name}`);
      this.phase = next;
      return undefined;
    }
    const message = WORDS.interfaceNotReady({ name });
    // An address that is none does not become one.
    if (ip === undefined && !this.parts.differences.checksFoundNetwork) return failed(finding(message));
    return this.wait(this.interfacePoll.next(nowMs), finding(`${message} (${address})`));
  }

  /** Without it the host cannot reach pods of other nodes; builds before 18321 do not know it. */
  private async addHostRoute(): Promise<Progress<StoredNetwork> | undefined> {
    const { client, log } = this.parts;
    const network = await this.read();
    if (typeof network === "string")
      return failed({ code: "flannel-network-not-made", message: `failed to get HNS network: ${network}` });
    const isThere = network.Policies?.some(({ Type }) => Type === "HostRoute") === true;
    if (!isThere && this.parts.behaviour.addsHostRoute) {
      try {
        await changePolicy(client, this.id, "Add", { Type: "HostRoute", Settings: {} });
      } catch {
        // Upstream's line says no cause either; the node's findings do (`overlay-without-host-route`).
        log.write("I", WORDS.hostRouteUnsupported);
      }
    }
    this.phase = "check";
    return undefined;
  }

  private wait(retryAfterMs: number | undefined, finding: FlannelFinding): Progress<StoredNetwork> {
    return retryAfterMs === undefined ? failed(finding) : { state: "waiting", retryAfterMs, finding };
  }
}
