/** Values of pods and workloads. */
import {
  type Bound,
  type Fields,
  x,
  times,
  pod,
  container,
  workload,
  job,
  cron,
  term,
  rowsOfBounds,
} from "./bound.ts";
import type { VerdictRow } from "../server-verdicts.ts";

const BOUNDS: readonly Bound[] = [
  // Pods
  {
    what: "a toleration",
    object: (toleration: Fields) => pod({ tolerations: [toleration] }),
    taken: [
      { operator: "Exists" },
      { key: "a", operator: "Exists", value: "" },
      { key: "a" },
      { key: "a", effect: "NoExecute", tolerationSeconds: 0 },
      { key: "a", value: x(63) },
    ],
    refused: [
      {},
      { operator: "Equal" },
      { key: "", operator: "Equal", value: "b" },
      { key: "a", operator: "Exists", value: "b" },
      { key: "a", effect: "NoSchedule", tolerationSeconds: 5 },
      { key: "a", tolerationSeconds: 5 },
      { key: "a", value: x(64) },
    ],
  },
  {
    what: "the weight of an affinity",
    object: (weight: number) => pod({ affinity: { podAffinity: term(weight) } }),
    taken: [1, 100],
    refused: [0, 101],
  },
  {
    what: "pods spread",
    object: (constraints: readonly Fields[]) =>
      pod({
        topologySpreadConstraints: constraints.map((each) => ({
          maxSkew: 1,
          topologyKey: "zone",
          whenUnsatisfiable: "DoNotSchedule",
          ...each,
        })),
      }),
    taken: [[{}], [{}, { whenUnsatisfiable: "ScheduleAnyway" }], [{}, { topologyKey: "host" }]],
    refused: [[{}, {}], [{ maxSkew: 0 }], [{ whenUnsatisfiable: "Never" }]],
  },
  {
    what: "servers of names",
    object: (count: number) =>
      pod({ dnsPolicy: "None", dnsConfig: { nameservers: times(count, (index) => `10.0.0.${index + 1}`) } }),
    taken: [1, 3],
    refused: [0, 4],
  },
  {
    what: "suffixes of names",
    object: (count: number) => pod({ dnsConfig: { searches: times(count, (index) => `s${index}`) } }),
    taken: [32],
    refused: [33],
  },
  {
    what: "a suffix of names",
    object: (suffix: string) => pod({ dnsConfig: { searches: [suffix] } }),
    taken: [".", "a.b.", "_a.b_c.d"],
    refused: ["a b", "a..", "-a"],
  },
  {
    what: "ports of a host",
    object: (ports: unknown) => container({ ports }),
    taken: [
      [
        { containerPort: 53, hostPort: 53 },
        { containerPort: 53, hostPort: 53, protocol: "UDP" },
      ],
      [
        { containerPort: 80, hostPort: 80, hostIP: "10.0.0.1" },
        { containerPort: 81, hostPort: 80, hostIP: "10.0.0.2" },
      ],
    ],
    refused: [
      [
        { containerPort: 80, hostPort: 80 },
        { containerPort: 81, hostPort: 80 },
      ],
      [
        { containerPort: 80, name: "a" },
        { containerPort: 81, name: "a" },
      ],
    ],
  },
  {
    what: "ports of a pod in the host's network",
    object: (port: Fields) =>
      pod({ hostNetwork: true, containers: [{ name: "c", image: "i", ports: [port] }] }),
    taken: [{ containerPort: 80, hostPort: 80 }, { containerPort: 80 }],
    refused: [{ containerPort: 80, hostPort: 81 }],
  },
  {
    what: "containers of a name",
    object: ([first, second]: readonly [string, string]) =>
      pod({
        initContainers: [{ name: first, image: "i" }],
        containers: [{ name: second, image: "i" }],
      }),
    taken: [
      ["a", "b"],
      ["a", x(63)],
    ],
    refused: [
      ["a", "a"],
      ["a", x(64)],
      ["a", ""],
    ],
  },
  {
    what: "a container in the host's process",
    object: ([isHost, ...processes]: readonly boolean[]) =>
      pod({
        hostNetwork: isHost,
        containers: processes.map((hostProcess, index) => ({
          name: `c${index}`,
          image: "i",
          securityContext: { windowsOptions: { hostProcess } },
        })),
      }),
    taken: [
      [true, true],
      [true, true, true],
      [false, false],
      [true, false],
    ],
    refused: [
      [false, true],
      [true, true, false],
    ],
  },
  {
    what: "a user of Windows",
    object: (runAsUserName: string) => pod({ securityContext: { windowsOptions: { runAsUserName } } }),
    taken: [x(104), "a", "NT AUTHORITY\\NETWORK SERVICE", `${x(15)}\\a`, `a.${x(20)}\\a`, "a.b", "a b"],
    refused: [x(105), "", "a\\b\\c", "a\\", "...", " ", `${x(16)}_\\a`, "\\a", "a\u0001", "a@b", ".a\\b"],
  },
  {
    what: "a profile of seccomp",
    object: (seccompProfile: Fields) => pod({ securityContext: { seccompProfile } }),
    taken: [
      { type: "Localhost", localhostProfile: "a.json" },
      { type: "Localhost", localhostProfile: "" },
      { type: "RuntimeDefault" },
    ],
    refused: [
      { type: "RuntimeDefault", localhostProfile: "a.json" },
      { type: "Localhost" },
      { type: "Localhost", localhostProfile: "/a" },
      { type: "Localhost", localhostProfile: "../a" },
      { type: "Local" },
    ],
  },
  {
    what: "a container that may do everything",
    object: (securityContext: Fields) => container({ securityContext }),
    taken: [
      { privileged: true },
      { privileged: true, allowPrivilegeEscalation: true },
      { allowPrivilegeEscalation: false },
    ],
    refused: [{ privileged: true, allowPrivilegeEscalation: false }],
  },
  {
    what: "a mount",
    object: ([mount, isPrivileged]: readonly [Fields, boolean?]) =>
      container({
        volumeMounts: [{ name: "v", mountPath: "/a", ...mount }],
        securityContext: { privileged: isPrivileged === true },
      }),
    taken: [
      [{}],
      [{ subPath: "a/b" }],
      [{ subPath: "", subPathExpr: "a" }],
      [{ mountPropagation: "Bidirectional" }, true],
      [{ mountPropagation: "HostToContainer" }],
    ],
    refused: [
      [{ subPath: "a", subPathExpr: "b" }],
      [{ subPath: "/a" }],
      [{ subPath: "a/../b" }],
      [{ mountPropagation: "Bidirectional" }],
      [{ mountPath: "" }],
      [{ name: "w" }],
    ],
  },
  {
    what: "places of mounts",
    object: (paths: readonly string[]) =>
      container({ volumeMounts: paths.map((mountPath) => ({ name: "v", mountPath })) }),
    taken: [["/a", "/b"]],
    refused: [["/a", "/a"]],
  },
  {
    what: "volumes of a name",
    object: (names: readonly string[]) => pod({ volumes: names.map((name) => ({ name, emptyDir: {} })) }),
    taken: [["a", "b"]],
    refused: [["a", "a"], ["a.b"]],
  },
  {
    what: "resources",
    object: (resources: Fields) => container({ resources }),
    taken: [
      { limits: { cpu: 0 } },
      { limits: { cpu: "1" }, requests: { cpu: "1000m" } },
      { requests: { "ephemeral-storage": "1Gi" } },
      { limits: { "example.com/a": 1 } },
    ],
    refused: [
      { limits: { cpu: -1 } },
      { limits: { cpu: "1" }, requests: { cpu: "1001m" } },
      { limits: { storage: 1 } },
      { limits: { "a b/c": 1 } },
    ],
  },
  {
    what: "the mode of a file",
    object: (defaultMode: number) => pod({ volumes: [{ name: "v", configMap: { name: "a", defaultMode } }] }),
    taken: [0, 0o777],
    refused: [-1, 0o1000],
  },
  {
    what: "the life of a token",
    object: (expirationSeconds: number) =>
      pod({
        serviceAccountName: "a",
        volumes: [
          { name: "v", projected: { sources: [{ serviceAccountToken: { path: "a", expirationSeconds } }] } },
        ],
      }),
    taken: [600, 2 ** 32],
    refused: [599, 2 ** 32 + 1],
  },
  {
    what: "a volume of a server",
    object: (source: Fields) => pod({ volumes: [{ name: "v", ...source }] }),
    taken: [
      { hostPath: { path: "C:\\data\\..\\k" } },
      { configMap: { name: "a", items: [{ key: "a", path: "a\\..\\b" }] } },
      { nfs: { server: "a", path: "/a" } },
      { csi: { driver: x(63) } },
      { csi: { driver: "A.b" } },
    ],
    refused: [
      { hostPath: { path: "C:/data/../k" } },
      { nfs: { server: "a", path: "a" } },
      { csi: { driver: x(64) } },
      { csi: { driver: "a b" } },
    ],
  },
  {
    what: "the user of a pod",
    object: (runAsUser: number) => pod({ securityContext: { runAsUser } }),
    taken: [0, 2_147_483_647],
    refused: [-1, 2_147_483_648],
  },
  {
    what: "the seconds of a pod",
    object: (activeDeadlineSeconds: number) => pod({ activeDeadlineSeconds }),
    taken: [1, 2_147_483_647],
    refused: [0, 2_147_483_648],
  },
  {
    what: "a handler of a probe",
    object: (livenessProbe: Fields) => container({ livenessProbe }),
    taken: [
      { tcpSocket: { port: 65_535 } },
      { exec: { command: ["a"] }, successThreshold: 1 },
      { grpc: { port: 1 }, terminationGracePeriodSeconds: 1 },
      { httpGet: { port: "web" }, periodSeconds: 0 },
    ],
    refused: [
      { tcpSocket: { port: 65_536 } },
      { exec: {} },
      { grpc: { port: 0 } },
      { exec: { command: ["a"] }, terminationGracePeriodSeconds: 0 },
      { exec: { command: ["a"] }, httpGet: { port: 80 } },
      { httpGet: { port: 80, scheme: "https" } },
    ],
  },
  // Workloads
  {
    what: "what may be too much of a Deployment",
    object: (maxSurge: unknown) => workload("Deployment", { strategy: { rollingUpdate: { maxSurge } } }),
    taken: [0, "0%", "200%", 5],
    refused: [-1, "5", "-5%", "a%"],
  },
  {
    what: "what may be missing of a Deployment",
    object: (maxUnavailable: unknown) =>
      workload("Deployment", { strategy: { rollingUpdate: { maxUnavailable } } }),
    taken: [0, "100%"],
    refused: ["101%", -1],
  },
  {
    what: "the strategy of a Deployment",
    object: (strategy: Fields) => workload("Deployment", { strategy }),
    taken: [
      { type: "Recreate" },
      { rollingUpdate: { maxSurge: 0 } },
      { rollingUpdate: { maxSurge: "0%", maxUnavailable: 1 } },
    ],
    refused: [
      { type: "Recreate", rollingUpdate: { maxSurge: 1 } },
      { rollingUpdate: { maxSurge: "0%", maxUnavailable: "0%" } },
      { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
    ],
  },
  {
    what: "the deadline of a Deployment",
    object: ([minReadySeconds, progressDeadlineSeconds]: readonly [number?, number?]) =>
      workload("Deployment", { minReadySeconds, progressDeadlineSeconds }),
    taken: [[599], [5, 6], [undefined, 1]],
    refused: [[600], [5, 5], [undefined, 0]],
  },
  {
    what: "the strategy of a DaemonSet",
    object: (updateStrategy: Fields) => workload("DaemonSet", { updateStrategy }),
    taken: [
      { rollingUpdate: {} },
      { rollingUpdate: { maxUnavailable: "100%" } },
      { rollingUpdate: { maxSurge: "100%", maxUnavailable: 0 } },
      { type: "OnDelete" },
    ],
    refused: [
      { rollingUpdate: { maxUnavailable: "5" } },
      { rollingUpdate: { maxUnavailable: "101%" } },
      { rollingUpdate: { maxSurge: "101%", maxUnavailable: 0 } },
      { rollingUpdate: { maxSurge: "-5%", maxUnavailable: 0 } },
      { type: "Recreate" },
    ],
  },
  {
    what: "indexes of a Job",
    object: (spec: Fields) => job(spec),
    taken: [
      { completionMode: "Indexed", completions: 2, backoffLimitPerIndex: 1, maxFailedIndexes: 2 },
      { completionMode: "NonIndexed" },
      { completionMode: "Indexed", completions: 0 },
      { completionMode: "Indexed" },
      { completionMode: "Indexed", backoffLimitPerIndex: 1, maxFailedIndexes: 1 },
    ],
    refused: [
      { completionMode: "Indexed", parallelism: 2 },
      { completionMode: "Indexed", backoffLimitPerIndex: 1, maxFailedIndexes: 2 },
      { completionMode: "Indexed", completions: 2, backoffLimitPerIndex: 1, maxFailedIndexes: 3 },
      { completionMode: "Indexed", completions: 2, maxFailedIndexes: 1 },
      { maxFailedIndexes: 1, backoffLimitPerIndex: 1, completions: 2 },
      { successPolicy: { rules: [{ succeededCount: 1 }] } },
    ],
  },
  {
    what: "a selector of a Job by hand",
    object: (manualSelector: boolean) => job({ selector: { matchLabels: { app: "a" } }, manualSelector }),
    taken: [true],
    refused: [false],
  },
  {
    what: "a schedule",
    object: (schedule: string) => cron({ schedule }),
    taken: [
      "0 3 * * *",
      "59 23 31 12 6",
      "0,30 3 * * mon-FRI",
      "*/5 1-5/2 ? jan *",
      "@hourly",
      "@every 1h30m",
      "0 0 1-1 * 0",
    ],
    refused: [
      "60 3 * * *",
      "0 24 * * *",
      "0 3 0 * *",
      "0 3 32 * *",
      "0 3 * 13 *",
      "0 3 * 0 *",
      "0 3 * * 7",
      "0,60 3 * * *",
      "60,0 3 * * *",
      "*/0 3 * * *",
      "5-1 3 * * *",
      "1/2/3 3 * * *",
      "1-2-3 3 * * *",
      "0 mon * * *",
      "0 3 * mon *",
      "0 3 * * jan",
      "0 3 * *",
      "0 3 * * * *",
      "@often",
      "@every soon",
    ],
  },
  {
    what: "a zone of a CronJob",
    object: (timeZone: string) => cron({ timeZone }),
    taken: ["Europe/Berlin", "UTC"],
    refused: ["", "local", "LOCAL"],
  },
  {
    what: "a claim of a StatefulSet",
    object: (spec: Fields) =>
      workload("StatefulSet", {
        serviceName: "s",
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
          },
        ],
      }),
    taken: [{ volumeMode: "Block" }, { storageClassName: "" }],
    refused: [
      { accessModes: [] },
      { accessModes: ["ReadWrite"] },
      { resources: {} },
      { resources: { requests: { storage: 0 } } },
      { resources: { requests: { storage: "" } } },
      { volumeMode: "File" },
    ],
  },
  {
    what: "how a StatefulSet rolls",
    object: (updateStrategy: Fields) => workload("StatefulSet", { serviceName: "s", updateStrategy }),
    taken: [{ rollingUpdate: { partition: 0 } }, { type: "OnDelete" }],
    refused: [
      { rollingUpdate: { partition: -1 } },
      { type: "OnDelete", rollingUpdate: {} },
      { type: "Recreate" },
    ],
  },
];

export const BOUNDS_OF_PODS: readonly VerdictRow[] = rowsOfBounds(BOUNDS);
