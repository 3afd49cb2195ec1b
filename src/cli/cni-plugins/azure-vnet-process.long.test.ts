/** azure-vnet as a process: HNS behind a socket, CNS on a port of the loopback, state in files. */
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createNamespace, createNetwork, listEndpoints } from "#contracts/hcn/operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { CnsHttpService } from "#test/support/cni/cns-http-service.ts";
import { CnsService } from "#programs/plugins/cns/service.ts";
import { pool } from "#test/support/cni/cns-node.ts";
import { type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";
import {
  BIN,
  PROGRAM_PATH,
  type PluginProcessExit,
  runPluginProcess,
} from "#test/support/cni/plugin-process.ts";

let folder = "";
let node: HnsNode;
let hns: HnsHttpServer;
let cns: CnsService;
let served: CnsHttpService;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-azure-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(async () => {
  // The plugin looks for the host's interface among those of this machine: the loopback is one everywhere.
  node = hnsNode({ adapters: [{ name: "Ethernet", address: "10.240.0.4/16", mac: "00-0D-3A-01-02-03" }] });
  const adapter = { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } };
  const routes = [{ NextHop: "10.240.0.1", DestinationPrefix: "0.0.0.0/0" }];
  await createNetwork(node.client, {
    Name: "azure",
    Type: "L2Tunnel",
    Policies: [adapter],
    Ipams: [{ Type: "Static", Subnets: [{ IpAddressPrefix: "10.240.0.0/16", Routes: routes }] }],
  });
  const socketPath = join(folder, "hns.sock");
  hns = await HnsHttpServer.listen({ client: node.client, address: { socketPath } });
  cns = new CnsService({
    host: { Gateway: "10.240.0.1", PrimaryIP: "10.240.0.4", Subnet: "10.240.0.0/16" },
    keepsEndpoints: true,
  });
  cns.pool.add(pool("10.240.0.4/16", "10.240.0.1", "10.240.0.35", "10.240.0.36"));
  served = await CnsHttpService.listen(cns);
});
afterEach(async () => {
  await served.close();
  await hns.close();
  for (const name of ["state", "pending"]) rmSync(join(folder, name), { recursive: true, force: true });
});

function run(
  program: string,
  verb: string,
  env: Readonly<Record<string, string>>,
  fields: object = {},
): Promise<PluginProcessExit> {
  const stdin = {
    cniVersion: "1.1.0",
    name: "azure",
    type: "azure-vnet",
    master: "lo",
    adapterName: "Ethernet",
    ipam: { type: "azure-cns" },
    cnsurl: served.url,
    ...fields,
  };
  const all = {
    CNI_COMMAND: verb,
    CNI_CONTAINERID: "7c5e1f0a9b3d4e6f",
    CNI_IFNAME: "eth0",
    CNI_PATH: BIN,
    CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0",
    MULLION_HNS: `unix:${join(folder, "hns.sock")}`,
    MULLION_AZURE_STATE: join(folder, "state"),
    MULLION_AZURE_DELETE_IDS: join(folder, "pending"),
    ...env,
  };
  return runPluginProcess(program, all, stdin);
}

const held = (): readonly string[] => cns.pool.all().flatMap(({ holder }) => holder?.containerId ?? []);
const names = async (): Promise<unknown> => (await listEndpoints(node.client)).map(({ Name }) => Name);

it.each(["azure-vnet", "azure-vnet-stateless"])(
  "CNI-145 %s with CNS over HTTP: the L2Tunnel network is adopted; ADD, CHECK, STATUS, GC, DEL",
  async (program) => {
    const env = { CNI_NETNS: (await createNamespace(node.client)).ID ?? "" };
    const added = await run(program, "ADD", env);
    expect(added).toMatchObject({ status: 0, stderr: "" });
    const prevResult = JSON.parse(added.stdout) as object;
    expect(prevResult).toMatchObject({
      interfaces: [{ name: "eth0", sandbox: env.CNI_NETNS }],
      ips: [{ address: "10.240.0.35/16", gateway: "10.240.0.1" }],
    });
    expect(existsSync(join(folder, "state", "azure-vnet.json"))).toBe(program === "azure-vnet");
    expect(await run(program, "CHECK", env, { prevResult })).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(await run(program, "STATUS", env)).toEqual({ status: 0, stdout: "", stderr: "" });
    const valid = [{ containerID: "7c5e1f0a9b3d4e6f", ifname: "eth0" }];
    await run(program, "GC", env, { "cni.dev/valid-attachments": valid });
    expect(await names()).toEqual(["7c5e1f0a-eth0"]);
    expect(await run(program, "DEL", env)).toEqual({ status: 0, stdout: "", stderr: "" });
    expect([await names(), held()]).toEqual([[], []]);
  },
);

it("CNI-EX-E15 CNI-137 CNS is down at DEL: a file in the folder that CNS works off", async () => {
  const env = { CNI_NETNS: (await createNamespace(node.client)).ID ?? "" };
  await run("azure-vnet", "ADD", env);
  await served.close();
  expect(await run("azure-vnet", "DEL", env)).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(await names()).toEqual([]);
  const pending = join(folder, "pending");
  expect(readdirSync(pending)).toEqual(["7c5e1f0a9b3d4e6f"]);
  expect(readFileSync(join(pending, "7c5e1f0a9b3d4e6f"), "utf8")).toBe("7c5e1f0a-eth0");
  expect(JSON.parse((await run("azure-vnet", "ADD", env)).stdout)).toMatchObject({
    code: 11,
    msg: expect.stringContaining("connection refused") as string,
    details: expect.stringContaining("mullion explain azure-cns-down") as string,
  });
});

it("-v prints a version; GET_ENDPOINT_STATE needs no configuration", async () => {
  for (const name of ["azure-vnet", "azure-vnet-ipam"]) {
    const child = spawn(join(BIN, name), ["-v"], { env: { PATH: PROGRAM_PATH } });
    const text = await new Promise<string>((resolve) => {
      let out = "";
      child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
      child.on("close", () => resolve(out));
    });
    expect(text).toMatch(/^Azure CNI Version mullion-\d+\.\d+\.\d+.*\n$/);
  }
  expect(JSON.parse((await run("azure-vnet", "GET_ENDPOINT_STATE", {})).stdout)).toEqual({
    ContainerInterfaces: {},
  });
});

it("what is at the place of CNS closes the connection, or says nothing that can be read", async () => {
  for (const answer of [
    (response: { destroy: () => void }) => response.destroy(),
    (response: { end: (text: string) => void }) => response.end("<html>"),
  ]) {
    const server = createServer((_request, response) => {
      answer(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const env = { CNI_NETNS: (await createNamespace(node.client)).ID ?? "" };
    const exit = await run("azure-vnet", "ADD", env, { cnsurl: `http://127.0.0.1:${port}` });
    expect([6, 11]).toContain((JSON.parse(exit.stdout) as { code: number }).code);
    expect(exit.stderr).toBe("");
    expect(await names()).toEqual([]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

it("a state file that is broken, or a folder: code 100 names it, and nothing is done", async () => {
  const env = { CNI_NETNS: (await createNamespace(node.client)).ID ?? "" };
  const path = join(folder, "state", "azure-vnet.json");
  mkdirSync(join(folder, "state"));
  writeFileSync(path, "{");
  const broken = await run("azure-vnet", "ADD", env);
  expect(JSON.parse(broken.stdout)).toMatchObject({
    code: 100,
    msg: expect.stringContaining("Failed to start network plugin") as string,
    details: expect.stringContaining("mullion explain azure-state-unreadable") as string,
  });
  rmSync(path);
  mkdirSync(path);
  expect(JSON.parse((await run("azure-vnet", "ADD", env)).stdout)).toMatchObject({ code: 100 });
  expect([await names(), held()]).toEqual([[], []]);
});
