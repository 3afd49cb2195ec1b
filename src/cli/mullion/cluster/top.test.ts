// Rates of switch ports and Services: the arithmetic of two readings, and what is printed of a cluster in which packets pass.
import { beforeAll, describe, expect, it, vi } from "vitest";
import { inProcessClient } from "#cluster/api/app.ts";
import type { ControlClient } from "#cluster/api/client.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { apply, clusterText, openSessionWorld, service } from "#test/support/cluster/session-world.ts";
import { refuseManifests } from "#test/support/cluster/fixed-session.ts";
import type { TopRequest } from "../verbs.ts";
import {
  type PortReading,
  type ServiceReading,
  formatRate,
  ratesOf,
  serviceRatesOf,
  watchTraffic,
} from "./top.ts";

function reading(who: string, packets: number, drops: Readonly<Record<string, number>> = {}): PortReading {
  const count = { packets, bytes: packets * 100 };
  return { node: "win-1", who, kind: "pod", received: count, sent: { packets: 0, bytes: 0 }, drops };
}

describe("rates of ports", () => {
  it.each([
    ["grow by what came", [reading("a", 10)], reading("a", 30), 10, 8_000, {}],
    ["of a new port count whole", [], reading("a", 30), 15, 12_000, {}],
    ["of a port that was made anew count from zero", [reading("a", 1_000)], reading("a", 4), 2, 1_600, {}],
    [
      "name the codes of what was dropped in between",
      [reading("a", 0, { old: 5, "acl-rule-blocked": 1 })],
      reading("a", 0, { old: 5, "acl-rule-blocked": 7, fresh: 2 }),
      0,
      0,
      { "acl-rule-blocked": 3, fresh: 1 },
    ],
  ])("%s", (_, before, after, receivedPackets, receivedBits, drops) => {
    const rate = {
      node: "win-1",
      who: "a",
      receivedPackets,
      receivedBits,
      sentPackets: 0,
      sentBits: 0,
      drops,
    };
    expect(ratesOf(before, [after], 2)).toEqual([rate]);
  });

  it("the busiest stands first", () => {
    const after = [reading("a", 1), reading("b", 3), reading("c", 2)];
    expect(ratesOf([], after, 1).map(({ who }) => who)).toEqual(["b", "c", "a"]);
  });

  it.each([
    [0, "0"],
    [999, "999"],
    [1_000, "1.0k"],
    [12_345_678, "12.3M"],
    [5e12, "5000.0G"],
  ])("%d is written %s", (value, text) => {
    expect(formatRate(value)).toBe(text);
  });
});

function asked(name: string, connections: number): ServiceReading {
  return { node: "win-1", service: name, kind: "ClusterIP", address: "10.96.0.7:80/TCP", connections };
}

describe("rates of Services", () => {
  it.each([
    ["are connections by the tenth", [asked("default/web", 10)], asked("default/web", 13), 1.5],
    [
      "of one whose rules were made anew count from zero",
      [asked("default/web", 10)],
      asked("default/web", 4),
      2,
    ],
    ["of a new one count whole", [], asked("default/web", 7), 3.5],
  ])("%s", (_, before, after, connections) => {
    expect(serviceRatesOf(before, [after], 2)).toEqual([{ ...after, connections }]);
  });

  it("the one that is asked for most stands first", () => {
    const after = [asked("default/a", 1), asked("default/b", 3)];
    expect(serviceRatesOf([], after, 1).map(({ service: name }) => name)).toEqual(["default/b", "default/a"]);
  });
});

describe("what is printed", () => {
  let client: ControlClient;
  const ports = "ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }]";

  beforeAll(async () => {
    const pods = `pods:
  - { name: web, node: win-1, labels: { app: web }, ports: [{ port: 8080 }] }
  - { name: api, node: win-2, labels: { app: web }, ports: [{ port: 8080 }] }
  - { name: client, node: win-1 }
`;
    const world = await openSessionWorld(clusterText(pods));
    await apply(world, service("web", `type: NodePort, selector: { app: web }, ${ports}`));
    client = inProcessClient({
      session: world.session,
      readManifests: refuseManifests,
      verify: () => Promise.reject(new Error("nothing is verified here")),
      identity: { name: "test", version: "0", pid: 0 },
      input: { problems: [], notes: [] },
      log: SILENT_LOG,
    });
    // Between two readings a pod connects three times.
    const read = client.services.bind(client);
    vi.spyOn(client, "services").mockImplementation(async (node) => {
      const answer = await read(node);
      for (const from of ["pod/client", "pod/client", "pod/client", "pod/api"])
        await client.trace({ from, to: "service/web", inject: true });
      await client.trace({ from: "node/linux-1", to: "10.0.0.11", port: 30080, inject: true });
      return answer;
    });
  });

  /** What one table prints, where readings are two seconds apart. */
  async function printed(what: TopRequest["what"], output: TopRequest["output"]): Promise<string> {
    const terminal = new MemoryTerminal();
    const running = { name: undefined, socket: undefined };
    const request = { running, what, output, times: 1, intervalMs: 1 };
    let readings = 0;
    expect(await watchTraffic(client, request, terminal, () => 2_000 * readings++)).toBe(0);
    return terminal.output;
  }

  it("of Services: each connection once, at the front end that it went to", async () => {
    const { items } = JSON.parse(await printed("services", "json")) as {
      readonly items: readonly ServiceReading[];
    };
    const cluster = /^10\.\d+\.\d+\.\d+:80\/TCP$/;
    const rows: readonly (readonly [node: string, kind: string, address: RegExp, connections: number])[] = [
      ["win-1", "ClusterIP", cluster, 1.5],
      ["win-1", "NodePort", /^node:30080\/TCP$/, 0.5],
      ["win-2", "ClusterIP", cluster, 0.5],
      ["win-2", "NodePort", /^node:30080\/TCP$/, 0],
    ];
    expect(items.filter(({ service: name }) => name === "default/web")).toEqual(
      rows.map(([node, kind, address, connections]) => ({
        node,
        service: "default/web",
        kind,
        address: expect.stringMatching(address) as string,
        connections,
      })),
    );
  });

  it("of Services, as a table", async () => {
    const [head, first] = (await printed("services", "text")).split("\n");
    expect(head).toMatch(/^NODE +SERVICE +FRONT END +ADDRESS +CONN\/S$/);
    expect(first).toMatch(/^win-1 +default\/web +ClusterIP +10\.[\d.]+:80\/TCP +1\.5$/);
  });

  it.each([
    ["pods", ["default/api", "default/client", "default/web"]],
    ["nodes", ["uplink", "uplink"]],
  ] as const)("of %s: packets and bits both ways, and drops by code", async (what, names) => {
    const { items } = JSON.parse(await printed(what, "json")) as { readonly items: readonly PortReading[] };
    expect(items.map(({ who }) => who).toSorted()).toEqual(names);
    for (const item of items)
      expect(item).toEqual({
        node: expect.stringMatching(/^win-[12]$/) as string,
        who: item.who,
        receivedPackets: 0,
        sentPackets: 0,
        receivedBits: 0,
        sentBits: 0,
        drops: {},
      });
  });
});
