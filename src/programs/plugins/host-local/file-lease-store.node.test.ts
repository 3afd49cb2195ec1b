import { spawn, spawnSync } from "node:child_process";
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type PathRules, POSIX_PATHS, WINDOWS_PATHS } from "#core/base/path-rules.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { errorOf, runWithTexts } from "#test/support/cni/cni-process.ts";
import { FileLeaseStore, describeSystemError } from "./file-lease-store.node.ts";
import { describeLeaseStore } from "#test/support/cni/host-local-lease-store.suite.ts";
import type { Leases } from "./leases.ts";
import { HostLocal } from "./plugin.ts";

const folders: string[] = [];
const HAS_FLOCK = spawnSync("flock", ["--version"]).status === 0;
const FLOCK = HAS_FLOCK ? "flock" : "";
const SBX = { containerId: "SBX", ifName: "eth0" };
const ip = (text: string) => parseIp(text)!;

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function open(options: { paths?: PathRules; flockProgram?: string; waitMs?: number } = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "mullion-leases-"));
  folders.push(dataDir);
  const store = new FileLeaseStore({ paths: POSIX_PATHS, flockProgram: FLOCK, waitMs: 2_000, ...options });
  const network = { dataDir, name: "cbr0" };
  const folder = join(dataDir, "cbr0");
  const create = <T>(work: (leases: Leases) => T) => store.withLeases(network, "create", work);
  return { store, network, folder, create };
}

describeLeaseStore("FileLeaseStore with flock(1)", () => open());
describeLeaseStore("FileLeaseStore without flock(1)", () => open({ flockProgram: "" }));
describeLeaseStore("FileLeaseStore with the file names of Windows", () => open({ paths: WINDOWS_PATHS }));

describe("the layout of upstream (cni.md §4.3)", () => {
  it("CNI-119 a file per address with CR LF between container and interface, mode 0600; last address; lock", async () => {
    const { folder, create } = open();
    await create((leases) => leases.reserve(ip("10.244.3.2"), SBX, 0));
    expect(readdirSync(folder).toSorted()).toEqual(["10.244.3.2", "last_reserved_ip.0", "lock"]);
    expect(readFileSync(join(folder, "10.244.3.2"), "utf8")).toBe("SBX\r\neth0");
    expect(readFileSync(join(folder, "last_reserved_ip.0"), "utf8")).toBe("10.244.3.2");
    expect(readFileSync(join(folder, "lock"), "utf8")).toBe("");
    expect(statSync(join(folder, "10.244.3.2")).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o755);
  });

  it("writes _ for : on Windows", async () => {
    const { folder, create } = open({ paths: WINDOWS_PATHS });
    await create((leases) => leases.reserve(ip("fd00:3::2"), SBX, 1));
    expect(readdirSync(folder)).toContain("fd00_3__2");
    expect(await create((leases) => leases.list().map((lease) => formatIp(lease.ip)))).toEqual(["fd00:3::2"]);
  });

  it("refuses a network whose folder Windows would take for a device", async () => {
    const { store, network } = open({ paths: WINDOWS_PATHS });
    const nul = { ...network, name: "nul" };
    await expect(store.withLeases(nul, "create", () => undefined)).rejects.toThrowError(
      'the network "nul" can have no folder of that name: Windows takes it for a device',
    );
  });

  it("reads old records, empty records and what is no lease", async () => {
    const { folder, create } = open();
    await create(() => undefined);
    writeFileSync(join(folder, "10.244.3.7"), "OLD\n");
    writeFileSync(join(folder, "10.244.3.8"), "");
    writeFileSync(join(folder, "notes.txt"), "SBX\r\neth0");
    expect(await create((leases) => leases.list())).toEqual([
      { ip: ip("10.244.3.7"), containerId: "OLD", ifName: undefined },
      { ip: ip("10.244.3.8"), containerId: "", ifName: undefined },
    ]);
  });

  it("a last address that is none counts as absent", async () => {
    const { folder, create } = open();
    await create(() => undefined);
    writeFileSync(join(folder, "last_reserved_ip.0"), "10.244");
    expect(await create((leases) => leases.lastReserved(0))).toBeUndefined();
  });

  it("removes what a process that died while it reserved has left", async () => {
    const { folder, create } = open();
    await create(() => undefined);
    writeFileSync(join(folder, ".10.244.3.2.0123456789abcdef"), "SBX\r\neth0");
    await create((leases) => leases.list());
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  it("follows no link that somebody planted: for the lock, the last address and an address", async () => {
    const { folder, create } = open();
    await create(() => undefined);
    const victim = join(folder, "victim");
    writeFileSync(victim, "precious");
    for (const name of ["last_reserved_ip.0", "10.244.3.2"]) symlinkSync(victim, join(folder, name));
    await create((leases) => {
      expect([leases.reserve(ip("10.244.3.2"), SBX, 0), leases.reserve(ip("10.244.3.3"), SBX, 0)]).toEqual([
        false,
        true,
      ]);
    });
    rmSync(join(folder, "lock"));
    symlinkSync(join(folder, "made"), join(folder, "lock"));
    await expect(create(() => undefined)).rejects.toThrowError(/lock is a symbolic link/);
    expect([readFileSync(victim, "utf8"), readdirSync(folder).includes("made")]).toEqual(["precious", false]);
  });

  it("asking makes no folder", async () => {
    const { store, network } = open();
    await store.withLeases(network, "existing", (leases) => leases.list());
    expect(readdirSync(network.dataDir)).toEqual([]);
  });

  it("says what the system said", async () => {
    const { store } = open();
    await expect(
      store.withLeases({ dataDir: "/proc/none", name: "n" }, "create", () => 0),
    ).rejects.toThrowError("mkdir /proc/none: no such file or directory");
    expect(describeSystemError(new Error("odd"))).toBe("odd");
  });
});

it("CNI-120 CNI-EX-F13 records of old versions are found and released by the container alone", async () => {
  const { folder, create, store, network } = open();
  await create(() => undefined);
  writeFileSync(join(folder, "10.244.3.7"), "OLD");
  const plugin = new HostLocal({ store, compat: "upstream" });
  const stdin = {
    cniVersion: "1.0.0",
    name: "cbr0",
    ipam: { subnet: "10.244.3.0/24", dataDir: network.dataDir },
  };
  const call = (verb: string) =>
    runWithTexts(plugin, { env: { CNI_COMMAND: verb, CNI_CONTAINERID: "OLD" }, stdin, platform: "linux" });
  expect((await call("CHECK")).status).toBe(0);
  expect(errorOf(await call("ADD")).msg).toContain("10.244.3.7 has been allocated to OLD");
  expect((await call("DEL")).status).toBe(0);
  expect(readdirSync(folder)).toEqual(["lock"]);
});

describe("a record that is damaged", () => {
  const NULS = "\0".repeat(9);

  async function node(compat: "upstream" | "hardened", content = NULS) {
    const { folder, create, store, network } = open();
    await create((leases) => leases.reserve(ip("10.244.3.2"), SBX, 0));
    writeFileSync(join(folder, "10.244.3.7"), content);
    const stdin = {
      cniVersion: "1.1.0",
      name: "cbr0",
      ipam: { subnet: "10.244.3.0/24", dataDir: network.dataDir },
      "cni.dev/valid-attachments": [{ containerID: "SBX", ifname: "eth0" }],
    };
    const plugin = new HostLocal({ store, compat });
    const call = async (CNI_COMMAND: string, CNI_CONTAINERID = "LOST") =>
      runWithTexts(plugin, {
        env: { CNI_COMMAND, CNI_CONTAINERID, CNI_IFNAME: "eth0", CNI_PATH: "/opt/cni/bin" },
        stdin,
        platform: "linux",
      });
    return { folder, call };
  }

  it.each([
    ["zeros, as after a power cut", NULS],
    ["a flipped bit in the line break", "LOST\r\u008aeth0"],
    ["no text", "\u0001\u0002"],
  ])("keeps its address, and hardened says which file it is: %s", async (_what, content) => {
    const { folder, call } = await node("hardened", content);
    for (const verb of ["GC", "CHECK"])
      expect(errorOf(await call(verb)), verb).toMatchObject({
        code: 5,
        msg: `host-local: ${join(folder, "10.244.3.7")} holds no container and interface: 10.244.3.7 stays reserved; remove the file when no container has the address`,
      });
    expect(readdirSync(folder)).toContain("10.244.3.7");
    expect(readdirSync(folder)).toContain("10.244.3.2");
  });

  it("upstream compares texts, whatever they are: GC is silent and CHECK finds nothing", async () => {
    const { call } = await node("upstream");
    expect((await call("GC")).status).toBe(0);
    expect(errorOf(await call("CHECK")).msg).toBe(
      "host-local: Failed to find address added by container LOST",
    );
  });
});

describe("the lock", () => {
  it.skipIf(!HAS_FLOCK)("is upstream's: waits for a holder of flock(2), for a bounded time", async () => {
    const { folder, create, store, network } = open({ waitMs: 150 });
    await create(() => undefined);
    // The shell holds the lock by flock(2) while it runs us: no process but this one can see the difference.
    const probe = spawnSync("flock", ["-n", join(folder, "lock"), "true"]);
    expect(probe.status).toBe(0);
    await create(() => {
      expect(spawnSync("flock", ["-n", join(folder, "lock"), "true"]).status).toBe(1);
    });
    const script = `exec 9>"${join(folder, "lock")}"; flock 9; echo held; exec sleep 5`;
    const holder = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] });
    await new Promise((resolve) => holder.stdout.once("data", resolve));
    await expect(store.withLeases(network, "create", () => 0)).rejects.toMatchObject({
      reason: "busy",
      message: `${join(folder, "lock")} is held by another process and did not come free in 150 ms`,
    });
    holder.kill("SIGKILL");
    await new Promise((resolve) => holder.once("close", resolve));
  });

  it("without flock(1): waits for a bounded time for a holder that lives", async () => {
    const { folder, create } = open({ flockProgram: "", waitMs: 30 });
    await create(() => undefined);
    writeFileSync(join(folder, "lock.mullion"), `${process.pid}`);
    await expect(create(() => 0)).rejects.toMatchObject({ reason: "busy" });
  });

  it("without flock(1): a holder that died is no obstacle", async () => {
    const { folder, create } = open({ flockProgram: "", waitMs: 1_000 });
    await create(() => undefined);
    const dead = spawnSync("true").pid;
    writeFileSync(join(folder, "lock.mullion"), `${dead}`);
    expect(await create(() => 7)).toBe(7);
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  it("a flock program that does not do as asked is left for the second way", async () => {
    const { create } = open({ flockProgram: "/nonexistent/flock" });
    expect(await create(() => 7)).toBe(7);
  });
});
