// `mullion hns fault` and `mullion hns quirk` as a user runs them, against a service on a socket.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listEndpoints, listLoadBalancers, listNetworks } from "#contracts/hcn/operations.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { type FaultyNode, faultyNode } from "#test/support/hns/faulty-node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { fault } from "./fault.ts";
import { get } from "./get.ts";

let folder = "";
let node: FaultyNode;
let server: HnsHttpServer;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "mullion-fault-"));
  node = await faultyNode({ profile: "ws2019" });
  server = await HnsHttpServer.listen({ client: node.client, address: { socketPath: join(folder, "s") } });
});
afterEach(async () => {
  await node.client.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(argv: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const terminal = new MemoryTerminal(files);
  const socket = argv.includes("--help") ? [] : ["--socket", join(folder, "s")];
  const options = { verbs: { hns: { fault, get } }, terminal, version: "0", isDebug: false };
  const code = await runMullion({ ...options, argv: ["hns", ...argv, ...socket] });
  return { code, out: terminal.output, err: terminal.errors };
}

const FAIL =
  "fault add fail --error HCN_E_PORT_ALREADY_EXISTS --operation create --kind LoadBalancer --nth 2";

describe("mullion hns fault", () => {
  it("add prints the id of the fault, which then strikes", async () => {
    expect(await run(FAIL.split(" "))).toEqual({ code: 0, out: "fault-1\n", err: "" });
    await node.balance(80);
    await expect(node.balance(81)).rejects.toMatchObject({ code: "HCN_E_PORT_ALREADY_EXISTS" });
  });

  it("list shows what each fault concerns and has struck", async () => {
    expect((await run(["fault", "list"])).out).toBe("There are no faults in force.\n");
    await run(FAIL.split(" "));
    await run("fault add stop --id away".split(" "));
    expect((await run(["fault", "list"])).out).toBe(
      [
        "ID        EFFECT   SEEN   STRUCK   WAITING   WHICH",
        "fault-1   fail        0        0         0   operation=create kind=LoadBalancer error=HCN_E_PORT_ALREADY_EXISTS nth=2",
        "away      stop        0        0         0   <none>",
        "",
      ].join("\n"),
    );
    expect(JSON.parse((await run("fault list -o json".split(" "))).out)).toMatchObject({
      items: [{ id: "fault-1", fault: { effect: "fail", nth: 2 }, struck: 0 }, { id: "away" }],
    });
    expect((await run("fault list -o name".split(" "))).out).toBe("fault/fault-1\nfault/away\n");
  });

  it("remove and clear take faults away", async () => {
    await run(FAIL.split(" "));
    await run("fault add exhaust-ports".split(" "));
    await run("fault add hang --kind Network".split(" "));
    expect(await run("fault remove fault-1 fault-2".split(" "))).toEqual({ code: 0, out: "", err: "" });
    expect(await node.client.faults.list()).toHaveLength(1);
    await run("fault clear".split(" "));
    expect(await node.client.faults.list()).toEqual([]);
    const gone = await run("fault remove fault-1".split(" "));
    expect(gone.code).toBe(2);
    expect(gone.err).toContain('There is no fault "fault-1"');
  });

  it("another verb that a fault strikes says which, and how to take it away", async () => {
    await run("fault add stop --id away".split(" "));
    const { code, out, err } = await run(["get", "networks"]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(
      "injected fault away: Enumerate Network: the service is not running [hns-fault-injected]",
    );
    expect(err).toContain("mullion hns fault remove ID");
  });

  it("release lets calls go on that hang", async () => {
    await run("fault add hang --kind Network --times 1".split(" "));
    const listed = listNetworks(node.client);
    expect((await run("fault release".split(" "))).out).toBe("1 call continues.\n");
    expect(await listed).toHaveLength(1);
    expect((await run("fault release fault-1".split(" "))).out).toBe("0 calls continue.\n");
  });

  it("forget-loadbalancers, restart and reboot do so", async () => {
    const id = await node.balance(80);
    await node.balance(81);
    expect((await run(["fault", "forget-loadbalancers", id])).out).toBe("1 load balancer is forgotten.\n");
    expect((await run(["fault", "forget-loadbalancers"])).out).toBe("1 load balancer is forgotten.\n");
    await node.balance(80);
    expect((await run("fault restart --state keep".split(" "))).code).toBe(0);
    expect(await listLoadBalancers(node.client)).toHaveLength(1);
    expect((await run(["fault", "reboot"])).code).toBe(0);
    expect(await listLoadBalancers(node.client)).toEqual([]);
    expect(await listEndpoints(node.client)).toHaveLength(2);
    expect((await run("fault restart --state lose".split(" "))).code).toBe(0);
    expect(await listNetworks(node.client)).toEqual([]);
  });

  it("a plan comes from a file, as a whole or not at all", async () => {
    const plan = { apiVersion: "mullion/v1alpha1", kind: "HnsFaultPlan", seed: "7" };
    const faults = [
      { effect: "delay", delayMs: 5, rate: 0.5 },
      { id: "no", effect: "fail", error: "0x80070057" },
    ];
    const good = JSON.stringify({ ...plan, faults, quirks: { "reattach-refused": "off" } });
    expect(await run("fault add -f plan.json".split(" "), { "plan.json": good })).toEqual({
      code: 0,
      out: "fault-1\nno\n",
      err: "",
    });
    await run(["fault", "clear"]);
    const bad = JSON.stringify({ ...plan, faults: [...faults, { effect: "delay" }] });
    const refused = await run("fault add -f plan.json".split(" "), { "plan.json": bad });
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("faults[2] needs the field delayMs [hns-fault-invalid]");
    expect(await node.client.faults.list()).toEqual([]);
  });

  it("--seed makes chance repeat itself", async () => {
    const strikes = async (): Promise<number> => {
      await run("fault add hang --id h --rate 0.5 --seed 7 --kind Namespace".split(" "));
      const { faults } = node.client;
      for (let asked = 0; asked < 16; asked++) void node.client.enumerate("Namespace").catch(() => undefined);
      const [status] = await faults.list();
      await faults.clear();
      return status?.struck ?? 0;
    };
    const first = await strikes();
    expect(first).toBeGreaterThan(0);
    expect(await strikes()).toBe(first);
  });

  it.each([
    ["fault add", "no effect is named [bad-usage]"],
    ["fault add explode", 'fault.effect is "explode"; it must be one of fail, delay'],
    ["fault add fail", "fault needs the field error [hns-fault-invalid]"],
    ["fault add fail --error HCN_E_OOPS", "it must be the name of an error of HNS"],
    ["fault add delay --delay soon", '--delay takes a time, not "soon"'],
    ["fault add hang --nth 0", "fault.nth is 0; it must be a whole number from 1"],
    ["fault add hang --delay 5", 'fault has no field "delayMs"'],
    ["fault add hang -f plan.json", "-f names plans, and the rest a fault"],
    ["fault add -f plan.json", 'cannot read "plan.json": there is no such file'],
    ["fault add stale-endpoint --address 10.0.0.1", "needs the field network, too"],
    ["fault restart --state gone", "Allowed choices are keep, forget-load-balancers, lose"],
    ["fault forget-loadbalancers 7", "is not a GUID"],
    ["quirk set bad-luck=on", 'there is no defect "bad-luck"'],
    ["quirk set service-deadlock=2", "is not a setting of service-deadlock"],
  ])("mullion hns %s: exit 2, and said in words", async (line, message) => {
    const { code, out, err } = await run(line.split(" "));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
    expect(err).not.toMatch(/internal fault|\n\s+at /);
  });

  it("help lists all effects", async () => {
    const { out } = await run(["fault", "add", "--help"]);
    for (const effect of ["fail", "crash", "stale-endpoint", "lose-notifications"])
      expect(out).toContain(`\n  ${effect.padEnd(18)}  `);
  });
});

describe("mullion hns quirk", () => {
  it("list shows what the build has, and set changes it", async () => {
    const before = (await run(["quirk", "list"])).out;
    expect(before).toMatch(/^NAME +SETTING +BUILD HAS IT +ACTS\n/);
    expect(before).toMatch(/^reattach-refused +on +yes +yes$/m);
    expect(before).toMatch(/^ipv6-port-mapping-from-node +off +no +yes$/m);
    expect(await run("quirk set reattach-refused=off service-deadlock=0.25@7".split(" "))).toMatchObject({
      code: 0,
      err: "",
    });
    const after = (await run(["quirk", "list"])).out;
    expect(after).toMatch(/^reattach-refused +off +yes +yes$/m);
    expect(after).toMatch(/^service-deadlock +0\.25@7 +no +yes$/m);
  });

  it("set says nothing about a defect that is acted on", async () => {
    const { code, err } = await run("quirk set ipv6-port-mapping-from-node".split(" "));
    expect([code, err]).toEqual([0, ""]);
  });
});
