// Where nat, sdnbridge and sdnoverlay are better than upstream (cni.md §8), and what upstream gets wrong.
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
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

// Values from programs built with the real library: skel of cni 1.1.2 with these versions and handlers.
describe("the library that upstream is built with, cni 1.1.2, knows neither GC nor STATUS", () => {
  const bare = { CNI_CONTAINERID: "", CNI_NETNS: "", CNI_IFNAME: "", CNI_PATH: "" };

  it("VERSION answers with 1.0.0", async () => {
    const run = await nodeOf("upstream").run("VERSION", "", bare);
    expect(run).toMatchObject({
      status: 0,
      stdout: '{"cniVersion":"1.0.0","supportedVersions":["0.2.0","0.3.0","0.4.0","1.0.0"]}\n',
    });
    expect((await nodeOf("hardened").run("VERSION", "", bare)).stdout).toContain('{"cniVersion":"1.1.0"');
  });

  it.each([
    ["GC", {}, { code: 4, msg: "unknown CNI_COMMAND: GC" }],
    ["STATUS", {}, { code: 4, msg: "unknown CNI_COMMAND: STATUS" }],
    ["STATUS", bare, { code: 3, msg: "missing containerID" }],
    ["ODD", { CNI_IFNAME: "" }, { code: 4, msg: "interface name is empty" }],
    [
      "ADD",
      { CNI_CONTAINERID: "a b", CNI_IFNAME: "", CNI_PATH: "" },
      { code: 4, msg: "required env variables [CNI_IFNAME,CNI_PATH] missing" },
    ],
    [
      "DEL",
      { CNI_CONTAINERID: "a b", CNI_IFNAME: "eth/0" },
      { code: 4, msg: "invalid characters in containerID", details: "a b" },
    ],
  ])("%s with %j", async (verb, env, error) => {
    const node = nodeOf("upstream");
    const run = await node.run(verb, config(), env);
    expect(run.status).toBe(1);
    expect(errorOf(run)).toEqual(error);
    expect(node.ipam.verbs).toEqual([]);
  });

  it("the network's name is looked at before container and interface", async () => {
    const run = await nodeOf("upstream").run("ADD", { cniVersion: "1.0.0" }, { CNI_CONTAINERID: "a b" });
    expect(errorOf(run)).toEqual({ code: 7, msg: "missing network name" });
  });

  it("a result of 1.0.0 is in the order of the specification, with dns, and its MAC as Go prints bytes", async () => {
    const node = nodeOf("upstream");
    await node.run("ADD", config());
    const [made] = node.client.list("Endpoint");
    node.client.put("Endpoint", {
      ...made,
      ID: made?.["ID"] as string,
      MacAddress: "00-15-5D-E2-82-3C",
      IpConfigurations: [{ IpAddress: "10.244.3.4" }],
      Routes: [{ NextHop: "10.244.3.2", DestinationPrefix: "0.0.0.0/0" }],
    });
    expect((await node.run("ADD", config())).stdout).toBe(`{
    "cniVersion": "1.0.0",
    "interfaces": [
        {
            "name": "eth0",
            "mac": "\\u0000\\u0015]\\ufffd\\ufffd\\u003c"
        }
    ],
    "ips": [
        {
            "interface": 0,
            "address": "10.244.3.4/24",
            "gateway": "10.244.3.2"
        }
    ],
    "dns": {}
}`);
  });
});

// Functions of windows-container-networking at b96345f, which the lines name.
describe("as the real ones, function by function", () => {
  const ENDPOINT = "11111111-0000-4000-8000-000000000001";

  // The text was printed by a Go program with the client's struct.
  it("CreateEndpoint: what HNS refuses is told with the endpoint as %v prints it", async () => {
    const node = nodeOf("upstream");
    node.client.failNext("create Endpoint", new HcnError("HCN_E_INVALID_ENDPOINT"));
    const AdditionalArgs = [{ Name: "EndpointPolicy", Value: { Type: "ACL", Settings: { A: 1 } } }];
    const dns = { domain: "d", search: ["a", "b"], nameservers: ["10.0.0.10"] };
    node.ipam.result = {
      ...resultWith(),
      ips: [{ address: parseInterfaceAddress("10.1.0.4/24")!, gateway: parseIp("10.1.0.1")! }],
    };
    const run = await node.run("ADD", config({ AdditionalArgs, dns }));
    expect(errorOf(run).msg).toMatch(/^error creating endpoint hcnCreateEndpoint failed/);
    expect(errorOf(run).msg.split(" : endpoint config ")[1]).toBe(
      `&{ SBX_cbr0 ${NETWORKS.cbr0}  [{ACL [123 34 65 34 58 49 125]}] [{10.1.0.4 0}] ` +
        "{d [a b] [10.0.0.10] []} [{10.1.0.1 0.0.0.0/0 0}]  0 {<nil> {[] []    }} {2 0}}",
    );
  });

  it("Delete: IPAM is sent the search list as configured, Add has put the pod's namespace before it", async () => {
    const node = nodeOf("upstream");
    const CNI_ARGS = "IgnoreUnknown=1;K8S_POD_NAMESPACE=prod";
    const stdin = config({ dns: { search: ["svc.cluster.local"] } });
    for (const verb of ["ADD", "DEL"]) await node.run(verb, stdin, { CNI_ARGS });
    const searches = node.ipam.requests.map(({ configuration }) => configuration["dns"]);
    expect(searches).toEqual([{ search: ["prod.svc.cluster.local"] }, { search: ["svc.cluster.local"] }]);
  });

  it("allocateIpam: a result without addresses is none of 0.2.0", async () => {
    for (const compat of MODES) {
      const node = nodeOf(compat);
      node.ipam.result = resultWith();
      expect(errorOf(await node.run("ADD", config()))).toEqual({
        code: 999,
        msg: "cannot convert: no valid IP addresses",
      });
      expect(node.client.calls).toEqual([]);
      expect(node.ipam.verbs).toEqual(compat === "hardened" ? ["ADD", "DEL"] : ["ADD"]);
    }
  });

  it("GetPortMappingPolicy: 16 bits of a port, and nothing of what is zero; hardened refuses it", async () => {
    const runtimeConfig = { portMappings: [{ hostPort: 65_616, containerPort: 0, protocol: "tcp" }] };
    const { created } = await add("upstream", { runtimeConfig });
    expect(created?.["Policies"]).toEqual([
      { Type: "PortMapping", Settings: { Protocol: 6, ExternalPort: 80 } },
    ]);
    const { run, client } = await add("hardened", { runtimeConfig });
    expect(errorOf(run)).toEqual({ code: 7, msg: '"portMappings": hostPort 65616 is not a port' });
    expect(client.calls).toEqual([]);
  });

  it("addEndpointGatewaysFromConfig: only 0.0.0.0/0 is the default", async () => {
    const node = nodeOf("upstream");
    const optionalFlags = { gatewayFromAdditionalRoutes: true };
    const additionalRoutes = [
      { dst: "10.0.0.0/0", gw: "10.244.3.8" },
      { dst: "0.0.0.0/0", gw: "10.244.3.9" },
    ];
    await node.run("ADD", config({ optionalFlags, additionalRoutes }));
    expect(node.client.bodiesOf("create Endpoint")).toMatchObject([
      { Routes: [{ NextHop: "10.244.3.9", DestinationPrefix: "0.0.0.0/0" }] },
    ]);
  });

  it.each([
    [
      ["fd00::4", "10.244.3.4"],
      ["fd00::1", "10.244.3.1"],
      ["10.244.3.4/0", "10.244.3.1", "fd00::4/0", "fd00::1"],
    ],
    // The loop takes a second address of IPv6 for one of IPv4.
    [["fd00::4", "fd00::5", "10.244.3.4"], ["fd00::1"], ["fd00::5/0", undefined, "fd00::4/0", "fd00::1"]],
  ])("GetEndpointInfoFromHostComputeEndpoint: %j with next hops %j", async (ips, hops, expected) => {
    const node = nodeOf("upstream");
    node.client.put("Endpoint", {
      ID: ENDPOINT,
      Name: "SBX_cbr0",
      HostComputeNetwork: NETWORKS.cbr0,
      IpConfigurations: ips.map((IpAddress) => ({ IpAddress })),
      Routes: hops.map((NextHop) => ({ NextHop })),
    });
    const run = await node.run("ADD", config({ optionalFlags: { enableDualStack: true } }));
    const printed = JSON.parse(run.stdout) as { ips: { address: string; gateway?: string }[] };
    expect(printed.ips.flatMap(({ address, gateway }) => [address, gateway])).toEqual(expected);
  });

  it("DeleteEndpoint: the failure to delete is told as it is, unless the endpoint has gone meanwhile", async () => {
    const node = nodeOf("upstream");
    await node.run("ADD", config());
    node.client.failNext("delete Endpoint", new HcnError("HCN_E_DEGRADED_OPERATION"));
    expect(errorOf(await node.run("DEL", config())).msg).toMatch(/^hcnDeleteEndpoint failed in Win32: /);
    expect(node.client.list("Endpoint")).toHaveLength(1);
    node.client.failNext("enumerate Endpoint", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
    expect(errorOf(await node.run("DEL", config())).msg).toMatch(/^hcnEnumerateEndpoints failed in Win32: /);
    expect(await node.run("DEL", config())).toMatchObject({ status: 0, stdout: "" });
    expect(node.client.list("Endpoint")).toEqual([]);
  });

  it("DeleteEndpoint: a failing look-up of the namespace", async () => {
    const node = nodeOf("upstream");
    await node.run("ADD", config());
    node.client.failNext("enumerate Namespace", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
    expect(errorOf(await node.run("DEL", config())).msg).toMatch(
      /^error while attempting to get namespace, err:hcnEnumerateNamespaces failed/,
    );
    expect(node.client.list("Endpoint")).toHaveLength(1);
  });

  // As the unmodified sdnbridge.exe printed it on our HNS, under Wine.
  it("CreateEndpoint: an endpoint of HNS has its health in the message", async () => {
    const node = nodeOf("upstream");
    await node.run("ADD", config());
    const [made] = node.client.list("Endpoint");
    const Health = { Data: { LastUpdateTime: 134_398_704_960_591_600, LastErrorCode: 0 }, Extra: {} };
    node.client.put("Endpoint", { ...made, ID: made?.["ID"] as string, Health });
    node.client.failNext("modify Namespace", new HcnError("HCN_E_DEGRADED_OPERATION"));
    expect(errorOf(await node.run("DEL", config())).msg).toContain(
      " 0 {map[LastErrorCode:0 LastUpdateTime:1.343987049605916e+17] {[] []    }} {2 0}}",
    );
  });

  it("RemoveNamespaceEndpoint: what the namespace refuses is told with the endpoint", async () => {
    const node = nodeOf("upstream");
    await node.run("ADD", config());
    node.client.failNext("modify Namespace", new HcnError("HCN_E_DEGRADED_OPERATION"));
    const { msg } = errorOf(await node.run("DEL", config()));
    expect(msg).toMatch(/^error removing endpoint from namespace hcnModifyNamespace failed/);
    expect(msg).toMatch(/ : endpoint &\{\S+ SBX_cbr0 \S+ \S+ \[\] \[\{10\.244\.3\.4 0\}\] /);
  });
});
