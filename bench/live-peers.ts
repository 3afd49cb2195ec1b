/** What real pods are compared with, each in namespaces of its own: the kernel, Open vSwitch in user space, slirp4netns. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Kinds, type Path, within } from "./live-kinds.ts";

const START_MS = 10_000;

function ip(text: string): void {
  execFileSync("ip", text.split(" "));
}

function waitFor(what: string, isThere: () => boolean): void {
  const endMs = performance.now() + START_MS;
  while (!isThere()) {
    if (performance.now() > endMs) throw new Error(`${what} does not start`);
    spawnSync("sleep", ["0.05"]);
  }
}

/** Two namespaces on a bridge of the kernel, a VXLAN device in each, and nftables' translation in the first. */
export class KernelPeer {
  readonly bridge: Path;
  readonly vxlan: Path;
  readonly nat: Path;
  private readonly name = `mullion-bench-kernel${process.pid}`;
  private readonly servers: readonly ChildProcess[];

  constructor(kinds: Kinds) {
    const { name } = this;
    this.bridge = { from: `${name}a`, to: "10.9.0.2" };
    this.vxlan = { from: `${name}a`, to: "10.8.0.2" };
    this.nat = { from: `${name}a`, to: "10.96.0.77" };
    ip(`netns add ${name}s`);
    ip(`-n ${name}s link add br0 up type bridge`);
    for (const [side, last] of [
      ["a", 1],
      ["b", 2],
    ] as const) {
      const own = `-n ${name}${side}`;
      ip(`netns add ${name}${side}`);
      ip(`${own} link add eth0 up type veth peer name v${side} netns ${name}s`);
      ip(`-n ${name}s link set v${side} master br0 up`);
      ip(`${own} address add 10.9.0.${last}/24 dev eth0`);
      ip(`${own} link add vx0 mtu 1450 type vxlan id 4096 remote 10.9.0.${3 - last} dstport 4789 dev eth0`);
      ip(`${own} address add 10.8.0.${last}/24 dev vx0`);
      ip(`${own} link set vx0 up`);
    }
    ip(`-n ${name}a route add 10.96.0.0/16 via 10.9.0.2`);
    const rules =
      "table ip nat { chain out { type nat hook output priority -100; ip daddr 10.96.0.77 dnat to 10.9.0.2; }; }";
    within(`${name}a`, "nft", rules);
    this.servers = kinds.serve(`${name}b`);
  }

  close(): void {
    for (const server of this.servers) server.kill();
    for (const side of ["a", "b", "s"]) spawnSync("ip", ["netns", "delete", `${this.name}${side}`]);
  }
}

/** Two namespaces on a bridge of Open vSwitch's own data path, which takes large sends whole (`userspace-tso-enable`). */
export class OpenVswitchPeer {
  readonly path: Path;
  private readonly name = `mullion-bench-ovs${process.pid}`;
  private readonly programs: ChildProcess[] = [];
  private readonly servers: readonly ChildProcess[];

  constructor(kinds: Kinds, folder: string) {
    const { name } = this;
    const runs = join(folder, "ovs");
    mkdirSync(runs);
    const socket = join(runs, "db.sock");
    const database = join(runs, "conf.db");
    execFileSync("ovsdb-tool", ["create", database, "/usr/share/openvswitch/vswitch.ovsschema"]);
    this.path = { from: `${name}a`, to: "10.7.0.2" };
    for (const side of ["a", "b", "s"]) ip(`netns add ${name}${side}`);
    this.start(runs, [
      "ovsdb-server",
      database,
      `--remote=punix:${socket}`,
      `--unixctl=${join(runs, "d.ctl")}`,
    ]);
    waitFor("ovsdb-server", () => existsSync(socket));
    const set = (text: string): void =>
      void execFileSync("ovs-vsctl", [`--db=unix:${socket}`, "--timeout=10", ...text.split(" ")]);
    set("--no-wait init");
    set("--no-wait set Open_vSwitch . other_config:userspace-tso-enable=true");
    this.start(runs, ["ovs-vswitchd", `unix:${socket}`, `--unixctl=${join(runs, "v.ctl")}`]);
    set("add-br br0 -- set bridge br0 datapath_type=netdev");
    for (const [side, last] of [
      ["a", 1],
      ["b", 2],
    ] as const) {
      set(`add-port br0 p${side} -- set interface p${side} type=internal`);
      ip(`-n ${name}s link set p${side} netns ${name}${side}`);
      ip(`-n ${name}${side} address add 10.7.0.${last}/24 dev p${side}`);
      ip(`-n ${name}${side} link set p${side} up`);
    }
    this.servers = kinds.serve(`${name}b`);
  }

  close(): void {
    for (const program of [...this.servers, ...this.programs]) program.kill();
    for (const side of ["a", "b", "s"]) spawnSync("ip", ["netns", "delete", `${this.name}${side}`]);
  }

  private start(runs: string, command: readonly string[]): void {
    const words = [
      "netns",
      "exec",
      `${this.name}s`,
      ...command,
      `--log-file=${join(runs, `${command[0]}.log`)}`,
    ];
    this.programs.push(spawn("ip", words, { stdio: "ignore", env: { ...process.env, OVS_RUNDIR: runs } }));
  }
}

/** A namespace whose way out is slirp4netns, as of containers that root did not start. */
export class SlirpPeer {
  readonly path: Path;
  private readonly name = `mullion-bench-slirp${process.pid}`;
  private readonly programs: readonly ChildProcess[];

  constructor(kinds: Kinds) {
    const { name } = this;
    this.path = { from: `${name}a`, to: "10.0.2.2" };
    for (const side of ["a", "s"]) ip(`netns add ${name}${side}`);
    ip(`-n ${name}s link set lo up`);
    const words = ["--configure", "--mtu=65520", "--netns-type=path", `/run/netns/${name}a`, "tap0"];
    const slirp = spawn("ip", ["netns", "exec", `${name}s`, "slirp4netns", ...words], { stdio: "ignore" });
    this.programs = [slirp, ...kinds.serve(`${name}s`)];
    waitFor("slirp4netns", () => {
      const { stdout } = spawnSync("ip", ["-n", `${name}a`, "route", "show", "default"], {
        encoding: "utf8",
      });
      return stdout.includes("default");
    });
  }

  close(): void {
    for (const program of this.programs) program.kill();
    for (const side of ["a", "s"]) spawnSync("ip", ["netns", "delete", `${this.name}${side}`]);
  }
}
