/** The CNI plugins as Windows programs under Wine, with Node for Windows: paths with drive letters, `;` and `\`. */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import type { HostComputeNetwork, Ipam } from "#contracts/hcn/documents/network.ts";
import {
  createEndpoint,
  createNamespace,
  createNetwork,
  getNamespaceEndpointIds,
  listEndpoints,
  listNetworks,
} from "#contracts/hcn/operations.ts";
import { PROGRAM_NAMES, TOOLS } from "../../tools/bundle-programs.ts";
import { type ProgramResult, type TestDaemon, startDaemon } from "./test-daemon.ts";
import { windowsKoffi, windowsPath } from "./windows-node.ts";
import { WindowsPlugins } from "./windows-plugins.ts";

let plugins: WindowsPlugins;
beforeAll(async () => {
  plugins = await WindowsPlugins.open();
});
afterAll(() => plugins.close());
afterEach(() => {
  rmSync(plugins.folder, { recursive: true });
  mkdirSync(plugins.folder);
});

const VERBS = { ADD: { CNI_COMMAND: "ADD" }, CHECK: { CNI_COMMAND: "CHECK" }, DEL: { CNI_COMMAND: "DEL" } };
const NOTHING: ProgramResult = { code: 0, stdout: "", stderr: "" };

/** The result of an ADD that went well. */
function resultOfAdd({ code, stdout, stderr }: ProgramResult): object {
  expect([code, stderr], stdout).toEqual([0, ""]);
  return JSON.parse(stdout) as object;
}

it("all plugins answer VERSION", async () => {
  const names = PROGRAM_NAMES.filter((name) => !TOOLS.includes(name));
  expect(names).toEqual(
    expect.arrayContaining(["win-overlay", "nat", "sdnbridge", "azure-vnet", "mullion-netns"]),
  );
  for (const name of names) {
    const { code, stdout, stderr } = await plugins.run(name, { CNI_COMMAND: "VERSION" }, {});
    expect([code, stderr], `${name} says ${stdout}`).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ cniVersion: "1.1.0" });
  }
});

describe("host-local", () => {
  const range = { type: "host-local", subnet: "10.244.3.0/24" };
  const CONFIGURATION = { cniVersion: "1.1.0", name: "cbr0" };

  it("keeps its leases in a folder with a drive letter, and names IPv6 leases as Windows can", async () => {
    const ipam = { ...range, ranges: [[{ subnet: "fd00:3::/64" }]], dataDir: plugins.windows("leases") };
    const prevResult = resultOfAdd(await plugins.run("host-local", VERBS.ADD, { ...CONFIGURATION, ipam }));
    expect(prevResult).toMatchObject({ ips: [{ address: "10.244.3.2/24" }, { address: "fd00:3::2/64" }] });
    const files = (): readonly string[] => readdirSync(plugins.own("leases", "cbr0"));
    expect(files()).toEqual(expect.arrayContaining(["10.244.3.2", "fd00_3__2"]));
    expect(readFileSync(plugins.own("leases", "cbr0", "fd00_3__2"), "utf8")).toBe("SBX\r\neth0");
    expect(await plugins.run("host-local", VERBS.CHECK, { ...CONFIGURATION, ipam, prevResult })).toEqual(
      NOTHING,
    );
    expect(await plugins.run("host-local", VERBS.DEL, { ...CONFIGURATION, ipam })).toEqual(NOTHING);
    expect(files().filter((name) => /^[\da-f]+[._]/.test(name))).toEqual([]);
  });

  it("takes slashes for backslashes, and gives back in GC what nobody has", async () => {
    const ipam = { ...range, dataDir: plugins.windows("leases").replaceAll("\\", "/") };
    resultOfAdd(await plugins.run("host-local", VERBS.ADD, { ...CONFIGURATION, ipam }));
    expect(readdirSync(plugins.own("leases", "cbr0"))).toContain("10.244.3.2");
    const collected = { ...CONFIGURATION, ipam, "cni.dev/valid-attachments": [] };
    expect(await plugins.run("host-local", { CNI_COMMAND: "GC" }, collected)).toEqual(NOTHING);
    expect(readdirSync(plugins.own("leases", "cbr0"))).not.toContain("10.244.3.2");
  });
});

function ipams(prefix: string, gateway: string, policies: readonly object[] = []): readonly Ipam[] {
  const routes = [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }];
  return [
    { Type: "Static", Subnets: [{ IpAddressPrefix: prefix, Routes: routes, Policies: policies as never }] },
  ];
}

const CBR0: HostComputeNetwork = {
  Name: "cbr0",
  Type: "L2Bridge",
  Ipams: ipams("10.244.3.0/24", "10.244.3.1"),
};
const VXLAN0: HostComputeNetwork = {
  Name: "vxlan0",
  Type: "Overlay",
  Ipams: ipams("10.244.5.0/24", "10.244.5.1", [{ Type: "VSID", Settings: { IsolationId: 4096 } }]),
};

describe("with HNS", () => {
  let daemon: TestDaemon;
  let client: HcnClient;
  let pod = "";
  beforeEach(async () => {
    // An Overlay network knows the node's address at once, which flanneld would wait for.
    daemon = await startDaemon("--address-delay", "0");
    client = findHns({ variables: daemon.variables });
    pod = (await createNamespace(client)).ID ?? "";
  });
  afterEach(async () => {
    await client.close();
    await daemon.stop();
  });

  /** ADD, CHECK with its result, DEL twice; the pod has an endpoint in between. @returns endpoints that are left. */
  async function live(
    name: string,
    configuration: object,
    expected: object,
    variables: Readonly<Record<string, string>> = daemon.variables,
  ): Promise<readonly string[]> {
    const env = { ...variables, CNI_NETNS: pod };
    const prevResult = resultOfAdd(await plugins.run(name, { ...env, ...VERBS.ADD }, configuration));
    expect(prevResult).toMatchObject({ interfaces: [{ name: "eth0", sandbox: pod }], ...expected });
    expect(await getNamespaceEndpointIds(client, pod)).toHaveLength(1);
    expect(await plugins.run(name, { ...env, ...VERBS.CHECK }, { ...configuration, prevResult })).toEqual(
      NOTHING,
    );
    expect(await plugins.run(name, { ...env, ...VERBS.DEL }, configuration)).toEqual(NOTHING);
    expect(await getNamespaceEndpointIds(client, pod)).toEqual([]);
    expect(await plugins.run(name, { ...env, ...VERBS.DEL }, configuration)).toEqual(NOTHING);
    return (await listEndpoints(client)).map(({ Name = "" }) => Name);
  }

  const hostLocal = (subnet: string): object => ({
    type: "host-local",
    subnet,
    dataDir: plugins.windows("leases"),
  });

  /** Another way to the same service, which the plugin takes by itself. */
  function overDll(variables: Readonly<Record<string, string>>): Record<string, string> {
    // The DLL is the shim, and reads the same variables as the plugin, which would then not look for a DLL. So they are
    // set in the moment in which the plugin has found it.
    const preload = plugins.own("preload.cjs");
    writeFileSync(
      preload,
      `const fs = require("node:fs");
       const { existsSync } = fs;
       fs.existsSync = (path) => {
         const isThere = existsSync(path);
         if (isThere && /computenetwork\\.dll$/i.test(path)) Object.assign(process.env, ${JSON.stringify(variables)});
         return isThere;
       };`,
    );
    const script = windowsPath(preload).replaceAll("\\", "\\\\");
    const NODE_PATH = windowsPath(windowsKoffi());
    return { MULLION_HNS: "", NODE_OPTIONS: `--require "${script}"`, NODE_PATH };
  }

  it.each([
    ["over loopback", (variables: Readonly<Record<string, string>>) => variables],
    ["over computenetwork.dll", overDll],
  ])("win-bridge finds HNS %s and host-local.exe", async (_, way) => {
    const network = await createNetwork(client, CBR0);
    const bridge = { Name: "cbr0_ep", IpConfigurations: [{ IpAddress: "10.244.3.2" }] };
    await createEndpoint(client, network.ID ?? "", bridge);
    const configuration = {
      cniVersion: "1.0.0",
      name: "cbr0",
      apiVersion: 2,
      ipam: hostLocal("10.244.3.0/24"),
    };
    const expected = { ips: [{ address: "10.244.3.3/24" }] };
    const left = await live("win-bridge", configuration, expected, way(daemon.variables));
    expect(left).toEqual(["cbr0_ep"]);
  });

  it("win-overlay", async () => {
    await createNetwork(client, VXLAN0);
    const own = { cniVersion: "1.0.0", name: "vxlan0", apiVersion: 2, ipMasq: true };
    const configuration = { ...own, ipam: hostLocal("10.244.5.0/24") };
    expect(
      await live("win-overlay", configuration, {
        ips: [{ address: "10.244.5.2/24", gateway: "10.244.5.1" }],
      }),
    ).toEqual([]);
  });

  it("flannel with win-overlay.exe: subnet.env and scratch files below a drive letter", async () => {
    await createNetwork(client, VXLAN0);
    mkdirSync(plugins.own("run", "flannel"), { recursive: true });
    writeFileSync(
      plugins.own("run", "flannel", "subnet.env"),
      "FLANNEL_NETWORK=10.244.0.0/16\r\nFLANNEL_SUBNET=10.244.5.1/24\r\nFLANNEL_MTU=1450\r\nFLANNEL_IPMASQ=true\r\n",
    );
    const configuration = {
      cniVersion: "1.0.0",
      name: "vxlan0",
      type: "flannel",
      subnetFile: plugins.windows("run", "flannel", "subnet.env"),
      dataDir: plugins.windows("cni", "flannel"),
      delegate: { type: "win-overlay", apiVersion: 2 },
    };
    // flannel on Windows cannot say where host-local keeps its leases (cni.md §3.1): below the root of the drive.
    const leases = plugins.onDriveC("var", "lib", "cni", "networks", "vxlan0");
    rmSync(leases, { recursive: true, force: true });
    const env = { ...daemon.variables, CNI_NETNS: pod, ...VERBS.ADD };
    resultOfAdd(await plugins.run("flannel", env, configuration));
    expect(readdirSync(plugins.own("cni", "flannel"))).toEqual(["SBX_vxlan0_eth0"]);
    expect(readdirSync(leases)).toContain("10.244.5.2");
    expect(await plugins.run("flannel", { ...env, ...VERBS.DEL }, configuration)).toEqual(NOTHING);
    // The next address, not the one that was just given back.
    expect(await live("flannel", configuration, { ips: [{ address: "10.244.5.3/24" }] })).toEqual([]);
    expect(readdirSync(plugins.own("cni", "flannel"))).toEqual([]);
  });

  it("sdnbridge makes its network", async () => {
    const own = { cniVersion: "1.0.0", name: "winl2bridge", type: "sdnbridge" };
    const configuration = { ...own, ipam: hostLocal("192.168.7.0/24") };
    expect(await live("sdnbridge", configuration, { ips: [{ address: "192.168.7.2/24" }] })).toEqual([]);
    expect((await listNetworks(client)).map(({ Name, Type }) => [Name, Type])).toEqual([
      ["winl2bridge", "L2Bridge"],
    ]);
  });

  it("nat, with addresses of HNS", async () => {
    const ipam = { subnet: "192.168.100.0/24", routes: [{ GW: "192.168.100.1" }] };
    const configuration = { cniVersion: "1.0.0", name: "nat", type: "nat", ipam };
    expect(await live("nat", configuration, { ips: [{ gateway: "192.168.100.1" }] })).toEqual([]);
    expect((await listNetworks(client)).map(({ Name, Type }) => [Name, Type])).toEqual([["nat", "NAT"]]);
  });

  it("a namespace that is no GUID is refused, and nothing is left", async () => {
    await createNetwork(client, VXLAN0);
    const own = { cniVersion: "1.0.0", name: "vxlan0", apiVersion: 2, ipam: hostLocal("10.244.5.0/24") };
    const env = { ...daemon.variables, CNI_NETNS: join("C:\\", "netns"), ...VERBS.ADD };
    const { code, stdout } = await plugins.run("win-overlay", env, own);
    expect([code, stdout]).toEqual([1, expect.stringContaining("invalid namespace ID") as string]);
    expect(await listEndpoints(client)).toEqual([]);
  });
});
