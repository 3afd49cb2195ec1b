/** Objects of all kinds that Mullion reads, with many of their fields, and ways to change one value of them. */

export type Json = null | boolean | number | string | Json[] | { [field: string]: Json };
export type ObjectOfKind = { apiVersion: string; kind: string; metadata: { [field: string]: Json } } & {
  [field: string]: Json;
};
export type Place = readonly (string | number)[];

function podSpec(restartPolicy = "Always"): Json {
  return {
    nodeSelector: { "kubernetes.io/os": "windows" },
    os: { name: "windows" },
    dnsPolicy: "ClusterFirst",
    restartPolicy,
    hostname: "h",
    subdomain: "s",
    terminationGracePeriodSeconds: 30,
    dnsConfig: { nameservers: ["10.0.0.10"], searches: ["a.b"], options: [{ name: "ndots", value: "5" }] },
    hostAliases: [{ ip: "1.2.3.4", hostnames: ["foo.bar"] }],
    tolerations: [{ key: "os", operator: "Equal", value: "windows", effect: "NoSchedule" }],
    securityContext: { windowsOptions: { runAsUserName: "ContainerUser" } },
    initContainers: [{ name: "init", image: "x" }],
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [
      {
        name: "c",
        image: "nginx:1",
        imagePullPolicy: "Always",
        command: ["a"],
        args: ["b"],
        env: [{ name: "A", value: "b" }],
        ports: [
          { name: "http", containerPort: 80, hostPort: 8080, protocol: "TCP" },
          { containerPort: 53, protocol: "UDP" },
        ],
        resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m", memory: "128Mi" } },
        readinessProbe: {
          httpGet: { path: "/", port: "http", scheme: "HTTP" },
          periodSeconds: 5,
          timeoutSeconds: 1,
          failureThreshold: 3,
          successThreshold: 1,
        },
        livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 1 },
        volumeMounts: [{ name: "v", mountPath: "/x" }],
      },
      { name: "d", image: "busybox" },
    ],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: ["windows"] }] },
          ],
        },
      },
    },
  };
}

const selector = (): Json => ({ matchLabels: { app: "a" } });
const template = (restartPolicy?: string): Json => ({
  metadata: { labels: { app: "a" } },
  spec: podSpec(restartPolicy),
});

/** What a real API server takes as it stands. */
export const OBJECTS: readonly ObjectOfKind[] = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "svc", labels: { a: "b" }, annotations: { "x.y/z": "1" } },
    spec: {
      type: "ClusterIP",
      selector: { app: "a" },
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 } },
      internalTrafficPolicy: "Local",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [
        { name: "http", port: 80, targetPort: 8080, protocol: "TCP" },
        { name: "dns", port: 53, targetPort: "dns", protocol: "UDP", appProtocol: "x.y/z" },
      ],
      externalIPs: ["1.2.3.4"],
      publishNotReadyAddresses: true,
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "svc" },
    spec: {
      type: "LoadBalancer",
      clusterIP: "10.96.3.3",
      clusterIPs: ["10.96.3.3"],
      selector: { app: "a" },
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 30123,
      allocateLoadBalancerNodePorts: true,
      loadBalancerIP: "1.2.3.4",
      loadBalancerClass: "a/b",
      loadBalancerSourceRanges: ["10.0.0.0/8"],
      trafficDistribution: "PreferClose",
      ports: [{ port: 80, nodePort: 30080 }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "svc" },
    spec: { clusterIP: "None", selector: { app: "a" }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "svc" },
    spec: { type: "ExternalName", externalName: "a.b.c" },
  },
  { apiVersion: "v1", kind: "Pod", metadata: { name: "pod" }, spec: podSpec() },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: {
      replicas: 2,
      minReadySeconds: 1,
      revisionHistoryLimit: 1,
      progressDeadlineSeconds: 600,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: "25%" } },
      selector: selector(),
      template: template(),
    },
  },
  {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "d" },
    spec: {
      replicas: 2,
      serviceName: "s",
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "OnDelete" },
      selector: selector(),
      template: template(),
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: {
            accessModes: ["ReadWriteOnce"],
            storageClassName: "fast",
            resources: { requests: { storage: "10Gi" } },
          },
        },
      ],
    },
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "d" },
    spec: {
      updateStrategy: { type: "OnDelete" },
      selector: { matchExpressions: [{ key: "app", operator: "In", values: ["a"] }] },
      template: template(),
    },
  },
  {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "d" },
    spec: { replicas: 2, selector: selector(), template: template() },
  },
  {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j" },
    spec: {
      completions: 2,
      parallelism: 2,
      completionMode: "Indexed",
      backoffLimit: 3,
      template: template("Never"),
    },
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "j" },
    spec: {
      schedule: "*/5 * * * *",
      concurrencyPolicy: "Forbid",
      jobTemplate: { spec: { template: template("Never") } },
    },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "np" },
    spec: {
      podSelector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "k", operator: "Exists" }] },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        {
          from: [
            { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
            { podSelector: {}, namespaceSelector: {} },
          ],
          ports: [
            { port: 80, protocol: "TCP" },
            { port: 1000, endPort: 2000, protocol: "UDP" },
            { port: "http" },
          ],
        },
      ],
      egress: [{ to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "x" } } }] }],
    },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "es", labels: { "kubernetes.io/service-name": "svc" } },
    addressType: "IPv4",
    endpoints: [
      {
        addresses: ["10.1.2.3"],
        conditions: { ready: true, serving: true, terminating: false },
        hostname: "h",
        nodeName: "n",
        zone: "z",
        targetRef: { kind: "Pod", name: "p", namespace: "default" },
        hints: { forZones: [{ name: "z" }] },
      },
    ],
    ports: [{ name: "http", port: 80, protocol: "TCP", appProtocol: "http" }],
  },
  {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "svc" },
    subsets: [
      {
        addresses: [{ ip: "10.1.2.3", hostname: "h", nodeName: "n" }],
        notReadyAddresses: [{ ip: "10.1.2.4" }],
        ports: [{ name: "a", port: 80, protocol: "TCP" }],
      },
    ],
  },
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "cm" }, data: { a: "b" } },
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns", labels: { a: "b" } } },
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n", labels: { "kubernetes.io/os": "windows" } },
    spec: {
      podCIDR: "10.244.1.0/24",
      podCIDRs: ["10.244.1.0/24"],
      taints: [{ key: "os", value: "windows", effect: "NoSchedule" }],
    },
    status: { addresses: [{ type: "InternalIP", address: "1.2.3.4" }] },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "sources" },
    spec: {
      serviceAccountName: "web",
      securityContext: { runAsUser: 1000, fsGroup: 2000, seccompProfile: { type: "RuntimeDefault" } },
      volumes: [
        { name: "folder", hostPath: { path: "/k", type: "Directory" } },
        {
          name: "settings",
          configMap: { name: "x", items: [{ key: "k", path: "a/b", mode: 256 }], defaultMode: 256 },
        },
        { name: "secret", secret: { secretName: "x", items: [{ key: "k", path: "k" }] } },
        { name: "claim", persistentVolumeClaim: { claimName: "data" } },
        {
          name: "all",
          projected: {
            sources: [
              { configMap: { name: "x" } },
              { secret: { name: "x" } },
              { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
              { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
            ],
          },
        },
        { name: "share", azureFile: { secretName: "x", shareName: "y" } },
        { name: "driver", csi: { driver: "disk.csi.azure.com" } },
        { name: "export", nfs: { server: "s", path: "/" } },
      ],
      containers: [
        {
          name: "c",
          image: "nginx:1",
          terminationMessagePolicy: "FallbackToLogsOnError",
          lifecycle: {
            preStop: { httpGet: { path: "/", port: 80 } },
            postStart: { exec: { command: ["a"] } },
          },
          securityContext: { runAsUser: 1, seccompProfile: { type: "Unconfined" } },
          env: [
            { name: "A", valueFrom: { configMapKeyRef: { name: "x", key: "k", optional: true } } },
            { name: "B", valueFrom: { secretKeyRef: { name: "x", key: "k" } } },
            { name: "C", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
            { name: "D", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } },
          ],
          envFrom: [{ configMapRef: { name: "x" } }, { prefix: "A_", secretRef: { name: "x" } }],
        },
      ],
      affinity: {
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 5,
              podAffinityTerm: { topologyKey: "zone", labelSelector: { matchLabels: { a: "b" } } },
            },
          ],
        },
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { a: "b" } } },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "zone",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { a: "b" } },
        },
      ],
    },
  },
];

/** Fields of the security of a pod, of that of a container, and of a pod, each with a value that Linux takes. */
export const FIELDS_OF_LINUX: readonly (readonly [
  of: "pod" | "container" | "spec",
  field: string,
  value: Json,
])[] = [
  ["pod", "appArmorProfile", { type: "RuntimeDefault" }],
  ["pod", "seLinuxOptions", { level: "s0" }],
  ["pod", "seccompProfile", { type: "RuntimeDefault" }],
  ["pod", "runAsUser", 1000],
  ["pod", "runAsGroup", 1000],
  ["pod", "runAsNonRoot", true],
  ["pod", "fsGroup", 1000],
  ["pod", "fsGroupChangePolicy", "Always"],
  ["pod", "sysctls", [{ name: "kernel.shm_rmid_forced", value: "1" }]],
  ["pod", "sysctls", []],
  ["pod", "supplementalGroups", [1]],
  ["pod", "supplementalGroupsPolicy", "Strict"],
  ["container", "appArmorProfile", { type: "RuntimeDefault" }],
  ["container", "seLinuxOptions", { level: "s0" }],
  ["container", "seccompProfile", { type: "RuntimeDefault" }],
  ["container", "capabilities", { drop: ["ALL"] }],
  ["container", "readOnlyRootFilesystem", true],
  ["container", "privileged", false],
  ["container", "allowPrivilegeEscalation", false],
  ["container", "procMount", "Default"],
  ["container", "runAsUser", 1000],
  ["container", "runAsGroup", 1000],
  ["container", "runAsNonRoot", true],
  ["spec", "hostPID", true],
  ["spec", "hostPID", false],
  ["spec", "hostIPC", true],
  ["spec", "shareProcessNamespace", true],
  ["spec", "shareProcessNamespace", false],
  ["spec", "hostUsers", true],
];

/** A pod for a system with one of those fields. */
export function podFor(os: string, [of, field, value]: (typeof FIELDS_OF_LINUX)[number]): ObjectOfKind {
  const container = {
    name: "c",
    image: "i",
    ...(of === "container" && { securityContext: { [field]: value } }),
  };
  const spec = {
    os: { name: os },
    containers: [container],
    ...(of === "pod" && { securityContext: { [field]: value } }),
    ...(of === "spec" && { [field]: value }),
  };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "pod" }, spec };
}

const SAFE: Json = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

/** Changes of a pod that `restricted` takes, and whose places are those that Pod Security looks at. */
export const SECURED_CHANGES: readonly Json[] = [
  { hostNetwork: true },
  { hostPID: true },
  { hostIPC: true },
  { volumes: [{ name: "v", hostPath: { path: "/x" } }] },
  { volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] },
  { volumes: [{ name: "v", emptyDir: {} }] },
  { volumes: [{ name: "v" }] },
  { securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } },
  { securityContext: { sysctls: [{ name: "net.ipv4.tcp_rmem", value: "1" }] } },
  { securityContext: { windowsOptions: { hostProcess: true } }, hostNetwork: true },
  { securityContext: { runAsNonRoot: false } },
  { securityContext: { runAsUser: 0 } },
  { securityContext: { seccompProfile: { type: "Unconfined" } } },
  { securityContext: { seLinuxOptions: { type: "spc_t" } } },
  { securityContext: { appArmorProfile: { type: "Unconfined" } } },
  { os: { name: "windows" } },
];
export const SECURED_CONTAINER_CHANGES: readonly Readonly<Record<string, Json>>[] = [
  {},
  { securityContext: {} },
  { securityContext: { ...SAFE, privileged: true, allowPrivilegeEscalation: true } },
  { securityContext: { ...SAFE, allowPrivilegeEscalation: true } },
  { securityContext: { ...SAFE, capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } } },
  { securityContext: { ...SAFE, capabilities: { add: ["NET_ADMIN"] } } },
  { securityContext: { ...SAFE, capabilities: { drop: ["all"], add: ["CHOWN"] } } },
  { securityContext: { ...SAFE, runAsNonRoot: false } },
  { securityContext: { ...SAFE, runAsUser: 0 } },
  { securityContext: { ...SAFE, seccompProfile: { type: "Unconfined" } } },
  { securityContext: { ...SAFE, procMount: "Default" } },
  { securityContext: { ...SAFE, seLinuxOptions: { type: "container_t", user: "u" } } },
  { securityContext: { ...SAFE, appArmorProfile: { type: "Unconfined" } } },
  { securityContext: { runAsNonRoot: true } },
  { securityContext: SAFE, ports: [{ containerPort: 80, hostPort: 80 }] },
  { securityContext: SAFE, readinessProbe: { httpGet: { port: 80, host: "a" } } },
  { securityContext: SAFE, lifecycle: { preStop: { httpGet: { port: 80, host: "a" } } } },
];

/** A pod of two containers, of which `restricted` takes the second. */
export function securedPod(change: Json, container: Readonly<Record<string, Json>>): ObjectOfKind {
  const containers = [
    { name: "c", image: "i", securityContext: SAFE, ...container },
    { name: "d", image: "i", securityContext: SAFE },
  ];
  const spec = { containers, ...(change as Readonly<Record<string, Json>>) };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "pod" }, spec };
}

/** All places of an object but its version and kind. */
export function* placesOf(value: Json, at: Place = []): Generator<Place> {
  if (at.length > 0) yield at;
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* placesOf(item, [...at, index]);
  else if (value !== null && typeof value === "object")
    for (const [name, field] of Object.entries(value))
      if (at.length > 0 || (name !== "apiVersion" && name !== "kind")) yield* placesOf(field, [...at, name]);
}

export function valueAt(value: Json, place: Place): Json {
  return place.reduce((at: Json, step) => (at as Record<string | number, Json>)[step] ?? null, value);
}

type Change = readonly [what: string, value: Json | undefined];

const OF_TEXT = (text: string): readonly Change[] => [
  ["empty", ""],
  ["in capitals", text.toUpperCase()],
  ["with an underscore", `${text}_`],
  ["with a space", `${text} `],
  ["with a hyphen first", `-${text}`],
  ["long", text + "a".repeat(64)],
  ["very long", "a".repeat(254)],
  ["of other letters", "Foo/bar:baz"],
  ["with two dots", `${text}..x`],
  ["in digits", "123"],
  ["with an accent", `${text}é`],
  ["with a length", `${text}/33`],
  ["a number", 5],
  ["a truth value", true],
  ["a mapping", {}],
];
const OF_NUMBER = (number: number): readonly Change[] => [
  ["zero", 0],
  ["one", 1],
  ["below zero", -1],
  ["the last port", 65_535],
  ["no port", 65_536],
  ["too large", 3_000_000_000],
  ["a half more", number + 0.5],
  ["as text", String(number)],
  ["a word", "abc"],
  ["a list", []],
];

/** What to put in a value's place; undefined: nothing. */
export function changesOf(value: Json): readonly Change[] {
  const all: readonly Change[] = [
    ["removed", undefined],
    ["null", null],
  ];
  if (typeof value === "string") return [...all, ...OF_TEXT(value)];
  if (typeof value === "number") return [...all, ...OF_NUMBER(value)];
  if (typeof value === "boolean")
    return [...all, ["the other", !value], ["as text", String(value)], ["one", 1]];
  if (Array.isArray(value))
    return [...all, ["empty", []], ["twice", [...value, ...value]], ["a mapping", {}], ["text", "x"]];
  return [
    ...all,
    ["empty", {}],
    ["a list", []],
    ["text", "x"],
    ["with a bad key", { ...value, "Bad Key!": "x" }],
    ["with a number", { ...value, x: 5 }],
  ];
}

/** The object with one value changed. */
export function changed(object: ObjectOfKind, place: Place, value: Json | undefined): ObjectOfKind {
  const copy = structuredClone(object);
  const parent = valueAt(copy, place.slice(0, -1)) as Record<string | number, Json>;
  const last = place.at(-1) ?? 0;
  if (value !== undefined) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return copy;
}
