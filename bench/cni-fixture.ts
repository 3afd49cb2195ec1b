/** What the benchmarks of CNI plugins share: the package's layout, a service of HNS, and plugins as processes. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { createEndpoint, createNamespace, createNetwork } from "#contracts/hcn/operations.ts";
import { thisInstallation, writeLauncher } from "#cli/programs/launchers.ts";
import { PROGRAMS } from "#cli/programs/table.ts";
import { SerialExchange } from "#contracts/hcn/http/serial-exchange.node.ts";
import { buildLinuxLaunchers } from "../tools/build-shim.ts";
import { bundlePrograms } from "../tools/bundle-programs.ts";

/** Where Debian's package containernetworking-plugins has its executables. */
export const GO_PLUGINS = "/usr/lib/cni";

/** A plugin as it is called. */
export interface PluginCommand {
  /** Program and arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
}

/** Runs a plugin to its end. @throws Error when it fails, so that a failing one is not measured as a fast one. */
export function runCommand({ argv, env, stdin }: PluginCommand): string {
  const [program, ...args] = argv;
  const { status, stdout, stderr } = spawnSync(program, args, { env, input: stdin, encoding: "utf8" });
  if (status !== 0) throw new Error(`${argv.join(" ")} ${env["CNI_COMMAND"] ?? ""}: ${stdout}${stderr}`);
  return stdout;
}

/** Runs plugins all at once; what they printed. */
export function runTogether(commands: readonly PluginCommand[]): Promise<readonly string[]> {
  return Promise.all(
    commands.map(
      ({ argv: [program, ...args], env, stdin }) =>
        new Promise<string>((finish, fail) => {
          const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "inherit"] });
          let printed = "";
          child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
          child.on("error", fail);
          child.on("close", (status) => (status === 0 ? finish(printed) : fail(new Error(printed))));
          child.stdin.end(stdin);
        }),
    ),
  );
}

/** Bundles the programs and lays them out as an installed package has them. @returns a folder with its launchers. */
export async function layOutPackage(): Promise<string> {
  // In the clone, because mullion looks for its package.
  const root = resolve("out", "bench", "package");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(root, "dist"), { recursive: true });
  await bundlePrograms(process.cwd(), join(root, "dist", "programs"));
  cpSync("bin", join(root, "bin"), { recursive: true });
  writeFileSync(join(root, "package.json"), '{ "name": "mullion", "version": "0.0.0" }\n');
  const folder = join(root, "installed");
  mkdirSync(folder);
  for (const { name } of PROGRAMS)
    writeLauncher(folder, name, { ...thisInstallation(), root, executable: undefined });
  return folder;
}

/** Builds the launchers that hand calls to the service of `startNode`, which is this clone's. @returns their folder. */
export function layOutLaunchers(): string {
  const built = resolve("out", "bench", "launchers");
  rmSync(built, { recursive: true, force: true });
  buildLinuxLaunchers(built);
  const folder = join(built, "installed");
  mkdirSync(folder);
  const executable = join(built, `launcher-${process.platform}-${process.arch}`);
  for (const { name } of PROGRAMS) writeLauncher(folder, name, { ...thisInstallation(), executable });
  return folder;
}

/** A node for win-bridge: HNS as a process of its own that keeps its objects on disk, cbr0 and a pod's namespace. */
export interface BenchNode {
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly namespace: string;
  /** Seconds that the service has spent in calls so far, and how many there were. */
  spent(): Promise<{ readonly seconds: number; readonly calls: number }>;
  stop(): Promise<void>;
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((finish) => {
    child.once("exit", () => finish());
  });
}

async function waitFor(path: string): Promise<void> {
  for (let i = 0; i < 600 && !existsSync(path); i++) await new Promise((next) => setTimeout(next, 50));
}

export async function startNode(): Promise<BenchNode> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-bench-cni-"));
  const socketPath = join(folder, "hns.sock");
  const words = [
    "hns",
    "serve",
    "--socket",
    socketPath,
    "--data",
    join(folder, "hns"),
    "--address-delay",
    "0",
  ];
  const service = spawn(process.execPath, ["bin/mullion.js", ...words], { stdio: "ignore" });
  await waitFor(socketPath);
  const variables = { MULLION_HNS: `unix:${socketPath}` };
  const client = findHns({ variables });
  const route = { NextHop: "10.244.0.1", DestinationPrefix: "0.0.0.0/0" };
  const network = await createNetwork(client, {
    Name: "cbr0",
    Type: "L2Bridge",
    Ipams: [{ Type: "Static", Subnets: [{ IpAddressPrefix: "10.244.0.0/16", Routes: [route] }] }],
  });
  const bridge = { Name: "cbr0_ep", IpConfigurations: [{ IpAddress: "10.244.0.2" }] };
  await createEndpoint(client, network.ID ?? "", bridge);
  const namespace = (await createNamespace(client)).ID ?? "";
  await client.close();
  return {
    folder,
    variables,
    namespace,
    spent: () => readSpent(socketPath),
    stop: async () => {
      service.kill();
      await ended(service);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function readSpent(socketPath: string): Promise<{ seconds: number; calls: number }> {
  const exchange = new SerialExchange({ socketPath });
  const text = await exchange.exchange({ method: "GET", path: "/metrics", body: "", timeoutMs: 10_000 });
  exchange.close();
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^mullion_hns_call_duration_seconds_${name}\\{.*\\} (\\S+)$`, "gm"))]
      .map(([, value]) => Number(value))
      .reduce((a, b) => a + b, 0);
  return { seconds: sum("sum"), calls: sum("count") };
}
