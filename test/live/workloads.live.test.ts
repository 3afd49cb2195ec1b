// Processes of real pods: what the cluster file lists, else the built-in server; what they may not do; how to get to them.
// Needs root, /dev/net/tun, iproute2, util-linux, curl and nc (netcat-openbsd).
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { kernelState, removeLeftovers } from "./leftovers.ts";

const PREFIX = "work-";
const NAME = `${PREFIX}${process.pid}`;

const CLUSTER = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: real }
kubernetes: { version: '1.34' }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2025, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
network: { driver: Overlay, name: vxlan0, vni: 4096 }
pods:
  - { name: web, node: win-1, ports: [{ port: 8080 }, { port: 53, protocol: UDP }] }
  - { name: api, node: win-2, ports: [{ port: 8080 }] }
  - { name: bad, node: win-2, ports: [{ port: 8080 }] }
  - { name: gone, node: win-1, ports: [{ port: 8080 }] }
`;

let folder: string;
let before: string;

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  XDG_RUNTIME_DIR: folder,
  MULLION_NAME: NAME,
});

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function mullion(...words: readonly string[]): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["bin/mullion.js", ...words], {
    encoding: "utf8",
    env: environment(),
  });
  return { code: status, out: stdout, err: stderr };
}

function up(text: string, ...words: readonly string[]): string {
  const file = join(folder, "cluster.yaml");
  writeFileSync(file, `${CLUSTER}${text}`);
  const { code, out, err } = mullion("up", "-f", file, "--live", ...words);
  expect(code, err).toBe(0);
  return out;
}

/** A command in a pod, or without a name beside the nodes. */
const inPod = (pod: string, ...command: readonly string[]): string => {
  const { out, err } = mullion("shell", pod, "--", ...command);
  return `${out}${err}`.trim();
};
const curl = (pod: string, url: string): string => inPod(pod, "curl", "-sS", "-m", "10", url);

/** Processes of this machine whose command line has the text. */
function processesWith(text: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}

/** A busy machine brings a cluster up in half a minute. */
const HOOK_MS = 180_000;
const MARK = `MARK-${NAME}`;

/** A process that does what it may not, and says what came of it. */
const ATTEMPTS: readonly (readonly [name: string, script: string, said: RegExp])[] = [
  ["is nobody", "id -u", /^65534$/],
  ["reads /etc/shadow", "cat /etc/shadow", /No such file/],
  ["reads a home", "ls /root", /No such file/],
  ["writes to /etc", "echo x > /etc/x", /Read-only file system/],
  ["writes to the root", "echo x > /x", /Read-only file system/],
  ["writes to /usr", "touch /usr/x", /Read-only file system/],
  ["writes to /tmp, which it may", "echo x > /tmp/x && cat /tmp/x", /^x$/],
  ["becomes root of a user namespace", "unshare -Ur id", /unshare failed/],
  ["mounts", "mount -t tmpfs x /tmp", /superuser|denied|not permitted/],
  ["sees other processes", "ls /proc | grep -c '^[0-9]'", /^[1-9]$/],
  ["reaches the machine's loopback", "nc -w 2 127.0.0.1 LOOPBACK < /dev/null; echo ended $?", /ended 1/],
  ["reaches the daemon's socket", "nc -w 2 -U SOCKET < /dev/null; echo ended $?", /ended 1/],
];

function workloads(loopback: number): string {
  const lines = ATTEMPTS.map(([, script], index) => `echo "[${index}]"; ${script}`);
  const script = `{ ${lines.join("; ")}; echo "[end]"; } 2>&1; sleep 1000; : ${MARK}`
    .replace("LOOPBACK", `${loopback}`)
    .replace("SOCKET", join(folder, "mullion", `${NAME}.sock`));
  const bad = `{ pod: bad, command: [sh, -c, ${JSON.stringify(script)}] }`;
  return `workloads:\n  - ${bad}\n  - { pod: gone, command: [no-such-program] }\n`;
}

beforeAll(() => {
  removeLeftovers(`mullion-${PREFIX}`);
  folder = mkdtempSync(join(tmpdir(), "mullion-work-"));
  before = kernelState();
});

/** Nothing is left of it: no interface, no namespace, no process. */
async function expectNothingLeft(): Promise<void> {
  await expect.poll(kernelState, { timeout: 10_000 }).toBe(before);
  await expect.poll(() => processesWith(MARK), { timeout: 10_000 }).toEqual([]);
}

afterAll(() => {
  mullion("down");
  rmSync(folder, { recursive: true });
});

describe("processes of a real pod", () => {
  const listening = createServer((socket) => socket.end("host"));
  let said: readonly string[];

  beforeAll(async () => {
    listening.listen(0, "127.0.0.1");
    await once(listening, "listening");
    up(workloads((listening.address() as AddressInfo).port), "--live-pod", "web", "--live-pod", "api");
    const log = (): string => mullion("logs", "bad").out;
    await vi.waitUntil(() => log().includes("[end]"), { timeout: 60_000, interval: 1_000 });
    said = log()
      .split(/^\[(?:\d+|end)\]$/m)
      .map((text) => text.trim());
  }, HOOK_MS);

  afterAll(() => void listening.close());

  it("the built-in server says who it is and whom it saw, over VXLAN, TCP and UDP", () => {
    expect(curl("api", "http://10.244.1.3:8080/hostname")).toBe("web");
    expect(curl("api", "http://10.244.1.3:8080/clientip")).toMatch(/^10\.244\.2\.\d+:\d+$/);
    const dial = "dial?host=10.244.1.3&port=53&protocol=udp&request=hostname";
    const api = /10\.244\.2\.\d+/.exec(inPod("api", "ip", "-4", "address", "show", "eth0"))?.[0] ?? "";
    expect(curl("api", `http://${api}:8080/${dial}`)).toBe('{"responses":["web"]}');
    expect(mullion("logs", "web").out).toContain("GET /hostname");
  });

  it.each(ATTEMPTS.map(([name, , text], index) => [name, index, text] as const))(
    "one that %s is answered",
    (_, index, text) => {
      expect(existsSync(join(folder, "mullion", `${NAME}.sock`))).toBe(true);
      expect(said[index + 1]).toMatch(text);
    },
  );

  it("one that cannot start is told of", () => {
    expect(mullion("logs", "gone").out).toMatch(/no-such-program: No such file or directory/);
  });

  it("a capture that Ctrl-C ends is whole, and tshark reads it: inside of the pod, and around it on the wire", async () => {
    const file = join(folder, "seen.pcapng");
    const words = ["bin/mullion.js", "capture", "pod/api", "underlay", "-w", file];
    const capture = spawn(process.execPath, words, {
      env: environment(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    await once(capture.stderr, "data");
    const begun = Date.now() / 1000;
    expect(curl("api", "http://10.244.1.3:8080/hostname")).toBe("web");
    capture.kill("SIGINT");
    expect(await once(capture, "exit")).toEqual([0, null]);
    const fields = ["frame.interface_name", "frame.protocols", "frame.time_epoch"].flatMap((name) => [
      "-e",
      name,
    ]);
    // What is seen at two places is no second attempt.
    const options = [
      "-o",
      "tcp.analyze_sequence_numbers:FALSE",
      "-r",
      file,
      "-Y",
      "http.request",
      "-T",
      "fields",
      ...fields,
    ];
    const lines = execFileSync("tshark", options, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const seen = lines
      .trim()
      .split("\n")
      .map((line) => line.split("\t"));
    expect(seen.map(([place, protocols]) => [place, protocols])).toEqual([
      ["pod/api", "eth:ethertype:ip:tcp:http"],
      ["underlay", "eth:ethertype:ip:udp:vxlan:eth:ethertype:ip:tcp:http"],
    ]);
    for (const [, , at] of seen) expect(Math.abs(Number(at) - begun)).toBeLessThan(20);
  });

  it("top says what passes the ports of pods", async () => {
    const words = ["bin/mullion.js", "top", "pods", "-c", "1", "--interval", "4s", "-o", "json"];
    const top = spawn(process.execPath, words, { env: environment(), stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    top.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    // Longer than the look, whenever it begins.
    inPod("api", "ping", "-c", "160", "-i", "0.05", "-W", "1", "10.244.1.3");
    await once(top, "close");
    const { items } = JSON.parse(text) as { readonly items: readonly Record<string, unknown>[] };
    const [first, second] = items;
    expect(new Set([first?.["who"], second?.["who"]])).toEqual(new Set(["default/api", "default/web"]));
    expect(first?.["sentPackets"]).toBeGreaterThan(1);
    expect(first?.["receivedBits"]).toBeGreaterThan(500);
  });

  it.each([
    [["curl", "-sS", "-m", "10", "http://10.244.1.3:8080/hostname"], 0, /^web$/],
    [["sh", "-c", "exit 7"], 7, /^$/],
    [["ipconfig"], 0, /Windows IP Configuration/],
    [["no-such-program"], 1, /./],
  ] as const)(
    "exec %s: programs of the machine run in the pod, others are simulated",
    (command, code, printed) => {
      const ran = mullion("exec", "pod/api", "--", ...command);
      expect([ran.code, ran.out.trim() === "" ? ran.err.trim() : ran.out.trim()]).toEqual([
        code,
        expect.stringMatching(printed),
      ]);
    },
  );

  it("exec --simulated runs nothing of the machine", () => {
    const { code, err } = mullion("exec", "--simulated", "pod/api", "--", "sh", "-c", "exit 7");
    expect([code, err]).toEqual([1, expect.stringMatching(/sh/)]);
  });

  it("a capture that has no room says so and ends", () => {
    const capture = spawnSync(
      "sh",
      ["-c", `"$0" bin/mullion.js capture pod/api -w /dev/full`, process.execPath],
      {
        encoding: "utf8",
        env: environment(),
      },
    );
    expect([capture.status, capture.stderr]).toEqual([
      2,
      expect.stringMatching(/the disk is full \[bad-usage\]/),
    ]);
  });

  it("shell has the pod's name servers, and the exit code of the command", () => {
    const resolver = inPod("api", "cat", "/etc/resolv.conf");
    expect(resolver).toMatch(/^nameserver /);
    expect(readFileSync("/etc/resolv.conf", "utf8").trim()).not.toBe(resolver);
    expect(mullion("shell", "default/api", "--", "sh", "-c", "exit 7").code).toBe(7);
  });

  it("after SIGKILL and down nothing is left", async () => {
    expect(processesWith(MARK).length).toBeGreaterThan(0);
    process.kill(Number(readFileSync(join(folder, "mullion", `${NAME}.pid`), "utf8")), "SIGKILL");
    await expect.poll(() => processesWith(MARK), { timeout: 10_000 }).toEqual([]);
    mullion("down");
    await expectNothingLeft();
  });
});

describe("without a pod that is real", () => {
  it("shell and logs say so", async () => {
    up("");
    const { code, err } = mullion("shell", "web", "--", "true");
    expect([code, err]).toEqual([2, expect.stringMatching(/pod web is simulated \[cluster-not-live\]/)]);
    expect(mullion("logs", "web").err).toMatch(/no process runs in the pod "web" \[cluster-not-live\]/);
    mullion("down");
    await expectNothingLeft();
  });
});

describe("root of a user namespace", () => {
  it("has them, too", () => {
    const file = join(folder, "cluster.yaml");
    writeFileSync(file, `${CLUSTER}${workloads(1)}`);
    const own = `${process.execPath} bin/mullion.js`;
    const script = `${own} up -f ${file} --live-pod web && ${own} shell bad -- curl -sS -m 10 http://10.244.1.3:8080/hostname 2>&1; echo; ${own} logs bad; ${own} down`;
    const { stdout } = spawnSync("unshare", ["-Ur", "sh", "-c", script], {
      encoding: "utf8",
      env: environment(),
    });
    expect(stdout).toMatch(/\nweb\n/);
    expect(stdout).toMatch(/shadow: No such file/);
    expect(stdout).toMatch(/cannot create \/x: Read-only file system/);
  });
});
