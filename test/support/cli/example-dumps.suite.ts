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

/** Of these, what `verify` does not find yet, with the reason: a row that it finds has to go. */
const GREEN_AND_BROKEN: Readonly<Record<string, string>> = {
  "broken-flannel-vni": "the network of the dump is not taken from its objects",
  "image-of-another-build": "images are not compared with the builds of nodes",
};

const NAME = "a name cannot be asked alone";
const QUERY = "what trace sends over UDP is no query, and a name server does not answer it";
const OUTSIDE = "hosts outside know the nodes' subnet; the fabric of Azure does not tell the internet of it";
const NETWORK = "the network of the dump is not taken from its objects";
const POLICY = "NetworkPolicies are not enforced, and not named as such";
const IMAGE = "images are not compared with the builds of nodes";
const HIDDEN = "that the node has no network for pods is not held against the node itself";
const OWN_PORT =
  "the documentation denies a Windows node its own node ports; load balancers of HNS answer here";
const UPDATE = "no document says which update mends NodePorts of overlay networks";

/** Flows that come out otherwise than expected, by dump, each with the reason. */
const DIFFERENCES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "aks-node-subnet": {
    "pod/shop/storefront-sjcdwdc6f-4wd2q → service/kube-system/kube-dns udp 53": QUERY,
    "pod/shop/storefront-sjcdwdc6f-xj5nz → name/ledger dns": NAME,
    "pod/shop/storefront-sjcdwdc6f-xj5nz → name/kubernetes.default dns": NAME,
    "pod/shop/storefront-sjcdwdc6f-xj5nz → external icmp": OUTSIDE,
  },
  "aks-overlay": {
    "pod/clinic/portal-2fns28ldq-nvmb5 → service/kube-system/kube-dns udp 53": QUERY,
    "pod/clinic/portal-2fns28ldq-nvmb5 → name/kubernetes.default.svc.cluster.local dns": NAME,
    "pod/clinic/portal-2fns28ldq-nvmb5 → name/rooms.clinic dns": NAME,
  },
  "broken-aks-windows-pending": {
    "pod/depot/stock-f97jrgnwb-c4zvv → service/kube-system/kube-dns udp 53": QUERY,
    "pod/depot/stock-f97jrgnwb-c4zvv → name/scale-reader dns": NAME,
    "node/aksdepw000000 → pod/depot/stock-f97jrgnwb-c4zvv tcp 8080": HIDDEN,
  },
  "broken-flannel-vni": {
    "pod/bench/meter-zsd6wnffl-rsktl → pod/bench/results-mktls5zfc-2gmmh tcp 8080": NETWORK,
    "pod/bench/results-mktls5zfc-2gmmh → pod/bench/meter-zsd6wnffl-rsktl tcp 8080": NETWORK,
    "pod/bench/meter-zsd6wnffl-rsktl → name/results dns": NAME,
    "pod/bench/meter-zsd6wnffl-rsktl → service/bench/results tcp 8080": NETWORK,
    "pod/bench/results-mktls5zfc-2gmmh → service/bench/meter tcp 80": NETWORK,
    "pod/bench/results-mktls5zfc-2gmmh → service/kube-system/kube-dns udp 53": QUERY,
    "external → node/lab-cp tcp 31080": NETWORK,
  },
  "calico-network-policies": {
    "pod/records/portal-cbvjg28sh-7fvf4 → pod/records/register-676d2wnhm-xvtm8 tcp 9090": POLICY,
    "pod/records/visitor-8f9mdq8vr-76w9p → pod/records/register-676d2wnhm-xvtm8 tcp 8443": POLICY,
    "pod/records/visitor-8f9mdq8vr-76w9p → pod/records/portal-cbvjg28sh-7fvf4 tcp 8080": POLICY,
    "pod/audit/collector-9f9zk7f2z-5n6c2 → pod/records/notary-jn2zh646n-dfprf tcp 8443": POLICY,
    "pod/records/notary-jn2zh646n-dfprf → external tcp 443": POLICY,
    "pod/records/notary-jn2zh646n-dfprf → service/kube-system/kube-dns udp 53": QUERY,
    "external → node/court-win-1 tcp 30443": POLICY,
    "pod/records/visitor-8f9mdq8vr-76w9p → pod/records/register-676d2wnhm-xvtm8 icmp": POLICY,
  },
  "eks-windows": {
    "pod/press/newsroom-h6s9dhcpz-whlfh → service/kube-system/kube-dns udp 53": QUERY,
    "pod/press/newsroom-h6s9dhcpz-c5zp9 → name/print-queue dns": NAME,
    "pod/press/newsroom-h6s9dhcpz-c5zp9 → name/articles.press dns": NAME,
    "pod/press/newsroom-h6s9dhcpz-c5zp9 → external icmp": OUTSIDE,
    "node/ip-10-40-23-118.eu-central-1.compute.internal → node/ip-10-40-23-118.eu-central-1.compute.internal tcp 31845":
      OWN_PORT,
  },
  "gke-windows": {
    "pod/berths/bookings-sq4mjfkpx-6j92x → service/kube-system/kube-dns udp 53": QUERY,
    "pod/berths/bookings-sq4mjfkpx-6j92x → name/harbourmaster dns": NAME,
    "pod/berths/bookings-sq4mjfkpx-6j92x → name/kubernetes.default dns": NAME,
  },
  "image-of-another-build": {
    "pod/cellar/tap-list-gtjqq4g82-6fkcn → name/stock dns": NAME,
    "pod/cellar/stock-4ff2mc6th-d8bhc → pod/cellar/excise-report-47wccxnmw-hwxqx tcp 80": IMAGE,
    "pod/cellar/stock-4ff2mc6th-d8bhc → pod/cellar/yeast-scale-0 tcp 5020": IMAGE,
    "pod/cellar/tap-list-gtjqq4g82-6fkcn → name/yeast-scale dns": NAME,
    "pod/cellar/excise-report-47wccxnmw-hwxqx → pod/cellar/stock-4ff2mc6th-d8bhc tcp 8080": IMAGE,
    "pod/cellar/tap-list-gtjqq4g82-6fkcn → external icmp": OUTSIDE,
  },
  "kubeadm-flannel-host-gw": {
    "pod/saws/cutlist-87gtdtxvw-x8q7s → service/kube-system/kube-dns udp 53": QUERY,
    "pod/saws/cutlist-87gtdtxvw-x8q7s → name/labels dns": NAME,
    "pod/saws/cutlist-87gtdtxvw-x8q7s → name/orders.saws dns": NAME,
    "node/mill-win-1 → node/mill-win-1 tcp 30080": OWN_PORT,
  },
  "kubeadm-flannel-vxlan": {
    "pod/plant/scada-2b5lk4b25-2zqqz → service/kube-system/kube-dns udp 53": QUERY,
    "pod/plant/scada-2b5lk4b25-2zqqz → name/telemetry dns": NAME,
    "pod/plant/scada-2b5lk4b25-2zqqz → name/telemetry.plant dns": NAME,
    "node/plc-win-1 → pod/plant/scada-2b5lk4b25-m4cbr tcp 8088": NETWORK,
    "external → node/plc-win-1 tcp 30088": UPDATE,
  },
  "mixed-builds": {
    "pod/melt/furnace-19-rhqxk2txh-htmg2 → service/kube-system/kube-dns udp 53": QUERY,
    "pod/melt/panel-q7d2lcg4t-pspqz → name/probe dns": NAME,
    "pod/melt/furnace-19-rhqxk2txh-htmg2 → name/alloys.melt dns": NAME,
    "node/akswin19000000 → node/akswin19000000 tcp 30180": OWN_PORT,
    "pod/melt/furnace-19-rhqxk2txh-htmg2 → external icmp": OUTSIDE,
  },
  "openshift-hybrid-overlay": {
    "pod/quay/manifest-desk-lx6v6vgb4-xf9rz → service/openshift-dns/dns-default udp 53": QUERY,
    "pod/quay/manifest-desk-lx6v6vgb4-xf9rz → name/crane-log dns": NAME,
    "pod/quay/manifest-desk-lx6v6vgb4-xf9rz → name/customs.quay dns": NAME,
    "external → node/ip-10-0-58-77.eu-west-1.compute.internal tcp 31477": UPDATE,
  },
  "rke2-calico": {
    "pod/teller/counter-app-hdkm2s95q-pvqqg → service/kube-system/rke2-coredns-rke2-coredns udp 53": QUERY,
    "pod/teller/counter-app-hdkm2s95q-sxnhc → name/vault-log dns": NAME,
    "pod/teller/counter-app-hdkm2s95q-sxnhc → name/kubernetes.default dns": NAME,
    "pod/teller/counter-app-hdkm2s95q-sxnhc → external icmp": NETWORK,
    "external → node/bank-win-1 tcp 30333": UPDATE,
  },
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
  "not-judged": "not-judged",
};

async function askFlow(client: ControlClient, flow: Flow): Promise<string> {
  const { from, to, protocol, port } = flow;
  // Names cannot be asked alone yet: the table of differences has a row for each.
  if (protocol === "dns") return "not asked";
  try {
    const { report } = await client.trace({ from, to, protocol, ...(port === undefined ? {} : { port }) });
    return defined(VERDICTS[report.verdict], report.verdict);
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
async function differencesOf(name: string): Promise<readonly Difference[]> {
  const { target, terminal } = targetOf(name);
  const client = await connectCluster(target, terminal);
  const found: Difference[] = [];
  for (const flow of flowsOf(name)) {
    const outcome = await askFlow(client, flow);
    if (outcome !== flow.expect) found.push({ flow: describeFlow(flow), expected: flow.expect, outcome });
  }
  return found;
}

interface Difference {
  readonly flow: string;
  readonly expected: Outcome;
  readonly outcome: string;
}

/** Every flow comes out as the documents say, but for the rows of the table; a row that agrees by now has to go. */
export async function checkFlows(name: string): Promise<void> {
  const rows = DIFFERENCES[name] ?? {};
  const found = await differencesOf(name);
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
  const comparison = { profiles: [], before: [], failsOnChange: false };
  const request = { target, output: "json", allowed: [ALLOW_NOT_JUDGED], comparison } as const;
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
