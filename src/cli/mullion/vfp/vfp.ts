/** `mullion vfp`: ports, their rules, and how they differ. */
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import type { NodePort } from "#cluster/views/vfp-ports.ts";
import { compareListings, describeDifference } from "#diagnose/vfp-text/compare-listings.ts";
import {
  VFP_DIFFERENCES,
  VFP_LISTING,
  type VfpDifferences,
  type VfpListing,
} from "#diagnose/vfp-text/documents.ts";
import { loadListing } from "#diagnose/vfp-text/load-listing.ts";
import { ruleListLines } from "#dataplane/vfp/listing/print-rules.ts";
import { connectCluster } from "../cluster/cluster-target.ts";
import { type Listing, formatListing } from "../table.ts";
import { formatDocument, isDocumentFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { type Subject, Subjects } from "./subject.ts";
import type { VfpDiffRequest, VfpPortsRequest, VfpShowRequest } from "./verbs.ts";

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
    data: (port) => port,
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
    const count = differences.length === 1 ? "1 difference" : `${differences.length} differences`;
    terminal.stderr(differences.length === 0 ? "No difference.\n" : `${count}.\n`);
  }
  return differences.length === 0 ? 0 : 1;
}
