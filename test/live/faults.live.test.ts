// What goes wrong underneath a cluster with real pods: it is said plainly, goes on where it can, and leaves nothing. Needs
// root, /dev/net/tun, iproute2, util-linux and gcc.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { kernelState, removeLeftovers } from "./leftovers.ts";

const PREFIX = "fault-";
const NAME = `${PREFIX}${process.pid}`;
const OWN = `${process.execPath} bin/mullion.js`;

const CLUSTER = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: real }
nodes: [{ name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }]
network: { driver: L2Bridge }
pods:
  - { name: web, node: win-1, ports: [{ port: 8080 }] }
  - { name: api, node: win-1, ports: [{ port: 8080 }] }
`;

/** Starts a program that may not call io_uring_setup (425), as containers often may not. */
const WITHOUT_IO_URING = `#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 425, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = { sizeof rules / sizeof *rules, rules };
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) || execv(argv[1], argv + 1);
}
`;

let folder: string;
let file: string;
let before: string;

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, XDG_RUNTIME_DIR: folder, MULLION_NAME: NAME };
}

function run(program: string, ...words: readonly string[]): Ran {
  const env = environment();
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: "utf8", env, timeout: 90_000 });
  return { code: status, out: stdout, err: stderr };
}

const mullion = (...words: readonly string[]): Ran => run(process.execPath, "bin/mullion.js", ...words);
/** A shell whose mounts are its own. */
const apart = (script: string): Ran => run("unshare", "--mount", "sh", "-c", script);
const log = (): string => readFileSync(join(folder, "mullion", `${NAME}.log`), "utf8");

beforeAll(() => {
  removeLeftovers(`mullion-${PREFIX}`);
  folder = mkdtempSync(join(tmpdir(), "mullion-fault-"));
  file = join(folder, "cluster.yaml");
  writeFileSync(file, CLUSTER);
  before = kernelState();
});

/** No interface, no namespace, no file. */
async function expectNothingLeft(): Promise<void> {
  mullion("down");
  await expect.poll(kernelState, { timeout: 10_000 }).toBe(before);
  expect(readdirSync(folder)).toEqual(["cluster.yaml"]);
}

afterEach(expectNothingLeft);

afterAll(() => rmSync(folder, { recursive: true }));

describe("underneath a cluster that is up", () => {
  it("a namespace whose name is deleted is entered all the same; an interface that is gone is told of", async () => {
    expect(mullion("up", "-f", file, "--live-pod", "web", "--live-pod", "api").code).toBe(0);
    const namespace = `mullion-${NAME}_web`;
    execFileSync("ip", ["netns", "delete", namespace]);
    expect(mullion("exec", "pod/web", "--", "ping", "-c", "1", "-W", "5", "10.0.0.11").out).toContain(
      "1 received",
    );
    // Another namespace of that name is somebody's own.
    execFileSync("ip", ["netns", "add", namespace]);
    try {
      expect(mullion("shell", "web", "--", "ip", "address").out).toContain("10.244.1.");
      execFileSync("ip", ["netns", "exec", `mullion-${NAME}_api`, "ip", "link", "delete", "eth0"]);
      await expect
        .poll(log, { timeout: 10_000 })
        .toContain("the interface of pod api is gone: nothing passes there until the cluster comes up again");
      expect(mullion("exec", "pod/web", "--", "ping", "-c", "1", "-W", "5", "10.0.0.11").code).toBe(0);
      expect(mullion("down")).toMatchObject({ code: 0, out: "Cluster real is down.\n" });
      expect(execFileSync("ip", ["netns", "list"], { encoding: "utf8" })).toContain(namespace);
    } finally {
      execFileSync("ip", ["netns", "delete", namespace]);
    }
  });
});

it("top counts at the port of a pod what its interface does not take while it is down", async () => {
  expect(mullion("up", "-f", file, "--live-pod", "web", "--live-pod", "api").code).toBe(0);
  execFileSync("ip", ["netns", "exec", `mullion-${NAME}_api`, "ip", "link", "set", "eth0", "down"]);
  const top = spawn(
    process.execPath,
    ["bin/mullion.js", "top", "pods", "-c", "1", "--interval", "4s", "-o", "json"],
    {
      env: environment(),
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const said = text(top.stdout);
  const address = mullion("get", "pods", "-o", "json").out;
  const to = /10\.244\.1\.\d+/g.exec(address.slice(address.indexOf('"api"')))?.[0] ?? "";
  const ping = ["netns", "exec", `mullion-${NAME}_web`, "ping", "-i", "0.2", "-W", "1", to];
  const pinging = spawn("ip", ping, { stdio: "ignore" });
  const { items } = JSON.parse(await said) as {
    readonly items: readonly { readonly who: string; readonly drops: Readonly<Record<string, number>> }[];
  };
  pinging.kill();
  const drops = items.find(({ who }) => who === "default/api")?.drops;
  expect(drops?.["interface-down"]).toBeGreaterThan(0);
});

/** Until then the interfaces are there, at the latest: a start takes some 2 s. */
const START_MS = [100, 400, 800, 1_200, 1_600, 2_000];

it("after SIGTERM in the middle of a start, and down, nothing is left", async () => {
  for (const afterMs of START_MS) {
    const words = ["bin/mullion.js", "up", "-f", file, "--live", "--live-pod", "web"];
    const start = spawn(process.execPath, words, { env: environment(), stdio: "ignore" });
    const ended = once(start, "exit");
    setTimeout(() => start.kill("SIGTERM"), afterMs);
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    expect(signal === "SIGTERM" || code !== null).toBe(true);
    await expectNothingLeft();
  }
});

describe("a machine that cannot", () => {
  it("has no iproute2: the cluster comes up, and its pods are real all the same", () => {
    const script = `mount --bind /dev/null "$(readlink -f "$(command -v ip)")"
      ip link 2> /dev/null && echo "there is one"
      ${OWN} up -f ${file} --live-pod web > /dev/null && ${OWN} exec pod/web -- ping -c 1 -W 5 10.0.0.11 && ${OWN} down`;
    const { code, out, err } = apart(script);
    expect(code, err).toBe(0);
    expect(out).toContain("1 received");
    expect(out).toContain("Cluster real is down.");
    expect(out).not.toContain("there is one");
  });

  it("has no util-linux: the pods are there, and their processes are told of", () => {
    const up = `${OWN} up -f ${file} --live-pod web`;
    const { code, out } = apart(`mount --bind /dev/null /usr/bin/setpriv && ${up} && ${OWN} down`);
    expect(code).toBe(0);
    expect(out).toMatch(/The process \S+ of the pod web does not run: setpriv cannot be started: /);
    expect(out).toContain("Cluster real is down.");
  });

  it("has no /dev/net/tun: says so, and what to do, and leaves nothing", () => {
    const { code, err } = apart(`mount -t tmpfs none /dev/net && exec ${OWN} up -f ${file} --live`);
    expect(code).toBe(2);
    expect(err).toMatch(
      /\/dev\/net\/tun: no such file or directory \(ENOENT\) \[live-not-possible\]\n {4}\S/,
    );
  });

  it("forbids io_uring: goes on by a thread, and the log says what that costs", () => {
    const program = join(folder, "without-io-uring");
    execFileSync("gcc", ["-x", "c", "-", "-o", program], { input: WITHOUT_IO_URING });
    const { code, err } = run(
      program,
      process.execPath,
      "bin/mullion.js",
      "up",
      "-f",
      file,
      "--live-pod",
      "web",
    );
    rmSync(program);
    expect(code, err).toBe(0);
    expect(log()).toMatch(/io_uring is not allowed on this machine: .* costs a wake-up more/);
    expect(mullion("exec", "pod/web", "--", "ping", "-c", "1", "-W", "5", "10.0.0.11").code).toBe(0);
  });

  it("opens no more files: says which limit, and how to raise it", () => {
    const { code, err } = run("prlimit", "--nofile=26", process.execPath, "bin/mullion.js", "up", "-f", file);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(
        /this process may open no more files \(.*EMFILE.*\) \[bad-usage\]\n {4}Allow more, and start again: ulimit -n 1024\n/,
      ),
    ]);
  });

  it("has a full disk: says so, and leaves no lock that the next start would wait for", () => {
    const script = `mount -t tmpfs -o size=16k,mode=700 full /mnt
      cat /dev/zero > /mnt/zeros 2> /dev/null
      XDG_RUNTIME_DIR=/mnt ${OWN} up -f ${file} --live; echo "code $?"; find /mnt -type f`;
    const { out, err } = apart(script);
    expect(err).toMatch(/cannot keep a cluster in \S+: ENOSPC: no space left on device/);
    expect(out).toBe("code 2\n/mnt/zeros\n");
  });
});
