import { MemorySubnetFiles } from "#cluster/flannel/node-files.ts";
import { describe, expect, it } from "vitest";
import { RealClock } from "#core/base/real-clock.node.ts";
import { Prng } from "#core/base/prng.ts";
import type { HttpHandler } from "#programs/kube-proxy/daemon/health/http-answer.ts";
import { FlanneldWorld, VXLAN_CONF } from "#test/support/flannel/flanneld-world.ts";
import { type FlanneldProcess, runFlanneld } from "./program.ts";

const NET_CONF = "/etc/kube-flannel/net-conf.json";

interface Run {
  readonly lines: string[];
  readonly world: FlanneldWorld;
  readonly files: MemorySubnetFiles;
  readonly exitCode: Promise<number>;
  /** How long each of its sleeps was to be, in milliseconds. */
  readonly sleeps: readonly number[];
  interrupt(): void;
  /** What the health server answers. */
  ask(path: string): Promise<string>;
  until(text: string): Promise<void>;
}

function start(
  argv: readonly string[],
  options: { netConf?: string | undefined; variables?: Record<string, string>; podCIDR?: string } = {},
): Run {
  const world = new FlanneldWorld();
  world.nodes.put("w1", { podCIDR: options.podCIDR ?? "10.244.1.0/24" });
  const files = new MemorySubnetFiles();
  const netConf = "netConf" in options ? options.netConf : JSON.stringify(VXLAN_CONF);
  if (netConf !== undefined) files.texts.set(NET_CONF, netConf);
  const machine = world.machine("w1", { files });
  const lines: string[] = [];
  const sleeps: number[] = [];
  const clock = new RealClock();
  let interrupt = (): void => undefined;
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve;
  });
  let handler: HttpHandler | undefined;
  const process: FlanneldProcess = {
    argv,
    variables: options.variables ?? { NODE_NAME: "w1" },
    pid: 1234,
    version: "0.1.0",
    os: "windows",
    stderr: (text) => lines.push(text),
    clock: {
      get nowMs() {
        return clock.nowMs;
      },
      schedule: (afterMs, task) => {
        sleeps.push(afterMs);
        return clock.schedule(afterMs, task);
      },
      cancel: (timer) => clock.cancel(timer),
      isLast: () => clock.isLast(),
    },
    wallMs: () => Date.UTC(2026, 10, 22, 4, 5, 6, 789),
    prng: new Prng(1),
    files,
    listen: async (address, given) => {
      handler = given;
      return { address, close: () => Promise.resolve() };
    },
    openHost: () => machine.flannelHost,
    openHns: machine.client === undefined ? undefined : () => machine.client!,
    openKube: async () => world.nodes,
    openEtcd: () => {
      throw new Error("these tests have no etcd");
    },
    untilInterrupted: () => interrupted,
  };
  const exitCode = runFlanneld(process);
  return {
    lines,
    world,
    files,
    exitCode,
    sleeps,
    interrupt: () => interrupt(),
    ask: async (path) => {
      const answer = await handler?.(path);
      return `${answer?.status} ${answer?.body}`;
    },
    until: async (text) => {
      for (let tries = 0; tries < 400 && !lines.some((line) => line.includes(text)); tries++)
        await new Promise((resolve) => setTimeout(resolve, 10));
      expect(lines.join("")).toContain(text);
    },
  };
}

describe("the program flanneld", () => {
  it("takes its lease, is ready, and ends cleanly when it is told to", async () => {
    const run = start(["--kube-subnet-mgr", "--healthz-port=8473", "--ip-masq=1"]);
    await run.until("flannel is ready");
    expect(run.files.texts.get("/run/flannel/subnet.env")).toContain("FLANNEL_SUBNET=10.244.1.1/24\n");
    expect(await run.ask("/healthz")).toBe("200 flanneld is running");
    expect(await run.ask("/readyz")).toBe("200 flanneld is ready");
    expect(await run.ask("/metrics")).toContain("404");
    // It sleeps until the lease is to be looked at again, and not over and over.
    expect(run.sleeps.at(-1)).toBeGreaterThan(1_000);
    expect(run.sleeps.length).toBeLessThan(5);
    run.interrupt();
    expect(await run.exitCode).toBe(0);
    expect(run.lines.at(-1)).toMatch(/^I1122 \d\d:05:06\.789000 {4}1234 flanneld\] Exiting cleanly\.\.\.\n$/);
  });

  it("CP-F47: says 503 while subnet.env cannot be written", async () => {
    const run = start(["--kube-subnet-mgr", "--healthz-port=8473"]);
    run.files.refusal = "Access is denied.";
    await run.until("Failed to write subnet file: Access is denied.");
    expect(await run.ask("/readyz")).toBe("503 flanneld is not ready yet");
    run.interrupt();
    expect(await run.exitCode).toBe(0);
  });

  it.each([
    ["no net-conf", { netConf: undefined }, "failed to read net conf: /etc/kube-flannel/net-conf.json"],
    [
      "a net-conf that is not JSON",
      { netConf: "{" },
      "error parsing subnet config: /etc/kube-flannel/net-conf.json",
    ],
    ["a bad field", { netConf: '{"Network":"10.244.0.0"}' }, 'Network is "10.244.0.0"; write a range'],
    [
      "VNI 1",
      { netConf: '{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":1}}' },
      "VNI [1] must be",
    ],
    ["no name of the node", { variables: {} }, "env variables POD_NAME and POD_NAMESPACE must be set"],
    ["no podCIDR", { podCIDR: "" }, "pod cidr not assigned"],
  ])("ends with 1 and a code: %s", async (_, options, message) => {
    const run = start(["--kube-subnet-mgr"], options);
    expect(await run.exitCode).toBe(1);
    expect(run.lines.join("")).toContain(message);
    expect(run.lines.at(-1)).toMatch(/mullion explain (flannel|flanneld)-[a-z-0-9]+ explains it\n$/);
  });

  it("bad words end it with 2, a bad prefix with 1", async () => {
    expect(await start(["--nonsense"]).exitCode).toBe(2);
    expect(await start(["--kube-subnet-mgr", "--kube-annotation-prefix=a/b/c"]).exitCode).toBe(1);
  });

  it("prints its version and its flags", async () => {
    const version = start(["--version"]);
    expect(await version.exitCode).toBe(0);
    expect(version.lines).toEqual(["0.1.0\n"]);
    const help = start(["--help"]);
    expect(await help.exitCode).toBe(0);
    expect(help.lines.join("")).toContain("--etcd-endpoints");
  });
});
