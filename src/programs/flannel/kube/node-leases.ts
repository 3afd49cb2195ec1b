/**
 * All Nodes as leases: lists once, watches, and comes back after every interruption. One of them serves all flannelds of
 * an emulated cluster, so that a change of one Node is read once. What is known of Nodes is plain data; who listens is
 * no part of the world, and a fork has no listeners.
 */
import type { FlanneldMode } from "../flanneld-options.ts";
import { FLANNELD_DIFFERENCES, type FlanneldDifferences } from "../differences.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { Clock } from "#core/base/clock.ts";
import { Informer } from "#contracts/kubernetes/informer.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import type { FlannelLog } from "../reports.ts";
import { type Lease, type LeaseEvent, equalAttributes, hasSameSubnets } from "../leases/lease.ts";
import type { NetworkConfig } from "../network-config.ts";
import { type FlannelAnnotations, annotationsOfNode, isManaged, leaseOfNode } from "./node-lease.ts";

export interface NodeLeaseListener {
  changed(events: readonly LeaseEvent[]): void;
  /** A Node is there, is another one, or is gone. */
  nodeChanged(name: string, node: Node | undefined): void;
  troubled(message: string): void;
}

export interface NodeLeasesParts extends FlanneldMode {
  readonly source: KubeSource;
  readonly clock: Clock;
  readonly annotations: FlannelAnnotations;
  readonly families: Pick<NetworkConfig, "isIpv4Enabled" | "isIpv6Enabled">;
  readonly log: FlannelLog;
}

/** What goes on outside the world. */
interface Connection {
  readonly listeners: Set<NodeLeaseListener>;
  informer: Informer<"Node"> | undefined;
}

interface Known {
  readonly node: Node;
  /** The last one that could be read. */
  readonly lease: Lease | undefined;
}

export class NodeLeases {
  private readonly parts: NodeLeasesParts;
  private readonly differences: FlanneldDifferences;
  private readonly known = new Map<string, Known>();
  private wasListed = false;
  /** Not enumerable, so that no fork has it. */
  declare private readonly hidden?: Connection;

  constructor(parts: NodeLeasesParts) {
    this.parts = parts;
    this.differences = FLANNELD_DIFFERENCES[parts.compat];
  }

  /** True once the Nodes have been listed. */
  get isSynced(): boolean {
    return this.wasListed;
  }

  node(name: string): Node | undefined {
    return this.known.get(name)?.node;
  }

  /** The leases that can be read. */
  leases(): readonly Lease[] {
    return [...this.known.values()].flatMap(({ lease }) => lease ?? []);
  }

  /** Begins to list and to watch, and goes on through every interruption. A second call changes nothing. */
  start(): void {
    const { connection } = this;
    const { source, clock } = this.parts;
    connection.informer ??= new Informer(
      source,
      "Node",
      {
        changed: (before, after) => {
          if (after !== undefined) this.take(after);
          else if (before !== undefined) this.remove(before);
        },
        listed: () => {
          this.wasListed = true;
        },
        failed: (error, retryInMs) =>
          this.reportTrouble(`Nodes cannot be read, again in ${Math.round(retryInMs)} ms: ${error.message}`),
      },
      { clock },
    );
    connection.informer.start();
  }

  /** Asks at once where it would wait after a failure; it goes on from what it knows. */
  resume(): void {
    const { informer } = this.connection;
    informer?.stop();
    informer?.start();
  }

  stop(): void {
    this.connection.informer?.stop();
    this.connection.informer = undefined;
  }

  listen(listener: NodeLeaseListener): () => void {
    this.connection.listeners.add(listener);
    return () => this.connection.listeners.delete(listener);
  }

  private get connection(): Connection {
    if (this.hidden !== undefined) return this.hidden;
    const connection: Connection = { listeners: new Set(), informer: undefined };
    Object.defineProperty(this, "hidden", { value: connection, enumerable: false });
    return connection;
  }

  private reportTrouble(message: string): void {
    for (const listener of this.connection.listeners) listener.troubled(message);
  }

  private emit(event: LeaseEvent): void {
    for (const listener of this.connection.listeners) listener.changed([event]);
  }

  private announce(name: string, node: Node | undefined): void {
    for (const listener of this.connection.listeners) listener.nodeChanged(name, node);
  }

  /** A Node that is new, or has changed. */
  private take(node: Node): void {
    const before = this.known.get(node.metadata.name);
    const isNews =
      isManaged(node, this.parts.annotations) && (before === undefined || this.isChanged(before, node));
    const lease = isNews ? this.readLease(node) : undefined;
    this.known.set(node.metadata.name, { node, lease: lease ?? before?.lease });
    if (lease !== undefined) {
      const hasMoved = before?.lease !== undefined && !hasSameSubnets(before.lease, lease);
      // Upstream never takes the routes of a node away whose range has changed.
      if (hasMoved && this.differences.removesKnownLeases)
        this.emit({ type: "removed", lease: before.lease });
      this.emit({ type: "added", lease });
    }
    this.announce(node.metadata.name, node);
  }

  private remove(node: Node): void {
    const before = this.known.get(node.metadata.name);
    this.known.delete(node.metadata.name);
    let lease: Lease | undefined;
    // What was programmed goes, whatever the last state of the Node says.
    if (this.differences.removesKnownLeases) lease = before?.lease;
    else if (isManaged(node, this.parts.annotations)) lease = this.readLease(node);
    if (lease !== undefined) this.emit({ type: "removed", lease });
    this.announce(node.metadata.name, undefined);
  }

  /** Undefined for one that cannot be read, which is said. */
  private readLease(node: Node): Lease | undefined {
    const { annotations, families, log } = this.parts;
    try {
      return leaseOfNode(node, annotations, families);
    } catch (error) {
      const name = JSON.stringify(node.metadata.name);
      log.write("I", `Error turning node ${name} to lease: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Whether a change of a Node is one of its lease (control-planes.md §1.4, events). */
  private isChanged(before: Known, node: Node): boolean {
    const { annotations: names, families } = this.parts;
    if (this.differences.comparesLeases) {
      try {
        const lease = leaseOfNode(node, names, families);
        return (
          before.lease === undefined ||
          !hasSameSubnets(before.lease, lease) ||
          !equalAttributes(before.lease.attributes, lease.attributes)
        );
      } catch {
        // `take` reads it once more and says what is wrong, once for each change of the annotations.
      }
    }
    const [old, now] = [annotationsOfNode(before.node), annotationsOfNode(node)];
    const isEqual = (...keys: readonly string[]): boolean => keys.every((key) => old[key] === now[key]);
    const isSameV4 = families.isIpv4Enabled && isEqual(names.backendData, names.backendType, names.publicIp);
    const isSameV6 =
      families.isIpv6Enabled && isEqual(names.backendV6Data, names.backendType, names.publicIpv6);
    // Either family that is as it was hides a change of the other one, as upstream's code has it.
    return !isSameV4 && !isSameV6;
  }
}
