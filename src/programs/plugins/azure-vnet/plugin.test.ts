// Rows of cni.md §8 for azure-vnet, in both modes, and what goes wrong half-way.
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { CniError } from "#contracts/cni/error.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import {
  type AzureNode,
  NAMESPACE,
  OTHER_NAMESPACE,
  azureNode,
} from "#test/support/cni/windows-plugin-node.ts";

const MODES = ["upstream", "hardened"] as const;
const policy = (Value: object) => ({ Name: "EndpointPolicy", Value });

function config(fields: object = {}) {
  const ipam = { type: "azure-vnet-ipam" };
  return { cniVersion: "1.0.0", name: "azure", type: "azure-vnet", ipam, ...fields };
}

function node(compat: Compat, ...addresses: readonly string[]): AzureNode {
  const made = azureNode(compat);
  const ips = addresses.length === 0 ? ["10.240.0.35/16"] : addresses;
  const result = resultWith(...ips);
  // A gateway of each family: HNS makes no network without one.
  made.ipam.result = {
    ...result,
    ips: result.ips.map((ip) => ({
      ...ip,
      gateway: (typeof ip.address.ip === "number" ? 0x0af0_0001 : 0xfe80n << 112n) as typeof ip.address.ip,
    })),
  };
  return made;
}

function policiesOf({ client }: AzureNode): unknown {
  return (client.bodiesOf("create Endpoint")[0] as { Policies?: unknown }).Policies;
}

const NETWORK_LOST = new HcnError("HCN_E_NETWORK_NOT_FOUND");

describe("policies", () => {
  it("CNI-128 the form of HCN: refused; hardened takes either", async () => {
    const hcn = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/8"] } };
    const stdin = config({ AdditionalArgs: [policy(hcn)] });
    expect(errorOf(await node("upstream").run("ADD", stdin)).msg).toContain("unexpected end of JSON input");
    const hardened = node("hardened");
    await hardened.run("ADD", stdin);
    expect(policiesOf(hardened)).toEqual([hcn]);
    const v1 = node("hardened");
    await v1.run("ADD", stdin, { CNI_NETNS: "none" });
    expect(v1.client.bodiesOf("POST /endpoints/")).toMatchObject([
      { Policies: [{ Type: "OutBoundNAT", ExceptionList: ["10.0.0.0/8"] }] },
    ]);
  });

  it.each(MODES)("CNI-129 %s: an unknown type fails in HCN, and is passed on in v1", async (compat) => {
    const stdin = config({ AdditionalArgs: [policy({ Type: "Outboundnat", X: 1 })] });
    expect(errorOf(await node(compat).run("ADD", stdin)).msg).toBe(
      'failed to create endpoint: Failed to set Policy: Type: EndpointPolicy, Data: {"Type":"Outboundnat","X":1}',
    );
    const v1 = node(compat);
    await v1.run("ADD", stdin, { CNI_NETNS: "none" });
    expect(v1.client.bodiesOf("POST /endpoints/")).toMatchObject([
      { Policies: [{ Type: "Outboundnat", X: 1 }] },
    ]);
  });

  it("an ACL with its known members, a route without encapsulation, a proxy", async () => {
    const own = node("upstream");
    const acl = { Type: "ACL", action: "Block", Direction: "Out", RemotePorts: "80", Priority: 200, Id: "x" };
    const route = { Type: "ROUTE", DestinationPrefix: "10.0.0.0/8", NeedEncap: false };
    const proxy = { Type: "L4WFPPROXY", OutboundProxyPort: "15001", UserSID: "S-1-5-32-556" };
    await own.run("ADD", config({ AdditionalArgs: [acl, route, proxy].map(policy) }));
    expect(policiesOf(own)).toEqual([
      { Type: "ACL", Settings: { Action: "Block", Direction: "Out", RemotePorts: "80", Priority: 200 } },
      { Type: "SDNRoute", Settings: { DestinationPrefix: "10.0.0.0/8" } },
      {
        Type: "L4WFPPROXY",
        Settings: {
          OutboundProxyPort: "15001",
          UserSID: "S-1-5-32-556",
          FilterTuple: {},
          InboundExceptions: {},
          OutboundExceptions: {},
        },
      },
    ]);
  });

  it.each([
    [{ Type: "ROUTE", DestinationPrefix: "10.0.0.0/8" }, "unexpected end of JSON input"],
    [{ Type: "OutBoundNAT", ExceptionList: [] }, "OutBoundNAT policy not set"],
  ])("%j cannot be converted", async (value, reason) => {
    const run = await node("upstream").run("ADD", config({ AdditionalArgs: [policy(value)] }));
    expect(errorOf(run).msg).toBe(`failed to create endpoint: ${reason}`);
  });

  it("v1 leaves out what it cannot convert; hardened refuses", async () => {
    const stdin = config({ AdditionalArgs: [policy({ Type: "OutBoundNAT", ExceptionList: [] })] });
    const upstream = node("upstream");
    await upstream.run("ADD", stdin, { CNI_NETNS: "none" });
    expect(upstream.client.bodiesOf("POST /endpoints/")[0]).not.toHaveProperty("Policies");
    const hardened = await node("hardened").run("ADD", stdin, { CNI_NETNS: "none" });
    expect(errorOf(hardened).msg).toContain("OutBoundNAT policy not set");
  });
});

describe("port mappings", () => {
  const mapped = (fields: object) => ({ hostPort: 8080, containerPort: 80, protocol: "tcp", ...fields });
  const port = (fields: object) => ({
    Type: "PortMapping",
    Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, ...fields },
  });
  const withPorts = (...portMappings: readonly object[]) => config({ runtimeConfig: { portMappings } });
  const DUAL = ["10.240.0.35/16", "fd12:1::6/64"];

  it.each(MODES)("CNI-141 %s: 1; 1 and 2 for two families; 2 for an IPv6 host address", async (compat) => {
    const single = node(compat);
    await single.run("ADD", withPorts(mapped({}), mapped({ hostIP: "fd00::7" })));
    expect(policiesOf(single)).toEqual([port({ Flags: 1 }), port({ VIP: "fd00::7", Flags: 1 })]);
    const dual = node(compat, ...DUAL);
    await dual.run(
      "ADD",
      withPorts(mapped({}), mapped({ hostIP: "fd00::7" }), mapped({ hostIP: "10.240.0.4" })),
    );
    expect(policiesOf(dual)).toEqual([
      port({ Flags: 1 }),
      port({ Flags: 2 }),
      port({ VIP: "fd00::7", Flags: 2 }),
      port({ VIP: "10.240.0.4", Flags: 1 }),
    ]);
  });

  it("CNI-142 SCTP gets what the mapping before it had, or none; hardened refuses it", async () => {
    const stdin = withPorts(
      mapped({ protocol: "sctp" }),
      mapped({ protocol: "UDP" }),
      mapped({ protocol: "sctp" }),
    );
    const upstream = node("upstream");
    await upstream.run("ADD", stdin);
    const first = port({ Flags: 1 });
    const { Protocol: _none, ...rest } = first.Settings;
    expect(policiesOf(upstream)).toEqual([
      { Type: "PortMapping", Settings: rest },
      port({ Protocol: 17, Flags: 1 }),
      port({ Protocol: 17, Flags: 1 }),
    ]);
    const hardened = node("hardened");
    expect(errorOf(await hardened.run("ADD", stdin))).toMatchObject({
      code: 7,
      msg: 'field "runtimeConfig.portMappings[0].protocol" must be "tcp" or "udp", not "sctp"',
    });
    expect(hardened.ipam.verbs).toEqual(["ADD", "DEL"]);
  });
});

describe("configuration", () => {
  it.each(MODES)(
    "CNI-131 %s: the runtime's searches alone replace the configured name servers",
    async (compat) => {
      const own = node(compat);
      const dns = { nameservers: ["10.0.0.10"], search: ["svc.cluster.local"], options: ["ndots:5"] };
      const runtimeConfig = { dns: { searches: ["a.example", "b.example"] } };
      await own.run("ADD", config({ dns, runtimeConfig }));
      expect(own.client.bodiesOf("create Endpoint")[0]).toMatchObject({
        Dns: { Search: ["a.example", "b.example"] },
      });
      expect(own.client.bodiesOf("create Endpoint")[0]).not.toHaveProperty("Dns.ServerList");
    },
  );

  it.each(MODES)("CNI-145 %s: mode l2tunnel makes an L2Bridge network; hardened says so", async (compat) => {
    const own = node(compat);
    const run = await own.run("ADD", config({ mode: "l2tunnel" }));
    expect(own.client.bodiesOf("create Network")).toMatchObject([{ Type: "L2Bridge" }]);
    expect(run.stderr).toBe(
      compat === "upstream"
        ? ""
        : 'azure-vnet: "mode": "l2tunnel" has no effect on Windows: the network is of the type L2Bridge\n',
    );
  });

  it("a network of that name is adopted, of whatever type", async () => {
    const own = node("upstream");
    own.client.put("Network", {
      ID: "0fb28d70-306c-469d-9690-3245a82d8899",
      Name: "azure",
      Type: "L2Tunnel",
    });
    await own.run("ADD", config());
    expect(own.client.bodiesOf("create Network")).toEqual([]);
    expect(own.client.bodiesOf("create Endpoint")).toMatchObject([
      { HostComputeNetwork: "0fb28d70-306c-469d-9690-3245a82d8899" },
    ]);
  });

  it("bare metal is refused before anything is done", async () => {
    const own = node("hardened");
    const run = await own.run("ADD", config({ executionMode: "baremetal" }));
    expect(errorOf(run).code).toBe(7);
    expect(run.explained).toBe("cni-azure-mode-missing");
    expect([own.client.calls, own.ipam.verbs]).toEqual([[], []]);
  });

  it("what is not allowed in names; 1.1.0; a configuration without a version prints 0.2.0", async () => {
    expect(errorOf(await node("upstream").run("ADD", config({ bridge: "a;b" })))).toEqual({
      code: 999,
      msg: "invalid network config value",
    });
    const newest = config({ cniVersion: "1.1.0" });
    expect(errorOf(await node("upstream").run("ADD", newest)).code).toBe(1);
    expect((await node("hardened").run("ADD", newest)).status).toBe(0);
    const { cniVersion: _none, ...rest } = config();
    expect(JSON.parse((await node("upstream").run("ADD", rest)).stdout)).toMatchObject({
      cniVersion: "0.2.0",
    });
  });

  it("upstream writes the configuration anew for IPAM; hardened passes it on", async () => {
    const stdin = config({ ipam: { type: "host-local", ranges: [[{ subnet: "10.240.0.0/16" }]] } });
    const upstream = node("upstream");
    await upstream.run("ADD", stdin);
    expect(upstream.ipam.requests[0]?.configuration["ipam"]).toEqual({ type: "host-local" });
    const hardened = node("hardened");
    await hardened.run("ADD", stdin);
    expect(hardened.ipam.requests[0]?.configuration).toEqual(stdin);
  });

  it("each call to HNS has the configured time", async () => {
    const own = node("hardened");
    await own.run("ADD", config({ windowsSettings: { hnsTimeoutDurationInSeconds: 120 } }));
    expect(new Set(own.timers)).toEqual(new Set([120_000]));
    const hanging = node("hardened");
    hanging.timersRing = true;
    hanging.client.enumerate = () => new Promise(() => undefined);
    const run = await hanging.run("ADD", config({ windowsSettings: { hnsTimeoutDurationInSeconds: 120 } }));
    expect(errorOf(run).msg).toContain("timeout value is 2m0s : timed out calling hns");
    expect(hanging.ipam.verbs).toEqual(["ADD", "DEL"]);
  });
});

describe("what the plugin remembers", () => {
  const SHORT = { CNI_CONTAINERID: "SBX" };

  it("CNI-133 a repeated ADD: upstream tears the first down, but not for a short container ID; hardened repeats", async () => {
    const upstream = node("upstream");
    await upstream.run("ADD", config());
    expect((await upstream.run("ADD", config())).status).toBe(1);
    expect(upstream.client.list("Endpoint")).toEqual([]);

    const short = node("upstream");
    await short.run("ADD", config(), SHORT);
    expect((await short.run("ADD", config(), SHORT)).status).toBe(1);
    expect(short.client.list("Endpoint")).toHaveLength(1);
    await short.run("DEL", config(), SHORT);
    expect(short.client.list("Endpoint")).toEqual([]);

    for (const env of [SHORT, {}]) {
      const hardened = node("hardened");
      const first = await hardened.run("ADD", config(), env);
      const again = await hardened.run("ADD", config(), env);
      expect(again).toEqual(first);
      expect(hardened.client.bodiesOf("create Endpoint")).toHaveLength(1);
      expect(hardened.ipam.verbs).toEqual(["ADD", "ADD"]);
    }
  });

  it.each([
    ["12345678", "12345678-eth0", 1],
    ["123456789", "12345678-eth0", 0],
  ])("CNI-133 container ID %s: its endpoint %s is left behind %i times", async (id, name, left) => {
    const upstream = node("upstream");
    const env = { CNI_CONTAINERID: id };
    expect((await upstream.run("ADD", config(), env)).status).toBe(0);
    expect(upstream.client.list("Endpoint")).toMatchObject([{ Name: name }]);
    const again = await upstream.run("ADD", config(), env);
    expect(again.status).toBe(1);
    expect(upstream.client.list("Endpoint")).toHaveLength(left);
    expect(upstream.store.text?.includes(name) ?? false).toBe(left === 1);
    const hardened = node("hardened");
    await hardened.run("ADD", config(), env);
    expect((await hardened.run("ADD", config(), env)).status).toBe(0);
    expect(hardened.client.list("Endpoint")).toMatchObject([{ Name: name }]);
  });

  it("hardened makes the endpoint anew for another namespace", async () => {
    const own = node("hardened");
    await own.run("ADD", config());
    const run = await own.run("ADD", config(), { CNI_NETNS: OTHER_NAMESPACE });
    expect(run.status).toBe(0);
    expect(own.client.list("Endpoint")).toMatchObject([{ HostComputeNamespace: OTHER_NAMESPACE }]);
  });

  it("CNI-134 the network is lost in HNS: every ADD fails; hardened makes it once more", async () => {
    const lose = async (own: AzureNode): Promise<void> => {
      await own.run("ADD", config());
      for (const kind of ["Endpoint", "Network"] as const)
        for (const { ID, Name } of own.client.list(kind))
          if (Name === "azure" || kind === "Endpoint") await own.client.delete(kind, ID as string);
    };
    const next = { CNI_CONTAINERID: "8d6f2a1bffffffff" };
    const upstream = node("upstream");
    await lose(upstream);
    for (const _ of [1, 2]) {
      // The fake takes endpoints of networks that it does not have.
      upstream.client.failNext("create Endpoint", NETWORK_LOST);
      expect(errorOf(await upstream.run("ADD", config(), next)).msg).toContain("network was not found");
    }
    expect(upstream.client.bodiesOf("create Network")).toHaveLength(1);

    const hardened = node("hardened");
    await lose(hardened);
    expect((await hardened.run("ADD", config(), next)).status).toBe(0);
    const network = hardened.client.list("Network").find(({ Name }) => Name === "azure");
    expect(hardened.client.list("Endpoint")).toMatchObject([{ HostComputeNetwork: network?.["ID"] }]);
  });

  it.each(MODES)("CNI-135 %s: an empty file is no state, one that is broken is an error", async (compat) => {
    const own = node(compat);
    own.store.text = "";
    expect((await own.run("ADD", config())).status).toBe(0);
    own.store.text = "{";
    expect(errorOf(await own.run("ADD", config()))).toMatchObject({
      code: 100,
      msg: expect.stringContaining("Failed to start network plugin") as string,
    });
  });

  it.each(MODES)("CNI-136 %s: a lock that does not come free is code 11", async (compat) => {
    const own = node(compat);
    own.store.isHeld = true;
    for (const verb of ["ADD", "DEL"]) {
      expect(errorOf(await own.run(verb, config()))).toEqual({
        code: 11,
        msg: "Failed to initialize key-value store of network plugin: error Acquiring store lock: timed out locking store",
      });
    }
  });

  it("parallel calls have the state one after the other", async () => {
    const own = node("hardened");
    const ids = ["aaaaaaaa11", "bbbbbbbb22", "cccccccc33"];
    let turn = 34;
    own.ipam.add = () =>
      Promise.resolve({ ...own.ipam.result, ...node("hardened", `10.240.0.${++turn}/16`).ipam.result });
    await Promise.all(ids.map((id) => own.run("ADD", config(), { CNI_CONTAINERID: id })));
    expect(own.client.bodiesOf("create Network")).toHaveLength(1);
    await Promise.all(ids.map((id) => own.run("DEL", config(), { CNI_CONTAINERID: id })));
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(own.store.text).toContain('"Endpoints": {}');
  });
});

describe("DEL", () => {
  it.each(MODES)("CNI-143 %s: the endpoint, then the address", async (compat) => {
    const own = node(compat);
    await own.run("ADD", config());
    own.ipam.failures.set("DEL", new CniError(100, "no"));
    expect(errorOf(await own.run("DEL", config()))).toEqual({
      code: 11,
      msg: "failed to release address: Failed to release ipv4 address: Failed to delegate: no",
    });
    expect(own.client.list("Endpoint")).toEqual([]);
    own.ipam.failures.clear();
    expect((await own.run("DEL", config())).status).toBe(0);
    expect(own.ipam.verbs).toEqual(["ADD", "DEL", "DEL"]);
    expect((await own.run("DEL", config())).status).toBe(0);
  });

  it.each(MODES)("%s: HNS refuses: code 11, the address is kept", async (compat) => {
    const own = node(compat);
    await own.run("ADD", config());
    own.client.failNext("delete Endpoint", new HcnError("ERROR_INVALID_PARAMETER"));
    expect(errorOf(await own.run("DEL", config())).code).toBe(11);
    expect(own.ipam.verbs).toEqual(["ADD"]);
  });

  it("a namespace that refuses the endpoint leaves nothing behind", async () => {
    const own = node("hardened");
    const env = { CNI_NETNS: "9cb720c0-ac4c-4266-92e1-dc277b2a9b96" };
    expect(errorOf(await own.run("ADD", config(), env)).msg).toContain("Failed to get hcn namespace");
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(own.ipam.verbs).toEqual(["ADD", "DEL"]);
  });
});

describe("CHECK, STATUS, GC", () => {
  const newest = (fields: object = {}) => config({ cniVersion: "1.1.0", ...fields });

  it("CNI-144 CHECK prints a result; hardened compares and prints nothing", async () => {
    const upstream = node("upstream");
    await upstream.run("ADD", config());
    const printed = await upstream.run("CHECK", config());
    expect(JSON.parse(printed.stdout)).toMatchObject({
      interfaces: [{ name: "eth0" }],
      ips: [{ interface: 0, address: "10.240.0.35/16" }],
    });
    const hardened = node("hardened");
    const prevResult = JSON.parse((await hardened.run("ADD", newest())).stdout) as object;
    expect(await hardened.run("CHECK", newest({ prevResult }))).toMatchObject({ status: 0, stdout: "" });
    // What others add to the endpoint afterwards is no difference (cni.md §5.5, NPM).
    const id = hardened.client.list("Endpoint")[0]?.["ID"] as string;
    const acl = { Type: "ACL", Settings: { Action: "Block", Direction: "In" } };
    await hardened.client.modify("Endpoint", id, { ResourceType: "Policy", Settings: { Policies: [acl] } });
    expect((await hardened.run("CHECK", newest({ prevResult }))).status).toBe(0);
    await hardened.client.delete("Endpoint", id);
    expect(errorOf(await hardened.run("CHECK", newest({ prevResult }))).msg).toContain(
      "7c5e1f0a-eth0 is gone",
    );
  });

  it("the result of hardened has sandbox, MAC and the endpoint's names", async () => {
    const own = node("hardened");
    const dns = { nameservers: ["10.0.0.10"], search: ["svc.cluster.local"] };
    expect(JSON.parse((await own.run("ADD", newest({ dns }))).stdout)).toMatchObject({
      interfaces: [{ name: "eth0", mac: "00-15-5D-AA-BB-CC", sandbox: NAMESPACE }],
      ips: [{ interface: 0, address: "10.240.0.35/16" }],
      dns: { nameservers: ["10.0.0.10"], search: ["default.svc.cluster.local"] },
    });
  });

  it("STATUS: HNS, the adapter, IPAM", async () => {
    const own = node("hardened");
    expect((await own.run("STATUS", newest())).status).toBe(0);
    expect(errorOf(await own.run("STATUS", newest({ master: "Ethernet 9" }))).code).toBe(50);
    own.client.failNext("enumerate Network", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
    expect(errorOf(await own.run("STATUS", newest())).code).toBe(50);
  });

  it("GC removes endpoints and gives back addresses of what is not valid", async () => {
    const own = node("hardened");
    await own.run("ADD", newest());
    const gc = (containerID: string) =>
      own.run("GC", newest({ "cni.dev/valid-attachments": [{ containerID, ifname: "eth0" }] }));
    await gc("7c5e1f0a9b3d4e6f");
    expect(own.client.list("Endpoint")).toHaveLength(1);
    await gc("other");
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(own.ipam.verbs).toEqual(["ADD", "GC", "DEL", "GC"]);
    expect(own.ipam.requests[2]).toMatchObject({ containerId: "7c5e1f0a9b3d4e6f", ifName: "eth0" });
  });
});
