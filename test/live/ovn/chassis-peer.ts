/**
 * A real chassis for tests: Debian's ovs-vswitchd with its datapath in user space and ovn-controller, in namespaces of their own, with
 * guests behind its integration bridge. Needs root, iproute2 and ethtool.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TIMEOUT_MS = 60_000;
/** Of an Ethernet with 1 500, less GENEVE with OVN's option. */
const GUEST_MTU = 1_442;

function run(program: string, words: readonly string[], env: NodeJS.ProcessEnv = process.env): string {
  return execFileSync(program, words, {
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    stdio: ["ignore", "pipe", "pipe"],
    env,
  });
}

/** A program in a namespace. `ip netns exec` would hide what is mounted meanwhile. */
function inside(namespace: string, ...words: readonly string[]): readonly string[] {
  return [`--net=/run/netns/${namespace}`, ...words];
}

/** The segment that the chassis are on: a bridge in a namespace. */
export class Segment {
  readonly bridge = "lab";
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
    run("ip", ["netns", "add", namespace]);
    run("ip", ["-n", namespace, "link", "set", "lo", "up"]);
    run("ip", ["-n", namespace, "link", "add", this.bridge, "type", "bridge"]);
    run("ip", ["-n", namespace, "link", "set", this.bridge, "up"]);
  }

  /** A cable from the bridge into a namespace. @returns what it is called there */
  plug(namespace: string, name: string): string {
    const end = ["type", "veth", "peer", "name", name, "netns", namespace];
    run("ip", ["-n", this.namespace, "link", "add", `to-${name}`, "master", this.bridge, "up", ...end]);
    run("ip", ["-n", namespace, "link", "set", name, "up"]);
    return name;
  }

  run(...words: readonly string[]): string {
    return run("nsenter", inside(this.namespace, ...words));
  }

  close(): void {
    run("ip", ["netns", "delete", this.namespace]);
  }
}

export interface PeerSettings {
  readonly name: string;
  /** Where its tunnels end. */
  readonly address: string;
  /** The southbound database. */
  readonly remote: string;
  readonly segment: Segment;
}

export class ChassisPeer {
  readonly namespace: string;
  private readonly folder = mkdtempSync(join(tmpdir(), "mullion-ovs-"));
  private readonly guests: string[] = [];

  constructor({ name, address, remote, segment }: PeerSettings) {
    this.namespace = `${segment.namespace}-${name}`;
    run("ip", ["netns", "add", this.namespace]);
    try {
      run("ip", ["-n", this.namespace, "link", "set", "lo", "up"]);
      const uplink = segment.plug(this.namespace, "uplink");
      this.startSwitch();
      const physical = ["datapath_type=netdev", "fail-mode=standalone"];
      this.vsctl("add-br", "br-phys", "--", "set", "bridge", "br-phys", ...physical);
      this.vsctl("add-port", "br-phys", uplink);
      run("ip", ["-n", this.namespace, "address", "add", `${address}/24`, "dev", "br-phys"]);
      run("ip", ["-n", this.namespace, "link", "set", "br-phys", "up"]);
      const ids = { "system-id": name, hostname: name, "ovn-encap-type": "geneve", "ovn-encap-ip": address };
      const more = { "ovn-bridge-datapath-type": "netdev", "ovn-remote": remote };
      const all = Object.entries({ ...ids, ...more }).map(([key, value]) => `external_ids:${key}="${value}"`);
      this.vsctl("set", "open", ".", ...all);
      this.daemon("ovn-controller", [`unix:${this.path("db.sock")}`]);
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  private path(name: string): string {
    return join(this.folder, name);
  }

  private get environment(): NodeJS.ProcessEnv {
    return { ...process.env, OVS_RUNDIR: this.folder, OVN_RUNDIR: this.folder, OVS_DBDIR: this.folder };
  }

  private startSwitch(): void {
    run("ovsdb-tool", ["create", this.path("conf.db"), "/usr/share/openvswitch/vswitch.ovsschema"]);
    const control = (name: string): string => `--unixctl=${this.path(name)}`;
    const database = [`--remote=punix:${this.path("db.sock")}`, control("db.ctl"), this.path("conf.db")];
    this.daemon("ovsdb-server", database);
    this.vsctl("--no-wait", "init");
    this.daemon("ovs-vswitchd", ["--disable-system", control("vs.ctl"), `unix:${this.path("db.sock")}`]);
  }

  private daemon(program: string, words: readonly string[]): void {
    const own = ["--detach", "--no-chdir", `--pidfile=${this.path(`${program}.pid`)}`];
    const log = `--log-file=${this.path(`${program}.log`)}`;
    // A daemon keeps the pipes of its starter open: it must not have any.
    execFileSync("nsenter", inside(this.namespace, program, ...own, log, ...words), {
      timeout: TIMEOUT_MS,
      stdio: "ignore",
      env: this.environment,
    });
  }

  private vsctl(...words: readonly string[]): void {
    run("ovs-vsctl", [`--db=unix:${this.path("db.sock")}`, "--timeout=30", ...words], this.environment);
  }

  /** A port of the integration bridge that is bound to a logical port, and a namespace behind it. */
  addGuest(port: string, mac: string, address: string, gateway: string): string {
    const namespace = `${this.namespace}-${port}`;
    run("ip", ["netns", "add", namespace]);
    this.guests.push(namespace);
    const end = ["type", "veth", "peer", "name", "eth0", "address", mac, "netns", namespace];
    run("ip", ["-n", this.namespace, "link", "add", port, "up", ...end]);
    // The datapath in user space takes frames as they are: nothing behind it computes their checksums.
    run("nsenter", inside(namespace, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off"));
    for (const link of ["lo", "eth0"]) run("ip", ["-n", namespace, "link", "set", link, "up"]);
    run("ip", ["-n", namespace, "link", "set", "eth0", "mtu", String(GUEST_MTU)]);
    run("ip", ["-n", namespace, "address", "add", `${address}/24`, "dev", "eth0"]);
    run("ip", ["-n", namespace, "route", "add", "default", "via", gateway]);
    this.vsctl("add-port", "br-int", port, "--", "set", "interface", port, `external_ids:iface-id=${port}`);
    return namespace;
  }

  /** What ovs-vswitchd would do with a frame; `flow` says what it has (ovs-fields(7)). */
  trace(flow: string): string {
    return this.ask("ofproto/trace", "br-int", flow);
  }

  /** What it answers on its control socket. */
  ask(...words: readonly string[]): string {
    return run("ovs-appctl", [`--target=${this.path("vs.ctl")}`, ...words], this.environment);
  }

  /** Numbers of the datapath's ports, with their names. */
  ports(): ReadonlyMap<string, string> {
    const lines = this.ask("dpif/show").matchAll(/^\s+(\S+) \d+\/(\d+):/gm);
    return new Map([...lines].map(([, name = "", number = ""]) => [number, name]));
  }

  stop(): void {
    for (const program of ["ovn-controller", "ovs-vswitchd", "ovsdb-server"]) this.end(program);
    const names = [...this.guests, this.namespace];
    for (const name of names) if (existsSync(`/run/netns/${name}`)) run("ip", ["netns", "delete", name]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private end(program: string): void {
    try {
      const pid = Number(readFileSync(this.path(`${program}.pid`), "utf8"));
      process.kill(pid);
    } catch {
      // It was not started.
    }
  }
}
