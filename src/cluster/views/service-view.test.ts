/** `GET /services`: Service ↔ load balancers of HNS ↔ rules of VFP, with what is missing or stale. */
import { beforeAll, describe, expect, it } from "vitest";
import { createLoadBalancer, deleteLoadBalancer, listEndpoints } from "#contracts/hcn/operations.ts";
import {
  type SessionWorld,
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  service,
} from "#test/support/cluster/session-world.ts";
import { type ServiceFrontEnd, viewServices } from "./service-view.ts";
import { hcnClientOf } from "../machines/windows-node.ts";

const PORT = "ports: [{ port: 80, targetPort: 8080 }]";
const of = (app: string): string => `selector: { app: ${app} }, ${PORT}`;

function short({ name, frontEnd, state, backEnds, rules, findings }: ServiceFrontEnd): string {
  const why = findings.map(({ code }) => code).join(",");
  return `${name} ${frontEnd ?? ""} ${state} ${backEnds.length} ${rules > 0 ? "rules" : "no rules"} ${why}`.trim();
}

describe("Services on a Windows node", () => {
  let world: SessionWorld;

  async function view(): Promise<readonly string[]> {
    const { session } = world;
    const items = await viewServices(session.cluster, (node) => session.servicesOn(node), "win-1");
    return items.filter(({ namespace, name }) => namespace === "default" && name !== "kubernetes").map(short);
  }

  beforeAll(async () => {
    world = await openSessionWorld(clusterText());
    await apply(
      world,
      `${deployment("web", "windows", 2)}${service("web", of("web"))}${service("empty", of("nobody"))}`,
    );
  });

  it("what is programmed, and what is not, with the reason", async () => {
    expect(await view()).toEqual([
      "empty ClusterIP missing 0 no rules service-without-usable-endpoints",
      "web ClusterIP programmed 2 rules",
    ]);
  });

  it("what HNS lost is missing, and what nobody asked for is stale", async () => {
    const node = world.session.cluster.nodes.find(({ spec }) => spec.name === "win-1")!;
    const client = hcnClientOf(node);
    const { session } = world;
    const list = (): Promise<readonly ServiceFrontEnd[]> =>
      viewServices(session.cluster, (name) => session.servicesOn(name), "win-1");
    const web = (await list()).find(({ name }) => name === "web");
    await deleteLoadBalancer(client, web!.loadBalancer!);
    const pod = (await listEndpoints(client)).find(({ Flags = 0 }) => (Flags & 1) === 0)!;
    await createLoadBalancer(client, {
      HostComputeEndpoints: [pod.ID],
      FrontendVIPs: ["10.96.77.77"],
      PortMappings: [{ Protocol: 6, InternalPort: 1, ExternalPort: 1 }],
    });
    expect(await view()).toEqual([
      "empty ClusterIP missing 0 no rules service-without-usable-endpoints",
      "web ClusterIP missing 0 no rules hns-load-balancers-lost",
    ]);
    const all = await list();
    expect(
      all.filter(({ state }) => state === "stale").map(({ vip, backEnds }) => [vip, backEnds.length]),
    ).toEqual([["10.96.77.77", 1]]);
  });
});
