/**
 * A logical network that follows its databases: rows that change are taken over one by one, and what they do not concern stays as
 * it is (ovn-controller does the same, lib/inc-proc-eng.h of OVN).
 */
import { type FlowChange, LogicalNetwork } from "./logical-network.ts";
import { describeRow } from "./northbound.ts";
import { OvsdbError, type OvsdbTables, type Row, toRow } from "./ovsdb-tables.ts";
import {
  type LogicalFlowRow,
  type NamedSet,
  toDatapathGroups,
  toFlow,
  toLayout,
  toNamedSet,
  toSouthbound,
} from "./southbound.ts";

/** Rows as they are now, by table and UUID; undefined for those that are gone. */
export type ChangedRows = ReadonlyMap<
  string,
  ReadonlyMap<string, Readonly<Record<string, unknown>> | undefined>
>;

/** Tables that a logical network is laid out by; others than these, flows and sets are not for forwarding. */
const LAYOUT: ReadonlySet<string> = new Set([
  "Datapath_Binding",
  "Port_Binding",
  "Multicast_Group",
  "MAC_Binding",
  "Static_MAC_Binding",
  "Load_Balancer",
  "Chassis",
  "Chassis_Template_Var",
  "Encap",
  "DNS",
  "IP_Multicast",
  "FDB",
]);

/** How many digits of a UUID a hint has. */
const HINT_DIGITS = 8;

class FollowedTables {
  private readonly rows = new Map<string, Map<string, Row>>();
  /** As they are handed out, until they change. */
  private readonly lists = new Map<string, readonly Row[]>();

  constructor(names: readonly string[]) {
    for (const name of names) this.rows.set(name, new Map());
  }

  /** @returns what the rows were before */
  take(changed: ChangedRows): ReadonlyMap<string, ReadonlyMap<string, Row | undefined>> {
    const before = new Map<string, Map<string, Row | undefined>>();
    for (const [table, rows] of changed) {
      const known = this.rows.get(table) ?? new Map<string, Row>();
      this.rows.set(table, known);
      this.lists.delete(table);
      const was = new Map<string, Row | undefined>();
      before.set(table, was);
      for (const [id, row] of rows) {
        was.set(id, known.get(id));
        if (row === undefined) known.delete(id);
        else known.set(id, toRow(id, row));
      }
    }
    return before;
  }

  row(table: string, id: string): Row | undefined {
    return this.rows.get(table)?.get(id);
  }

  list(table: string): readonly Row[] {
    const list = this.lists.get(table) ?? [...(this.rows.get(table)?.values() ?? [])];
    this.lists.set(table, list);
    return list;
  }

  all(): OvsdbTables {
    return new Map([...this.rows.keys()].map((table) => [table, this.list(table)]));
  }
}

export class FollowedNetwork {
  private readonly southbound: FollowedTables;
  private readonly northbound: FollowedTables;
  private readonly flows = new Map<string, LogicalFlowRow>();
  /** Ids of flows by their hint. */
  private readonly hinted = new Map<string, Set<string>>();
  /** What hints stand for. */
  private readonly objects = new Map<string, string>();
  readonly network: LogicalNetwork = new LogicalNetwork(toSouthbound(new Map()));
  /** Flows that are not there, and a layout that is as it was, since a row has values of another schema: why, by what it is about. */
  readonly problems: Map<string, string> = new Map();

  /** `names`: of the tables that both databases have. */
  constructor(names: { readonly southbound: readonly string[]; readonly northbound: readonly string[] }) {
    this.southbound = new FollowedTables(names.southbound);
    this.northbound = new FollowedTables(names.northbound);
  }

  /** Both databases as they are, for who prints them. */
  tables(): { readonly northbound: OvsdbTables; readonly southbound: OvsdbTables } {
    return { northbound: this.northbound.all(), southbound: this.southbound.all() };
  }

  /** Rows of both databases have changed. What is not as the schema has it is among `problems` until it changes again. */
  take(southbound: ChangedRows, northbound: ChangedRows): void {
    const before = this.southbound.take(southbound);
    this.northbound.take(northbound);
    const stale = new Set(southbound.get("Logical_Flow")?.keys());
    if (southbound.has("Logical_DP_Group")) for (const id of this.flows.keys()) stale.add(id);
    for (const id of this.describe(northbound)) stale.add(id);
    if ([...southbound.keys()].some((table) => LAYOUT.has(table))) {
      const layout = this.read("ports and datapaths", () => toLayout(this.southbound.all()));
      if (layout !== undefined) this.network.lay(layout);
    }
    this.takeSets(before);
    this.takeFlows(stale);
  }

  /** What `convert` gives; undefined where the rows are of another schema, which is kept. */
  private read<T>(what: string, convert: () => T): T | undefined {
    this.problems.delete(what);
    try {
      return convert();
    } catch (thrown) {
      if (!(thrown instanceof OvsdbError)) throw thrown;
      this.problems.set(what, thrown.message);
      return undefined;
    }
  }

  /** Takes the words for northbound objects over. @returns ids of the flows that stand for others now */
  private describe(northbound: ChangedRows): readonly string[] {
    const stale: string[] = [];
    for (const [table, rows] of northbound)
      for (const id of rows.keys()) {
        const hint = id.slice(0, HINT_DIGITS);
        const row = this.northbound.row(table, id);
        const text = row && describeRow(table, row);
        if (text === this.objects.get(hint)) continue;
        if (text === undefined) this.objects.delete(hint);
        else this.objects.set(hint, text);
        stale.push(...(this.hinted.get(hint) ?? []));
      }
    return stale;
  }

  /** Names of sets that are gone, or have another name, go before those that are there are put. */
  private takeSets(before: ReadonlyMap<string, ReadonlyMap<string, Row | undefined>>): void {
    const { network } = this;
    this.takeSetsOf("Address_Set", "addresses", before, {
      remove: (name) => network.removeAddressSet(name),
      put: (set) => network.setAddressSet(set),
    });
    this.takeSetsOf("Port_Group", "ports", before, {
      remove: (name) => network.removePortGroup(name),
      put: (set) => network.setPortGroup(set),
    });
  }

  private takeSetsOf(
    table: string,
    column: "addresses" | "ports",
    before: ReadonlyMap<string, ReadonlyMap<string, Row | undefined>>,
    to: { readonly remove: (name: string) => void; readonly put: (set: NamedSet) => void },
  ): void {
    const rows = before.get(table) ?? new Map<string, Row | undefined>();
    const read = (id: string, row: Row | undefined): NamedSet | undefined => {
      const what = `${table} ${id.slice(0, HINT_DIGITS)}`;
      if (row === undefined) this.problems.delete(what);
      return row && this.read(what, () => toNamedSet(row, column));
    };
    for (const [id, row] of rows) {
      const was = read(id, row);
      if (was !== undefined) to.remove(was.name);
    }
    for (const id of rows.keys()) {
      const now = read(id, this.southbound.row(table, id));
      if (now !== undefined) to.put(now);
    }
  }

  private takeFlows(stale: ReadonlySet<string>): void {
    if (stale.size === 0) return;
    const groups = toDatapathGroups(this.southbound.list("Logical_DP_Group"));
    const changes: FlowChange[] = [];
    for (const id of stale) {
      const before = this.flows.get(id);
      const row = this.southbound.row("Logical_Flow", id);
      const what = `logical flow ${id.slice(0, HINT_DIGITS)}`;
      const flow = row && this.read(what, () => toFlow(row, groups));
      if (row === undefined) this.problems.delete(what);
      const after = flow && this.named(flow);
      if (before !== undefined) this.hinted.get(before.hint)?.delete(id);
      if (before !== undefined && this.hinted.get(before.hint)?.size === 0) this.hinted.delete(before.hint);
      if (after === undefined) this.flows.delete(id);
      else {
        this.flows.set(id, after);
        const ids = this.hinted.get(after.hint) ?? new Set<string>();
        this.hinted.set(after.hint, ids.add(id));
      }
      changes.push({ before, after });
    }
    this.network.changeFlows(changes);
  }

  /** With the northbound object that it was written for. */
  private named(flow: LogicalFlowRow): LogicalFlowRow {
    const object = flow.hint === "" ? undefined : this.objects.get(flow.hint);
    return object === undefined ? flow : { ...flow, object };
  }
}
