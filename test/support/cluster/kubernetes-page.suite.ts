/**
 * Each sentence of the Kubernetes page about flows, beside what is expected of a build and what came of it: clusters with
 * Services of all sorts, checked as a user checks them.
 */
import { readInput } from "#cluster/input/read-input.ts";
import type { Cluster } from "#cluster/cluster.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import type { Cell } from "#cluster/verify/cells/cell.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import { observeCells } from "#cluster/verify/observe.ts";
import { type VerifyPlan, planVerification } from "#cluster/verify/plan.ts";
import { atOnce } from "#cluster/verify/run-batch.ts";
import { setStage } from "#cluster/verify/stage.ts";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { defined } from "#core/base/assert.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import { formatIp } from "#core/net/ip.ts";
import { DOCUMENTED_SENTENCES, type DocumentedSentence } from "#core/catalogue/page-sentences.ts";
import { differsBecause, pageSays } from "#diagnose/catalogue/documentation-texts.ts";
import { PAGE_TRIALS } from "./kubernetes-page-trials.suite.ts";
import { type ServiceClusterOptions, serviceClusterFile, serviceManifests } from "./service-cluster.ts";

/** Oldest first; a number behind a dot is the revision. */
export const PAGE_BUILDS = [
  "ws2019.1431",
  "ws2019.3286",
  "ws2019",
  "1903",
  "2004",
  "ws2022.886",
  "ws2022",
  "win11-21h2",
  "23h2",
  "ws2025",
] as const;

const HOST_PROCESS = `
apiVersion: v1
kind: Pod
metadata: { name: host-process }
spec:
  hostNetwork: true
  nodeSelector: { kubernetes.io/os: windows }
  securityContext: { windowsOptions: { hostProcess: true } }
  containers: [{ name: c, image: x }]
`;

type ClusterName = "plain" | "vni" | "preserve" | "dsr" | "many" | "overlay" | "routed" | "azure";

/** Pods with addresses of the nodes' subnet, to which the network around them answers. */
const ROUTED = (build: string): readonly string[] => [
  `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: routed }
nodes: [{ name: win-1, os: windows, build: ${build}, address: 10.0.0.11, podCIDR: 10.0.1.0/24 }]
network: { plugin: hns, driver: L2Bridge, shape: node-subnet }
underlay: { subnet: 10.0.0.0/16, router: 10.0.0.1 }
pods: [{ name: client, node: win-1 }]
`,
];

function withServices(options: Omit<ServiceClusterOptions, "build">): (build: string) => readonly string[] {
  return (build) => [
    serviceClusterFile({ ...options, build }),
    `${serviceManifests({ ...options, build })}---${HOST_PROCESS}`,
  ];
}

/** Both Services with addresses of load balancers ask for preserve-destination. */
function preservingManifests(build: string): string {
  return serviceManifests({ build })
    .replaceAll(/\{ name: (public|local) \}/g, '{ name: $1, annotations: { preserve-destination: "true" } }')
    .replace("externalTrafficPolicy: Local, ", "");
}

/** The files of each cluster, by the build of its nodes. */
const CLUSTERS: Readonly<Record<ClusterName, (build: string) => readonly string[]>> = {
  plain: withServices({}),
  preserve: (build) => [serviceClusterFile({ build }), preservingManifests(build)],
  dsr: withServices({ enableDSR: true }),
  many: withServices({ replicas: 65 }),
  overlay: withServices({ more: "network: { driver: Overlay, name: vxlan0, vni: 4096 }" }),
  vni: (build) => [
    `${serviceClusterFile({ build, more: "network: { plugin: flannel, backend: vxlan, vni: 4097 }" })}pods: [{ name: a, node: win-1 }, { name: b, node: win-2 }]\n`,
  ],
  routed: ROUTED,
  azure: (build) =>
    ROUTED(build).map((text) =>
      text.replace(/network: .*/, "network: { plugin: azure-vnet, driver: L2Tunnel, name: azure }"),
    ),
};

/** Those that can run as an edition has it: with another VNI none does. */
export const PAGE_CLUSTERS: readonly ClusterName[] = (Object.keys(CLUSTERS) as ClusterName[]).filter(
  (name) => name !== "vni",
);

interface Question {
  readonly cluster: ClusterName;
  /** The builds of which the sentence speaks; absent: all. */
  readonly builds?: RegExp;
  readonly isMeant: (cell: VerifyCell) => boolean;
  /** What to look for in answers; absent: that they come. */
  readonly look?: "client-address" | "back-ends";
}

const isBetween =
  (
    flow: VerifyCell["flow"],
    protocol: VerifyCell["protocol"],
    more: (cell: VerifyCell) => boolean = () => true,
  ) =>
  (cell: VerifyCell): boolean =>
    cell.flow === flow && cell.protocol === protocol && cell.verdict !== "not-tried" && more(cell);

const isFromWindows = ({ fromSystem }: VerifyCell): boolean => parseProfile(fromSystem) !== undefined;
const isToWindows = ({ toSystem }: VerifyCell): boolean => parseProfile(toSystem) !== undefined;
/** The Service with the policy Local, by its NodePort, on the node that has its back end. */
const isLocal = (cell: VerifyCell): boolean =>
  cell.port === 30_081 &&
  isToWindows(cell) &&
  cell.code !== "external-traffic-policy-local-without-local-endpoint";

/** The Service with the annotation, by the address of its load balancer, which leads to the node of its back end. */
const isPreserved = (cell: VerifyCell): boolean =>
  cell.expected !== "not-applicable" && cell.code !== "service-without-usable-endpoints";

/** The cells that a sentence is about. Ids of sentences. */
const QUESTIONS: Readonly<Record<string, readonly Question[]>> = {
  "PAGE-HOST-NETWORK": [
    {
      cluster: "plain",
      isMeant: isBetween("pod-in-host-network", "tcp", ({ from }) => from.endsWith("/wishes")),
    },
    {
      cluster: "plain",
      isMeant: isBetween("pod-in-host-network", "tcp", ({ from }) => from.endsWith("/host-process")),
    },
  ],
  "PAGE-OWN-NODE-PORT": [
    {
      cluster: "plain",
      isMeant: isBetween(
        "node-to-own-node-port",
        "tcp",
        (cell) => cell.port === 30_080 && isFromWindows(cell),
      ),
    },
  ],
  "PAGE-BACK-ENDS": [
    {
      cluster: "many",
      isMeant: isBetween(
        "pod-to-cluster-ip",
        "tcp",
        (cell) => isFromWindows(cell) && cell.to.endsWith("/public"),
      ),
    },
  ],
  "PAGE-BACK-ENDS-ASKED": [
    {
      cluster: "many",
      isMeant: isBetween("outside-to-node-port", "tcp", (cell) => cell.port === 30_080 && isToWindows(cell)),
    },
  ],
  "PAGE-SERVICE-FROM-NODE": [
    { cluster: "plain", isMeant: isBetween("node-to-cluster-ip", "tcp", isFromWindows) },
  ],
  "PAGE-LOCAL-WITHOUT-DSR": [
    { cluster: "plain", isMeant: isBetween("outside-to-node-port", "tcp", isLocal), look: "client-address" },
  ],
  "PAGE-CLIENT-ADDRESS-WITH-DSR": [
    { cluster: "dsr", isMeant: isBetween("outside-to-node-port", "tcp", isLocal), look: "client-address" },
  ],
  "PAGE-OVERLAY-NODE-PORT-2022": [
    {
      cluster: "overlay",
      builds: /^ws2022/,
      isMeant: isBetween("outside-to-node-port", "tcp", (cell) => cell.port === 30_080 && isToWindows(cell)),
    },
  ],
  "PAGE-PRESERVE-WITHOUT-DSR": [
    { cluster: "preserve", isMeant: isBetween("outside-to-ingress", "tcp", isPreserved) },
  ],
  "PAGE-L2BRIDGE-DSR-2022": [
    {
      cluster: "dsr",
      builds: /^ws2022/,
      isMeant: isBetween(
        "pod-to-pod-ip",
        "tcp",
        (cell) => isFromWindows(cell) && isToWindows(cell) && cell.relation === "other-node",
      ),
    },
  ],
  "PAGE-PING-OUTSIDE": [
    { cluster: "plain", isMeant: isBetween("pod-to-external-ip", "icmp", isFromWindows) },
    { cluster: "routed", isMeant: isBetween("pod-to-external-ip", "icmp", isFromWindows) },
    { cluster: "overlay", isMeant: isBetween("pod-to-external-ip", "icmp", isFromWindows) },
    { cluster: "azure", isMeant: isBetween("pod-to-external-ip", "icmp", isFromWindows) },
  ],
  "PAGE-NODE-TO-POD-OVERLAY": [
    {
      cluster: "overlay",
      isMeant: isBetween(
        "node-to-pod",
        "tcp",
        (cell) => isFromWindows(cell) && cell.relation === "other-node",
      ),
    },
  ],
  "PAGE-VNI": [
    {
      cluster: "vni",
      isMeant: isBetween(
        "pod-to-pod-ip",
        "tcp",
        (cell) => isFromWindows(cell) && isToWindows(cell) && cell.relation === "other-node",
      ),
    },
  ],
  "PAGE-AFFINITY": [
    {
      cluster: "plain",
      builds: /^(?:ws2022|win11|23h2|ws2025)/,
      isMeant: isBetween("session-affinity", "tcp", isFromWindows),
      look: "back-ends",
    },
  ],
  "PAGE-NAME-WITH-DOT": [
    { cluster: "plain", isMeant: isBetween("pod-to-service-partial-name", "tcp", isFromWindows) },
  ],
  "PAGE-AFFINITY-TIMEOUT": [
    {
      cluster: "plain",
      builds: /^(?:ws2022|win11|23h2|ws2025)/,
      isMeant: isBetween("session-affinity-timeout", "tcp", isFromWindows),
      look: "back-ends",
    },
  ],
};

/** A cluster with all its nodes on a build, or as an edition of the page has it. */
async function openOn(build: string, name: ClusterName, asDocumented?: Edition): Promise<Cluster> {
  const files = CLUSTERS[name](build).map((text, index) => ({ name: `${name}-${index}.yaml`, text }));
  const read = readInput(files, { asDocumented });
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  return (await openSession(read.input)).session.cluster;
}

export async function verifyOn(
  build: string,
  name: ClusterName,
  asDocumented?: Edition,
): Promise<VerifyReport> {
  const cluster = await openOn(build, name, asDocumented);
  return verifyCluster(cluster, readModel(cluster));
}

/** One sentence on one build. */
export interface PageRow {
  readonly sentence: DocumentedSentence;
  readonly build: string;
  /** `works`, or the code; several where cells of one build differ. `not tried` where nothing applies. */
  readonly expected: string;
  /** What packets met: they are sent for the row alone, and nothing that is expected of them is asked. */
  readonly observed: string;
  /** Ids. */
  readonly differences: readonly string[];
}

function once(words: readonly string[]): string {
  return [...new Set(words)].toSorted().join(", ") || "not tried";
}

/** What was expected of a cluster on a build, beside the plan by which it is tried again. */
interface Run {
  readonly report: VerifyReport;
  readonly plan: VerifyPlan;
}

async function runOn(build: string, name: ClusterName): Promise<Run> {
  const cluster = await openOn(build, name);
  const model = readModel(cluster);
  return { report: verifyCluster(cluster, model), plan: planVerification(cluster, model) };
}

/** What ended a packet of the cell: the code of its own trace. */
function endOf({ cluster, model }: VerifyPlan, { source, target, protocol, id }: Cell): string {
  if (source === undefined || target.address === undefined) throw new RangeError(`${id} asks nobody`);
  const { report } = tracePacket(setStage(cluster, model, []), {
    from: source.reference,
    to: formatIp(target.address),
    protocol,
    port: protocol === "icmp" ? undefined : target.port,
  });
  return report.code ?? report.verdict;
}

/** What packets show of a cell. It never asks what is expected of it. */
function seenOf(plan: VerifyPlan, cell: Cell, look: Question["look"]): string {
  const { cluster, model, states } = plan;
  const seen =
    states.get(cell) ?? atOnce(observeCells(setStage(cluster, model, [cell]), [cell])).get(cell.id);
  const attempts = seen?.attempts ?? [];
  const failed = attempts.find(({ outcome }) => outcome !== "answered");
  if (cell.probe === "state") return failed === undefined ? "in the node's network" : "a network of its own";
  if (failed !== undefined) return failed.code ?? endOf(plan, cell);
  const backEnds = new Set(attempts.map(({ answeredBy }) => answeredBy)).size;
  if (look === "back-ends") return `${attempts.length} connections to ${backEnds} of the back ends`;
  if (look === undefined || cell.source === undefined) return attempts.length > 0 ? "answered" : "not tried";
  const client = formatIp(cell.source.address);
  const isKept = attempts.every((each) => each.seen === client);
  return isKept ? "answered, by who sees the client" : "answered, by who sees another address";
}

function rowOf(
  sentence: DocumentedSentence,
  build: string,
  { isMeant, look }: Question,
  { report, plan }: Run,
): PageRow {
  const positions = report.cells.flatMap((cell, position) => (isMeant(cell) ? [position] : []));
  const cells = positions.flatMap((position) => report.cells[position] ?? []);
  return {
    sentence,
    build,
    expected: once(cells.map(({ expected, code }) => (expected === "works" ? "works" : (code ?? expected)))),
    observed: once(
      positions.map((position) => seenOf(plan, defined(plan.cells[position], "same cells"), look)),
    ),
    differences: [...new Set(cells.flatMap(({ documentation }) => documentation?.difference ?? []))],
  };
}

/** Every sentence on every build of `builds`. */
export async function readPageRows(builds: readonly string[]): Promise<readonly PageRow[]> {
  const rows: PageRow[] = [];
  for (const build of builds) {
    const runs = new Map<ClusterName, Run>();
    for (const sentence of DOCUMENTED_SENTENCES) {
      for (const question of QUESTIONS[sentence.id] ?? []) {
        if (question.builds?.test(build) === false) continue;
        const run = runs.get(question.cluster) ?? (await runOn(build, question.cluster));
        runs.set(question.cluster, run);
        rows.push(rowOf(sentence, build, question, run));
      }
    }
  }
  return [...rows, ...(await trialRows())];
}

/** What is tried otherwise than by flows: what comes up on a build, and what programs say. */
async function trialRows(): Promise<readonly PageRow[]> {
  const rows: PageRow[] = [];
  for (const { sentence: id, on, expected, observe } of PAGE_TRIALS) {
    const sentence = DOCUMENTED_SENTENCES.find((each) => each.id === id);
    if (sentence === undefined) throw new RangeError(`the page has no sentence ${id}`);
    const isOtherwise = (expected === "works") !== (sentence.outcome === "works");
    const differences = isOtherwise ? sentence.differs.map((each) => each.id) : [];
    rows.push({ sentence, build: on, expected, observed: await observe(), differences });
  }
  return rows;
}

/** The rows as a table of a page: builds of which the same is true in one line. */
export function formatPageRows(rows: readonly PageRow[]): string {
  const lines = new Map<string, string[]>();
  const position = ({ id }: DocumentedSentence): number =>
    DOCUMENTED_SENTENCES.findIndex((sentence) => sentence.id === id);
  for (const row of rows.toSorted((a, b) => position(a.sentence) - position(b.sentence))) {
    const { sentence, expected, observed, differences } = row;
    const because = differences.map(differsBecause).join("; ");
    const words = (text: string): string => (/^[a-z0-9]+(?:-[a-z0-9]+)+/.test(text) ? `\`${text}\`` : text);
    const rest = `${sentence.outcome} | ${words(expected)} | ${words(observed)} | ${because} |`;
    const key = `| ${pageSays(sentence.id)} (${sentence.editions.join(", ")}; ${sentence.section}) | \u0000 | ${rest}`;
    const builds = lines.get(key) ?? [];
    lines.set(key, builds.includes(row.build) ? builds : [...builds, row.build]);
  }
  const heads = ["The page says", "Builds", "Page", "Expected", "Observed", "Because"];
  const body = [...lines].map(([line, builds]) =>
    line
      .replace("\u0000", builds.join(", "))
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...body.map((cells) => cells[column]?.length ?? 0)),
  );
  const aligned = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [aligned(heads), aligned(rule), ...body.map(aligned)].join("\n");
}
