// A cluster that stays up, with the real executable: as a new user would try it.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MullionHome } from "#test/support/cli/mullion-process.ts";

const EXAMPLE = "examples/two-windows-nodes/cluster.yaml";

let home: MullionHome;
beforeEach(() => {
  home = new MullionHome();
});
afterEach(() => home.close());

describe("mullion up", () => {
  it("keeps a cluster that the other verbs work on, until down takes everything away", {
    timeout: 60_000,
  }, async () => {
    const up = await home.run("up", "-f", EXAMPLE);
    expect(up).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("node win-2 is up (2 of 2)") as string,
    });
    expect(up.stdout).toBe(
      "Cluster two-windows-nodes is up: 2 nodes, 3 pods.\n\nNext:\n  mullion get pods -A\n  mullion verify\n" +
        "  mullion trace pod/web pod/api\n  mullion down\n",
    );
    expect(home.files()).toEqual([
      "mullion",
      "mullion/default.log",
      "mullion/default.pid",
      "mullion/default.sock",
    ]);
    const modes = home.files().map((file) => statSync(join(home.folder, file)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);

    const [pods, walk, same, second] = await Promise.all([
      home.run("get", "pods", "-o", "name"),
      home.run("trace", "pod/client", "pod/api", "-o", "json"),
      home.run("trace", "pod/client", "pod/api", "-o", "json", "-f", EXAMPLE),
      home.run("up", "-f", EXAMPLE),
    ]);
    expect(pods).toMatchObject({ code: 0, stdout: "pod/api\npod/client\npod/web\n", stderr: "" });
    expect(walk).toEqual(same);
    expect(second).toMatchObject({ code: 2, stdout: "" });
    expect(second.stderr).toContain('a cluster "default" is running already [cluster-already-running]');

    expect(readFileSync(join(home.folder, "mullion/default.log"), "utf8")).toBe("");
    expect(await home.run("down")).toMatchObject({
      code: 0,
      stdout: "Cluster two-windows-nodes is down.\n",
      stderr: "",
    });
    expect(home.files()).toEqual([]);
    expect(await home.run("down")).toMatchObject({ code: 0, stderr: 'No cluster "default" is running.\n' });
  });

  it("tells the problems of its files, and leaves nothing", { timeout: 60_000 }, async () => {
    const up = await home.run("up", "-f", "package.json");
    expect(up).toMatchObject({ code: 2, stdout: "" });
    expect(up.stderr).toMatch(/^Bringing the cluster up …\npackage\.json:\d+:\d+: .*\n {4}.* \[[a-z-]+\]\n/);
    expect(up.stderr).toMatch(/\. Nothing was started\.\n$/);
    expect(home.files()).toEqual([]);
  });
});

describe("without a cluster", () => {
  it("a verb says both ways to one", { timeout: 60_000 }, async () => {
    expect(await home.run("get", "pods")).toEqual({
      code: 2,
      signal: null,
      stdout: "",
      stderr:
        'mullion: no cluster "default" is running [cluster-not-running]\n' +
        "    Bring one up with mullion up -f FILE, or add -f FILE to build it for this command only.\n" +
        "    More: mullion explain cluster-not-running\n",
    });
    expect(home.files()).toEqual([]);
  });
});
