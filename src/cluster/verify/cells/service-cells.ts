/** Cells from inside and outside the cluster to Services: to their addresses, to ports of nodes, to load balancers. */
import type { FlowName } from "#core/catalogue/expectations.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type Cell, type CellTarget, makeCell } from "./cell.ts";
import {
  type AskedPort,
  answerersOf,
  backEndsFor,
  classOfClient,
  clientAmong,
  isServed,
  listPorts,
  isLeftOut,
  whyItFails,
} from "../service-port.ts";
import { isOrdinary, serviceFacts, countLocal } from "../facts.ts";
import { nameCells } from "./name-cells.ts";
import type { VerifyModel, VerifyNode, VerifyPod, VerifyService, VerifyServicePort } from "../model.ts";

/** Up to here every node with a pod asks every Service port; beyond, each node asks some of them. */
const NODE_TIMES_PORT_MAX = 2_000;
/** Connections of all sweeps together; beyond, the classes of nodes take turns. */
const SWEEP_ATTEMPTS_MAX = 20_000;
/** Ports that each node asks when there are too many. */
const PORTS_PER_NODE = 4;

function addressTarget(asked: AskedPort, answerers: readonly string[] | undefined): CellTarget {
  const { service, port } = asked;
  return {
    reference: service.reference,
    address: service.clusterIp,
    name: undefined,
    port: port.port,
    answerers,
  };
}

/** Pods that may stand for others, by the class of their node and by their network. */
function clientsByClass(model: VerifyModel): ReadonlyMap<string, readonly VerifyPod[]> {
  return Map.groupBy(model.pods.filter(isOrdinary), classOfClient);
}

/** As the article of 2017 has it a Windows node stays with one back end for all clients. */
function balancedProbe({ asDocumented }: VerifyModel, { node }: VerifyPod): "sweep" | "same" {
  return asDocumented === "2017" && node.os === "windows" ? "same" : "sweep";
}

function clusterIpCell(
  model: VerifyModel,
  asked: AskedPort,
  client: VerifyPod,
  { isSwept, standsFor }: { readonly isSwept: boolean; readonly standsFor: number },
): Cell {
  const { service, port } = asked;
  return makeCell({
    facts: serviceFacts(model, "pod-to-cluster-ip", port.protocol, { source: client, service, port }),
    source: client,
    target: addressTarget(asked, answerersOf(backEndsFor(asked, client.node, model))),
    // A client that sticks to one back end cannot see the others.
    probe: isSwept && !service.hasAffinity ? balancedProbe(model, client) : "once",
    standsFor,
    ...whyItFails(asked, client.node, model),
  });
}

/**
 * Each Service port from one pod of each node class to each back end, and once more from every node. When that is too
 * much, the classes take turns: each port is swept from one of them and asked once from the others.
 */
function toClusterIp(model: VerifyModel): readonly Cell[] {
  const ports = listPorts(model.services);
  const classes = [...clientsByClass(model).values()];
  const attempts = ports.reduce((sum, { port }) => sum + port.backEnds.length, 0) * classes.length;
  const isSmall = attempts <= SWEEP_ATTEMPTS_MAX;
  const cells = classes.flatMap((clients, turn) =>
    ports.flatMap((asked, index) => {
      const client = clientAmong(clients, asked.port, model, index);
      if (client === undefined) return [];
      const isSwept = isSmall || index % classes.length === turn;
      const standsFor = clients.length * Math.max(1, asked.port.backEnds.length);
      return [clusterIpCell(model, asked, client, { isSwept, standsFor })];
    }),
  );
  return [...cells, ...fromEachNode(model, ports)];
}

/**
 * Ports in the order of the nodes of their first back ends: who asks some of them asks near ones, so that what is near can be tried
 * without the rest.
 */
function inOrderOfNodes(ports: readonly AskedPort[], nodes: readonly string[]): readonly AskedPort[] {
  const places = new Map(nodes.map((name, place) => [name, place]));
  const placeOf = ({ port }: AskedPort): number =>
    places.get(port.backEnds[0]?.pod?.node.name ?? "") ?? nodes.length;
  return ports.toSorted((a, b) => placeOf(a) - placeOf(b));
}

function fromEachNode(model: VerifyModel, ports: readonly AskedPort[]): readonly Cell[] {
  const byNode = Map.groupBy(model.pods.filter(isOrdinary), (pod) => pod.node.name);
  const isSmall = byNode.size * ports.length <= NODE_TIMES_PORT_MAX;
  const sorted = isSmall ? ports : inOrderOfNodes(ports, [...byNode.keys()]);
  return [...byNode.values()].flatMap((clients, node) => {
    // From the next node's on: what a node asks itself is another flow.
    const first = Math.floor(((node + 1) * sorted.length) / byNode.size);
    const asked = isSmall
      ? sorted
      : Array.from({ length: PORTS_PER_NODE }, (_, index) => sorted[(first + index) % sorted.length]);
    return asked.flatMap((each) => {
      if (each === undefined || each.service.kind !== "cluster-ip") return [];
      const client = clientAmong(clients, each.port, model);
      return client === undefined
        ? []
        : [clusterIpCell(model, each, client, { isSwept: false, standsFor: 0 })];
    });
  });
}

/** Echo requests to one Service from one pod of each class of Windows nodes. */
function pings(model: VerifyModel): readonly Cell[] {
  const balanced = listPorts(model.services).filter(({ service }) => service.kind === "cluster-ip");
  return [...clientsByClass(model).values()].flatMap((clients) => {
    const source = clients.find((pod) => pod.node.os === "windows");
    if (source === undefined) return [];
    const asked = balanced.find((each) => backEndsFor(each, source.node, model).length > 0);
    if (asked === undefined) return [];
    const { service, port } = asked;
    return makeCell({
      facts: serviceFacts(model, "pod-to-cluster-ip", "icmp", { source, service, port }),
      source,
      target: { ...addressTarget(asked, undefined), port: 0 },
      standsFor: clients.length * model.services.length,
    });
  });
}

/** A back end that asks its own Service: one for each class of nodes. */
function toOwnService(model: VerifyModel): readonly Cell[] {
  return listPorts(model.services).flatMap((asked) => {
    const { service, port } = asked;
    if (service.kind !== "cluster-ip") return [];
    // Where clients stay with one back end it is not known whether one is led to itself, unless it is the only one.
    const isStuck = service.hasAffinity || model.asDocumented === "2017";
    if (isStuck && port.backEnds.length > 1) return [];
    // kube-proxy of its own node leads no client to a pod of another network.
    const own = port.backEnds.flatMap(({ pod }) =>
      pod !== undefined && isOrdinary(pod) && isServed(pod) ? [pod] : [],
    );
    return [...Map.groupBy(own, (pod) => `${pod.node.nodeClass} ${pod.limitKind}`).values()].flatMap(
      (members) => {
        const [source] = members;
        if (source === undefined) return [];
        return makeCell({
          facts: serviceFacts(model, "pod-to-own-service", port.protocol, { source, service, port }),
          source,
          target: addressTarget(asked, [source.serverName]),
          probe: "own",
          among: port.backEnds.length,
          standsFor: members.length,
          ...whyItFails(asked, source.node, model),
        });
      },
    );
  });
}

/** From the nodes' own stacks: one Service port for each class of nodes and kind of Service. */
function fromNodes(model: VerifyModel): readonly Cell[] {
  const reachable = listPorts(model.services).filter(({ service }) => service.kind === "cluster-ip");
  const kinds = Map.groupBy(reachable, kindOf);
  return [...Map.groupBy(model.nodes, (node) => node.nodeClass).values()].flatMap((nodes) =>
    [...kinds.values()].flatMap((ports) => {
      const [asked] = ports;
      const [source] = nodes;
      if (asked === undefined || source === undefined) return [];
      const { service, port } = asked;
      return makeCell({
        facts: serviceFacts(model, "node-to-cluster-ip", port.protocol, { source, service, port }),
        source,
        target: addressTarget(asked, answerersOf(backEndsFor(asked, source, model))),
        standsFor: nodes.length * ports.length,
        ...whyItFails(asked, source, model),
      });
    }),
  );
}

/** What makes Service ports alike to a node that asks them. */
function kindOf({ service, port }: AskedPort): string {
  const { hasAffinity, internalTrafficPolicy, externalTrafficPolicy } = service;
  const limited = [...new Set(port.backEnds.map(({ pod }) => pod?.limitKind ?? ""))].toSorted().join(",");
  return `${port.protocol} ${hasAffinity} ${internalTrafficPolicy} ${externalTrafficPolicy} ${port.backEnds.length === 0} ${new Set(port.backEnds.map((each) => each.port)).size > 1} ${limited}`;
}

function affinity(model: VerifyModel): readonly Cell[] {
  const ports = listPorts(model.services).filter(({ service }) => service.hasAffinity);
  return ports.flatMap((asked) =>
    [...clientsByClass(model).values()].flatMap((clients) => {
      const { service, port } = asked;
      const source = clientAmong(clients, port, model);
      if (source === undefined) return [];
      const target = addressTarget(asked, answerersOf(backEndsFor(asked, source.node, model)));
      const facts = (flow: FlowName) => serviceFacts(model, flow, port.protocol, { source, service, port });
      const cell = makeCell({
        facts: facts("session-affinity"),
        source,
        target,
        probe: "same",
        standsFor: clients.length,
        ...whyItFails(asked, source.node, model),
      });
      const waitS = service.affinityTimeoutS;
      if (waitS === undefined) return [cell];
      const later = makeCell({
        facts: facts("session-affinity-timeout"),
        source,
        target,
        probe: "later",
        waitS,
      });
      return [cell, later];
    }),
  );
}

/** All cells with Services. */
export function serviceCells(
  model: VerifyModel,
  nodeBehind: (address: Ip) => VerifyNode | undefined,
): readonly Cell[] {
  return [
    ...toClusterIp(model),
    ...pings(model),
    ...toOwnService(model),
    ...nameCells(model),
    ...fromNodes(model),
    ...nodePortCells(model),
    ...ingressCells(model, nodeBehind),
    ...affinity(model),
  ];
}

/**
 * True where the policy Local keeps the client among the pods of the node that it asks. kube-proxy on Linux sends what the
 * node itself asks to all of them (k8s.io/kubernetes, pkg/proxy/iptables: the rule for --src-type LOCAL).
 */
function staysOnNode({ externalTrafficPolicy }: VerifyService, node: VerifyNode, isOwn: boolean): boolean {
  return externalTrafficPolicy === "Local" && !(isOwn && node.os === "linux");
}

/** A node's address and port, as the target of a cell; `isOwn`: it is the node itself that asks. */
function nodePortTarget(node: VerifyNode, asked: AskedPort, nodePort: number, isOwn = false): CellTarget {
  const { service, port } = asked;
  const known = port.backEnds.filter((each) => !isLeftOut(each, node));
  const candidates = staysOnNode(service, node, isOwn)
    ? known.filter(({ pod }) => pod?.node.index === node.index)
    : known;
  const answerers = answerersOf(candidates.length === 0 ? port.backEnds : candidates);
  return { reference: node.reference, address: node.address, name: undefined, port: nodePort, answerers };
}

/** Nodes that differ to who asks a NodePort from outside: by class, with and without back ends of their own. */
function nodesToAsk(model: VerifyModel, port: VerifyServicePort): readonly (readonly VerifyNode[])[] {
  return [...Map.groupBy(model.nodes, (node) => `${node.nodeClass} ${countLocal(port, node) > 0}`).values()];
}

/** NodePorts from outside, from the node itself and from another node. */
export function nodePortCells(model: VerifyModel): readonly Cell[] {
  const [client] = model.outside;
  return listPorts(model.services).flatMap((asked) => {
    const { service, port } = asked;
    const { nodePort } = port;
    if (nodePort === undefined) return [];
    const cellFor = (
      flow: FlowName,
      source: VerifyNode | typeof client,
      node: VerifyNode,
      standsFor: number,
    ) =>
      source === undefined
        ? []
        : [
            makeCell({
              facts: serviceFacts(model, flow, port.protocol, { source, service, port, asked: node }),
              source,
              target: nodePortTarget(node, asked, nodePort, source === node),
              standsFor,
              ...whyItFails(asked, node, model),
            }),
          ];
    return nodesToAsk(model, port).flatMap((nodes) => {
      const [node] = nodes;
      if (node === undefined) return [];
      const other = model.nodes.find((each) => each.index !== node.index);
      return [
        ...cellFor("outside-to-node-port", client, node, nodes.length),
        ...cellFor("node-to-own-node-port", node, node, nodes.length),
        ...cellFor("node-to-node-port", other, node, nodes.length * (model.nodes.length - 1)),
      ];
    });
  });
}

/** `nodeBehind`: the node to which the network leads the address of a load balancer. */
export function ingressCells(
  model: VerifyModel,
  nodeBehind: (address: Ip) => VerifyNode | undefined,
): readonly Cell[] {
  const [source] = model.outside;
  if (source === undefined) return [];
  return listPorts(model.services).flatMap((asked) =>
    asked.service.ingress.flatMap((address) => {
      const node = nodeBehind(address);
      if (node === undefined) return [];
      const { service, port } = asked;
      const target = nodePortTarget(node, asked, port.port);
      return makeCell({
        facts: serviceFacts(model, "outside-to-ingress", port.protocol, {
          source,
          service,
          port,
          asked: node,
        }),
        source,
        target: { ...target, reference: formatIp(address), address },
        ...whyItFails(asked, node, model),
      });
    }),
  );
}
