/** A logical network: the rows of a southbound database, compiled for packets to run through. */
import { LIMITS } from "#core/base/limits.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { OVN_GROUP_MIN, type OvnTunnelKeys } from "#core/wire/tunnels/ovn-metadata.ts";
import { unknownDhcpOptions } from "./dhcp-options.ts";
import { unknownDhcpv6Options } from "./dhcpv6-options.ts";
import { type Action, type Argument, type Pipeline, needsOf, parseActions } from "./language/actions.ts";
import { type Match, parseMatch, withNeeds } from "./language/match.ts";
import { type Constant, LanguageError, TokenReader } from "./language/tokens.ts";
import { unknownAdvertisementOptions } from "./router-advertisements.ts";
import type {
  ChassisBinding,
  DatapathBinding,
  DnsRecords,
  LoadBalancer,
  LogicalFlowRow,
  MulticastGroup,
  MulticastSettings,
  NamedSet,
  PortBinding,
  Southbound,
} from "./southbound.ts";

/** A flow, ready to run. */
export interface CompiledFlow {
  readonly row: LogicalFlowRow;
  readonly match: Match;
  readonly actions: readonly Action[];
  /** Why its actions cannot be carried out; undefined when they can. A packet that matches ends there. */
  readonly refusal: string | undefined;
}

/** A flow whose match cannot be read: no packet can be told to match it. */
export interface UnreadableFlow {
  readonly row: LogicalFlowRow;
  readonly problem: string;
}

export interface LogicalPort extends PortBinding {
  readonly security: readonly { readonly mac: bigint; readonly ips: readonly Constant[] }[];
}

/** Actions that are read and not carried out. */
const REFUSED: ReadonlySet<string> = new Set([
  "chk_evpn_arp",
  "ct_lb_mark_local",
  "dhcp_relay_req_chk",
  "dhcp_relay_resp_chk",
  "flood_remote",
  "get_remote_fdb",
]);

/** Options that an action cannot write, by the action. */
const UNKNOWN_OPTIONS: Readonly<Record<string, (given: readonly Argument[]) => readonly string[]>> = {
  put_dhcp_opts: unknownDhcpOptions,
  put_dhcpv6_opts: unknownDhcpv6Options,
  put_nd_ra_opts: unknownAdvertisementOptions,
};

function unknownOptionOf(action: Action): string | undefined {
  if (action.kind !== "call") return undefined;
  const [option] = UNKNOWN_OPTIONS[action.name]?.(action.arguments) ?? [];
  return option === undefined ? undefined : `${action.name} with the option ${option}`;
}

/** The first action that is not carried out. */
function findRefused(actions: readonly Action[]): string | undefined {
  for (const action of actions) {
    if ((action.kind === "call" || action.kind === "nested") && REFUSED.has(action.name)) return action.name;
    const option = unknownOptionOf(action);
    if (option !== undefined) return option;
    if (action.kind !== "nested") continue;
    const inner = findRefused(action.actions);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function problemOf(thrown: unknown): string {
  if (thrown instanceof LanguageError) return thrown.message;
  throw thrown;
}

/** What a row becomes; of a row with the same texts that was compiled before, what it has become then. */
function compile(row: LogicalFlowRow, before: CompiledFlow | undefined): CompiledFlow | UnreadableFlow {
  if (before?.row.match === row.match && before.row.actions === row.actions)
    return Object.freeze({ ...before, row });
  let match: Match;
  try {
    match = parseMatch(row.match);
  } catch (thrown) {
    return { row, problem: problemOf(thrown) };
  }
  try {
    const actions = parseActions(row.actions);
    match = withNeeds(match, needsOf(actions));
    const refused = findRefused(actions);
    const refusal = refused === undefined ? undefined : `the action ${refused} is not carried out`;
    return Object.freeze({ row, match, actions, refusal });
  } catch (thrown) {
    return Object.freeze({ row, match, actions: [], refusal: problemOf(thrown) });
  }
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

/** `10.0.0.5/24` in port security names the host, `10.0.0.0/24` the prefix (ovn-nb(5), port_security). */
function hostOrPrefix(text: string): Constant | undefined {
  const [prefix, host] = [toConstant(text), toConstant(text.split("/")[0] ?? "")];
  return prefix?.value === host?.value ? prefix : host;
}

/** What tables are looked up by. */
function tableKey(datapath: string, pipeline: Pipeline, table: number): string {
  return `${datapath} ${pipeline} ${table}`;
}

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
  readonly ports: ReadonlyMap<string, LogicalPort>;
  /** Flows left out because no packet can be compared with them. */
  readonly unreadable: readonly UnreadableFlow[];
  private readonly tables = new Map<string, readonly CompiledFlow[]>();
  private readonly groups: ReadonlyMap<string, MulticastGroup>;
  private readonly chassis: ReadonlyMap<string, ChassisBinding>;
  private readonly addressSets = new Map<string, readonly Constant[]>();
  private readonly portGroups = new Map<string, ReadonlySet<string>>();
  readonly datapaths: ReadonlyMap<string, DatapathBinding>;
  readonly loadBalancers: readonly LoadBalancer[];
  private readonly dns: readonly DnsRecords[];
  /** By datapath. */
  readonly multicast: ReadonlyMap<string, MulticastSettings>;
  private readonly macBindings = new Map<string, bigint>();
  /** Those that packets have taught, which no row says. */
  private readonly taught = new Map<string, bigint>();
  /** By datapath and MAC: the port behind which it was met. */
  private readonly fdb = new Map<string, string>();

  /** `before`: the network of the same database as it was. Its flows are taken over as they are, and what packets have taught it. */
  constructor(southbound: Southbound, before?: LogicalNetwork) {
    this.ports = new Map(southbound.ports.map((port) => [port.name, toLogicalPort(port)]));
    this.datapaths = new Map(southbound.datapaths.map((datapath) => [datapath.id, datapath]));
    this.loadBalancers = Object.freeze([...southbound.loadBalancers]);
    this.dns = Object.freeze([...southbound.dns]);
    this.multicast = new Map((southbound.multicast ?? []).map((each) => [each.datapath, each]));
    this.groups = new Map(
      southbound.groups.map((group) => [`${group.datapath} ${group.name}`, Object.freeze({ ...group })]),
    );
    this.chassis = new Map(southbound.chassis.map((each) => [each.id, each]));
    for (const set of southbound.addressSets) this.setAddressSet(set);
    for (const group of southbound.portGroups) this.setPortGroup(group);
    for (const { port, ip, mac } of southbound.macBindings) {
      const parsed = parseIp(ip);
      if (parsed !== undefined)
        this.macBindings.set(`${port} ${formatIp(parsed)}`, BigInt(parseMac(mac) ?? 0));
    }
    this.readFdb(southbound);
    if (before !== undefined) this.takeOver(before);
    this.unreadable = Object.freeze(this.addFlows(southbound.flows, before?.compiledFlows() ?? new Map()));
  }

  private takeOver({ taught, fdb }: LogicalNetwork): void {
    for (const [key, mac] of taught) if (this.ports.has(key.split(" ")[0] ?? "")) this.taught.set(key, mac);
    for (const [key, port] of fdb) if (this.ports.has(port) && !this.fdb.has(key)) this.fdb.set(key, port);
  }

  /** By row. */
  private compiledFlows(): ReadonlyMap<string, CompiledFlow> {
    const flows = new Map<string, CompiledFlow>();
    for (const table of this.tables.values()) for (const flow of table) flows.set(flow.row.id, flow);
    return flows;
  }

  private readFdb({ datapaths, ports, fdb }: Southbound): void {
    for (const { datapathKey, portKey, mac } of fdb) {
      const datapath = datapaths.find(({ key }) => key === datapathKey)?.id;
      const port = ports.find((each) => each.datapath === datapath && each.key === portKey);
      if (datapath !== undefined && port !== undefined)
        this.learnPort(datapath, BigInt(parseMac(mac) ?? 0), port.name);
    }
  }

  private addFlows(
    rows: readonly LogicalFlowRow[],
    before: ReadonlyMap<string, CompiledFlow>,
  ): UnreadableFlow[] {
    const unreadable: UnreadableFlow[] = [];
    const lists = new Map<string, CompiledFlow[]>();
    for (const row of rows) {
      const flow = compile(row, before.get(row.id));
      if ("problem" in flow) {
        unreadable.push(flow);
        continue;
      }
      for (const datapath of row.datapaths) {
        const key = tableKey(datapath, row.pipeline, row.table);
        const list = lists.get(key) ?? [];
        list.push(flow);
        lists.set(key, list);
      }
    }
    for (const [key, flows] of lists) {
      this.tables.set(key, Object.freeze(flows.toSorted((a, b) => b.row.priority - a.row.priority)));
    }
    return unreadable;
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
