/** What lives through a restart of the service and a reboot of the node (hcn.md §4.6, §4.2). */
import { beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const KINDS = ["Network", "Namespace", "Endpoint", "LoadBalancer", "SdnRoute"] as const;

function counts(node: HnsNode): readonly number[] {
  return KINDS.map((kind) => node.service.enumerate(kind).length);
}

function add(ResourceType: string, Settings: JsonObject): JsonObject {
  return { RequestType: "Add", ResourceType, Settings };
}

interface Objects {
  readonly network: string;
  readonly namespace: string;
  readonly pod: string;
  readonly idle: string;
}

/** A network with a pod, an idle endpoint, a load balancer and a route. */
function fill(node: HnsNode): Objects {
  const { service } = node;
  const network = service.create("Network", { ...V2, ...CBR0 });
  const namespace = service.create("Namespace", { ...V2, Type: "Host" });
  const pod = service.create("Endpoint", { ...V2, Name: "pod" }, { network });
  const idle = service.create("Endpoint", { ...V2, Name: "idle" }, { network });
  service.modify("Namespace", namespace, add("Endpoint", { EndpointId: pod }));
  service.modify("Namespace", namespace, add("Container", { ContainerId: "c1" }));
  service.create("LoadBalancer", {
    ...V2,
    HostComputeEndpoints: [pod],
    FrontendVIPs: ["10.96.0.10"],
    PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 80 }],
  });
  service.create("SdnRoute", {
    ...V2,
    HostComputeEndpoints: [pod],
    Setting: [{ DestinationPrefix: "169.254.169.254/32", NextHop: "10.244.2.1", NeedEncap: true }],
  });
  node.service.takeNotifications();
  return { network, namespace, pod, idle };
}

describe("a restart of the service", () => {
  let node: HnsNode;
  let objects: Objects;

  beforeEach(() => {
    node = hnsNode();
    objects = fill(node);
  });

  it("keeps all objects, and endpoints stay attached", () => {
    const [before, ports] = [node.service.export(), node.datapath.listVnics()];
    node.service.restart("keep");
    expect(node.service.export()).toEqual(before);
    expect(node.datapath.listVnics()).toEqual(ports);
  });

  it("can forget load balancers and routes, which are HNS' memory only", () => {
    node.service.restart("forget-load-balancers");
    expect(counts(node)).toEqual([1, 2, 2, 0, 0]);
    expect(node.service.query("Endpoint", objects.pod, V2)).toMatchObject({ State: 3 });
    expect(node.datapath.listVnics()[0]?.program?.groups.LB_DSR).toEqual([]);
  });

  it("without its state has nothing but the host's own namespace, and no switch", () => {
    node.service.restart("lose");
    expect(counts(node)).toEqual([0, 1, 0, 0, 0]);
    expect(node.datapath.listSwitches()).toEqual([]);
    expect(node.datapath.listCompartments()).toEqual([]);
  });

  it.each([
    ["F-15", "load-balancers-lost-at-restart", [1, 2, 2, 0, 0]],
    ["F-40", "endpoints-lost-at-restart", [1, 2, 1, 1, 1]],
  ] as const)("%s has the defect %s when it is set", (_id, quirk, left) => {
    node = hnsNode({ quirks: { [quirk]: "on" } });
    fill(node);
    node.service.restart();
    expect(counts(node)).toEqual(left);
  });

  it("has the defect loopback-gateway-not-reloaded: the network whose gateway the node has on a loopback adapter goes", () => {
    const loopback = { name: "Loopback", address: "10.244.2.1/32", mac: "00-22-48-01-02-04" };
    const ethernet = { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" };
    node = hnsNode({ quirks: { "loopback-gateway-not-reloaded": "on" }, adapters: [ethernet, loopback] });
    fill(node);
    node.service.restart();
    expect(counts(node)).toEqual([0, 2, 0, 0, 0]);
  });

  it("tells nobody of single objects", () => {
    node.service.restart("lose");
    expect(node.service.takeNotifications()).toEqual([]);
  });

  it("gives new objects other identifiers than before", () => {
    node.service.restart("lose");
    const again = fill(node);
    expect(Object.values(again)).not.toContain(objects.network);
  });
});

describe("a service that is down", () => {
  it("fails every call with 0x800706ba until it is up again", () => {
    const node = hnsNode();
    const { network } = fill(node);
    node.service.stop();
    const calls: readonly (() => unknown)[] = [
      () => node.service.enumerate("Network"),
      () => node.service.create("Network", { ...V2, ...CBR0 }),
      () => node.service.query("Network", network),
      () => node.service.modify("Network", network, {}),
      () => node.service.delete("Network", network),
      () => node.service.call("GET", "/networks/", ""),
    ];
    for (const call of calls) expect(call).toThrow(expect.objectContaining({ hresult: 0x8007_06ba }));
    node.service.start();
    expect(node.service.enumerate("Network")).toEqual([network]);
  });
});

describe("a reboot of the node", () => {
  it("brings networks and endpoints back, detached; load balancers, routes and namespaces are gone", () => {
    const node = hnsNode();
    const { pod } = fill(node);
    node.service.reboot();
    expect(counts(node)).toEqual([1, 1, 2, 0, 0]);
    const document = node.service.query("Endpoint", pod, V2);
    expect(document).toMatchObject({ State: 1 });
    expect(document["HostComputeNamespace"]).toBeUndefined();
    expect(node.datapath.listVnics()).toEqual([]);
    expect(node.datapath.listCompartments()).toEqual([]);
  });

  it("lets an endpoint be attached again", () => {
    const node = hnsNode();
    const { pod } = fill(node);
    node.service.reboot();
    const namespace = node.service.create("Namespace", { ...V2, Type: "Host" });
    node.service.modify("Namespace", namespace, add("Endpoint", { EndpointId: pod }));
    expect(node.datapath.listVnics()).toHaveLength(1);
  });

  it.each([
    ["a NAT network", { Type: "NAT" }, 0],
    ["a NAT network with EnablePersistent (16)", { Type: "NAT", Flags: 16 }, 1],
    ["a network with EnableNonPersistent (8)", { ...CBR0, Flags: 8 }, 0],
    ["any other network", CBR0, 1],
  ] as const)("of %s leaves its part", (_what, document, left) => {
    const node = hnsNode();
    const network = node.service.create("Network", { ...V2, Name: "one", ...document });
    node.service.create("Endpoint", V2, { network });
    node.service.reboot();
    expect([node.service.enumerate("Network").length, node.service.enumerate("Endpoint").length]).toEqual([
      left,
      left,
    ]);
  });

  it("brings the Default Switch of a client back, which is not persistent, and which the service makes when it starts", () => {
    const node = hnsNode({ profile: "win11-21h2", networking: { hasDefaultSwitch: true } });
    const before = node.service.enumerate("Network");
    expect(before).toEqual(["c08cb7b8-9b3c-408e-8e30-5e16a3aeb444"]);
    node.service.reboot();
    expect(node.service.enumerate("Network")).toEqual(before);
  });

  it("takes all networks with it where the defect networks-lost-at-reboot is set", () => {
    const node = hnsNode({ quirks: { "networks-lost-at-reboot": "on" } });
    fill(node);
    node.service.reboot();
    expect(counts(node)).toEqual([0, 1, 0, 0, 0]);
  });
});
