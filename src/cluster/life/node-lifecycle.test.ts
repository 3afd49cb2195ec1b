// Nodes of a running cluster with flannel that go down, come up, leave, join again and lose HNS
// (control-planes.md §1.4, §1.8 to §1.11).
import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { listLoadBalancers } from "#contracts/hcn/operations.ts";
import { disagreements, waysOf } from "#test/support/flannel/flannel-agreement.ts";
import {
  type SessionWorld,
  apply,
  ask,
  clusterText,
  deployment,
  openSessionWorld,
  podOf,
  podsOf,
  service,
} from "#test/support/cluster/session-world.ts";
import { openSession, readInput } from "../mod.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import type { NodeChange } from "./node-change.ts";

const PODS = deployment("win", "windows", 2) + deployment("lin", "linux", 1);
const BACKENDS = ["vxlan", "host-gw"] as const;
const MODES: readonly Compat[] = ["upstream", "hardened"];
const COMBINATIONS = BACKENDS.flatMap((backend) => MODES.map((compat) => [backend, compat] as const));

async function open(backend: string, compat: Compat, pods = ""): Promise<SessionWorld> {
  const text = clusterText(`network: { plugin: flannel, backend: ${backend} }`);
  return openSessionWorld(text.replaceAll("address:", `compat: ${compat}, address:`), pods);
}

/** One change after the other, all of one node. */
async function change(world: SessionWorld, node: string, ...changes: readonly NodeChange[]): Promise<void> {
  for (const each of changes) await world.session.changeNode(node, each);
}

function phases(world: SessionWorld, prefix: string): readonly (string | undefined)[] {
  return podsOf(world, prefix).map(({ status }) => status?.phase);
}

/** Whether the pods of a Windows and a Linux node reach each other. */
function reachEachOther(world: SessionWorld, node = "win-1"): boolean {
  const [win, lin] = [podOf(world, "win", node), podOf(world, "lin")];
  const question = { port: 8080 };
  return (
    ask(world, win, lin, question).startsWith("lin saw 10.244.") &&
    ask(world, lin, win, question).startsWith("win saw 10.244.")
  );
}

/** Disagreements without the entries that upstream keeps of a MAC that nobody has any more. */
async function newDisagreements(world: SessionWorld, compat: Compat): Promise<readonly string[]> {
  const lines = await disagreements(world);
  return compat === "hardened"
    ? lines
    : lines.filter((line) => !line.startsWith("linux-1 has too much: fdb "));
}

describe.each(COMBINATIONS)("a node with back end %s, %s", (backend, compat) => {
  it.each(["win-1", "linux-1"])("%s reboots: leases, ways and pods are there again", async (node) => {
    const world = await open(backend, compat, PODS);
    await change(world, node, { do: "reboot" });
    expect(await newDisagreements(world, compat)).toEqual([]);
    expect([...phases(world, "win"), ...phases(world, "lin")]).toEqual(["Running", "Running", "Running"]);
    expect(reachEachOther(world)).toBe(true);
  });

  it("is off: nobody reaches its pods, which are not ready, and comes back", async () => {
    const world = await open(backend, compat, PODS);
    const pod = podsOf(world, "win").find(({ spec }) => spec?.nodeName === "win-1");
    await change(world, "win-1", { do: "stop" });
    expect(ask(world, podOf(world, "lin"), pod?.status?.podIP ?? "10.244.0.3", { port: 8080 })).not.toContain(
      "saw",
    );
    const ready = podsOf(world, "win").flatMap(({ status }) =>
      (status?.conditions ?? []).filter(({ type }) => type === "Ready").map((each) => each.status),
    );
    expect(ready.toSorted()).toEqual(["False", "True"]);
    await change(world, "win-1", { do: "start" });
    expect(await newDisagreements(world, compat)).toEqual([]);
    expect(reachEachOther(world)).toBe(true);
  });

  it.each(["win-1", "linux-1"])("%s leaves and joins with another range: all others follow", async (node) => {
    const world = await open(backend, compat);
    await change(world, node, { do: "leave" });
    expect(await newDisagreements(world, compat)).toEqual([]);
    await change(world, node, { do: "rejoin", podCIDR: "10.244.77.0/24" });
    expect(await newDisagreements(world, compat)).toEqual([]);
    expect(await waysOf(world, "win-2")).toContainEqual(expect.stringContaining("10.244.77.0/24"));
  });

  it("reboots while the API server is down: it waits, and comes up afterwards", async () => {
    const world = await open(backend, compat, PODS);
    await world.session.setApiServer("down");
    await change(world, "win-1", { do: "reboot" });
    expect(world.session.notes().map(({ code }) => code)).toContain("flannel-store-unreachable");
    await world.session.passTime(30_000);
    await world.session.setApiServer("up");
    await world.session.passTime(5_000);
    expect(await newDisagreements(world, compat)).toEqual([]);
    expect(phases(world, "win")).toEqual(["Running", "Running"]);
  });

  it.each([86_400_000, -86_400_000])(
    "has a clock that jumps by %i ms: nothing is lost or delayed",
    async (byMs) => {
      const world = await open(backend, compat);
      await change(world, "win-1", { do: "set-clock", byMs });
      await change(world, "linux-1", { do: "set-clock", byMs });
      await change(world, "win-2", { do: "leave" }, { do: "rejoin", podCIDR: "10.244.77.0/24" });
      await world.session.passTime(60_000);
      expect(await newDisagreements(world, compat)).toEqual([]);
    },
  );
});

it("the machine of a node that has left goes on as it was: no program follows the cluster there any more", async () => {
  const web = (name: string): string =>
    service(name, "selector: {app: lin}, ports: [{port: 80, targetPort: 8080}]");
  const world = await open("vxlan", "hardened", deployment("lin", "linux", 1) + web("first"));
  const balancers = async (node: string): Promise<number> => {
    const found = world.session.cluster.nodes.find(({ spec }) => spec.name === node);
    return (await listLoadBalancers(hcnClientOf(found!))).length;
  };
  await change(world, "win-1", { do: "leave" });
  const before = { balancers: await balancers("win-1"), ways: await waysOf(world, "win-1") };
  expect(before.balancers).toBeGreaterThan(0);
  await apply(world, web("second"));
  await change(world, "win-2", { do: "leave" }, { do: "rejoin", podCIDR: "10.244.77.0/24" });
  await world.session.passTime(10_000);
  expect(await balancers("win-2")).toBe(before.balancers + 1);
  expect({ balancers: await balancers("win-1"), ways: await waysOf(world, "win-1") }).toEqual(before);
});

describe("what upstream leaves behind, and hardened does not (control-planes.md §1.8, §1.9)", () => {
  it.each([
    ["vxlan", "upstream", ["10.244.1.0/24"]],
    ["vxlan", "hardened", []],
  ] as const)("%s, %s: a node that left while flanneld did not run", async (backend, compat, left) => {
    const world = await open(backend, compat);
    await change(world, "win-1", { do: "leave" });
    await change(world, "win-2", { do: "leave" });
    await change(world, "win-1", { do: "rejoin" });
    const stale = (await disagreements(world)).filter((line) => line.startsWith("win-1 has too much"));
    expect(stale.map((line) => /10[.]244[.]\d+[.]0[/]24/.exec(line)?.[0])).toEqual(left);
  });

  it.each([
    ["upstream", ["win-1 has too much: 10.244.1.0/24 via 10.0.0.12 on vEthernet (Ethernet)"]],
    ["hardened", []],
  ] as const)("host-gw, %s: routes of New-NetRoute live through a reboot", async (compat, left) => {
    const world = await open("host-gw", compat);
    await change(world, "win-1", { do: "stop" });
    await change(world, "win-2", { do: "leave" });
    await change(world, "win-1", { do: "start" });
    expect(await disagreements(world)).toEqual(left);
  });

  it.each([
    ["upstream", 1],
    ["hardened", 0],
  ] as const)("vxlan, %s: the old MAC of a node that has rebooted, on Linux", async (compat, left) => {
    const world = await open("vxlan", compat);
    await change(world, "win-1", { do: "reboot" });
    const stale = (await disagreements(world)).filter((line) =>
      / has too much: fdb .* dst 10[.]0[.]0[.]11$/.test(line),
    );
    expect(stale).toHaveLength(left);
  });

  it.each([
    ["vxlan", "upstream", true],
    ["vxlan", "hardened", false],
    ["host-gw", "upstream", true],
    ["host-gw", "hardened", false],
  ] as const)("%s, %s: HNS has lost its state", async (backend, compat, isLost) => {
    const world = await open(backend, compat, PODS);
    await change(world, "win-1", { do: "restart-hns", state: "lose" });
    await world.session.passTime(120_000);
    expect((await disagreements(world)).length > 0).toBe(isLost);
    expect(phases(world, "win").includes("Pending")).toBe(isLost);
    if (!isLost) expect(reachEachOther(world)).toBe(true);
    // What everybody does in the end.
    await change(world, "win-1", { do: "reboot" });
    expect(await newDisagreements(world, compat)).toEqual([]);
    expect(phases(world, "win")).toEqual(["Running", "Running"]);
  });

  it.each([
    ["upstream", "kube-proxy-source-vip-invalid"],
    ["hardened", undefined],
  ] as const)(
    "CP-S4 %s: the source VIP of a node that has joined with another range",
    async (compat, code) => {
      const world = await open("vxlan", compat);
      await change(world, "win-1", { do: "leave" }, { do: "rejoin", podCIDR: "10.244.77.0/24" });
      expect(world.session.notes().find(({ message }) => message.includes("source VIP"))?.code).toBe(code);
    },
  );

  it.each([
    ["upstream", ["Pending"]],
    ["hardened", ["Running"]],
  ] as const)(
    "%s: the bridge of a Linux node that has joined with another range",
    async (compat, expected) => {
      const world = await open("vxlan", compat, PODS);
      await change(world, "linux-1", { do: "leave" }, { do: "rejoin", podCIDR: "10.244.77.0/24" });
      expect(phases(world, "lin")).toEqual(expected);
      const reported = world.session
        .notes()
        .some(({ message }) => message.includes('"cni0" already has an IP address'));
      expect(reported).toBe(compat === "upstream");
      await change(world, "linux-1", { do: "reboot" });
      expect(phases(world, "lin")).toEqual(["Running"]);
    },
  );
});

// kube-proxy.md §2.2: it looks for its network every second, for ever, and lets an overlay network settle for ten.
it.each(COMBINATIONS)(
  "%s, %s: kube-proxy waits for the network of a node that came up in an outage",
  async (backend, compat) => {
    const world = await open(
      backend,
      compat,
      PODS + service("lin", "selector: {app: lin}, ports: [{port: 80, targetPort: 8080}]"),
    );
    const troubles = (): readonly string[] =>
      world.session.troubles().map(({ reference, code }) => `${reference} ${code}`);
    await world.session.setApiServer("down");
    await change(world, "win-1", { do: "stop" }, { do: "start" });
    // The network of host-gw is stored.
    expect(troubles().includes("node/win-1 kube-proxy-network-missing")).toBe(backend === "vxlan");
    await world.session.setApiServer("up");
    await world.session.passTime(60_000);
    expect(world.session.troubles()).toEqual([]);
    expect(ask(world, podOf(world, "win", "win-1"), "service/lin", { port: 80 })).toContain("lin saw");
  },
);

it("is reached by the library, mullion/cluster", async () => {
  const text = clusterText("network: { plugin: flannel, backend: vxlan }");
  const read = readInput([{ name: "cluster.yaml", text }]);
  if (!("input" in read)) throw new Error("the text is good");
  const { session } = await openSession(read.input);
  const report = await session.changeNode("win-1", { do: "reboot" });
  expect(report).toMatchObject({ node: "win-1", standing: "joined", podCIDR: "10.244.0.0/24", notes: [] });
  expect((await session.passTime(1_000)).atMs).toBeGreaterThan(0);
});

describe("what a node cannot do", () => {
  it.each<[string, readonly NodeChange[], string]>([
    ["start a machine that is on", [{ do: "start" }], "is a part of the cluster, and on"],
    ["leave twice", [{ do: "leave" }, { do: "leave" }], "has left the cluster"],
    ["leave while it is off", [{ do: "stop" }, { do: "leave" }], "its machine is off"],
    [
      "join with what is not a range",
      [{ do: "leave" }, { do: "rejoin", podCIDR: "ten" }],
      "is not a range of IPv4",
    ],
    [
      "join outside",
      [{ do: "leave" }, { do: "rejoin", podCIDR: "10.9.0.0/24" }],
      "is not a range for the pods",
    ],
    [
      "join over another",
      [{ do: "leave" }, { do: "rejoin", podCIDR: "10.244.1.0/25" }],
      "overlaps 10.244.1.0/24",
    ],
  ])("%s", async (_what, changes, message) => {
    const world = await open("vxlan", "upstream");
    const before = changes.slice(0, -1);
    await change(world, "win-1", ...before);
    await expect(change(world, "win-1", ...changes.slice(-1))).rejects.toThrow(message);
  });

  it("restart HNS on Linux", async () => {
    const world = await open("vxlan", "upstream");
    await expect(change(world, "linux-1", { do: "restart-hns" })).rejects.toThrow("has no HNS");
  });

  it("anything of a machine that is not there", async () => {
    const world = await open("vxlan", "upstream");
    await expect(change(world, "win-9", { do: "reboot" })).rejects.toMatchObject({
      code: "unknown-object",
      advice: "Machines are: win-1, win-2, linux-1.",
    });
  });

  it("reboot where no program makes the networks", async () => {
    const world = await openSessionWorld(clusterText());
    await expect(change(world, "win-1", { do: "reboot" })).rejects.toThrow("needs a network that a program");
    await expect(change(world, "win-1", { do: "restart-hns" })).resolves.toBeUndefined();
  });

  it("leave or be changed while the API server is down", async () => {
    const world = await open("vxlan", "upstream");
    await world.session.setApiServer("down");
    await expect(change(world, "win-1", { do: "leave" })).rejects.toThrow("the API server is down");
    await expect(world.session.apply([])).rejects.toThrow("the API server is down");
  });
});
