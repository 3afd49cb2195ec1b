/** A logical network: the rows of a southbound database, compiled for packets to run through. */
import { LIMITS } from "#core/base/limits.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { OVN_GROUP_MIN, type OvnTunnelKeys } from "#core/wire/tunnels/ovn-metadata.ts";
import {
  type CompiledFlow,
  type UnreadableFlow,
  compile,
  hasVariables,
  problemOf,
  withValues,
} from "./compile-flow.ts";
import type { Pipeline } from "./language/actions.ts";
import type { Match } from "./language/match.ts";
import { type Constant, TokenReader } from "./language/tokens.ts";
import type {
  ChassisBinding,
  ChassisVariables,
  DatapathBinding,
  DnsRecords,
  LoadBalancer,
  LogicalFlowRow,
  MulticastGroup,
  MulticastSettings,
  NamedSet,
  PortBinding,
  Southbound,
  SouthboundLayout,
} from "./southbound.ts";

export interface LogicalPort extends PortBinding {
  readonly security: readonly { readonly mac: bigint; readonly ips: readonly Constant[] }[];
}

/** A constant of an address set, or of port security; undefined for what is none. */
function toConstant(text: string): Constant | undefined {
  try {
    const { token } = new TokenReader(text);
    return token.kind === "constant" ? token.constant : undefined;
  } catch (thrown) {
    problemOf(thrown);
    return undefined;
  }
}

function toLogicalPort(port: PortBinding): LogicalPort {
  const security = port.portSecurity.map((entry) => {
    const [mac = "", ...ips] = entry.split(" ");
    return { mac: BigInt(parseMac(mac) ?? 0), ips: ips.flatMap((ip) => hostOrPrefix(ip) ?? []) };
  });
  return Object.freeze({ ...port, security: Object.freeze(security) });
}

/** With the addresses that the variables in it stand for, of all chassis. */
function withAddresses(balancer: LoadBalancer, variables: readonly ChassisVariables[]): LoadBalancer {
  const isPlain = [...balancer.vips.keys()].every((vip) => !vip.includes("^"));
  if (isPlain) return balancer;
  const entries = [...balancer.vips].flatMap(([vip, backEnds]): readonly (readonly [string, string])[] =>
    vip.includes("^")
      ? variables.map(({ values }) => [withValues(vip, values), withValues(backEnds, values)])
      : [[vip, backEnds]],
  );
  return { ...balancer, vips: new Map(entries) };
}

/** `10.0.0.5/24` in port security names the host, `10.0.0.0/24` the prefix (ovn-nb(5), port_security). */
function hostOrPrefix(text: string): Constant | undefined {
  const [prefix, host] = [toConstant(text), toConstant(text.split("/")[0] ?? "")];
  return prefix?.value === host?.value ? prefix : host;
}

/** What tables are looked up by. */
function tableKey(datapath: string, pipeline: Pipeline, table: number): string {
  return `${datapath} ${pipeline} ${table}`;
}

function tableKeys({ datapaths, pipeline, table }: LogicalFlowRow): readonly string[] {
  return datapaths.map((datapath) => tableKey(datapath, pipeline, table));
}

function isSamePlace(one: LogicalFlowRow, other: LogicalFlowRow): boolean {
  return one.priority === other.priority && tableKeys(one).join() === tableKeys(other).join();
}

/** Highest priority first; of the same priority as they came. */
function inOrder(flows: readonly CompiledFlow[]): readonly CompiledFlow[] {
  return Object.freeze(flows.toSorted((a, b) => b.row.priority - a.row.priority));
}

/** What has become of a row: absent before for a new one, absent after for one that is gone. */
export interface FlowChange {
  readonly before: LogicalFlowRow | undefined;
  readonly after: LogicalFlowRow | undefined;
}

const WITHOUT_VALUES = "the chassis of this port has no values for its variables";

/** Two ends of a tunnel. */
interface TunnelEnds {
  readonly type: string;
  readonly from: string;
  readonly to: string;
  /** What is sent there is to have checksums. */
  readonly hasChecksum: boolean;
}

interface TunnelNames {
  readonly datapath: string;
  readonly inport: string;
  readonly outport: string;
}

export class LogicalNetwork {
  /** Grows with each change of what packets are compared with: what was cached before holds no more. */
  revision = 0;
  ports: ReadonlyMap<string, LogicalPort> = new Map();
  /** By row. */
  private readonly unread = new Map<string, UnreadableFlow>();
  private readonly tables = new Map<string, readonly CompiledFlow[]>();
  private groups: ReadonlyMap<string, MulticastGroup> = new Map();
  private chassis: ReadonlyMap<string, ChassisBinding> = new Map();
  private readonly addressSets = new Map<string, readonly Constant[]>();
  private readonly portGroups = new Map<string, ReadonlySet<string>>();
  datapaths: ReadonlyMap<string, DatapathBinding> = new Map();
  loadBalancers: readonly LoadBalancer[] = [];
  private dns: readonly DnsRecords[] = [];
  /** By datapath. */
  multicast: ReadonlyMap<string, MulticastSettings> = new Map();
  private readonly macBindings = new Map<string, bigint>();
  /** Those that packets have taught, which no row says. */
  private readonly taught = new Map<string, bigint>();
  private variables: readonly ChassisVariables[] = [];
  /** By id: rows that depend on variables. */
  private readonly variableRows = new Map<string, LogicalFlowRow>();
  /** By datapath and MAC: the port behind which it was met. */
  private readonly fdb = new Map<string, string>();

  constructor(southbound: Southbound) {
    this.lay(southbound);
    for (const set of southbound.addressSets) this.setAddressSet(set);
    for (const group of southbound.portGroups) this.setPortGroup(group);
    this.addFlows(southbound.flows);
  }

  /** Everything but flows and sets is this from now on. What packets have taught stays, as far as its ports do. */
  lay(layout: SouthboundLayout): void {
    this.revision += 1;
    this.ports = new Map(layout.ports.map((port) => [port.name, toLogicalPort(port)]));
    this.datapaths = new Map(layout.datapaths.map((datapath) => [datapath.id, datapath]));
    this.loadBalancers = Object.freeze(
      layout.loadBalancers.map((each) => withAddresses(each, layout.variables ?? [])),
    );
    this.dns = Object.freeze([...layout.dns]);
    this.multicast = new Map((layout.multicast ?? []).map((each) => [each.datapath, each]));
    this.groups = new Map(
      layout.groups.map((group) => [`${group.datapath} ${group.name}`, Object.freeze({ ...group })]),
    );
    this.chassis = new Map(layout.chassis.map((each) => [each.id, each]));
    this.macBindings.clear();
    for (const { port, ip, mac } of layout.macBindings) {
      const parsed = parseIp(ip);
      if (parsed !== undefined)
        this.macBindings.set(`${port} ${formatIp(parsed)}`, BigInt(parseMac(mac) ?? 0));
    }
    for (const key of this.taught.keys())
      if (!this.ports.has(key.split(" ")[0] ?? "")) this.taught.delete(key);
    for (const [key, port] of this.fdb) if (!this.ports.has(port)) this.fdb.delete(key);
    this.readFdb(layout);
    this.setVariables(layout.variables ?? []);
  }

  /** Flows with variables are compiled again where a value has changed. */
  private setVariables(variables: readonly ChassisVariables[]): void {
    const tell = (all: readonly ChassisVariables[]): string =>
      JSON.stringify(all.map(({ chassis, values }) => [chassis, [...values]]));
    if (tell(variables) === tell(this.variables)) return;
    this.variables = variables;
    this.changeFlows([...this.variableRows.values()].map((row) => ({ before: row, after: row })));
  }

  private readFdb({ datapaths, ports, fdb }: SouthboundLayout): void {
    for (const { datapathKey, portKey, mac } of fdb) {
      const datapath = datapaths.find(({ key }) => key === datapathKey)?.id;
      const port = ports.find((each) => each.datapath === datapath && each.key === portKey);
      if (datapath !== undefined && port !== undefined)
        this.learnPort(datapath, BigInt(parseMac(mac) ?? 0), port.name);
    }
  }

  private addFlows(rows: readonly LogicalFlowRow[]): void {
    const lists = new Map<string, CompiledFlow[]>();
    for (const row of rows) {
      const flow = this.read(row);
      for (const key of flow === undefined ? [] : tableKeys(row)) {
        const list = lists.get(key) ?? [];
        lists.set(key, list);
        if (flow !== undefined) list.push(flow);
      }
    }
    for (const [key, flows] of lists) this.tables.set(key, inOrder(flows));
  }

  /** Compiles a flow; undefined for one that cannot be compared with packets, which is kept as such. */
  private read(row: LogicalFlowRow): CompiledFlow | undefined {
    const flow = compile(row, this.variables);
    if (hasVariables(row)) this.variableRows.set(row.id, row);
    if (!("problem" in flow)) return flow;
    this.unread.set(row.id, flow);
    return undefined;
  }

  /**
   * These flows are others now, are new, or are gone. Tables that none of them is in stay as they are.
   * Among flows of one priority a new one stands last.
   */
  changeFlows(changes: readonly FlowChange[]): void {
    if (changes.length === 0) return;
    this.revision += 1;
    const gone = new Map<string, Map<string, CompiledFlow | undefined>>();
    const added = new Map<string, CompiledFlow[]>();
    for (const { before, after } of changes) {
      // One that could not be read stands in no table.
      const wasRead = before !== undefined && !this.unread.delete(before.id);
      if (before !== undefined) this.variableRows.delete(before.id);
      const flow = after && this.read(after);
      const isInPlace = wasRead && flow !== undefined && isSamePlace(before, flow.row);
      if (before !== undefined)
        for (const key of tableKeys(before)) {
          const ids = gone.get(key) ?? new Map<string, CompiledFlow | undefined>();
          gone.set(key, ids.set(before.id, isInPlace ? flow : undefined));
        }
      if (flow === undefined || isInPlace) continue;
      for (const key of tableKeys(flow.row)) {
        const list = added.get(key) ?? [];
        added.set(key, list);
        list.push(flow);
      }
    }
    for (const key of new Set([...gone.keys(), ...added.keys()]))
      this.changeTable(key, gone.get(key), added.get(key) ?? []);
  }

  private changeTable(
    key: string,
    gone: ReadonlyMap<string, CompiledFlow | undefined> | undefined,
    added: readonly CompiledFlow[],
  ): void {
    const flows: CompiledFlow[] = [];
    const entering = inOrder(added);
    let next = 0;
    for (const flow of this.tables.get(key) ?? []) {
      const kept = gone?.has(flow.row.id) === true ? gone.get(flow.row.id) : flow;
      if (kept === undefined) continue;
      for (
        let each = entering[next];
        each !== undefined && each.row.priority > kept.row.priority;
        each = entering[next]
      ) {
        flows.push(each);
        next += 1;
      }
      flows.push(kept);
    }
    flows.push(...entering.slice(next));
    if (flows.length === 0) this.tables.delete(key);
    else this.tables.set(key, Object.freeze(flows));
  }

  /** Flows left out because no packet can be compared with them. */
  get unreadable(): readonly UnreadableFlow[] {
    return [...this.unread.values()];
  }

  /** Flows that one chassis has not, since values of variables are missing there or do not fit. */
  missingOn(chassis: string): readonly UnreadableFlow[] {
    const flows = new Set(
      [...this.tables.values()].flat().filter(({ byChassis }) => byChassis !== undefined),
    );
    return [...flows].flatMap(({ row, byChassis }) => {
      const there = byChassis?.get(chassis) ?? { row, problem: WITHOUT_VALUES };
      return "problem" in there ? [there] : [];
    });
  }

  /** Puts a set in place of the one of that name; no flow is compiled again. */
  setAddressSet({ name, members }: NamedSet): void {
    this.revision += 1;
    this.addressSets.set(name, Object.freeze(members.flatMap((member) => toConstant(member) ?? [])));
  }

  /** The same for a group of ports. */
  setPortGroup({ name, members }: NamedSet): void {
    this.revision += 1;
    this.portGroups.set(name, new Set(members));
  }

  /** There is no set of that name any more. */
  removeAddressSet(name: string): void {
    this.revision += 1;
    this.addressSets.delete(name);
  }

  removePortGroup(name: string): void {
    this.revision += 1;
    this.portGroups.delete(name);
  }

  /** The flows of a table, highest priority first. */
  flowsOf(datapath: string, pipeline: Pipeline, table: number): readonly CompiledFlow[] {
    return this.tables.get(tableKey(datapath, pipeline, table)) ?? [];
  }

  /** What a datapath answers for a name in lower case; undefined where no row says. */
  dnsRecord(datapath: string, name: string): string | undefined {
    return this.dns
      .find((row) => row.datapaths.includes(datapath) && row.records.has(name))
      ?.records.get(name);
  }

  /** A multicast group; undefined for a name that is none. */
  groupOf(datapath: string, name: string): MulticastGroup | undefined {
    return this.groups.get(`${datapath} ${name}`);
  }

  /** Name of the chassis that has a port; empty for none. */
  chassisOf(port: string): string {
    return this.chassis.get(this.ports.get(port)?.chassis ?? "")?.name ?? "";
  }

  /** The ends of the tunnel between two chassis; undefined when they have no encapsulation in common. */
  tunnelBetween(own: string, other: string): TunnelEnds | undefined {
    const of = (name: string): ChassisBinding["encapsulations"] =>
      [...this.chassis.values()].find((each) => each.name === name)?.encapsulations ?? [];
    for (const type of ["geneve", "stt", "vxlan"]) {
      const [from, to] = [own, other].map((name) => of(name).find((each) => each.type === type));
      if (from !== undefined && to !== undefined)
        return { type, from: from.ip, to: to.ip, hasChecksum: to.wantsChecksum === true };
    }
    return undefined;
  }

  /** What the keys of a tunnel name: a datapath, the port that the packet came in at, and where it is to go. */
  namesOf(keys: OvnTunnelKeys): TunnelNames | undefined {
    const datapath = [...this.datapaths.values()].find(({ key }) => key === keys.datapath)?.id;
    const nameOf = (key: number): string | undefined =>
      [...this.ports.values()].find((port) => port.datapath === datapath && port.key === key)?.name;
    const group = [...this.groups.values()].find(
      (each) => each.datapath === datapath && each.key === keys.egressPort,
    );
    const outport = keys.egressPort >= OVN_GROUP_MIN ? group?.name : nameOf(keys.egressPort);
    if (datapath === undefined || outport === undefined) return undefined;
    return { datapath, inport: nameOf(keys.ingressPort) ?? "", outport };
  }

  addressSet(name: string): readonly Constant[] {
    return this.addressSets.get(name) ?? [];
  }

  /** Groups stand in the southbound database once per datapath, its key in front of the name (ovn-northd). */
  isInGroup(datapath: string, name: string, port: string): boolean {
    const group =
      this.portGroups.get(`${this.datapaths.get(datapath)?.key ?? 0}_${name}`) ?? this.portGroups.get(name);
    return group?.has(port) ?? false;
  }

  /** Remembers who has an address behind a port. */
  learn(port: string, ip: string, mac: bigint): void {
    const parsed = parseIp(ip);
    if (parsed === undefined) return;
    const key = `${port} ${formatIp(parsed)}`;
    const before = this.taught.get(key);
    if (before === mac || (before === undefined && this.taught.size >= LIMITS.macsPerSwitchMax)) return;
    this.taught.set(key, mac);
    this.revision += 1;
  }

  macOf(port: string, ip: string): bigint | undefined {
    const key = `${port} ${ip}`;
    return this.taught.get(key) ?? this.macBindings.get(key);
  }

  /** Remembers behind which port of a switch a MAC was met. */
  learnPort(datapath: string, mac: bigint, port: string): void {
    const key = `${datapath} ${mac}`;
    const before = this.fdb.get(key);
    if (before === port || (before === undefined && this.fdb.size >= LIMITS.macsPerSwitchMax)) return;
    this.fdb.set(key, port);
    this.revision += 1;
  }

  portOf(datapath: string, mac: bigint): string | undefined {
    return this.fdb.get(`${datapath} ${mac}`);
  }

  /** Address sets and port groups that flows of some datapaths name and nobody gave: they are empty here. */
  missingNames(datapaths: ReadonlySet<string>): readonly string[] {
    const missing = new Set<string>();
    const visit = (match: Match): void => {
      if (match.kind === "and" || match.kind === "or") match.of.forEach(visit);
      else if (match.kind === "address-set" && !this.addressSets.has(match.name))
        missing.add(`$${match.name}`);
      else if (match.kind === "port-group" && !this.hasGroup(datapaths, match.name))
        missing.add(`@${match.name}`);
    };
    for (const [key, flows] of this.tables)
      if (datapaths.has(key.split(" ")[0] ?? "")) for (const { match } of flows) visit(match);
    return [...missing].toSorted();
  }

  private hasGroup(datapaths: ReadonlySet<string>, name: string): boolean {
    const keys = [...datapaths].map((id) => `${this.datapaths.get(id)?.key ?? 0}_${name}`);
    return [name, ...keys].some((each) => this.portGroups.has(each));
  }
}
