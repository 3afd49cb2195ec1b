/** `mullion vfp`: ports, their rules, and how they differ. */
import { plural } from "#core/base/text-layout.ts";
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import type { NodePort } from "#cluster/views/vfp-ports.ts";
import { compareListings, describeDifference } from "#diagnose/vfp-text/compare-listings.ts";
import {
  type ListingProblem,
  VFP_DIFFERENCES,
  VFP_LISTING,
  type VfpDifferences,
  type VfpListing,
} from "#diagnose/vfp-text/documents.ts";
import { loadListing } from "#diagnose/vfp-text/load-listing.ts";
import { ruleListLines } from "#dataplane/vfp/listing/print-rules.ts";
import { type ClusterTarget, connectCluster } from "../cluster/cluster-target.ts";
import { type Listing, formatListing } from "../table.ts";
import { formatDocument, isDocumentFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { VfpDiffRequest, VfpPortsRequest, VfpShowRequest } from "./commands.ts";
import { decodeSource } from "#core/base/source-text.ts";
import type { ListedLayer } from "#dataplane/vfp/listing/listing.ts";
import { parseRulesJson } from "#diagnose/vfp-text/json-rules.ts";
import { type ReadListing, parseRules } from "#diagnose/vfp-text/parse-rules.ts";
import { Failure, describeSystemError } from "../failure.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

// What `mullion vfp` is about: a port of the cluster, or what vfpctrl printed on a node.

interface Subject {
  /** As messages call it. */
  readonly name: string;
  readonly layers: readonly ListedLayer[];
  /** Addresses of the node and of who is behind the port; none are known of a file. */
  readonly ownAddresses: readonly string[];
  /** Of a file. */
  readonly problems: readonly ListingProblem[];
  readonly isFile: boolean;
}

const FILE_BYTES_MAX = 67_108_864;

/** Undefined when there is no such file. @throws Failure when there is one that cannot be read. */
async function readBytes(path: string, terminal: Terminal): Promise<Uint8Array | undefined> {
  try {
    return await terminal.readBytes(path, FILE_BYTES_MAX);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Failure(
      "vfp-listing-unreadable",
      `${path} cannot be read: ${describeSystemError(error)}`,
      "Name a file that vfpctrl's output was written to.",
    );
  }
}

function readListing(name: string, bytes: Uint8Array): ReadListing {
  const text = decodeSource(name, bytes)?.text;
  if (text === undefined)
    throw new Failure(
      "vfp-listing-unreadable",
      `${name} is not text`,
      "Save what vfpctrl printed: vfpctrl … > FILE",
    );
  return /^\s*\{/.test(text) ? parseRulesJson(text) : parseRules(text);
}

function portOfFile(path: string, guid: string | undefined, listing: ReadListing): readonly ListedLayer[] {
  const { problems } = listing;
  const named = listing.ports.filter(
    (port) => guid === undefined || port.name?.toLowerCase() === guid.toLowerCase(),
  );
  const [only] = named;
  if (only !== undefined && named.length === 1) return only.layers;
  const names = listing.ports.map((port) => port.name ?? "").filter((name) => name !== "");
  if (named.length > 1)
    throw new Failure(
      "bad-usage",
      `${path} is about ${named.length} ports`,
      `Say which: ${path}#${names[0] ?? "GUID"}. They are: ${names.join(", ")}.`,
    );
  const [problem] = problems;
  throw new Failure(
    "vfp-listing-unreadable",
    problem === undefined
      ? `${path} has no layer, group or rule of vfpctrl${guid === undefined ? "" : ` for port ${guid}`}`
      : `${path}:${problem.line}: ${problem.message}`,
    "Save what vfpctrl printed: vfpctrl /list-rule /port GUID > FILE",
  );
}

async function fromFile(name: string, terminal: Terminal): Promise<Subject | undefined> {
  const [path = name, guid] = /^(.*)#([^#]*)$/.exec(name)?.slice(1) ?? [name];
  const bytes = await readBytes(path, terminal);
  if (bytes === undefined) return undefined;
  const listing = readListing(path, bytes);
  const layers = portOfFile(path === "-" ? "standard input" : path, guid, listing);
  return { name, layers, ownAddresses: [], problems: listing.problems, isFile: true };
}

/** What looks like the name of a file, where no cluster runs that could have a port of this name. */
function asMissingFile(name: string, error: unknown): unknown {
  const isFileName =
    /\.(?:txt|json|log|out)$|[/\\]/i.test(name.replace(/#[^#]*$/, "")) && !name.startsWith("pod/");
  const isNoCluster = error instanceof Error && "code" in error && error.code === "cluster-not-running";
  if (!isFileName || !isNoCluster) return error;
  return new Failure(
    "vfp-listing-unreadable",
    WORDS.vfpFileMissing({ name: JSON.stringify(name) }),
    WORDS.adviceVfpFile,
  );
}

/** Several verbs of a command line ask for ports of one cluster: it is built once. */
class Subjects {
  private readonly target: ClusterTarget;
  private readonly terminal: Terminal;
  private client: ReturnType<typeof connectCluster> | undefined;

  constructor(target: ClusterTarget, terminal: Terminal) {
    this.target = target;
    this.terminal = terminal;
  }

  /** A file of that name, or else a port. @throws Failure, or what the API says of a port that is not there. */
  async find(name: string): Promise<Subject> {
    const file = await fromFile(name, this.terminal);
    if (file !== undefined) return file;
    this.client ??= connectCluster(this.target, this.terminal);
    const client = await this.client.catch((error: unknown) => {
      throw asMissingFile(name, error);
    });
    const [, node, port = name] = /^([^:/]+):([^:].*)$/.exec(name) ?? [];
    const isNode = node !== undefined && (await client.cluster()).nodes.some((each) => each.name === node);
    const view = isNode ? await client.vfpPort(port, node) : await client.vfpPort(name);
    const ownAddresses = [view.nodeAddress, ...view.port.addresses];
    return { name, layers: view.listing.layers, ownAddresses, problems: [], isFile: false };
  }
}

/** Notes and problems that are told one by one. */
const SHOWN_MAX = 20;

function dropCount({ ingressDrops, egressDrops }: NodePort): number {
  return [...ingressDrops, ...egressDrops].reduce((sum, { packets }) => sum + packets, 0);
}

function portListing(items: readonly NodePort[]): Listing<NodePort> {
  return {
    singular: "port",
    plural: "switch ports",
    columns: [
      { title: "NODE", text: ({ node }) => node },
      { title: "PORT", text: ({ friendlyName }) => friendlyName },
      { title: "TYPE", text: ({ type }) => type },
      { title: "ADDRESSES", text: ({ addresses }) => addresses.join(",") },
      { title: "MAC", text: ({ mac }) => mac },
      { title: "DROPS", isRightAligned: true, text: (port) => `${dropCount(port)}` },
      { title: "GUID", text: ({ name }) => name },
      { title: "SWITCH", isWide: true, text: ({ switchFriendlyName }) => switchFriendlyName },
      { title: "PLACE", isWide: true, text: ({ place }) => place },
    ],
    rows: items,
    name: ({ node, name }) => `${node}:${name}`,
  };
}

export async function ports(request: VfpPortsRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectCluster(request.target, terminal);
  const { items } = await client.vfpPorts(request.node);
  terminal.stdout(formatListing(portListing(items), request.output));
  return 0;
}

/** What was not read, and what a program made of the text would lack. */
function reportGaps(subject: Subject, terminal: Terminal): void {
  if (!subject.isFile) return;
  const { problems, layers, name } = subject;
  const notes = loadListing(layers, name).notes.filter((note) => note.effect === "left-out");
  const lines = [
    ...problems.map(({ line, message }) => `${name}:${line}: ${message}`),
    ...notes.map(({ line, layer, group, rule, message }) => {
      const what = rule === "" ? `group ${group}` : `rule ${rule}`;
      return `${name}${line === undefined ? "" : `:${line}`}: ${what} of ${layer} cannot be run: ${message}`;
    }),
  ];
  for (const line of lines.slice(0, SHOWN_MAX)) terminal.stderr(`${line}\n`);
  if (lines.length > SHOWN_MAX) terminal.stderr(`… and ${lines.length - SHOWN_MAX} more\n`);
}

export async function show(request: VfpShowRequest, terminal: Terminal): Promise<ExitCode> {
  const subject = await new Subjects(request.target, terminal).find(request.subject);
  reportGaps(subject, terminal);
  const { name, layers, problems } = subject;
  if (isDocumentFormat(request.output)) {
    const kind = VFP_LISTING.document;
    const document: VfpListing = { apiVersion: DOCUMENT_VERSION, kind, name, layers, problems };
    terminal.stdout(formatDocument(document, request.output));
  } else terminal.stdout(`${ruleListLines(layers, { withLayers: true, withCounters: true }).join("\n")}\n`);
  return problems.length === 0 ? 0 : 1;
}

export async function diff(request: VfpDiffRequest, terminal: Terminal): Promise<ExitCode> {
  const subjects = new Subjects(request.target, terminal);
  const left = await subjects.find(request.left);
  const right = await subjects.find(request.right);
  for (const each of [left, right]) reportGaps(each, terminal);
  const differences = compareListings(left, right);
  const names = { left: left.name, right: right.name };
  if (isDocumentFormat(request.output)) {
    const kind = VFP_DIFFERENCES.document;
    const document: VfpDifferences = { apiVersion: DOCUMENT_VERSION, kind, ...names, differences };
    terminal.stdout(formatDocument(document, request.output));
  } else {
    for (const each of differences) terminal.stdout(`${describeDifference(each, names)}\n`);
    const count = plural(differences.length, "difference");
    terminal.stderr(differences.length === 0 ? "No difference.\n" : `${count}.\n`);
  }
  return differences.length === 0 ? 0 : 1;
}
