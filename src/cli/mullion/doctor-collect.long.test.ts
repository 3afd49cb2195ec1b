// --collect on a served cluster: the commands of its Windows nodes, run in a pod that is gone afterwards.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { doctor } from "./doctor.ts";
import { serve } from "./kube/serve.ts";
import { runMullion } from "./program.ts";

const CLUSTER = "examples/two-windows-nodes/cluster.yaml";

let folder = "";
let kubeconfig = "";
let server: MemoryTerminal;
let ended: Promise<number>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-doctor-collect-"));
  kubeconfig = join(folder, "config");
  server = new MemoryTerminal({ [CLUSTER]: readFileSync(CLUSTER, "utf8") });
  ended = runMullion({
    argv: ["kube", "serve", "-f", CLUSTER, "--kubeconfig", kubeconfig],
    verbs: { kube: { serve } },
    terminal: server,
    version: "0",
    isDebug: false,
  });
  await vi.waitUntil(() => server.output.includes("Ctrl-C"), { timeout: 30_000 });
}, 60_000);

afterAll(async () => {
  server.interrupt();
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

async function run(...words: readonly string[]): Promise<{ code: number; terminal: MemoryTerminal }> {
  const terminal = new MemoryTerminal({});
  const argv = ["doctor", "--kubeconfig", kubeconfig, "--node", "win-1", ...words];
  const code = await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return { code, terminal };
}

async function podsOfDoctor(): Promise<number> {
  const source = await openApiServerSource({ kubeconfig });
  const { items } = await source.list("Pod");
  await source.close();
  return items.filter(({ metadata }) => metadata.name.startsWith("mullion-doctor-")).length;
}

describe("--collect", () => {
  it("prints the pod and the commands, and makes nothing without --yes", async () => {
    const { code, terminal } = await run("--collect");
    expect(code).toBe(2);
    expect(terminal.errors).toContain("hostProcess: true");
    expect(terminal.errors).toContain("nodeName: win-1");
    expect(terminal.errors).toContain("#   hnsdiag list all -d\n");
    expect(terminal.errors).toContain("add --yes");
    expect(await podsOfDoctor()).toBe(0);
  });

  it("examines what the commands of the node print, and leaves no pod", async () => {
    const { terminal } = await run("--collect", "--yes", "-o", "json");
    const report = JSON.parse(terminal.output) as DoctorReport;
    expect(report.nodes).toEqual(["win-1"]);
    expect(report.files.map(({ file }) => file)).toEqual(
      expect.arrayContaining(["win-1/hnsdiag.txt", "win-1/ip.txt", "win-1/routes.txt"]),
    );
    expect(report.findings).toEqual([]);
    expect(await podsOfDoctor()).toBe(0);
  });

  /** Presses Ctrl-C when a pod of doctor's is there; `isAtOnce`: when the plan is printed. */
  async function interrupted(isAtOnce: boolean): Promise<{ code: number; terminal: MemoryTerminal }> {
    class Impatient extends MemoryTerminal {
      override stderr(text: string): void {
        super.stderr(text);
        if (isAtOnce && text.includes("hostProcess")) this.interrupt();
      }
    }
    const terminal = new Impatient({});
    const argv = ["doctor", "--kubeconfig", kubeconfig, "--collect", "--yes", "-o", "json"];
    const ending = runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
    if (!isAtOnce) {
      await vi.waitUntil(async () => (await podsOfDoctor()) > 0, { timeout: 20_000, interval: 5 });
      terminal.interrupt();
    }
    return { code: await ending, terminal };
  }

  it.each([
    ["before a pod is made", true],
    ["while a pod is there", false],
  ])("Ctrl-C %s leaves no pod, and names what was not asked on each node", async (_, isAtOnce) => {
    const { terminal } = await interrupted(isAtOnce);
    expect(await podsOfDoctor()).toBe(0);
    const { notRead, findings } = JSON.parse(terminal.output) as DoctorReport;
    const left = notRead.filter(({ reason }) => reason.endsWith("was not run to its end: Ctrl-C came first"));
    const names = left.map(({ file }) => file);
    expect(names).toEqual(
      expect.arrayContaining(["win-1/netadapter.txt", "win-2/hnsdiag.txt", "win-2/netadapter.txt"]),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(notRead.map(({ reason }) => reason).join()).not.toContain("does not run");
    expect(findings).toEqual([]);
  });

  it("names the Windows nodes that there are", async () => {
    const { code, terminal } = await run("--collect", "--node", "win-9");
    expect(code).toBe(2);
    expect(terminal.errors).toContain("has no Windows node win-9");
    expect(terminal.errors).toContain("win-1, win-2");
  });
});
