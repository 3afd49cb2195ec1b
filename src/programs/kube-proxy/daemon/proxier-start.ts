/** From a configuration to a proxier that runs: waits for HNS and its network (kube-proxy.md §2.1, §2.2). */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { listNetworks } from "#contracts/hcn/operations.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import type { Behaviour } from "../behaviour.ts";
import type { KubeProxyConfiguration } from "../configuration/configuration.ts";
import { portOf } from "../configuration/go-texts.ts";
import { attempt, failureText, isAway } from "../load-balancers/hns-failure.ts";
import { KubeProxy } from "../kube-proxy.ts";
import type { ProxyInterface, KubeProxyOptions } from "../options.ts";
import type { ProxyObjects } from "../tracking/proxy-objects.ts";
import type { ServiceFinding } from "../report.ts";
import type { Klog } from "./klog.ts";
import { primaryAddress } from "./own-node.ts";
import type { Waiter } from "./waiter.ts";

/** Waits for an HNS that does not answer: doubled from the first to the last. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/** What options are made of, beside the configuration. */
export interface OptionSources
  extends Pick<KubeProxyOptions, "kubernetes" | "compat" | "hostname" | "kubeNetwork"> {
  readonly configuration: KubeProxyConfiguration;
  readonly gates: ReadonlyMap<string, boolean>;
  /** Of the Node object. */
  readonly addresses: readonly string[];
  readonly hostInterfaces: readonly ProxyInterface[];
}

/** The options of the proxier. */
export function proxyOptions(sources: OptionSources): KubeProxyOptions {
  const { configuration, kubernetes, compat, hostname, kubeNetwork, gates, addresses, hostInterfaces } =
    sources;
  const { winkernel, bindAddress, healthzBindAddress } = configuration;
  return {
    kubernetes,
    compat,
    hostname,
    nodeIp: primaryAddress(bindAddress, addresses).address,
    networkName: winkernel.networkName,
    kubeNetwork,
    sourceVip: winkernel.sourceVip,
    enableDSR: winkernel.enableDSR,
    featureGates: { WinDSR: gates.get("WinDSR"), WinOverlay: gates.get("WinOverlay") },
    rootHnsEndpointName: winkernel.rootHnsEndpointName,
    forwardHealthCheckVip: winkernel.forwardHealthCheckVip,
    healthzPort: portOf(healthzBindAddress),
    hostInterfaces,
  };
}

export interface StartParts {
  readonly client: HcnClient;
  readonly objects: ProxyObjects;
  readonly options: KubeProxyOptions;
  readonly behaviour: Behaviour;
  readonly waiter: Waiter;
  readonly log: Klog;
}

async function waitForHns({ client, waiter, log }: StartParts): Promise<void> {
  for (let waitMs = RETRY_FIRST_MS; !waiter.isEnded; waitMs = Math.min(waitMs * 2, RETRY_MAX_MS)) {
    const version = await attempt(() => getHnsVersion(client));
    if (version.ok || !isAway(version.failure)) return;
    log.error("HNS does not answer; it is tried again", {
      reason: failureText(version.failure),
      retryInMs: waitMs,
      code: "hns-unreachable",
    });
    await waiter.sleep(waitMs);
  }
}

/** The names that HNS has, beside the one that is waited for: most often one of them was meant. */
async function networksOf(client: HcnClient): Promise<readonly string[] | undefined> {
  const listed = await attempt(() => listNetworks(client));
  return listed.ok ? listed.value.map(({ Name }) => Name ?? "") : undefined;
}

/** A proxier that runs; what keeps it from starting; undefined when the waits were ended. */
export async function startProxier(parts: StartParts): Promise<KubeProxy | ServiceFinding | undefined> {
  const { client, objects, options, behaviour, waiter, log } = parts;
  if (behaviour.process.waitsForHns) await waitForHns(parts);
  const proxy = new KubeProxy({ client, objects, options });
  let said = "";
  while (!waiter.isEnded) {
    const result = await proxy.start();
    if (result.state === "failed") return result.finding;
    if (result.state === "running") return proxy;
    const { message, code } = result.finding;
    if (said !== message) log.warning(message, { networks: await networksOf(client), code });
    said = message;
    await waiter.sleep(result.retryAfterMs);
  }
  return undefined;
}
