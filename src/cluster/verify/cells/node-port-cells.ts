/** Cells to ports of nodes and to the addresses of load balancers. */
import type { FlowName } from "#core/catalogue/expectations.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type Cell, type CellTarget, makeCell } from "./cell.ts";
import { groupBy } from "../classes.ts";
import { countLocal, serviceFacts } from "../facts.ts";
import type { VerifyModel, VerifyNode, VerifyServicePort } from "../model.ts";
import { type ServicePort, answerersOf, isLeftOut, listPorts } from "../service-port.ts";

/** A node's address and port, as the target of a cell. */
function nodePortTarget(node: VerifyNode, asked: ServicePort, nodePort: number): CellTarget {
  const { service, port } = asked;
  const isLocal = service.externalTrafficPolicy === "Local";
  const known = port.backEnds.filter((each) => !isLeftOut(each, node));
  const candidates = isLocal ? known.filter(({ pod }) => pod?.node.index === node.index) : known;
  const answerers = answerersOf(candidates.length === 0 ? port.backEnds : candidates);
  return { reference: node.reference, address: node.address, name: undefined, port: nodePort, answerers };
}

/** Nodes that differ to who asks a NodePort from outside: by class, with and without back ends of their own. */
function nodesToAsk(model: VerifyModel, port: VerifyServicePort): readonly (readonly VerifyNode[])[] {
  return [...groupBy(model.nodes, (node) => `${node.nodeClass} ${countLocal(port, node) > 0}`).values()];
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
              target: nodePortTarget(node, asked, nodePort),
              standsFor,
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
      });
    }),
  );
}
