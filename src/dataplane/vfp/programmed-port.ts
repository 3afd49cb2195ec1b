/**
 * What somebody has set up on a port: layers with their groups, spaces, NAT pools, addresses, settings, guards. Each change
 * that may change what becomes of a packet makes a new generation; what the port does with packets is vfp-port.ts.
 */
import { assert } from "#core/base/assert.ts";
import type { FlowRoom } from "#core/base/environment.ts";
import type { Ip, IpFamily } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { FlowCensus } from "./flows/flow-census.ts";
import { type Group, shareSets } from "./group.ts";
import { Layer } from "./layer.ts";
import type { MappingSpace } from "./actions/encapsulation.ts";
import type { NatPool } from "./actions/nat-pool.ts";
import type { PrefixSets } from "./matching/condition-matcher.ts";
import { NO_WAITER, type NextHopResolver, type NextHopWaiter } from "./actions/next-hop.ts";
import { GuardPost } from "./port-guards.ts";
import {
  DEFAULT_FLOW_SETTINGS,
  DEFAULT_PARSER_SETTINGS,
  NO_ADDRESS_INFO,
  type PortAddressInfo,
  type PortFlowSettings,
  type PortGuards,
  type PortParserSettings,
} from "./port-settings.ts";
import type { VfpDirection, LayerDefinition } from "./rule.ts";

export interface VfpPortOptions {
  readonly id: string;
  /** As traces name it. */
  readonly name: string;
  /** The node, as traces name it. */
  readonly node: string;
  readonly layers: readonly LayerDefinition[];
  readonly nextHopResolver?: NextHopResolver | undefined;
  /** Is told when a next hop that a packet waits for is settled. */
  readonly nextHopWaiter?: NextHopWaiter | undefined;
  /** False walks the layers for every packet. Default true. */
  readonly unifiedFlows?: boolean;
  /** What the ports of a world share; undefined: the port's own bound alone. */
  readonly flowRoom?: FlowRoom | undefined;
}

/** The part of a port that others write to. */
export abstract class ProgrammedPort {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  nextHopResolver: NextHopResolver | undefined;
  nextHopWaiter: NextHopWaiter;
  /** Goes up with every change of rules; a unified flow of an older generation is walked again. */
  generation = 0;
  readonly census: FlowCensus;
  /** What all ports of a switch share, set before there are groups; undefined: each group has its own. */
  prefixSets: PrefixSets | undefined;
  private readonly outOrder: readonly Layer[];
  private readonly inOrder: readonly Layer[];
  private readonly layersByName: Map<string, Layer>;
  private readonly natPools = new Map<string, NatPool>();
  private spaces: Map<string, MappingSpace> | undefined;
  private absent: Set<Layer> | undefined;
  /** The pipeline without what is absent; undefined until somebody asks. */
  private presentOrder: Readonly<Record<VfpDirection, readonly Layer[]>> | undefined;
  protected guardPost: GuardPost | undefined;
  protected addressInfo: PortAddressInfo = NO_ADDRESS_INFO;
  protected parser: PortParserSettings = DEFAULT_PARSER_SETTINGS;

  constructor(options: VfpPortOptions) {
    this.id = options.id;
    this.name = options.name;
    this.node = options.node;
    this.nextHopResolver = options.nextHopResolver;
    this.nextHopWaiter = options.nextHopWaiter ?? NO_WAITER;
    this.census = new FlowCensus(
      options.unifiedFlows === false
        ? { ...DEFAULT_FLOW_SETTINGS, usesUnifiedFlows: false }
        : DEFAULT_FLOW_SETTINGS,
      options.flowRoom,
    );
    const layers = options.layers.map((definition) => new Layer(definition, this.census));
    this.outOrder = layers.sort((a, b) => a.definition.priority - b.definition.priority);
    this.inOrder = this.outOrder.toReversed();
    this.layersByName = new Map(layers.map((layer) => [layer.definition.name, layer]));
  }

  /** Layers in the order in which outgoing packets meet them. */
  get layers(): readonly Layer[] {
    return this.outOrder;
  }

  /** Who is behind the port, and what stands outside on what it encapsulates. */
  get address(): PortAddressInfo {
    return this.addressInfo;
  }

  set address(address: PortAddressInfo) {
    this.addressInfo = Object.freeze({ ...address });
    this.generation++;
  }

  /** What the port refuses whatever its rules say. Default: nothing. */
  get guards(): PortGuards {
    return this.guardPost?.guards ?? {};
  }

  set guards(guards: PortGuards) {
    const isEmpty = Object.values(guards).every((value) => value === undefined || value === false);
    this.guardPost = isEmpty ? undefined : new GuardPost(guards);
  }

  get parserSettings(): PortParserSettings {
    return this.parser;
  }

  set parserSettings(settings: PortParserSettings) {
    this.parser = Object.freeze({ ...settings });
    this.generation++;
  }

  get flowSettings(): PortFlowSettings {
    return this.census.settings;
  }

  /** Flows that are there already live by the new settings, too. */
  set flowSettings(settings: PortFlowSettings) {
    this.census.settings = Object.freeze({ ...settings });
    this.generation++;
  }

  get vxlanPort(): number {
    return this.parser.vxlanPort;
  }

  get providerMac(): Mac {
    return this.addressInfo.fakeMac ?? (0 as Mac);
  }

  providerAddress(family: IpFamily): Ip | undefined {
    return family === 4 ? this.addressInfo.providerIpv4 : this.addressInfo.providerIpv6;
  }

  /** True while a rule may put outer headers on what comes from behind the port. */
  get mayEncapsulate(): boolean {
    return this.outOrder.some((layer) => layer.encapsulates);
  }

  getLayer(name: string): Layer | undefined {
    return this.layersByName.get(name);
  }

  /** Replaces the groups of a layer. Existing flows are evaluated again when their next packet comes. */
  setGroups(layerName: string, groups: readonly Group[]): void {
    const layer = this.layerNamed(layerName);
    const isSame =
      groups.length === layer.groups.length && groups.every((group) => layer.groups.includes(group));
    if (isSame) return;
    if (this.prefixSets !== undefined) for (const group of groups) shareSets(group, this.prefixSets);
    layer.setGroups(groups);
    this.generation++;
  }

  /**
   * Takes a layer out of the pipeline, or puts it back. `isNoticed` false leaves flows as they are, which is a known
   * defect: flows made in the gap go on without the layer (dataplane.md §9, F-03).
   */
  setLayerPresent(layerName: string, isPresent: boolean, isNoticed = true): void {
    const layer = this.layerNamed(layerName);
    this.absent ??= new Set();
    if (isPresent) this.absent.delete(layer);
    else this.absent.add(layer);
    this.presentOrder = undefined;
    if (isNoticed) this.generation++;
  }

  /** False while the layer is taken out of the pipeline. */
  isLayerPresent(layerName: string): boolean {
    return this.absent?.has(this.layerNamed(layerName)) !== true;
  }

  /** Ends all flows of a layer; what is left of connections is judged by its rules anew (dataplane.md §9, F-02). */
  forgetFlows(layerName: string): void {
    this.layerNamed(layerName).removeFlows();
  }

  /** The port goes: its connections give their room back. */
  forgetAllFlows(): void {
    for (const layer of this.outOrder) layer.removeFlows();
  }

  addNatPool(pool: NatPool): void {
    assert(!this.natPools.has(pool.name), `port ${this.name} has a NAT pool ${pool.name} already`);
    this.natPools.set(pool.name, pool);
  }

  /** Forgets a pool and all flows that hold a port of it; its blocks go back to the node. */
  removeNatPool(name: string): void {
    const pool = this.natPools.get(name);
    if (pool === undefined) return;
    for (const layer of this.outOrder) layer.removeFlowsOf(pool);
    pool.close();
    this.natPools.delete(name);
    this.generation++;
  }

  getNatPool(name: string): NatPool | undefined {
    return this.natPools.get(name);
  }

  listNatPools(): NatPool[] {
    return [...this.natPools.values()];
  }

  /** Puts a space in the place of one of the same name. */
  setSpace(space: MappingSpace): void {
    this.spaces ??= new Map();
    this.spaces.set(space.name, space);
    this.generation++;
  }

  removeSpace(name: string): void {
    if (this.spaces?.delete(name) === true) this.generation++;
  }

  getSpace(name: string): MappingSpace | undefined {
    return this.spaces?.get(name);
  }

  listSpaces(): MappingSpace[] {
    return [...(this.spaces?.values() ?? [])];
  }

  orderOf(direction: VfpDirection): readonly Layer[] {
    const { absent } = this;
    if (absent === undefined || absent.size === 0) return direction === "out" ? this.outOrder : this.inOrder;
    this.presentOrder ??= {
      out: this.outOrder.filter((layer) => !absent.has(layer)),
      in: this.inOrder.filter((layer) => !absent.has(layer)),
    };
    return this.presentOrder[direction];
  }

  protected layerNamed(name: string): Layer {
    const layer = this.layersByName.get(name);
    assert(layer !== undefined, `port ${this.name} has no layer ${name}`);
    return layer;
  }
}
