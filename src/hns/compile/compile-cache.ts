/**
 * What is remembered so that a change costs that change, and equal values are one: by a node what it compiled, and by a
 * world what comes of the same documents on many of its nodes. Values are compared by identity: records and lists of
 * policies are immutable.
 */
import type { IpConfig } from "#contracts/hcn/documents/endpoint.ts";
import { type Ip, type IpFamily, hostPrefix } from "#core/net/ip.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import type { LbnatBackEnd } from "#dataplane/vfp/rule.ts";
import type { IpConfigRecord } from "../service/records.ts";
import type { EndpointTraits } from "../service/endpoint/remote-endpoint.ts";

// What a node compiled from which values, so that equal groups are one shared object.

interface Entry {
  readonly inputs: readonly unknown[];
  readonly output: object;
}

export class CompileCache {
  /** Owner (an object's id) and name to what was compiled. */
  private readonly owners = new Map<string, Map<string, Entry>>();

  /**
   * What `compile` made of these inputs last time under this name; otherwise compiles and remembers. `compile` is given what
   * it made last of other inputs, from which it may take what stays.
   */
  get<T extends object>(
    owner: string,
    name: string,
    inputs: readonly unknown[],
    compile: (before: T | undefined) => T,
  ): T {
    const known = this.owners.get(owner)?.get(name);
    const isSame =
      known?.inputs.length === inputs.length && inputs.every((input, index) => input === known.inputs[index]);
    if (known !== undefined && isSame) return known.output as T;
    const output = compile(known?.output as T | undefined);
    // Only now: what is compiled may be made of what the cache has of the same owner.
    const entries = this.owners.get(owner) ?? new Map<string, Entry>();
    entries.set(name, Object.freeze({ inputs: Object.freeze([...inputs]), output }));
    this.owners.set(owner, entries);
    return output;
  }

  /** Forgets what was compiled for an object that is gone. */
  forget(owner: string): void {
    this.owners.delete(owner);
  }
}

// Values that come of the same documents on many nodes of one world, so that thousands of nodes hold each once. What makes
// the nodes hands one to all of them; without, a service has its own. Everything in it is frozen and found by identity
// or by what it says, so it makes no difference to what a node does, and forks of the world share it.

/** The prefix length of an address that comes without one. */
export type DefaultLengths = Readonly<Record<IpFamily, number>>;

interface RemoteConfigs {
  readonly lengths: DefaultLengths;
  readonly records: readonly IpConfigRecord[];
  /** The latest traits of a remote endpoint with these addresses. */
  readonly traits: EndpointTraits | undefined;
}

/** Conditions that are remembered; then the list begins anew, and later nodes share among themselves. */
const CONDITIONS_MAX = 65_536;

export class SharedValues {
  private readonly conditions: Map<string, Condition> = new Map();
  /** The latest back end for each list of addresses. */
  private readonly backEnds: WeakMap<readonly IpConfigRecord[], LbnatBackEnd> = new WeakMap();
  /** The latest list that begins with a back end. */
  private readonly lists: WeakMap<LbnatBackEnd, readonly LbnatBackEnd[]> = new WeakMap();
  private readonly configs: WeakMap<readonly IpConfig[], RemoteConfigs> = new WeakMap();

  constructor() {
    // What is frozen is shared by forks.
    Object.freeze(this);
  }

  /** What asks for a front end: one value for all its rules. */
  toFrontEnd(protocol: number, vip: Ip, port: number): Condition {
    const key = `${protocol} ${typeof vip} ${vip} ${port}`;
    const known = this.conditions.get(key);
    if (known !== undefined) return known;
    const condition = Object.freeze<Condition>({
      protocols: [protocol],
      destination: [hostPrefix(vip)],
      destinationPorts: [{ first: port, last: port }],
    });
    if (this.conditions.size >= CONDITIONS_MAX) this.conditions.clear();
    this.conditions.set(key, condition);
    return condition;
  }

  /** A back end that is no port of the node: nodes share the list of its addresses, so they share it. */
  remoteBackEnd(owner: readonly IpConfigRecord[], ip: Ip, port: number): LbnatBackEnd {
    const known = this.backEnds.get(owner);
    if (known?.ip === ip && known.port === port) return known;
    const backEnd = Object.freeze<LbnatBackEnd>({ ip, port });
    this.backEnds.set(owner, backEnd);
    return backEnd;
  }

  /** The same list as another node without a local back end has. */
  listOf(backEnds: readonly LbnatBackEnd[]): readonly LbnatBackEnd[] {
    const [first] = backEnds;
    if (first === undefined) return backEnds;
    const known = this.lists.get(first);
    if (known?.length === backEnds.length && known.every((each, index) => each === backEnds[index]))
      return known;
    this.lists.set(first, Object.freeze(backEnds));
    return backEnds;
  }

  /** What the addresses of a remote endpoint's document come to. */
  remoteConfigs(
    configs: readonly IpConfig[],
    lengths: DefaultLengths,
    read: () => readonly IpConfigRecord[],
  ): readonly IpConfigRecord[] {
    const known = this.configs.get(configs);
    if (known?.lengths[4] === lengths[4] && known.lengths[6] === lengths[6]) return known.records;
    const records = read();
    if (Object.isFrozen(configs)) this.configs.set(configs, { lengths, records, traits: undefined });
    return records;
  }

  /** The latest traits of a remote endpoint whose document has these addresses. */
  traitsOf(configs: readonly IpConfig[], lengths: DefaultLengths): EndpointTraits | undefined {
    const known = this.configs.get(configs);
    return known?.lengths[4] === lengths[4] && known.lengths[6] === lengths[6] ? known.traits : undefined;
  }

  /** What a remote endpoint with these addresses came to: other nodes are going to take it. */
  keepTraits(configs: readonly IpConfig[], traits: EndpointTraits): void {
    const known = this.configs.get(configs);
    if (known?.records === traits.ipConfigs) this.configs.set(configs, { ...known, traits });
  }
}
