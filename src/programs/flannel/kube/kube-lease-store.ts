/** Leases as annotations of Nodes: the node's range comes from its Node object (control-planes.md §1.4). */
import { FLANNELD_DIFFERENCES, type FlanneldDifferences } from "../differences.ts";
import type { FlanneldMode } from "../flanneld-options.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { Clock } from "#core/base/clock.ts";
import { parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, mappingOf } from "#core/base/json.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { type FlannelFinding, FlannelError, type FlannelLog } from "../reports.ts";
import type { Acquisition, LeaseListener, LeaseStore, Patience, StoredMacs } from "../leases/lease-store.ts";
import { type Lease, type LeaseAttributes, formatSubnets, hasSameSubnets } from "../leases/lease.ts";
import type { NetworkConfig } from "../network-config.ts";
import { Poll, type Progress, done, failed } from "../progress.ts";
import {
  type FlannelAnnotations,
  type Annotations,
  annotationsFor,
  annotationsOfNode,
  checkRanges,
  podRangesOf,
} from "./node-lease.ts";
import type { NodeLeases } from "./node-leases.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export interface KubeLeaseStoreParts extends FlanneldMode {
  readonly source: KubeSource;
  /** May serve other nodes, too. */
  readonly leases: NodeLeases;
  readonly nodeName: string;
  readonly annotations: FlannelAnnotations;
  readonly config: NetworkConfig;
  /** The node's range has to lie in the network. Default true; releases before 0.18 do not look. */
  readonly checksRange?: boolean;
  /** `CONT_WHEN_CACHE_NOT_READY`: goes on although the Nodes could not be listed in ten minutes. */
  readonly continuesUnsynced?: boolean;
  /** `--set-node-network-unavailable`. */
  readonly setsCondition: boolean;
  readonly log: FlannelLog;
  readonly clock: Pick<Clock, "nowMs">;
  /** The time of day when the clock stood at 0, in milliseconds since 1970. */
  readonly epochMs: number;
}

/** How long the Nodes may take to be listed. */
const SYNC = { everyMs: 1_000, timeoutMs: 600_000 } as const;
const PATIENCE: Patience = Object.freeze({ everyMs: 3_000, timeoutMs: 30_000 });

/** As Kubernetes writes times: RFC 3339 with whole seconds. */
function formatTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, "");
}

/** The MAC in what a node has published before; undefined: none, or nothing that can be read. */
function macIn(data: string | undefined): Mac | undefined {
  if (data === undefined || data === "") return undefined;
  try {
    const value = parseJson(data);
    const mac = mappingOf(value)["VtepMAC"];
    return typeof mac === "string" ? parseMac(mac) : undefined;
  } catch {
    // Not our JSON: the device gets a new MAC, and the annotation is written anew.
    return undefined;
  }
}

export class KubeLeaseStore implements LeaseStore {
  readonly name: string;
  readonly patience: Patience = PATIENCE;
  readonly retriesConfiguration = false;
  private readonly parts: KubeLeaseStoreParts;
  private readonly differences: FlanneldDifferences;
  private readonly sync = new Poll(SYNC.everyMs, SYNC.timeoutMs);

  constructor(parts: KubeLeaseStoreParts) {
    this.parts = parts;
    this.differences = FLANNELD_DIFFERENCES[parts.compat];
    this.name = `Kubernetes Subnet Manager - ${parts.nodeName}`;
  }

  open(nowMs: number): Promise<Progress<undefined>> {
    const { leases, continuesUnsynced = false, log } = this.parts;
    leases.start();
    if (leases.isSynced) return Promise.resolve(done(undefined));
    const finding: FlannelFinding = {
      code: "flannel-store-unreachable",
      message: WORDS.nodeListFailed,
    };
    const retryAfterMs = this.sync.next(nowMs);
    if (retryAfterMs !== undefined) return Promise.resolve({ state: "waiting", retryAfterMs, finding });
    if (!continuesUnsynced) return Promise.resolve(failed(finding));
    log.write("E", "Timed out waiting for node controller sync. Continuing anyway.");
    return Promise.resolve(done(undefined));
  }

  readNetworkConfig(): Promise<NetworkConfig> {
    return Promise.resolve(this.parts.config);
  }

  async readPublicIps(): Promise<readonly Ip[]> {
    const { annotations: names, nodeName, log } = this.parts;
    const annotations = await this.readAnnotations();
    return [names.nodePublicIp, names.nodePublicIpv6].flatMap((name) => {
      const text = annotations[name] ?? "";
      const ip = parseIp(text);
      if (text !== "" && ip === undefined)
        log.write("E", `${name} of node ${nodeName} is ${JSON.stringify(text)}, no address`);
      return ip ?? [];
    });
  }

  async readMacs(): Promise<StoredMacs> {
    const { annotations: names } = this.parts;
    const annotations = await this.readAnnotations();
    return { ipv4: macIn(annotations[names.backendData]), ipv6: macIn(annotations[names.backendV6Data]) };
  }

  async acquire(attributes: LeaseAttributes): Promise<Acquisition> {
    const { leases, nodeName, config, checksRange = true } = this.parts;
    const quoted = JSON.stringify(nodeName);
    const node = leases.node(nodeName);
    if (node === undefined)
      return {
        state: "unavailable",
        message: WORDS.nodeMissing({ quoted }),
      };
    if ((node.spec?.podCIDR ?? "") === "")
      throw new FlannelError("flannel-node-without-range", `node ${quoted} pod cidr not assigned`);
    const ranges = podRangesOf(node);
    const { publishesToBareNodes, refusesBadConfiguration } = this.differences;
    if (!publishesToBareNodes && Object.keys(annotationsOfNode(node)).length === 0)
      throw new FlannelError("flannel-node-without-annotations", WORDS.nodeWithoutAnnotations({ quoted }));
    // Upstream publishes first and looks afterwards.
    if (refusesBadConfiguration && checksRange) checkRanges(config, ranges, nodeName);
    const refused = await this.publish(node, attributes);
    if (refused !== undefined) return { state: "unavailable", message: refused };
    if (checksRange) checkRanges(config, ranges, nodeName);
    const lease: Lease = Object.freeze({
      subnet: config.isIpv4Enabled ? ranges.subnet : undefined,
      ipv6Subnet: config.isIpv6Enabled ? ranges.ipv6Subnet : undefined,
      attributes,
      owner: nodeName,
      timeToLiveMs: undefined,
    });
    return { state: "acquired", lease };
  }

  async complete(): Promise<void> {
    const { setsCondition, clock, epochMs } = this.parts;
    if (!setsCondition) return;
    const now = formatTime(epochMs + clock.nowMs);
    const condition = {
      type: "NetworkUnavailable",
      status: "False",
      reason: "FlannelIsUp",
      message: "Flannel is running on this node",
      lastTransitionTime: now,
      lastHeartbeatTime: now,
    };
    try {
      await this.patch({ status: { conditions: [condition] } });
    } catch (error) {
      throw new FlannelError("flannel-store-unreachable", messageOf(error), { cause: error });
    }
  }

  renew(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  watch(own: Lease, listener: LeaseListener): Promise<() => void> {
    const { leases } = this.parts;
    const stop = leases.listen({
      changed: (events) => listener({ kind: "changed", events }),
      nodeChanged: (name, node) => {
        if (name === this.parts.nodeName) this.ownNodeChanged(own, node, listener);
      },
      troubled: (message) => listener({ kind: "troubled", message }),
    });
    const events = leases.leases().map((lease) => ({ type: "added", lease }) as const);
    listener({ kind: "changed", events });
    if (leases.isSynced) listener({ kind: "synced" });
    return Promise.resolve(stop);
  }

  /** Of the own Node. Upstream goes on without them. @throws FlannelError when the API server does not answer. */
  private async readAnnotations(): Promise<Annotations> {
    const { source, nodeName, log } = this.parts;
    try {
      return annotationsOfNode(await source.get("Node", { namespace: "", name: nodeName }));
    } catch (error) {
      const message = `Failed to get node for backend data: ${messageOf(error)}`;
      log.write("E", message);
      const isMissing = error instanceof KubeError && error.code === "object-not-found";
      if (!this.differences.readsAgain || isMissing) return {};
      throw new FlannelError("flannel-store-unreachable", message, { cause: error });
    }
  }

  /** Writes what differs. @returns why it could not. */
  private async publish(node: Node, attributes: LeaseAttributes): Promise<string | undefined> {
    const { nodeName, annotations: names, log } = this.parts;
    const present = annotationsOfNode(node);
    const wanted = annotationsFor(attributes, present, names);
    const changed = Object.fromEntries(
      Object.entries(wanted).filter(([key, value]) => present[key] !== value),
    );
    if (Object.keys(changed).length === 0) return undefined;
    for (const [key, overwrite] of [
      [names.publicIp, names.publicIpOverwrite],
      [names.publicIpv6, names.publicIpv6Overwrite],
    ] as const)
      if (changed[key] !== undefined && changed[key] === present[overwrite])
        log.write("I", `Overriding public ip with '${changed[key]}' from node annotation '${overwrite}'`);
    try {
      await this.patch({ metadata: { annotations: changed } });
      return undefined;
    } catch (error) {
      return `timeout contacting kube-api, failed to patch node ${JSON.stringify(nodeName)}. Error: ${messageOf(error)}`;
    }
  }

  private async patch(body: JsonObject): Promise<void> {
    const { source, nodeName } = this.parts;
    const patch = { type: "strategic", body } as const;
    await source.patch("Node", { namespace: "", name: nodeName }, patch, { subresource: "status" });
  }

  private ownNodeChanged(own: Lease, node: Node | undefined, listener: LeaseListener): void {
    const { nodeName, annotations: names } = this.parts;
    if (!this.differences.watchesOwnNode) return;
    if (node === undefined) {
      listener({ kind: "troubled", message: WORDS.nodeDeleted({ nodeName: JSON.stringify(nodeName) }) });
      return;
    }
    let ranges: ReturnType<typeof podRangesOf>;
    try {
      ranges = podRangesOf(node);
    } catch (error) {
      listener({ kind: "troubled", message: messageOf(error) });
      return;
    }
    // A Node that has just come back may have no range yet.
    if ((node.spec?.podCIDR ?? "") === "") return;
    const isSame = hasSameSubnets(own, {
      ...own,
      subnet: own.subnet === undefined ? undefined : ranges.subnet,
      ipv6Subnet: own.ipv6Subnet === undefined ? undefined : ranges.ipv6Subnet,
    });
    if (!isSame) {
      listener({
        kind: "revoked",
        message: WORDS.podCIDRChanged({
          nodeName: JSON.stringify(nodeName),
          ranges: formatSubnets(ranges),
          own: formatSubnets(own),
        }),
      });
      return;
    }
    if (annotationsOfNode(node)[names.managed] !== "true") listener({ kind: "unpublished" });
  }
}
