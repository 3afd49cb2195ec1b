/** One flanneld with what is its own: an HNS, an API server, a machine as PowerShell shows it. */
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Prng } from "#core/base/prng.ts";
import { RealClock } from "#core/base/real-clock.node.ts";
import { runFlanneld } from "#cli/flanneld/program.ts";
import { listenOnMachine } from "#cli/kube-proxy/http-listener.ts";
import type { WinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import { HttpHnsFaults } from "#hns/failures/faults/http-faults.ts";
import type { HnsFault } from "#hns/failures/faults/fault.ts";
import { findHns, findHnsAddress } from "#contracts/hcn/http/find-hns.node.ts";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import type { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { EtcdGatewayClient } from "#programs/flannel/etcd/gateway-client.node.ts";
import { MachineCommandRunner, MachineSubnetFiles } from "#programs/flannel/node/machine.node.ts";
import { PowerShellHost } from "#programs/flannel/windows/powershell-host.ts";
import { Emulator } from "../../live/kubernetes/emulator.ts";
import { Program } from "../../live/kubernetes/processes.ts";
import { findProgram } from "../../../tools/live-programs.ts";
import { POWERSHELL_FOLDER, POWERSHELL_HERE } from "../go-programs.ts";
import { stateOf } from "../proxy/hns-state.ts";
import { type TestDaemon, startDaemon } from "../test-daemon.ts";
import { windowsPath } from "../windows-node.ts";
import { machineState, writeMachine } from "./standin-powershell.ts";

export const NODE = "win-1";
const PREFIX = "flannel.alpha.coreos.com";
/** What HNS draws for itself: the MAC of the router of an Overlay network. */
const DRAWN_MAC = /00[-:]15[-:]5d[-:](?:[0-9a-f]{2}[-:]){2}[0-9a-f]{2}/gi;

export interface Settings {
  /** `net-conf.json` */
  readonly netConf: object;
  /** This machine's adapter and address: `eth0=192.0.2.2/24`. */
  readonly adapter: string;
  readonly address: string;
}

interface Running {
  end(): Promise<void>;
}

/** A flanneld of one kind, which can be ended and started again. */
export class FlannelSide {
  readonly source: MemoryKubeSource;
  readonly daemon: TestDaemon;
  private readonly emulator: Emulator;
  private readonly folder: string;
  private readonly client: HttpHcnClient;
  private readonly run: (side: FlannelSide) => Running;
  private readonly settings: Settings;
  private running: Running | undefined;

  private constructor(
    settings: Settings,
    parts: { readonly emulator: Emulator; readonly daemon: TestDaemon },
    run: (side: FlannelSide) => Running,
  ) {
    this.settings = settings;
    this.emulator = parts.emulator;
    this.source = parts.emulator.source;
    this.daemon = parts.daemon;
    this.client = new HttpHcnClient({ address: findHnsAddress({ variables: parts.daemon.variables }) });
    this.run = run;
    this.folder = mkdtempSync(join(tmpdir(), "mullion-flanneld-"));
    writeFileSync(join(this.folder, "net-conf.json"), JSON.stringify(settings.netConf));
    writeMachine(this.machine);
  }

  static async open(settings: Settings, run: (side: FlannelSide) => Running): Promise<FlannelSide> {
    const emulator = await Emulator.start();
    const daemon = await startDaemon("--address-delay", "0", "--adapter", settings.adapter);
    return new FlannelSide(settings, { emulator, daemon }, run);
  }

  get machine(): string {
    return join(this.folder, "machine.json");
  }

  get log(): string {
    return join(this.folder, "flanneld.log");
  }

  /** Words of the command line. `spell`: how the program spells paths of this machine. */
  words(spell: (path: string) => string): readonly string[] {
    return [
      "--kube-subnet-mgr",
      `--kubeconfig-file=${spell(this.emulator.kubeconfig)}`,
      `--iface=${this.settings.address}`,
      `--net-config-path=${spell(join(this.folder, "net-conf.json"))}`,
      `--subnet-file=${spell(join(this.folder, "subnet.env"))}`,
    ];
  }

  get variables(): Readonly<Record<string, string>> {
    return { ...this.daemon.variables, NODE_NAME: NODE };
  }

  async fault(fault: HnsFault): Promise<void> {
    await new HttpHnsFaults(this.client).add(fault);
  }

  async clearFaults(): Promise<void> {
    await new HttpHnsFaults(this.client).clear();
  }

  start(): void {
    this.running = this.run(this);
  }

  async end(): Promise<void> {
    await this.running?.end();
    this.running = undefined;
  }

  /** All that it left: in HNS, in the routes, in the API, in the file for the CNI plugin. */
  async state(): Promise<readonly string[]> {
    const node = await this.source.get("Node", { namespace: "", name: NODE });
    const annotations = Object.entries(node.metadata.annotations ?? {})
      .filter(([key]) => key.startsWith(PREFIX))
      .map(([key, value]) => `${key}=${value}`);
    const condition = (node.status?.conditions ?? [])
      .filter(({ type }) => type === "NetworkUnavailable")
      .map(({ status, reason, message }) => `NetworkUnavailable=${status} ${reason} ${message}`);
    const file = join(this.folder, "subnet.env");
    const subnet = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    const lines = [
      ...(await stateOf(this.client)),
      ...machineState(this.machine),
      ...annotations,
      ...condition,
      ...subnet,
    ];
    return lines.map((line) => line.replaceAll(DRAWN_MAC, "MAC of HNS")).toSorted();
  }

  async close(): Promise<void> {
    await this.end();
    await this.client.close();
    await this.daemon.stop();
    await this.emulator.stop();
    rmSync(this.folder, { recursive: true });
  }
}

/** The real flanneld for Windows, under Wine. */
export function runReal(prefix: WinePrefix): (side: FlannelSide) => Running {
  return (side) => {
    const command = [prefix.wine, findProgram("flanneld.exe"), ...side.words(windowsPath)];
    const standIn = {
      // flanneld compares texts, and Wine has none for the numbers of HNS: it hears them from HNS, as up to 1803.
      MULLION_HNS_REFUSALS: "envelope",
      WINEPATH: windowsPath(POWERSHELL_FOLDER),
      POWERSHELL_MACHINE: windowsPath(side.machine),
    };
    const program = new Program(command, side.log, { ...side.variables, ...prefix.variables, ...standIn });
    return { end: () => program.end("SIGKILL") };
  };
}

/** Ours, in this process, as the node of Windows that it would be. */
export function runOurs(side: FlannelSide): Running {
  const clock = new RealClock();
  const runner = new MachineCommandRunner(["env", `POWERSHELL_MACHINE=${side.machine}`, POWERSHELL_HERE]);
  let interrupt = (): void => undefined;
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve;
  });
  const said: string[] = [];
  const ended = runFlanneld({
    argv: [...side.words((path) => path), "--mullion-compat=upstream"],
    variables: side.variables,
    pid: process.pid,
    version: "0.0.0",
    os: "windows",
    stderr: (text) => {
      said.push(text);
      writeFileSync(side.log, said.join(""));
    },
    clock,
    wallMs: () => performance.timeOrigin + performance.now(),
    prng: new Prng(randomInt(2 ** 32)),
    listen: listenOnMachine,
    files: new MachineSubnetFiles(),
    openHost: () => new PowerShellHost(runner),
    openHns: () => findHns({ variables: side.variables }),
    openKube: ({ kubeconfigFile, kubeApiUrl }, variables) =>
      openApiServerSource({ kubeconfig: kubeconfigFile, server: kubeApiUrl, variables }, "flanneld"),
    openEtcd: ({ etcd }) => new EtcdGatewayClient(etcd),
    untilInterrupted: () => interrupted,
  });
  return {
    end: async () => {
      interrupt();
      await ended;
      clock.stop();
    },
  };
}
