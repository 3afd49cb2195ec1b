/**
 * Real Linux nodes with the real flanneld, each in a network namespace of its own on one bridge, and what the kernel was
 * told there. The API server that they ask has to listen on `HOST_ADDRESS`. Needs root, iproute2 and iptables.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "../../../tools/live-programs.ts";
import { removeLeftovers } from "../leftovers.ts";
import { Program } from "./processes.ts";

/** The machine's own address on the bridge. */
export const HOST_ADDRESS = "192.168.77.1";
const PREFIX_LENGTH = 24;
const READY_MS = 30_000;

function ip(...args: readonly string[]): string {
  return execFileSync("ip", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** A route, a neighbour or an entry of a forwarding database, as iproute2 tells it in JSON. */
export type KernelEntry = Readonly<Record<string, unknown>>;

export interface FlannelNodeOptions {
  /** The name of its Node. */
  readonly name: string;
  /** On the bridge: `192.168.77.11`. */
  readonly address: string;
  readonly kubeconfig: string;
  /** `net-conf.json` */
  readonly netConf: object;
}

/** The bridge between all nodes, with the host on it. */
export class FlannelLink {
  readonly bridge: string;
  private readonly nodes: FlannelNode[] = [];

  constructor() {
    removeLeftovers("mfl");
    this.bridge = `mfl${process.pid}`;
    ip("link", "add", this.bridge, "type", "bridge");
    ip("addr", "add", `${HOST_ADDRESS}/${PREFIX_LENGTH}`, "dev", this.bridge);
    ip("link", "set", this.bridge, "up");
  }

  /** A machine on the bridge, with flanneld not yet started. */
  addNode(options: FlannelNodeOptions): FlannelNode {
    const node = new FlannelNode(this.bridge, this.nodes.length, options);
    this.nodes.push(node);
    return node;
  }

  async remove(): Promise<void> {
    for (const node of this.nodes.splice(0)) await node.remove();
    ip("link", "del", this.bridge);
  }
}

export class FlannelNode {
  readonly name: string;
  private readonly namespace: string;
  private readonly folder: string;
  private readonly options: FlannelNodeOptions;
  private flanneld: Program | undefined;

  constructor(bridge: string, index: number, options: FlannelNodeOptions) {
    this.name = options.name;
    this.options = options;
    this.namespace = `${bridge}n${index}`;
    this.folder = mkdtempSync(join(tmpdir(), "mullion-flannel-"));
    const outside = `${bridge}v${index}`;
    ip("netns", "add", this.namespace);
    ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", this.namespace);
    ip("link", "set", outside, "master", bridge, "up");
    this.inside("addr", "add", `${options.address}/${PREFIX_LENGTH}`, "dev", "eth0");
    this.inside("link", "set", "eth0", "up");
    this.inside("link", "set", "lo", "up");
    this.inside("route", "add", "default", "via", HOST_ADDRESS);
  }

  private inside(...args: readonly string[]): string {
    return ip("-n", this.namespace, ...args);
  }

  /** Where flanneld says what it got. */
  get subnetFile(): string {
    return join(this.folder, "subnet.env");
  }

  /** `subnet.env` as names and values; empty as long as there is none. */
  get subnetEnv(): Readonly<Record<string, string>> {
    try {
      const lines = readFileSync(this.subnetFile, "utf8").trim().split("\n");
      return Object.fromEntries(lines.map((line) => line.split("=") as [string, string]));
    } catch {
      return {};
    }
  }

  /** Starts flanneld and waits until it has its lease. */
  async start(): Promise<void> {
    const netConf = join(this.folder, "net-conf.json");
    writeFileSync(netConf, JSON.stringify(this.options.netConf));
    const command = [
      "ip",
      "netns",
      "exec",
      this.namespace,
      findProgram("flanneld"),
      "--kube-subnet-mgr",
      `--kubeconfig-file=${this.options.kubeconfig}`,
      "--iface=eth0",
      `--net-config-path=${netConf}`,
      `--subnet-file=${this.subnetFile}`,
      "--healthz-port=0",
    ];
    rmSync(this.subnetFile, { force: true });
    this.flanneld = new Program(command, join(this.folder, "flanneld.log"), { NODE_NAME: this.name });
    await this.flanneld.until(() => "FLANNEL_SUBNET" in this.subnetEnv, READY_MS);
  }

  /** What flanneld wrote last. */
  get log(): string {
    return this.flanneld?.written ?? "";
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.flanneld?.end(signal);
    this.flanneld = undefined;
  }

  private list(...args: readonly string[]): readonly KernelEntry[] {
    return JSON.parse(this.inside("-j", ...args) || "[]") as readonly KernelEntry[];
  }

  /** The routes of the main table. */
  routes(): readonly KernelEntry[] {
    return this.list("route", "show");
  }

  /** Permanent neighbours on a device: `{dst, lladdr}`. */
  neighbours(device: string): readonly KernelEntry[] {
    return this.list("neigh", "show", "dev", device, "nud", "permanent");
  }

  /** The forwarding database of a VXLAN device: `{mac, dst}`. */
  forwarding(device: string): readonly KernelEntry[] {
    const args = ["netns", "exec", this.namespace, "bridge", "-j", "fdb", "show", "dev", device];
    return JSON.parse(ip(...args) || "[]") as readonly KernelEntry[];
  }

  /** The MAC address of a device. */
  macOf(device: string): string {
    const [link] = this.list("link", "show", "dev", device);
    return String(link?.["address"]);
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    ip("netns", "del", this.namespace);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
