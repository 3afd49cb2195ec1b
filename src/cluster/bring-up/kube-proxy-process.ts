/** kube-proxy as the scripts start it: its flags are read as the cluster's version reads them. */
import type { KubeProxyOptions } from "#programs/kube-proxy/options.ts";
import { checkGates } from "#programs/kube-proxy/configuration/feature-gates.ts";
import { flagsOf } from "#programs/kube-proxy/configuration/flags.ts";
import { parseFlags } from "#programs/kube-proxy/configuration/parse-flags.ts";
import {
  type ServiceFinding,
  type ProxyInterface,
  type KubeProxy,
  ProxyObjects,
  createKubeProxy,
  followSource,
} from "#programs/kube-proxy/mod.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import type { KubernetesRelease } from "../file/cluster-file.ts";
import { NodeProcess } from "./node-process.ts";
import type { BringUpFinding } from "./report.ts";

export interface KubeProxyProcessParts extends Pick<KubeProxyOptions, "compat"> {
  readonly flags: readonly string[];
  /** The variable KUBE_NETWORK. */
  readonly kubeNetwork: string | undefined;
  readonly kubernetes: KubernetesRelease;
  /** Its Node's InternalIP. */
  readonly nodeIp: string;
  readonly client: HcnClient;
  readonly source: KubeSource;
  readonly hostInterfaces: readonly ProxyInterface[];
}

/** Of the logging library, which had them until 1.26. */
export function isLogFlag(flag: string): boolean {
  return /^--(?:log-dir|logtostderr)=/.test(flag);
}

const LOG_FLAGS_REMOVED = 26;

/** How often it looks again while nothing is told. */
const SYNC_MS = 30_000;

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export class KubeProxyProcess extends NodeProcess {
  private refusal: BringUpFinding | undefined;
  /** What it could not program. */
  troubles: readonly BringUpFinding[] = [];
  private readonly proxy: KubeProxy | undefined;
  private readonly objects = new ProxyObjects();
  private readonly source: KubeSource;
  private stopFollowing: (() => void) | undefined;

  constructor(parts: KubeProxyProcessParts) {
    super("kube-proxy", String.raw`c:\k\kube-proxy.exe`, parts.flags);
    this.source = parts.source;
    this.proxy = this.create(parts);
    if (this.isRunning) this.dueAtMs = 0;
  }

  override get failure(): BringUpFinding | undefined {
    return this.refusal;
  }

  override stop(): void {
    this.stopFollowing?.();
    super.stop();
  }

  override async advance(nowMs: number): Promise<void> {
    this.dueAtMs = undefined;
    if (this.proxy === undefined) return;
    this.stopFollowing ??= await followSource(this.source, this.objects);
    const result = await this.proxy.start();
    if (result.state === "failed") return this.fail(result.finding.code, result.finding.message);
    if (result.state === "waiting") {
      this.write(`I ${result.finding.message}`);
      this.dueAtMs = nowMs + result.retryAfterMs;
      return;
    }
    const { families } = await this.proxy.sync();
    const findings: ServiceFinding[] = families.flatMap(({ finding, notApplied }) => [
      ...(finding === undefined ? [] : [finding]),
      ...notApplied.flatMap((status) => status.findings),
    ]);
    this.troubles = findings.map(({ code, message }) => ({ code, message }));
    for (const { message } of findings) this.write(`E ${message}`);
    const applied = families.flatMap(({ programmed }) => programmed);
    if (applied.length > 0) this.write(`I ${applied.length} service ports programmed`);
    this.dueAtMs = nowMs + SYNC_MS;
  }

  private fail(code: KnowledgeCode, message: string): void {
    this.refusal = { code, message };
    this.end(`E ${message}`);
  }

  private create(parts: KubeProxyProcessParts): KubeProxy | undefined {
    const { flags, kubeNetwork, kubernetes, compat, nodeIp, client, hostInterfaces } = parts;
    const read = kubernetes.minor < LOG_FLAGS_REMOVED ? flags.filter((flag) => !isLogFlag(flag)) : flags;
    const parsed = parseFlags(read, flagsOf(kubernetes.minor));
    if ("message" in parsed) {
      this.fail("kube-proxy-flag-refused", parsed.message);
      return undefined;
    }
    const gates = (parsed.values.get("feature-gates") ?? {}) as Readonly<Record<string, boolean>>;
    const [refused] = checkGates(gates, kubernetes.minor).refused;
    if (refused !== undefined) {
      this.fail("kube-proxy-feature-gate-refused", refused.message);
      return undefined;
    }
    return createKubeProxy({
      client,
      objects: this.objects,
      options: {
        kubernetes,
        compat,
        hostname: textOf(parsed.values.get("hostname-override")) ?? "",
        nodeIp,
        networkName: textOf(parsed.values.get("network-name")),
        kubeNetwork,
        sourceVip: textOf(parsed.values.get("source-vip")),
        enableDSR: parsed.values.get("enable-dsr") === true,
        featureGates: gates,
        hostInterfaces,
      },
    });
  }
}
