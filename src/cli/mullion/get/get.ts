/** `mullion get`: lists what a cluster consists of. */
import type { ControlClient } from "#cluster/api/client.ts";
import type { OvnRows } from "#cluster/views/ovn-view.ts";
import { namesOfKind } from "#cluster/api/kube-kinds.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import { mullionColumns } from "#control-plane/http/columns.ts";
import { connectCluster } from "../cluster/cluster-target.ts";
import { Failure } from "../failure.ts";
import type { Kind, KindSelection } from "./kinds.ts";
import { hnsListing, servicesListing } from "./listings-hns.ts";
import { OVN_LISTINGS } from "./listings-ovn.ts";
import { stackListing } from "./listings-stacks.ts";
import { type Column, type Listing, dataOf, formatListing } from "../table.ts";
import { type DocumentFormat, formatDocument, isDocumentFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { GetRequest, ListScope } from "../verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** A listing whose rows only its own functions read. */
type AnyListing = Listing<unknown>;

const NAMESPACE: Column<KubeObject> = { title: "NAMESPACE", text: ({ metadata }) => metadata.namespace };

/** How objects of a kind are shown; `withNamespace` puts the namespace in front, as `-A` does. */
function kubeListing(
  kind: KubeKind,
  rows: readonly KubeObject[],
  withNamespace: boolean,
): Listing<KubeObject> {
  const { singular, plural, group, isNamespaced } = namesOfKind(kind);
  const columns = mullionColumns(kind).map(
    ({ name, isWide, isNumber, cell }): Column<KubeObject> => ({
      title: name.toUpperCase(),
      isWide,
      isRightAligned: isNumber,
      text: (object) => String(cell(object, 0)),
    }),
  );
  return {
    singular: group === "" ? singular : `${singular}.${group}`,
    plural,
    rows,
    name: ({ metadata }) => metadata.name,
    columns: withNamespace && isNamespaced ? [NAMESPACE, ...columns] : columns,
  };
}

/** Objects of one kind, and what was asked for and is not there. */
interface Found {
  readonly listing: AnyListing;
  readonly missing: readonly string[];
}

function select<T>(listing: Listing<T>, objects: readonly string[]): Found {
  if (objects.length === 0) return { listing: listing as unknown as AnyListing, missing: [] };
  const rows = listing.rows.filter((row) => objects.includes(listing.name(row)));
  const names = rows.map((row) => listing.name(row));
  return {
    listing: { ...listing, rows } as unknown as AnyListing,
    missing: objects.filter((name) => !names.includes(name)),
  };
}

/** Kinds of Kubernetes that have something on a node. */
const NODE_KINDS: ReadonlySet<string> = new Set(["Pod", "Service"]);

/** What a Windows node has of Services: load balancers of HNS, and what is missing or stale. */
async function listServicesOn(
  client: ControlClient,
  objects: readonly string[],
  { node, namespace, isEverywhere }: ListScope,
): Promise<Found> {
  const { items } = await client.services(node);
  // What is stale belongs to no namespace.
  const shown = items.filter(
    (item) => isEverywhere || item.namespace === namespace || item.state === "stale",
  );
  return select(servicesListing(shown, isEverywhere), objects);
}

/** What a kind is called when it cannot be asked for by node; undefined when it can. */
function withoutNode(kind: Kind): string | undefined {
  if (kind.of === "ovn") return kind.ovn;
  return kind.of === "kubernetes" && !NODE_KINDS.has(kind.names.kind) ? kind.names.plural : undefined;
}

function nodeOnly(kind: Kind, scope: ListScope): void {
  const plural = scope.node === undefined ? undefined : withoutNode(kind);
  if (plural === undefined) return;
  throw new Failure("bad-usage", WORDS.getNodeUnsupported({ plural }), "Leave out --node.");
}

/** @throws Failure for a node that does not exist. */
async function requireNode(client: ControlClient, node: string): Promise<void> {
  const names = (await client.cluster()).nodes.map(({ name }) => name);
  if (names.includes(node)) return;
  throw new Failure(
    "unknown-object",
    `the cluster has no node ${JSON.stringify(node)}`,
    `Nodes are: ${names.join(", ")}.`,
  );
}

async function listKind(
  client: ControlClient,
  { kind, objects }: KindSelection,
  scope: ListScope,
): Promise<Found> {
  nodeOnly(kind, scope);
  if (kind.of === "hns") {
    const { items } = await client.hns(kind.hns, scope.node);
    return select(hnsListing(kind.hns, items), objects);
  }
  if (kind.of === "ovn") {
    const { database, list } = OVN_LISTINGS[kind.ovn];
    return select(list((await client.ovn(database)).tables as OvnRows), objects);
  }
  if (kind.of === "stack") {
    const { items } = await client.stacks(kind.stack, scope.node);
    return select(stackListing(kind.stack, items), objects);
  }
  if (scope.node !== undefined && kind.names.kind === "Service")
    return listServicesOn(client, objects, scope);
  if (scope.node !== undefined) await requireNode(client, scope.node);
  const namespace = scope.isEverywhere ? undefined : scope.namespace;
  const { items } = await client.objects(kind.names.plural, namespace);
  const shown =
    scope.node === undefined
      ? items
      : items.filter((item) => item.kind === "Pod" && item.spec?.nodeName === scope.node);
  return select(kubeListing(kind.names.kind, shown, scope.isEverywhere), objects);
}

/** Where objects are when the namespace asked for has none: the commonest surprise with kubectl. */
async function hintElsewhere(client: ControlClient, kind: Kind, scope: ListScope): Promise<string> {
  if (kind.of !== "kubernetes" || !kind.names.isNamespaced || scope.isEverywhere) return "";
  const { items } = await client.objects(kind.names.plural);
  if (items.length === 0) return "";
  const places = [...new Set(items.map(({ metadata }) => metadata.namespace))];
  return ` There are ${items.length} in ${places.slice(0, 5).join(", ")}${places.length > 5 ? " …" : ""}: add -A, or -n NAMESPACE.`;
}

function emptyLine(listing: AnyListing, kind: Kind, scope: ListScope): string {
  const isIn = kind.of === "kubernetes" && kind.names.isNamespaced && !scope.isEverywhere;
  const where = isIn ? ` in namespace ${JSON.stringify(scope.namespace)}` : "";
  const also =
    kind.of === "kubernetes" && kind.names.kind === "Endpoints" ? " Those of HNS: hnsendpoints." : "";
  return `There are no ${listing.plural}${where}.${also}`;
}

/** All objects as one list, as kubectl prints them; a single one that was named stands alone. */
function formatData(
  found: readonly Found[],
  selections: readonly KindSelection[],
  output: DocumentFormat,
): string {
  const items = found.flatMap(({ listing }) => dataOf(listing));
  const [selection] = selections;
  const isSingle = selections.length === 1 && selection?.objects.length === 1 && items.length === 1;
  const isKube = selections.every(({ kind }) => kind.of === "kubernetes");
  const head = isKube ? { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" } } : {};
  const value = isSingle ? items[0] : { ...head, items };
  return formatDocument(value, output);
}

/** The listing of one kind as text; for programs that print several. */
export async function formatKind(
  client: ControlClient,
  kind: Kind,
  output: GetRequest["output"],
): Promise<string> {
  const scope: ListScope = { namespace: "default", isEverywhere: true, node: undefined };
  const { listing } = await listKind(client, { kind, objects: [] }, scope);
  return formatListing(listing, output);
}

function prefixed(listing: AnyListing): AnyListing {
  const [first, ...rest] = listing.columns;
  if (first === undefined) return listing;
  const isNamespace = first.title === "NAMESPACE";
  const name = isNamespace ? rest[0] : first;
  if (name?.title !== "NAME") return listing;
  const column = { ...name, text: (row: unknown): string => `${listing.singular}/${name.text(row)}` };
  const columns = isNamespace ? [first, column, ...rest.slice(1)] : [column, ...rest];
  return { ...listing, columns };
}

async function printTables(
  client: ControlClient,
  found: readonly Found[],
  request: GetRequest,
  terminal: Terminal,
): Promise<void> {
  const { selections, scope, output } = request;
  const isSeveral = found.length > 1;
  let isFirst = true;
  for (const [index, { listing, missing }] of found.entries()) {
    const kind = selections[index]?.kind;
    if (kind === undefined) continue;
    if (listing.rows.length === 0) {
      // Nothing is no result: it goes to where people look and programs do not.
      if (missing.length > 0 || isSeveral) continue;
      const hint = scope.node === undefined ? await hintElsewhere(client, kind, scope) : "";
      terminal.stderr(`${emptyLine(listing, kind, scope)}${hint}\n`);
      continue;
    }
    if (!isFirst && output !== "name") terminal.stdout("\n");
    isFirst = false;
    terminal.stdout(formatListing(isSeveral && output !== "name" ? prefixed(listing) : listing, output));
  }
  const isNothing = found.every(({ listing, missing }) => listing.rows.length + missing.length === 0);
  if (isSeveral && isNothing) terminal.stderr("There are no such objects.\n");
}

export async function get(request: GetRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectCluster(request.target, terminal);
  const found: Found[] = [];
  for (const selection of request.selections) found.push(await listKind(client, selection, request.scope));
  const { output, selections, scope } = request;
  if (isDocumentFormat(output)) terminal.stdout(formatData(found, selections, output));
  else await printTables(client, found, request, terminal);
  const missing = found.flatMap(({ listing, missing: names }) =>
    names.map((name) => `${listing.singular}/${name}`),
  );
  if (missing.length === 0) return 0;
  const isIn =
    !scope.isEverywhere && selections.some(({ kind }) => kind.of === "kubernetes" && kind.names.isNamespaced);
  throw new Failure(
    "unknown-object",
    `there is no ${missing.join(", no ")}${isIn ? ` in namespace ${JSON.stringify(scope.namespace)}` : ""}`,
    WORDS.adviceObjectNotFound,
  );
}
