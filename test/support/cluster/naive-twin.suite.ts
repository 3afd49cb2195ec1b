/** The naive twin against `verify`: twelve nodes, every driver, healthy and not. */
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { InputText } from "#cluster/session/session.ts";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { NETWORKS, type NetworkName } from "./every-network.suite.ts";
import { type TwinAnswers, askTwin, questionId, raiseTwin, twinQuestions } from "./naive-twin.ts";

/** What is wrong with a cluster. */
export type TwinState = "healthy" | "broken" | "quirk at a rate" | "refused pod";
export const TWIN_STATES: readonly TwinState[] = ["healthy", "broken", "quirk at a rate", "refused pod"];

/** Fields of the first Windows node, which is the one that is different. */
const FIRST_NODE: Readonly<Record<TwinState, string>> = {
  healthy: "",
  broken: ", quirks: { nat-denies-outbound: on, services-unreachable-from-node: on }",
  "quirk at a rate": ", quirks: { load-balancer-port-missing: 0.5@7 }",
  "refused pod": "",
};

/** Two pods of a dump with one address: the node refuses the second. */
function refusedPods(address: string): string {
  const pods = ["first", "second"].map(
    (name) => `---
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec: { nodeName: n1, containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }] }
status: { phase: Running, podIP: ${address}, podIPs: [{ ip: ${address} }] }
`,
  );
  return pods.join("");
}

function workload(name: string, os: string, replicas: number): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      nodeSelector: { kubernetes.io/os: ${os} }
      containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { type: NodePort, selector: { app: ${name} }, ports: [{ port: 80, targetPort: 8080 }] }
`;
}

/** Two thirds of the nodes are Windows; each has a pod, and there are two Services. */
export function twinTexts(network: NetworkName, state: TwinState, nodes: number): readonly InputText[] {
  const { text, isNodeSubnet } = NETWORKS[network];
  const windows = Math.ceil((nodes * 2) / 3);
  const lines = Array.from({ length: nodes }, (_, index) => {
    const range = isNodeSubnet ? `, podCIDR: 10.0.${index + 1}.0/24` : "";
    const more = index === 0 ? FIRST_NODE[state] : "";
    const os = index < windows ? "windows, build: ws2022" : "linux";
    return `  - { name: n${index + 1}, os: ${os}, address: 10.0.0.${11 + index}${range}${more} }\n`;
  });
  const address = isNodeSubnet ? "10.0.1.77" : network === "NAT" ? "172.30.0.77" : "10.244.0.77";
  const file = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: twin }
underlay: { subnet: 10.0.0.0/16 }
network: ${text}
nodes:
${lines.join("")}`;
  const refused = state === "refused pod" ? refusedPods(address) : "";
  return [
    { name: "cluster.yaml", text: file },
    {
      name: "manifests.yaml",
      text: `${workload("web", "windows", windows)}---\n${workload("orders", "linux", nodes - windows)}${refused}`,
    },
  ];
}

/** What the twin says of a cell of the report: all its questions of the same two parties; none for what it does not ask. */
function answersOf(cell: VerifyCell, byParties: ReadonlyMap<string, readonly string[]>): readonly string[] {
  return byParties.get([cell.from, cell.to, cell.protocol, cell.port ?? 0].join(" ")) ?? [];
}

export interface TwinComparison {
  readonly report: VerifyReport;
  readonly answers: TwinAnswers;
  /** Cells of the report that the twin asked, too. */
  readonly compared: number;
  /** Those of which both say something else. */
  readonly differences: readonly string[];
}

/** Raises the cluster twice, once by each, and compares what they say. */
export async function compareWithTwin(texts: readonly InputText[]): Promise<TwinComparison> {
  const { cluster } = await raiseTwin(texts);
  const questions = twinQuestions(cluster);
  const answers = askTwin(cluster, questions);
  const byParties = new Map<string, string[]>();
  for (const question of questions) {
    if (question.name !== undefined) continue;
    const key = [question.sender.reference, question.to, question.protocol, question.port].join(" ");
    const known = byParties.get(key) ?? [];
    byParties.set(key, [...known, answers.get(questionId(question)) ?? ""]);
  }
  const read = readInput(texts);
  if (!("input" in read)) throw new Error("what the twin has read can be read");
  const { session } = await openSession(read.input);
  const options = { troubles: session.troubles(), limits: session.limits() };
  const report = verifyCluster(session.cluster, undefined, options);
  let compared = 0;
  const differences: string[] = [];
  for (const [position, cell] of report.cells.entries()) {
    // A name is another question, and a Service that is asked at other nodes than its own has several addresses.
    const isAsked = cell.name === undefined && cell.family === undefined && cell.verdict !== "not-tried";
    const said = isAsked ? answersOf(cell, byParties) : [];
    if (said.length !== 1) continue;
    compared++;
    const isAnswered = said[0]?.startsWith("answered") === true;
    const works = (cell.expected === "works") === (cell.verdict === "as-expected");
    const finding = report.findings.find((each) => each.cell === position)?.observed;
    // A finding may be about who answered, or whom the server saw.
    if (isAnswered !== works && !(isAnswered && cell.expected === "works"))
      differences.push(
        `${cell.from} ${cell.protocol} ${cell.to} ${cell.port}: ${said[0]}, but ${finding ?? cell.verdict}`,
      );
  }
  return { report, answers, compared, differences };
}
