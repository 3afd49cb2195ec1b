/**
 * Service meshes whose webhooks put a proxy beside the containers of a pod: what asks for it, and how the proxy's container is
 * called. Sources: istio.io, setup/additional-setup/sidecar-injection and ambient/usage/add-workloads; linkerd.io,
 * features/proxy-injection; docs.buoyant.io, features/windows-containers; consul-k8s, annotations-and-labels; kuma.io,
 * kubernetes-annotations; openservicemesh.io, sidecar_injection; docs.aws.amazon.com/app-mesh, getting-started-kubernetes.
 */

type Texts = Readonly<Record<string, string>>;

/** Labels and annotations of a pod, or of its namespace. */
export interface Marks {
  readonly labels?: Texts | undefined;
  readonly annotations?: Texts | undefined;
}

/** A mesh. */
export interface Mesh {
  readonly name: string;
  /** What it puts into a pod for Windows runs there. */
  readonly hasWindowsProxy: boolean;
  /** It puts nothing into the pod: an agent of the node takes its connections. */
  readonly isOfNode?: true;
}

interface Injection extends Mesh {
  /** Labels or annotations that decide for a pod, whatever its namespace says. */
  readonly pod: readonly string[];
  /** Those that decide for all pods of a namespace. */
  readonly namespace: readonly string[];
  /** Containers that are the proxy: what has one was injected before. */
  readonly proxies: readonly string[];
  /** The annotation of a pod or of its namespace that names another image, where the usual one is for Linux alone. */
  readonly imageFrom?: string;
}

const INJECTIONS: readonly Injection[] = [
  {
    name: "Istio",
    hasWindowsProxy: false,
    pod: ["sidecar.istio.io/inject", "istio.io/rev"],
    namespace: ["istio-injection", "istio.io/rev"],
    proxies: ["istio-proxy"],
  },
  {
    name: "Istio (ambient)",
    hasWindowsProxy: false,
    isOfNode: true,
    pod: ["istio.io/dataplane-mode"],
    namespace: ["istio.io/dataplane-mode"],
    proxies: ["istio-proxy"],
  },
  {
    name: "Linkerd",
    hasWindowsProxy: false,
    pod: ["linkerd.io/inject"],
    namespace: ["linkerd.io/inject"],
    proxies: ["linkerd-proxy"],
    imageFrom: "config.linkerd.io/proxy-image",
  },
  {
    name: "Kuma",
    hasWindowsProxy: false,
    pod: ["kuma.io/sidecar-injection"],
    namespace: ["kuma.io/sidecar-injection"],
    proxies: ["kuma-sidecar"],
  },
  {
    name: "Consul",
    hasWindowsProxy: true,
    pod: ["consul.hashicorp.com/connect-inject"],
    namespace: [],
    proxies: ["consul-dataplane", "envoy-sidecar"],
  },
  {
    name: "AWS App Mesh",
    hasWindowsProxy: false,
    pod: ["appmesh.k8s.aws/sidecarInjectorWebhook"],
    namespace: ["appmesh.k8s.aws/sidecarInjectorWebhook"],
    proxies: ["envoy"],
  },
  {
    name: "Open Service Mesh",
    hasWindowsProxy: true,
    pod: ["openservicemesh.io/sidecar-injection"],
    namespace: ["openservicemesh.io/sidecar-injection"],
    proxies: ["envoy"],
  },
];

const OFF: readonly string[] = ["false", "disabled", "none", "no", "off", "n", "0", ""];

/** What the first of these says that is there: on, off, or nothing. */
function said({ labels = {}, annotations = {} }: Marks, keys: readonly string[]): boolean | undefined {
  const [value] = keys.flatMap((key) => labels[key] ?? annotations[key] ?? []);
  return value === undefined ? undefined : !OFF.includes(value.toLowerCase());
}

/**
 * The meshes that will put their proxy in front of a pod with these marks, of a namespace with those. Pods in the network of
 * their node get none, and neither do pods that have it.
 * @param containers names, those of init containers among them.
 */
export function meshesOf(
  pod: Marks & { readonly containers: readonly string[]; readonly isHostNetwork: boolean },
  namespace: Marks,
): readonly Mesh[] {
  if (pod.isHostNetwork) return [];
  const asked = INJECTIONS.filter(
    (mesh) =>
      (said(pod, mesh.pod) ?? said(namespace, mesh.namespace) ?? false) &&
      !mesh.proxies.some((name) => pod.containers.includes(name)),
  );
  const annotations = { ...namespace.annotations, ...pod.annotations };
  return asked.map((mesh) =>
    mesh.imageFrom !== undefined && mesh.imageFrom in annotations ? { ...mesh, hasWindowsProxy: true } : mesh,
  );
}
