/** The CNI plugins of a Windows node as programs of this process, and what its runtime tells them of a pod. */
import { defined } from "#core/base/assert.ts";
import { type Ipv4, type Ipv6, formatIp } from "#core/net/ip.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { type Delegate, InProcessRunner, RunnerDelegate } from "#contracts/cni/plugin-runner.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import { type CniAttachment, CniRuntime, MemoryResultCache } from "#contracts/cni/runtime.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { Flannel } from "#programs/plugins/flannel/plugin.ts";
import { MemoryScratchStore } from "#programs/plugins/flannel/scratch-files.ts";
import type { MemoryLeaseStore } from "#programs/plugins/host-local/leases.ts";
import { HostLocal } from "#programs/plugins/host-local/plugin.ts";
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";
import { WinOverlay } from "#programs/plugins/win-overlay/plugin.ts";
import type { ClusterFile, FilePodSpec, NodeSpec } from "../file/cluster-file.ts";
import type { NodeFiles } from "../flannel/node-files.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Where containerd looks for plugins on Windows; here they run in process, but the contract asks for it. */
export const CNI_PATH: string = String.raw`C:\Program Files\containerd\cni\bin`;

export interface WindowsPlugins {
  readonly runner: InProcessRunner;
  readonly delegate: Delegate;
  readonly runtime: CniRuntime;
  /** By `type`; further ones may be added. */
  readonly plugins: Map<string, CniPlugin>;
}

/** The plugins that every node has, over its HNS, its leases and its files. */
export function windowsPlugins({
  client,
  leases,
  files,
  spec: { compat },
}: {
  readonly client: HcnClient;
  readonly leases: MemoryLeaseStore;
  readonly files: NodeFiles;
  readonly spec: NodeSpec;
}): WindowsPlugins {
  const plugins = new Map<string, CniPlugin>();
  const runner = new InProcessRunner(plugins, "win32");
  const delegate = new RunnerDelegate(runner);
  const parts = { client, delegate, compat };
  plugins.set("host-local", new HostLocal({ store: leases, compat }));
  plugins.set("win-bridge", new WinBridge(parts));
  plugins.set("win-overlay", new WinOverlay(parts));
  plugins.set("flannel", new Flannel({ delegate, files, scratch: new MemoryScratchStore(), compat }));
  const runtime = new CniRuntime({ runner, cache: new MemoryResultCache(), env: { CNI_PATH } });
  return { runner, delegate, runtime, plugins };
}

/** Stands for the sandbox's id: names of pods are unique in their namespace, and hold no underscore. */
export function sandboxIdOf(pod: FilePodSpec): string {
  return `${pod.namespace}_${pod.name}`;
}

/** azure-vnet names endpoints after the beginning of the ID, so names of pods will not do. */
function containerIdOf({ network }: ClusterFile, pod: FilePodSpec, namespaceId: string): string {
  return network.plugin === "azure-vnet" ? namespaceId.replaceAll("-", "").toLowerCase() : sandboxIdOf(pod);
}

/** What a pod was given. */
export interface PodIps {
  readonly address: Ipv4;
  /** Undefined in a network of IPv4 alone. */
  readonly address6: Ipv6 | undefined;
}

/** The addresses in what plugins answered. @throws CniError for one that the pod did not ask for. */
export function podIpsOf(result: CniResult, pod: FilePodSpec): PodIps {
  const ips = result.ips.map(({ address: each }) => each.ip);
  const address = ips.find((ip) => typeof ip === "number");
  if (pod.address !== undefined && address !== pod.address) {
    // CNS chooses by itself, whatever the file asks for.
    const message = WORDS.podAddressOverriddenByIpam({
      given: address === undefined ? "no IPv4 address" : formatIp(address),
      address: formatIp(pod.address),
    });
    throw new CniError(CNI_CODES.internal, message);
  }
  const address6 = ips.find((ip) => typeof ip === "bigint");
  return { address: defined(address, "a pod gets an IPv4 address"), address6 };
}

/** What the runtime tells plugins of one pod. */
export function attachmentOf(
  file: ClusterFile,
  pod: FilePodSpec,
  namespaceId: string,
  dns: DnsSettings | undefined,
): CniAttachment {
  return {
    containerId: containerIdOf(file, pod, namespaceId),
    netns: namespaceId,
    ifName: "eth0",
    args: [
      ["IgnoreUnknown", "1"],
      ["K8S_POD_NAMESPACE", pod.namespace],
      ["K8S_POD_NAME", pod.name],
      ...(pod.address === undefined ? [] : ([["IP", formatIp(pod.address)]] as const)),
    ],
    capabilityArgs: {
      portMappings: pod.ports.flatMap(({ port, hostPort, protocol }) =>
        hostPort === undefined ? [] : [{ hostPort, containerPort: port, protocol: protocol.toLowerCase() }],
      ),
      ...(dns === undefined
        ? {}
        : {
            dns: { servers: dns.servers.map(formatIp), searches: dns.search, options: dns.options ?? [] },
          }),
    },
  };
}
