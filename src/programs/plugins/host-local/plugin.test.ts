import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import type { Platform } from "#contracts/cni/plugin.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { type Leases, MemoryLeaseStore } from "./leases.ts";
import { HostLocal } from "./plugin.ts";

interface Options {
  readonly compat?: Compat;
  readonly platform?: Platform;
}

/** A node with one lease store, driven by texts. */
function node({ compat = "upstream", platform = "linux" }: Options = {}) {
  const store = new MemoryLeaseStore();
  const files = {
    readText: (path: string) =>
      path === "C:\\etc\\resolv.conf"
        ? Promise.resolve("nameserver 10.96.0.10\nsearch a b\noptions ndots:5\n")
        : Promise.reject(new Error(`open ${path}: no such file or directory`)),
  };
  const plugin = new HostLocal({ store, compat, files });
  const call = async (verb: string, id: string, stdin: object, env: Record<string, string> = {}) => {
    const run = await runWithTexts(plugin, {
      env: { CNI_COMMAND: verb, CNI_CONTAINERID: id, ...env },
      stdin: { name: "cbr0", cniVersion: "1.0.0", ...stdin },
      platform,
    });
    return {
      ...run,
      json: run.stdout === "" ? undefined : (JSON.parse(run.stdout) as Record<string, unknown>),
    };
  };
  const add = (id: string, stdin: object, env?: Record<string, string>) => call("ADD", id, stdin, env);
  /** The addresses of a result, or the message of an error. */
  const addresses = async (id: string, stdin: object, env?: Record<string, string>) => {
    const run = await add(id, stdin, env);
    if (run.status !== 0) return errorOf(run).msg;
    const { ips } = run.json as { ips: { address: string }[] };
    return ips.map(({ address }) => address).join(" ");
  };
  const leases = (work: (leases: Leases) => void = () => undefined, name = "cbr0") =>
    store.withLeases({ dataDir: "/var/lib/cni/networks", name }, "create", (all) => {
      work(all);
      return all.list().map((lease) => `${formatIp(lease.ip)}=${lease.containerId}/${lease.ifName ?? ""}`);
    });
  return { plugin, call, add, addresses, leases, store };
}

const SUBNET = { ipam: { type: "host-local", subnet: "10.244.3.0/24" } };
const DUAL = {
  ipam: { type: "host-local", ranges: [[{ subnet: "10.244.3.0/24" }], [{ subnet: "fd00:3::/64" }]] },
};
const ip = (text: string) => parseIp(text)!;

describe("worked examples (cni.md §7.F)", () => {
  it("CNI-EX-F1 CNI-112 single subnet, empty store: .2, and .1 is the gateway", async () => {
    const { add, leases } = node();
    expect((await add("SBX", SUBNET)).json).toEqual({
      cniVersion: "1.0.0",
      ips: [{ address: "10.244.3.2/24", gateway: "10.244.3.1" }],
    });
    expect(await leases((all) => expect(all.lastReserved(0)).toBe(ip("10.244.3.2")))).toEqual([
      "10.244.3.2=SBX/eth0",
    ]);
  });

  it("CNI-EX-F2 0.2.0, names that are all the same", async () => {
    const { add, leases } = node();
    const stdin = {
      cniVersion: "0.2.0",
      name: "vxlan0",
      ipam: { type: "host-local", ranges: [[{ subnet: "10.244.5.0/24" }]], dataDir: "/var/lib/cni/networks" },
    };
    const run = await add("dummy", stdin, { CNI_NETNS: "dummy", CNI_IFNAME: "dummy" });
    expect(run.json).toEqual({
      cniVersion: "0.2.0",
      ip4: { ip: "10.244.5.2/24", gateway: "10.244.5.1" },
      dns: {},
    });
    expect(await leases(undefined, "vxlan0")).toEqual(["10.244.5.2=dummy/dummy"]);
  });

  const F3 = {
    cniVersion: "0.4.0",
    ipam: {
      type: "host-local",
      subnet: "10.244.3.0/24",
      rangeStart: "10.244.3.10",
      rangeEnd: "10.244.3.12",
      gateway: "10.244.3.254",
      routes: [{ dst: "0.0.0.0/0" }, { dst: "10.96.0.0/12", gw: "10.244.3.2" }],
    },
  };

  it("CNI-EX-F3 start, end, gateway, routes", async () => {
    expect((await node().add("SBX", F3)).json).toEqual({
      cniVersion: "0.4.0",
      ips: [{ version: "4", address: "10.244.3.10/24", gateway: "10.244.3.254" }],
      routes: [{ dst: "0.0.0.0/0" }, { dst: "10.96.0.0/12", gw: "10.244.3.2" }],
      dns: {},
    });
  });

  it("CNI-EX-F4 the fourth container of three addresses", async () => {
    const { add } = node();
    for (const id of ["a", "b", "c"]) await add(id, F3);
    const run = await add("d", F3);
    expect(run.json).toEqual({
      code: 999,
      msg: "failed to allocate for range 0: no IP addresses available in range set: 10.244.3.10-10.244.3.12",
    });
    expect(run.explained).toBe("ipam-range-exhausted");
  });

  it("CNI-EX-F5 dual stack", async () => {
    const { add, leases } = node({ platform: "win32" });
    expect((await add("SBX", DUAL)).json).toEqual({
      cniVersion: "1.0.0",
      ips: [
        { address: "10.244.3.2/24", gateway: "10.244.3.1" },
        { address: "fd00:3::2/64", gateway: "fd00:3::1" },
      ],
    });
    await leases((all) =>
      expect([all.lastReserved(0), all.lastReserved(1)]).toEqual([ip("10.244.3.2"), ip("fd00:3::2")]),
    );
  });

  it("CNI-EX-F6 CNI-116 CP-F48 a second ADD of the same container and interface", async () => {
    const { add } = node();
    await add("SBX", SUBNET);
    expect((await add("SBX", SUBNET)).json).toEqual({
      code: 999,
      msg: "failed to allocate for range 0: 10.244.3.2 has been allocated to SBX, duplicate allocation is not allowed",
    });
  });

  it("CNI-EX-F6 CNI-117 IPv6 on Windows: upstream gives a second address, hardened refuses", async () => {
    const v6 = { ipam: { ranges: [[{ subnet: "fd00:3::/64" }]] } };
    const upstream = node({ platform: "win32" });
    await upstream.add("SBX", v6);
    expect(await upstream.addresses("SBX", v6)).toBe("fd00:3::3/64");
    const hardened = node({ platform: "win32", compat: "hardened" });
    await hardened.add("SBX", v6);
    expect(await hardened.addresses("SBX", v6)).toContain("duplicate allocation is not allowed");
    const linux = node();
    await linux.add("SBX", v6);
    expect(await linux.addresses("SBX", v6)).toContain("duplicate allocation is not allowed");
  });

  it("CNI-EX-F7 an address requested by CNI_ARGS", async () => {
    const { addresses } = node();
    const env = { CNI_ARGS: "IP=10.244.3.77;IgnoreUnknown=1" };
    expect(await addresses("SBX", SUBNET, env)).toBe("10.244.3.77/24");
    const message =
      "failed to allocate for range 0: requested IP address 10.244.3.77 is not available in range set 10.244.3.1-10.244.3.254";
    expect(await addresses("OTHER", SUBNET, env)).toBe(message);
    // The branch for requested addresses does not look for duplicates.
    expect(await addresses("SBX", SUBNET, env)).toBe(message);
  });

  it("CNI-EX-F8 CNI-126 the gateway requested; an address outside every range", async () => {
    const { addresses, leases } = node();
    expect(await addresses("SBX", SUBNET, { CNI_ARGS: "IP=10.244.3.1" })).toBe(
      "failed to allocate for range 0: requested ip 10.244.3.1 is subnet's gateway",
    );
    expect(await addresses("SBX", SUBNET, { CNI_ARGS: "IP=10.9.9.9" })).toBe(
      "failed to allocate all requested IPs: 10.9.9.9",
    );
    expect(await leases((all) => expect(all.lastReserved(0)).toBe(ip("10.244.3.2")))).toEqual([]);
  });

  it("CNI-EX-F9 runtimeConfig.ips and ipRanges", async () => {
    const stdin = {
      name: "rc",
      capabilities: { ips: true, ipRanges: true },
      ipam: { type: "host-local" },
      runtimeConfig: { ips: ["10.1.0.9/24"], ipRanges: [[{ subnet: "10.1.0.0/24" }]] },
    };
    expect((await node().add("SBX", stdin)).json).toEqual({
      cniVersion: "1.0.0",
      ips: [{ address: "10.1.0.9/24", gateway: "10.1.0.1" }],
    });
  });

  it("CNI-EX-F10 several subnets in one set", async () => {
    const { add } = node();
    const stdin = { name: "m", ipam: { ranges: [[{ subnet: "10.1.0.0/30" }, { subnet: "10.1.1.0/30" }]] } };
    expect((await add("a", stdin)).json?.["ips"]).toEqual([{ address: "10.1.0.2/30", gateway: "10.1.0.1" }]);
    expect((await add("b", stdin)).json?.["ips"]).toEqual([{ address: "10.1.1.2/30", gateway: "10.1.1.1" }]);
    expect((await add("c", stdin)).json?.["msg"]).toBe(
      "failed to allocate for range 0: no IP addresses available in range set: 10.1.0.1-10.1.0.2,10.1.1.1-10.1.1.2",
    );
  });

  it("CNI-EX-F11 resolvConf", async () => {
    const ipam = { subnet: "10.2.0.0/24", resolvConf: "C:\\etc\\resolv.conf" };
    expect((await node().add("SBX", { name: "r", ipam })).json).toEqual({
      cniVersion: "1.0.0",
      ips: [{ address: "10.2.0.2/24", gateway: "10.2.0.1" }],
      dns: { nameservers: ["10.96.0.10"], search: ["a", "b"], options: ["ndots:5"] },
    });
    const missing = { name: "r", ipam: { ...ipam, resolvConf: "/none" } };
    const message = { msg: "open /none: no such file or directory" };
    expect((await node().add("SBX", missing)).json).toEqual({ code: 999, ...message });
    expect((await node({ compat: "hardened" }).add("SBX", missing)).json).toEqual({ code: 5, ...message });
    const bare = new HostLocal({ store: new MemoryLeaseStore(), compat: "upstream" });
    expect((await runWithTexts(bare, { stdin: missing })).stdout).toContain(message.msg);
  });

  it("CNI-EX-F13 CHECK", async () => {
    const { add, call } = node();
    await add("SBX", SUBNET);
    expect(await call("CHECK", "SBX", SUBNET)).toMatchObject({ status: 0, stdout: "" });
    expect((await call("CHECK", "OTHER", SUBNET)).json).toEqual({
      code: 999,
      msg: "host-local: Failed to find address added by container OTHER",
    });
  });

  it("CNI-EX-F14 DEL releases what the container and interface hold; the last address stays", async () => {
    const { add, call, leases, addresses } = node();
    await add("SBX", DUAL);
    await add("OTHER", DUAL);
    expect(await call("DEL", "SBX", DUAL)).toMatchObject({ status: 0, stdout: "" });
    expect(await leases()).toEqual(["10.244.3.3=OTHER/eth0", "fd00:3::3=OTHER/eth0"]);
    expect(await addresses("NEXT", DUAL)).toBe("10.244.3.4/24 fd00:3::4/64");
  });
});

describe("behaviours (cni.md §8)", () => {
  it("CNI-113 after a release comes the next address, not the freed one", async () => {
    const { add, call, addresses } = node();
    await add("a", SUBNET);
    await call("DEL", "a", SUBNET);
    expect(await addresses("b", SUBNET)).toBe("10.244.3.3/24");
  });

  it("CNI-114 wraps around", async () => {
    const { add, call, addresses } = node();
    const small = { ipam: { subnet: "10.1.0.0/29" } };
    for (const id of ["a", "b", "c", "d", "e"]) await add(id, small);
    await call("DEL", "b", small);
    expect(await addresses("f", small)).toBe("10.1.0.3/29");
  });

  it("CNI-115 a range that starts at the gateway skips it", async () => {
    const ipam = { subnet: "10.1.0.0/24", rangeStart: "10.1.0.7", gateway: "10.1.0.7" };
    expect(await node().addresses("a", { ipam })).toBe("10.1.0.8/24");
  });

  it("CNI-118 another interface of the same container gets its own address", async () => {
    const { addresses } = node();
    expect(await addresses("SBX", SUBNET)).toBe("10.244.3.2/24");
    expect(await addresses("SBX", SUBNET, { CNI_IFNAME: "eth1" })).toBe("10.244.3.3/24");
  });

  it("CNI-121 a set that fails takes back the sets before it", async () => {
    const { add, addresses, leases } = node();
    const stdin = { ipam: { ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "10.2.0.0/30" }]] } };
    await add("a", stdin);
    expect(await addresses("b", stdin)).toBe(
      "failed to allocate for range 1: no IP addresses available in range set: 10.2.0.1-10.2.0.2",
    );
    expect(await leases()).toEqual(["10.1.0.2=a/eth0", "10.2.0.2=a/eth0"]);
  });

  it.each([
    ["upstream", []],
    ["hardened", ["10.2.0.2=SBX/eth0"]],
  ] as const)("taking back, %s: only upstream frees what an earlier ADD gave", async (compat, left) => {
    const { add, leases } = node({ compat });
    await add("SBX", { ipam: { ranges: [[{ subnet: "10.2.0.0/24" }]] } });
    const both = { ipam: { ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "10.2.0.0/24" }]] } };
    expect((await add("SBX", both)).status).toBe(1);
    expect(await leases()).toEqual(left);
  });

  it("CNI-122 100 parallel ADDs get 100 addresses", async () => {
    const { addresses } = node();
    const given = await Promise.all(Array.from({ length: 100 }, (_, i) => addresses(`c${i}`, SUBNET)));
    expect(new Set(given).size).toBe(100);
    expect(given.every((address) => address.startsWith("10.244.3."))).toBe(true);
  });

  it("CNI-123 DEL of an unknown container, twice", async () => {
    const { call } = node();
    expect(await call("DEL", "x", SUBNET)).toMatchObject({ status: 0, stdout: "" });
    expect(await call("DEL", "x", SUBNET)).toMatchObject({ status: 0, stdout: "" });
  });

  it("CNI-124 CHECK of an interface that has nothing", async () => {
    const { add, call } = node();
    await add("SBX", SUBNET);
    expect(await call("CHECK", "SBX", SUBNET, { CNI_IFNAME: "eth1" })).toMatchObject({ status: 1 });
  });

  it("CNI-125 CNI_ARGS of a kubelet without IgnoreUnknown", async () => {
    const env = { CNI_ARGS: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web" };
    expect(await node().addresses("SBX", SUBNET, env)).toBe(
      'ARGS: unknown args ["K8S_POD_NAMESPACE=default" "K8S_POD_NAME=web"]',
    );
  });

  it("CNI-127 0.2.0 with one set of each family", async () => {
    expect((await node().add("SBX", { ...DUAL, cniVersion: "0.2.0" })).json).toMatchObject({
      ip4: { ip: "10.244.3.2/24" },
      ip6: { ip: "fd00:3::2/64" },
    });
  });
});

describe("what hardened repairs, and upstream does", () => {
  const ELEVEN = { cniVersion: "1.1.0", ipam: { subnet: "10.1.0.0/30" } };

  it("CNI-083 STATUS when a set is full: hardened 50, upstream silent", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const { add, call } = node({ compat });
      expect(await call("STATUS", "", ELEVEN)).toMatchObject({ status: 0, stdout: "" });
      await add("a", ELEVEN);
      const run = await call("STATUS", "", ELEVEN);
      expect(run.json?.["code"]).toBe(compat === "hardened" ? 50 : undefined);
      expect(run.json?.["msg"]).toBe(
        compat === "hardened" ? "no IP addresses available in range set: 10.1.0.1-10.1.0.2" : undefined,
      );
    }
  });

  it("STATUS says what is wrong with the ranges", async () => {
    const bad = { cniVersion: "1.1.0", ipam: { subnet: "10.1.0.1/24" } };
    expect((await node({ compat: "hardened" }).call("STATUS", "", bad)).json?.["code"]).toBe(7);
    expect((await node().call("STATUS", "", bad)).status).toBe(0);
  });

  it("GC keeps the valid, releases the rest and what belongs to nobody; upstream keeps all", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const { add, call, leases } = node({ compat });
      const stdin = { cniVersion: "1.1.0", ...SUBNET };
      for (const id of ["live", "dead"]) await add(id, stdin);
      await add("live", stdin, { CNI_IFNAME: "eth1" });
      await leases((all) => all.reserve(ip("10.244.3.99"), { containerId: "", ifName: "" }, 0));
      const valid = [{ containerID: "live", ifname: "eth0" }];
      expect(await call("GC", "", { ...stdin, "cni.dev/valid-attachments": valid })).toMatchObject({
        status: 0,
        stdout: "",
      });
      expect(await leases()).toHaveLength(compat === "hardened" ? 1 : 4);
    }
  });

  it("CNI-086 CNI-087 GC: the old key is read; an empty list clears, an absent one does nothing", async () => {
    const { add, call, leases } = node({ compat: "hardened" });
    const stdin = { cniVersion: "1.1.0", ...SUBNET };
    await add("a", stdin);
    await call("GC", "", stdin);
    expect(await leases()).toHaveLength(1);
    await call("GC", "", { ...stdin, "cni.dev/attachments": [{ containerID: "a", ifname: "eth0" }] });
    expect(await leases()).toHaveLength(1);
    await call("GC", "", { ...stdin, "cni.dev/valid-attachments": [] });
    expect(await leases()).toEqual([]);
  });

  it("DEL with a configuration that became invalid: hardened releases, upstream refuses", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const { add, call, leases } = node({ compat });
      await add("SBX", SUBNET);
      const run = await call("DEL", "SBX", { ipam: { subnet: "10.244.3.7/24" } }, { CNI_ARGS: "X=1" });
      expect(run.status).toBe(compat === "hardened" ? 0 : 1);
      expect(await leases()).toHaveLength(compat === "hardened" ? 0 : 1);
    }
  });

  it("CHECK compares the addresses of prevResult: hardened refuses, upstream does not look", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const { add, call } = node({ compat });
      const given = (await add("SBX", SUBNET)).json;
      expect(await call("CHECK", "SBX", { ...SUBNET, prevResult: given })).toMatchObject({ status: 0 });
      const foreign = {
        cniVersion: "1.0.0",
        ips: [{ address: "192.168.0.9/24" }, { address: "10.244.3.2/24" }],
      };
      expect(await call("CHECK", "SBX", { ...SUBNET, prevResult: foreign })).toMatchObject({ status: 0 });
      const moved = { cniVersion: "1.0.0", ips: [{ address: "10.244.3.9/24" }] };
      const run = await call("CHECK", "SBX", { ...SUBNET, prevResult: moved });
      expect(run.json?.["msg"]).toBe(
        compat === "hardened"
          ? "host-local: address 10.244.3.9 of the result is not reserved for container SBX, which holds 10.244.3.2"
          : undefined,
      );
    }
  });

  it("a store that is busy asks to try again, one that fails is an I/O failure (upstream: 999)", async () => {
    const { LeaseStoreError } = await import("./leases.ts");
    for (const [reason, compat, code] of [
      ["busy", "hardened", 11],
      ["failed", "hardened", 5],
      ["failed", "upstream", 999],
    ] as const) {
      const store = { withLeases: () => Promise.reject(new LeaseStoreError(reason, "lock")) };
      const run = await runWithTexts(new HostLocal({ store, compat }), { stdin: { name: "n", ...SUBNET } });
      expect(errorOf(run)).toEqual({ code, msg: "lock" });
    }
  });
});

it("never leaks: after every DEL of every ADD, done or failed, nothing is held", async () => {
  const { call, leases } = node({ compat: "hardened" });
  const stdin = { ipam: { ranges: [[{ subnet: "10.1.0.0/28" }], [{ subnet: "10.2.0.0/29" }]] } };
  for (let i = 0; i < 40; i++) await call("ADD", `c${i}`, stdin);
  for (let i = 0; i < 40; i++) await call("DEL", `c${i}`, stdin);
  expect(await leases()).toEqual([]);
});
