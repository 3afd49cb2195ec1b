// Where nat, sdnbridge and sdnoverlay are better than upstream (cni.md §8), and what upstream gets wrong.
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import { NAMESPACE, NETWORKS, OTHER_NAMESPACE, sdnNode } from "#test/support/cni/windows-plugin-node.ts";

const MODES = ["upstream", "hardened"] as const;

function config(fields: object = {}): object {
  return {
    cniVersion: "1.0.0",
    name: "cbr0",
    type: "sdnbridge",
    ipam: { type: "host-local", subnet: "10.244.3.0/24" },
    ...fields,
  };
}

function nodeOf(compat: Compat) {
  const node = sdnNode("sdnbridge", compat);
  node.ipam.result = resultWith("10.244.3.4/24");
  return node;
}

async function add(compat: Compat, fields: object = {}) {
  const node = nodeOf(compat);
  const run = await node.run("ADD", config(fields));
  return { ...node, run, created: node.client.bodiesOf("create Endpoint")[0] as JsonObject | undefined };
}

describe("ADD", () => {
  it("CNI-102 hardened passes the configuration on as it came", async () => {
    const ipam = { type: "host-local", ranges: [[{ subnet: "10.244.3.0/24" }]], dataDir: "C:\\leases" };
    const { ipam: asked } = await add("hardened", { ipam });
    expect(asked.requests[0]?.configuration).toEqual(config({ ipam }));
  });

  it("CNI-104 ADD again: hardened attaches an endpoint that is in no namespace, and takes none from another", async () => {
    for (const compat of MODES) {
      const node = nodeOf(compat);
      await node.run("ADD", config());
      const [made] = node.client.list("Endpoint");
      const { HostComputeNamespace: _left, ...detached } = made as JsonObject;
      node.client.put("Endpoint", { ...detached, ID: made?.["ID"] as string });
      const run = await node.run("ADD", config());
      expect(run.status).toBe(0);
      expect(node.client.list("Endpoint")[0]?.["HostComputeNamespace"]).toBe(
        compat === "hardened" ? NAMESPACE : undefined,
      );
      expect(node.ipam.verbs).toEqual(["ADD"]);
    }
    const node = nodeOf("hardened");
    await node.run("ADD", config());
    const other = await node.run("ADD", config(), { CNI_NETNS: OTHER_NAMESPACE });
    expect(errorOf(other).msg).toContain("is in another namespace already; call DEL before ADD");
  });

  it("CNI-105 the namespace refuses: upstream leaks the endpoint, hardened deletes it", async () => {
    for (const compat of MODES) {
      const node = nodeOf(compat);
      node.client.failNext("modify Namespace", new HcnError("HCN_E_DEGRADED_OPERATION"));
      const run = await node.run("ADD", config());
      expect(errorOf(run).code).toBe(999);
      expect(node.client.list("Endpoint")).toHaveLength(compat === "hardened" ? 0 : 1);
      expect(node.ipam.verbs).toEqual(["ADD", "DEL"]);
      if (compat === "upstream") expect(errorOf(run).msg).toMatch(/^error adding endpoint to namespace hcn/);
    }
  });

  it("CNI-106 CNI-152 hardened prints MAC, interface, sandbox, and ties the address to them", async () => {
    const { run } = await add("hardened");
    expect(JSON.parse(run.stdout)).toMatchObject({
      interfaces: [{ name: "eth0", mac: "00-15-5D-AA-BB-CC", sandbox: NAMESPACE }],
      ips: [{ address: "10.244.3.4/24", interface: 0 }],
    });
  });

  it("CNI-107 hardened takes gateway for GW, and says so", async () => {
    const ipam = { subnet: "10.244.3.0/24", routes: [{ gateway: "10.244.3.2" }] };
    const node = nodeOf("hardened");
    node.client.chosenAddresses = ["10.244.3.7"];
    const run = await node.run("ADD", config({ ipam }));
    expect(node.client.bodiesOf("create Endpoint")).toMatchObject([
      { Routes: [{ NextHop: "10.244.3.2", DestinationPrefix: "0.0.0.0/0" }] },
    ]);
    expect(run.stderr).toBe('sdnbridge: "ipam.routes[].gateway" is taken for "gw"; other versions skip it\n');
  });

  it.each([
    ["0.1.0", 1, 0],
    ["0.3.1", 1, 0],
    ["1.1.0", 1, 0],
    ["0.2.0", 0, 0],
  ])("CNI-110 version %s: status %d of upstream, %d of hardened", async (cniVersion, upstream, hardened) => {
    expect((await add("upstream", { cniVersion })).run.status).toBe(upstream);
    expect((await add("hardened", { cniVersion })).run.status).toBe(hardened);
  });

  it("CNI-111 no log file is written, and nothing but the result is printed", async () => {
    const { run } = await add("upstream");
    expect(() => JSON.parse(run.stdout) as unknown).not.toThrow();
    expect(run.stderr).toBe("");
  });

  it("AdditionalArgs that are no policies: upstream crashes, hardened names them; others are skipped", async () => {
    const AdditionalArgs = [
      { Name: "Other", Value: 1 },
      { Name: "EndpointPolicy", Value: "x" },
    ];
    const upstream = await add("upstream", { AdditionalArgs });
    expect(upstream.run).toMatchObject({ status: 2, stdout: "" });
    const hardened = await add("hardened", { AdditionalArgs });
    expect(errorOf(hardened.run)).toMatchObject({
      code: 7,
      msg: 'field "AdditionalArgs[1].value" must be {"Type": "…", "Settings": {…}}',
    });
    expect(hardened.ipam.verbs).toEqual(["ADD", "DEL"]);
  });

  it("a protocol that is none is refused before HNS is asked", async () => {
    for (const compat of MODES) {
      const runtimeConfig = { portMappings: [{ hostPort: 1, containerPort: 1, protocol: "sctp" }] };
      const { run, client, ipam } = await add(compat, { runtimeConfig });
      expect(errorOf(run).msg).toBe(
        "failed during GetEndpointInfo from netconf: invalid protocol supplied to port mapping policy",
      );
      expect(client.calls).toEqual([]);
      expect(ipam.verbs).toEqual([]);
    }
  });

  it("loopback DSR needs a version of HNS that has it", async () => {
    const node = nodeOf("upstream");
    node.client.version = { Major: 9, Minor: 2 };
    const run = await node.run("ADD", config({ optionalFlags: { loopbackDSR: true } }));
    expect(errorOf(run).msg).toBe("platform does not support feature Direct Server Return (DSR)");
  });

  it("both families on a network of another type", async () => {
    const run = await nodeOf("upstream").run(
      "ADD",
      config({ name: "nat", optionalFlags: { enableDualStack: true } }),
    );
    expect(errorOf(run).msg).toBe("Dual stack specified with non l2bridge network");
  });

  it("CNI-101 both families: the network has to be there", async () => {
    const node = nodeOf("upstream");
    const run = await node.run("ADD", config({ name: "none", optionalFlags: { enableDualStack: true } }));
    expect(errorOf(run).msg).toBe('Network name "none" not found');
    expect(run.explained).toBe("cni-network-not-found");
    expect(node.client.calls).toEqual([]);
  });

  it("an endpoint of that name on another network: upstream makes a second beside it", async () => {
    for (const compat of MODES) {
      const node = nodeOf(compat);
      const ID = "11111111-0000-4000-8000-000000000001";
      node.client.put("Endpoint", { ID, Name: "SBX_cbr0", HostComputeNetwork: NETWORKS.cbr1 });
      expect((await node.run("ADD", config())).status).toBe(0);
      const names = node.client.list("Endpoint").map(({ Name }) => Name);
      expect(names).toEqual(compat === "hardened" ? ["SBX_cbr0"] : ["SBX_cbr0", "SBX_cbr0"]);
    }
  });

  it("a failing look-up of the network: upstream makes one, hardened tells the failure", async () => {
    for (const compat of MODES) {
      const node = nodeOf(compat);
      node.client.failNext("enumerate Network", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      const run = await node.run("ADD", config());
      expect(node.client.bodiesOf("create Network")).toHaveLength(compat === "hardened" ? 0 : 1);
      if (compat === "hardened") expect(errorOf(run).msg).toContain("The RPC server is unavailable.");
    }
  });

  it("a subnet that is no IPv4 network: upstream crashes", async () => {
    const { run } = await add("upstream", { ipam: { subnet: "fd00::/64" } });
    expect(run).toMatchObject({ status: 2, stdout: "" });
  });
});

describe("DEL", () => {
  it("CNI-070 CNI-071 an endpoint that is gone is no error; IPAM is asked all the same", async () => {
    for (const compat of MODES) {
      const node = nodeOf(compat);
      expect(await node.run("DEL", config())).toMatchObject({ status: 0, stdout: "" });
      expect(node.ipam.verbs).toEqual(["DEL"]);
    }
  });

  it("CNI-072 CNI-077 IPAM fails: upstream stops there, hardened has removed the endpoint before", async () => {
    for (const compat of MODES) {
      const node = nodeOf(compat);
      await node.run("ADD", config());
      node.ipam.failures.set("DEL", new Error("disk full"));
      const run = await node.run("DEL", config());
      expect(run.status).toBe(1);
      expect(node.client.list("Endpoint")).toHaveLength(compat === "hardened" ? 0 : 1);
      if (compat === "upstream") expect(errorOf(run).msg).toBe("ipam deletion failed, disk full");
    }
  });
});

describe("CHECK, STATUS and GC, which upstream has not", () => {
  const NEW = { cniVersion: "1.1.0" };

  it("upstream's CHECK succeeds without looking", async () => {
    const node = nodeOf("upstream");
    expect(await node.run("CHECK", config())).toMatchObject({ status: 0, stdout: "" });
  });

  it("CNI-078 CHECK: an endpoint that is gone, and one whose policy is", async () => {
    const node = nodeOf("hardened");
    const runtimeConfig = { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }] };
    const stdin = config({ ...NEW, runtimeConfig });
    const prevResult = JSON.parse((await node.run("ADD", stdin)).stdout) as object;
    const check = () => node.run("CHECK", { ...stdin, prevResult });
    expect(await check()).toMatchObject({ status: 0, stdout: "" });
    const [made] = node.client.list("Endpoint");
    node.client.put("Endpoint", { ...made, ID: made?.["ID"] as string, Policies: [] });
    expect(errorOf(await check()).msg).toContain("the policy PortMapping");
    await node.client.delete("Endpoint", made?.["ID"] as string);
    expect(errorOf(await check()).msg).toBe("endpoint SBX_cbr0 is gone; recreate the container");
    expect(errorOf(await node.run("CHECK", stdin))).toMatchObject({ code: 7 });
  });

  it("CNI-081 CNI-082 STATUS: HNS that does not answer; a network that is missing where it is not made", async () => {
    const node = nodeOf("hardened");
    expect(await node.run("STATUS", config({ ...NEW, name: "none" }))).toMatchObject({ status: 0 });
    const dual = config({ ...NEW, name: "none", optionalFlags: { enableDualStack: true } });
    expect(errorOf(await node.run("STATUS", dual))).toMatchObject({ code: 50 });
    node.client.failNext("enumerate Network", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
    expect(errorOf(await node.run("STATUS", config(NEW)))).toMatchObject({ code: 50 });
  });

  it("CNI-084 CNI-085 GC removes the endpoints of the dead on this network, and hands on to IPAM", async () => {
    const node = nodeOf("hardened");
    for (const [index, id] of ["dead", "alive"].entries()) {
      node.ipam.result = resultWith(`10.244.3.${index + 10}/24`);
      await node.run("ADD", config(NEW), { CNI_CONTAINERID: id });
    }
    const ID = "11111111-0000-4000-8000-000000000001";
    node.client.put("Endpoint", { ID, Name: "cbr0_ep", HostComputeNetwork: NETWORKS.cbr0 });
    const valid = [{ containerID: "alive", ifname: "eth0" }];
    const run = await node.run("GC", { ...config(NEW), "cni.dev/valid-attachments": valid });
    expect(run).toMatchObject({ status: 0, stdout: "" });
    expect(node.client.list("Endpoint").map(({ Name }) => Name)).toEqual(["alive_cbr0", "cbr0_ep"]);
    expect(node.ipam.verbs).toEqual(["ADD", "ADD", "GC"]);
  });
});
