/**
 * What kubectl prints for people: the tables of `kubectl get nodes` and `kubectl get pods`, and `kubectl describe node`. They
 * show less than the objects, so they are kept apart: that a table lacks a field says nothing.
 */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Line, Place } from "./place.ts";

/** A row of `kubectl get nodes`, or what `kubectl describe node` shows. */
export interface ListedNode {
  readonly name: string;
  /** Undefined where the columns show no system. */
  readonly isWindows: boolean | undefined;
  readonly isReady: boolean;
  readonly address: Ip | undefined;
  /** What stands there of its being ready. */
  readonly says: string;
  readonly place: Place;
}

/** A row of `kubectl get pods -o wide`. */
export interface ListedPod {
  /** With its namespace, where the table has that column. */
  readonly name: string;
  readonly status: string;
  readonly restarts: number;
  readonly address: Ip | undefined;
  readonly node: string;
  readonly place: Place;
}

export interface ListedObjects {
  readonly nodes: readonly ListedNode[];
  readonly pods: readonly ListedPod[];
  /** Rows of which the last cells are missing. */
  readonly cut: readonly Place[];
}

/** kubectl keeps three blanks between columns (`PrintOptions` of cli-runtime); within a cell there is one. */
const BETWEEN = / {2,}/u;
const NODES = /^NAME {2,}STATUS {2,}ROLES {2,}AGE {2,}VERSION(?: {2,}|$)/u;
const PODS = /^(?:NAMESPACE {2,})?NAME {2,}READY {2,}STATUS {2,}RESTARTS {2,}AGE(?: {2,}|$)/u;
const STATUS_OF_NODE = /^(?:Ready|NotReady|Unknown)(?:,|$)/u;

type Row = ReadonlyMap<string, string>;

interface Table {
  readonly columns: readonly string[];
  readonly kind: "node" | "pod";
}

function cellsOf(text: string): readonly string[] {
  return text.trim().split(BETWEEN);
}

/** The cells of a row by their columns. Of one that was wrapped or cut the last ones are missing. */
function rowOf(text: string, columns: readonly string[]): Row {
  const cells = cellsOf(text).slice(0, columns.length);
  return new Map(cells.map((cell, index) => [columns[index] ?? "", cell]));
}

function nodeOf(row: Row, text: string, place: Place): ListedNode | undefined {
  const status = row.get("STATUS") ?? "";
  if (!STATUS_OF_NODE.test(status)) return undefined;
  const image = row.get("OS-IMAGE");
  return {
    name: row.get("NAME") ?? "",
    isWindows: image === undefined ? undefined : image.startsWith("Windows"),
    isReady: /^Ready(?:,|$)/u.test(status),
    address: parseIp(row.get("INTERNAL-IP") ?? ""),
    says: cellsOf(text).slice(0, 2).join(" "),
    place,
  };
}

function podOf(row: Row, place: Place): ListedPod | undefined {
  if (!/^\d+\/\d+$/u.test(row.get("READY") ?? "")) return undefined;
  const namespace = row.get("NAMESPACE");
  const name = row.get("NAME") ?? "";
  return {
    name: namespace === undefined ? name : `${namespace}/${name}`,
    status: row.get("STATUS") ?? "",
    restarts: Number.parseInt(row.get("RESTARTS") ?? "", 10) || 0,
    address: parseIp(row.get("IP") ?? ""),
    node: row.get("NODE") ?? "",
    place,
  };
}

function readTables(lines: readonly Line[]): ListedObjects {
  const nodes: ListedNode[] = [];
  const pods: ListedPod[] = [];
  const cut: Place[] = [];
  let table: Table | undefined;
  for (const { text, file, line } of lines) {
    const kind = NODES.test(text) ? "node" : PODS.test(text) ? "pod" : undefined;
    if (kind !== undefined) {
      table = { columns: cellsOf(text), kind };
      continue;
    }
    if (text.trim() === "") table = undefined;
    if (table === undefined) continue;
    const row = rowOf(text, table.columns);
    const place = { file, line };
    const node = table.kind === "node" ? nodeOf(row, text, place) : undefined;
    const pod = table.kind === "pod" ? podOf(row, place) : undefined;
    if (node !== undefined) nodes.push(node);
    if (pod !== undefined) pods.push(pod);
    if ((node ?? pod) !== undefined && row.size < table.columns.length) cut.push(place);
  }
  return { nodes, pods, cut };
}

const NAME = /^Name: {2,}(\S{1,253})\s*$/u;
const OF_NODE = /^(?:Roles|Unschedulable|PodCIDRs?): /u;
const SYSTEM = /^\s{1,4}Operating System: {1,30}(\w{1,20})\s*$/u;
const LABEL = /\bkubernetes\.io\/os=(\w{1,20})\s*$/u;
const INTERNAL = /^\s{1,4}InternalIP: {1,30}(\S{1,60})\s*$/u;
const READY = /^ {1,4}Ready {2,}(True|False|Unknown) {2,}(?:\S.*)$/u;

/** What `kubectl describe node` shows: a block from one name to the next. */
function readDescribed(lines: readonly Line[]): readonly ListedNode[] {
  const found: ListedNode[] = [];
  let open: { name: string; isNode: boolean; isWindows?: boolean; address?: Ip; ready?: Line } | undefined;
  const close = (): void => {
    if (open?.isNode !== true || open.ready === undefined) return;
    const { name, isWindows, address, ready } = open;
    const cells = cellsOf(ready.text);
    found.push({
      name,
      isWindows,
      isReady: cells[1] === "True",
      address,
      // Type, status, two times, the reason, and the message.
      says: [cells[0], `${cells[1]}:`, ...cells.slice(4)].join(" "),
      place: { file: ready.file, line: ready.line },
    });
  };
  for (const line of lines) {
    const { text } = line;
    const [, name] = NAME.exec(text) ?? [];
    if (name !== undefined) {
      close();
      open = { name, isNode: false };
    }
    if (open === undefined) continue;
    if (OF_NODE.test(text)) open.isNode = true;
    const [, system] = SYSTEM.exec(text) ?? LABEL.exec(text) ?? [];
    if (system !== undefined) open.isWindows = system === "windows";
    const address = parseIp(INTERNAL.exec(text)?.[1] ?? "");
    if (address !== undefined) open.address = address;
    if (READY.test(text)) open.ready ??= line;
  }
  close();
  return found;
}

/** Whether a text is what `kubectl describe` prints, which looks like YAML and is none. */
export function isDescription(text: string): boolean {
  return (
    /^Name: {3,}\S/mu.test(text) &&
    /^(?:Labels|Annotations|Events|Conditions|Node): {3,}|^(?:Events|Conditions):\s*$/mu.test(text)
  );
}

/** All that the lines of a file show. */
export function readListed(lines: readonly Line[]): ListedObjects {
  const { nodes, pods, cut } = readTables(lines);
  return { nodes: [...nodes, ...readDescribed(lines)], pods, cut };
}
