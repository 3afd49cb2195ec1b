/** The servers behind Service `kubernetes`: on control-plane nodes, or on machines of their own. */
import { defined } from "#core/base/assert.ts";
import type { OutsideHost } from "#dataplane/fabric/outside-host.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { prefixContains } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import { addFabricRoutes } from "../networks/pod-gateways.ts";
import type { ApiServerPlace, ApiServerPlan } from "../services/api-server.ts";
import { PodRoutes } from "./windows-node.ts";

/** As kubeadm calls its static pod, with the node's name behind it. */
const SERVER_NAME = "kube-apiserver";

/** A name that no node and no host outside has. */
function freeName({ nodes, outside, apiServers }: Cluster): string {
  const taken = new Set([
    ...nodes.map(({ spec }) => spec.name),
    ...[...outside, ...apiServers].map(({ name }) => name),
  ]);
  for (let count = 1; ; count++) {
    const name = count === 1 ? SERVER_NAME : `${SERVER_NAME}-${count}`;
    if (!taken.has(name)) return name;
  }
}

/** A machine of its own; one beside the nodes knows the ways to pods that each node knows, as a control-plane node does. */
function addMachine(cluster: Cluster, { address }: ApiServerPlace): OutsideHost {
  const { file, underlay } = cluster;
  const name = freeName(cluster);
  const isBeside = prefixContains(file.underlay.subnet, address);
  const machine = isBeside
    ? underlay.addMachine({ name, ip: address })
    : underlay.addOutsideHost({ name, ip: address });
  if (isBeside) {
    const asNode = { host: machine.host, spec: { name, address } };
    new PodRoutes(file).addTo(asNode);
    addFabricRoutes(file, asNode);
  }
  cluster.apiServers.push(machine);
  return machine;
}

interface ApiServer {
  readonly server: IdentificationServer;
  readonly port: number;
}

/** The API servers of a running cluster, as far as packets meet them. */
export class ApiServerMachines {
  private readonly servers: readonly ApiServer[];

  /** Adds the machines that `plan` needs beside the nodes; nobody answers before the first `sync`. */
  constructor(cluster: Cluster, plan: ApiServerPlan) {
    this.servers = plan.places.map((place) => {
      const { node, port } = place;
      if (node === undefined) return { server: addMachine(cluster, place).server, port };
      const { host } = defined(
        cluster.nodes.find(({ spec }) => spec.name === node),
        "an API server is planned on a node of the cluster",
      );
      return { server: new IdentificationServer(host.root, `${SERVER_NAME}-${node}`), port };
    });
  }

  /** Opens the ports while the API server is up. One that a pod of the node's own network has is left to it. */
  sync(isUp: boolean): void {
    for (const { server, port } of this.servers) {
      if (!isUp) server.leavePort(port);
      else server.listenTcp(port);
    }
  }
}
