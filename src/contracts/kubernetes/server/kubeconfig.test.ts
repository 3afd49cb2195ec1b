import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ApiServerPlace, loadKubeconfig } from "./kubeconfig.node.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-kubeconfig-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CLUSTER = "{server: https://10.0.0.1:6443}";

function write(text: string): string {
  const path = join(folder, "config");
  writeFileSync(path, text);
  return path;
}

function config(user: string, cluster = CLUSTER, current = "x"): string {
  return write(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: ${cluster}}]
users: [{name: u, user: ${user}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: ${current}
`);
}

/** The headers and the options of TLS that a request gets. */
async function requestOf(place: ApiServerPlace): Promise<Record<string, unknown>> {
  const options: Record<string, unknown> = {};
  await (await loadKubeconfig(place)).applyToHTTPSOptions(options);
  return options;
}

describe("a kubeconfig", () => {
  it("gives address and token", async () => {
    const kubeconfig = config("{token: abc}");
    expect((await loadKubeconfig({ kubeconfig })).getCurrentCluster()?.server).toBe("https://10.0.0.1:6443");
    expect(await requestOf({ kubeconfig })).toMatchObject({ headers: { Authorization: "Bearer abc" } });
  });

  it("names a token file beside it, whose present content counts, as client-go has it", async () => {
    mkdirSync(join(folder, "secret"));
    writeFileSync(join(folder, "secret", "token"), "from-the-file\n");
    const kubeconfig = config("{tokenFile: secret/token}");
    expect(await requestOf({ kubeconfig })).toMatchObject({
      headers: { Authorization: expect.stringContaining("Bearer from-the-file") as string },
    });
  });

  it("may lie on a server without TLS, and --master overrides the address", async () => {
    const kubeconfig = config("{}", "{server: http://127.0.0.1:8001}");
    await requestOf({ kubeconfig });
    const other = await loadKubeconfig({ kubeconfig, server: "https://10.0.0.2:6443" });
    expect(other.getCurrentCluster()?.server).toBe("https://10.0.0.2:6443");
  });

  it.each<[title: string, place: () => ApiServerPlace, message: string]>([
    ["is missing", () => ({ kubeconfig: join(folder, "none") }), "cannot be read: ENOENT"],
    ["is not YAML", () => ({ kubeconfig: write("a: [") }), "is broken"],
    ["is empty", () => ({ kubeconfig: write("") }), "is broken"],
    ["has no current context", () => ({ kubeconfig: config("{}", CLUSTER, "y") }), 'for the context "y"'],
    [
      "has an address that is none",
      () => ({ kubeconfig: config("{}", "{server: nowhere}") }),
      '"nowhere", is not a URL',
    ],
    [
      "is not named, outside of a cluster",
      () => ({ variables: {} }),
      "this process is not a pod of a cluster",
    ],
  ])("that %s is told", async (_title, place, message) => {
    await expect(loadKubeconfig(place())).rejects.toMatchObject({
      code: "kubeconfig-unusable",
      message: expect.stringContaining(message) as string,
    });
  });
});
