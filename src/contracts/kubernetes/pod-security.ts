/**
 * Pod Security Admission: what the level that a Namespace enforces forbids its pods (k8s.io/pod-security-admission 0.34,
 * `policy`; kubernetes.io, concepts/security/pod-security-standards). Levels of versions before 1.25, and what is asked
 * less of pods in a user namespace, are not told apart.
 */
import { type Fields, isFields, listOf, mappingOf, mappingsIn } from "#core/base/json.ts";

type Texts = Readonly<Record<string, string>>;

/** A pod or a template of pods: its annotations, and its spec as somebody wrote it. */
export interface SecuredPod {
  readonly annotations: Texts;
  readonly spec: Fields;
}

type Level = "baseline" | "restricted";

/** What a Namespace enforces. */
export interface PodSecurity {
  readonly level: Level;
  /** As its label says: `latest`, `v1.30`. */
  readonly version: string;
}

/** What the labels of a Namespace enforce; undefined: nothing. */
export function podSecurityOf(labels: Texts): PodSecurity | undefined {
  const level = labels["pod-security.kubernetes.io/enforce"];
  const version = labels["pod-security.kubernetes.io/enforce-version"] ?? "latest";
  return level === "baseline" || level === "restricted" ? { level, version } : undefined;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found: unknown = value;
  for (const name of path) found = mappingOf(found)[name];
  return found;
}

function containersOf(spec: Fields): readonly Fields[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((field) => mappingsIn(spec[field]));
}

function quoted(names: readonly unknown[]): string {
  return names.map((name) => JSON.stringify(String(name))).join(", ");
}

function named(noun: string, holders: readonly Fields[]): string {
  return `${noun}${holders.length > 1 ? "s" : ""} ${quoted(holders.map(({ name }) => name))}`;
}

/** The pod and the containers of which something holds; undefined: of none. */
function setters(spec: Fields, isBad: (security: unknown) => boolean): string | undefined {
  const containers = containersOf(spec).filter((container) => isBad(container["securityContext"]));
  const who = [
    ...(isBad(spec["securityContext"]) ? ["pod"] : []),
    ...(containers.length > 0 ? [named("container", containers)] : []),
  ];
  return who.length > 0 ? who.join(" and ") : undefined;
}

/** Those of a container alone. */
function containersWith(spec: Fields, isBad: (container: Fields) => boolean): string | undefined {
  const containers = containersOf(spec).filter(isBad);
  return containers.length > 0 ? named("container", containers) : undefined;
}

interface Control {
  readonly level: Level;
  /** Of two with one subject the level `restricted` asks its own. */
  readonly subject?: "capabilities" | "seccomp" | "volumes";
  /** Holds from this minor version of Kubernetes 1 on. */
  readonly since?: number;
  /** Nothing is asked of pods that say that they are for Windows. */
  readonly isForLinux?: true;
  /** Why a pod is refused. */
  readonly refuses: (pod: SecuredPod, minor: number) => string | undefined;
}

const CAPABILITIES: readonly unknown[] = [
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
];

function added(container: Fields): readonly unknown[] {
  return listOf(at(container, "securityContext", "capabilities", "add"));
}

/** With the version of Kubernetes 1 that allows it. */
const SYSCTLS: Readonly<Record<string, number>> = {
  "kernel.shm_rmid_forced": 0,
  "net.ipv4.ip_local_port_range": 0,
  "net.ipv4.tcp_syncookies": 0,
  "net.ipv4.ping_group_range": 0,
  "net.ipv4.ip_unprivileged_port_start": 0,
  "net.ipv4.ip_local_reserved_ports": 27,
  "net.ipv4.tcp_keepalive_time": 29,
  "net.ipv4.tcp_fin_timeout": 29,
  "net.ipv4.tcp_keepalive_intvl": 29,
  "net.ipv4.tcp_keepalive_probes": 29,
  "net.ipv4.tcp_rmem": 32,
  "net.ipv4.tcp_wmem": 32,
};

const SELINUX_TYPES: readonly unknown[] = [
  undefined,
  "",
  "container_t",
  "container_init_t",
  "container_kvm_t",
  "container_engine_t",
];

/** Volumes that the level `restricted` leaves. */
const VOLUMES: readonly string[] = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

/** Hosts of probes and hooks of a container. */
function hostsOf(container: Fields): readonly unknown[] {
  const handlers = [
    container["livenessProbe"],
    container["readinessProbe"],
    container["startupProbe"],
    at(container, "lifecycle", "postStart"),
    at(container, "lifecycle", "preStop"),
  ];
  return handlers
    .flatMap((handler) => [at(handler, "httpGet", "host"), at(handler, "tcpSocket", "host")])
    .filter((host) => host !== undefined && host !== "");
}

function because(who: string | undefined, reason: string, rest: string): string | undefined {
  return who === undefined ? undefined : `${reason} (${who} ${rest})`;
}

const isProfile = (type: unknown): boolean => type === "RuntimeDefault" || type === "Localhost";
const isOtherProfile = (type: unknown): boolean => type !== undefined && !isProfile(type);

/** Something of the pod or of each of its containers must be so. */
function everywhere(spec: Fields, isSo: (security: unknown) => boolean): string | undefined {
  if (isSo(spec["securityContext"])) return undefined;
  return containersWith(spec, ({ securityContext }) => !isSo(securityContext));
}

const CONTROLS: readonly Control[] = [
  {
    level: "baseline",
    refuses: ({ spec, annotations }) => {
      const isBad = (security: unknown): boolean => isOtherProfile(at(security, "appArmorProfile", "type"));
      const marks = Object.entries(annotations).filter(
        ([key, value]) =>
          key.startsWith("container.apparmor.security.beta.kubernetes.io/") &&
          !/^(?:$|runtime\/default$|localhost\/)/.test(value),
      );
      const who = setters(spec, isBad) ?? (marks.length > 0 ? "an annotation" : undefined);
      return because(who, "forbidden AppArmor profile", "must not set another AppArmor profile");
    },
  },
  {
    level: "baseline",
    subject: "capabilities",
    refuses: ({ spec }) => {
      const who = containersWith(spec, (container) =>
        added(container).some((name) => !CAPABILITIES.includes(name)),
      );
      return because(who, "non-default capabilities", "must not add them");
    },
  },
  {
    level: "baseline",
    refuses: ({ spec }) => {
      const fields = ["hostNetwork", "hostPID", "hostIPC"].filter((field) => spec[field] === true);
      return fields.length > 0
        ? `host namespaces (${fields.map((field) => `${field}=true`).join(", ")})`
        : undefined;
    },
  },
  {
    level: "baseline",
    subject: "volumes",
    refuses: ({ spec }) => {
      const volumes = mappingsIn(spec["volumes"]).filter(({ hostPath }) => isFields(hostPath));
      return volumes.length > 0 ? `hostPath volumes (${named("volume", volumes)})` : undefined;
    },
  },
  {
    level: "baseline",
    refuses: ({ spec }) => {
      const portsOf = (container: Fields): readonly unknown[] =>
        mappingsIn(container["ports"]).flatMap(({ hostPort }) =>
          hostPort === undefined || hostPort === 0 ? [] : [hostPort],
        );
      const ports = containersOf(spec).flatMap(portsOf);
      const who = containersWith(spec, (container) => portsOf(container).length > 0);
      return because(who, "hostPort", `must not use hostPort ${ports.join(", ")}`);
    },
  },
  {
    level: "baseline",
    since: 34,
    refuses: ({ spec }) => {
      const who = containersWith(spec, (container) => hostsOf(container).length > 0);
      const hosts = containersOf(spec).flatMap(hostsOf);
      return because(who, "probe or lifecycle host", `must not name the host ${quoted(hosts)}`);
    },
  },
  {
    level: "baseline",
    refuses: ({ spec }) =>
      because(
        containersWith(spec, (container) => at(container, "securityContext", "privileged") === true),
        "privileged",
        "must not set securityContext.privileged=true",
      ),
  },
  {
    level: "baseline",
    refuses: ({ spec }) => {
      const who = containersWith(spec, (container) => {
        const mount = at(container, "securityContext", "procMount");
        return mount !== undefined && mount !== "Default";
      });
      return because(who, "procMount", "must not set securityContext.procMount to another than Default");
    },
  },
  {
    level: "baseline",
    refuses: ({ spec }) => {
      const who = setters(spec, (security) => {
        const { type, user = "", role = "" } = (at(security, "seLinuxOptions") ?? {}) as Fields;
        return !SELINUX_TYPES.includes(type) || user !== "" || role !== "";
      });
      return because(who, "seLinuxOptions", "set forbidden securityContext.seLinuxOptions");
    },
  },
  {
    level: "baseline",
    subject: "seccomp",
    refuses: ({ spec }) => {
      const who = setters(spec, (security) => isOtherProfile(at(security, "seccompProfile", "type")));
      return because(who, "seccompProfile", "must not set securityContext.seccompProfile.type to Unconfined");
    },
  },
  {
    level: "baseline",
    refuses: ({ spec }, minor) => {
      const names = mappingsIn(at(spec, "securityContext", "sysctls")).map(({ name }) => String(name));
      const forbidden = names.filter((name) => !((SYSCTLS[name] ?? Number.NaN) <= minor));
      return forbidden.length > 0 ? `forbidden sysctls (${forbidden.join(", ")})` : undefined;
    },
  },
  {
    level: "baseline",
    refuses: ({ spec }) =>
      because(
        setters(spec, (security) => at(security, "windowsOptions", "hostProcess") === true),
        "hostProcess",
        "must not set securityContext.windowsOptions.hostProcess=true",
      ),
  },
  {
    level: "restricted",
    isForLinux: true,
    refuses: ({ spec }) => {
      const who = containersWith(
        spec,
        (container) => at(container, "securityContext", "allowPrivilegeEscalation") !== false,
      );
      const rest = "must set securityContext.allowPrivilegeEscalation=false";
      return because(who, "allowPrivilegeEscalation != false", rest);
    },
  },
  {
    level: "restricted",
    subject: "capabilities",
    isForLinux: true,
    refuses: ({ spec }) => {
      const who = containersWith(spec, (container) => {
        const drop = at(container, "securityContext", "capabilities", "drop");
        const isAllDropped = Array.isArray(drop) && drop.includes("ALL");
        return !isAllDropped || added(container).some((name) => name !== "NET_BIND_SERVICE");
      });
      const rest = 'must set securityContext.capabilities.drop=["ALL"], and add NET_BIND_SERVICE at most';
      return because(who, "unrestricted capabilities", rest);
    },
  },
  {
    level: "restricted",
    subject: "volumes",
    refuses: ({ spec }) => {
      const volumes = mappingsIn(spec["volumes"]).filter((volume) =>
        Object.keys(volume).some((field) => field !== "name" && !VOLUMES.includes(field)),
      );
      return volumes.length > 0 ? `restricted volume types (${named("volume", volumes)})` : undefined;
    },
  },
  {
    level: "restricted",
    refuses: ({ spec }) => {
      const bad = setters(spec, (security) => at(security, "runAsNonRoot") === false);
      const who = bad ?? everywhere(spec, (security) => at(security, "runAsNonRoot") === true);
      return because(who, "runAsNonRoot != true", "must set securityContext.runAsNonRoot=true");
    },
  },
  {
    level: "restricted",
    refuses: ({ spec }) =>
      because(
        setters(spec, (security) => at(security, "runAsUser") === 0),
        "runAsUser=0",
        "must not set runAsUser=0",
      ),
  },
  {
    level: "restricted",
    subject: "seccomp",
    isForLinux: true,
    refuses: ({ spec }) => {
      const typeOf = (security: unknown): unknown => at(security, "seccompProfile", "type");
      const bad = setters(spec, (security) => isOtherProfile(typeOf(security)));
      const who = bad ?? everywhere(spec, (security) => isProfile(typeOf(security)));
      const rest = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
      return because(who, "seccompProfile", rest);
    },
  },
];

const NEWEST = Number.POSITIVE_INFINITY;

function controlsOf(level: Level): readonly Control[] {
  const baseline = CONTROLS.filter((control) => control.level === "baseline");
  if (level === "baseline") return baseline;
  const restricted = CONTROLS.filter((control) => control.level === "restricted");
  const own = restricted.flatMap(({ subject }) => subject ?? []);
  return [
    ...baseline.filter(({ subject }) => subject === undefined || !own.includes(subject)),
    ...restricted,
  ];
}

/** Why a level refuses a pod, control by control; empty: it does not. */
export function podSecurityViolations(pod: SecuredPod, { level, version }: PodSecurity): readonly string[] {
  const minor = Number(/^v1\.(\d+)$/.exec(version)?.[1] ?? NEWEST);
  const isForWindows = at(pod.spec, "os", "name") === "windows";
  return controlsOf(level)
    .filter(({ since = 0, isForLinux }) => since <= minor && !(isForWindows && isForLinux === true))
    .flatMap(({ refuses }) => refuses(pod, minor) ?? []);
}
