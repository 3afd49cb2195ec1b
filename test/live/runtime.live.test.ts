/**
 * Debian's containerd through CRI, as a kubelet uses it: pods of two containers whose network is a simulated Windows node's.
 * Our plugins lie in /opt/cni/bin, which is a folder of the test's in a mount namespace of its own. Needs root, containerd,
 * runc, gcc, util-linux, and crictl (`npm run build:live`).
 */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { thisInstallation, writeLauncher } from "#cli/programs/launchers.ts";
import { PROGRAM_PATH } from "../support/cni/plugin-process.ts";
import { writeImage } from "../support/live/oci-image.ts";
import { findProgram } from "../../tools/live-programs.ts";
import { kernelState } from "./leftovers.ts";

const run = promisify(execFile);
const NAME = `cri-${process.pid}`;
const START_MS = 60_000;
const PODS = Array.from({ length: 20 }, (_, index) => `pod-${index}`);
const IMAGE = "example.test/answer:1";
const PORT = "8080";
const LIST = "10-l2bridge.conflist";
const PLUGINS = ["mullion-netns", "win-bridge", "host-local"];

const CLUSTER = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: runtime }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
network: { driver: L2Bridge, name: l2bridge }
`;

/** Runs until it is killed, in a mount namespace in which nobody else is. */
const SCRIPT = `set -e
mkdir -p /run/netns
mount -t tmpfs none /run/netns
mount --bind "$FOLDER/bin" /opt/cni/bin
mount --bind "$FOLDER/lists" /etc/cni/net.d
node bin/mullion.js up -f "$FOLDER/cluster.yaml" --live-hns "win-1=$FOLDER/win-1.sock" > "$FOLDER/up" 2>&1
MULLION_HNS="unix:$FOLDER/win-1.sock" containerd -c "$FOLDER/config.toml" 2> "$FOLDER/containerd.log" &
service=$!
trap 'kill $service; wait $service || true; node bin/mullion.js down; exit 0' TERM
wait $service
`;

/** What containerd calls beside the plugins of a list. */
const LOOPBACK = `#!/bin/sh
cat > /dev/null
[ "$CNI_COMMAND" != ADD ] || echo '{"cniVersion":"0.3.1"}'
`;

let folder: string;
let before: string;
let machine: ChildProcess;
let end: () => Promise<void>;

function containerdConfig(): string {
  return `version = 2
root = "${folder}/root"
state = "${folder}/state"
[grpc]
  address = "${folder}/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
`;
}

function networkList(): { readonly plugins: readonly object[] } {
  const range = { subnet: "10.244.1.0/24", rangeStart: "10.244.1.100", rangeEnd: "10.244.1.200" };
  const ipam = { type: "host-local", ranges: [[range]], dataDir: join(folder, "leases") };
  const delegate = { type: "win-bridge", apiVersion: 2, ipam };
  return { plugins: [{ type: "mullion-netns", dataDir: join(folder, "attachments"), delegate }] };
}

/** Runs a program where containerd is. */
async function inside(...words: readonly string[]): Promise<string> {
  const all = [`--mount=/proc/${machine.pid}/ns/mnt`, `--wdns=${process.cwd()}`, ...words];
  const env = { ...process.env, PATH: PROGRAM_PATH, MULLION_HNS: `unix:${folder}/win-1.sock` };
  return (await run("nsenter", all, { encoding: "utf8", env })).stdout.trim();
}

/** With the time that a kubelet gives a runtime (`runtimeRequestTimeout`); crictl gives it two seconds. */
function cri(...words: readonly string[]): Promise<string> {
  const socket = `unix://${folder}/c.sock`;
  return inside(
    findProgram("crictl"),
    "--config",
    join(folder, "none"),
    "-r",
    socket,
    "-i",
    socket,
    "-t",
    "2m",
    ...words,
  );
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + START_MS;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(readFileSync(join(folder, "up"), "utf8"));
    await sleep(200);
  }
}

beforeEach(async () => {
  for (const program of ["containerd", "runc", "gcc", "nsenter", "unshare"])
    if (spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0)
      throw new Error(`${program} is missing: apt-get install containerd runc gcc libc6-dev util-linux`);
  before = kernelState();
  folder = mkdtempSync(join(tmpdir(), "mullion-cri-"));
  for (const name of ["bin", "lists"]) mkdirSync(join(folder, name));
  for (const path of ["/opt/cni/bin", "/etc/cni/net.d"]) mkdirSync(path, { recursive: true });
  const installation = { ...thisInstallation(), executable: undefined, isSource: true };
  for (const name of PLUGINS) writeLauncher(join(folder, "bin"), name, installation);
  writeFileSync(join(folder, "bin", "loopback"), LOOPBACK, { mode: 0o755 });
  writeFileSync(join(folder, "none"), "");
  writeFileSync(join(folder, "cluster.yaml"), CLUSTER);
  writeFileSync(join(folder, "config.toml"), containerdConfig());
  writeFileSync(
    join(folder, "lists", LIST),
    JSON.stringify({ cniVersion: "1.0.0", name: "l2bridge", ...networkList() }),
  );
  execFileSync("gcc", ["-static", "-O1", "test/live/answer.c", "-o", join(folder, "answer")]);
  writeImage(join(folder, "image.tar"), IMAGE, { answer: readFileSync(join(folder, "answer")) });
  const env = {
    ...process.env,
    PATH: PROGRAM_PATH,
    FOLDER: folder,
    XDG_RUNTIME_DIR: folder,
    MULLION_NAME: NAME,
  };
  machine = spawn("unshare", ["--mount", "bash", "-c", SCRIPT], {
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = new Promise((resolve) => machine.once("exit", resolve));
  end = async () => {
    if (machine.exitCode === null) machine.kill("SIGTERM");
    await ended;
  };
  await until(() => existsSync(join(folder, "c.sock")));
  const address = join(folder, "c.sock");
  await inside("ctr", "-a", address, "-n", "k8s.io", "image", "import", join(folder, "image.tar"));
  await until(async () => (await cri("images")).includes("example.test/answer"));
});

afterEach(async () => {
  // After a failure pods are left, and their processes are nobody's children.
  if (machine.exitCode === null) await cri("rmp", "--all", "--force").catch(() => undefined);
  await end();
  rmSync(folder, { recursive: true, force: true });
});

interface Pod {
  readonly name: string;
  readonly id: string;
  readonly address: string;
  readonly client: string;
}

function writeJson(name: string, document: object): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

/** A container that answers with the pod's name, and one that asks. */
async function start(name: string): Promise<Pod> {
  const sandbox = writeJson(name, {
    metadata: { name, namespace: "default", uid: name },
    hostname: name,
    linux: {},
  });
  const id = await cri("runp", sandbox);
  const begin = async (container: string, args: readonly string[]): Promise<string> => {
    const metadata = { name: container };
    const document = { metadata, image: { image: IMAGE }, command: ["/answer"], args, linux: {} };
    const made = await cri("create", id, writeJson(`${name}-${container}`, document), sandbox);
    await cri("start", made);
    return made;
  };
  await begin("server", ["serve", PORT, name]);
  const client = await begin("client", ["wait"]);
  const { status } = JSON.parse(await cri("inspectp", id)) as { status: { network: { ip: string } } };
  return { name, id, address: status.network.ip, client };
}

const ask = ({ client }: Pod, address: string): Promise<string> =>
  cri("exec", "-s", client, "/answer", "ask", address, PORT);

const leases = (): readonly string[] =>
  readdirSync(join(folder, "leases", "l2bridge")).filter((name) => /^[\d.]+$/.test(name));

it("20 pods of two containers reach each other; DEL and GC give everything back", async () => {
  const pods: Pod[] = [];
  for (const name of PODS) pods.push(await start(name));
  expect(new Set(pods.map(({ address }) => address)).size).toBe(PODS.length);
  expect(new Set(leases())).toEqual(new Set(pods.map(({ address }) => address)));

  // Each asks the next, which sees who asks; both containers of a pod have one network.
  for (const [index, pod] of pods.entries()) {
    const next = pods[(index + 1) % pods.length]!;
    expect(await ask(pod, next.address)).toBe(`${next.name} ${pod.address}`);
  }
  expect(await ask(pods[0]!, "127.0.0.1")).toBe(`${PODS[0]} 127.0.0.1`);

  const [stopped, forgotten, kept] = [pods.slice(0, 8), pods.slice(8, 16), pods.slice(16)];
  for (const { id } of stopped) await cri("rmp", "--force", id);
  expect(leases()).toHaveLength(PODS.length - stopped.length);
  const attachments = kept.map(({ id }) => ({ containerID: id, ifname: "eth0" }));
  const [plugin] = networkList().plugins;
  const list = { cniVersion: "1.1.0", name: "l2bridge", ...plugin, "cni.dev/valid-attachments": attachments };
  await inside(
    "bash",
    "-c",
    `CNI_COMMAND=GC CNI_PATH=/opt/cni/bin /opt/cni/bin/mullion-netns < ${writeJson("gc", list)}`,
  );
  expect(new Set(leases())).toEqual(new Set(kept.map(({ address }) => address)));
  await expect(ask(kept[0]!, forgotten[0]!.address)).rejects.toThrow("Command failed");
  expect(await ask(kept[0]!, kept[1]!.address)).toBe(`${kept[1]!.name} ${kept[0]!.address}`);

  for (const { id } of [...forgotten, ...kept]) await cri("rmp", "--force", id);
  expect(leases()).toEqual([]);
  expect(readdirSync(join(folder, "attachments", "l2bridge"))).toEqual([]);
  expect(await inside("ls", "/run/netns")).toBe(`mullion-${NAME}`);
  await end();
  expect(readdirSync(folder)).not.toContain("win-1.sock");
  expect(kernelState()).toBe(before);
}, 600_000);
