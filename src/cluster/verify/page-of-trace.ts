/** What the Kubernetes page "Networking on Windows" says of the flow of one trace, where another outcome was seen. */
import { differenceFromPage } from "#core/catalogue/documentation.ts";
import type { FlowFacts, FlowName, FlowProtocol } from "#core/catalogue/expectations.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import type { TraceReport } from "../trace/trace-report.ts";
import { describePage } from "./describe.ts";
import { pairFacts, serviceFacts } from "./facts.ts";
import type { VerifyModel, VerifyNode, VerifySender, VerifyService, VerifyServicePort } from "./model.ts";
import { readModel } from "./model-of-cluster.ts";
import type { PageDifferenceReport } from "./report.ts";
import { nodeBehind } from "./plan.ts";

/** The port of a Service that a packet asks, and how. */
interface AskedService {
  readonly service: VerifyService;
  readonly port: VerifyServicePort;
  /** The node whose NodePort or load balancer address is asked. */
  readonly asked?: VerifyNode;
  readonly by: "cluster-ip" | "node-port" | "ingress";
}

function findParty(model: VerifyModel, reference: string): VerifySender | undefined {
  return [...model.pods, ...model.nodes, ...model.outside].find((party) => party.reference === reference);
}

/** The Service port behind the address and port of a packet. */
function findAsked(
  model: VerifyModel,
  { to, port: asked, protocol }: TraceReport,
  behind: (address: Ip) => VerifyNode | undefined,
): AskedService | undefined {
  const node = model.nodes.find(({ address }) => formatIp(address) === to.address);
  for (const service of model.services) {
    const front = service.ingress.find((address) => formatIp(address) === to.address);
    const isInner = service.clusterIp !== undefined && formatIp(service.clusterIp) === to.address;
    for (const port of service.ports) {
      if (port.protocol !== protocol) continue;
      if (isInner && port.port === asked) return { service, port, by: "cluster-ip" };
      if (node !== undefined && port.nodePort === asked)
        return { service, port, asked: node, by: "node-port" };
      const led = front === undefined || port.port !== asked ? undefined : behind(front);
      if (led !== undefined) return { service, port, asked: led, by: "ingress" };
    }
  }
  return undefined;
}

function flowToService(source: VerifySender, { by, asked, port }: AskedService): FlowName | undefined {
  if (by === "ingress") return source.kind === "outside" ? "outside-to-ingress" : undefined;
  if (by === "node-port") {
    if (source.kind !== "node") return source.kind === "outside" ? "outside-to-node-port" : undefined;
    return source.index === asked?.index ? "node-to-own-node-port" : "node-to-node-port";
  }
  if (source.kind === "node") return "node-to-cluster-ip";
  if (source.kind === "outside" || source.isHostNetwork) return undefined;
  const isOwn = port.backEnds.some(({ pod }) => pod?.index === source.index);
  return isOwn ? "pod-to-own-service" : "pod-to-cluster-ip";
}

const PAIR_FLOWS: Readonly<Record<string, FlowName>> = {
  "pod pod": "pod-to-pod-ip",
  "pod node": "pod-to-node",
  "pod outside": "pod-to-external-ip",
  "node pod": "node-to-pod",
};

/** The facts of the flow that a trace is one packet of; undefined for one of which no document speaks. */
function factsOf(
  model: VerifyModel,
  report: TraceReport,
  behind: (address: Ip) => VerifyNode | undefined,
): FlowFacts | undefined {
  const source = findParty(model, report.from.reference);
  if (source === undefined || report.protocol === "dns") return undefined;
  const protocol: FlowProtocol = report.protocol;
  const asked = findAsked(model, report, behind);
  if (asked !== undefined) {
    const flow = flowToService(source, asked);
    return flow && serviceFacts(model, flow, protocol, { source, ...asked });
  }
  const target = findParty(model, report.to.reference);
  const flow = target && PAIR_FLOWS[`${source.kind} ${target.kind}`];
  return flow && pairFacts(model, flow, protocol, { source, target, port: report.port ?? 0 });
}

/** Whether the packet fared as flows do that work: with the policy Local the receiver sees the client itself. */
function outcomeOf({ verdict, answer = "", from }: TraceReport, facts: FlowFacts): "works" | "denied" {
  if (verdict !== "answered") return "denied";
  const isKept = facts.externalTrafficPolicy !== "Local" || answer === "" || answer.includes(from.address);
  return isKept ? "works" : "denied";
}

/**
 * Compares the outcome of a trace with what the page says of its flow; undefined where they agree, where the page says
 * nothing, and in a cluster without Windows nodes or with nodes that do as the page says.
 */
export function pageOfTrace(cluster: Cluster, report: TraceReport): PageDifferenceReport | undefined {
  const hasWindows = cluster.nodes.some(({ spec }) => spec.os === "windows");
  if (!hasWindows || cluster.file.asDocumented !== undefined) return undefined;
  if (report.verdict === "not-resolved" || report.to.address.includes(":")) return undefined;
  const model = readModel(cluster);
  const facts = factsOf(model, report, nodeBehind(cluster, model));
  if (facts === undefined) return undefined;
  return describePage(differenceFromPage(facts, outcomeOf(report, facts)));
}
