import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseNetworkList } from "./conflist.ts";
import { ExecRunner, findPlugin } from "./exec-plugin.node.ts";
import { MemoryResultCache, CniRuntime } from "./runtime.ts";

let folder = "";

function script(name: string, body: string): void {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-exec-"));
  script("echoes", 'echo "$CNI_COMMAND $CNI_IFNAME $EXTRA" >&2; cat');
  script("fails", 'echo \'{"code":11,"msg":"busy","details":"later"}\'; exit 1');
  script("silent", "exit 3");
  script("dies", "kill -9 $$");
  script("hangs", "exec sleep 30");
  script("deaf", 'exec <&-; echo \'{"cniVersion":"1.0.0","ips":[{"address":"10.0.0.2/24"}]}\'');
  mkdirSync(join(folder, "a-folder"));
  writeFileSync(join(folder, "win-bridge.exe"), "");
  writeFileSync(join(folder, "win-bridge"), "");
  writeFileSync(join(folder, "text"), "no program");
});

afterAll(() => rmSync(folder, { recursive: true }));

const call = (type: string, env: Record<string, string | undefined> = {}) => ({
  type,
  env: { PATH: process.env["PATH"], CNI_PATH: `/nonexistent:${folder}`, ...env },
  stdin: '{"name":"n"}',
});

describe("finding plugins (cni.md §1.8)", () => {
  it("takes the first folder that has the file", () => {
    expect(findPlugin("echoes", ["/nonexistent", folder], "linux")).toBe(join(folder, "echoes"));
    expect(findPlugin("win-bridge", [folder], "linux")).toBe(join(folder, "win-bridge"));
  });

  it.each([
    ["", ["/a"], "no plugin name provided"],
    ["x", [], "no paths provided"],
    ["x", ["/a", "/b"], 'failed to find plugin "x" in path [/a /b]'],
    ["../echoes", ["/a"], "invalid plugin name: ../echoes"],
  ])("%j in %j", (type, folders, message) => {
    expect(() => findPlugin(type, folders, "linux")).toThrowError(message);
  });

  it("a folder is no plugin, and a backslash separates on Windows", () => {
    expect(() => findPlugin("a-folder", [folder], "linux")).toThrowError("failed to find plugin");
    expect(() => findPlugin("..\\x", [folder], "win32")).toThrowError("invalid plugin name: ..\\x");
  });
});

describe("running them", () => {
  const runner = new ExecRunner({ timeoutMs: 10_000 });

  it("hands over environment and stdin, and takes both outputs", async () => {
    const exit = await runner.run(
      call("echoes", { CNI_COMMAND: "ADD", CNI_IFNAME: "eth0", EXTRA: "x", NOT: undefined }),
    );
    expect(exit).toEqual({
      status: 0,
      statusText: "exit status 0",
      stdout: '{"name":"n"}',
      stderr: "ADD eth0 x\n",
    });
  });

  it.each([
    ["fails", { code: 11, message: 'plugin type="fails" failed (add): busy; later' }],
    [
      "silent",
      {
        code: 0,
        message: 'plugin type="silent" failed (add): netplugin failed with no error message: exit status 3',
      },
    ],
    [
      "dies",
      { message: 'plugin type="dies" failed (add): netplugin failed with no error message: signal: killed' },
    ],
    [
      "nothing",
      {
        code: 999,
        message: expect.stringContaining('failed to find plugin "nothing" in path [/nonexistent ') as string,
      },
    ],
  ])("a plugin that %s", async (type, error) => {
    const runtime = new CniRuntime({ runner, cache: new MemoryResultCache(), env: call(type).env });
    const list = parseNetworkList(JSON.stringify({ name: "n", cniVersion: "1.0.0", plugins: [{ type }] }));
    await expect(runtime.add(list, { containerId: "a", netns: "n", ifName: "eth0" })).rejects.toMatchObject(
      error,
    );
  });

  it("a file that is no program", async () => {
    expect((await runner.run(call("text"))).statusText).toMatch(/^fork\/exec .*text: .*EACCES/);
  });

  it("a plugin that does not read its stdin", async () => {
    const big = { ...call("deaf"), stdin: " ".repeat(1_000_000) };
    expect((await runner.run(big)).status).toBe(0);
  });

  it("a plugin that hangs is killed after the time it has", async () => {
    const exit = await new ExecRunner({ timeoutMs: 100 }).run(call("hangs"));
    expect(exit).toMatchObject({ status: 255, statusText: "no end within 0.1 s" });
  });
});
