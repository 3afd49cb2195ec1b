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
    ["an empty protocol, which is TCP", { ports: [{ containerPort: 80, protocol: "" }] }],
  ])("%s is taken", (_, fields) => {
    expect(problemsOf("Pod", container(fields))).toEqual([]);
  });

  it("nothing is said of a pod that a server has shown, for people cut parts out", () => {
    const pod = container({ volumeMounts: [{ name: "token", mountPath: "/x" }] });
    expect(problemsOf("Pod", pod, { uid: "5e3b" })).toEqual([]);
  });
});

const TEMPLATE = { metadata: { labels: { app: "a" } }, spec: container({}) };
const SELECTED = { selector: { matchLabels: { app: "a" } }, template: TEMPLATE };
const JOB = { template: { spec: { ...container({}), restartPolicy: "Never" } } };
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
      "pods by number without a number",
      "Job",
      { ...JOB, completionMode: "Indexed" },
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

  it.each(["*/5 * * * *", "0 3 1-7,15 jan-MAR mon", "@daily", "@every 1h30m", "TZ=UTC 5 4 ? * 0"])(
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
    const spec = { ...SELECTED, template, volumeClaimTemplates: [{ metadata: { name: "data" } }] };
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
