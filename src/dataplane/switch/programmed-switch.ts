/** The part of a switch that others write to: its ports, and what it knows of the machines behind them. */
import { assert } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import type { Ip } from "#core/net/ip.ts";
import type { PortBlockSource } from "../vfp/actions/nat-pool.ts";
import { PrefixSets } from "../vfp/matching/condition-matcher.ts";
import type { SwitchExtension } from "./decision.ts";
import { NatBindings, type StaticBinding } from "./nat-bindings.ts";
import { OwnedPortBlocks, type PortBlockTable } from "./port-blocks.ts";
import { SwitchPort, type SwitchPortOptions } from "./switch-port.ts";
import { SwitchTables } from "./switch-tables.ts";

export interface VirtualSwitchOptions {
  /** The node, as traces name it. */
  readonly node: string;
  /** `SwitchGuid`. */
  readonly id: string;
  readonly name: string;
  /** Its ports have no VFP: frames go by VLAN and MAC alone. Default false. */
  readonly isPlain?: boolean;
}

export abstract class ProgrammedSwitch {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  /** Decides where frames go before the switch does; undefined: none is enabled. */
  extension: SwitchExtension | undefined;
  protected readonly isPlain: boolean;
  protected readonly env: Environment;
  protected readonly bindings: NatBindings;
  private readonly prefixSets = new PrefixSets();
  private readonly ports = new Map<string, SwitchPort>();
  private known: SwitchTables;

  constructor(env: Environment, options: VirtualSwitchOptions) {
    this.env = env;
    this.id = options.id;
    this.name = options.name;
    this.isPlain = options.isPlain ?? false;
    this.node = options.node;
    this.bindings = new NatBindings(this.ports, env.clock);
    this.known = new SwitchTables([], this.bindings);
  }

  protected makePort(options: SwitchPortOptions): SwitchPort {
    assert(!this.ports.has(options.id), `switch ${this.name} has a port ${options.id} already`);
    const port = new SwitchPort(options, this.node, this.env.flowRoom);
    port.vfp.prefixSets = this.prefixSets;
    this.ports.set(port.id, port);
    this.rebuildTables();
    return port;
  }

  /** Removes a port; its NAT pools give their blocks back. */
  removePort(id: string): void {
    const port = this.ports.get(id);
    if (port === undefined) return;
    port.vfp.forgetAllFlows();
    for (const pool of port.vfp.listNatPools()) port.vfp.removeNatPool(pool.name);
    this.ports.delete(id);
    this.bindings.removePort(port);
    this.rebuildTables();
  }

  /** The machine behind `port` has these addresses from now on. */
  setAddresses(port: SwitchPort, ips: readonly Ip[]): void {
    port.ips = [...ips];
    this.rebuildTables();
  }

  /** The UDP port of VXLAN behind `port`; `others` are those of further networks that it serves. */
  setVxlanPort({ vfp }: SwitchPort, vxlanPort: number, others: readonly number[] = []): void {
    const isNew = vfp.vxlanPort !== vxlanPort;
    const { otherVxlanPorts: _known, ...settings } = vfp.parserSettings;
    vfp.parserSettings = {
      ...settings,
      vxlanPort,
      ...(others.length > 0 && { otherVxlanPorts: Object.freeze([...others]) }),
    };
    if (isNew) this.rebuildTables();
  }

  addStaticBinding(port: SwitchPort, binding: StaticBinding): void {
    this.bindings.add(port, binding);
  }

  removeStaticBinding(port: SwitchPort, binding: StaticBinding): void {
    this.bindings.remove(port, binding);
  }

  private rebuildTables(): void {
    this.known = new SwitchTables(this.listPorts(), this.bindings);
  }

  /** What it knows of its ports now; a change of them makes other tables. */
  get tables(): SwitchTables {
    return this.known;
  }

  getPort(id: string): SwitchPort | undefined {
    return this.ports.get(id);
  }

  listPorts(): readonly SwitchPort[] {
    return [...this.ports.values()];
  }

  /** The uplink; undefined on an internal switch. */
  get externalPort(): SwitchPort | undefined {
    return this.known.externalPort;
  }

  /** The vNIC that carries the node's address: the first of the host's. */
  get hostPort(): SwitchPort | undefined {
    return this.known.hostPort;
  }

  /** NAT ports in use, by block and owner. */
  get portBlocks(): PortBlockTable {
    return this.bindings.blocks;
  }

  /** The NAT ports that `port` may take. */
  portBlocksFor(port: SwitchPort): PortBlockSource {
    return new OwnedPortBlocks(this.portBlocks, port.id);
  }
}
