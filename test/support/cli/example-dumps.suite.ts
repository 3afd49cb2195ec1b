/**
 * The dumps of `examples/dumps/`, asked as a user asks: the text goes in by `-f`, each flow of `expected.yaml` through the
 * whole of `mullion trace`, and how it came out is compared with what public documents promise.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { parse } from "yaml";
import type { ControlClient } from "#cluster/api/client.ts";
import { connectCluster } from "#cli/mullion/cluster/cluster-target.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { ALLOW_NOT_JUDGED } from "#cli/mullion/verbs.ts";
import { verify } from "#cli/mullion/verify.ts";
import { defined } from "#core/base/assert.ts";
import { MemoryTerminal } from "./memory-terminal.ts";

const FOLDER = join(import.meta.dirname, "../../../examples/dumps");

/** How a flow came out, in the words of `expected.yaml`. */
type Outcome = "works" | "denied" | "no-network" | "not-judged";

/** Dumps of clusters in which something is wrong. */
const BROKEN: readonly string[] = [
  "broken-aks-windows-pending",
  "broken-flannel-vni",
  "image-of-another-build",
];

/** Of these, what is no finding of `verify`, with the reason: a row that it finds has to go. */
const GREEN_AND_BROKEN: Readonly<Record<string, string>> = {
  "image-of-another-build": "the dump itself says that these containers wait, which is a note",
};

const OUTSIDE = "hosts outside know the nodes' subnet; the fabric of Azure does not tell the internet of it";
const HIDDEN = "what the dump leaves open about a node is not held against the node itself";
const OWN_PORT =
  "the documentation denies a Windows node its own node ports; load balancers of HNS answer here";
const UPDATE = "no document says which update mends NodePorts of overlay networks";
const ANSWERS = "OutBoundNAT of the pod would translate its answer; the node is an exception here";

/** Flows that come out otherwise than expected, by dump, each with the reason. */
const DIFFERENCES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "aks-node-subnet": { "pod/shop/storefront-sjcdwdc6f-xj5nz → external icmp": OUTSIDE },
  "broken-aks-windows-pending": {
    "node/aksdepw000000 → pod/depot/stock-f97jrgnwb-c4zvv tcp 8080": HIDDEN,
  },
  "image-of-another-build": {
    "pod/cellar/excise-report-47wccxnmw-hwxqx → pod/cellar/stock-4ff2mc6th-d8bhc tcp 8080": HIDDEN,
    "pod/cellar/tap-list-gtjqq4g82-6fkcn → external icmp": OUTSIDE,
  },
  "kubeadm-flannel-host-gw": { "node/mill-win-1 → node/mill-win-1 tcp 30080": OWN_PORT },
  "kubeadm-flannel-vxlan": {
    "node/plc-win-1 → pod/plant/scada-2b5lk4b25-m4cbr tcp 8088": ANSWERS,
    "external → node/plc-win-1 tcp 30088": UPDATE,
  },
  "mixed-builds": {
    "node/akswin19000000 → node/akswin19000000 tcp 30180": OWN_PORT,
    "pod/melt/furnace-19-rhqxk2txh-htmg2 → external icmp": OUTSIDE,
  },
  "openshift-hybrid-overlay": {
    "external → node/ip-10-0-58-77.eu-west-1.compute.internal tcp 31477": UPDATE,
  },
};

/**
 * Flows that are not judged, by dump: networks that are not carried out (Calico, the VPC of EKS), VNIs that do not
 * meet, NetworkPolicies, source NAT of IPv6. All others are.
 */
const NOT_JUDGED: Readonly<Record<string, number>> = {
  "aks-overlay-dual-stack": 1,
  "broken-flannel-vni": 7,
  "calico-network-policies": 13,
  "eks-windows": 11,
  "rke2-calico": 12,
};

interface Flow {
  readonly from: string;
  readonly to: string;
  readonly protocol: "tcp" | "udp" | "icmp" | "dns";
  readonly port?: number;
  readonly expect: Outcome;
}

/** All clusters among the examples. */
export function dumpNames(): readonly string[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
}

function dumpText(name: string): string {
  return readFileSync(join(FOLDER, name, "dump.yaml"), "utf8");
}

function flowsOf(name: string): readonly Flow[] {
  const text = readFileSync(join(FOLDER, name, "expected.yaml"), "utf8");
  return (parse(text) as { readonly flows: readonly Flow[] }).flows;
}

/** A flow as the table of differences names it. */
function describeFlow({ from, to, protocol, port }: Flow): string {
  return `${from} → ${to} ${protocol}${port === undefined ? "" : ` ${port}`}`;
}

const VERDICTS: Readonly<Record<string, Outcome>> = {
  answered: "works",
  refused: "denied",
  "no-answer": "denied",
  "not-delivered": "denied",
  "not-resolved": "denied",
};

async function askFlow(client: ControlClient, flow: Flow): Promise<string> {
  const { from, to, protocol, port } = flow;
  try {
    const { report } = await client.trace({ from, to, protocol, ...(port === undefined ? {} : { port }) });
    return report.notJudged === undefined ? defined(VERDICTS[report.verdict], report.verdict) : "not-judged";
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return text.includes(" has no network") ? "no-network" : text;
  }
}

function targetOf(name: string): {
  readonly target: Parameters<typeof connectCluster>[0];
  readonly terminal: MemoryTerminal;
} {
  const terminal = new MemoryTerminal({ "dump.yaml": dumpText(name) });
  const target = { files: ["dump.yaml"], isRecursive: false, name: undefined, socket: undefined };
  return { target, terminal };
}

/** Flows of a dump that come out otherwise than the documents say, as the table names them. */
async function differencesOf(
  name: string,
): Promise<{ readonly found: readonly Difference[]; readonly notJudged: number }> {
  const { target, terminal } = targetOf(name);
  const client = await connectCluster(target, terminal);
  const found: Difference[] = [];
  let notJudged = 0;
  for (const flow of flowsOf(name)) {
    const outcome = await askFlow(client, flow);
    if (outcome === "not-judged") notJudged++;
    else if (outcome !== flow.expect)
      found.push({ flow: describeFlow(flow), expected: flow.expect, outcome });
  }
  return { found, notJudged };
}

interface Difference {
  readonly flow: string;
  readonly expected: Outcome;
  readonly outcome: string;
}

/** Every flow comes out as the documents say, but for the rows of the table; a row that agrees by now has to go. */
export async function checkFlows(name: string): Promise<void> {
  const rows = DIFFERENCES[name] ?? {};
  const { found, notJudged } = await differencesOf(name);
  expect(notJudged, "flows that are not judged").toBe(NOT_JUDGED[name] ?? 0);
  const strange = found.filter(({ flow }) => !(flow in rows));
  expect(strange, "flows that differ and are in no row").toEqual([]);
  const differing = new Set(found.map(({ flow }) => flow));
  expect(
    Object.keys(rows).filter((flow) => !differing.has(flow)),
    "rows that agree by now",
  ).toEqual([]);
}

/** What `verify` finds in a dump, without what is only not judged. */
async function findingsOf(name: string): Promise<readonly string[]> {
  const { target, terminal } = targetOf(name);
  const comparison = { profiles: [], before: [], failsOnChange: false, asDocumented: undefined };
  const split = { shard: undefined, workers: undefined, isHelper: false, isWatching: false, isWhole: false };
  const request = { target, output: "json", allowed: [ALLOW_NOT_JUDGED], comparison, ...split } as const;
  const code = await verify(request, terminal);
  const findings = (JSON.parse(terminal.output) as VerifyReport).findings.filter(({ allowed }) => !allowed);
  expect(code).toBe(findings.length === 0 ? 0 : 1);
  return findings.map((finding) => `${finding.code ?? ""} ${finding.about ?? ""} ${finding.observed}`);
}

/** A healthy dump ends green, where what is not judged is allowed, and a broken one red. */
export async function checkVerify(name: string): Promise<void> {
  const isBroken = BROKEN.includes(name);
  const findings = await findingsOf(name);
  if (!isBroken) expect(findings).toEqual([]);
  else if (name in GREEN_AND_BROKEN) expect(findings, GREEN_AND_BROKEN[name]).toEqual([]);
  else expect(findings).not.toEqual([]);
}
