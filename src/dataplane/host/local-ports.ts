/** The TCP or UDP ports of one compartment: which are taken, which are set aside, which comes next. */
import type { Prng } from "#core/base/prng.ts";
import type { PortRange } from "#core/net/port-range.ts";

export class LocalPorts {
  private readonly ephemeral: PortRange;
  /** How many sockets use a port. */
  private readonly users = new Map<number, number>();
  private readonly excluded: PortRange[] = [];
  /** Ports that something below the stack has, and how often. */
  private readonly held = new Map<number, number>();
  private next: number;

  /** The first ephemeral port is drawn from `prng`, the others follow upwards (Inferred: systems differ). */
  constructor(ephemeral: PortRange, prng: Prng) {
    this.ephemeral = ephemeral;
    this.next = ephemeral.first + prng.below(ephemeral.last - ephemeral.first + 1);
  }

  /** A port of the ephemeral range that no socket uses; undefined when all are taken. */
  reserveEphemeral(): number | undefined {
    const count = this.ephemeral.last - this.ephemeral.first + 1;
    for (let tried = 0; tried < count; tried++) {
      const port = this.next;
      this.next = port === this.ephemeral.last ? this.ephemeral.first : port + 1;
      if (!this.users.has(port) && !this.held.has(port) && !this.isExcluded(port)) {
        this.reserve(port);
        return port;
      }
    }
    return undefined;
  }

  /** Takes `port` once more; who may share a port is for the caller to decide. */
  reserve(port: number): void {
    this.users.set(port, (this.users.get(port) ?? 0) + 1);
  }

  release(port: number): void {
    const count = this.users.get(port) ?? 0;
    if (count <= 1) this.users.delete(port);
    else this.users.set(port, count - 1);
  }

  /** Keeps sockets off `port`: address translation has it. */
  hold(port: number): void {
    this.held.set(port, (this.held.get(port) ?? 0) + 1);
  }

  /** Ends one `hold`. */
  letGo(port: number): void {
    const count = this.held.get(port) ?? 0;
    if (count <= 1) this.held.delete(port);
    else this.held.set(port, count - 1);
  }

  isHeld(port: number): boolean {
    return this.held.has(port);
  }

  /** Keeps `range` out of the ephemeral ports: the blocks that the node's NAT pools and load balancers hold. */
  exclude(range: PortRange): void {
    this.excluded.push(range);
  }

  /** Ends one `exclude` of the same range. */
  include(range: PortRange): void {
    const index = this.excluded.findIndex(
      (other) => other.first === range.first && other.last === range.last,
    );
    if (index >= 0) this.excluded.splice(index, 1);
  }

  listExcluded(): readonly PortRange[] {
    return this.excluded;
  }

  private isExcluded(port: number): boolean {
    return this.excluded.some((range) => port >= range.first && port <= range.last);
  }
}
