/**
 * Windows nodes with the limits that an edition of the Kubernetes page "Networking on Windows" states, shown by packets
 * (windows-networking-documentation.md §5, §8, §9): each named quirk, as the build has it and as the page says.
 */
import { runMullion } from "#cli/mullion/program.ts";
import { trace } from "#cli/mullion/trace.ts";
import { verify } from "#cli/mullion/verify.ts";
import { MemoryTerminal } from "../cli/memory-terminal.ts";

export interface Shape {
  readonly build?: string;
  /** Further lines of the cluster file. */
  readonly more?: string;
  readonly backEnds?: number;
  /** The Service `web` asks for session affinity. */
  readonly isSticky?: true;
}

const clusterOf = ({ build = "ws2022", more = "" }: Shape): string => {
  const text = twoNodes(build, more);
  // Pods of the nodes' subnet have a part of it each.
  if (!more.includes("underlay:")) return text;
  return text
    .replace("10.0.0.11 }", "10.0.0.11, podCIDR: 10.0.1.0/24 }")
    .replace("10.0.0.12 }", "10.0.0.12, podCIDR: 10.0.2.0/24 }");
};

const twoNodes = (build: string, more: string): string => `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: two }
dns: { enabled: false }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11 }
  - { name: win-2, os: windows, build: ${build}, address: 10.0.0.12 }
${more}
`;

const podOn = (name: string, node: string, label: string): string => `---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${label} } }
spec: { nodeName: ${node}, containers: [{ name: c, image: x, ports: [{ containerPort: 80 }] }] }
`;

const serviceOf = (name: string, label: string, nodePort: number, more = "", annotations = ""): string => `---
apiVersion: v1
kind: Service
metadata: { name: ${name}, annotations: { ${annotations} } }
spec: { type: LoadBalancer, selector: { app: ${label} }, ports: [{ port: 80, nodePort: ${nodePort} }]${more} }
status: { loadBalancer: { ingress: [{ ip: 192.0.2.${nodePort % 200} }] } }
`;

/** A Service of each sort, whose pods are on win-1, and a client on win-2. */
function manifestsOf({ backEnds = 1, isSticky }: Shape): string {
  const affinity = isSticky === true ? ", sessionAffinity: ClientIP" : "";
  const servers = Array.from({ length: backEnds }, (_, index) => podOn(`web-${index}`, "win-1", "web"));
  return [
    ...servers,
    podOn("client", "win-2", "client"),
    serviceOf("web", "web", 30_080, affinity),
    serviceOf("local", "web", 30_081, ", externalTrafficPolicy: Local"),
    serviceOf("kept", "web", 30_082, "", 'preserve-destination: "true"'),
  ].join("");
}

export interface Answer {
  readonly exitCode: number;
  readonly text: string;
}

/** The cluster as one file. */
export function filesOf(shape: Shape): Readonly<Record<string, string>> {
  return { "c.yaml": `${clusterOf(shape)}${manifestsOf(shape)}` };
}

export async function run(words: string, shape: Shape = {}): Promise<Answer> {
  const terminal = new MemoryTerminal(filesOf(shape));
  const [verb = "", ...rest] = words.split(" ");
  const argv = [verb, "-f", "c.yaml", ...rest];
  const exitCode = await runMullion({
    argv,
    verbs: { trace, verify },
    terminal,
    version: "0",
    isDebug: false,
  });
  return { exitCode, text: `${terminal.output}${terminal.errors}`.replaceAll(/\s+/g, " ") };
}

export const OVERLAY = "network: { driver: Overlay, name: vxlan0, vni: 4096 }";
export const DSR = "kubeProxy: { enableDSR: true }";
/** The nodes' own subnet, to which the network around them answers. */
export const ROUTED = `network: { plugin: hns, driver: L2Bridge, shape: node-subnet }
underlay: { subnet: 10.0.0.0/16, router: 10.0.0.1 }`;

export interface LimitCase {
  /** The named quirk. */
  readonly quirk: string;
  readonly shape?: Shape;
  readonly asked: string;
  /** What comes of it as the build has it, and as the page says. */
  readonly onBuild: RegExp;
  readonly asPage: RegExp;
}

export const ANSWERED: RegExp = /Answered after/;

export const LIMITS: readonly LimitCase[] = [
  {
    quirk: "own-node-port-unreachable",
    asked: "trace node/win-1 10.0.0.11 --port 30080",
    onBuild: ANSWERED,
    asPage: /mullion explain node-port-from-node-unsupported/,
  },
  {
    quirk: "services-unreachable-from-node",
    asked: "trace node/win-1 service/web",
    onBuild: ANSWERED,
    asPage: /mullion explain service-vip-from-node-unsupported/,
  },
  {
    quirk: "back-ends-limited-to-64",
    shape: { backEnds: 65 },
    asked: "trace pod/client service/web",
    onBuild: ANSWERED,
    asPage: /mullion explain service-without-back-ends/,
  },
  {
    quirk: "dsr-flag-ignored",
    asked: "trace external 10.0.0.11 --port 30081",
    // The Service keeps the client's address, or does not.
    onBuild: /Answered after .* saw 203\.0\.113\.10:/,
    asPage: /Answered after .* saw 10\.0\.0\.11:/,
  },
  {
    quirk: "dsr-flag-ignored (preserve-destination)",
    asked: "trace external 192.0.2.82 --port 80",
    onBuild: /mullion explain destination-not-local/,
    asPage: ANSWERED,
  },
  {
    quirk: "outbound-icmp-dropped",
    shape: { more: ROUTED },
    asked: "trace pod/client external --protocol icmp",
    onBuild: ANSWERED,
    asPage: /mullion explain icmp-outbound-not-translated/,
  },
  {
    quirk: "outbound-icmp-dropped (what is asked from outside is answered)",
    shape: { more: ROUTED },
    asked: "trace external pod/client --protocol icmp",
    onBuild: ANSWERED,
    asPage: ANSWERED,
  },
  {
    quirk: "node-reaches-own-overlay-pods-only",
    // The pods leave the nodes' subnet untranslated, so that their answers arrive.
    shape: {
      more: "network: { driver: Overlay, name: vxlan0, vni: 4096, outboundNAT: { exceptions: [10.244.0.0/16, 10.96.0.0/12, 10.0.0.0/24] } }",
    },
    asked: "trace node/win-1 pod/client",
    onBuild: ANSWERED,
    asPage: /mullion explain flannel-node-to-pod-limited/,
  },
  {
    quirk: "node-reaches-own-overlay-pods-only (a pod of its own)",
    shape: { more: OVERLAY },
    asked: "trace node/win-1 pod/web-0",
    onBuild: ANSWERED,
    asPage: ANSWERED,
  },
];

export async function traced({ asked, shape = {} }: LimitCase, edition?: string): Promise<string> {
  const words = edition === undefined ? asked : `${asked} --as-documented ${edition}`;
  return (await run(words, shape)).text;
}
