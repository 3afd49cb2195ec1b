// What flanneld gives iptables, nft and ip on Linux (control-planes.md §3.5; flannel's pkg/trafficmngr, main.go).
import { masqueradeScript } from "./linux-rules.ts";
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { FlanneldWorld } from "#test/support/flannel/flanneld-world.ts";
import { parsePrefix } from "#core/net/ip.ts";
import type { CommandRunner } from "../node/commands.ts";
import type { FlannelHost, LinuxHost } from "../node/flannel-host.ts";
import type { FlanneldOptions } from "../flanneld-options.ts";
import { IprouteHost } from "./iproute-host.ts";

/** Prints nothing; what begins with `refused` fails. */
class Recorded implements CommandRunner {
  readonly commands: string[] = [];
  private readonly refused: string | undefined;

  constructor(refused?: string) {
    this.refused = refused;
  }

  run(program: string, words: readonly string[]): Promise<string> {
    const command = [program, ...words].join(" ");
    this.commands.push(command);
    const isRefused = this.refused !== undefined && command.startsWith(this.refused);
    return isRefused ? Promise.reject(new Error("not permitted")) : Promise.resolve("");
  }
}

const NETWORK = defined(parsePrefix("10.244.0.0/16"), "a range");
const SUBNET = defined(parsePrefix("10.244.1.0/24"), "a range");
const SETTINGS = { network: NETWORK, subnet: SUBNET, isFullyRandom: true } as const;

/** A flanneld on Linux whose rules are written by `runner`. */
async function start(runner: CommandRunner, usesNftables: boolean, options: Partial<FlanneldOptions>) {
  const world = new FlanneldWorld();
  world.nodes.put("l1", { podCIDR: "10.244.1.0/24" });
  const rules: LinuxHost = new IprouteHost(runner);
  const wrapHost = (host: FlannelHost): FlannelHost =>
    new Proxy(host, {
      get: (target, name) => {
        const isRule = ["ensureMasquerade", "ensureForwarding", "removeRules", "ensureBlackhole"].includes(
          String(name),
        );
        const owner: object = isRule ? rules : target;
        const value: unknown = Reflect.get(owner, name);
        return typeof value === "function" ? (value.bind(owner) as unknown) : value;
      },
    });
  const netConf = {
    Network: "10.244.0.0/16",
    EnableNFTables: usesNftables,
    Backend: { Type: "vxlan", VNI: 4096, Port: 4789 },
  };
  const { compat = "upstream" } = options;
  const node = world.flanneld("l1", { os: "linux", netConf, compat, options, wrapHost });
  await world.run(1_000);
  return { world, node };
}

describe("nftables", () => {
  it.each([
    ["upstream", "ip saddr != 10.244.1.0/24 ip daddr 10.244.0.0/16 return"],
    ["hardened", "ip saddr != 10.244.0.0/16 ip daddr 10.244.1.0/24 return"],
  ] as const)("has the rules of iptables but for one range, %s", (compat, fourth) => {
    const lines = masqueradeScript({ ...SETTINGS, isAsIptables: compat === "hardened" }).split("\n");
    expect(lines.slice(0, 3)).toEqual([
      "add table ip flannel-ipv4",
      "add chain ip flannel-ipv4 postrtg { type nat hook postrouting priority srcnat ; }",
      "flush chain ip flannel-ipv4 postrtg",
    ]);
    expect(lines.slice(3).map((line) => line.replace("add rule ip flannel-ipv4 postrtg ", ""))).toEqual([
      "meta mark 0x4000 return",
      "ip saddr 10.244.1.0/24 ip daddr 10.244.0.0/16 return",
      "ip saddr 10.244.0.0/16 ip daddr 10.244.1.0/24 return",
      fourth,
      "ip saddr 10.244.0.0/16 ip daddr != 224.0.0.0/4 masquerade fully-random",
      "ip saddr != 10.244.0.0/16 ip daddr 10.244.0.0/16 masquerade fully-random",
    ]);
  });

  it.each([
    ["upstream", 1],
    ["hardened", 3],
  ] as const)(
    "%s: flanneld writes them, without the chains of iptables, and looks again or not",
    async (compat, times) => {
      const runner = new Recorded();
      const { world, node } = await start(runner, true, { compat, ipMasq: true });
      await world.run(10_000);
      expect(node.state).toMatchObject({ state: "running" });
      expect(runner.commands).toContain("iptables -w -t nat -X FLANNEL-POSTRTG");
      expect(
        runner.commands.filter((line) =>
          line.startsWith("nft add table ip flannel-ipv4\nadd chain ip flannel-ipv4 postrtg"),
        ),
      ).toHaveLength(times);
      expect(
        runner.commands.filter((line) => line.includes("flannel-ipv4 forward ip daddr 10.244.0.0/16 accept")),
      ).toHaveLength(times);
      expect(runner.commands.filter((line) => / -A FLANNEL-/.test(line))).toEqual([]);
    },
  );

  it.each([
    ["upstream", "ended"],
    ["hardened", "running"],
  ] as const)("%s: without them flanneld does not go on, or tries again", async (compat, state) => {
    const { node } = await start(new Recorded("nft add"), true, { compat, ipMasq: true });
    expect(node.state?.state).toBe(state);
    expect(node.lines()).toContain("E Failed to ensure nftables rules: not permitted");
  });

  it("are taken away by a flanneld that writes with iptables", async () => {
    const runner = new Recorded();
    await start(runner, false, { ipMasq: true });
    expect(runner.commands).toContain("nft delete table ip flannel-ipv4");
    expect(runner.commands).toContain("nft delete table ip6 flannel-ipv6");
  });
});

describe("--ip-blackhole-route", () => {
  it.each([
    ["upstream", 1],
    ["hardened", 2],
  ] as const)(
    "%s: a route of the node's own range, looked at with each look at the rules",
    async (compat, times) => {
      const runner = new Recorded();
      const { world } = await start(runner, false, { compat, ipBlackholeRoute: true });
      await world.run(5_000);
      const made = runner.commands.filter((line) => line === "ip -4 route add blackhole 10.244.1.0/24");
      expect(made).toHaveLength(times);
      expect(runner.commands).toContain("ip -4 route show type blackhole exact 10.244.1.0/24");
    },
  );

  it("that the kernel refuses, for a bridge has that range, is told", async () => {
    const { node } = await start(new Recorded("ip -4 route add"), false, {
      compat: "hardened",
      ipBlackholeRoute: true,
    });
    expect(node.lines()).toContain("E Failed to setup blackhole route, not permitted");
  });

  it("does nothing on Windows, and says so", async () => {
    const world = new FlanneldWorld();
    world.nodes.put("w1", { podCIDR: "10.244.1.0/24" });
    const node = world.flanneld("w1", { options: { ipBlackholeRoute: true } });
    await world.run(2_000);
    expect(node.lines()).toContain("W --ip-blackhole-route does nothing on Windows");
  });
});
