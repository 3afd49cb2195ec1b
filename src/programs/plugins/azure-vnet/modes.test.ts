// Where hardened is otherwise than upstream, row by row of docs/reference/differences.md, as far as other tests beside
// this one do not show it; and IPv6 over NAT.
import { describe, expect, it } from "vitest";
import { CniError } from "#contracts/cni/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { AZURE_POD, type CnsNode, cnsNode, configuration, pool } from "#test/support/cni/cns-node.ts";
import { ScriptedPlugin, resultWith } from "#test/support/cni/scripted-plugin.ts";
import { azureNode } from "#test/support/cni/windows-plugin-node.ts";
import { defined } from "#core/base/assert.ts";
import { parseIp } from "#core/net/ip.ts";
import { PLAIN_POD_IP } from "../cns/service.ts";

const MODES = ["upstream", "hardened"] as const;
const LIST = { cniVersion: "1.0.0", name: "azure", type: "azure-vnet", ipam: { type: "azure-cns" } };
const MAC = "60:45:bd:12:45:65";
const FRONTEND = {
  ...PLAIN_POD_IP,
  NICType: "FrontendNIC",
  MacAddress: MAC,
  PodIPConfig: { IPAddress: "10.20.0.8", PrefixLength: 24 },
  NetworkContainerPrimaryIPConfig: configuration("10.20.0.8/24", "10.20.0.1"),
};

function node(compat: (typeof MODES)[number]): CnsNode {
  const own = cnsNode(compat);
  own.cns.pool.add(pool("10.241.0.4/16", "10.241.0.1", "10.241.0.9"));
  const before = own.host.interfaces();
  const second = { name: "Ethernet 2", mac: "60-45-BD-12-45-65", addresses: [] };
  Object.assign(own.host, { interfaces: () => [...before, second] });
  return own;
}

function networkNames({ client }: CnsNode): readonly unknown[] {
  return client
    .list("Network")
    .flatMap(({ Name }) => (typeof Name === "string" && Name.startsWith("azure") ? [Name] : []));
}

describe.each(MODES)("%s", (compat) => {
  it("the network of an interface of the pod's own, with a state file: it stays; hardened takes it away", async () => {
    const own = node(compat);
    own.cns.addInterface(AZURE_POD, FRONTEND);
    await own.run("ADD", LIST);
    expect(networkNames(own)).toEqual(["azure", `azure-${MAC}`]);
    await own.run("DEL", LIST);
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(networkNames(own)).toEqual(compat === "upstream" ? ["azure", `azure-${MAC}`] : ["azure"]);
  });

  it("a transparent network that is there: a failure; hardened says that it may go", async () => {
    const own = node(compat);
    own.cns.addInterface(AZURE_POD, FRONTEND);
    const ID = "0fb28d70-306c-469d-9690-3245a82d8899";
    own.client.put("Network", { ID, Name: `azure-${MAC}`, Type: "Transparent" });
    const failed = errorOf(await own.run("ADD", LIST));
    expect(failed.code).toBe(compat === "upstream" ? 999 : 11);
    expect(failed.details ?? "").toContain(compat === "upstream" ? "" : "is not gone yet");
    // The endpoint that was made before is gone, and CNS has its address back.
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
  });

  it("a device without an ID: left out silently; hardened refuses", async () => {
    const own = node(compat);
    own.cns.addInterface(AZURE_POD, { ...PLAIN_POD_IP, NICType: "BackendNIC", MacAddress: MAC });
    const run = await own.run("ADD", LIST);
    if (compat === "hardened") expect(errorOf(run).msg).toContain("pnp id is not received from cns");
    else expect(JSON.parse(run.stdout)).toMatchObject({ interfaces: [{ name: "eth0" }] });
    expect(own.client.list("Endpoint")).toHaveLength(compat === "upstream" ? 1 : 0);
  });

  it("a device: Windows lets go of it, the runtime gets it; DEL leaves it", async () => {
    const own = node(compat);
    own.cns.addInterface(AZURE_POD, {
      ...PLAIN_POD_IP,
      NICType: "BackendNIC",
      MacAddress: MAC,
      PnPID: String.raw`PCI\VEN_15B3&DEV_101C`,
    });
    const answers = new Map([
      ["DEVPKEY_Device_IsPresent", "True\r\n"],
      ["DEVPKEY_Device_ProblemCode", "0\r\n"],
      ["LocationPaths", "PCIROOT(7)\r\n"],
      ["Get-VMHostAssignableDevice", "PCIP\\VEN_15B3\r\n"],
    ]);
    own.host.shell.powershell = (script) => {
      own.commands.push(script);
      return Promise.resolve([...answers].find(([key]) => script.includes(key))?.[1] ?? "");
    };
    const run = await own.run("ADD", LIST);
    expect(JSON.parse(run.stdout)).toMatchObject({
      interfaces: [{ name: "eth0" }, { name: "ib2", mac: MAC, pciID: String.raw`PCIP\VEN_15B3` }],
    });
    expect(own.commands.map((line) => line.replace(/^\(+/, "").split(" ")[0])).toEqual([
      "Get-PnpDeviceProperty",
      "Get-PnpDeviceProperty",
      "Get-PnpDeviceProperty",
      "Disable-PnpDevice",
      "Get-PnpDeviceProperty",
      "Dismount-VMHostAssignableDevice",
      "Get-PnpDeviceProperty",
      "Get-VMHostAssignableDevice",
    ]);
    expect((await own.run("DEL", LIST)).status).toBe(0);
    expect(own.client.list("Endpoint")).toEqual([]);
  });

  it.each([
    ["a plain quotation mark", 'x"; calc; "'],
    ["typographic ones, which PowerShell takes as well", "x\u201d; calc; \u201c"],
    ["a variable", "x$(calc)"],
    ["a line", "x\r\ncalc"],
  ])("a device whose ID holds %s: refused, and PowerShell is not asked", async (_, id) => {
    const own = node(compat);
    own.cns.addInterface(AZURE_POD, { ...PLAIN_POD_IP, NICType: "BackendNIC", MacAddress: MAC, PnPID: id });
    expect(errorOf(await own.run("ADD", LIST)).msg).toContain("is not a device ID");
    expect(own.commands.filter((line) => line.includes("calc"))).toEqual([]);
  });

  it("the node's default route of IPv6 cannot be made: not a word; hardened warns", async () => {
    const own = cnsNode(compat);
    own.cns.pool.add(pool("fd12:1::/64", "", "fd12:1::6"));
    own.host.shell.powershell = () => Promise.reject(new Error("no PowerShell"));
    const run = await own.run("ADD", { ...LIST, ipam: { type: "azure-cns", mode: "overlay" } });
    expect(run.status).toBe(0);
    expect(run.stderr).toContain(compat === "upstream" ? "" : "no PowerShell");
    expect(run.stderr === "").toBe(compat === "upstream");
  });

  it("IPAM has no pool left: its state is removed once, hardened gives nobody's address away", async () => {
    const own = azureNode(compat);
    own.ipam.failures.set("ADD", new CniError(100, "Failed to allocate pool: no available address pools"));
    const failed = errorOf(await own.run("ADD", { ...LIST, ipam: { type: "azure-vnet-ipam" } }));
    expect(failed.msg).toContain("no available address pools");
    expect(own.forgotten).toBe(compat === "upstream" ? 1 : 0);
    expect(own.ipam.verbs).toEqual(compat === "upstream" ? ["ADD", "ADD"] : ["ADD"]);
  });

  it("the folder for releases that CNS has missed: hardened makes it", async () => {
    const own = node(compat);
    await own.run("ADD", LIST);
    const asked: boolean[] = [];
    Object.assign(own.host, {
      http: () => Promise.reject(new Error("connection refused")),
      pendingReleases: {
        add: async (_id: string, _name: string, createsFolder: boolean) => {
          asked.push(createsFolder);
        },
      },
    });
    await own.run("DEL", LIST);
    expect(asked).toEqual([compat === "hardened"]);
  });
});

describe.each(MODES)("GET_ENDPOINT_STATE, %s", (compat) => {
  it("says whose addresses are whose, without a configuration; nothing when there is none", async () => {
    const own = node(compat);
    const ask = async () => JSON.parse((await own.run("GET_ENDPOINT_STATE", "")).stdout) as object;
    expect(await ask()).toEqual({ ContainerInterfaces: {} });
    await own.run("ADD", LIST);
    expect(await ask()).toEqual({
      ContainerInterfaces: {
        "7c5e1f0a-eth0": {
          PodName: "web-0",
          PodNamespace: "default",
          PodEndpointId: "7c5e1f0a-eth0",
          ContainerID: "7c5e1f0a9b3d4e6f",
          IPAddresses: [{ IP: "10.241.0.9", Mask: "//8AAA==" }],
        },
      },
    });
  });

  it("a network of another name is not looked at", async () => {
    const own = node(compat);
    await own.run("ADD", { ...LIST, name: "other" });
    const run = await own.run("GET_ENDPOINT_STATE", "");
    if (compat === "upstream") expect(errorOf(run).msg).toContain("Network not found");
    else expect(JSON.parse(run.stdout)).toEqual({ ContainerInterfaces: {} });
  });

  it("the stateless plugin knows nothing; other commands are none", async () => {
    const own = cnsNode(compat, { isStateless: true, keepsEndpoints: true });
    expect(JSON.parse((await own.run("GET_ENDPOINT_STATE", "")).stdout)).toEqual({ ContainerInterfaces: {} });
    expect((await own.run("UPDATE", LIST)).status).toBe(1);
  });
});

describe.each(MODES)("IPv6 over NAT, %s", (compat) => {
  const stdin = { ...LIST, ipv6Mode: "ipv6nat", ipam: { type: "azure-vnet-ipam" } };
  const gateway = (text: string) => defined(parseIp(text), text);

  function dual() {
    const v6 = new ScriptedPlugin("azure-vnet-ipamv6", compat);
    const of = (address: string, via: string) => {
      const result = resultWith(address);
      return { ...result, ips: result.ips.map((ip) => ({ ...ip, gateway: gateway(via) })) };
    };
    v6.result = of("fd00:7::3/120", "fd00:7::1");
    const own = azureNode(compat, { ipams: [v6] });
    own.ipam.result = of("10.240.0.35/16", "10.240.0.1");
    return { own, v6 };
  }

  it("a second address, all but the pods' range translated; DEL gives back both", async () => {
    const { own, v6 } = dual();
    expect((await own.run("ADD", stdin)).status).toBe(0);
    expect(v6.requests[0]?.configuration["ipam"]).toMatchObject({
      type: "azure-vnet-ipamv6",
      environment: "ipv6NodeIpam",
    });
    expect(own.client.bodiesOf("create Endpoint")).toMatchObject([
      {
        Policies: [{ Type: "OutBoundNAT", Settings: { Exceptions: ["fd00:7::/120"] } }],
        IpConfigurations: [
          { IpAddress: "10.240.0.35", PrefixLength: 16 },
          { IpAddress: "fd00:7::3", PrefixLength: 120 },
        ],
      },
    ]);
    await own.run("DEL", stdin);
    expect([own.ipam.verbs, v6.verbs]).toEqual([
      ["ADD", "DEL"],
      ["ADD", "DEL"],
    ]);
    expect(v6.requests[1]?.configuration["ipam"]).toMatchObject({
      subnet: "fd00:7::/120",
      ipAddress: "fd00:7::3",
    });
  });

  it("no second address: the first is given back", async () => {
    const { own, v6 } = dual();
    v6.failures.set("ADD", new CniError(100, "no podCIDR"));
    const failed = errorOf(await own.run("ADD", stdin));
    expect(failed.msg).toContain("Failed to allocate v6 pool: Failed to delegate: no podCIDR");
    expect(own.ipam.verbs).toEqual(["ADD", "DEL"]);
    expect(own.client.calls).toEqual([]);
  });

  it("HNS v1: a route over the host's interface, and the gateway's MAC address in the pod", async () => {
    const { own } = dual();
    expect((await own.run("ADD", stdin, { CNI_NETNS: "none" })).status).toBe(0);
    const route = (verb: string) =>
      `netsh interface ipv6 ${verb} route "fd00:7::/120" "vEthernet (Ethernet)" "::" store=persistent`;
    expect(own.commands).toEqual([
      route("delete"),
      route("add"),
      'New-NetNeighbor -IPAddress fd00:7::1 -InterfaceAlias "vEthernet (7c5e1f0a-eth0)" -LinkLayerAddress "12-34-56-78-9a-bc"',
    ]);
    expect(own.client.bodiesOf("POST /endpoints/")).toMatchObject([
      { IPv6Address: "fd00:7::3", IPv6PrefixLength: 120, GatewayAddressV6: "fd00:7::1" },
    ]);
  });

  it.each(['x" & calc & "', "x%PATH%", "x\ncalc", "x\u201d & calc", "x^y"])(
    "HNS v1: a master of %j reaches no shell",
    async (master) => {
      const { own } = dual();
      const [first] = own.host.interfaces();
      Object.assign(own.host, { interfaces: () => [{ ...first, name: master }] });
      const run = await own.run("ADD", { ...stdin, master }, { CNI_NETNS: "none" });
      expect(errorOf(run).msg).toContain("is not the name of an interface");
      expect(own.commands).toEqual([]);
    },
  );

  it("an IPv6 address of an ordinary IPAM plugin: upstream gives it to another one, hardened back", async () => {
    const { own, v6 } = dual();
    own.ipam.result = { ...own.ipam.result, ips: [...own.ipam.result.ips, ...v6.result.ips] };
    const plain = { ...LIST, ipam: { type: "azure-vnet-ipam" } };
    await own.run("ADD", plain);
    await own.run("DEL", plain);
    expect([own.ipam.verbs, v6.verbs]).toEqual(
      compat === "upstream" ? [["ADD", "DEL"], ["DEL"]] : [["ADD", "DEL", "DEL"], []],
    );
  });
});
