/** The addresses that CNS has for pods, and who holds them. */
import { familyOf, parseIp } from "#core/net/ip.ts";
import type { IpConfiguration, PodContext } from "./documents.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** A network container whose addresses go to pods: a block that Azure gave to the node. */
export interface PoolContainer {
  readonly id: string;
  /** Its own address, which the network around sees; prefix lengths and gateways are the pods', too. */
  readonly primary: IpConfiguration;
  readonly addresses: readonly string[];
}

export interface PodKey extends PodContext {
  readonly containerId: string;
  readonly interfaceId: string;
}

export interface PoolAddress {
  readonly address: string;
  readonly container: PoolContainer;
  holder: PodKey | undefined;
}

/** Not one address of each kind is free. */
export class PoolExhausted extends Error {
  override readonly name = "PoolExhausted";
}

function familyOfText(address: string): 4 | 6 {
  const ip = parseIp(address);
  return ip === undefined ? 4 : familyOf(ip);
}

function sameHolder(a: PodKey | undefined, b: PodKey, byContainer: boolean): boolean {
  if (a === undefined) return false;
  return byContainer ? a.containerId === b.containerId : a.interfaceId === b.interfaceId;
}

/** An address that is kept for a pod which has not asked yet. */
function isKeptFor(holder: PodKey | undefined, { podName, podNamespace }: PodContext): boolean {
  return holder?.interfaceId === "" && holder.podName === podName && holder.podNamespace === podNamespace;
}

export class AddressPool {
  private readonly addresses: PoolAddress[] = [];
  private readonly containers: PoolContainer[] = [];
  /** Holders are distinguished by their container; else by their interface. */
  private readonly isByContainer: boolean;

  constructor(isByContainer: boolean) {
    this.isByContainer = isByContainer;
  }

  get isEmpty(): boolean {
    return this.containers.length === 0;
  }

  get containerCount(): number {
    return this.containers.length;
  }

  /** A block of addresses. */
  add(container: PoolContainer): void {
    this.containers.push(container);
    for (const address of container.addresses) this.addresses.push({ address, container, holder: undefined });
  }

  /** One more address of a block that is too large to be listed whole; nothing when it is known. */
  addAddress(containerId: string, address: string): void {
    const container = this.containers.find(({ id }) => id === containerId);
    if (container === undefined || this.addresses.some((each) => each.address === address)) return;
    this.addresses.push({ address, container, holder: undefined });
  }

  /** Addresses that a pod had before CNS came up: they are kept for it until it asks. What is not in the pool is passed over. */
  restore(pod: PodContext, addresses: readonly string[]): void {
    for (const each of this.addresses)
      if (each.holder === undefined && addresses.includes(each.address))
        each.holder = { ...pod, containerId: "", interfaceId: "" };
  }

  /** With their holders. */
  all(): readonly PoolAddress[] {
    return this.addresses;
  }

  /** What the pod holds already, else one address of each family of each container. @throws PoolExhausted */
  take(pod: PodKey, wanted: readonly string[]): readonly PoolAddress[] {
    const held = this.heldBy(pod);
    if (held.length > 0) return held;
    const kept = this.addresses.filter(({ holder }) => isKeptFor(holder, pod));
    const keptIn = new Set(kept.map(({ container }) => container));
    const others = this.containers.filter((container) => !keptIn.has(container));
    const isNamed = kept.length === 0 && wanted.length > 0;
    const chosen = isNamed ? this.named(wanted) : [...kept, ...this.oneOfEach(others)];
    for (const each of chosen) each.holder = pod;
    return chosen;
  }

  /** Everything that the pod holds, whatever the request names: so does CNS. */
  release(pod: PodKey): void {
    for (const each of this.heldBy(pod)) each.holder = undefined;
  }

  private heldBy(pod: PodKey): readonly PoolAddress[] {
    return this.addresses.filter(({ holder }) => sameHolder(holder, pod, this.isByContainer));
  }

  private named(wanted: readonly string[]): readonly PoolAddress[] {
    const free = this.addresses.filter(
      ({ address, holder }) => holder === undefined && wanted.includes(address),
    );
    if (free.length === wanted.length) return free;
    throw new PoolExhausted(`not all requested ips [${wanted.join(" ")}] were found/available in the pool`);
  }

  private oneOfEach(containers: readonly PoolContainer[]): readonly PoolAddress[] {
    if (this.isEmpty) throw new PoolExhausted("no NCs found in the CNS internal state");
    return containers.flatMap((container) => {
      const own = this.addresses.filter((each) => each.container === container);
      const families = [...new Set(own.map(({ address }) => familyOfText(address)))];
      return families.map((family) => {
        const free = own.find(
          ({ address, holder }) => holder === undefined && familyOfText(address) === family,
        );
        if (free !== undefined) return free;
        throw new PoolExhausted(`${WORDS.cnsPoolExhausted({ family, id: container.id })} `);
      });
    });
  }
}
