/**
 * What the Kubernetes page "Networking on Windows" denies or dates and builds do otherwise, item by item: a cluster or file,
 * a question, and the reason that the answer names, in its text and in its JSON.
 */
import { readFileSync } from "node:fs";
import { explain } from "#cli/mullion/explain/explain.ts";
import { lint } from "#cli/mullion/lint.ts";
import { runMullion } from "#cli/mullion/program.ts";
import { trace } from "#cli/mullion/trace.ts";
import { verify } from "#cli/mullion/verify.ts";
import { pageDifference } from "#diagnose/catalogue/documentation-texts.ts";
import { MemoryTerminal } from "../cli/memory-terminal.ts";
import { OVERLAY, ROUTED, type Shape, filesOf } from "./as-documented.suite.ts";

export interface MarkedAnswer {
  /** What the page states otherwise. */
  readonly item: string;
  /** The verb and its words; `-f c.yaml`, or the file of lint, is added. */
  readonly asked: string;
  readonly shape?: Shape;
  /** In place of the cluster of `shape`. */
  readonly files?: Readonly<Record<string, string>>;
  /** The id of the reason (data/facts/kubernetes-page.yaml). */
  readonly difference: string;
  /** A cluster of its own, whose programs come up: only in the long tests. */
  readonly isLong?: true;
}

const VXLAN = "network: { plugin: flannel, backend: vxlan }";
const DSR = "kubeProxy: { enableDSR: true }";
const DUAL = "network: { plugin: hns }\nipv6: { enabled: true }";
const AZURE = ROUTED.replace(/network: .*/, "network: { plugin: azure-vnet, driver: L2Tunnel, name: azure }");
/** Pods leave the nodes' subnet untranslated, so that their answers to nodes arrive. */
const EXCEPTED = OVERLAY.replace(
  " }",
  ", outboundNAT: { exceptions: [10.244.0.0/16, 10.96.0.0/12, 10.0.0.0/24] } }",
);
const NET_CONF = '{ "Network": "10.244.0.0/16", "Backend": { "Type": "vxlan", "VNI": 5000, "Port": 4789 } }';
const START = "kube-proxy.exe --v=4 --proxy-mode=kernelspace --kubeconfig=C:\\k\\config\n";
const COPIED = `    files:
      /run/flannel/subnet.env: "FLANNEL_NETWORK=10.244.0.0/16\\nFLANNEL_SUBNET=10.244.0.1/24\\nFLANNEL_MTU=1450\\nFLANNEL_IPMASQ=true\\n"
`;

/** The files of an example, as verify is given them. */
function example(folder: string, change: (text: string) => string = (text) => text): Record<string, string> {
  const read = (file: string): string => readFileSync(`examples/${folder}/${file}`, "utf8");
  return { "c.yaml": change(read("cluster.yaml")), "shop.yaml": read("shop.yaml") };
}

export const MARKED_ANSWERS: readonly MarkedAnswer[] = [
  {
    item: "own NodePort, on Server 2019 from KB4571748 on",
    asked: "trace node/win-1 10.0.0.11 --port 30080",
    shape: { build: "ws2019.1432" },
    difference: "own-node-port-2019",
  },
  {
    item: "own NodePort, on later builds",
    asked: "trace node/win-1 10.0.0.11 --port 30080",
    difference: "own-node-port-later",
  },
  {
    item: "the address of a Service, from the node",
    asked: "trace node/win-1 service/web",
    difference: "service-from-node-2022",
  },
  {
    item: "more than 64 back ends",
    asked: "trace pod/client service/web",
    shape: { backEnds: 65 },
    difference: "back-ends-2022",
    isLong: true,
  },
  {
    item: "the policy Local without DSR",
    asked: "trace external 10.0.0.11 --port 30081",
    difference: "local-dsr-by-itself",
  },
  {
    item: "preserve-destination without DSR",
    asked: "trace external 192.0.2.82 --port 80",
    difference: "preserve-where-hns-has-dsr",
  },
  {
    item: "ping to outside, with Azure's CNI",
    asked: "trace pod/client external --protocol icmp",
    shape: { more: AZURE },
    difference: "ping-needs-no-translation",
  },
  {
    item: "nodes to pods over flannel's VXLAN",
    asked: "trace node/win-1 pod/client",
    shape: { more: EXCEPTED },
    difference: "host-route-to-other-nodes",
  },
  {
    item: "nodes to pods over flannel's VXLAN, in the entry",
    asked: "explain flannel-node-to-pod-limited",
    files: {},
    difference: "host-route-to-other-nodes",
  },
  {
    item: "a VNI other than 4096, in flannel's configuration",
    asked: "lint net-conf.json --windows",
    files: { "net-conf.json": NET_CONF },
    difference: "flanneld-takes-other-vnis",
  },
  {
    item: "a VNI other than 4096, by packets",
    asked: "trace pod/client pod/web-0",
    shape: { more: VXLAN.replace("vxlan }", "vxlan, vni: 5000 }") },
    difference: "flanneld-takes-other-vnis",
  },
  {
    item: "CHECK and CNI 0.4.0",
    asked: "explain cni-version-not-supported",
    files: {},
    difference: "plugins-have-check",
  },
  {
    item: "dual stack on Server 2019: the cluster file",
    asked: "lint c.yaml",
    shape: { build: "ws2019", more: DUAL },
    difference: "dual-stack-from-2004",
  },
  {
    item: "dual stack on Server 2019: what it refuses",
    asked: "verify",
    shape: { build: "ws2019", more: DUAL },
    difference: "dual-stack-from-2004",
  },
  {
    item: "session affinity from preview build 19551 on: verify",
    asked: "verify",
    shape: { build: "10.0.19551.1005", isSticky: true },
    difference: "preview-builds-have-no-profile",
  },
  {
    item: "session affinity from preview build 19551 on: lint",
    asked: "lint c.yaml",
    shape: { build: "10.0.19551.1005", isSticky: true },
    difference: "preview-builds-have-no-profile",
  },
  {
    item: "DSR on Server 2019 before KB4571748: verify",
    asked: "verify",
    shape: { build: "ws2019.1431", more: DSR },
    difference: "dsr-needs-its-update",
  },
  {
    item: "DSR on Server 2019 before KB4571748: a Service that needs it",
    asked: "lint c.yaml",
    shape: { build: "ws2019.1431", more: DSR },
    difference: "dsr-before-its-update",
  },
  {
    item: "DSR on Server 2019 before KB4571748: a packet",
    asked: "trace external 10.0.0.11 --port 30081",
    shape: { build: "ws2019.1431", more: DSR },
    difference: "dsr-before-its-update",
  },
  {
    item: "overlay networks with KB4482887 alone",
    asked: "verify",
    shape: { build: "ws2019.348", more: VXLAN },
    difference: "kube-proxy-needs-hns-9-2",
  },
  {
    item: "WinOverlay's alpha and beta",
    asked: "explain overlay-needs-windows-update",
    files: {},
    difference: "win-overlay-on-from-1-20",
  },
  {
    item: "endpoints deleted without --hostname-override: verify",
    asked: "verify",
    files: example("trouble-hostname"),
    difference: "endpoints-are-kept",
    isLong: true,
  },
  {
    item: "endpoints deleted without --hostname-override: lint",
    asked: "lint start.ps1",
    files: { "start.ps1": START },
    difference: "endpoints-are-kept",
  },
  {
    item: "copying subnet.env",
    asked: "verify",
    files: example("trouble-subnet-env", (text) =>
      text.replace("  - name: win-2", `${COPIED}  - name: win-2`),
    ),
    difference: "file-makes-no-network",
    isLong: true,
  },
];

/** What a verb answers, on one line where it is text. */
async function answerOf(
  { asked, shape = {}, files = filesOf(shape) }: MarkedAnswer,
  form: string,
): Promise<string> {
  const terminal = new MemoryTerminal(files);
  const [verb = "", ...words] = asked.split(" ");
  if (verb === "explain") explain(words[0] ?? "", form === "json" ? "json" : "text", terminal);
  else {
    const file = verb === "lint" ? [] : Object.keys(files).flatMap((name) => ["-f", name]);
    const argv = [verb, ...words, ...file, ...(form === "json" ? ["-o", "json"] : [])];
    await runMullion({ argv, verbs: { lint, trace, verify }, terminal, version: "0", isDebug: false });
  }
  const answer = terminal.output === "" ? terminal.errors : terminal.output;
  return answer.replaceAll(/\s+/g, " ");
}

/** Every `documentation` of a document, wherever it stands. */
function documentationIn(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) =>
    name === "documentation" ? [each].flat() : documentationIn(each),
  );
}

/** What an answer has to say, in its text and in its document. */
export interface MarkWanted {
  readonly text: string;
  readonly documentation: object;
}

/** What the page says and why it is otherwise, as the verb that is asked says it. */
export function markWanted({ asked, difference }: MarkedAnswer): MarkWanted {
  const documentation = pageDifference(difference);
  const { edition, says, differsBecause, evidence } = documentation;
  const reason = `${differsBecause} (${evidence})`;
  const isEntry = asked.startsWith("explain");
  const text = isEntry
    ? `Otherwise where: ${reason}`
    : `* The Kubernetes page (${edition}): ${says}. Here: ${reason}.`;
  return { text, documentation };
}

/** The text of the answer, and each `documentation` of its document; what is refused has none. */
export async function marksOf(answer: MarkedAnswer): Promise<MarksSeen> {
  const text = await answerOf(answer, "text");
  const json = await answerOf(answer, "json");
  return { text, documentation: json.startsWith("{") ? documentationIn(JSON.parse(json)) : undefined };
}

interface MarksSeen {
  readonly text: string;
  readonly documentation: readonly unknown[] | undefined;
}
