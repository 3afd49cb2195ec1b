/** Text of a cluster file to a cluster, or to everything that is wrong with it. Pure: reads no files. */
import { type LineCounter, type ParsedNode, isMap, isScalar, isSeq } from "yaml";
import { checkCluster } from "./check-cluster.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { completeCluster } from "./complete-cluster.ts";
import { CLUSTER_FILE_VERSION, CLUSTER, CLUSTER_FILE_KIND, type RootFields } from "./description.ts";
import { type FileProblem, compareProblems } from "#core/catalogue/file-problem.ts";
import type { LocatedFields } from "./mapping.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import { Reading, isEmpty, quote } from "./reading.ts";
import { readYamlText } from "./yaml-text.ts";

/** Where fields stand that answers name as what they rest on, by their paths; those that are not written are not there. */
export type WrittenFields = Readonly<Record<string, { readonly line: number; readonly column: number }>>;

/** A cluster, frozen; or at least one problem, in the order of the file. */
export type ClusterFileResult =
  | { readonly cluster: ClusterFile; readonly written: WrittenFields }
  | { readonly problems: readonly FileProblem[] };

function freezeDeep(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const child of Object.values(value)) freezeDeep(child);
}

/** A document of another program gets one sentence instead of a list of unknown fields. */
function isForeign(root: ParsedNode, reading: Reading): boolean {
  const version: unknown = isMap(root) ? root.get("apiVersion") : undefined;
  const kind: unknown = isMap(root) ? root.get("kind") : undefined;
  if (!isMap(root) || typeof version !== "string" || version.startsWith("mullion/")) return false;
  const field = root.items.find((item) => isScalar(item.key) && item.key.value === "apiVersion");
  const what = typeof kind === "string" ? `a ${kind}` : "a document";
  reading.reportValue(
    { offset: field?.key.range[0] ?? root.range[0], path: "apiVersion" },
    `this is ${what} of ${quote(version)}, not a cluster file`,
    `A cluster file begins with apiVersion: ${CLUSTER_FILE_VERSION} and kind: ${CLUSTER_FILE_KIND}.`,
  );
  return true;
}

const NAMED_FIELDS: readonly (readonly [section: string, field: string])[] = [
  ["network", "plugin"],
  ["network", "driver"],
  ["network", "backend"],
  ["network", "shape"],
  ["network", "routes"],
  ["network", "vni"],
  ["network", "vxlanPort"],
  ["kubeProxy", "enableDSR"],
  ["kubernetes", "version"],
];
const NAMED_NODE_FIELDS: readonly string[] = ["build", "compat"];

/** Looked up in the document once more: what is read has its defaults already. */
function writtenFields(root: ParsedNode, lines: LineCounter): WrittenFields {
  const found: Record<string, { readonly line: number; readonly column: number }> = {};
  const add = (path: string, map: unknown, field: string): void => {
    const pair = isMap(map) ? map.items.find(({ key }) => isScalar(key) && key.value === field) : undefined;
    const offset = (pair?.key as ParsedNode | undefined)?.range[0];
    if (offset === undefined || isEmpty((pair?.value ?? null) as ParsedNode | null)) return;
    const { line, col } = lines.linePos(offset);
    found[path] = Object.freeze({ line, column: col });
  };
  if (!isMap(root)) return found;
  add("asDocumented", root, "asDocumented");
  add("policy", root, "policy");
  for (const [section, field] of NAMED_FIELDS) add(`${section}.${field}`, root.get(section, true), field);
  const nodes: unknown = root.get("nodes", true);
  if (isSeq(nodes))
    for (const [index, node] of nodes.items.entries())
      for (const field of NAMED_NODE_FIELDS) add(`nodes[${index}].${field}`, node, field);
  return Object.freeze(found);
}

function problemsOf(reading: Reading): ClusterFileResult {
  return { problems: Object.freeze([...reading.problems].sort(compareProblems)) };
}

/** What a command line says in place of a file. */
export interface FileOverrides {
  /** Of every Windows node. */
  readonly build?: WindowsBuild | undefined;
  readonly asDocumented?: Edition | undefined;
}

/** The same cluster with what the command line says. */
function overridden(
  raw: LocatedFields<RootFields>,
  { build, asDocumented }: FileOverrides,
): LocatedFields<RootFields> {
  const edition =
    asDocumented === undefined ? raw.asDocumented : { ...raw.asDocumented, value: asDocumented };
  return { ...(build === undefined ? raw : onBuild(raw, build)), asDocumented: edition };
}

/** The same cluster with every Windows node on one build. */
function onBuild(raw: LocatedFields<RootFields>, build: WindowsBuild): LocatedFields<RootFields> {
  const value = raw.nodes.value.map((node) =>
    node.value.os.value === "windows"
      ? { ...node, value: { ...node.value, build: { ...node.value.build, value: build } } }
      : node,
  );
  return { ...raw, nodes: { ...raw.nodes, value } };
}

/**
 * Parses a cluster file. `fileName` is only used in messages; `overrides` go before what stands in it.
 * Reports every problem it finds, not only the first; nothing is half accepted.
 */
export function parseClusterFile(
  text: string,
  fileName: string,
  overrides: FileOverrides = {},
): ClusterFileResult {
  const result = readYamlText(text);
  if ("faults" in result) {
    const reading = new Reading(fileName, result.lines);
    for (const { code, offset, message, advice } of result.faults) {
      reading.report(code, { offset, path: "" }, message, advice);
    }
    return problemsOf(reading);
  }
  const { root, lines, aliases } = result.yaml;
  const reading = new Reading(fileName, lines, aliases);
  const top = { offset: root?.range[0] ?? 0, path: "" };
  if (root === null || isEmpty(root)) {
    const advice = `Begin with apiVersion: ${CLUSTER_FILE_VERSION}, kind: ${CLUSTER_FILE_KIND}, metadata and nodes.`;
    reading.report("cluster-file-missing-field", top, "the file is empty", advice);
    return problemsOf(reading);
  }
  if (isForeign(root, reading)) return problemsOf(reading);
  const written = CLUSTER.read(root, top, reading);
  const raw = written === undefined ? undefined : overridden(written, overrides);
  const cluster = raw === undefined ? undefined : completeCluster(raw, fileName, reading);
  if (raw !== undefined) checkCluster(raw, cluster, reading);
  if (cluster === undefined || reading.problems.length > 0) return problemsOf(reading);
  freezeDeep(cluster);
  const { asDocumented, ...places } = writtenFields(root, lines);
  // What the command line says stands nowhere in the file.
  const isWritten = asDocumented !== undefined && overrides.asDocumented === undefined;
  return { cluster, written: isWritten ? { ...places, asDocumented } : places };
}
