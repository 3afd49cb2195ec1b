/**
 * Causes before what follows from them. A node comes up in stages, and a stage that failed shows as what a later one lacks:
 * without flanneld there is no network, without a network or kube-proxy no load balancer.
 */
import type { LogFinding } from "../catalogue/log/findings.ts";
import { CERTAINTIES, type NodeFinding } from "./check.ts";

/** What a finding is about, in the order of control-planes.md §2.1 and kube-proxy.md §2. */
export type Stage =
  | "script"
  | "configuration"
  | "node"
  | "flanneld"
  | "network"
  | "routes"
  | "kube-proxy"
  | "load balancers";

/** What is missing where a stage fails, at once or by what is missing between. */
const FOLLOWS: Readonly<Record<Stage, readonly Stage[]>> = {
  script: ["configuration", "node", "flanneld", "network", "routes", "kube-proxy", "load balancers"],
  // What a script has not written; pods show it, and no stage of the node.
  configuration: [],
  node: ["flanneld", "network", "routes", "kube-proxy", "load balancers"],
  flanneld: ["network", "routes", "kube-proxy", "load balancers"],
  network: ["kube-proxy", "load balancers"],
  routes: [],
  "kube-proxy": ["load balancers"],
  "load balancers": [],
};

/** What shows at once that a stage has failed. */
const SHOWN_BY: Readonly<Record<Stage, readonly Stage[]>> = {
  script: ["node", "network", "load balancers"],
  configuration: [],
  node: ["network", "load balancers"],
  flanneld: ["network", "routes"],
  network: ["load balancers"],
  routes: [],
  "kube-proxy": ["load balancers"],
  "load balancers": [],
};

const CODES: Readonly<Record<Stage, readonly string[]>> = {
  script: [
    "start-script-kubeconfig-missing",
    "download-needs-proxy",
    "kubelet-flag-unknown",
    "start-script-adapter-missing",
    "start-script-external-network-refused",
  ],
  configuration: ["start-script-configuration-unwritten"],
  node: ["start-script-node-unregistered"],
  flanneld: ["flannel-node-without-range", "flannel-network-without-node-range", "node-range-exhausted"],
  network: [
    "cni-network-not-found",
    "hns-networks-lost-at-reboot",
    "start-script-waits-for-network",
    // No annotation of flannel at the Node.
    "flannel-network-not-ready",
    // host-local's answer in sourceVip.json: kube-proxy gets no address.
    "ipam-duplicate-allocation",
  ],
  routes: ["remote-subnet-route-missing"],
  "kube-proxy": ["kube-proxy-network-missing", "kube-proxy-source-vip-invalid"],
  "load balancers": ["load-balancer-missing"],
};

const STAGE_OF_CODE: ReadonlyMap<string, Stage> = new Map(
  Object.entries(CODES).flatMap(([stage, codes]) => codes.map((code) => [code, stage as Stage] as const)),
);

/** The program that met an error, where it is one of a stage: it prints its own text before the one that it was answered. */
export function stageOfLog(found: LogFinding, all: readonly LogFinding[]): Stage | undefined {
  const isAnswer = found.error.origin === "hns" || found.error.origin === "win32";
  const beside = isAnswer ? all.filter(({ firstLine }) => firstLine === found.firstLine) : [];
  const origins = [found, ...beside].map(({ error }) => error.origin);
  return origins.find((origin) => origin === "flanneld" || origin === "kube-proxy");
}

/** A finding, and the stage that it is of where its code alone does not say so. */
export interface Staged {
  readonly finding: NodeFinding;
  readonly stage?: Stage | undefined;
  /** A log shows it, and the line is not an old one. */
  readonly isLogged?: boolean;
  /** HNS shows no network of the node: then what networks are for is missing for the same reason. */
  readonly isWithoutNetwork?: boolean;
}

function stageOf({ finding: { code }, stage }: Staged): Stage | undefined {
  const ofCode = STAGE_OF_CODE.get(code);
  // What a script says of flanneld it says from outside.
  return code.startsWith("start-script") ? ofCode : (stage ?? ofCode);
}

function fileOf({ evidence }: NodeFinding): string | undefined {
  return evidence[0]?.file;
}

/** What is missing shows that a log's error is not over: two independent files say it. */
function surer(each: Staged, all: readonly Staged[]): NodeFinding {
  const { finding } = each;
  const stage = stageOf(each);
  if (stage === undefined || each.isLogged !== true || finding.certainty !== "possible") return finding;
  const shownBy = each.isWithoutNetwork === true ? FOLLOWS[stage] : SHOWN_BY[stage];
  const isShown = all.some((other) => {
    const after = stageOf(other);
    return (
      after !== undefined &&
      shownBy.includes(after) &&
      other.finding.node === finding.node &&
      other.finding.certainty !== "possible" &&
      fileOf(other.finding) !== fileOf(finding)
    );
  });
  return isShown ? { ...finding, certainty: "likely" } : finding;
}

/** The surest first, proved ones before others. */
function sureness({ certainty, proof }: NodeFinding): number {
  return CERTAINTIES.indexOf(certainty) * 2 + Number(!proof.isProved);
}

interface Ranked {
  readonly finding: NodeFinding;
  /** What it explains, where it is not merely possible. */
  readonly explains: readonly Stage[];
  readonly stage: Stage | undefined;
}

function isExplained(other: Ranked, by: Ranked): boolean {
  return (
    other.stage !== undefined && by.explains.includes(other.stage) && other.finding.node === by.finding.node
  );
}

/** The surest first; what is not merely possible stands before all that follows from it. */
export function causesFirst(found: readonly Staged[]): readonly NodeFinding[] {
  const all = found.map((each): Ranked => {
    const finding = surer(each, found);
    const stage = stageOf(each);
    const isCause = stage !== undefined && finding.certainty !== "possible";
    return { finding, stage, explains: isCause ? FOLLOWS[stage] : [] };
  });
  const bySureness = all.toSorted((a, b) => sureness(a.finding) - sureness(b.finding));
  const sorted: Ranked[] = [];
  for (const each of bySureness) {
    const before = sorted.findIndex((other) => isExplained(other, each));
    if (before < 0) sorted.push(each);
    else sorted.splice(before, 0, each);
  }
  return sorted.map(({ finding }) => finding);
}
