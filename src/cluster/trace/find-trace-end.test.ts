// Who is meant by the words on a command line: pods, nodes, hosts outside, Services, addresses.
import { beforeAll, describe, expect, it } from "vitest";
import {
  type SessionWorld,
  clusterText,
  deployment,
  openSessionWorld,
  service,
} from "#test/support/cluster/session-world.ts";
import { findTraceEnd } from "./find-trace-end.ts";
import { RequestError } from "../request-error.ts";

function pod(namespace: string, name: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }
spec: { nodeName: win-1, containers: [{ name: c, image: x, ports: [{ containerPort: 8080 }] }] }
---`;
}

let world: SessionWorld;
beforeAll(async () => {
  const shop = "name: web, namespace: shop";
  world = await openSessionWorld(
    clusterText(),
    [
      pod("default", "web"),
      pod("shop", "web"),
      pod("shop", "cart"),
      pod("pod", "lone"),
      deployment("front", "windows", 2),
      deployment("back", "linux", 1).replace("name: back", "name: back, namespace: shop"),
      service("web", "clusterIP: 10.96.1.1, ports: [{ port: 80 }]"),
      service("web", "clusterIP: 10.96.1.2, ports: [{ port: 80 }]").replace("name: web", shop),
      service("pods", "clusterIP: None, ports: [{ port: 80 }]"),
      service("alias", "type: ExternalName, externalName: www.example.com"),
    ].join(""),
  );
});

describe("a party", () => {
  it.each([
    ["pod/default/web", "pod/default/web"],
    ["pod/shop/web", "pod/shop/web"],
    ["shop/web", "pod/shop/web"],
    ["pod/web", "pod/default/web"],
    ["web", "pod/default/web"],
    ["cart", "pod/shop/cart"],
    ["pod/lone", "pod/pod/lone"],
    ["pod/pod/lone", "pod/pod/lone"],
    ["node/win-2", "node/win-2"],
    ["external", "external"],
    ["outside", "external"],
    ["203.0.113.10", "external"],
    ["10.0.0.12", "node/win-2"],
    ["service/web", "service/default/web"],
    ["svc/web", "service/default/web"],
    ["svc/shop/web", "service/shop/web"],
    ["10.96.1.2", "10.96.1.2"],
    ["192.0.2.1", "192.0.2.1"],
  ])("%s is %s", (text, reference) => {
    expect(findTraceEnd(world.session.cluster, text).description.reference).toBe(reference);
  });

  it.each([
    ["deployment/front", /^pod\/default\/front-/],
    ["deploy/default/front", /^pod\/default\/front-/],
    ["deployments/back", /^pod\/shop\/back-/],
  ])("%s is the first pod of a workload", (text, reference) => {
    expect(findTraceEnd(world.session.cluster, text).description.reference).toMatch(reference);
  });

  it.each([
    ["service/pods", "service/default/pods has no address of its own: it is headless"],
    ["service/alias", "service/default/alias has no address of its own: it is an ExternalName"],
    ["service/wbe", 'Did you mean "service/web"?'],
    ["svc/shop/wbe", 'Did you mean "service/shop/web"?'],
    ["pod/shop/wbe", 'Did you mean "pod/shop/web"?'],
    ["front", 'Did you mean "front-'],
    ["pod/front", 'Did you mean "pod/front-'],
    ["deploy/shop/front", "nothing in cluster"],
    ["daemonset/front", "nothing in cluster"],
    ["node/win-3", 'Did you mean "node/win-'],
  ])("%s is nobody: %s", (text, words) => {
    const find = (): unknown => findTraceEnd(world.session.cluster, text);
    expect(find).toThrow(RequestError);
    try {
      find();
    } catch (error) {
      const { message, advice } = error as RequestError;
      expect(`${message} ${advice}`).toContain(words);
    }
  });
});
