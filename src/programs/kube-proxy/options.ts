/** The options of a kube-proxy of a Windows node (kube-proxy.md §1.1). */
import type { Compat } from "#core/base/compat.ts";
import type { KubernetesVersion } from "./behaviour.ts";

/** An interface of the node, as far as kube-proxy looks at it. */
export interface ProxyInterface {
  readonly mac: string;
  /** As text, without lengths. */
  readonly addresses: readonly string[];
}

/**
 * `all`: every endpoint and load balancer in each sync, as upstream. `new`: those that were not read before, and nothing
 * when there is nothing to program. What is programmed is the same; a change that another program makes to a load balancer
 * in place is not seen.
 */
export type ReadMode = "all" | "new";

export interface KubeProxyOptions {
  readonly kubernetes: KubernetesVersion;
  readonly compat: Compat;
  /** The name of the Node: an endpoint is local when its slice says this, letter by letter. */
  readonly hostname: string;
  /** Default 127.0.0.1. Its family is the primary one. */
  readonly nodeIp?: string | undefined;
  /** `--network-name`; empty or absent: `kubeNetwork`. */
  readonly networkName?: string | undefined;
  /** The variable `KUBE_NETWORK` of its environment. */
  readonly kubeNetwork?: string | undefined;
  /** `--source-vip`: needed on overlay networks, not used on others. */
  readonly sourceVip?: string | undefined;
  /** `--enable-dsr`. */
  readonly enableDSR?: boolean | undefined;
  /** Absent: as the version has them. */
  readonly featureGates?:
    | { readonly WinDSR?: boolean | undefined; readonly WinOverlay?: boolean | undefined }
    | undefined;
  /** `--root-hnsendpoint-name`. Default `cbr0`. */
  readonly rootHnsEndpointName?: string | undefined;
  /** `--forward-healthcheck-vip`. */
  readonly forwardHealthCheckVip?: boolean | undefined;
  /** The port of `--healthz-bind-address`. Default 10256. */
  readonly healthzPort?: number | undefined;
  /** The node's interfaces: on overlay networks the one with the node's address gives its MAC address. */
  readonly hostInterfaces?: readonly ProxyInterface[] | undefined;
  /** How much of HNS a sync reads. Default `all`, as upstream; with `hardened` it is `new`. */
  readonly reads?: ReadMode | undefined;
  /**
   * The syncs of two families run beside each other, as upstream's two proxiers do: which one HNS hears first is chance.
   * Default false: one after the other, the primary family first.
   */
  readonly syncsFamiliesAtOnce?: boolean | undefined;
}

export const DEFAULT_NODE_IP = "127.0.0.1";
export const DEFAULT_ROOT_ENDPOINT = "cbr0";
export const DEFAULT_HEALTHZ_PORT = 10_256;
