/**
 * `HcnClient` over the DLLs keeps the contract of all clients: here over the shared libraries that are built of the
 * same code, and through them against a service in this process.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeHcnClient } from "../support/hns/client.suite.ts";
import { type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { DllHcnClient } from "#contracts/hcn/dll/dll-client.node.ts";
import { NativeCalls } from "#contracts/hcn/dll/native-calls.node.ts";
import { createNetwork } from "#contracts/hcn/operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { CBR0, hnsNode } from "../support/hns/hns-node.ts";
import { ClientHost, HostedClient } from "./hosted-client.ts";
import { closePrograms, openPrograms, startProgramOnWine } from "./programs.ts";
import { ROOT, resultOf } from "./test-daemon.ts";
import { windowsKoffi, windowsNode } from "./windows-node.ts";

const { NetworkCreate, ServiceDisconnect } = NOTIFICATION_TYPES;
const TOKEN = "0123456789abcdef0123456789abcdef";
const FOLDER = join(ROOT, "out", "shim");
const LIBRARIES = {
  computeNetwork: join(FOLDER, "libcomputenetwork.so"),
  vmCompute: join(FOLDER, "libvmcompute.so"),
  free: [null, "free"],
} as const;

beforeAll(openPrograms);
afterAll(() => {
  closePrograms();
  delete process.env["MULLION_HNS"];
  delete process.env["MULLION_HNS_TOKEN"];
});

async function serve(): Promise<readonly [HnsHttpServer, Readonly<Record<string, string>>]> {
  const address = { host: "127.0.0.1", port: 0, token: TOKEN } as const;
  const server = await HnsHttpServer.listen({ client: hnsNode().client, address });
  return [server, { MULLION_HNS: `http://127.0.0.1:${server.port!}`, MULLION_HNS_TOKEN: TOKEN }];
}

/** A client of a service of its own, which ends with it. */
class ServedClient extends DllHcnClient {
  readonly server: HnsHttpServer;

  constructor(server: HnsHttpServer) {
    super(LIBRARIES);
    this.server = server;
  }

  static async open(): Promise<ServedClient> {
    const [server, variables] = await serve();
    // The libraries read them with each call.
    Object.assign(process.env, variables);
    return new ServedClient(server);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.server.close();
  }
}

describeHcnClient("the client over computenetwork and vmcompute", async () => ServedClient.open());

describe("the client over computenetwork and vmcompute", () => {
  it("hears once that the service is gone, and calls fail with its error", async () => {
    const client = await ServedClient.open();
    const heard: HcnNotification[] = [];
    for (const scope of ["service", "all"] as const)
      client.subscribe((notification) => heard.push(notification), scope);
    await createNetwork(client, CBR0);
    await expect.poll(() => heard.filter(({ type }) => type === NetworkCreate)).toHaveLength(2);
    heard.splice(0);
    await client.server.close();
    await expect.poll(() => heard.map(({ type }) => type)).toEqual([ServiceDisconnect, ServiceDisconnect]);
    await expect(client.enumerate("Network")).rejects.toMatchObject({
      code: "RPC_S_SERVER_UNAVAILABLE",
      detail: expect.stringContaining("MULLION_HNS") as string,
    });
    await expect(client.call("GET", "/networks/", "")).rejects.toMatchObject({
      code: "RPC_S_SERVER_UNAVAILABLE",
    });
    const late: HcnNotification[] = [];
    client.subscribe((notification) => late.push(notification));
    await expect.poll(() => late.map(({ type }) => type)).toEqual([ServiceDisconnect]);
    await client.close();
  });

  it("keeps a program that only listens from ending, until it does so", async () => {
    const [server, variables] = await serve();
    const script = `
      const { DllHcnClient } = await import(process.argv[1]);
      const client = new DllHcnClient(JSON.parse(process.argv[2]));
      const end = client.subscribe(({ type }) => {
        process.stdout.write(String(type));
        end();
      });
      await client.enumerate("Network");
      process.stdout.write("listens ");`;
    const target = new URL("../../src/contracts/hcn/mod.node.ts", import.meta.url).href;
    const args = ["--input-type=module", "-e", script, target, JSON.stringify(LIBRARIES)];
    const child = spawn(process.execPath, args, { env: { ...process.env, ...variables } });
    const result = resultOf(child);
    await once(child.stdout, "data");
    const client = new DllHcnClient(LIBRARIES);
    Object.assign(process.env, variables);
    await createNetwork(client, CBR0);
    expect(await result).toMatchObject({ code: 0, stdout: "listens 1" });
    await client.close();
    await server.close();
  });

  it("a function that an older build does not have: E_NOTIMPL, and its name", async () => {
    await expect(new NativeCalls(LIBRARIES).call("HcnOpenService", null)).rejects.toMatchObject({
      code: "E_NOTIMPL",
      detail: expect.stringContaining("HcnOpenService") as string,
    });
  });

  it("says which library is missing", () => {
    const libraries = { ...LIBRARIES, vmCompute: join(FOLDER, "no-such-library.so") };
    expect(() => new DllHcnClient(libraries)).toThrow(/no-such-library\.so cannot be loaded/);
  });
});

/** As on a Windows node: Node for Windows, koffi's binary for Windows, and the DLLs in system32. */
describe("under Wine, in Node for Windows", () => {
  let host: ClientHost;
  beforeAll(async () => {
    const script = `Z:${join(ROOT, "test", "wine", "dll-host.ts").replaceAll("/", "\\")}`;
    const variables = { NODE_PATH: `Z:${windowsKoffi()}`, NODE_NO_WARNINGS: "1" };
    const log = join(ROOT, "out", "wine", "dll-host.log");
    host = await ClientHost.start((port) =>
      startProgramOnWine(windowsNode(), [script, String(port)], variables, log),
    );
  });
  describeHcnClient("the client over computenetwork.dll and vmcompute.dll", async () => {
    const [server, variables] = await serve();
    await host.open(variables);
    return new (class extends HostedClient {
      override async close(): Promise<void> {
        await super.close();
        await server.close();
      }
    })(host);
  });

  it("ends by itself, with registrations that were made and taken back", async () => {
    expect(await host.end()).toBe(0);
  });
});
