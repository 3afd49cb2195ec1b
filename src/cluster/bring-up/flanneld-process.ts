/** flanneld as the scripts start it: by its flags, `C:\etc\kube-flannel\net-conf.json` and the Node object. */
import type { VirtualClock } from "#core/base/clock.ts";
import { annotationsOf, DEFAULT_ANNOTATION_PREFIX } from "#programs/flannel/kube/node-lease.ts";
import { KubeLeaseStore } from "#programs/flannel/kube/kube-lease-store.ts";
import { NodeLeases } from "#programs/flannel/kube/node-leases.ts";
import { type FlannelFinding, findingOf, type FlannelLog, type Severity } from "#programs/flannel/reports.ts";
import type { FlannelHost } from "#programs/flannel/node/flannel-host.ts";
import {
  DEFAULT_OPTIONS,
  type FlanneldMode,
  type FlanneldRelease,
  behaviourOf,
} from "#programs/flannel/flanneld-options.ts";
import { Flanneld, type FlanneldState, configurationFor } from "#programs/flannel/flanneld.ts";
import { type NetworkConfig, parseNetworkConfig } from "#programs/flannel/network-config.ts";
import type { SubnetFiles } from "#programs/flannel/node/subnet-file.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { NodeProcess } from "./node-process.ts";
import type { BringUpFinding } from "./report.ts";
import { FLANNEL_NET_CONF, KUBECONFIG } from "./script-files.ts";

const ANNOTATIONS = annotationsOf(DEFAULT_ANNOTATION_PREFIX);

export interface FlanneldProcessParts extends FlanneldMode {
  readonly nodeName: string;
  readonly release: FlanneldRelease;
  readonly managementIP: string;
  /** The text of its configuration; undefined: there is none. */
  readonly netConf: string | undefined;
  readonly source: KubeSource;
  readonly clock: VirtualClock;
  readonly host: FlannelHost;
  readonly client: HcnClient;
  readonly files: SubnetFiles;
}

export class FlanneldProcess extends NodeProcess {
  private readonly parts: FlanneldProcessParts;
  private readonly flanneld: Flanneld | undefined;
  private leases: NodeLeases | undefined;
  private stopFollowing: (() => void) | undefined;
  private state: FlanneldState | undefined;
  private refusal: FlannelFinding | undefined;

  constructor(parts: FlanneldProcessParts) {
    super("flanneld", String.raw`C:\flannel\flanneld.exe`, [
      `--kubeconfig-file=${KUBECONFIG}`,
      `--iface=${parts.managementIP}`,
      "--ip-masq=1",
      "--kube-subnet-mgr=1",
    ]);
    this.parts = parts;
    this.flanneld = this.create();
    if (this.isRunning) this.dueAtMs = parts.clock.nowMs;
  }

  override get failure(): BringUpFinding | undefined {
    return this.refusal ?? (this.state?.state === "ended" ? this.state.finding : undefined);
  }

  /** What it waits for; undefined: it does not. */
  get obstacle(): BringUpFinding | undefined {
    return this.state?.state === "waiting" ? this.state.finding : undefined;
  }

  override stop(): void {
    this.stopFollowing?.();
    this.leases?.stop();
    super.stop();
  }

  override async advance(nowMs: number): Promise<void> {
    this.dueAtMs = undefined;
    if (this.flanneld === undefined || !this.isRunning) return;
    const state = await this.flanneld.advance(nowMs);
    this.state = state;
    if (state.state === "ended") {
      this.stop();
      return;
    }
    if (this.flanneld.needsFollowing) {
      this.stopFollowing?.();
      this.stopFollowing = await this.flanneld.follow(() => {
        this.dueAtMs = this.parts.clock.nowMs;
      });
      this.dueAtMs = nowMs;
      return;
    }
    const waitMs = state.state === "waiting" ? state.retryAfterMs : state.nextMs;
    if (waitMs !== undefined) this.dueAtMs ??= nowMs + Math.max(waitMs, 1);
  }

  private readConfiguration(): NetworkConfig | undefined {
    const { netConf } = this.parts;
    try {
      if (netConf !== undefined) return parseNetworkConfig(netConf);
      const message = `open ${FLANNEL_NET_CONF}: The system cannot find the file specified.`;
      this.refusal = { code: "flanneld-configuration-invalid", message };
    } catch (error) {
      this.refusal = findingOf(error, "flanneld-configuration-invalid", "error parsing subnet config: ");
    }
    this.end(`E ${this.refusal.message}`);
    return undefined;
  }

  private create(): Flanneld | undefined {
    const { nodeName, release, compat, managementIP, source, clock, host, client, files } = this.parts;
    const config = this.readConfiguration();
    if (config === undefined) return undefined;
    const log: FlannelLog = {
      write: (severity: Severity, text: string) => this.write(`${severity} ${text}`),
    };
    const families = configurationFor(config, host.os);
    const behaviour = behaviourOf(release);
    this.leases = new NodeLeases({ source, clock, annotations: ANNOTATIONS, families, compat, log });
    this.leases.start();
    const store = new KubeLeaseStore({
      source,
      leases: this.leases,
      nodeName,
      annotations: ANNOTATIONS,
      config: families,
      checksRange: behaviour.checksRange,
      setsCondition: true,
      compat,
      log,
      clock,
      epochMs: 0,
    });
    const options = { ...DEFAULT_OPTIONS, compat, iface: [managementIP], ipMasq: true, behaviour };
    return new Flanneld({ store, host, client, files, log, options });
  }
}
