/** Faults of pods and workloads that no packet meets, and for which an API server refuses the object; its own sentences. */
import { describe, expect, it } from "vitest";
import { loadManifests } from "../load-manifests.ts";

type Body = Readonly<Record<string, unknown>>;

const VERSIONS: Readonly<Record<string, string>> = {
  Pod: "v1",
  Service: "v1",
  Job: "batch/v1",
  CronJob: "batch/v1",
};

function problemsOf(kind: string, spec: Body, metadata: Body = {}): readonly string[] {
  const object = {
    apiVersion: VERSIONS[kind] ?? "apps/v1",
    kind,
    metadata: { name: "a", ...metadata },
    spec,
  };
  const { problems, objects } = loadManifests([{ name: "a.json", text: JSON.stringify(object) }]);
  expect(objects).toHaveLength(problems.length === 0 ? 1 : 0);
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

const container = (fields: Body): Body => ({ containers: [{ name: "c", image: "i", ...fields }] });
const CONTAINER = "spec.containers[0]";
const REFERRED = { name: "x", key: "k" };

describe("of a container", () => {
  it.each<readonly [what: string, fields: Body, problem: string]>([
    [
      "a variable that is a number",
      { env: [{ name: "PORT", value: 8080 }] },
      `${CONTAINER}.env[0].value: must be text, but is the number 8080`,
    ],
    ["a variable without a name", { env: [{ value: "1" }] }, `${CONTAINER}.env[0].name: Required value`],
    [
      "a command that is text",
      { command: "run" },
      `${CONTAINER}.command: must be a list, but is the text "run"`,
    ],
    [
      "an argument that is a number",
      { args: [80] },
      `${CONTAINER}.args[0]: must be text, but is the number 80`,
    ],
    [
      "a pull policy in capitals",
      { imagePullPolicy: "ALWAYS" },
      `${CONTAINER}.imagePullPolicy: Unsupported value: "ALWAYS": supported values: "Always", "IfNotPresent", "Never"`,
    ],
    [
      "a probe of nothing",
      { readinessProbe: { periodSeconds: 5 } },
      `${CONTAINER}.readinessProbe: Required value: must specify a handler type`,
    ],
    [
      "a probe of two things",
      { livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 80 } } },
      `${CONTAINER}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
    ],
    [
      "a probe without a port",
      { readinessProbe: { httpGet: { path: "/" } } },
      `${CONTAINER}.readinessProbe.httpGet.port: Required value`,
    ],
    [
      "a probe's port as text",
      { readinessProbe: { tcpSocket: { port: "80" } } },
      `${CONTAINER}.readinessProbe.tcpSocket.port: Invalid value: "80": must contain at least one letter (a-z)`,
    ],
    [
      "a probe's time below zero",
      { readinessProbe: { tcpSocket: { port: 80 }, timeoutSeconds: -1 } },
      `${CONTAINER}.readinessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0`,
    ],
    [
      "a quantity with a word",
      { resources: { limits: { memory: "1 gigabyte" } } },
      `${CONTAINER}.resources.limits.memory: must be a quantity, such as 500m or 1Gi, but is the text "1 gigabyte"`,
    ],
    [
      "more asked than allowed",
      { resources: { limits: { cpu: "500m" }, requests: { cpu: 1 } } },
      `${CONTAINER}.resources.requests.cpu: Invalid value: 1: must be less than or equal to cpu limit of 500m`,
    ],
    [
      "a resource of nobody",
      { resources: { limits: { ram: "1Gi" } } },
      `${CONTAINER}.resources.limits.ram: Invalid value: "ram": must be a standard resource type or fully qualified`,
    ],
    [
      "a variable from nowhere",
      { env: [{ name: "A", valueFrom: {} }] },
      `${CONTAINER}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\` or \`secretKeyRef\``,
    ],
    [
      "a variable from two places",
      { env: [{ name: "A", valueFrom: { configMapKeyRef: REFERRED, secretKeyRef: REFERRED } }] },
      `${CONTAINER}.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time`,
    ],
    [
      "a variable with a value and a place",
      { env: [{ name: "A", value: "1", valueFrom: { secretKeyRef: REFERRED } }] },
      `${CONTAINER}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
    ],
    [
      "a key that nobody names",
      { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "x" } } }] },
      `${CONTAINER}.env[0].valueFrom.secretKeyRef.key: Required value`,
    ],
    [
      "a field that pods do not have",
      { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "status.nodeIP" } } }] },
      `${CONTAINER}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "status.nodeIP": error converting fieldPath: field label not supported: status.nodeIP`,
    ],
    [
      "variables from nowhere",
      { envFrom: [{ prefix: "A_" }] },
      `${CONTAINER}.envFrom[0]: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
    ],
    [
      "a message that nobody takes",
      { terminationMessagePolicy: "Always" },
      `${CONTAINER}.terminationMessagePolicy: Unsupported value: "Always": supported values: "FallbackToLogsOnError", "File"`,
    ],
    [
      "a profile without a type",
      { securityContext: { seccompProfile: {} } },
      `${CONTAINER}.securityContext.seccompProfile.type: Required value`,
    ],
    [
      "a hook without a port",
      { lifecycle: { preStop: { httpGet: { path: "/bye" } } } },
      `${CONTAINER}.lifecycle.preStop.httpGet.port: Required value`,
    ],
    [
      "a mount without its volume",
      { volumeMounts: [{ name: "data", mountPath: "C:\\data" }] },
      `${CONTAINER}.volumeMounts[0].name: Not found: "data"`,
    ],
  ])("%s is refused", (_, fields, problem) => {
    expect(problemsOf("Pod", container(fields))).toEqual([problem]);
  });

  it.each<readonly [what: string, fields: Body]>([
    ["a named port of a probe", { readinessProbe: { httpGet: { port: "http", scheme: "HTTPS" } } }],
    [
      "quantities of all forms",
      {
        resources: {
          limits: { cpu: 2, memory: "1.5Gi", "example.com/gpu": "1" },
          requests: { cpu: "100m", memory: "1e6" },
        },
      },
    ],
    [
      "a variable from elsewhere",
      { env: [{ name: "A.B", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }] },
    ],
    [
      "a variable with one of the pod's labels",
      { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels['example.com/app']" } } }] },
    ],
    ["a hook that sleeps", { lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
    ["an empty protocol, which is TCP", { ports: [{ containerPort: 80, protocol: "" }] }],
  ])("%s is taken", (_, fields) => {
    expect(problemsOf("Pod", container(fields))).toEqual([]);
  });

  it("nothing is said of a pod that a server has shown, for people cut parts out", () => {
    const pod = container({ volumeMounts: [{ name: "token", mountPath: "/x" }] });
    expect(problemsOf("Pod", pod, { uid: "5e3b" })).toEqual([]);
  });
});

describe("of a pod", () => {
  it.each<readonly [what: string, volume: Body, problem: string]>([
    ["nothing of a folder", { hostPath: {} }, "hostPath.path: Required value"],
    [
      "a folder of another kind",
      { hostPath: { path: "C:\\data", type: "Folder" } },
      'hostPath.type: Unsupported value: "Folder": supported values: "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
    [
      "a folder above it",
      { hostPath: { path: "C:/data/../k" } },
      "hostPath.path: Invalid value: \"C:/data/../k\": must not contain '..'",
    ],
    ["a ConfigMap without a name", { configMap: { items: [] } }, "configMap.name: Required value"],
    ["a Secret by the wrong field", { secret: {} }, "secret.secretName: Required value"],
    [
      "a claim without a name",
      { persistentVolumeClaim: {} },
      "persistentVolumeClaim.claimName: Required value",
    ],
    [
      "a file without a path",
      { configMap: { name: "x", items: [{ key: "k" }] } },
      "configMap.items[0].path: Required value",
    ],
    [
      "modes in decimal digits",
      { secret: { secretName: "x", defaultMode: 755 } },
      "secret.defaultMode: Invalid value: 755: must be a number between 0 and 0777 (octal), both inclusive",
    ],
    [
      "two things at once",
      { emptyDir: {}, configMap: { name: "x" } },
      "configMap: Forbidden: may not specify more than 1 volume type",
    ],
    [
      "nothing of the pod",
      { downwardAPI: { items: [{ path: "labels" }] } },
      "downwardAPI.items[0]: Required value: one of fieldRef and resourceFieldRef is required",
    ],
  ])("a volume of %s is refused", (_, volume, problem) => {
    const spec = { ...container({}), volumes: [{ name: "v", ...volume }] };
    expect(problemsOf("Pod", spec)).toEqual([`spec.volumes[0].${problem}`]);
  });

  it.each<readonly [what: string, volume: Body]>([
    ["nothing, which is an empty folder", {}],
    [
      "all labels",
      { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
    ],
    [
      "a token",
      { projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] } },
    ],
    ["a disk of a cloud", { azureDisk: { diskName: "d", diskURI: "u" } }],
  ])("a volume of %s is taken", (_, volume) => {
    expect(problemsOf("Pod", { ...container({}), volumes: [{ name: "v", ...volume }] })).toEqual([]);
  });

  it.each<readonly [what: string, spec: Body, problem: string]>([
    [
      "an account with capitals",
      { serviceAccountName: "Web" },
      "spec.serviceAccountName: Invalid value: \"Web\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    ],
    [
      "pods apart from each other, nobody says where",
      {
        affinity: {
          podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {} }] },
        },
      },
      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value",
    ],
    [
      "pods spread, nobody says how far",
      { topologySpreadConstraints: [{ topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }] },
      "spec.topologySpreadConstraints[0].maxSkew: Required value",
    ],
    [
      "a user below zero",
      { securityContext: { runAsUser: -1 } },
      "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ],
  ])("%s: refused", (_, spec, problem) => {
    expect(problemsOf("Pod", { ...container({}), ...spec })).toEqual([problem]);
  });
});

// `validateWindows` and `validateLinux`; a real kube-apiserver 1.34 said the same of each.
describe("of a pod that names its system", () => {
  const WINDOWS = { os: { name: "windows" } };
  const forbidden = (path: string): string => `${path}: Forbidden: cannot be set for a windows pod`;

  it.each<readonly [field: string, value: unknown]>([
    ["appArmorProfile", { type: "RuntimeDefault" }],
    ["seLinuxOptions", { level: "s0" }],
    ["seccompProfile", { type: "RuntimeDefault" }],
    ["runAsUser", 1000],
    ["runAsGroup", 0],
    ["fsGroup", 2000],
    ["fsGroupChangePolicy", "Always"],
    ["sysctls", [{ name: "net.core.somaxconn", value: "1024" }]],
    ["supplementalGroups", [1]],
    ["supplementalGroupsPolicy", "Strict"],
    ["seLinuxChangePolicy", "Recursive"],
  ])("securityContext.%s is refused on Windows, and taken without a system", (field, value) => {
    const spec = { ...container({}), securityContext: { [field]: value } };
    expect(problemsOf("Pod", { ...spec, ...WINDOWS })).toEqual([forbidden(`spec.securityContext.${field}`)]);
    expect(problemsOf("Pod", spec)).toEqual([]);
  });

  it.each<readonly [field: string, value: unknown]>([
    ["capabilities", { drop: ["ALL"] }],
    ["readOnlyRootFilesystem", false],
    ["privileged", false],
    ["allowPrivilegeEscalation", false],
    ["procMount", "Default"],
    ["runAsUser", 1000],
  ])("a container's securityContext.%s is refused on Windows, and taken without a system", (field, value) => {
    const spec = container({ securityContext: { [field]: value } });
    expect(problemsOf("Pod", { ...spec, ...WINDOWS })).toEqual([
      forbidden(`${CONTAINER}.securityContext.${field}`),
    ]);
    expect(problemsOf("Pod", spec)).toEqual([]);
  });

  it.each<readonly [field: string, value: boolean, isTaken: boolean]>([
    ["hostPID", true, false],
    ["hostPID", false, true],
    ["hostIPC", true, false],
    ["shareProcessNamespace", false, false],
    ["hostUsers", false, false],
  ])("%s: %s (taken: %s)", (field, value, isTaken) => {
    const problems = problemsOf("Pod", { ...container({}), ...WINDOWS, [field]: value });
    expect(problems).toEqual(isTaken ? [] : [forbidden(`spec.${field}`)]);
  });

  it("Windows' options are refused on Linux, of a container, too", () => {
    const spec = container({ securityContext: { windowsOptions: { runAsUserName: "ContainerUser" } } });
    expect(problemsOf("Pod", { ...spec, os: { name: "linux" } })).toEqual([
      `${CONTAINER}.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod`,
    ]);
  });
});

const TEMPLATE = { metadata: { labels: { app: "a" } }, spec: container({}) };
const SELECTED = { selector: { matchLabels: { app: "a" } }, template: TEMPLATE };
const JOB = { template: { spec: { ...container({}), restartPolicy: "Never" } } };
const CLAIM = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const cron = (schedule: string): Body => ({ schedule, jobTemplate: { spec: JOB } });

describe("of a workload", () => {
  it.each<readonly [what: string, kind: string, spec: Body, problem: string]>([
    [
      "a share without its sign",
      "Deployment",
      { ...SELECTED, strategy: { rollingUpdate: { maxSurge: "25" } } },
      "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"25\": a valid percent string must be a numeric string followed by an ending '%'",
    ],
    [
      "Recreate step by step",
      "Deployment",
      { ...SELECTED, strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } },
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      "a deadline before it is ready",
      "Deployment",
      { ...SELECTED, minReadySeconds: 60, progressDeadlineSeconds: 60 },
      "spec.progressDeadlineSeconds: Invalid value: 60: must be greater than minReadySeconds",
    ],
    [
      "a strategy that there is not",
      "DaemonSet",
      { ...SELECTED, updateStrategy: { type: "Recreate" } },
      'spec.updateStrategy.type: Unsupported value: "Recreate": supported values: "RollingUpdate", "OnDelete"',
    ],
    [
      "a claim that nobody may write to or read",
      "StatefulSet",
      {
        ...SELECTED,
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { ...CLAIM, accessModes: [] } }],
      },
      "spec.volumeClaimTemplates[0].spec.accessModes: Required value",
    ],
    [
      "a claim of nothing",
      "StatefulSet",
      {
        ...SELECTED,
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }],
      },
      "spec.volumeClaimTemplates[0].spec.resources.requests.storage: Required value",
    ],
    [
      "a name of a Service with a dot",
      "StatefulSet",
      { ...SELECTED, serviceName: "web.shop" },
      "spec.serviceName: Invalid value: \"web.shop\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    ],
    [
      "pods by number without a number",
      "Job",
      { ...JOB, completionMode: "Indexed", parallelism: 2 },
      "spec.completions: Required value: when completion mode is Indexed",
    ],
    [
      "four fields",
      "CronJob",
      cron("0 3 * *"),
      'spec.schedule: Invalid value: "0 3 * *": expected exactly 5 fields, found 4',
    ],
    [
      "hour 24",
      "CronJob",
      cron("0 24 * * *"),
      'spec.schedule: Invalid value: "0 24 * * *": failed to read the field "24"',
    ],
    [
      "day 7 of the week",
      "CronJob",
      cron("0 3 * * 7"),
      'spec.schedule: Invalid value: "0 3 * * 7": failed to read the field "7"',
    ],
  ])("%s is refused", (_, kind, spec, problem) => {
    expect(problemsOf(kind, spec)).toEqual([problem]);
  });

  it.each(["*/5 * * * *", "0 3 1-7,15 jan-MAR mon", "@daily", "@every 1h30m", "5 4 ? * 0"])(
    "the schedule %s is taken",
    (schedule) => {
      expect(problemsOf("CronJob", cron(schedule))).toEqual([]);
    },
  );

  it("a volume of a StatefulSet may come of its claims", () => {
    const mounts = [
      { name: "data", mountPath: "/data" },
      { name: "logs", mountPath: "/logs" },
    ];
    const template = { metadata: { labels: { app: "a" } }, spec: container({ volumeMounts: mounts }) };
    const spec = {
      ...SELECTED,
      template,
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: CLAIM }],
    };
    expect(problemsOf("StatefulSet", spec)).toEqual([
      'spec.template.spec.containers[0].volumeMounts[1].name: Not found: "logs"',
    ]);
  });
});

describe("of a Service", () => {
  it.each<readonly [what: string, spec: Body, problem: string]>([
    ["a family twice", { ipFamilies: ["IPv4", "IPv4"] }, 'spec.ipFamilies[1]: Duplicate value: "IPv4"'],
    [
      "a second address alone",
      { clusterIPs: ["10.0.0.1"] },
      'spec.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified',
    ],
    [
      "a distribution that there is not",
      { trafficDistribution: "Nearest" },
      'spec.trafficDistribution: Unsupported value: "Nearest": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ],
  ])("%s is refused", (_, spec, problem) => {
    expect(problemsOf("Service", { ports: [{ port: 80 }], ...spec })).toEqual([problem]);
  });

  it.each<readonly [what: string, spec: Body]>([
    ["an empty target port, which is the port", { ports: [{ port: 80, targetPort: 0 }] }],
    [
      "a time of affinity without affinity, which is dropped",
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
    ],
  ])("%s is taken", (_, spec) => {
    expect(problemsOf("Service", { ports: [{ port: 80 }], ...spec })).toEqual([]);
  });
});

it("a label without a value has an empty one", () => {
  const text = `apiVersion: v1
kind: Node
metadata:
  name: win-1
  labels: { node-role.kubernetes.io/worker: , kubernetes.io/os: windows }
`;
  const { problems, objects } = loadManifests([{ name: "node.yaml", text }]);
  expect(problems).toEqual([]);
  expect(objects[0]?.object.metadata.labels).toEqual({
    "node-role.kubernetes.io/worker": "",
    "kubernetes.io/os": "windows",
  });
});
