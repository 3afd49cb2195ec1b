/** host-local as many processes at once on one folder. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BIN, PROGRAM_PATH as PATH } from "#test/support/cni/plugin-process.ts";

const COUNT = 100;

/** "Try again later", as a runtime does: a slow machine keeps some of a hundred waiting for the lock longer than they may. */
const TRY_AGAIN_LATER = 11;

/** What is printed; anything but a result is an error of the test. */
async function call(verb: string, id: string, dataDir: string): Promise<string> {
  const printed = await callOnce(verb, id, dataDir);
  const isBusy = printed !== "" && (JSON.parse(printed) as { code?: number }).code === TRY_AGAIN_LATER;
  if (isBusy) return call(verb, id, dataDir);
  if (verb === "ADD") expect(JSON.parse(printed), `ADD of ${id}`).toHaveProperty("ips");
  else expect(printed, `${verb} of ${id}`).toBe("");
  return printed;
}

function callOnce(verb: string, id: string, dataDir: string): Promise<string> {
  const env = {
    PATH,
    CNI_COMMAND: verb,
    CNI_CONTAINERID: id,
    CNI_NETNS: "n",
    CNI_IFNAME: "eth0",
    CNI_PATH: "/",
  };
  const ipam = {
    type: "host-local",
    // Room for both generations: nothing says which of a DEL and an ADD that start together comes first.
    ranges: [[{ subnet: "10.1.0.0/24" }], [{ subnet: "fd00::/120" }]],
    dataDir,
  };
  return new Promise((resolve) => {
    const child = spawn(join(BIN, "host-local"), [], { env, stdio: ["pipe", "pipe", "inherit"] });
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stdin.end(JSON.stringify({ cniVersion: "1.0.0", name: "cbr0", ipam }));
    child.on("close", () => resolve(stdout));
  });
}

function files(dataDir: string): readonly string[] {
  return readdirSync(join(dataDir, "cbr0")).filter((name) => /^[\da-f.:]+$/.test(name));
}

it(`CNI-122 ${COUNT} processes at once never get one address twice; as many DELs leave nothing`, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "mullion-parallel-"));
  try {
    const ids = Array.from({ length: COUNT }, (_, i) => `c${i}`);
    const printed = await Promise.all(ids.map((id) => call("ADD", id, dataDir)));
    const results = printed.map((text) => JSON.parse(text) as { ips: { address: string }[] });
    const addresses = results.flatMap(({ ips }) => ips.map(({ address }) => address));
    expect(addresses).toHaveLength(2 * COUNT);
    expect(new Set(addresses).size).toBe(2 * COUNT);
    expect(files(dataDir)).toHaveLength(2 * COUNT);
    const mixed = ids.flatMap((id) => [call("DEL", id, dataDir), call("ADD", `${id}-next`, dataDir)]);
    await Promise.all(mixed);
    expect(files(dataDir)).toHaveLength(2 * COUNT);
    await Promise.all(ids.map((id) => call("DEL", `${id}-next`, dataDir)));
    expect(files(dataDir)).toEqual([]);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

it("killed at any moment: what is left is a whole lease or none, and DEL of it succeeds", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "mullion-killed-"));
  try {
    for (let i = 0; i < 40; i++) {
      const env = {
        PATH,
        CNI_COMMAND: "ADD",
        CNI_CONTAINERID: `k${i}`,
        CNI_NETNS: "n",
        CNI_IFNAME: "eth0",
        CNI_PATH: "/",
      };
      const child = spawn(join(BIN, "host-local"), [], { env, stdio: ["pipe", "ignore", "ignore"] });
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.stdin.on("error", () => undefined);
      const ipam = { type: "host-local", subnet: "10.1.0.0/24", dataDir };
      child.stdin.end(JSON.stringify({ cniVersion: "1.0.0", name: "cbr0", ipam }));
      await new Promise((resolve) => setTimeout(resolve, 40 + i * 2));
      child.kill("SIGKILL");
      await closed;
      expect(await call("DEL", `k${i}`, dataDir)).toBe("");
    }
    expect(await call("ADD", "after", dataDir)).toContain("ips");
    expect(await call("DEL", "after", dataDir)).toBe("");
    expect(files(dataDir)).toEqual([]);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
