/**
 * Debian's containerd and runc run a container whose network is win-bridge's, on Linux: mullion-netns maps the path of the
 * namespace to one of HNS. Needs root, containerd, runc, and gcc for the program in the container.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createEndpoint, createNetwork, listEndpoints, namespaceOf } from "#contracts/hcn/operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { CBR0, type HnsNode, hnsNode } from "../support/hns/hns-node.ts";
import { BIN, PROGRAM_PATH as PATH } from "../support/cni/plugin-process.ts";

const CONTAINER = `mullion-${process.pid}`;
/** The place of plugins and lists is written into ctr. */
const SCRIPT = `set -e
mkdir -p /opt/cni/bin /etc/cni/net.d
mount --bind "$HOME_OF_TEST/bin" /opt/cni/bin
mount --bind "$HOME_OF_TEST/conf" /etc/cni/net.d
containerd -c "$HOME_OF_TEST/config.toml" 2> "$HOME_OF_TEST/containerd.log" &
service=$!
for i in $(seq 100); do [ -S "$HOME_OF_TEST/c.sock" ] && break; sleep 0.1; done
status=0
ctr -a "$HOME_OF_TEST/c.sock" run --rm --cni --rootfs "$HOME_OF_TEST/rootfs" ${CONTAINER} /bin/sleeper || status=$?
kill $service
wait $service || true
exit $status
`;

let folder = "";
let node: HnsNode;
let server: HnsHttpServer;
let run: ChildProcess | undefined;

beforeEach(async () => {
  for (const program of ["containerd", "ctr", "runc", "gcc", "unshare"])
    if (spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0)
      throw new Error(`${program} is missing: apt-get install containerd runc gcc libc6-dev util-linux`);
  folder = mkdtempSync(join(tmpdir(), "mullion-containerd-"));
  for (const name of ["bin", "conf", "rootfs/bin", "rootfs/proc", "rootfs/dev", "rootfs/sys"])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ["mullion-netns", "win-bridge", "host-local"])
    symlinkSync(join(BIN, name), join(folder, "bin", name));
  const source =
    '#include <unistd.h>\nint main(void) { return sleep(4) != 0 || write(1, "done\\n", 5) != 5; }\n';
  execFileSync("gcc", ["-static", "-x", "c", "-", "-o", join(folder, "rootfs/bin/sleeper")], {
    input: source,
  });
  writeFileSync(
    join(folder, "config.toml"),
    `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "${folder}/c.sock"
`,
  );
  const ipam = { type: "host-local", subnet: "10.244.2.0/24", dataDir: join(folder, "leases") };
  const delegate = { type: "win-bridge", apiVersion: 2, ipam };
  const plugins = [{ type: "mullion-netns", dataDir: join(folder, "netns"), delegate }];
  writeFileSync(
    join(folder, "conf", "10-cbr0.conflist"),
    JSON.stringify({ cniVersion: "1.0.0", name: "cbr0", plugins }),
  );
  node = hnsNode();
  const network = await createNetwork(node.client, CBR0);
  await createEndpoint(node.client, network.ID ?? "", {
    Name: "cbr0_ep",
    IpConfigurations: [{ IpAddress: "10.244.2.2" }],
  });
  const address = { socketPath: join(folder, "hns.sock") };
  server = await HnsHttpServer.listen({ client: node.client, address });
});

afterEach(async () => {
  run?.kill("SIGKILL");
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function endpointNames(): Promise<readonly string[]> {
  return (await listEndpoints(node.client)).map(({ Name = "" }) => Name);
}

it("ctr run --cni: an endpoint in a namespace of HNS while the container runs, nothing afterwards", async () => {
  const env = { ...process.env, PATH, HOME_OF_TEST: folder, MULLION_HNS: `unix:${join(folder, "hns.sock")}` };
  const child = spawn("unshare", ["--mount", "bash", "-c", SCRIPT], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  run = child;
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", resolve);
  });
  const own = `default-${CONTAINER}`;
  const namespaces = await node.client.enumerate("Namespace");
  await expect.poll(endpointNames, { timeout: 60_000 }).toEqual(["cbr0_ep", `${own}_cbr0`]);
  const isAttached = async (): Promise<boolean> =>
    (await listEndpoints(node.client)).some((endpoint) => namespaceOf(endpoint) !== undefined);
  await expect.poll(isAttached, { timeout: 10_000 }).toBe(true);
  expect(readdirSync(join(folder, "leases", "cbr0"))).toContain("10.244.2.3");
  const [status, [stdout, stderr]] = await Promise.all([ended, said]);
  expect([status, stdout], stderr).toEqual([0, "done\n"]);
  expect(await endpointNames()).toEqual(["cbr0_ep"]);
  expect(await node.client.enumerate("Namespace")).toEqual(namespaces);
  expect(readdirSync(join(folder, "leases", "cbr0"))).not.toContain("10.244.2.3");
  expect(readdirSync(join(folder, "netns", "cbr0"))).toEqual([]);
});
