// What the server does where the annotation of a pod is missing, wrong, or changes under a running pod (control-planes.md §4.2, "Per
// pod"; go-controller/pkg/cni/cni.go and pkg/util/pod_annotation.go of ovn-kubernetes).
import { describe, expect, it } from "vitest";
import { errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { FakeHcnClient } from "#test/support/hns/fake-hcn-client.ts";
import { answerCniRequest } from "./cni-requests.ts";
import { OvnK8sCniOverlay } from "./cni-plugin.ts";
import { type AnnotatedPod, OvnCniServer } from "./cni-server.ts";

const NAMESPACE = "7cb720c0-ac4c-4266-92e1-dc277b2a9b94";
const CONFIGURATION = { cniVersion: "0.4.0", name: "ovn-kubernetes", type: "ovn-k8s-cni-overlay" };
const NETWORKS = {
  ip_addresses: ["10.128.2.5/24"],
  mac_address: "0a:58:0a:80:02:05",
  gateway_ips: ["10.128.2.1"],
  ip_address: "10.128.2.5/24",
  gateway_ip: "10.128.2.1",
};

function node(networks: object | string | null = NETWORKS) {
  const client = new FakeHcnClient();
  client.put("Network", { ID: "0fb28d70-306c-469d-9690-3245a82d8800", Name: "OVN", Type: "Transparent" });
  client.put("Namespace", { ID: NAMESPACE });
  const textOf = (value: object | string | null): string | undefined =>
    typeof value === "string" ? value : value === null ? undefined : JSON.stringify({ default: value });
  const pods = new Map<string, AnnotatedPod>([["default/web", { uid: "u1", networks: textOf(networks) }]]);
  const server = new OvnCniServer(client, { name: "OVN" }, (namespace, name) =>
    pods.get(`${namespace}/${name}`),
  );
  const plugin = new OvnK8sCniOverlay((body) => answerCniRequest(server, body), { compat: "hardened" });
  const add = async (uid = "u1", runtimeConfig: object = {}) =>
    runWithTexts(plugin, {
      stdin: { ...CONFIGURATION, runtimeConfig },
      env: {
        CNI_NETNS: NAMESPACE,
        CNI_ARGS: `K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=${uid}`,
      },
    });
  const write = (changed: object): void => {
    pods.set("default/web", { uid: "u1", networks: textOf(changed) });
  };
  return { client, server, add, write };
}

describe("the annotation of a pod", () => {
  it("gives the endpoint its addresses", async () => {
    const { client, server, add } = node();
    expect(JSON.parse((await add()).stdout)).toMatchObject({
      ips: [{ address: "10.128.2.5/24", gateway: "10.128.2.1" }],
    });
    expect(client.list("Endpoint")).toMatchObject([
      {
        Name: "default_web",
        MacAddress: "0A-58-0A-80-02-05",
        IpConfigurations: [{ IpAddress: "10.128.2.5", PrefixLength: 24 }],
      },
    ]);
    expect(server.listPorts()).toMatchObject([{ id: "default_web", version: "u1", address: "10.128.2.5" }]);
  });

  it("comes beside the names that the runtime gives (capability dns)", async () => {
    const { client, add } = node();
    const dns = { servers: ["172.30.0.10", 5], searches: ["default.svc.cluster.local", null] };
    expect(JSON.parse((await add("u1", { dns })).stdout)).toMatchObject({
      dns: { nameservers: ["172.30.0.10"], search: ["default.svc.cluster.local"] },
    });
    expect(client.list("Endpoint")).toMatchObject([
      { Dns: { ServerList: ["172.30.0.10"], Search: ["default.svc.cluster.local"] } },
    ]);
  });

  it("that is missing lets the runtime ask again, and nothing is made until it comes", async () => {
    const { client, add, write } = node(null);
    const failed = errorOf(await add());
    expect(failed.code).toBe(11);
    expect(failed.msg).toContain(
      "timed out waiting for pod annotation k8s.ovn.org/pod-networks of default/web",
    );
    expect(client.list("Endpoint")).toEqual([]);
    write(NETWORKS);
    expect(JSON.parse((await add()).stdout)).toMatchObject({ ips: [{ address: "10.128.2.5/24" }] });
  });

  it.each([
    ["no JSON", "{"],
    ["no network `default`", '{"other":{}}'],
    ["a MAC that is none", { ...NETWORKS, mac_address: "" }],
    ["an address without its prefix", { ...NETWORKS, ip_addresses: ["10.128.2.5"] }],
    ["a gateway that is none", { ...NETWORKS, gateway_ips: ["10.128.2"] }],
  ])("that is wrong (%s) is refused with its text, and nothing is made", async (_title, networks) => {
    const { client, server, add } = node(networks);
    const failed = errorOf(await add());
    expect(failed.msg).toContain("failed to unmarshal annotation k8s.ovn.org/pod-networks");
    expect([client.list("Endpoint"), server.listPorts()]).toEqual([[], []]);
  });

  it("that changes under a running pod changes nothing: asked again, it has what its endpoint has", async () => {
    const { client, server, add, write } = node();
    await add();
    write({
      ...NETWORKS,
      ip_addresses: ["10.128.2.9/24"],
      ip_address: "10.128.2.9/24",
      mac_address: "0a:58:0a:80:02:09",
    });
    expect(JSON.parse((await add()).stdout)).toMatchObject({
      interfaces: [{ mac: "0a:58:0a:80:02:05" }],
      ips: [{ address: "10.128.2.5/24" }],
    });
    expect(client.list("Endpoint")).toHaveLength(1);
    expect(server.listPorts()).toMatchObject([{ address: "10.128.2.5", mac: "0a:58:0a:80:02:05" }]);
  });

  it("of a pod that was made anew is not given to the sandbox of the old one", async () => {
    const { client, add } = node();
    const failed = errorOf(await add("u0"));
    expect(failed.msg).toContain("Request Pod UID u0 is different from the Pod UID (u1)");
    expect(client.list("Endpoint")).toEqual([]);
  });
});
