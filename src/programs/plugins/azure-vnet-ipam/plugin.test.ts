// azure-vnet-ipam by the rows of cni.md §8 and the words of §5.9, in both modes.
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { type PluginRun, errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { azureNode } from "#test/support/cni/windows-plugin-node.ts";
import { MemoryStateStore } from "../azure-vnet/memory.ts";
import { AzureVnetIpam } from "./plugin.ts";

const MODES = ["upstream", "hardened"] as const;
const WIRE = `<Interfaces>
  <Interface MacAddress="000D3A010203" IsPrimary="true">
    <IPSubnet Prefix="10.240.0.0/16">
      <IPAddress Address="10.240.0.4" IsPrimary="true" />
      <IPAddress Address="10.240.0.35" IsPrimary="false" />
      <IPAddress Address="10.240.0.36" IsPrimary="false" />
    </IPSubnet>
  </Interface>
  <Interface MacAddress="000D3A999999" IsPrimary="false">
    <IPSubnet Prefix="10.99.0.0/16"><IPAddress Address="10.99.0.5" IsPrimary="false"/></IPSubnet>
  </Interface>
</Interfaces>`;
const FILE = {
  Interfaces: [
    {
      MacAddress: "00:0d:3a:01:02:03",
      IsPrimary: true,
      IPSubnets: [
        {
          Prefix: "10.1.0.0/24",
          IPAddresses: [
            { Address: "10.1.0.4", IsPrimary: true },
            { Address: "10.1.0.9", IsPrimary: false },
          ],
        },
      ],
    },
  ],
};

interface Ipam {
  readonly store: MemoryStateStore;
  wire: string | Error;
  readonly plugin: AzureVnetIpam;
  run(
    verb: string,
    ipam?: object,
    containerId?: string,
    version?: string,
    fields?: object,
  ): Promise<PluginRun>;
}

function make(compat: Compat): Ipam {
  const store = new MemoryStateStore();
  const sources = {
    interfaces: () => [{ name: "Ethernet", mac: "00-0D-3A-01-02-03" }],
    queryWireServer: () => (own.wire instanceof Error ? Promise.reject(own.wire) : Promise.resolve(own.wire)),
    readInterfaces: () => Promise.resolve(JSON.stringify(FILE)),
    now: () => "2026-11-22T00:00:00Z",
  };
  const plugin = new AzureVnetIpam({ store, compat, sources });
  const own: Ipam = {
    store,
    plugin,
    wire: WIRE,
    run: (verb, ipam = {}, containerId = "one", version = "1.0.0", fields = {}) => {
      const stdin = { cniVersion: version, name: "azure", type: "azure-vnet", ipam, ...fields };
      return runWithTexts(plugin, { env: { CNI_COMMAND: verb, CNI_CONTAINERID: containerId }, stdin });
    },
  };
  return own;
}

const POOL = { subnet: "10.240.0.0/16" };
const addressOf = (run: PluginRun) =>
  (JSON.parse(run.stdout) as { ips: { address: string }[] }).ips[0]?.address;

describe.each(MODES)("azure-vnet-ipam, %s", (compat) => {
  it("the first address that is free, its pool's mask, the first host as gateway, Azure's resolver", async () => {
    expect(JSON.parse((await make(compat).run("ADD")).stdout)).toEqual({
      cniVersion: "1.0.0",
      ips: [{ address: "10.240.0.35/16", gateway: "10.240.0.1" }],
      routes: [{ dst: "0.0.0.0/0", gw: "10.240.0.1" }],
      dns: { nameservers: ["168.63.129.16"] },
    });
  });

  it("CNI-146 the same container twice: the same address", async () => {
    const own = make(compat);
    const first = addressOf(await own.run("ADD", POOL));
    expect(addressOf(await own.run("ADD", POOL))).toBe(first);
    expect(addressOf(await own.run("ADD", POOL, "two"))).not.toBe(first);
  });

  it("CNI-147 the primary address, and interfaces that this machine does not have, are never given", async () => {
    const own = make(compat);
    const given = [await own.run("ADD", POOL, "a"), await own.run("ADD", POOL, "b")].map(addressOf);
    expect(given).toEqual(["10.240.0.35/16", "10.240.0.36/16"]);
    expect(errorOf(await own.run("ADD", POOL, "c"))).toMatchObject({
      code: 100,
      msg: "Failed to allocate address: No available addresses",
    });
    expect(errorOf(await own.run("ADD", { subnet: "10.99.0.0/16" }, "c")).code).toBe(100);
    expect(errorOf(await own.run("ADD", { ...POOL, ipAddress: "10.240.0.4" }, "c")).msg).toContain(
      "Address not found",
    );
  });

  it("CNI-148 CNI-EX-E14 what is not held is released silently; by address, or by container alone", async () => {
    const own = make(compat);
    expect(await own.run("DEL")).toMatchObject({ status: 0, stdout: "" });
    await own.run("ADD", POOL);
    await own.run("DEL", { ...POOL, ipAddress: "10.240.0.35" }, "two");
    expect(own.store.text).toContain('"ID": "one"');
    await own.run("DEL");
    expect(own.store.text).not.toContain('"ID": "one"');
    expect(errorOf(await own.run("DEL", { subnet: "10.8.0.0/16" })).msg).toContain(
      "Failed to release address",
    );
  });

  it("a given address; one that is held", async () => {
    const own = make(compat);
    const wanted = { ...POOL, ipAddress: "10.240.0.36" };
    expect(addressOf(await own.run("ADD", wanted))).toBe("10.240.0.36/16");
    expect(addressOf(await own.run("ADD", wanted))).toBe("10.240.0.36/16");
    expect(errorOf(await own.run("ADD", wanted, "two")).msg).toBe(
      "Failed to allocate address: Address already in use",
    );
  });

  it("no pool: in use by others, on another interface, or no environment", async () => {
    const own = make(compat);
    await own.run("ADD");
    const none = "Failed to allocate pool: no available address pools";
    const second = await own.run("ADD", {}, "two");
    // Hardened shares a pool: whoever asks may have lost its state.
    if (compat === "upstream") expect(errorOf(second)).toMatchObject({ code: 100, msg: none });
    else expect(addressOf(second)).toBe("10.240.0.36/16");
    expect(errorOf(await make(compat).run("ADD", { environment: "null" })).msg).toBe(none);
    expect(errorOf(await own.run("ADD", { environment: "other" })).msg).toContain('"ipam.environment"');
  });

  it.each(["mas", "fileIpam"])(
    "environment %s: interfaces.json, MAC with separators",
    async (environment) => {
      expect(addressOf(await make(compat).run("ADD", { environment }))).toBe("10.1.0.9/24");
    },
  );

  it("an address that vanished is kept while it is held, and dropped when it is released", async () => {
    const own = make(compat);
    await own.run("ADD", POOL);
    own.wire = WIRE.replace(/.*10\.240\.0\.35.*\n/, "");
    expect(addressOf(await own.run("ADD", POOL))).toBe("10.240.0.35/16");
    await own.run("DEL", POOL);
    expect(own.store.text).not.toContain("10.240.0.35");
  });

  it("a source that does not answer: what is known goes on; hardened says so", async () => {
    const own = make(compat);
    await own.run("ADD", POOL);
    own.wire = new Error("no route to host");
    const run = await own.run("ADD", POOL, "two");
    expect(addressOf(run)).toBe("10.240.0.36/16");
    expect(run.stderr.includes("no route to host")).toBe(compat === "hardened");
  });

  it("an address that is released while its source does not answer is given again, and not forgotten", async () => {
    const own = make(compat);
    await own.run("ADD", POOL);
    own.wire = new Error("no route to host");
    await own.run("DEL", POOL);
    expect(own.store.text).toContain("10.240.0.35");
    expect(addressOf(await own.run("ADD", POOL, "two"))).toBe("10.240.0.35/16");
  });

  it("the file has Go's forms", async () => {
    const own = make(compat);
    await own.run("ADD", POOL);
    const local = (JSON.parse(own.store.text ?? "") as { IPAM: { AddressSpaces: object } }).IPAM
      .AddressSpaces;
    expect(local).toMatchObject({
      local: {
        Id: "local",
        Scope: 0,
        Pools: {
          "10.240.0.0/16": {
            IfName: "Ethernet",
            Subnet: { IP: "10.240.0.0", Mask: "//8AAA==" },
            Gateway: "10.240.0.1",
            Addresses: { "10.240.0.35": { ID: "one", Addr: "10.240.0.35", InUse: true } },
          },
        },
      },
    });
  });
});

it.each(MODES)("CNI-EX-E1 %s: azure-vnet with it, three pods on two addresses", async (compat) => {
  const ipam = make(compat);
  const node = azureNode(compat, { ipams: [ipam.plugin] });
  const stdin = { cniVersion: "1.0.0", name: "azure", type: "azure-vnet", ipam: { type: "azure-vnet-ipam" } };
  const pod = (verb: string, id: string) => node.run(verb, stdin, { CNI_CONTAINERID: `${id}1f0a9b3d4e6f` });
  expect([await pod("ADD", "aaaa"), await pod("ADD", "bbbb")].map(addressOf)).toEqual([
    "10.240.0.35/16",
    "10.240.0.36/16",
  ]);
  expect(errorOf(await pod("ADD", "cccc")).msg).toContain(
    "Failed to allocate address: No available addresses",
  );
  for (const id of ["aaaa", "bbbb", "cccc"]) expect((await pod("DEL", id)).status).toBe(0);
  expect(node.client.list("Endpoint")).toEqual([]);
  expect(ipam.store.text).not.toContain('"InUse": true');
});

it("CNI-149 what goes wrong at the start is a plain text; hardened prints an error object", async () => {
  const upstream = make("upstream");
  upstream.store.isHeld = true;
  const run = await upstream.run("ADD");
  expect(run.status).toBe(1);
  expect(run.stdout).toMatch(/^Failed to initialize key-value store of ipam plugin: timed out/);
  const hardened = make("hardened");
  hardened.store.isHeld = true;
  expect(errorOf(await hardened.run("ADD")).code).toBe(11);
});

describe("a flipped digit in what it has written", () => {
  const damage = (text: string | undefined): string =>
    (text ?? "").replace('"Addr": "10.240.0.', '"Addr": "10.241.0.');

  it("hardened is refused, and says that the file is damaged and what to do", async () => {
    const own = make("hardened");
    expect((await own.run("ADD")).status).toBe(0);
    const whole = own.store.text ?? "";
    expect(whole).toMatch(/,\n\t"MullionChecksum": "[0-9a-f]{8}"\n\}$/);
    own.store.text = damage(whole);
    expect(own.store.text).not.toBe(whole);
    const refused = errorOf(await own.run("ADD", {}, "two"));
    expect([refused.code, refused.msg]).toEqual([
      999,
      "Failed to initialize key-value store of ipam plugin: its checksum is wrong: it is damaged",
    ]);
    expect(refused.details).toContain("azure-vnet-ipam.json");
    // What upstream writes has no checksum.
    own.store.text = JSON.stringify(
      JSON.parse(whole),
      (key, value: unknown) => (key === "MullionChecksum" ? undefined : value),
      "\t",
    );
    expect((await own.run("ADD", {}, "two")).status).toBe(0);
  });

  it("upstream writes no checksum and reads what is there", async () => {
    const own = make("upstream");
    expect((await own.run("ADD")).status).toBe(0);
    expect(own.store.text).not.toContain("Checksum");
    own.store.text = damage(own.store.text);
    expect((await own.run("ADD", POOL, "two")).stdout).toMatch(/"10\.24[01]\.0\./);
  });
});

describe("hardened", () => {
  it("CHECK, STATUS, GC", async () => {
    const own = make("hardened");
    await own.run("ADD", POOL);
    expect((await own.run("CHECK", POOL)).status).toBe(0);
    expect(errorOf(await own.run("CHECK", POOL, "two")).msg).toContain("does not hold an address");
    expect((await own.run("STATUS", {}, "", "1.1.0")).status).toBe(0);
    await own.run("ADD", POOL, "two");
    expect(errorOf(await own.run("STATUS", {}, "", "1.1.0")).code).toBe(50);
    await own.run("GC", {}, "", "1.1.0");
    expect(own.store.text).toContain('"ID": "one"');
    const attachments = { "cni.dev/valid-attachments": [{ containerID: "two", ifname: "eth0" }] };
    await own.run("GC", {}, "", "1.1.0", attachments);
    expect(own.store.text).not.toContain('"ID": "one"');
    expect(own.store.text).toContain('"ID": "two"');
  });
});
