// Containers of one pod share its namespace: its compartment, its ports, its 127.0.0.1; nobody else is there (cni.md §2.7).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { parseIdentification, IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { getNamespaceEndpointIds } from "#contracts/hcn/operations.ts";
import { formatIp } from "#core/net/ip.ts";
import {
  type SessionWorld,
  apply,
  clusterText,
  openSessionWorld,
} from "#test/support/cluster/session-world.ts";
import { ip } from "#test/support/dataplane/stack-world.ts";
import type { ClusterPod } from "../cluster.ts";
import { runAttempt } from "../trace/attempts.ts";
import { hcnClientOf } from "../machines/windows-node.ts";

/** A pod of two containers on a Windows node; only one has a port that the API knows. */
const PODS = ["web", "other"]
  .map(
    (name) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers:
    - { name: app, image: app, ports: [{ containerPort: 8080 }] }
    - { name: sidecar, image: sidecar }
---`,
  )
  .join("");

async function makeWorld(): Promise<SessionWorld> {
  const world = await openSessionWorld(clusterText());
  await apply(world, PODS);
  return world;
}

function podNamed({ session }: SessionWorld, name: string): ClusterPod {
  return defined(
    session.cluster.pods.find(({ spec }) => spec.name === name),
    name,
  );
}

/** Who answers on that address, and whom it saw; or why nobody did. */
function probe(world: SessionWorld, from: Compartment, protocol: "tcp" | "udp", destination: string): string {
  const to = ip(destination);
  const result = runAttempt(world.session.cluster, { from, to, protocol, port: 9000, isFollowed: false });
  if (result.outcome !== "answered") return result.outcome;
  const answer = defined(parseIdentification(result.answer), "an identification");
  return `${answer.name} saw ${formatIp(answer.clientIp)}`;
}

describe("containers of one namespace", () => {
  it("both start in the namespace, and share its endpoint in HNS", async () => {
    const world = await makeWorld();
    const pod = podNamed(world, "web");
    const client = hcnClientOf(pod.node);
    const Namespace = defined(pod.namespaceId, "namespace");
    const systems = (await client.computeSystems?.list()) ?? [];
    const own = systems.flatMap(({ Id, Namespace: id }) => (id === Namespace ? [Id] : []));
    expect(own).toEqual(["default_web", "default_web_app", "default_web_sidecar"]);
    const endpoints = await getNamespaceEndpointIds(client, Namespace);
    expect(endpoints).toHaveLength(1);
    for (const id of endpoints)
      expect(await client.call("GET", `/endpoints/${id}`, "")).toMatchObject({
        Output: { SharedContainers: own },
      });
  });

  it.each(["tcp", "udp"] as const)(
    "reach each other on 127.0.0.1 over %s, as packets of the pod's stack",
    async (kind) => {
      const world = await makeWorld();
      const { compartment } = podNamed(world, "web");
      const sidecar = new IdentificationServer(compartment, "sidecar");
      expect(
        kind === "tcp" ? sidecar.listenTcp(9000, ip("127.0.0.1")) : sidecar.listenUdp(9000, ip("127.0.0.1")),
      ).toBe(undefined);
      expect(probe(world, compartment, kind, "127.0.0.1")).toBe("sidecar saw 127.0.0.1");
    },
  );

  it("nobody else has that 127.0.0.1: neither another pod nor the node, nor the pod's own address", async () => {
    const world = await makeWorld();
    const web = podNamed(world, "web");
    const sidecar = new IdentificationServer(web.compartment, "sidecar");
    sidecar.listenTcp(9000, ip("127.0.0.1"));
    expect(probe(world, podNamed(world, "other").compartment, "tcp", "127.0.0.1")).toBe("refused");
    expect(probe(world, web.node.host.root, "tcp", "127.0.0.1")).toBe("refused");
    expect(probe(world, podNamed(world, "other").compartment, "tcp", formatIp(web.address))).toBe("refused");
  });

  it("have one space of ports", async () => {
    const world = await makeWorld();
    const { compartment } = podNamed(world, "web");
    const [first, second] = ["app", "sidecar"].map((name) => new IdentificationServer(compartment, name));
    expect(first?.listenTcp(9000)).toBe(undefined);
    expect(second?.listenTcp(9000)).not.toBe(undefined);
  });
});
