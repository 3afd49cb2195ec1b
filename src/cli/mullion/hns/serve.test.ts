import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HcnNotification, NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { createNetwork, listLoadBalancers, listNetworks } from "#contracts/hcn/operations.ts";
import { ProxyObjects, createKubeProxy } from "#programs/kube-proxy/mod.ts";
import { type EndpointLike, service, slice } from "#test/support/kube-proxy/kube-proxy-node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import type { ExitCode } from "../terminal.ts";
import { serve } from "./serve.ts";

let folder = "";
const running: { readonly terminal: MemoryTerminal; readonly ended: Promise<ExitCode> }[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-serve-"));
});
afterEach(async () => {
  for (const { terminal, ended } of running.splice(0)) {
    terminal.interrupt();
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

/** The exit code that a command line ends with, and what it prints before. */
async function run(...argv: readonly string[]): Promise<{ code: number; err: string }> {
  const terminal = new MemoryTerminal();
  const code = await runMullion({
    argv: ["hns", "serve", ...argv],
    verbs: { hns: { serve } },
    terminal,
    version: "0",
    isDebug: false,
  });
  return { code, err: terminal.errors };
}

/** Starts a service and waits for its first lines. */
async function start(
  options: Partial<Parameters<typeof serve>[0]>,
): Promise<{ terminal: MemoryTerminal; stop: () => Promise<ExitCode> }> {
  const terminal = new MemoryTerminal();
  const request = {
    profile: "ws2022",
    socket: undefined,
    listen: undefined,
    tokenFile: undefined,
    data: undefined,
    addressDelayMs: 0,
    adapters: [],
    quirks: [],
    faults: [],
    ...options,
  };
  const ended = serve(request, terminal);
  running.push({ terminal, ended });
  await expect.poll(() => terminal.output).toContain("Ctrl-C");
  const stop = async (): Promise<ExitCode> => {
    terminal.interrupt();
    return ended;
  };
  return { terminal, stop };
}

/** What a person copies from the first lines. */
function variablesOf(terminal: MemoryTerminal): Record<string, string> {
  const lines = terminal.output.matchAll(/^ {2}export (\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
}

describe("mullion hns serve", () => {
  it("serves loopback TCP with a token that it makes, and says how to use both", async () => {
    const tokenFile = join(folder, "token");
    const { terminal } = await start({ listen: "127.0.0.1:0", tokenFile, profile: "ws2025" });
    expect(terminal.output).toMatch(
      /^HNS 15\.4 of Windows Server 2025, on Ethernet, in memory: nothing is kept/,
    );
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    const variables = variablesOf(terminal);
    expect(variables["MULLION_HNS"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(variables["MULLION_HNS_TOKEN_FILE"]).toBe(tokenFile);
    const client = findHns({ variables });
    await createNetwork(client, { Name: "cbr0", Type: "L2Bridge" });
    expect((await listNetworks(client)).map((network) => network.Name)).toEqual(["cbr0"]);
    await client.close();
    const other = findHns({ variables: { ...variables, MULLION_HNS_TOKEN: "another token of nobody" } });
    await expect(other.enumerate("Network")).rejects.toMatchObject({ code: "E_ACCESSDENIED" });
    await other.close();
    const health = await fetch(`${variables["MULLION_HNS"]!}/healthz`, {
      headers: { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` },
    });
    expect(await health.json()).toMatchObject({ status: "ok", profile: "ws2025", store: "memory" });
  });

  it("--hns-version: kube-proxy changes load balancers in place, as from 15.5 on", async () => {
    const socket = join(folder, "hns.sock");
    const { terminal } = await start({ profile: "ws2025", hnsVersion: "15.5", socket });
    expect(terminal.output).toContain("HNS 15.5 of Windows Server 2025");
    expect(terminal.output).toContain("No profile has HNS 15.5");
    const client = findHns({ variables: variablesOf(terminal) });
    const network = await createNetwork(client, {
      Name: "cbr0",
      Type: "L2Bridge",
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            {
              IpAddressPrefix: "10.244.1.0/24",
              Routes: [{ NextHop: "10.244.1.1", DestinationPrefix: "0.0.0.0/0" }],
            },
          ],
        },
      ],
    });
    const back = (address: string): EndpointLike => ({ at: { address, node: "other-node" } });
    const objects = new ProxyObjects();
    objects.servicesListed([service()]);
    objects.endpointSlicesListed([slice([back("10.244.1.7")])]);
    const proxy = createKubeProxy({
      client,
      objects,
      options: {
        kubernetes: { major: 1, minor: 37 },
        compat: "upstream",
        hostname: "win-1",
        networkName: network.Name ?? "",
      },
    });
    expect(await proxy.start()).toEqual({ state: "running" });
    await proxy.sync();
    const [first] = await listLoadBalancers(client);
    expect(first?.HostComputeEndpoints).toHaveLength(1);
    objects.endpointSliceChanged(undefined, slice([back("10.244.1.7"), back("10.244.1.8")]));
    await proxy.sync();
    const after = await listLoadBalancers(client);
    expect(after.map(({ ID }) => ID)).toEqual([first?.ID]);
    expect(after[0]?.HostComputeEndpoints).toHaveLength(2);
    await client.close();
  });

  it.each(["15", "8.1", "new"])("refuses --hns-version %s", async (text) => {
    const { code, err } = await run("--hns-version", text, "--socket", join(folder, "hns.sock"));
    expect(code).toBe(2);
    expect(err).toContain(`--hns-version "${text}" is not a version of HNS`);
  });

  it("keeps a token that is there", async () => {
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, "my-own-token-of-24-chars\n", { mode: 0o600 });
    const { terminal } = await start({ listen: "127.0.0.1:0", tokenFile });
    expect(readFileSync(tokenFile, "utf8")).toBe("my-own-token-of-24-chars\n");
    const client = findHns({ variables: variablesOf(terminal) });
    expect(await client.enumerate("Network")).toEqual([]);
    await client.close();
  });

  it("has the adapters that it is given", async () => {
    const socket = join(folder, "hns.sock");
    const { terminal } = await start({ socket, adapters: ["LAN=192.168.7.5/24"] });
    expect(terminal.output).toContain(", on LAN,");
    const client = findHns({ variables: variablesOf(terminal) });
    const network = await createNetwork(client, { Name: "n", Type: "Transparent" });
    expect(network.Policies).toContainEqual({
      Type: "NetAdapterName",
      Settings: { NetworkAdapterName: "LAN" },
    });
    await client.close();
  });

  it("HCN-095: ends with a good-bye to listeners, who can register with its successor", async () => {
    const socket = join(folder, "hns.sock");
    const first = await start({ socket });
    const client = findHns({ variables: variablesOf(first.terminal) });
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification));
    await createNetwork(client, { Name: "cbr0", Type: "L2Bridge" });
    await expect.poll(() => heard.length).toBe(2);
    expect(await first.stop()).toBe(0);
    await expect.poll(() => heard.at(-1)?.type).toBe(NOTIFICATION_TYPES.ServiceDisconnect);
    expect(existsSync(socket)).toBe(false);
    await expect(client.enumerate("Network")).rejects.toMatchObject({ code: "RPC_S_SERVER_UNAVAILABLE" });
    await start({ socket });
    client.subscribe((notification) => heard.push(notification));
    await createNetwork(client, { Name: "cbr0", Type: "L2Bridge" });
    await expect.poll(() => heard.at(-1)?.type).toBe(NOTIFICATION_TYPES.NetworkCreate);
    await client.close();
  });

  it("HCN-095: mirrored networks that a query asks for are told when they appear, with no further call", async () => {
    const { terminal } = await start({
      socket: join(folder, "hns.sock"),
      profile: "ws2025",
      addressDelayMs: 200,
    });
    const client = findHns({ variables: variablesOf(terminal) });
    const heard: HcnNotification[] = [];
    client.subscribe((notification) => heard.push(notification));
    const query = { SchemaVersion: { Major: 2, Minor: 16 }, Filter: '{"Flags":72}' };
    expect(await client.enumerate("Network", query)).toEqual([]);
    const created = (): HcnNotification | undefined =>
      heard.find(({ type }) => type === NOTIFICATION_TYPES.NetworkCreate);
    await expect.poll(created, { timeout: 15_000 }).toMatchObject({ data: { Flags: 72 } });
    await client.close();
  });

  it("--data is no file, and no link that leads nowhere", async () => {
    const [file, link] = [join(folder, "file"), join(folder, "link")];
    writeFileSync(file, "precious");
    symlinkSync(join(folder, "nothing"), link);
    for (const data of [file, link]) {
      const { code, err } = await run("--socket", join(folder, "d.sock"), "--data", data);
      expect([code, err]).toEqual([2, expect.stringContaining(`${data} does not lead to a folder`)]);
    }
    expect(readFileSync(file, "utf8")).toBe("precious");
  });

  it("--data keeps the objects over a restart, and one service at a time has the folder", async () => {
    const data = join(folder, "state");
    const first = await start({ socket: join(folder, "a.sock"), data });
    expect(first.terminal.output).toContain(`kept in ${data}`);
    const client = findHns({ variables: variablesOf(first.terminal) });
    const network = await createNetwork(client, { Name: "cbr0", Type: "L2Bridge" });
    await client.close();
    const { code, err } = await run("--socket", join(folder, "b.sock"), "--data", data);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("is in use by") as unknown });
    await first.stop();
    const second = await start({ socket: join(folder, "b.sock"), data });
    const again = findHns({ variables: variablesOf(second.terminal) });
    expect(await listNetworks(again)).toEqual([network]);
    await again.close();
  });

  it("begins with the defects and faults that it is given, and says so", async () => {
    const socket = join(folder, "hns.sock");
    const quirks = ["reattach-refused=on", "service-deadlock=off"];
    const { terminal } = await start({ socket, quirks });
    expect(terminal.output).toContain("Defects set: reattach-refused=on, service-deadlock=off\n");
    const { code, err } = await run("--socket", join(folder, "other"), "--quirk", "bad-luck");
    expect(code).toBe(2);
    expect(err).toContain('--quirk "bad-luck": there is no defect "bad-luck" [bad-usage]');
    const missing = await run("--socket", join(folder, "other"), "--faults", "plan.json");
    expect(missing.code).toBe(2);
    expect(missing.err).toContain('cannot read "plan.json": there is no such file [hns-fault-invalid]');
  });

  it("a second service on the same socket is refused, and the first one lives on", async () => {
    const socket = join(folder, "hns.sock");
    const { terminal } = await start({ socket });
    const { code, err } = await run("--socket", socket);
    expect(code).toBe(2);
    expect(err).toContain("Another service listens on");
    const client = findHns({ variables: variablesOf(terminal) });
    expect(await client.enumerate("Network")).toEqual([]);
    await client.close();
  });

  it.each([
    [["--listen", "127.0.0.1:0"], /--listen needs --token-file/],
    [["--listen", "0.0.0.0:80", "--token-file", "t"], /0\.0\.0\.0 is not a loopback address/],
    [["--token-file", "t"], /--token-file belongs to --listen/],
    [["--socket", "s", "--listen", "127.0.0.1:0"], /--socket and --listen both say/],
    [["--address-delay", "soon"], /--address-delay takes a time, not "soon"/],
    [["--address-delay", "600001"], /--address-delay takes a time from 0s to 10m, not "600001"/],
    [["--adapter", "Ethernet"], /is not a name with an address/],
    [["--profile", "ws2016"], /there is no Windows profile "ws2016"/],
  ])("%j: exit 2, said in words", async (argv, message) => {
    const { code, err } = await run(...argv);
    expect(code).toBe(2);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\n\s+at /);
  });

  it.each([
    ["that others can read", "a".repeat(32), 0o644, /Others can read the token/],
    ["that is too short", "short", 0o600, /at least 16 printable characters/],
    ["of two lines", "a".repeat(20) + "\n" + "b".repeat(20), 0o600, /one line/],
  ])("a token file %s is refused", async (_what, text, mode, message) => {
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, text, { mode });
    const { code, err } = await run("--listen", "127.0.0.1:0", "--token-file", tokenFile);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});
