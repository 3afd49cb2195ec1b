// Our agents on Debian's databases over a socket: the northbound database that our controller writes is accepted, the real
// ovn-northd translates it, and our chassis claims ports of the southbound one (ovn-controller(8)).
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OvsdbUpdates, errorOf } from "#contracts/ovsdb/client.ts";
import { OvsdbConnectionError } from "#contracts/ovsdb/remotes.node.ts";
import { OvsdbSocketClient } from "#contracts/ovsdb/socket-client.node.ts";
import { parsePrefix } from "#core/net/ip.ts";
import { OvnController } from "#programs/ovn/controller.ts";
import type { OvnInput, OvnNode } from "#programs/ovn/kube/input.ts";
import { NetworkController } from "#programs/ovn/kube/network-controller.ts";
import { OvnCentral } from "./ovn-central.ts";

const POD = { uid: "u", labels: {}, ports: [] };

function node(name: string, id: number): OvnNode {
  const gateway = { address: `10.0.0.${id}`, length: 24, mac: `00:15:5d:00:00:0${id}`, nextHop: "10.0.0.1" };
  return {
    name,
    id,
    subnet: parsePrefix(`10.128.${id}.0/24`)!,
    chassis: name,
    gateway: { ...gateway, neighbours: new Map() },
  };
}

const INPUT: OvnInput = {
  clusterCIDR: parsePrefix("10.128.0.0/16")!,
  nodes: [node("win-2", 2), node("win-3", 3)],
  pods: [
    { ...POD, namespace: "default", name: "web", node: "win-2", ip: "10.128.2.5" },
    { ...POD, namespace: "default", name: "api", node: "win-3", ip: "10.128.3.5" },
  ],
  namespaces: [],
  services: [],
  slices: [],
  policies: [],
};

let central: OvnCentral;
let nb: OvsdbSocketClient;
let sb: OvsdbSocketClient;
beforeAll(async () => {
  central = new OvnCentral();
  central.script("");
  nb = await OvsdbSocketClient.connect(central.socket("nb"), "OVN_Northbound");
  sb = await OvsdbSocketClient.connect(central.socket("sb"), "OVN_Southbound");
}, 60_000);
afterAll(() => {
  nb.close();
  sb.close();
  central.stop();
});

/** Waits until something is so; `step` is what a program does meanwhile with what it has heard. */
async function eventually(
  what: () => string,
  expected: string,
  step: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  for (let left = 100; left > 0 && what() !== expected; left--) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await step();
  }
  expect(what()).toBe(expected);
}

async function chassisOf(name: string, address: string): Promise<OvnController> {
  const settings = {
    name,
    hostname: name,
    encapsulation: "geneve",
    address,
    bridgeMappings: "physnet:br-ex",
  } as const;
  const controller = await OvnController.start(sb, settings);
  expect(await controller.register()).toBeUndefined();
  return controller;
}

describe("a cluster on real databases", () => {
  it("CP-O34: a chassis without an encapsulation is refused, with one result more", async () => {
    const results = await sb.transact([{ op: "insert", table: "Chassis", row: { name: "bare" } }]);
    expect([results.length, errorOf(results)?.error]).toEqual([2, "referential integrity violation"]);
  });

  it("CP-O35, CP-O36: northbound, real northd, ports that our chassis claim, and how far they are", async () => {
    expect(await (await NetworkController.start(nb)).sync(INPUT)).toBeUndefined();
    expect(central.ask("nb", "ls-list").split("\n").filter(Boolean).length).toBe(5);
    const chassis = [await chassisOf("win-2", "10.0.0.2"), await chassisOf("win-3", "10.0.0.3")] as const;
    central.ask("nb", "--wait=sb", "sync");
    const isUp = (port: string) => (): string => central.ask("nb", "lsp-get-up", port).trim();
    await eventually(isUp("default_web"), "up", async () =>
      chassis[0].sync([{ id: "default_web", version: "u" }]),
    );
    expect(isUp("default_api")()).toBe("down");
    const reached = (): string => central.ask("nb", "get", "NB_Global", ".", "hv_cfg").trim();
    expect(reached()).not.toBe(central.ask("nb", "get", "NB_Global", ".", "nb_cfg").trim());
    await eventually(isUp("default_api"), "up", async () =>
      chassis[1].sync([{ id: "default_api", version: "u" }]),
    );
    await eventually(reached, central.ask("nb", "get", "NB_Global", ".", "nb_cfg").trim());
    const bound = central.ask("sb", "show");
    for (const port of ["default_web", "default_api", "cr-rtos-win-2", "rtoe-GR_win-3"])
      expect(bound).toContain(`Port_Binding ${port}\n`);
  }, 30_000);

  it("CP-O41: what a transaction wrote is heard before its answer", async () => {
    const heard: string[] = [];
    const monitor = await nb.monitor({ Address_Set: ["name"] }, (updates: OvsdbUpdates) => {
      heard.push(...Object.values(updates["Address_Set"] ?? {}).map(({ new: row }) => String(row?.["name"])));
    });
    await nb.transact([{ op: "insert", table: "Address_Set", row: { name: "friends" } }]);
    heard.push("answer");
    expect(heard).toEqual(["friends", "answer"]);
    monitor.cancel();
  });

  it("a server that is gone refuses, and when it is back tells what has changed as one change", async () => {
    const heard: OvsdbUpdates[] = [];
    await nb.monitor({ Address_Set: ["name"], Unknown_Table: ["x"] }, (updates) => heard.push(updates));
    expect(heard.length).toBe(1);
    const row = { name: "fresh" };
    await central.restart("nb", [
      "OVN_Northbound",
      { op: "delete", table: "Address_Set", where: [["name", "==", "friends"]] },
      { op: "insert", table: "Address_Set", row },
    ]);
    await expect(nb.transact([])).rejects.toThrow(OvsdbConnectionError);
    await eventually(() => String(heard.length), "2");
    const changes = Object.values(heard[1]!["Address_Set"]!);
    expect(changes).toEqual(expect.arrayContaining([{ old: { name: "friends" } }, { new: row }]));
    expect(errorOf(await nb.transact([{ op: "comment", comment: "again" }]))).toBeUndefined();
  }, 30_000);
});

it("a server without the database, and a place without a server, are errors", async () => {
  await expect(OvsdbSocketClient.connect(central.socket("nb"), "Nothing")).rejects.toThrow(
    /has no database Nothing/,
  );
  await expect(OvsdbSocketClient.connect("unix:/nowhere", "X")).rejects.toThrow(OvsdbConnectionError);
  await expect(OvsdbSocketClient.connect("ptcp:6641", "X")).rejects.toThrow(/none of unix:PATH, tcp:/);
  await expect(OvsdbSocketClient.connect("ssl:1.2.3.4:6641", "X")).rejects.toThrow(/TLS needs a private key/);
});
