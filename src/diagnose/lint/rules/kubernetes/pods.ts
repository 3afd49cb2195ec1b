/** Rules over pods and their templates. */
import { type LintPath, fieldsAt, isTrueAt, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import { isWindowsImage } from "#contracts/kubernetes/container-image.ts";
import { type Marks, meshesOf } from "#contracts/kubernetes/mesh-sidecars.ts";
import { type NamespaceLimit, refusalsOfPods } from "#contracts/kubernetes/namespace-limits.ts";
import { podSecurityOf, podSecurityViolations } from "#contracts/kubernetes/pod-security.ts";
import { ASKING_BY_PORT, DECIDING_PROBES } from "#contracts/kubernetes/probes.ts";
import { VOLUMES_NOT_FOR_WINDOWS } from "#contracts/kubernetes/windows-volumes.ts";
import { mappingOf } from "#core/base/json.ts";
import { type ContainerView, type PodView, lastingContainers } from "../../views/pods.ts";
import { IMAGE_RULES } from "./images.ts";
import type { LintContext } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { type LintRule, type RuleFinding, rule } from "../../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

type CheckPod = (pod: PodView, context: LintContext) => Iterable<RuleFinding>;

/** A rule over pods that are for Windows. */
function windowsPods(code: LintRule["code"], check: CheckPod): LintRule {
  return rule(code, "kubernetes", function* (document, context) {
    const pod = context.windowsPodOf(document);
    if (pod !== undefined) yield* check(pod, context);
  });
}

/** windows-networking-documentation.md §8; HostProcess pods are the exception. */
const HOST_NETWORK = windowsPods("host-network-unsupported", function* (pod) {
  if (pod.isHostProcess || !isTrueAt(pod.spec, "hostNetwork")) return;
  yield {
    at: { path: [...pod.path, "hostNetwork"] },
    message: WORDS.hostNetworkUnsupported,
  };
});

/** windows-networking-documentation.md §6. A HostProcess pod has the node's names in any case. */
const HOST_NETWORK_DNS = windowsPods("dns-host-network-policy-unsupported", function* (pod) {
  if (pod.isHostProcess || textAt(pod.spec, "dnsPolicy") !== "ClusterFirstWithHostNet") return;
  yield {
    at: { path: [...pod.path, "dnsPolicy"] },
    message: "dnsPolicy ClusterFirstWithHostNet is not supported on Windows",
    fix: "Write ClusterFirst, or leave dnsPolicy out.",
  };
});

/** Kubernetes' validation of HostProcess pods. */
const HOST_PROCESS_NETWORK = windowsPods("host-process-without-host-network", function* (pod) {
  if (!pod.isHostProcess || isTrueAt(pod.spec, "hostNetwork")) return;
  yield {
    at: {
      path: [...pod.path, valueAt(pod.spec, "hostNetwork") === undefined ? "containers" : "hostNetwork"],
    },
    message: WORDS.hostProcessWithoutHostNetwork,
  };
});

const HOST_PROCESS_PATH: LintPath = ["securityContext", "windowsOptions", "hostProcess"];

/** A container's own word counts, then the pod's. */
function isHostProcess(container: ContainerView, pod: PodView): boolean {
  const own = valueAt(container.value, ...HOST_PROCESS_PATH);
  return own === undefined ? isTrueAt(pod.spec, ...HOST_PROCESS_PATH) : own === true;
}

const HOST_PROCESS_MIXED = windowsPods("host-process-mixed-with-others", function* (pod) {
  const [first] = pod.containers;
  if (!pod.isHostProcess || first === undefined) return;
  const others = pod.containers.filter((container) => !isHostProcess(container, pod));
  if (others.length === pod.containers.length) return;
  for (const container of others)
    yield {
      at: { path: [...container.path, "name"] },
      message: WORDS.hostProcessMixed({ name: container.name }),
    };
});

/** Plugins that map ports, and plugins that do not (users.md G15). */
const MAPS_PORTS: readonly string[] = [
  "win-bridge",
  "azure-vnet",
  "sdnbridge",
  "nat",
  "l2bridge",
  "portmap",
  "calico",
];
const MAPS_NO_PORTS: readonly string[] = ["win-overlay", "sdnoverlay"];

interface HostPort {
  readonly number: number;
  readonly protocol: string;
  readonly container: string;
  readonly path: LintPath;
}

function hostPortsOf(pod: PodView): readonly HostPort[] {
  return pod.containers.flatMap((container) =>
    listAt(container.value, "ports").flatMap((port, index) => {
      const number = numberAt(port, "hostPort") ?? 0;
      if (number === 0) return [];
      const protocol = (textAt(port, "protocol") ?? "TCP").toUpperCase();
      const path = [...container.path, "ports", index, "hostPort"];
      return [{ number, protocol, container: container.name, path }];
    }),
  );
}

/** The mapping of each port of a node by the pod that comes first; the node must be named. */
function findPinned(context: LintContext): ReadonlyMap<string, LintDocument> {
  const owners = new Map<string, LintDocument>();
  for (const document of context.ofKind("kubernetes")) {
    const pod = context.windowsPodOf(document);
    const node = pod === undefined ? undefined : textAt(pod.spec, "nodeName");
    if (pod === undefined || pod.isHostProcess || node === undefined || node === "") continue;
    for (const { number, protocol } of hostPortsOf(pod)) {
      const key = `${node} ${protocol} ${number}`;
      if (!owners.has(key)) owners.set(key, document);
    }
  }
  return owners;
}

/** hcn.md §6.2: HNS maps a port once. The scheduler looks after pods that name no node. */
const HOST_PORT_CONFLICT = rule("host-port-conflict", "kubernetes", function* (document, context) {
  const pod = context.windowsPodOf(document);
  if (pod === undefined || pod.isHostProcess) return;
  const node = textAt(pod.spec, "nodeName") ?? "";
  const seen = new Map<string, string>();
  for (const { number, protocol, container, path } of hostPortsOf(pod)) {
    const what = `hostPort ${number} (${protocol})`;
    const other = seen.get(`${protocol} ${number}`);
    const owner = context.once(findPinned).get(`${node} ${protocol} ${number}`);
    if (other !== undefined)
      yield { at: { path }, message: `${what} belongs to the container ${other} of this pod already` };
    else if (node !== "" && owner !== undefined && owner !== document)
      yield { at: { path }, message: `${what} of node ${node} belongs to ${owner.title} already` };
    seen.set(`${protocol} ${number}`, container);
  }
});

const HOST_PORT = windowsPods("host-port-ignored", function* (pod, { plugins }) {
  if (pod.isHostProcess || MAPS_PORTS.some((plugin) => plugins.has(plugin))) return;
  const plugin = MAPS_NO_PORTS.find((name) => plugins.has(name));
  const ports = hostPortsOf(pod);
  if (plugin !== undefined) {
    for (const { number, path } of ports)
      yield {
        at: { path },
        message: `hostPort ${number} stays closed: the CNI plugin ${plugin} maps no ports`,
      };
    return;
  }
  // Nobody knows the plugin: once per pod is enough.
  const [first] = ports;
  if (first !== undefined)
    yield {
      at: { path: first.path },
      message: WORDS.hostPortNeedsPortMapping({ number: first.number }),
      severity: "info",
    };
});

function isResolvConf(path: string | undefined): boolean {
  return path !== undefined && /(?:^|[\\/])resolv\.conf$/i.test(path);
}

/** windows-networking-documentation.md §1. */
const RESOLV_CONF = windowsPods("resolv-conf-mapped", function* (pod) {
  for (const container of pod.containers)
    for (const [index, mount] of listAt(container.value, "volumeMounts").entries())
      if (isResolvConf(textAt(mount, "mountPath")) || isResolvConf(textAt(mount, "subPath")))
        yield {
          at: { path: [...container.path, "volumeMounts", index, "mountPath"] },
          message: WORDS.resolvConfIgnored,
        };
});

const VOLUMES = windowsPods("volume-not-for-windows", function* (pod) {
  for (const [index, volume] of listAt(pod.spec, "volumes").entries())
    for (const type of VOLUMES_NOT_FOR_WINDOWS)
      if (mappingOf(volume)[type] !== undefined)
        yield {
          at: { path: [...pod.path, "volumes", index, type] },
          message: WORDS.volumeNotMounted({ name: textAt(volume, "name") ?? "", type }),
        };
});

/** dataplane.md §5.3. */
const DNS_OPTIONS = windowsPods("dns-options-ignored", function* (pod) {
  const names = listAt(pod.spec, "dnsConfig", "options").flatMap((option) => textAt(option, "name") ?? []);
  if (names.length === 0) return;
  yield {
    at: { path: [...pod.path, "dnsConfig", "options"] },
    message: `Windows' DNS client has no option ${names.slice(0, 3).join(", ")}`,
  };
});

/** windows-networking-documentation.md §6: one suffix, that of the pod's namespace. */
const SEARCHES = windowsPods("dns-single-suffix-only", function* (pod) {
  const searches = listAt(pod.spec, "dnsConfig", "searches");
  // With dnsPolicy None the list is all there is, and its first entry is used.
  const unused = textAt(pod.spec, "dnsPolicy") === "None" ? searches.slice(1) : searches;
  if (unused.length === 0) return;
  yield {
    at: { path: [...pod.path, "dnsConfig", "searches"] },
    message: WORDS.searchSuffixesUnused({ unused: unused.slice(0, 2).map(String).join(", ") }),
  };
});

const SYSCTLS = windowsPods("network-sysctl-on-windows", function* (pod) {
  for (const [index, sysctl] of listAt(pod.spec, "securityContext", "sysctls").entries())
    yield {
      at: { path: [...pod.path, "securityContext", "sysctls", index, "name"] },
      message: `there is no ${textAt(sysctl, "name") ?? "sysctl"} on Windows`,
    };
});

const CAPABILITIES = windowsPods("network-capability-on-windows", function* (pod) {
  for (const container of pod.containers) {
    const added = listAt(container.value, "securityContext", "capabilities", "add");
    for (const [index, name] of added.entries())
      if (typeof name === "string" && /^(?:CAP_)?NET_/i.test(name))
        yield {
          at: { path: [...container.path, "securityContext", "capabilities", "add", index] },
          message: WORDS.linuxCapabilityIgnored({ name }),
        };
  }
});

/** Keeps the pod on Windows nodes, or on one node, or is somebody else's to place. */
function selectsNodes(pod: PodView): boolean {
  const affinity = valueAt(
    pod.spec,
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
  );
  const selector = valueAt(pod.spec, "nodeSelector");
  const hasSelector = typeof selector === "object" && selector !== null && Object.keys(selector).length > 0;
  return hasSelector || affinity !== undefined || textAt(pod.spec, "nodeName") !== undefined;
}

/** users.md G21. A selector of any kind is taken for one that names Windows nodes in the cluster's own words. */
const NO_SELECTOR = rule("windows-pod-without-node-selector", "kubernetes", function* (document, context) {
  const pod = context.podOf(document);
  if (pod === undefined || pod.os !== "windows" || selectsNodes(pod)) return;
  if (textAt(pod.spec, "runtimeClassName") !== undefined) return;
  const image = pod.containers.find((container) => isWindowsImage(container.image));
  const isSaid = textAt(pod.spec, "os", "name") !== undefined;
  if (image === undefined && !isSaid) return;
  yield {
    at: isSaid || image === undefined ? { path: [...pod.path, "os"] } : { path: [...image.path, "image"] },
    message: isSaid
      ? WORDS.osNameWithoutNodeSelector
      : WORDS.windowsImageWithoutNodeSelector({ image: image?.image ?? "" }),
    fix: "Add nodeSelector: { kubernetes.io/os: windows }.",
  };
});

/** The containers of a pod share one network, so that two of them cannot listen on one port. */
const SAME_PORT = rule("container-ports-conflict", "kubernetes", function* (document, context) {
  const pod = context.podOf(document);
  const statuses = listAt(document.value, "status", "containerStatuses");
  // A pod of a dump whose containers are all ready knows better.
  if (pod === undefined || (statuses.length > 0 && statuses.every((each) => isTrueAt(each, "ready")))) return;
  const owners = new Map<string, string>();
  for (const container of pod.containers.filter(({ isInit }) => !isInit))
    for (const [index, port] of listAt(container.value, "ports").entries()) {
      const number = numberAt(port, "containerPort");
      if (number === undefined) continue;
      const key = `${textAt(port, "protocol") ?? "TCP"} ${number}`;
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, container.name);
      else if (owner !== container.name)
        yield {
          at: { path: [...container.path, "ports", index, "containerPort"] },
          message: WORDS.containerPortDuplicate({ owner, key: key.replace(" ", " port ") }),
        };
    }
});

/** A readiness or startup probe that names a port which its own container does not declare. */
const PROBE_PORT = windowsPods("probe-port-undeclared", function* (pod) {
  for (const { path, value } of lastingContainers(pod)) {
    const names = listAt(value, "ports").flatMap((port) => textAt(port, "name") ?? []);
    for (const probe of DECIDING_PROBES)
      for (const way of ASKING_BY_PORT) {
        const port = textAt(value, probe, way, "port");
        if (port === undefined || names.includes(port)) continue;
        yield {
          at: { path: [...path, probe, way, "port"] },
          message: WORDS.probePortUndeclared({ probe, port }),
          fix:
            names.length === 0
              ? "Write the number of the port."
              : WORDS.adviceProbePort({ names: names.join(", ") }),
        };
      }
  }
});

function textsAt(value: unknown, ...path: LintPath): Readonly<Record<string, string>> {
  const entries = Object.entries(fieldsAt(value, ...path));
  return Object.fromEntries(
    entries.flatMap(([key, text]) => (typeof text === "string" ? [[key, text]] : [])),
  );
}

/** Labels and annotations, of the metadata at a place. */
function marksAt(value: unknown, ...path: LintPath): Marks {
  return {
    labels: textsAt(value, ...path, "metadata", "labels"),
    annotations: textsAt(value, ...path, "metadata", "annotations"),
  };
}

/** Of the namespaces of the input, by name. */
function marksOfNamespaces(context: LintContext): ReadonlyMap<string, Marks> {
  // Of several of one name the first counts.
  const namespaces = context.objects("Namespace").toReversed();
  return new Map(
    namespaces.map(({ value }) => [textAt(value, "metadata", "name") ?? "", marksAt(value)] as const),
  );
}

/** Meshes whose proxies are made for Linux put them into pods for Windows, too. */
const MESH_SIDECAR = windowsPods("mesh-sidecar-left-out", function* (pod, context) {
  const { document, path, namespace, containers } = pod;
  const meshes = meshesOf(
    {
      ...marksAt(document.value, ...path.slice(0, -1)),
      containers: containers.map(({ name }) => name),
      isHostNetwork: isTrueAt(pod.spec, "hostNetwork"),
    },
    context.once(marksOfNamespaces).get(namespace) ?? {},
  );
  for (const { name } of meshes.filter(
    ({ hasWindowsProxy, isOfNode }) => !hasWindowsProxy && isOfNode === undefined,
  ))
    yield {
      at: { path: [...path.slice(0, -1), "metadata"] },
      message: WORDS.sidecarForLinuxOnly({ mesh: name }),
      fix: WORDS.adviceSidecarForLinuxOnly,
    };
});

/** A Namespace of the input enforces a level that the pods go beyond. */
const POD_SECURITY = rule("pod-security-violated", "kubernetes", function* (document, context) {
  const pod = context.podOf(document);
  if (pod === undefined) return;
  const { labels = {} } = context.once(marksOfNamespaces).get(pod.namespace) ?? {};
  const security = podSecurityOf(labels);
  if (security === undefined) return;
  const { annotations = {} } = marksAt(document.value, ...pod.path.slice(0, -1));
  const reasons = podSecurityViolations({ annotations, spec: pod.spec }, security);
  if (reasons.length === 0) return;
  const level = `${security.level}:${security.version}`;
  const said = { namespace: pod.namespace, level, reasons: reasons.join(", ") };
  yield { at: { path: pod.path }, message: WORDS.podSecurityViolated(said), fix: WORDS.advicePodSecurity };
});

function limitsOf(context: LintContext): ReadonlyMap<string, readonly NamespaceLimit[]> {
  const limits = (["LimitRange", "ResourceQuota"] as const).flatMap((kind) =>
    context.objects(kind).map(({ value }) => ({
      kind,
      name: textAt(value, "metadata", "name") ?? "",
      namespace: textAt(value, "metadata", "namespace") ?? "default",
      spec: fieldsAt(value, "spec"),
    })),
  );
  return Map.groupBy(limits, ({ namespace }) => namespace);
}

/** LimitRanges and quotas of the input refuse pods one by one; what they are together is for `verify`. */
const NAMESPACE_LIMIT = rule("namespace-limit-exceeded", "kubernetes", function* (document, context) {
  const pod = context.podOf(document);
  if (pod === undefined) return;
  const { namespace, spec, path } = pod;
  const reasons = refusalsOfPods({ spec, count: 1 }, context.once(limitsOf).get(namespace) ?? []);
  if (reasons.length === 0) return;
  const message = WORDS.namespaceLimitExceeded({ namespace, reasons: reasons.join(", ") });
  yield { at: { path }, message, fix: WORDS.adviceNamespaceLimit };
});

/** Kubernetes refuses it at the kubelet: the pod's os and its node selector contradict each other. */
const OS_MISMATCH = rule("pod-os-mismatch", "kubernetes", function* (document, context) {
  const pod = context.podOf(document);
  const os = pod === undefined ? undefined : textAt(pod.spec, "os", "name");
  if (pod === undefined || os === undefined) return;
  for (const label of ["kubernetes.io/os", "beta.kubernetes.io/os"]) {
    const selected = textAt(pod.spec, "nodeSelector", label);
    if (selected !== undefined && selected !== os)
      yield {
        at: { path: [...pod.path, "nodeSelector", label] },
        message: WORDS.osNameContradictsNodeSelector({ os, selected }),
      };
  }
});

export const POD_RULES: readonly LintRule[] = [
  HOST_NETWORK,
  HOST_NETWORK_DNS,
  HOST_PROCESS_NETWORK,
  HOST_PROCESS_MIXED,
  HOST_PORT,
  HOST_PORT_CONFLICT,
  RESOLV_CONF,
  DNS_OPTIONS,
  SEARCHES,
  SYSCTLS,
  VOLUMES,
  CAPABILITIES,
  NO_SELECTOR,
  ...IMAGE_RULES,
  SAME_PORT,
  PROBE_PORT,
  MESH_SIDECAR,
  POD_SECURITY,
  NAMESPACE_LIMIT,
  OS_MISMATCH,
];
