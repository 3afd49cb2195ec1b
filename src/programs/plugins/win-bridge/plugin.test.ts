import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { fork } from "#core/base/fork.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import { flannelNode } from "#test/support/cni/flannel-node.ts";
import { NAMESPACE, NETWORKS, OTHER_NAMESPACE, bridgeNode } from "#test/support/cni/windows-plugin-node.ts";
import { CniError } from "#contracts/cni/error.ts";
import { HostLocal } from "../host-local/plugin.ts";
import { MemoryLeaseStore } from "../host-local/leases.ts";

const MODES = ["upstream", "hardened"] as const;
const NONE = { CNI_NETNS: "none" };

function config(fields: object = {}): object {
  return {
    cniVersion: "1.1.0",
    name: "cbr0",
    type: "win-bridge",
    apiVersion: 2,
    ipam: { type: "host-local" },
    ...fields,
  };
}

const nat = (settings: object) => ({
  name: "EndpointPolicy",
  value: { Type: "OutBoundNAT", Settings: settings },
});

/** Runs ADD in one mode. */
async function add(compat: Compat, fields: object = {}, env: Record<string, string> = {}, ...ips: string[]) {
  const node = bridgeNode(compat);
  if (ips.length > 0) node.ipam.result = resultWith(...ips);
  const run = await node.run("ADD", config(fields), env);
  const created = node.client.bodiesOf("create Endpoint")[0] as JsonObject | undefined;
  return { ...node, status: run.status, run, created, json: JSON.parse(run.stdout || "{}") as JsonObject };
}

describe("reading the configuration", () => {
  it('CNI-026 a policy body\'s keys keep their case: v1 passes them raw and sees no OutBoundNAT in "type"', async () => {
    const body = { type: "OutBoundNAT", ExceptionList: ["10.244.0.0/16"] };
    const fields = {
      apiVersion: 1,
      ipMasqNetwork: "10.244.0.0/16",
      policies: [{ name: "endpointpolicy", value: body }],
    };
    const { client } = await add("upstream", fields, NONE);
    expect(client.bodiesOf("POST /endpoints/")).toMatchObject([
      { Policies: [body, { Type: "OutBoundNAT", ExceptionList: ["10.244.0.0/16"] }] },
    ]);
  });

  it.each([
    ["upstream", 999],
    ["hardened", 7],
  ] as const)("CNI-027 apiVersion as a text, %s: code %d", async (compat, code) => {
    const { run } = await add(compat, { apiVersion: "2" });
    expect(errorOf(run)).toEqual({
      code,
      msg: 'failed to load netconf: field "apiVersion" must be a whole number, not the text "2"',
    });
  });

  it("CNI-028 apiVersion 0, 1 are HNS v1; 3 is, too, for upstream, and refused by hardened", async () => {
    for (const apiVersion of [0, 1]) {
      expect((await add("hardened", { apiVersion }, NONE)).client.bodiesOf("POST /endpoints/")).toHaveLength(
        1,
      );
    }
    expect((await add("upstream", { apiVersion: 3 }, NONE)).client.bodiesOf("POST /endpoints/")).toHaveLength(
      1,
    );
    expect(errorOf((await add("hardened", { apiVersion: 3 }, NONE)).run)).toMatchObject({
      code: 2,
      msg: 'unsupported field "apiVersion": 3; write 2 for HCN (containerd) or 1 for HNS v1',
    });
  });

  it.each([
    ["CNI-029", "HcnPolicyArgs", 'write HCN policies under "policies", with "apiVersion": 2'],
    ["CNI-030", "AdditionalArgs", 'write endpoint policies under "policies"'],
  ])("%s %s is not read; hardened says so on stderr", async (_id, key, instead) => {
    const fields = { [key]: [{ Name: "EndpointPolicy", Value: { Type: "ACL" } }] };
    expect((await add("upstream", fields)).run).toMatchObject({ status: 0, stderr: "" });
    expect((await add("hardened", fields)).run).toMatchObject({
      status: 0,
      stderr: `win-bridge: "${key}" is not read; ${instead}\n`,
    });
  });

  it("policies that HCN cannot hold: upstream drops them, hardened names the field", async () => {
    const bad = [
      [
        { Type: "OutBoundNAT", ExceptionList: [] },
        /"policies\[1\]" cannot be used: "ExceptionList" is next to "Type", which is the form of HNS v1/,
      ],
      ["text", /"policies\[1\]" cannot be used: its value must be/],
      [{ Type: 7 }, /"policies\[1\]" cannot be used: its value must be/],
    ] as const;
    for (const [value, message] of bad) {
      const policies = [
        { name: "other", value: 1 },
        { name: "EndpointPolicy", value },
      ];
      expect((await add("upstream", { policies })).status).toBe(0);
      const { run, client } = await add("hardened", { policies });
      expect(errorOf(run).msg).toMatch(message);
      expect(client.calls).toEqual([]);
    }
  });
});

describe("ADD over HNS v1", () => {
  it("CNI-038 container:SBX before the sandbox", async () => {
    const { run } = await add(
      "upstream",
      { apiVersion: 0 },
      { CNI_CONTAINERID: "WKL", CNI_NETNS: "container:SBX" },
    );
    expect(errorOf(run).msg).toBe(
      "error while adding HNSEndpoint: failed to find HNSEndpoint SBX_cbr0: Endpoint SBX_cbr0 not found",
    );
  });

  // plugins/pkg/hns/endpoint_windows.go, GetSandboxContainerID: what stands behind the first colon, or the container.
  it.each([
    ["container:SBX", "SBX"],
    [":SBX", "SBX"],
    ["container:SBX:1", "SBX:1"],
    ["none", "WKL"],
    ["SBX", "WKL"],
  ])("CNI_NETNS %s of container WKL: the endpoint is that of %s", async (netns, sandbox) => {
    const node = bridgeNode("upstream");
    node.client.put("Endpoint", {
      ID: OTHER_NAMESPACE,
      Name: `${sandbox}_cbr0`,
      VirtualNetwork: NETWORKS.cbr1,
    });
    await node.run("ADD", config({ apiVersion: 0 }), { CNI_CONTAINERID: "WKL", CNI_NETNS: netns });
    expect(node.client.calls[0]?.call).toBe(`DELETE /endpoints/${OTHER_NAMESPACE}`);
  });

  it.each(MODES)(
    "CNI-039 an endpoint of that name on another network is deleted and made anew (%s)",
    async (compat) => {
      const node = bridgeNode(compat);
      const stale = "99999999-0000-4000-8000-000000000000";
      node.client.put("Endpoint", {
        ID: stale,
        Name: "SBX_cbr0",
        VirtualNetwork: NETWORKS.cbr1,
        IPAddress: "10.244.5.1",
      });
      const run = await node.run("ADD", config({ apiVersion: 0 }), {
        CNI_CONTAINERID: "WKL",
        CNI_NETNS: "container:SBX",
      });
      expect(run.status).toBe(0);
      expect(node.client.calls.map(({ call }) => call).slice(0, 2)).toEqual([
        `DELETE /endpoints/${stale}`,
        "POST /endpoints/",
      ]);
      expect(node.ipam.verbs).toEqual(compat === "hardened" ? ["DEL", "ADD"] : ["ADD"]);
    },
  );

  it("CNI-034 hardened points at apiVersion in the details", async () => {
    const { run, ipam } = await add("hardened", { apiVersion: 0 });
    expect(errorOf(run).details).toBe('see "mullion explain cni-api-version-missing"');
    expect(ipam.verbs).toEqual([]);
  });

  it("a new endpoint that cannot be attached is removed, and its address released", async () => {
    const node = bridgeNode();
    const id = "00000000-0000-4000-8000-000000000001";
    node.client.failNext("modify ComputeSystem", new HcnError("HCN_E_ENDPOINT_SHARING_DISABLED"));
    const run = await node.run("ADD", config({ apiVersion: 0 }), NONE);
    expect(errorOf(run).msg).toBe(
      `error while adding HNSEndpoint: failed to attach container SBX to HNSEndpoint ${id}: ` +
        "Endpoint sharing is disabled. ",
    );
    expect(node.client.list("Endpoint")).toEqual([]);
    expect(node.ipam.verbs).toEqual(["ADD", "DEL"]);
  });

  // endpoint_windows.go of plugins 1.9.1: what follows a failed attach is what DEL would do.
  it("upstream leaves a new endpoint of a workload's container that cannot be attached", async () => {
    const node = bridgeNode("upstream");
    const ID = "11111111-0000-4000-8000-000000000001";
    node.client.put("Endpoint", { ID, Name: "SBX_cbr0", VirtualNetwork: NETWORKS.cbr1 });
    node.client.failNext("modify ComputeSystem", new HcnError("HCS_E_SYSTEM_NOT_FOUND"));
    const workload = { CNI_CONTAINERID: "WKL", CNI_NETNS: "container:SBX" };
    const run = await node.run("ADD", config({ apiVersion: 0 }), workload);
    const [made] = node.client.list("Endpoint");
    expect(errorOf(run)).toEqual({
      code: 999,
      msg:
        `error while adding HNSEndpoint: failed to attach container WKL to HNSEndpoint ${made?.["ID"] as string}: ` +
        "A virtual machine or container with the specified identifier does not exist. ",
    });
    expect(node.client.calls.map(({ call }) => call)).toEqual([
      `DELETE /endpoints/${ID}`,
      "POST /endpoints/",
      "modify ComputeSystem",
      `POST /endpoints/${made?.["ID"] as string}/detach`,
    ]);
  });

  it.each([1, 2])(
    "upstream looks for the endpoint again when IPAM has answered, apiVersion %d",
    async (v) => {
      const node = bridgeNode("upstream");
      const ID = "11111111-0000-4000-8000-000000000001";
      const net = v === 2 ? { HostComputeNetwork: NETWORKS.cbr0 } : { VirtualNetwork: NETWORKS.cbr0 };
      const answer = node.ipam.add.bind(node.ipam);
      node.ipam.add = (request) => {
        node.client.put("Endpoint", { ID, Name: "SBX_cbr0", ...net });
        return answer(request);
      };
      const run = await node.run("ADD", config({ apiVersion: v }), v === 2 ? {} : NONE);
      const [what, name] =
        v === 2 ? ["HostComputeEndpoint", "HostComputeNetwork"] : ["HNSEndpoint", "HNSEndpoint"];
      expect(errorOf(run).msg).toBe(
        `error while adding ${what}: failed to make a new ${what}: ` +
          `error while generating ${what}: ${name} SBX_cbr0 is already existed`,
      );
      expect(node.client.list("Endpoint")).toHaveLength(1);
    },
  );

  // As Microsoft's SDN scripts write them: bodies of HNS v1, given to HCN.
  it("hardened refuses policies that HCN cannot hold with code 7, through all that is put around it", async () => {
    const Value = { Type: "OutBoundNAT", ExceptionList: ["192.168.0.0/16", "11.0.0.0/8"] };
    const stdin = config({ policies: [{ Name: "EndpointPolicy", Value }] });
    const node = bridgeNode("hardened");
    expect(errorOf(await node.run("ADD", stdin))).toMatchObject({
      code: 7,
      msg: expect.stringContaining('"ExceptionList" is next to "Type"') as string,
    });
    const meta = flannelNode("hardened", { delegates: [node.plugin] });
    const delegate = { type: "win-bridge", policies: [{ Name: "EndpointPolicy", Value }] };
    const run = await meta.run("ADD", { cniVersion: "0.2.0", name: "cbr0", type: "flannel", delegate });
    expect(errorOf(run)).toMatchObject({ code: 7 });
  });

  it("the id of a container is looked for without regard to case", async () => {
    const node = bridgeNode("upstream");
    await node.run("ADD", config({ apiVersion: 0 }), NONE);
    const [made] = node.client.list("Endpoint");
    node.client.put("Endpoint", { ...made, ID: made?.["ID"] as string, SharedContainers: ["sbx"] });
    expect((await node.run("ADD", config({ apiVersion: 0 }), NONE)).status).toBe(0);
    expect(node.client.bodiesOf("modify ComputeSystem")).toHaveLength(1);
  });

  it("CNI-061 nothing configured for DNS: hardened leaves it empty", async () => {
    const { json } = await add("hardened", { apiVersion: 0, cniVersion: "0.2.0" }, NONE);
    expect(json["dns"]).toEqual({});
  });
});

describe("ADD over HCN", () => {
  it("CNI-040 netns none: invalid namespace ID; upstream makes an endpoint first and rolls it back", async () => {
    const msg =
      "error while adding HostComputeEndpoint: failed to add HostComputeEndpoint SBX_cbr0 to HostComputeNamespace none: invalid namespace ID";
    for (const compat of MODES) {
      const { run, client, ipam } = await add(compat, {}, NONE);
      expect(errorOf(run)).toMatchObject({ code: 999, msg });
      expect(run.explained).toBe("cni-namespace-not-guid");
      expect(client.list("Endpoint")).toEqual([]);
      expect(ipam.verbs).toEqual(compat === "upstream" ? ["ADD", "DEL"] : []);
    }
  });

  it("CNI-040 CNI-155 a namespace path of Linux is refused in the same words", async () => {
    const { run } = await add("hardened", {}, { CNI_NETNS: `/var/run/netns/${NAMESPACE}` });
    expect(errorOf(run).msg).toContain(
      `to HostComputeNamespace /var/run/netns/${NAMESPACE}: invalid namespace ID`,
    );
  });

  it.each(MODES)(
    "CNI-041 an unknown namespace: endpoint and address are rolled back (%s)",
    async (compat) => {
      const unknown = "11111111-2222-3333-4444-555555555555";
      const node = bridgeNode(compat);
      node.client.failNext("modify Namespace", new HcnError("ERROR_NOT_FOUND"));
      const run = await node.run("ADD", config(), { CNI_NETNS: unknown });
      expect(errorOf(run).msg).toBe(
        `error while adding HostComputeEndpoint: failed to add HostComputeEndpoint SBX_cbr0 to HostComputeNamespace ${unknown}: ` +
          'hcnOpenNamespace failed in Win32: Element not found. (0x490) {"Success":false,"Error":"Element not found. ","ErrorCode":2147943568}',
      );
      expect(node.client.list("Endpoint")).toEqual([]);
      expect(node.ipam.verbs).toEqual(["ADD", "DEL"]);
    },
  );

  it("CNI-042 CNI-043 a second ADD for the same namespace: hardened succeeds; upstream fails and frees the live address", async () => {
    const second = await bridgeTwice("hardened");
    expect(second.run.stdout).toBe(second.first.stdout);
    expect(second.ipam.verbs).toEqual(["ADD"]);
    expect(second.client.bodiesOf("modify Namespace")).toHaveLength(1);
    const upstream = await bridgeTwice("upstream");
    expect(errorOf(upstream.run).msg).toContain("already part of a network namespace");
    expect(upstream.ipam.verbs).toEqual(["ADD", "DEL"]);
    expect(upstream.client.list("Endpoint")).toHaveLength(1);
  });

  it("CNI-044 an endpoint in another namespace: hardened refuses while that one lives, and moves it when it is gone", async () => {
    const node = bridgeNode("hardened");
    await node.run("ADD", config());
    const refused = await node.run("ADD", config(), { CNI_NETNS: OTHER_NAMESPACE });
    expect(errorOf(refused).msg).toBe(
      `error while adding HostComputeEndpoint: endpoint SBX_cbr0 is in namespace ${NAMESPACE} already; call DEL before ADD with ${OTHER_NAMESPACE}`,
    );
    expect(node.ipam.verbs).toEqual(["ADD"]);
    await node.client.delete("Namespace", NAMESPACE);
    const moved = await node.run("ADD", config(), { CNI_NETNS: OTHER_NAMESPACE });
    expect((JSON.parse(moved.stdout) as JsonObject)["interfaces"]).toMatchObject([
      { sandbox: OTHER_NAMESPACE },
    ]);
    expect(node.client.list("Endpoint")).toMatchObject([{ HostComputeNamespace: OTHER_NAMESPACE }]);
    expect(node.ipam.verbs).toEqual(["ADD"]);
  });

  it.each(MODES)(
    "an endpoint of that name on another network is deleted and made anew (%s)",
    async (compat) => {
      const node = bridgeNode(compat);
      const stale = "99999999-0000-4000-8000-000000000000";
      node.client.put("Endpoint", { ID: stale, Name: "SBX_cbr0", HostComputeNetwork: NETWORKS.cbr1 });
      expect((await node.run("ADD", config())).status).toBe(0);
      expect(node.client.calls.map(({ call }) => call)).toEqual([
        "delete Endpoint",
        "create Endpoint",
        "modify Namespace",
      ]);
      expect(node.ipam.verbs).toEqual(compat === "hardened" ? ["DEL", "ADD"] : ["ADD"]);
    },
  );

  it("CNI-046 hardened gives the bridge endpoint's own address back and asks for another", async () => {
    const hostLocal = new HostLocal({ store: new MemoryLeaseStore(), compat: "hardened" });
    const node = bridgeNode("hardened", [hostLocal]);
    const run = await node.run("ADD", config({ ipam: { type: "host-local", subnet: "10.244.3.0/24" } }));
    expect((JSON.parse(run.stdout) as JsonObject)["ips"]).toMatchObject([{ address: "10.244.3.3/24" }]);
    const single = {
      type: "host-local",
      subnet: "10.244.3.0/24",
      rangeStart: "10.244.3.2",
      rangeEnd: "10.244.3.2",
    };
    const stuck = await node.run("ADD", config({ ipam: single }), { CNI_CONTAINERID: "OTHER" });
    expect(errorOf(stuck).msg).toContain(
      "IPAM gives 10.244.3.2/24, which is the gateway of its network; let the range start behind it",
    );
    expect(stuck.explained).toBe("cni-gateway-is-network-plus-two");
  });

  it("CNI-047 IPv6 first: gateway ::2 and a route for ::/0", async () => {
    for (const compat of MODES) {
      const { created } = await add(compat, {}, {}, "fd00:3::9/64");
      expect(created?.["Routes"]).toEqual([{ NextHop: "fd00:3::2", DestinationPrefix: "::/0" }]);
    }
  });

  it("CNI-048 both families: hardened maps a host port for each, the second with the flag IPv6", async () => {
    const runtimeConfig = { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }] };
    const { created } = await add("hardened", { runtimeConfig }, {}, "10.244.3.9/24", "fd00:3::9/64");
    const ports = { InternalPort: 80, ExternalPort: 8080, Protocol: 6 };
    const mapped = created?.["Policies"] as readonly { readonly Type: string }[] | undefined;
    expect(mapped?.filter(({ Type }) => Type === "PortMapping")).toEqual([
      { Type: "PortMapping", Settings: { ...ports, Flags: 1 } },
      { Type: "PortMapping", Settings: { ...ports, Flags: 3 } },
    ]);
  });

  it("CNI-048 both families: hardened makes an endpoint of both", async () => {
    const { created, json } = await add(
      "hardened",
      {},
      {},
      "10.244.3.9/24",
      "fd00:3::9/64",
      "10.244.3.10/24",
    );
    expect(created).toMatchObject({
      IpConfigurations: [
        { IpAddress: "10.244.3.9", PrefixLength: 24 },
        { IpAddress: "fd00:3::9", PrefixLength: 64 },
      ],
      Routes: [
        { NextHop: "10.244.3.2", DestinationPrefix: "0.0.0.0/0" },
        { NextHop: "fd00:3::2", DestinationPrefix: "::/0" },
      ],
    });
    expect(json["ips"]).toEqual([
      { address: "10.244.3.9/24", gateway: "10.244.3.2", interface: 0 },
      { address: "fd00:3::9/64", gateway: "fd00:3::2", interface: 0 },
    ]);
  });

  it.each(MODES)("CNI-049 IPAM gives no address: an error, and DEL is called (%s)", async (compat) => {
    const node = bridgeNode(compat);
    node.ipam.result = resultWith();
    const run = await node.run("ADD", config());
    expect(errorOf(run).msg).toBe(
      "error while adding HostComputeEndpoint: failed to make a new HostComputeEndpoint: error while processing endpoint args: IPAM plugin return is missing IP config",
    );
    expect(node.ipam.verbs).toEqual(["ADD", "DEL"]);
  });

  it("an error of IPAM is quoted; hardened hands on its code, and what may be tried again is", async () => {
    const node = bridgeNode("hardened");
    node.ipam.failures.set("ADD", new CniError(11, "busy", { details: "lock" }));
    const error = errorOf(await node.run("ADD", config()));
    expect([error.code, error.msg]).toEqual([11, expect.stringContaining("busy; lock") as string]);
  });

  it("an error of IPAM is quoted, and loses its code in upstream", async () => {
    const node = bridgeNode();
    node.ipam.failures.set("ADD", new CniError(11, "busy", { details: "lock" }));
    expect(errorOf(await node.run("ADD", config()))).toEqual({
      code: 999,
      msg: "error while adding HostComputeEndpoint: failed to make a new HostComputeEndpoint: error while processing endpoint args: error while executing IPAM addition: busy; lock",
    });
    const unknown = await node.run("ADD", config({ ipam: { type: "dhcp" } }));
    expect(errorOf(unknown).msg).toContain('failed to find plugin "dhcp" in path [/opt/cni/bin]');
  });

  it("CNI-051 ipMasqNetwork beside another OutBoundNAT: hardened widens it, families apart", async () => {
    const policies = [nat({ Exceptions: ["fd00::/16"] }), nat({ Exceptions: ["10.96.0.0/12"] })];
    const { created } = await add("hardened", { ipMasqNetwork: "10.244.0.0/16", policies });
    expect(created?.["Policies"]).toEqual([
      { Type: "OutBoundNAT", Settings: { Exceptions: ["fd00::/16"] } },
      { Type: "OutBoundNAT", Settings: { Exceptions: ["10.96.0.0/12", "10.244.0.0/16"] } },
    ]);
    const alone = await add("hardened", { ipMasqNetwork: "10.244.0.0/16" });
    expect(alone.created?.["Policies"]).toEqual([
      { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } },
    ]);
  });

  const MAPPINGS = [
    { hostPort: 8080, containerPort: 80, protocol: "tcp", hostIP: "" },
    { hostPort: 0, containerPort: 81, protocol: "tcp" },
    { hostPort: 9999, containerPort: 9999, protocol: "sctp" },
    { hostPort: 53, containerPort: 53, protocol: "UDP", hostIP: "10.0.0.7" },
  ];

  it("CNI-052 CNI-055 CNI-056 port mappings: hardened sets Flags 1, skips host port 0, says what it leaves out", async () => {
    const hardened = await add("hardened", { runtimeConfig: { portMappings: MAPPINGS } });
    expect(hardened.created?.["Policies"]).toEqual([
      { Type: "PortMapping", Settings: { InternalPort: 80, ExternalPort: 8080, Protocol: 6, Flags: 1 } },
      {
        Type: "PortMapping",
        Settings: { InternalPort: 53, ExternalPort: 53, Protocol: 17, VIP: "10.0.0.7", Flags: 1 },
      },
    ]);
    expect(hardened.run.stderr).toBe(
      'win-bridge: port mapping 9999 -> 9999 is left out: HNS maps tcp and udp, not "sctp"\n',
    );
    const upstream = await add("upstream", { runtimeConfig: { portMappings: MAPPINGS } });
    expect(upstream.created).toMatchObject({
      Policies: [8080, 0, 53].map((ExternalPort) => ({ Settings: { ExternalPort } })),
    });
    expect(upstream.run.stderr).toBe("");
  });

  it("CNI-057 loopbackDSR on an HNS without DSR: left out; hardened says so", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      node.client.version = { Major: 10, Minor: 0 };
      const run = await node.run("ADD", config({ loopbackDSR: true }));
      expect(node.client.bodiesOf("create Endpoint")[0]).not.toHaveProperty("Policies");
      expect(run.stderr).toBe(
        compat === "hardened" ? "win-bridge: loopbackDSR is left out: HNS 10.0 has no DSR\n" : "",
      );
    }
  });

  it("CNI-058 loopbackDSR without IPAM: upstream asks for <nil>, hardened adds it once the address is known", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      node.client.chosenAddresses = ["10.244.3.77"];
      await node.run("ADD", config({ ipam: undefined, loopbackDSR: true }));
      const destinations = compat === "hardened" ? ["10.244.3.77"] : ["<nil>"];
      expect(node.client.list("Endpoint")[0]?.["Policies"]).toEqual([
        { Type: "OutBoundNAT", Settings: { Destinations: destinations } },
      ]);
    }
  });

  it("loopbackDSR that is configured already is not doubled", async () => {
    const fields = { loopbackDSR: true, policies: [nat({ Destinations: ["10.244.3.3"] })] };
    expect((await add("upstream", fields)).created?.["Policies"]).toHaveLength(1);
  });

  it("CNI-059 CNI-060 the runtime's DNS: lists replace each on its own; hardened takes the options, too", async () => {
    const fields = {
      dns: { nameservers: ["10.96.0.10"], search: ["a"], domain: "d", options: ["ndots:1"] },
      runtimeConfig: { dns: { servers: [], searches: ["b", "c"], options: ["ndots:5"] } },
    };
    const dns = { Domain: "d", ServerList: ["10.96.0.10"], Search: ["b", "c"] };
    expect((await add("upstream", fields)).created?.["Dns"]).toEqual({ ...dns, Options: ["ndots:1"] });
    expect((await add("hardened", fields)).created?.["Dns"]).toEqual({ ...dns, Options: ["ndots:5"] });
  });

  it("CNI-151 no IPAM: hardened sends neither an empty address nor a route without next hop", async () => {
    const node = bridgeNode("hardened");
    node.client.chosenAddresses = ["10.244.3.77"];
    const run = await node.run("ADD", config({ ipam: undefined }));
    const [body] = node.client.bodiesOf("create Endpoint");
    expect(body).not.toHaveProperty("IpConfigurations");
    expect(body).not.toHaveProperty("Routes");
    expect((JSON.parse(run.stdout) as JsonObject)["ips"]).toEqual([
      { address: "10.244.3.77/24", gateway: "10.244.3.1", interface: 0 },
    ]);
  });

  it("CNI-152 CNI-154 the result: upstream names the endpoint; hardened the interface, its sandbox, and ties addresses to it", async () => {
    const upstream = await add("upstream");
    expect(upstream.json).toEqual({
      cniVersion: "1.1.0",
      interfaces: [{ name: "SBX_cbr0", mac: "00-15-5D-AA-BB-CC" }],
      ips: [{ address: "10.244.3.3/24", gateway: "10.244.3.2" }],
    });
    const hardened = await add("hardened");
    expect(hardened.json).toEqual({
      cniVersion: "1.1.0",
      interfaces: [{ name: "eth0", mac: "00-15-5D-AA-BB-CC", sandbox: NAMESPACE }],
      ips: [{ address: "10.244.3.3/24", gateway: "10.244.3.2", interface: 0 }],
    });
  });

  it("prevResult: upstream drops it, hardened passes it on", async () => {
    const prevResult = {
      cniVersion: "1.1.0",
      interfaces: [{ name: "eth1" }],
      ips: [{ address: "192.168.9.9/24", interface: 0 }],
      routes: [{ dst: "192.168.0.0/16" }],
      dns: { nameservers: ["1.1.1.1"] },
    };
    expect((await add("upstream", { prevResult })).json["ips"]).toHaveLength(1);
    expect((await add("hardened", { prevResult })).json).toMatchObject({
      interfaces: [{ name: "eth1" }, { name: "eth0" }],
      ips: [
        { address: "192.168.9.9/24", interface: 0 },
        { address: "10.244.3.3/24", interface: 1 },
      ],
      routes: [{ dst: "192.168.0.0/16" }],
      dns: { nameservers: ["1.1.1.1"] },
    });
  });

  it("a network without subnets: upstream crashes and leaks, hardened cleans up and says what to do", async () => {
    const upstream = await add("upstream", { name: "bare" });
    expect(upstream.run).toMatchObject({ status: 2, stdout: "" });
    expect(upstream.run.stderr).toContain("index out of range [0] with length 0");
    expect(upstream.client.list("Endpoint")).toHaveLength(1);
    expect(upstream.ipam.verbs).toEqual(["ADD"]);
    const node = bridgeNode("hardened");
    node.client.chosenAddresses = ["10.9.9.9"];
    const run = await node.run("ADD", config({ name: "bare", ipam: undefined }));
    expect(errorOf(run).msg).toContain(
      "network bare has no subnet that holds 10.9.9.9; give the HNS network a subnet",
    );
    expect(node.client.list("Endpoint")).toEqual([]);
  });

  it("addresses under the mask of another family, as upstream prints them", async () => {
    expect((await add("upstream", {}, {}, "fd00:3::9/64")).json["msg"]).toBe(
      "error while constructing HostComputeEndpoint addition result: invalid CIDR address: <nil>",
    );
  });

  it("an HNS that is down is said so", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      node.client.failNext("enumerate Network", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      const run = await node.run("ADD", config());
      expect(errorOf(run).msg).toContain(
        "error while getting network cbr0: hcnEnumerateNetworks failed in Win32: The RPC server is unavailable. (0x6ba)",
      );
      expect(run.explained).toBe("hns-unreachable");
    }
  });

  it("hardened adds what exactly HNS finds wrong", async () => {
    const detail = "10.1.1.1 is in no subnet of network cbr0";
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      node.client.failNext("create Endpoint", new HcnError("HCN_E_INVALID_IP", { detail }));
      expect(errorOf(await node.run("ADD", config())).msg.includes(detail)).toBe(compat === "hardened");
    }
  });
});

async function bridgeTwice(compat: Compat) {
  const node = bridgeNode(compat);
  const first = await node.run("ADD", config());
  return { ...node, first, run: await node.run("ADD", config()) };
}

describe("DEL", () => {
  const ENDPOINT = {
    ID: "99999999-0000-4000-8000-000000000000",
    Name: "SBX_cbr0",
    HostComputeNetwork: NETWORKS.cbr0,
  };

  it.each(MODES)(
    "CNI-070 CNI-071 an endpoint that is missing, twice: success, IPAM DEL done (%s)",
    async (compat) => {
      const node = bridgeNode(compat);
      for (let i = 0; i < 2; i++)
        expect(await node.run("DEL", config())).toMatchObject({ status: 0, stdout: "" });
      expect(node.ipam.verbs).toEqual(["DEL", "DEL"]);
    },
  );

  it("CNI-072 IPAM DEL fails: upstream leaves the endpoint; hardened removes it and reports", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      await node.run("ADD", config());
      node.ipam.failures.set("DEL", new CniError(5, "disk full"));
      const run = await node.run("DEL", config());
      expect(errorOf(run)).toEqual({ code: 5, msg: "disk full" });
      expect(node.client.list("Endpoint")).toHaveLength(compat === "hardened" ? 0 : 1);
    }
  });

  it.each([
    ["enumerate Endpoint", "RPC_S_SERVER_UNAVAILABLE"],
    ["enumerate Endpoint", "EPT_S_NOT_REGISTERED"],
    ["delete Endpoint", "RPC_S_SERVER_UNAVAILABLE"],
  ] as const)(
    'CNI-153 %s fails with %s: the endpoint is left, and the error has no "not found", which containerd would ignore',
    async (call, code) => {
      for (const compat of MODES) {
        const node = bridgeNode(compat);
        await node.run("ADD", config());
        node.client.failNext(call, new HcnError(code));
        const run = await node.run("DEL", config());
        expect(run.status).toBe(1);
        expect(node.client.list("Endpoint")).toHaveLength(1);
        expect(errorOf(run).msg).not.toMatch(/not found/i);
        expect((await node.run("DEL", config())).status).toBe(0);
      }
    },
  );

  it("CNI-073 v1 without netns: upstream deletes nothing, hardened by name", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      await node.run("ADD", config({ apiVersion: 0 }), NONE);
      expect((await node.run("DEL", config({ apiVersion: 0 }), { CNI_NETNS: "" })).status).toBe(0);
      expect(node.client.list("Endpoint")).toHaveLength(compat === "hardened" ? 0 : 1);
    }
  });

  it.each(MODES)(
    "v1: none deletes the endpoint, container:ID detaches the container alone (%s)",
    async (compat) => {
      const node = bridgeNode(compat);
      const v1 = config({ apiVersion: 0 });
      await node.run("ADD", v1, NONE);
      const workload = { CNI_CONTAINERID: "WKL", CNI_NETNS: "container:SBX" };
      await node.run("ADD", v1, workload);
      expect((await node.run("DEL", v1, workload)).status).toBe(0);
      expect(node.client.list("Endpoint")[0]?.["SharedContainers"]).toEqual(["SBX"]);
      expect((await node.run("DEL", v1, NONE)).status).toBe(0);
      expect(node.client.list("Endpoint")).toEqual([]);
      expect((await node.run("DEL", v1, NONE)).status).toBe(0);
    },
  );

  it.each(MODES)("CNI-074 v2 without netns: everything goes (%s)", async (compat) => {
    const node = bridgeNode(compat);
    await node.run("ADD", config());
    expect((await node.run("DEL", config(), { CNI_NETNS: "" })).status).toBe(0);
    expect(node.client.list("Endpoint")).toEqual([]);
    expect(node.client.bodiesOf("modify Namespace")).toMatchObject([
      { RequestType: "Add" },
      { RequestType: "Remove" },
    ]);
  });

  it.each(MODES)("CNI-075 CNI-076 namespace and network gone already: success (%s)", async (compat) => {
    const node = bridgeNode(compat);
    node.client.put("Endpoint", {
      ...ENDPOINT,
      HostComputeNamespace: "11111111-2222-3333-4444-555555555555",
    });
    await node.client.delete("Network", NETWORKS.cbr0);
    expect(await node.run("DEL", config())).toMatchObject({ status: 0, stdout: "" });
    expect(node.client.list("Endpoint")).toEqual([]);
  });

  it("CNI-077 order: upstream releases the address first, hardened the endpoint", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      await node.run("ADD", config());
      let endpointsAtRelease = -1;
      node.ipam.del = () => {
        endpointsAtRelease = node.client.list("Endpoint").length;
        return Promise.resolve();
      };
      await node.run("DEL", config());
      expect(endpointsAtRelease).toBe(compat === "hardened" ? 0 : 1);
    }
  });

  it("an endpoint that HNS will not give up keeps its address: hardened; upstream has released it", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      await node.run("ADD", config());
      node.client.failNext("delete Endpoint", new HcnError("HCN_E_DEGRADED_OPERATION"));
      const run = await node.run("DEL", config());
      expect(errorOf(run).msg).toContain(
        "failed to remove HostComputeEndpoint SBX_cbr0: hcnDeleteEndpoint failed in Win32",
      );
      expect(node.ipam.verbs).toEqual(compat === "hardened" ? ["ADD"] : ["ADD", "DEL"]);
    }
  });

  it("an endpoint that vanishes in between: hardened succeeds, upstream reports it", async () => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      await node.run("ADD", config());
      node.client.failNext("modify Namespace", new HcnError("HCN_E_ENDPOINT_NOT_FOUND"));
      expect((await node.run("DEL", config())).status).toBe(compat === "hardened" ? 0 : 1);
      node.client.failNext("delete Endpoint", new HcnError("HCN_E_ENDPOINT_NOT_FOUND"));
      node.client.put("Endpoint", ENDPOINT);
      expect((await node.run("DEL", config())).status).toBe(compat === "hardened" ? 0 : 1);
    }
  });
});

// plugins/pkg/hns/endpoint_windows.go, RemoveHcnEndpoint: both failures name the endpoint.
it.each([
  ["modify Namespace", "error removing endpoint: NAME from namespace"],
  ["delete Endpoint", "failed to remove HostComputeEndpoint NAME"],
])("DEL: a failed %s says of which endpoint", async (call, message) => {
  for (const compat of MODES) {
    const node = bridgeNode(compat);
    await node.run("ADD", config());
    const [endpoint] = node.client.list("Endpoint") as readonly { readonly Name: string }[];
    node.client.failNext(call, new HcnError("HCN_E_INVALID_POLICY"));
    const { msg, details } = errorOf(await node.run("DEL", config()));
    expect(`${msg} ${details ?? ""}`).toContain(message.replace("NAME", endpoint!.Name));
  }
});

describe("CHECK", () => {
  async function added(compat: Compat, fields: object = {}) {
    const node = bridgeNode(compat);
    const first = await node.run("ADD", config(fields));
    const prevResult = JSON.parse(first.stdout) as JsonObject;
    const check = (more: object = {}, env: Record<string, string> = {}) =>
      node.run("CHECK", config({ ...fields, prevResult, ...more }), env);
    const change = (changes: JsonObject) => {
      const endpoint = node.client.list("Endpoint")[0] as JsonObject & { ID: string };
      node.client.put("Endpoint", { ...endpoint, ...changes });
    };
    return { ...node, check, change };
  }

  it("hardened passes an endpoint that is as ADD left it, and asks IPAM; upstream looks at nothing", async () => {
    const fields = {
      ipMasqNetwork: "10.244.0.0/16",
      loopbackDSR: true,
      runtimeConfig: { portMappings: [{ hostPort: 80, containerPort: 80, protocol: "tcp" }] },
    };
    const hardened = await added("hardened", fields);
    expect(await hardened.check()).toMatchObject({ status: 0, stdout: "", stderr: "" });
    expect(hardened.ipam.verbs).toEqual(["ADD", "CHECK"]);
    const upstream = await added("upstream");
    expect(await upstream.check({ prevResult: undefined })).toMatchObject({ status: 0 });
    expect(upstream.ipam.verbs).toEqual(["ADD"]);
  });

  it("CNI-078 an endpoint deleted behind the back", async () => {
    for (const compat of MODES) {
      const { check, client } = await added(compat);
      await client.delete("Endpoint", (client.list("Endpoint")[0] as { ID: string }).ID);
      const run = await check();
      expect(run.status).toBe(compat === "hardened" ? 1 : 0);
      expect(run.stdout.includes("endpoint SBX_cbr0 is gone")).toBe(compat === "hardened");
    }
  });

  it.each([
    [{ HostComputeNamespace: OTHER_NAMESPACE }, `it is in namespace ${OTHER_NAMESPACE}, not in ${NAMESPACE}`],
    [{ HostComputeNamespace: undefined }, `it is in no namespace, not in ${NAMESPACE}`],
    [{ IpConfigurations: [{ IpAddress: "10.244.3.9" }] }, "the address 10.244.3.3 is missing"],
    [{ Routes: [] }, "the default route to 10.244.3.2 is missing"],
    [
      { Routes: [{ NextHop: "10.244.3.1", DestinationPrefix: "0.0.0.0/0" }] },
      "the default route to 10.244.3.2 is missing, it leads to 10.244.3.1",
    ],
    [{ MacAddress: "00-15-5D-00-00-01" }, "its MAC address is 00-15-5D-00-00-01, not 00-15-5D-AA-BB-CC"],
    [{ State: 5 }, "it is degraded"],
    [{ Policies: [] }, 'the policy OutBoundNAT {"Exceptions":["10.244.0.0/16"]} is missing'],
    [{ HostComputeNetwork: NETWORKS.cbr1 }, `it is on network ${NETWORKS.cbr1}, not on ${NETWORKS.cbr0}`],
  ])("CNI-079 what differs is named: %j", async (changes, difference) => {
    for (const compat of MODES) {
      const { check, change } = await added(compat, { ipMasqNetwork: "10.244.0.0/16" });
      change(changes);
      const run = await check();
      expect(run.status).toBe(compat === "hardened" ? 1 : 0);
      expect(run.stdout.includes(JSON.stringify(difference).slice(1, -1))).toBe(compat === "hardened");
    }
  });

  it("CNI-080 without prevResult", async () => {
    const { check } = await added("hardened");
    expect(errorOf(await check({ prevResult: undefined }))).toEqual({
      code: 7,
      msg: 'CHECK needs the field "prevResult", the result of ADD',
    });
  });

  it("tolerates what plugins behind it changed: other interfaces, further policies", async () => {
    const { check, change } = await added("hardened");
    change({ Policies: [{ Type: "ACL", Settings: { Action: "Block" } }] });
    const prevResult = {
      cniVersion: "1.1.0",
      interfaces: [{ name: "eth0", sandbox: NAMESPACE }, { name: "eth1" }],
      ips: [
        { address: "10.244.3.3/24", interface: 0 },
        { address: "192.168.1.1/24", interface: 1 },
      ],
    };
    expect(await check({ prevResult })).toMatchObject({ status: 0 });
  });

  it("fails when IPAM does, in IPAM's words", async () => {
    const { check, ipam } = await added("hardened");
    ipam.failures.set("CHECK", new CniError(999, "host-local: Failed to find address"));
    expect(errorOf(await check())).toEqual({ code: 999, msg: "host-local: Failed to find address" });
  });

  it("over HNS v1: endpoint, container, address", async () => {
    const node = bridgeNode("hardened");
    const v1 = { apiVersion: 0 };
    const first = await node.run("ADD", config(v1), NONE);
    const stdin = config({ ...v1, prevResult: JSON.parse(first.stdout) as JsonObject });
    expect(await node.run("CHECK", stdin, NONE)).toMatchObject({ status: 0 });
    const workload = await node.run("CHECK", stdin, { CNI_CONTAINERID: "WKL", CNI_NETNS: "container:SBX" });
    expect(errorOf(workload).msg).toBe(
      "endpoint SBX_cbr0 is not as ADD left it: container WKL is not attached",
    );
    const endpoint = node.client.list("Endpoint")[0] as JsonObject & { ID: string };
    node.client.put("Endpoint", { ...endpoint, IPAddress: "10.244.3.9", VirtualNetwork: NETWORKS.cbr1 });
    expect(errorOf(await node.run("CHECK", stdin, NONE)).msg).toContain(
      "it is not on network cbr0; the address 10.244.3.3 is missing",
    );
    await node.client.delete("Endpoint", endpoint.ID);
    expect(errorOf(await node.run("CHECK", stdin, NONE)).msg).toContain("is gone");
  });
});

describe("STATUS", () => {
  it.each([
    ["CNI-081 HNS is down", {}, "RPC server is unavailable", "hns-unreachable"],
    [
      "CNI-082 the network is missing",
      { name: "x" },
      'Network name \\"x\\" not found',
      "cni-network-not-found",
    ],
    ["the network is of another type", { name: "nat" }, "network nat is of unexpected type: NAT", undefined],
  ] as const)("%s: hardened 50, upstream silent", async (_name, fields, message, explained) => {
    for (const compat of MODES) {
      const node = bridgeNode(compat);
      if (explained === "hns-unreachable")
        node.client.failNext("enumerate Network", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      const run = await node.run("STATUS", config(fields));
      expect(run.status).toBe(compat === "hardened" ? 1 : 0);
      expect(run.stdout.includes(message) && run.stdout.includes('"code": 50')).toBe(compat === "hardened");
      expect(run.explained).toBe(compat === "hardened" ? explained : undefined);
    }
  });

  it.each(MODES)("CNI-083 asks IPAM and passes its answer on (%s)", async (compat) => {
    const node = bridgeNode(compat);
    expect(await node.run("STATUS", config())).toMatchObject({ status: 0, stdout: "" });
    node.ipam.failures.set("STATUS", new CniError(50, "full"));
    expect(errorOf(await node.run("STATUS", config()))).toEqual({ code: 50, msg: "full" });
    expect(await node.run("STATUS", config({ ipam: undefined }))).toMatchObject({ status: 0 });
  });

  it("over HNS v1", async () => {
    const node = bridgeNode("hardened");
    expect(await node.run("STATUS", config({ apiVersion: 1 }))).toMatchObject({ status: 0 });
    expect(errorOf(await node.run("STATUS", config({ apiVersion: 1, name: "x" })))).toMatchObject({
      code: 50,
      msg: "error while getting network x: Network x not found",
    });
  });
});

describe("GC", () => {
  const VALID = { "cni.dev/valid-attachments": [{ containerID: "live", ifname: "eth0" }] };

  function populated(compat: Compat) {
    const node = bridgeNode(compat);
    let n = 0;
    const put = (Name: string, fields: JsonObject = {}) => {
      n += 1;
      const ID = `99999999-0000-4000-8000-${String(n).padStart(12, "0")}`;
      const network = { HostComputeNetwork: NETWORKS.cbr0, VirtualNetwork: NETWORKS.cbr0 };
      node.client.put("Endpoint", { ID, Name, ...network, ...fields });
    };
    put("dead_cbr0", { HostComputeNamespace: NAMESPACE });
    put("live_cbr0");
    put("cbr0_ep");
    put("remote_cbr0", { Flags: 1, IsRemoteEndpoint: true });
    put("dead_cbr1", { HostComputeNetwork: NETWORKS.cbr1, VirtualNetwork: NETWORKS.cbr1 });
    put("Ethernet");
    put("bad name_cbr0");
    put("dead2_cbr0");
    const names = () => node.client.list("Endpoint").map((endpoint) => endpoint["Name"]);
    return { ...node, names };
  }

  const KEPT = ["live_cbr0", "cbr0_ep", "remote_cbr0", "dead_cbr1", "Ethernet", "bad name_cbr0"];

  it("CNI-084 CNI-085 stale endpoints of this network go; bridge, remote, other and foreign ones stay; IPAM is told", async () => {
    const hardened = populated("hardened");
    expect(await hardened.run("GC", config(VALID))).toMatchObject({ status: 0, stdout: "" });
    expect(hardened.names()).toEqual(KEPT);
    expect(hardened.ipam.verbs).toEqual(["GC"]);
    const v1 = populated("hardened");
    expect(await v1.run("GC", config({ ...VALID, apiVersion: 0 }))).toMatchObject({ status: 0, stdout: "" });
    expect(v1.names()).toEqual(KEPT);
    const upstream = populated("upstream");
    expect(await upstream.run("GC", config(VALID))).toMatchObject({ status: 0, stdout: "" });
    expect(upstream.names()).toHaveLength(8);
    expect(upstream.ipam.verbs).toEqual([]);
  });

  it("CNI-086 the key of old client libraries", async () => {
    const node = populated("hardened");
    await node.run("GC", config({ "cni.dev/attachments": VALID["cni.dev/valid-attachments"] }));
    expect(node.names()).toEqual(KEPT);
  });

  it("CNI-087 an empty list: all are stale; no list: nothing is done but IPAM told", async () => {
    const node = populated("hardened");
    await node.run("GC", config());
    expect(node.names()).toHaveLength(8);
    expect(node.ipam.verbs).toEqual(["GC"]);
    await node.run("GC", config({ "cni.dev/valid-attachments": [] }));
    expect(node.names()).not.toContain("live_cbr0");
  });

  it("CNI-088 goes on after a failure and reports it at the end", async () => {
    const node = populated("hardened");
    node.client.failNext("delete Endpoint", new HcnError("HCN_E_DEGRADED_OPERATION"));
    node.ipam.failures.set("GC", new CniError(5, "disk full"));
    const run = await node.run("GC", config(VALID));
    expect(errorOf(run).msg).toMatch(/^failed to remove HostComputeEndpoint dead_cbr0: .*; disk full$/);
    expect(node.names()).toEqual(["dead_cbr0", ...KEPT]);
  });

  it("a network that is gone has nothing to collect", async () => {
    const node = populated("hardened");
    expect(await node.run("GC", config({ ...VALID, name: "x" }))).toMatchObject({ status: 0 });
    node.client.failNext("enumerate Network", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
    expect((await node.run("GC", config(VALID))).status).toBe(1);
  });
});

it("a world that holds the plugin can be forked", async () => {
  const node = bridgeNode("hardened");
  const copy = fork({ plugin: node.plugin });
  expect(copy.plugin).toBeInstanceOf(Object);
  expect(copy.plugin.name).toBe("win-bridge");
});
