// A cluster that does not come up, with the real executable; what comes up has its tests in running.long.test.ts.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MullionHome } from "#test/support/cli/mullion-process.ts";

let home: MullionHome;
beforeEach(() => {
  home = new MullionHome();
});
afterEach(() => home.close());

describe("mullion up", () => {
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
