/** `mullion wine`: streams and exit code of a Windows program, a service of its own or the one that is named. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { beforeAll, describe, expect, it } from "vitest";
import type { TraceRecord } from "#cli/mullion/wine/call-record.ts";
import { callSchema } from "#cli/mullion/wine/call-record.ts";
import { ROOT, resultOf, startDaemon } from "./test-daemon.ts";

beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
});

const PROGRAM = join(ROOT, "out", "shim", "shim-test.exe");

function mullion(args: readonly string[], variables: Readonly<Record<string, string>> = {}): ChildProcess {
  const cache = join(ROOT, "out", "wine", "cache");
  const env = { ...process.env, MULLION_HNS: "", XDG_CACHE_HOME: cache, ...variables };
  return spawn(process.execPath, [join(ROOT, "bin", "mullion.js"), ...args], { env });
}

describe("mullion wine", () => {
  it("runs a program on a service of its own, and ends with its exit code", async () => {
    expect(await resultOf(mullion(["wine", "--", PROGRAM, "pod"]))).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
    const other = await resultOf(mullion(["wine", "--", PROGRAM, "no-such-thing"]));
    expect(other).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^no scenario no-such-thing/) as string,
    });
  });

  it("passes standard output, and knows the profile", async () => {
    const result = await resultOf(mullion(["wine", "--profile", "ws2019", "--", PROGRAM, "bench", "3"]));
    expect(result).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\r?\n$/) as string, stderr: "" });
  });

  it("keeps the objects with --data", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mullion-wine-data-"));
    try {
      const data = ["wine", "--data", join(folder, "hns"), "--", PROGRAM];
      expect(await resultOf(mullion([...data, "nat"]))).toEqual({ code: 0, stdout: "", stderr: "" });
      // It looks for the network that the first one made.
      expect(await resultOf(mullion([...data, "one", "pod-a"]))).toEqual({ code: 0, stdout: "", stderr: "" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("gives its own service the adapters of --adapter", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mullion-wine-adapter-"));
    const file = join(folder, "calls.jsonl");
    const words = (name: string): readonly string[] => [
      "wine",
      "--adapter",
      `${name}=192.168.1.5/24`,
      "--trace-calls",
      file,
      "--",
      PROGRAM,
      "pod",
    ];
    try {
      // The program's network is for the adapter "Ethernet".
      expect(await resultOf(mullion(words("Ethernet")))).toMatchObject({ code: 0, stdout: "" });
      expect((await resultOf(mullion(words("LAN")))).code).not.toBe(0);
      // HCN_E_ADAPTER_NOT_FOUND
      expect(readFileSync(file, "utf8")).toMatch(/"HcnCreateNetwork".*"hresult":"0x803b0006"/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("writes each call to the file of --trace-calls, and a summary", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mullion-wine-calls-"));
    const file = join(folder, "calls.jsonl");
    try {
      const result = await resultOf(mullion(["wine", "--trace-calls", file, "--", PROGRAM, "pod"]));
      expect(result).toMatchObject({ code: 0, stdout: "" });
      expect(result.stderr).toMatch(/^\d+ calls in \d+ ms, 0 notifications: .*calls\.jsonl\nFUNCTION +CALLS/);
      const lines = readFileSync(file, "utf8").trimEnd().split("\n");
      const validate = new Ajv({ strict: true }).compile(callSchema());
      const records = lines.map((line) => JSON.parse(line) as TraceRecord);
      for (const record of records) expect(validate(record), JSON.stringify(validate.errors)).toBe(true);
      const functions = records.map((record) => (record.event === "call" ? record.function : ""));
      expect(functions.slice(0, 2)).toEqual(["HcnCreateNetwork", "HcnQueryNetworkProperties"]);
      expect(functions).toEqual(
        expect.arrayContaining(["HcnCreateEndpoint", "HcnModifyNamespace", "HcnDeleteNetwork"]),
      );
      expect(records[0]).toMatchObject({
        arguments: { settings: { Name: "bridge" } },
        hresult: "0x00000000",
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("runs on the service in MULLION_HNS, where its objects stay", async () => {
    const daemon = await startDaemon();
    try {
      expect((await resultOf(mullion(["wine", "--", PROGRAM, "nat"], daemon.variables))).code).toBe(0);
      const list = await resultOf(mullion(["hns", "get", "networks"], daemon.variables));
      expect(list.stdout).toContain("nat");
    } finally {
      await daemon.stop();
    }
  });

  it("says what is wrong: no such program, a profile that there is not, a socket", async () => {
    const missing = await resultOf(mullion(["wine", "--", "./no-such.exe"]));
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("there is no program")]);
    const script = await resultOf(mullion(["wine", "--", join(ROOT, "bin", "mullion.js")]));
    expect([script.code, script.stderr]).toEqual([2, expect.stringContaining("is not a Windows program")]);
    const prog32 = join(mkdtempSync(join(tmpdir(), "mullion-wine-")), "prog32.exe");
    const bytes = readFileSync(PROGRAM);
    bytes.writeUInt16LE(0x014c, bytes.readUInt32LE(0x3c) + 4);
    writeFileSync(prog32, bytes);
    const old = await resultOf(mullion(["wine", "--", prog32]));
    expect([old.code, old.stderr]).toEqual([
      2,
      expect.stringMatching(/is a program for x86 \(32 bits\)[^]*x64/),
    ]);
    const profile = await resultOf(mullion(["wine", "--profile", "ws1903x", "--", PROGRAM, "pod"]));
    expect([profile.code, profile.stderr]).toEqual([2, expect.stringContaining("ws1903x")]);
    const file = await resultOf(
      mullion(["wine", "--trace-calls", "/no/such/folder/x", "--", PROGRAM, "pod"]),
    );
    expect([file.code, file.stderr]).toEqual([2, expect.stringContaining("the calls could not be written")]);
    const socket = await resultOf(
      mullion(["wine", "--", PROGRAM, "pod"], { MULLION_HNS: "unix:/tmp/x.sock" }),
    );
    expect([socket.code, socket.stderr]).toEqual([2, expect.stringContaining("--listen 127.0.0.1:PORT")]);
  });
});
