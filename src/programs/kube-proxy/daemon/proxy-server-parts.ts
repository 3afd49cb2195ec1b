/** What kube-proxy's process gives the running proxy: the machine as values. */
import type { Clock } from "#core/base/clock.ts";
import type { Compat } from "#core/base/compat.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { KubernetesVersion } from "../behaviour.ts";
import type { KubeProxyConfiguration } from "../configuration/configuration.ts";
import type { ProxyInterface } from "../options.ts";
import type { Listen } from "./health/http-answer.ts";
import type { Klog } from "./klog.ts";
import type { ObjectFeed } from "./object-feed.ts";

export interface ProxyServerParts {
  /** Validated, with defaults. */
  readonly configuration: KubeProxyConfiguration;
  readonly kubernetes: KubernetesVersion;
  readonly compat: Compat;
  /** The name of this node's Node object. */
  readonly hostname: string;
  /** The variable `KUBE_NETWORK`. */
  readonly kubeNetwork: string | undefined;
  /** The words of the command line, for `/flagz`. */
  readonly flags: ReadonlyMap<string, unknown>;
  readonly client: HcnClient;
  readonly feed: ObjectFeed;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  readonly log: Klog;
  readonly listen: Listen;
  /** The node's interfaces as they are now. */
  readonly hostInterfaces: () => readonly ProxyInterface[];
}
