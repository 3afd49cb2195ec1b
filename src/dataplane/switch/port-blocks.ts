/**
 * The node's budget of NAT ports: blocks of 64 out of the dynamic range, each owned by one switch port.
 * Since a block has one owner, the switch also finds from it whose packet an answer is
 * (dataplane.md §1.8, §2.17 step 4).
 */
import type { Ip } from "#core/net/ip.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { PortBlockSource } from "../vfp/actions/nat-pool.ts";

/** Ports 49152 to 65535 (dataplane.md §1.8). */
const DYNAMIC_RANGE: PortRange = Object.freeze({ first: 49_152, last: 65_535 });
const BLOCK_PORTS = 64;
/** 256 blocks per protocol and address. */
export const PORT_BLOCKS_MAX: number = (DYNAMIC_RANGE.last - DYNAMIC_RANGE.first + 1) / BLOCK_PORTS;

/** A block that somebody owns. */
export interface OwnedBlock {
  readonly ip: Ip;
  readonly protocol: number;
  readonly range: PortRange;
  readonly owner: string;
}

function rangeOf(index: number): PortRange {
  const first = DYNAMIC_RANGE.first + index * BLOCK_PORTS;
  return { first, last: first + BLOCK_PORTS - 1 };
}

interface BlockList {
  readonly ip: Ip;
  readonly protocol: number;
  /** By number of the block. */
  readonly owners: (string | undefined)[];
}

/** Owners of blocks: `ip|protocol` to a list by block number. */
export class PortBlockTable {
  private readonly owners = new Map<string, BlockList>();

  /** The lowest free block; undefined when all are taken. */
  acquire(owner: string, ip: Ip, protocol: number): PortRange | undefined {
    const blocks = this.blocksOf(ip, protocol);
    const index = blocks.indexOf(undefined);
    if (index < 0) return undefined;
    blocks[index] = owner;
    return rangeOf(index);
  }

  release(ip: Ip, protocol: number, block: PortRange): void {
    this.blocksOf(ip, protocol)[(block.first - DYNAMIC_RANGE.first) / BLOCK_PORTS] = undefined;
  }

  /** Who owns the block of a port. */
  findOwner(ip: Ip, protocol: number, port: number): string | undefined {
    if (port < DYNAMIC_RANGE.first) return undefined;
    const blocks = this.owners.get(`${ip}|${protocol}`)?.owners;
    return blocks?.[Math.floor((port - DYNAMIC_RANGE.first) / BLOCK_PORTS)];
  }

  /** Blocks in use, by address and protocol, then by port. */
  list(): readonly OwnedBlock[] {
    const found: OwnedBlock[] = [];
    for (const { ip, protocol, owners } of this.owners.values()) {
      for (const [index, owner] of owners.entries())
        if (owner !== undefined) found.push({ ip, protocol, range: rangeOf(index), owner });
    }
    return found;
  }

  /** Blocks in use over all protocols and addresses. */
  get usedCount(): number {
    let count = 0;
    for (const { owners } of this.owners.values())
      count += owners.filter((owner) => owner !== undefined).length;
    return count;
  }

  private blocksOf(ip: Ip, protocol: number): (string | undefined)[] {
    const name = `${ip}|${protocol}`;
    const known = this.owners.get(name);
    if (known !== undefined) return known.owners;
    const owners = Array.from<string | undefined>({ length: PORT_BLOCKS_MAX });
    this.owners.set(name, { ip, protocol, owners });
    return owners;
  }
}

/** The budget as one switch port sees it. */
export class OwnedPortBlocks implements PortBlockSource {
  private readonly table: PortBlockTable;
  private readonly owner: string;

  constructor(table: PortBlockTable, owner: string) {
    this.table = table;
    this.owner = owner;
  }

  acquire(ip: Ip, protocol: number): PortRange | undefined {
    return this.table.acquire(this.owner, ip, protocol);
  }

  release(ip: Ip, protocol: number, block: PortRange): void {
    this.table.release(ip, protocol, block);
  }
}
