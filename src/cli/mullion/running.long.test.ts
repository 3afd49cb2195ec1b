// What befalls a cluster that stays up: signals, kills, neighbours, clients that go away. Nothing is left behind.
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MullionHome } from "#test/support/cli/mullion-process.ts";

const EXAMPLE = "examples/two-windows-nodes/cluster.yaml";
/** A cluster that takes a while to come up. */
const LARGE = join(tmpdir(), `mullion-large-${process.pid}.yaml`);
const NODES = 300;

let home: MullionHome;
beforeAll(() => {
  const nodes = Array.from({ length: NODES }, (_, index) => {
    const address = `10.0.${Math.floor(index / 100) + 1}.${(index % 100) + 1}`;
    return `  - {name: w${index}, os: windows, address: ${address}}\n`;
  });
  const pods = Array.from(
    { length: NODES * 10 },
    (_, index) => `  - {name: p${index}, node: w${index % NODES}, ports: [{port: 80}]}\n`,
  );
  writeFileSync(
    LARGE,
    `apiVersion: mullion/v1alpha1\nkind: Cluster\nmetadata: {name: large}\nnetwork: {clusterCIDR: 10.128.0.0/9}\n` +
      `underlay: {subnet: 10.0.0.0/16, router: 10.0.255.254}\nnodes:\n${nodes.join("")}pods:\n${pods.join("")}`,
  );
});
afterAll(() => rmSync(LARGE));
beforeEach(() => {
  home = new MullionHome();
});
afterEach(() => home.close("second"));

function holderOf(name: string): number {
  return Number(readFileSync(join(home.folder, "mullion", `${name}.pid`), "utf8"));
}

function isAlive(pid: number): boolean {
  try {
    const state = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1];
    // A process that nobody has waited for is dead all the same.
    return state?.startsWith("Z") === false;
  } catch {
    return false;
  }
}

/** Waits until the files are gone. */
async function untilEmpty(timeoutMs: number): Promise<void> {
  await expect.poll(() => home.files(), { timeout: timeoutMs, interval: 50 }).toEqual([]);
}

describe("a cluster in the background", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("ends in good order by %s", async (signal) => {
    expect((await home.run("up", "-f", EXAMPLE)).code).toBe(0);
    const pid = holderOf("default");
    process.kill(pid, signal);
    await untilEmpty(5_000);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("keeps a cluster that the other verbs work on, until down takes everything away", async () => {
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

  it("lets its nodes lose HNS, leave and join again", async () => {
    expect((await home.run("up", "-f", "examples/flannel-vxlan")).code).toBe(0);
    expect(await home.run("node", "restart-hns", "win-1", "--state", "lose")).toMatchObject({
      code: 0,
      stdout: "node/win-1: HNS has been restarted (lose)\n",
      stderr: expect.stringContaining("[cni-network-not-found]") as string,
    });
    expect((await home.run("node", "reboot", "win-1", "win-2")).stdout).toBe(
      "node/win-1: the machine has been restarted\nnode/win-2: the machine has been restarted\n",
    );
    expect((await home.run("node", "set-fault", "win-1", "load-balancers-refused")).code).toBe(0);
    expect((await home.run("node", "set-fault", "win-1", "load-balancers-refused=off")).code).toBe(0);
    expect((await home.run("node", "set-fault", "win-1", "nothing-of-the-kind")).code).toBe(2);
    expect((await home.run("node", "leave", "win-2")).code).toBe(0);
    expect((await home.run("get", "nodes", "-o", "name")).stdout).toBe("node/linux-1\nnode/win-1\n");
    expect((await home.run("node", "start", "win-2")).stderr).toContain("[node-action-impossible]");
    expect((await home.run("node", "rejoin", "win-2", "--pod-cidr", "10.244.9.0/24")).stdout).toBe(
      "node/win-2: the node has joined with 10.244.9.0/24 for its pods\n",
    );
    expect((await home.run("control-plane", "stop")).stdout).toBe("The API server is down.\n");
    expect((await home.run("delete", "node/win-1")).stderr).toContain("[kubernetes-unreachable]");
    expect((await home.run("control-plane", "start")).code).toBe(0);
    expect((await home.run("pass", "90s")).stdout).toMatch(/^The cluster's clock is at \d+ ms\.\n$/);
    expect((await home.run("get", "nodes", "-o", "name")).stdout).toBe(
      "node/linux-1\nnode/win-1\nnode/win-2\n",
    );
  });

  it("that was killed leaves a socket that the next one replaces", async () => {
    expect((await home.run("up", "-f", EXAMPLE)).code).toBe(0);
    process.kill(holderOf("default"), "SIGKILL");
    await sleep(100);
    expect((await home.run("get", "pods")).stderr).toContain("[cluster-not-running]");
    expect((await home.run("up", "-f", EXAMPLE)).code).toBe(0);
    expect((await home.run("get", "nodes", "-o", "name")).stdout).toBe("node/win-1\nnode/win-2\n");
    process.kill(holderOf("default"), "SIGKILL");
    await sleep(100);
    expect(await home.run("down")).toMatchObject({
      code: 0,
      stderr: 'Cluster "default" had died; what it left is gone.\n',
    });
    expect(home.files()).toEqual([]);
  });

  it("that hangs is ended by down", async () => {
    expect((await home.run("up", "-f", EXAMPLE)).code).toBe(0);
    const pid = holderOf("default");
    process.kill(pid, "SIGSTOP");
    expect(await home.run("down")).toMatchObject({ code: 0 });
    expect(home.files()).toEqual([]);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("is one of several that start at the same time", async () => {
    const runs = await Promise.all(Array.from({ length: 4 }, () => home.run("up", "-f", EXAMPLE)));
    expect(runs.map(({ code }) => String(code)).toSorted()).toEqual(["0", "2", "2", "2"]);
    for (const { code, stderr } of runs)
      if (code === 2) expect(stderr).toContain("[cluster-already-running]");
    expect(home.files()).toEqual([
      "mullion",
      "mullion/default.log",
      "mullion/default.pid",
      "mullion/default.sock",
    ]);
    expect((await home.run("get", "nodes")).code).toBe(0);
    expect((await home.run("down")).code).toBe(0);
    expect(home.files()).toEqual([]);
  });

  it("lives beside one of another name", async () => {
    expect((await home.run("up", "-f", EXAMPLE)).code).toBe(0);
    expect((await home.run("up", "-f", "examples/mixed-nodes", "--name", "second")).code).toBe(0);
    expect((await home.run("get", "nodes", "-o", "name")).stdout).toBe("node/win-1\nnode/win-2\n");
    expect((await home.run("get", "nodes", "-o", "name", "--name", "second")).stdout).toContain(
      "node/linux-1\n",
    );
    expect((await home.run("down")).code).toBe(0);
    expect((await home.run("get", "nodes")).stderr).toContain("There is also: second (add --name second)");
    expect((await home.run("down", "--name", "second")).code).toBe(0);
    expect(home.files()).toEqual([]);
  });

  it("answers many at a time, and bears those who go away in the middle", async () => {
    expect((await home.run("up", "-f", EXAMPLE)).code).toBe(0);
    const socketPath = join(home.folder, "mullion", "default.sock");
    const body = JSON.stringify({ from: "pod/client", to: "pod/api", capture: true });
    for (let count = 0; count < 50; count++) {
      const request = httpRequest({ socketPath, method: "POST", path: "/v1alpha1/trace" });
      request.on("error", () => undefined);
      request.end(count % 2 === 0 ? body : body.slice(0, 10));
      setTimeout(() => request.destroy(), count % 7);
    }
    const runs = await Promise.all(
      Array.from({ length: 6 }, () => home.run("trace", "pod/client", "pod/api")),
    );
    expect(new Set(runs.map(({ code, stdout }) => `${code} ${stdout}`)).size).toBe(1);
    expect(runs[0]?.code).toBe(0);
    expect(readFileSync(join(home.folder, "mullion", "default.log"), "utf8")).toBe("");
    expect((await home.run("down")).code).toBe(0);
    expect(home.files()).toEqual([]);
  });
});

describe("a start that is broken off", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("by %s ends both processes", async (signal) => {
    const up = home.start("up", "-f", LARGE);
    await expect.poll(() => up.printed(), { timeout: 30_000 }).toContain("is up");
    up.child.kill(signal);
    expect(await up.ended).toMatchObject({ code: null, signal, stdout: "" });
    expect(home.files()).toEqual([]);
  });

  it("by a kill of the one in front ends the other, too", async () => {
    const up = home.start("up", "-f", LARGE);
    await expect.poll(() => up.printed(), { timeout: 30_000 }).toContain("is up");
    up.child.kill("SIGKILL");
    await up.ended;
    await untilEmpty(60_000);
  });
});

describe("a cluster in front", () => {
  it.each([
    ["SIGINT", 1],
    // From the terminal, and once more from a program that passes it on.
    ["SIGINT", 2],
    ["SIGTERM", 1],
  ] as const)("ends in good order by %s, %i times", async (signal, times) => {
    const up = home.start("up", "-f", EXAMPLE, "--foreground");
    await expect.poll(() => up.printed(), { timeout: 30_000 }).toContain("Ctrl-C ends it.");
    expect((await home.run("get", "nodes")).code).toBe(0);
    for (let count = 0; count < times; count++) up.child.kill(signal);
    expect(await up.ended).toMatchObject({ code: 0, signal: null });
    expect(home.files()).toEqual([]);
  });

  it("leaves nothing when it is broken off while it starts", async () => {
    const up = home.start("up", "-f", LARGE, "--foreground");
    await expect.poll(() => up.printed(), { timeout: 30_000 }).toContain("is up");
    up.child.kill("SIGINT");
    expect(await up.ended).toMatchObject({ signal: "SIGINT" });
    expect(home.files()).toEqual([]);
  });
});
