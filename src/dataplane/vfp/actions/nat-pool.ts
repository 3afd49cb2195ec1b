/**
 * NAT pools: blocks of ports of one address and protocol, handed out one port at a time (dataplane.md §1.8).
 */
import type { Ip } from "#core/net/ip.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { isPort } from "#core/net/port-range.ts";
import { type Asked, NatTurns, type BackEndCounts, isWanted, takeTurn } from "./nat-turns.ts";

/** Where a pool gets its blocks from: the node's budget of reserved ports. */
export interface PortBlockSource {
  /** The next free block for `protocol` on `ip`; undefined when the node has none left. */
  acquire(ip: Ip, protocol: number): PortRange | undefined;
  release(ip: Ip, protocol: number, block: PortRange): void;
}

export interface NatPoolOptions {
  readonly name: string;
  readonly ip: Ip;
  readonly protocol: number;
  readonly blocks: PortBlockSource;
  /** How many ports the pool may hold at most. Default 1024 (Inferred: no source gives a number). */
  readonly portsMax?: number;
  /** Ports that are never given, though a block holds them (dataplane.md §3.9: UDP 65330 on Azure). Default none. */
  readonly excluded?: readonly PortRange[];
}

const PORTS_MAX_DEFAULT = 1_024;

/** What a pool does wrong; known defects (dataplane.md §9, F-12, F-13). */
export interface NatPoolDefects {
  /** Free ports are given from the lowest up, so that one that was just freed is the next one. */
  readonly reusesPorts: boolean;
  /** At most so many ports, whatever the pool was made for. */
  readonly portsMax?: number;
  /** The node has no blocks, whatever its budget says. */
  readonly isExhausted: boolean;
}

/** The ports of one address and protocol that a port may use for source NAT. */
export class NatPool {
  readonly name: string;
  readonly ip: Ip;
  readonly protocol: number;
  defects: NatPoolDefects | undefined;
  private readonly source: PortBlockSource;
  private readonly portsMax: number;
  private readonly excluded: readonly PortRange[];
  private readonly ranges: PortRange[] = [];
  private readonly used = new Set<number>();
  private nextIndex = 0;
  /** Undefined: one port after the other. */
  private turns: NatTurns | undefined;

  constructor(options: NatPoolOptions) {
    this.name = options.name;
    this.ip = options.ip;
    this.protocol = options.protocol;
    this.source = options.blocks;
    this.portsMax = options.portsMax ?? PORTS_MAX_DEFAULT;
    this.excluded = options.excluded ?? [];
  }

  get blocks(): readonly PortRange[] {
    return this.ranges;
  }

  get usedCount(): number {
    return this.used.size;
  }

  /** How many ports of one of its blocks are in use. */
  countUsed({ first, last }: PortRange): number {
    let count = 0;
    for (const port of this.used) if (port >= first && port <= last) count++;
    return count;
  }

  /** From now on, of the free ports, one that leads to a back end that was not met yet, as far as there is one. */
  chooseInTurn(counts: BackEndCounts): void {
    this.turns ??= new NatTurns(counts, this.ip, this.protocol);
  }

  /** True where the port depends on who is asked. */
  get choosesInTurn(): boolean {
    return this.turns !== undefined;
  }

  /**
   * A free port; undefined when the pool is used up and the node has no further block.
   * @param asked for a pool that chooses in turn.
   */
  allocate(asked?: Asked): number | undefined {
    const round = asked && this.turns?.roundOf(asked);
    const wanted = round && this.findFree((port) => isWanted(round, port));
    const port = wanted ?? this.takeFree() ?? (this.grow() ? this.takeFree() : undefined);
    if (port === undefined) return undefined;
    this.used.add(port);
    if (round !== undefined) takeTurn(round, port);
    return port;
  }

  private findFree(isRight: (port: number) => boolean): number | undefined {
    for (const { first, last } of this.ranges)
      for (let port = first; port <= last; port++)
        if (!this.used.has(port) && !this.isExcluded(port) && isRight(port)) return port;
    return undefined;
  }

  private takeFree(): number | undefined {
    const capacity = this.capacity();
    if (this.defects?.reusesPorts === true) this.nextIndex = 0;
    // Nothing to look for: a full pool is asked for each packet.
    if (this.used.size >= capacity) return undefined;
    for (let tried = 0; tried < capacity; tried++) {
      const port = this.portAt(this.nextIndex);
      this.nextIndex = (this.nextIndex + 1) % capacity;
      if (port !== undefined && !this.used.has(port) && !this.isExcluded(port)) {
        this.used.add(port);
        return port;
      }
    }
    return undefined;
  }

  private isExcluded(port: number): boolean {
    return this.excluded.some(({ first, last }) => port >= first && port <= last);
  }

  /** Takes the first block, if there is none. @returns false when the node has none left. */
  reserve(): boolean {
    return this.ranges.length > 0 || this.grow();
  }

  release(port: number): void {
    this.used.delete(port);
  }

  /** Gives all blocks back to the node. */
  close(): void {
    for (const block of this.ranges) this.source.release(this.ip, this.protocol, block);
    this.ranges.length = 0;
    this.used.clear();
    this.nextIndex = 0;
  }

  private capacity(): number {
    let count = 0;
    for (const range of this.ranges) count += range.last - range.first + 1;
    return count;
  }

  private grow(): boolean {
    if (this.capacity() >= Math.min(this.portsMax, this.defects?.portsMax ?? this.portsMax)) return false;
    if (this.defects?.isExhausted === true) return false;
    const block = this.source.acquire(this.ip, this.protocol);
    if (block === undefined || !isPort(block.first)) return false;
    this.nextIndex = this.capacity();
    this.ranges.push(block);
    return true;
  }

  private portAt(index: number): number | undefined {
    for (const range of this.ranges) {
      const count = range.last - range.first + 1;
      if (index < count) return range.first + index;
      index -= count;
    }
    return undefined;
  }
}
