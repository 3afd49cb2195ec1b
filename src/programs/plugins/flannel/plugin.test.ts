// The flannel meta plugin: the worked examples of cni.md §7.C and the rows of §8 about it, in both modes.
import { describe, expect, it } from "vitest";
import { resultWith } from "#test/support/cni/scripted-plugin.ts";
import { sealSubnetEnv } from "#contracts/cni/subnet-env.ts";
import { errorOf } from "#test/support/cni/cni-process.ts";
import { DATA_FOLDER, SUBNET_FILE, flannelNode, subnetEnv } from "#test/support/cni/flannel-node.ts";
import { CniError, PluginPanic } from "#contracts/cni/error.ts";
import { MemoryLeaseStore } from "../host-local/leases.ts";
import { HostLocal } from "../host-local/plugin.ts";
import { NETWORKS, bridgeNode, overlayNode, sdnNode } from "#test/support/cni/windows-plugin-node.ts";

const MODES = ["upstream", "hardened"] as const;
const policy = (Value: object) => ({ Name: "EndpointPolicy", Value });
const EXCEPTIONS = ["10.244.0.0/16", "10.96.0.0/12", "10.0.0.0/24"];
const NAT = policy({ Type: "OutBoundNAT", Settings: { Exceptions: EXCEPTIONS } });
const ROUTE = policy({ Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } });
const IPAM = { subnet: "10.244.3.0/24", type: "host-local" };
const ENV = { ipMasq: true, ipMasqNetwork: "10.244.0.0/16" };

describe("what the delegate is sent (cni.md §7.C)", () => {
  it("CNI-EX-C1 CNI-089 the least there is: win-bridge, and the scratch file holds exactly what was sent", async () => {
    const node = flannelNode();
    const run = await node.run("ADD", { name: "cbr0", type: "flannel" });
    const text = `{"cniVersion":"0.2.0","ipMasq":true,"ipMasqNetwork":"10.244.0.0/16","ipam":{"subnet":"10.244.3.0/24","type":"host-local"},"name":"cbr0","type":"win-bridge"}`;
    expect(node.delegate.requests[0]?.configurationText).toBe(text);
    expect(await node.scratch.read(DATA_FOLDER, "SBX")).toBe(text);
    // The delegate's result, in the delegate's version.
    expect(JSON.parse(run.stdout)).toMatchObject({ cniVersion: "0.2.0" });
    expect(run.stderr).toBe(`delegateAdd: netconf sent to delegate plugin:\n${text}\n`);
  });

  it.each([
    {
      id: "CNI-EX-C2 host-gw with containerd",
      stdin: {
        cniVersion: "0.2.0",
        name: "cbr0",
        type: "flannel",
        capabilities: { dns: true, portMappings: true },
        delegate: { type: "win-bridge", apiVersion: 2, policies: [NAT, ROUTE] },
        runtimeConfig: { dns: { Servers: ["10.96.0.10"], Searches: ["default.svc.cluster.local"] } },
      },
      sent: {
        apiVersion: 2,
        cniVersion: "0.2.0",
        ...ENV,
        ipam: IPAM,
        name: "cbr0",
        policies: [NAT, ROUTE],
        runtimeConfig: { dns: { Servers: ["10.96.0.10"], Searches: ["default.svc.cluster.local"] } },
        type: "win-bridge",
      },
    },
    {
      id: "CNI-EX-C4 sdnbridge",
      stdin: {
        cniVersion: "0.2.0",
        name: "cbr0",
        type: "flannel",
        capabilities: { portMappings: true, dns: true },
        delegate: {
          type: "sdnbridge",
          optionalFlags: { forceBridgeGateway: true, loopbackDSR: false },
          AdditionalArgs: [NAT, ROUTE],
        },
      },
      sent: {
        AdditionalArgs: [NAT, ROUTE],
        cniVersion: "0.2.0",
        ...ENV,
        ipam: IPAM,
        name: "cbr0",
        optionalFlags: { forceBridgeGateway: true, loopbackDSR: false },
        type: "sdnbridge",
      },
    },
    {
      id: "CNI-EX-C6 CNI-091 the delegate's own masquerading is overwritten, its mtu passed on",
      stdin: {
        cniVersion: "1.0.0",
        name: "cbr0",
        type: "flannel",
        delegate: { type: "win-bridge", ipMasq: false, ipMasqNetwork: "1.2.3.0/24", mtu: 1400 },
      },
      sent: { cniVersion: "1.0.0", ...ENV, ipam: IPAM, mtu: 1400, name: "cbr0", type: "win-bridge" },
    },
  ])("$id", async ({ stdin, sent }) => {
    const node = flannelNode();
    expect(await node.run("ADD", stdin)).toMatchObject({ status: 0 });
    expect(node.sent()).toEqual(sent);
  });

  it.each(["win-overlay", "sdnoverlay"])(
    "CNI-EX-C3 CNI-EX-C5 vxlan: %s with the node's own subnet",
    async (type) => {
      const node = flannelNode();
      node.files.set(SUBNET_FILE, subnetEnv({ FLANNEL_SUBNET: "10.244.5.1/24" }));
      const given =
        type === "sdnoverlay" ? { AdditionalArgs: [NAT, ROUTE] } : { apiVersion: 2, Policies: [NAT, ROUTE] };
      await node.run("ADD", {
        cniVersion: "0.2.0",
        name: "vxlan0",
        type: "flannel",
        delegate: { type, ...given },
      });
      expect(node.sent()).toEqual({
        ...given,
        cniVersion: "0.2.0",
        ...ENV,
        ipam: { subnet: "10.244.5.0/24", type: "host-local" },
        name: "vxlan0",
        type,
      });
    },
  );

  it("CNI-EX-C3 all the way down to HNS", async () => {
    const overlay = overlayNode();
    overlay.ipam.result = resultWith("10.244.5.2/24");
    const node = flannelNode("upstream", { delegates: [overlay.plugin] });
    node.files.set(SUBNET_FILE, subnetEnv({ FLANNEL_SUBNET: "10.244.5.1/24" }));
    const run = await node.run("ADD", {
      cniVersion: "0.2.0",
      name: "vxlan0",
      type: "flannel",
      delegate: { type: "win-overlay", apiVersion: 2, Policies: [NAT, ROUTE] },
    });
    expect(overlay.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "SBX_vxlan0",
        HostComputeNetwork: NETWORKS.vxlan0,
        Policies: [
          NAT.Value,
          ROUTE.Value,
          { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.0.7" } },
          { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.5.0/24"] } },
        ],
        IpConfigurations: [{ IpAddress: "10.244.5.2" }],
        Dns: {},
        Routes: [{ NextHop: "10.244.5.1", DestinationPrefix: "0.0.0.0/0" }],
        MacAddress: "0E-2A-0a-f4-05-02",
        Health: { Extra: {} },
        SchemaVersion: { Major: 2, Minor: 0 },
      },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.244.5.2/24", gateway: "10.244.5.1" },
      dns: {},
    });
  });

  it("CNI-EX-C5 all the way down to HNS: the provider address of the configuration, and no MAC", async () => {
    const ipam = new HostLocal({ store: new MemoryLeaseStore(), compat: "upstream" });
    const overlay = sdnNode("sdnoverlay", "upstream", [ipam]);
    const node = flannelNode("upstream", { delegates: [overlay.plugin] });
    node.files.set(SUBNET_FILE, subnetEnv({ FLANNEL_SUBNET: "10.244.5.1/24" }));
    const provider = policy({ Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.0.7" } });
    const run = await node.run("ADD", {
      cniVersion: "0.2.0",
      name: "vxlan0",
      type: "flannel",
      delegate: { type: "sdnoverlay", AdditionalArgs: [NAT, ROUTE, provider] },
    });
    expect(JSON.parse((await node.scratch.read(DATA_FOLDER, "SBX")) ?? "")).toEqual({
      AdditionalArgs: [NAT, ROUTE, provider],
      cniVersion: "0.2.0",
      ...ENV,
      ipam: { subnet: "10.244.5.0/24", type: "host-local" },
      name: "vxlan0",
      type: "sdnoverlay",
    });
    expect(overlay.client.bodiesOf("create Endpoint")).toEqual([
      {
        Name: "SBX_vxlan0",
        HostComputeNetwork: NETWORKS.vxlan0,
        Policies: [NAT.Value, ROUTE.Value, provider.Value],
        IpConfigurations: [{ IpAddress: "10.244.5.2" }],
        Dns: {},
        Health: { Extra: {} },
        Routes: [{ NextHop: "10.244.5.1", DestinationPrefix: "0.0.0.0/0" }],
        SchemaVersion: { Major: 2, Minor: 0 },
      },
    ]);
    expect(JSON.parse(run.stdout)).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.244.5.2/24", gateway: "10.244.5.1" },
      dns: {},
    });
  });

  it("on Linux: bridge, two ranges, routes to the cluster, and masquerading as flanneld leaves it", async () => {
    const node = flannelNode("upstream", { platform: "linux" });
    node.files.set(
      SUBNET_FILE,
      subnetEnv({
        FLANNEL_IPMASQ: "false",
        FLANNEL_IPV6_NETWORK: "fd00:244::/48",
        FLANNEL_IPV6_SUBNET: "fd00:244:0:3::1/64",
      }),
    );
    await node.run("ADD", {
      cniVersion: "1.0.0",
      name: "cbr0",
      type: "flannel",
      delegate: { hairpinMode: true, isDefaultGateway: true },
      ipam: { routes: [{ dst: "10.96.0.0/12" }] },
    });
    expect(node.sent()).toEqual({
      cniVersion: "1.0.0",
      hairpinMode: true,
      ipMasq: true,
      ipam: {
        ranges: [[{ subnet: "10.244.3.0/24" }], [{ subnet: "fd00:244:0:3::/64" }]],
        routes: [{ dst: "10.96.0.0/12" }, { dst: "10.244.0.0/16" }, { dst: "fd00:244::/48" }],
        type: "host-local",
      },
      isDefaultGateway: true,
      isGateway: true,
      mtu: 1500,
      name: "cbr0",
      type: "bridge",
    });
  });
});

describe("what is refused", () => {
  it.each([
    ["name", { name: "x" }, "'delegate' dictionary must not have 'name' field, it'll be set by flannel"],
    ["ipam", { ipam: {} }, "'delegate' dictionary must not have 'ipam' field, it'll be set by flannel"],
    ["type", { type: 1 }, "'delegate' dictionary, if present, must have (string) 'type' field"],
  ])("CNI-EX-C7 CNI-090 delegate.%s", async (_field, delegate, msg) => {
    for (const compat of MODES) {
      const run = await flannelNode(compat).run("ADD", { name: "cbr0", type: "flannel", delegate });
      expect(errorOf(run)).toMatchObject({ code: 999, msg });
      expect(run.explained).toBe("cni-flannel-delegate-field-forbidden");
    }
  });

  it("CNI-EX-C7 delegate.IPAM stays beside ipam: the keys are told apart by case", async () => {
    const node = flannelNode();
    await node.run("ADD", { name: "cbr0", type: "flannel", delegate: { IPAM: { type: "x" } } });
    expect(node.sent()).toMatchObject({ IPAM: { type: "x" }, ipam: IPAM });
  });

  it("CNI-EX-C8 CNI-095 no subnet.env", async () => {
    const node = flannelNode();
    node.files.clear();
    const run = await node.run("ADD", { name: "cbr0", type: "flannel" });
    expect(errorOf(run)).toEqual({
      code: 999,
      msg: "failed to load flannel 'subnet.env' file: open /run/flannel/subnet.env: The system cannot find the path specified.. Check the flannel pod log for this node.",
    });
    expect(run.explained).toBe("subnet-env-missing");
  });

  it.each([
    ["CNI-EX-C9", { FLANNEL_MTU: undefined, FLANNEL_IPMASQ: undefined }, "FLANNEL_MTU, FLANNEL_IPMASQ"],
    ["", { FLANNEL_NETWORK: undefined }, "FLANNEL_NETWORK, FLANNEL_IPV6_NETWORK"],
    ["", { FLANNEL_SUBNET: undefined }, "FLANNEL_SUBNET, FLANNEL_IPV6_SUBNET"],
  ])("%s subnet.env without %j", async (_id, lines, missing) => {
    const node = flannelNode();
    node.files.set(SUBNET_FILE, subnetEnv(lines));
    const run = await node.run("ADD", { name: "cbr0", type: "flannel" });
    expect(errorOf(run).msg).toContain(`/run/flannel/subnet.env is missing ${missing}.`);
    expect(run.explained).toBe("subnet-env-incomplete");
  });

  it("a network that is none, an MTU that is none", async () => {
    for (const [lines, text] of [
      [{ FLANNEL_NETWORK: "10.244.0.0" }, "invalid CIDR address: 10.244.0.0"],
      [{ FLANNEL_MTU: "many" }, 'strconv.ParseUint: parsing "many": invalid syntax'],
      [{ FLANNEL_MTU: "4294967296" }, 'strconv.ParseUint: parsing "4294967296": value out of range'],
    ] as const) {
      const node = flannelNode();
      node.files.set(SUBNET_FILE, subnetEnv(lines));
      expect(errorOf(await node.run("ADD", { name: "cbr0", type: "flannel" })).msg).toContain(text);
    }
  });

  it("a key without a value: upstream crashes, hardened names the line; CRLF and unknown keys are no fault", async () => {
    const text = "FLANNEL_NETWORK\n";
    const run = async (compat: (typeof MODES)[number], content: string) => {
      const node = flannelNode(compat);
      node.files.set(SUBNET_FILE, content);
      return node.run("ADD", { name: "cbr0", type: "flannel" });
    };
    expect(await run("upstream", text)).toMatchObject({ status: 2, stdout: "" });
    expect(errorOf(await run("hardened", text)).msg).toContain(
      "/run/flannel/subnet.env:1: FLANNEL_NETWORK has no value",
    );
    expect(await run("upstream", `FLANNEL_NEW\n\n${subnetEnv().replaceAll("\n", "\r\n")}`)).toMatchObject({
      status: 0,
    });
  });

  it.each(MODES)("%s: a subnet.env with a flipped digit, which flanneld has sealed", async (compat) => {
    const sealed = sealSubnetEnv(subnetEnv());
    const whole = flannelNode(compat);
    whole.files.set(SUBNET_FILE, sealed);
    expect((await whole.run("ADD", { name: "cbr0", type: "flannel" })).status).toBe(0);
    const node = flannelNode(compat);
    node.files.set(SUBNET_FILE, sealed.replace("FLANNEL_MTU=1", "FLANNEL_MTU=0"));
    const run = await node.run("ADD", { name: "cbr0", type: "flannel" });
    // Upstream's loadFlannelSubnetEnv knows no checksum.
    if (compat === "upstream") expect(run.status).toBe(0);
    else
      expect(errorOf(run).msg).toContain(
        "/run/flannel/subnet.env is damaged: its checksum is wrong; restart flanneld, which writes it again",
      );
  });

  it("the failure of the delegate is told with what was tried", async () => {
    const node = flannelNode();
    const delegate = { type: "nosuch" };
    expect(errorOf(await node.run("ADD", { name: "cbr0", type: "flannel", delegate }))).toEqual({
      code: 999,
      msg: 'failed to delegate add: failed to find plugin "nosuch" in path [/opt/cni/bin]',
    });
    expect(await node.scratch.list(DATA_FOLDER)).toEqual(["SBX"]);
  });

  // pkg/skel of cni 1.3.0: an error of a called plugin goes up as it is, whatever %w has put around it.
  it.each(MODES)("%s: code, text and details of the delegate are flannel's", async (compat) => {
    const node = flannelNode(compat);
    node.delegate.failures.set("ADD", new CniError(11, "later", { details: "busy" }));
    expect(errorOf(await node.run("ADD", { name: "cbr0", type: "flannel" }))).toEqual({
      code: 11,
      msg: "later",
      details: "busy",
    });
  });

  it("a delegate that crashes: what it has said, in the words of cni 1.3.0, without its status", async () => {
    const node = flannelNode();
    node.delegate.failures.set("ADD", new PluginPanic("index out of range"));
    expect(errorOf(await node.run("ADD", { name: "cbr0", type: "flannel" }))).toEqual({
      code: 0,
      msg: String.raw`netplugin failed: "panic: index out of range\n"`,
    });
  });

  // plugins 1.9.1 puts its own words around IPAM's with %v, which loses the code.
  it.each([
    ["upstream", 999],
    ["hardened", 11],
  ] as const)("%s: IPAM's 11 is win-bridge's and so flannel's %d", async (compat, code) => {
    const bridge = bridgeNode(compat);
    bridge.ipam.failures.set("ADD", new CniError(11, "later", { details: "busy" }));
    const node = flannelNode(compat, { delegates: [bridge.plugin] });
    const delegate = { type: "win-bridge", apiVersion: 2 };
    expect(errorOf(await node.run("ADD", { name: "cbr0", type: "flannel", delegate }))).toEqual({
      code,
      msg:
        "error while adding HostComputeEndpoint: failed to make a new HostComputeEndpoint: " +
        "error while processing endpoint args: error while executing IPAM addition: later; busy",
    });
  });

  it.each([
    ["upstream", 999, "failed to load flannel netconf file: failed to load netconf: "],
    ["hardened", 7, "failed to load flannel netconf file: failed to load netconf: "],
  ] as const)("a field of the wrong kind, %s", async (compat, code, prefix) => {
    const run = await flannelNode(compat).run("ADD", {
      name: "cbr0",
      type: "flannel",
      delegate: "win-bridge",
    });
    expect(errorOf(run)).toMatchObject({
      code,
      msg: `${prefix}field "delegate" must be an object, not the text "win-bridge"`,
    });
  });
});

describe("several networks and families", () => {
  const CLUSTER = { FLANNEL_NETWORK: "10.244.0.0/16,10.245.0.0/16,10.244.0.0/16", FLANNEL_IPMASQ: "TRUE" };
  const stdin = { cniVersion: "0.3.1", name: "cbr0", type: "flannel", delegate: { apiVersion: 2 } };

  it("CNI-EX-C10 CNI-092 CNI-093 upstream sends the first alone, and only true is true", async () => {
    const node = flannelNode();
    node.files.set(SUBNET_FILE, subnetEnv(CLUSTER));
    await node.run("ADD", stdin);
    expect(node.sent()).toEqual({
      apiVersion: 2,
      cniVersion: "0.3.1",
      ipMasq: false,
      ipMasqNetwork: "10.244.0.0/16",
      ipam: IPAM,
      name: "cbr0",
      type: "win-bridge",
    });
  });

  it("CNI-093 hardened excepts them all", async () => {
    const node = flannelNode("hardened");
    node.files.set(SUBNET_FILE, subnetEnv(CLUSTER));
    await node.run("ADD", stdin);
    expect(node.sent()["policies"]).toEqual([
      {
        name: "EndpointPolicy",
        value: { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16", "10.245.0.0/16"] } },
      },
    ]);
  });

  const IPV6 = {
    FLANNEL_NETWORK: undefined,
    FLANNEL_SUBNET: undefined,
    FLANNEL_IPV6_NETWORK: "fd00:244::/48",
    FLANNEL_IPV6_SUBNET: "fd00:244:0:3::1/64",
  };

  it("CNI-EX-C11 CNI-094 IPv6 alone: upstream crashes, hardened sends it", async () => {
    for (const compat of MODES) {
      const node = flannelNode(compat);
      node.files.set(SUBNET_FILE, subnetEnv(IPV6));
      const run = await node.run("ADD", stdin);
      if (compat === "upstream") expect(run).toMatchObject({ status: 2, stdout: "" });
      else
        expect(node.sent()).toMatchObject({
          ipMasqNetwork: "fd00:244::/48",
          ipam: { subnet: "fd00:244:0:3::/64" },
        });
    }
  });

  it("a namespace without apiVersion: hardened asks for HCN, since v1 cannot serve it", async () => {
    for (const [compat, netns, apiVersion] of [
      ["upstream", undefined, undefined],
      ["hardened", undefined, 2],
      ["hardened", "none", undefined],
    ] as const) {
      const node = flannelNode(compat);
      const env = netns === undefined ? {} : { CNI_NETNS: netns };
      await node.run("ADD", { name: "cbr0", type: "flannel", delegate: { type: "win-bridge" } }, env);
      expect(node.sent()["apiVersion"]).toBe(apiVersion);
    }
  });
});

describe("the end of a pod", () => {
  const STDIN = { cniVersion: "1.0.0", name: "cbr0", type: "flannel", delegate: { apiVersion: 2 } };

  it.each(MODES)(
    "CNI-EX-C12 CNI-098 %s: DEL sends what ADD has sent, whatever subnet.env says now",
    async (compat) => {
      const node = flannelNode(compat);
      await node.run("ADD", STDIN);
      const sent = node.delegate.requests[0]?.configurationText;
      node.files.set(SUBNET_FILE, subnetEnv({ FLANNEL_SUBNET: "10.244.9.1/24" }));
      expect(await node.run("DEL", { ...STDIN, delegate: {} })).toMatchObject({ status: 0, stdout: "" });
      expect(node.delegate.verbs).toEqual(["ADD", "DEL"]);
      expect(node.delegate.requests[1]?.configurationText).toBe(sent);
      expect(await node.scratch.list(DATA_FOLDER)).toEqual([]);
    },
  );

  it("CNI-EX-C12 CNI-096 the file is gone: upstream succeeds and leaks, hardened asks the delegate all the same", async () => {
    const upstream = flannelNode("upstream");
    expect(await upstream.run("DEL", STDIN)).toMatchObject({ status: 0 });
    expect(upstream.delegate.verbs).toEqual([]);
    const hardened = flannelNode("hardened");
    expect(await hardened.run("DEL", STDIN)).toMatchObject({ status: 0 });
    expect(hardened.delegate.verbs).toEqual(["DEL"]);
    expect(hardened.sent()).toMatchObject({ type: "win-bridge", name: "cbr0", ipam: IPAM });
  });

  it("CNI-096 file and subnet.env are gone: hardened still removes the endpoint, and says what stays", async () => {
    const node = flannelNode("hardened");
    node.files.clear();
    const run = await node.run("DEL", STDIN);
    expect(run).toMatchObject({ status: 0, stdout: "" });
    expect(run.stderr).toContain("flannel: the address stays reserved until GC: ");
    expect(node.sent()).toEqual({ apiVersion: 2, name: "cbr0", type: "win-bridge", cniVersion: "1.0.0" });
  });

  it("CNI-EX-C12 CNI-099 the file is no JSON: an error on Windows, hardened makes it anew", async () => {
    for (const compat of MODES) {
      const node = flannelNode(compat);
      await node.scratch.write(DATA_FOLDER, compat === "upstream" ? "SBX" : "SBX_cbr0_eth0", "{");
      const run = await node.run("DEL", STDIN);
      if (compat === "upstream") {
        expect(errorOf(run).code).toBe(999);
        expect(errorOf(run).msg).toMatch(/^failed to parse netconf: /);
        expect(await node.scratch.list(DATA_FOLDER)).toEqual(["SBX"]);
      } else {
        expect(run).toMatchObject({ status: 0 });
        expect(node.delegate.verbs).toEqual(["DEL"]);
        expect(await node.scratch.list(DATA_FOLDER)).toEqual([]);
      }
    }
  });

  it("the file is no JSON on Linux: a word on stderr, and success", async () => {
    const node = flannelNode("upstream", { platform: "linux" });
    await node.scratch.write(DATA_FOLDER, "SBX", "{");
    const run = await node.run("DEL", STDIN, { CNI_NETNS: "/var/run/netns/x" });
    expect(run.status).toBe(0);
    expect(run.stderr).toMatch(/^failed to parse netconf: /);
  });

  it.each(MODES)("CNI-EX-C12 CNI-097 %s: the delegate fails, and the file is kept", async (compat) => {
    const node = flannelNode(compat);
    await node.run("ADD", STDIN);
    node.delegate.failures.set("DEL", new CniError(11, "later"));
    expect(errorOf(await node.run("DEL", STDIN))).toMatchObject({ code: 11, msg: "later" });
    expect(await node.scratch.list(DATA_FOLDER)).toHaveLength(1);
  });

  it.each([
    ["upstream", 11],
    ["hardened", 11],
  ] as const)("%s: the delegate refuses ADD with 11, flannel with %d", async (compat, code) => {
    const node = flannelNode(compat);
    node.delegate.failures.set("ADD", new CniError(11, "later"));
    expect(errorOf(await node.run("ADD", STDIN))).toMatchObject({
      code,
      msg: "later",
    });
  });

  it("CNI-EX-C13 subnetFile and dataDir of one's own", async () => {
    const node = flannelNode();
    node.files.set("C:\\flannel\\subnet.env", subnetEnv());
    node.files.delete(SUBNET_FILE);
    const dataDir = "C:\\flannel\\cni";
    const run = await node.run("ADD", { ...STDIN, subnetFile: "C:\\flannel\\subnet.env", dataDir });
    expect(run.status).toBe(0);
    expect(await node.scratch.list(dataDir)).toEqual(["SBX"]);
  });

  it("two networks of one sandbox: upstream overwrites, hardened keeps both, and finds what upstream left", async () => {
    const two = { ...STDIN, name: "cbr1" };
    const upstream = flannelNode("upstream");
    for (const stdin of [STDIN, two]) await upstream.run("ADD", stdin);
    expect(await upstream.scratch.list(DATA_FOLDER)).toEqual(["SBX"]);
    const hardened = flannelNode("hardened");
    await hardened.scratch.write(DATA_FOLDER, "SBX", '{"name":"cbr1","type":"win-overlay"}');
    await hardened.run("ADD", STDIN);
    await hardened.run("DEL", STDIN);
    expect(hardened.sent()).toMatchObject({ name: "cbr0", type: "win-bridge" });
    await hardened.run("DEL", two);
    expect(hardened.sent()).toEqual({ name: "cbr1", type: "win-overlay" });
    expect(await hardened.scratch.list(DATA_FOLDER)).toEqual([]);
  });

  it("a container that joined the sandbox leaves: upstream consumes the sandbox's file, hardened keeps it", async () => {
    for (const [compat, left] of [
      ["upstream", []],
      ["hardened", ["SBX_cbr0_eth0"]],
    ] as const) {
      const node = flannelNode(compat);
      await node.run("ADD", STDIN, { CNI_NETNS: "none" });
      await node.run("DEL", STDIN, { CNI_CONTAINERID: "WKL", CNI_NETNS: "container:SBX" });
      expect(await node.scratch.list(DATA_FOLDER)).toEqual(left);
    }
  });
});

describe("CHECK, STATUS and GC, which upstream has not", () => {
  const STDIN = { cniVersion: "1.1.0", name: "cbr0", type: "flannel", delegate: { apiVersion: 2 } };

  it("upstream succeeds and asks nobody", async () => {
    const node = flannelNode("upstream");
    node.files.clear();
    for (const verb of ["CHECK", "STATUS", "GC"])
      expect(await node.run(verb, { ...STDIN, prevResult: {} })).toMatchObject({ status: 0, stdout: "" });
    expect(node.delegate.requests).toEqual([]);
  });

  it("CHECK hands on the result of ADD in the version that the configuration has now", async () => {
    const node = flannelNode("hardened");
    await node.run("ADD", { ...STDIN, cniVersion: "0.3.1" });
    expect(node.sent()).toMatchObject({ cniVersion: "0.3.1" });
    const prevResult = { cniVersion: "1.0.0", ips: [{ address: "10.244.3.3/24" }] };
    const run = await node.run("CHECK", { ...STDIN, cniVersion: "1.0.0", prevResult });
    expect(run).toMatchObject({ status: 0 });
    expect(node.sent()).toMatchObject({ cniVersion: "1.0.0", prevResult });
  });

  it("CHECK hands on the result of ADD", async () => {
    const node = flannelNode("hardened");
    await node.run("ADD", STDIN);
    const prevResult = { cniVersion: "1.1.0", ips: [{ address: "10.244.3.2/24" }] };
    expect(await node.run("CHECK", { ...STDIN, prevResult })).toMatchObject({ status: 0 });
    expect(node.sent()).toMatchObject({ prevResult, ipam: IPAM, type: "win-bridge" });
  });

  it("CNI-095 STATUS is 50 while there is no subnet.env, then what the delegate says", async () => {
    const node = flannelNode("hardened");
    node.files.clear();
    const run = await node.run("STATUS", STDIN);
    expect(errorOf(run)).toMatchObject({ code: 50 });
    expect(run.explained).toBe("subnet-env-missing");
    node.files.set(SUBNET_FILE, subnetEnv());
    expect(await node.run("STATUS", STDIN)).toMatchObject({ status: 0 });
    node.delegate.failures.set("STATUS", new CniError(50, "no network"));
    expect(errorOf(await node.run("STATUS", STDIN))).toMatchObject({ code: 50, msg: "no network" });
  });

  it("GC hands on the list, and removes the files of the dead of this network alone", async () => {
    const node = flannelNode("hardened");
    for (const id of ["a", "b"]) await node.run("ADD", STDIN, { CNI_CONTAINERID: id });
    await node.run("ADD", { ...STDIN, name: "cbr1" }, { CNI_CONTAINERID: "a" });
    const valid = [{ containerID: "b", ifname: "eth0" }];
    expect(await node.run("GC", { ...STDIN, "cni.dev/valid-attachments": valid })).toMatchObject({
      status: 0,
    });
    expect(node.sent()).toMatchObject({ "cni.dev/valid-attachments": valid, name: "cbr0" });
    expect(await node.scratch.list(DATA_FOLDER)).toEqual(["a_cbr1_eth0", "b_cbr0_eth0"]);
  });

  it("GC without a list does nothing", async () => {
    const node = flannelNode("hardened");
    await node.run("ADD", STDIN);
    await node.run("GC", STDIN);
    expect(node.delegate.verbs).toEqual(["ADD"]);
    expect(await node.scratch.list(DATA_FOLDER)).toHaveLength(1);
  });
});
