// The API server of a cluster that runs: its port is closed while it is down, and Services outlive that.
import { expect, it } from "vitest";
import { apiServerObjects } from "../session/built-in-objects.ts";
import { parseIpv4, parsePrefix } from "#core/net/ip.ts";
import { ask, clusterText, openSessionWorld } from "#test/support/cluster/session-world.ts";
import { apiServiceManifests } from "./api-server.ts";

it("answers while the API server is up", async () => {
  const world = await openSessionWorld(`${clusterText()}pods:\n  - { name: client, node: win-1 }\n`);
  const asked = (): string => ask(world, "pod/client", "service/kubernetes", { port: 443 });
  expect(asked()).toMatch(/^kube-apiserver saw 10\.0\.0\.11/);
  await world.session.setApiServer("down");
  expect(asked()).toBe("refused");
  await world.session.setApiServer("up");
  expect(asked()).toMatch(/^kube-apiserver saw 10\.0\.0\.11/);
});

// pkg/controlplane/reconcilers/endpointsadapter.go and controller/kubernetesservice of k8s.io/kubernetes.
it("a server without machines names the address that it listens on", () => {
  const objects = apiServiceManifests(parsePrefix("10.96.0.0/12")!, [parseIpv4("192.0.2.2")!, 6443]);
  expect(apiServerObjects({ objects }).map(({ object }) => object)).toMatchObject([
    { kind: "Service", spec: { clusterIP: "10.96.0.1", ports: [{ name: "https", port: 443 }] } },
    { kind: "Endpoints", subsets: [{ addresses: [{ ip: "192.0.2.2" }], ports: [{ port: 6443 }] }] },
    {
      kind: "EndpointSlice",
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.2"] }],
      ports: [{ port: 6443 }],
    },
  ]);
});
