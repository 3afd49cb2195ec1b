// azure-vnet against the HNS of this project, which validates, allocates and refuses as Windows does; whole, killed at
// every moment, and with what others did to HNS meanwhile.
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import {
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteNamespace,
  deleteNetwork,
  getNetworkByName,
  listEndpoints,
  listNetworks,
} from "#contracts/hcn/operations.ts";
import { listHnsEndpoints, listHnsNetworks } from "#contracts/hcn/v1-operations.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import { type PluginRun, errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { CNS_HOST, pool } from "#test/support/cni/cns-node.ts";
import { hnsNode } from "#test/support/hns/hns-node.ts";
import { Mortality } from "#test/support/cni/mortal-plugin.ts";
import { AzureVnetIpam } from "../azure-vnet-ipam/plugin.ts";
import { transportTo, CnsService } from "../cns/service.ts";
import type { HttpTransport } from "../cns/client.ts";
import type { AzureHost } from "./host.ts";
import { AzureVnet } from "./plugin.ts";

const MODES = ["upstream", "hardened"] as const;
const ADAPTER = { name: "Ethernet", address: "10.240.0.4/16", mac: "00-0D-3A-01-02-03" } as const;
const NAT = { Type: "OutBoundNAT", ExceptionList: ["10.240.0.0/16"] };
const ROUTE = { Type: "ROUTE", DestinationPrefix: "10.96.0.0/12", NeedEncap: true };
const LIST = {
  cniVersion: "1.0.0",
  name: "azure",
  type: "azure-vnet",
  ipam: { type: "azure-vnet-ipam", environment: "fileIpam" },
  AdditionalArgs: [NAT, ROUTE].map((Value) => ({ Name: "EndpointPolicy", Value })),
};
const WITH_CNS = { ...LIST, ipam: { type: "azure-cns" } };
const newest = (list: object, fields: object = {}) => ({ ...list, cniVersion: "1.1.0", ...fields });
const ADDRESSES = ["10.240.0.35", "10.240.0.36", "10.240.0.37"];
const INTERFACES = JSON.stringify({
  Interfaces: [
    {
      MacAddress: "000D3A010203",
      IsPrimary: true,
      IPSubnets: [
        {
          Prefix: "10.240.0.0/16",
          IPAddresses: [
            { Address: "10.240.0.4", IsPrimary: true },
            ...ADDRESSES.map((Address) => ({ Address, IsPrimary: false })),
          ],
        },
      ],
    },
  ],
});

function world(compat: Compat, isStateless = false) {
  const { client } = hnsNode({ adapters: [ADAPTER] });
  const cns = new CnsService({ host: CNS_HOST, client, keepsEndpoints: isStateless });
  cns.pool.add(pool("10.240.0.4/16", "10.240.0.1", ...ADDRESSES));
  const files = {
    vnet: { text: undefined as string | undefined },
    ipam: { text: undefined as string | undefined },
  };
  const own = { name: ADAPTER.name, mac: ADAPTER.mac };
  const address = defined(parseInterfaceAddress(ADAPTER.address), "address");
  const none = (): Promise<string> => Promise.reject(new Error("no shell"));

  /** One process of azure-vnet, with its IPAM plugin in it. */
  function plugin(life: Mortality): AzureVnet {
    const http: HttpTransport = life.http(transportTo(cns));
    const host: AzureHost = {
      interfaces: () => [{ ...own, addresses: [address] }],
      now: () => "2026-11-22T00:00:00Z",
      startTimer: () => ({ done: new Promise(() => undefined), cancel: () => undefined }),
      http,
      shell: { powershell: none, run: none },
      pendingReleases: { add: () => Promise.resolve() },
      temporaryFiles: { read: () => Promise.resolve(undefined), write: () => Promise.resolve() },
      forgetAddresses: () => {
        if (files.vnet.text === undefined) files.ipam.text = undefined;
        return Promise.resolve();
      },
    };
    const ipam = new AzureVnetIpam({
      store: life.store(files.ipam),
      sources: {
        interfaces: () => [own],
        queryWireServer: none,
        readInterfaces: () => Promise.resolve(INTERFACES),
        now: () => host.now(),
      },
      compat,
    });
    const runner = new InProcessRunner(new Map<string, CniPlugin>([[ipam.name, ipam]]), "win32");
    const store = isStateless ? undefined : life.store(files.vnet);
    const delegate = new RunnerDelegate(runner);
    return new AzureVnet({ client: life.client(client), delegate, store, host, compat });
  }

  /** Undefined when the process died. */
  async function run(
    verb: string,
    stdin: unknown,
    env: Readonly<Record<string, string>>,
    life = new Mortality(Infinity, true),
  ): Promise<PluginRun | undefined> {
    const name = `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${env["CNI_CONTAINERID"] ?? "web"}`;
    const all = { CNI_COMMAND: verb, CNI_ARGS: `IgnoreUnknown=1;${name}`, ...env };
    const whole = runWithTexts(plugin(life), { env: all, stdin });
    return Promise.race([whole, life.death.then(() => undefined)]);
  }

  const pod = async (containerId: string): Promise<Readonly<Record<string, string>>> => ({
    CNI_CONTAINERID: containerId,
    CNI_NETNS: defined((await createNamespace(client)).ID, "a namespace has an id"),
  });
  const names = async () => (await listEndpoints(client)).map(({ Name }) => Name);
  /** Who holds addresses, whoever gave them. */
  const holders = (): readonly string[] => {
    const inFile = [...(files.ipam.text ?? "").matchAll(/"ID": "([^"]+)"/g)].map(([, id = ""]) => id);
    return [...inFile, ...cns.pool.all().flatMap(({ holder }) => holder?.containerId ?? [])];
  };
  return { client, cns, files, run, pod, names, holders };
}

const A = "aaaaaaaa1111";
const B = "bbbbbbbb2222";

describe.each(MODES)("azure-vnet on HNS, %s", (compat) => {
  it.each([
    ["azure-vnet-ipam", LIST],
    ["CNS", WITH_CNS],
  ])("two pods with %s come and go; the network stays", async (_, list) => {
    const { run, pod, names, holders, client } = world(compat);
    const [a, b] = [await pod(A), await pod(B)];
    const first = await run("ADD", list, a);
    expect(JSON.parse(first?.stdout ?? "")).toMatchObject({
      ips: [{ address: "10.240.0.35/16", gateway: "10.240.0.1" }],
    });
    expect((await run("ADD", list, b))?.status).toBe(0);
    expect(await names()).toEqual(["aaaaaaaa-eth0", "bbbbbbbb-eth0"]);
    expect((await listEndpoints(client))[0]).toMatchObject({
      HostComputeNamespace: a["CNI_NETNS"],
      Policies: expect.arrayContaining([
        { Type: "OutBoundNAT", Settings: { Exceptions: ["10.240.0.0/16"] } },
        { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } },
      ]) as unknown,
    });
    expect((await run("DEL", list, a))?.status).toBe(0);
    expect((await run("DEL", list, a))?.status).toBe(0);
    expect([await names(), holders()]).toEqual([["bbbbbbbb-eth0"], [B]]);
    expect((await run("DEL", list, { ...b, CNI_NETNS: "" }))?.status).toBe(0);
    expect([await names(), holders()]).toEqual([[], []]);
    expect((await listNetworks(client)).map(({ Name, Type }) => [Name, Type])).toEqual([
      ["azure", "L2Bridge"],
    ]);
  });

  it("CNI-145 adopts an L2Tunnel network of its name", async () => {
    const { run, pod, names, client } = world(compat);
    await createNetwork(client, {
      Name: "azure",
      Type: "L2Tunnel",
      Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            {
              IpAddressPrefix: "10.240.0.0/16",
              Routes: [{ NextHop: "10.240.0.1", DestinationPrefix: "0.0.0.0/0" }],
            },
          ],
        },
      ],
    });
    const run1 = await run("ADD", { ...LIST, mode: "l2tunnel" }, await pod(A));
    expect(run1?.status).toBe(0);
    expect(await names()).toEqual(["aaaaaaaa-eth0"]);
    expect((await listNetworks(client)).map(({ Type }) => Type)).toEqual(["L2Tunnel"]);
  });

  it("HNS v1 for a container that Docker made", async () => {
    const { run, holders, client } = world(compat);
    const env = { CNI_CONTAINERID: A, CNI_NETNS: "none" };
    // HCS does not know the container yet: nothing is left.
    expect((await run("ADD", LIST, env))?.status).toBe(1);
    expect([await listHnsEndpoints(client), holders()]).toEqual([[], []]);
    await client.computeSystems.create(A, { SystemType: "Container" });
    expect((await run("ADD", LIST, env))?.status).toBe(0);
    expect(await listHnsNetworks(client)).toMatchObject([{ Name: "azure", Type: "L2Bridge" }]);
    expect(await listHnsEndpoints(client)).toMatchObject([
      { Name: "aaaaaaaa-eth0", IPAddress: "10.240.0.35" },
    ]);
    expect((await run("DEL", LIST, env))?.status).toBe(0);
    expect([await listHnsEndpoints(client), holders()]).toEqual([[], []]);
  });

  it("CNI-134 the network is lost", async () => {
    const { run, pod, client, names } = world(compat);
    const a = await pod(A);
    await run("ADD", LIST, a);
    for (const { ID = "" } of await listEndpoints(client)) await deleteEndpoint(client, ID);
    await deleteNetwork(client, defined((await getNetworkByName(client, "azure")).ID, "id"));
    const second = await run("ADD", LIST, await pod(B));
    expect(second?.status).toBe(compat === "upstream" ? 1 : 0);
    expect(await names()).toEqual(compat === "upstream" ? [] : ["bbbbbbbb-eth0"]);
    // DEL of the first one, which HNS does not know, either.
    expect((await run("DEL", LIST, a))?.status).toBe(0);
  });

  it("the pod's namespace is gone before DEL", async () => {
    const { run, pod, client, names, holders } = world(compat);
    const a = await pod(A);
    await run("ADD", LIST, a);
    await deleteNamespace(client, defined(a["CNI_NETNS"], "namespace"));
    expect((await run("DEL", LIST, a))?.status).toBe(0);
    expect([await names(), holders()]).toEqual([[], []]);
  });

  it("a namespace that does not exist: no endpoint, no address is left", async () => {
    const { run, names, holders } = world(compat);
    const env = { CNI_CONTAINERID: A, CNI_NETNS: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94" };
    expect((await run("ADD", LIST, env))?.status).toBe(1);
    expect([await names(), holders()]).toEqual([[], []]);
  });
});

describe("hardened on HNS", () => {
  it("ADD again is the same; CHECK says what others changed; STATUS; GC", async () => {
    const { run, pod, client, names, holders } = world("hardened");
    const [a, b] = [await pod(A), await pod(B)];
    const first = await run("ADD", newest(WITH_CNS), a);
    expect((await run("ADD", newest(WITH_CNS), a))?.stdout).toBe(first?.stdout);
    expect(await names()).toHaveLength(1);
    const prevResult = JSON.parse(first?.stdout ?? "") as object;
    expect(await run("CHECK", newest(WITH_CNS, { prevResult }), a)).toMatchObject({ status: 0, stdout: "" });
    expect((await run("STATUS", newest(WITH_CNS), a))?.status).toBe(0);
    await run("ADD", newest(WITH_CNS), b);
    const valid = [{ containerID: B, ifname: "eth0" }];
    expect((await run("GC", newest(WITH_CNS, { "cni.dev/valid-attachments": valid }), a))?.status).toBe(0);
    expect([await names(), holders()]).toEqual([["bbbbbbbb-eth0"], [B]]);
    const [endpoint] = await listEndpoints(client);
    await deleteEndpoint(client, endpoint?.ID ?? "");
    const check = await run("CHECK", newest(WITH_CNS, { prevResult }), b);
    expect(errorOf(defined(check, "alive")).msg).toContain("bbbbbbbb-eth0 is gone");
  });

  it("stateless: CNS remembers the endpoint; DEL and GC find it, also while CNS is away", async () => {
    const { run, pod, names, holders, cns } = world("hardened", true);
    const a = await pod(A);
    const first = await run("ADD", newest(WITH_CNS), a);
    expect(first?.status).toBe(0);
    const kept = await cns.handle("GET", `/network/endpoints/${A}`, "");
    expect(kept.text).toContain('"HnsEndpointID"');
    const prevResult = JSON.parse(first?.stdout ?? "") as object;
    expect((await run("CHECK", newest(WITH_CNS, { prevResult }), a))?.status).toBe(0);
    expect((await run("DEL", WITH_CNS, a))?.status).toBe(0);
    expect([await names(), holders()]).toEqual([[], []]);
    expect((await cns.handle("GET", `/network/endpoints/${A}`, "")).text).toContain('"ReturnCode":14');
  });
});

interface Outcome {
  readonly names: readonly (string | undefined)[];
  readonly holders: readonly string[];
}

const CLEAN: Outcome = { names: [], holders: [] };

describe("hardened, killed at every call to HNS, CNS and its files", () => {
  const cases = [
    ["azure-vnet-ipam", LIST, false],
    ["CNS", WITH_CNS, false],
    ["CNS, stateless", WITH_CNS, true],
  ] as const;

  it.each(cases)("%s: ADD dies, DEL leaves nothing behind", async (_, list, isStateless) => {
    let count = 0;
    for (const isBefore of [true, false]) {
      for (let dies = 0; ; dies++) {
        const { run, pod, names, holders } = world("hardened", isStateless);
        const env = await pod(A);
        const run1 = await run("ADD", list, env, new Mortality(dies, isBefore));
        if (run1 !== undefined) break;
        count++;
        const del = await run("DEL", list, env);
        expect(del, `DEL after death at call ${dies}`).toMatchObject({ status: 0, stdout: "" });
        expect({ names: await names(), holders: holders() }, `death at call ${dies}`).toEqual(CLEAN);
      }
    }
    expect(count).toBeGreaterThan(10);
  });

  it.each(cases)(
    "%s: ADD dies, ADD of the same pod comes through, DEL leaves nothing",
    async (_, list, isStateless) => {
      for (const isBefore of [true, false]) {
        for (let dies = 0; ; dies++) {
          const { run, pod, names, holders } = world("hardened", isStateless);
          const env = await pod(A);
          if ((await run("ADD", list, env, new Mortality(dies, isBefore))) !== undefined) break;
          const again = await run("ADD", list, env);
          expect(again?.status, `ADD after death at call ${dies}: ${again?.stdout ?? ""}`).toBe(0);
          expect(await names(), `death at call ${dies}`).toEqual(["aaaaaaaa-eth0"]);
          await run("DEL", list, env);
          expect({ names: await names(), holders: holders() }, `death at call ${dies}`).toEqual(CLEAN);
        }
      }
    },
  );

  it.each(cases)("%s: DEL dies, the next DEL leaves nothing behind", async (_, list, isStateless) => {
    for (const isBefore of [true, false]) {
      for (let dies = 0; ; dies++) {
        const { run, pod, names, holders } = world("hardened", isStateless);
        const env = await pod(A);
        await run("ADD", list, env);
        if ((await run("DEL", list, env, new Mortality(dies, isBefore))) !== undefined) break;
        const again = await run("DEL", list, env);
        expect(again, `DEL after death at call ${dies}`).toMatchObject({ status: 0, stdout: "" });
        expect({ names: await names(), holders: holders() }, `death at call ${dies}`).toEqual(CLEAN);
      }
    }
  });

  it.each(cases.slice(0, 2))(
    "%s: ADD dies and the sandbox goes: GC leaves nothing behind",
    async (_, list) => {
      for (const isBefore of [true, false]) {
        for (let dies = 0; ; dies++) {
          const { run, pod, names, holders, client } = world("hardened");
          // Another pod made the network known.
          const b = await pod(B);
          await run("ADD", newest(list), b);
          const env = await pod(A);
          if ((await run("ADD", newest(list), env, new Mortality(dies, isBefore))) !== undefined) break;
          await deleteNamespace(client, defined(env["CNI_NETNS"], "namespace"));
          const valid = [{ containerID: B, ifname: "eth0" }];
          const gc = await run("GC", newest(list, { "cni.dev/valid-attachments": valid }), env);
          expect(gc, `GC after death at call ${dies}`).toMatchObject({ status: 0, stdout: "" });
          expect({ names: await names(), holders: holders() }, `death at call ${dies}`).toEqual({
            names: ["bbbbbbbb-eth0"],
            holders: [B],
          });
        }
      }
    },
  );
});

it("upstream, killed between HNS and its file: the endpoint stays after DEL, its address does not", async () => {
  let stayed = 0;
  for (let dies = 0; ; dies++) {
    const { run, pod, names, holders } = world("upstream");
    const env = await pod(A);
    if ((await run("ADD", WITH_CNS, env, new Mortality(dies, false))) !== undefined) break;
    expect((await run("DEL", WITH_CNS, env))?.status).toBe(0);
    if ((await names()).length > 0) stayed++;
    expect(holders(), `death at call ${dies}`).toEqual([]);
  }
  expect(stayed).toBeGreaterThan(0);
});
