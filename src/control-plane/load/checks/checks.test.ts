/** What the API server refuses, field by field; the sentences are those of Kubernetes' own validation. */
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { loadManifests } from "../load-manifests.ts";

type Body = Readonly<Record<string, unknown>>;

const API_VERSIONS: Readonly<Record<string, string>> = {
  Deployment: "apps/v1",
  StatefulSet: "apps/v1",
  Job: "batch/v1",
  CronJob: "batch/v1",
  EndpointSlice: "discovery.k8s.io/v1",
  NetworkPolicy: "networking.k8s.io/v1",
};

/** The problems of an object, each as `path: message`. */
function problemsOf(kind: string, body: Body, metadata: Body = {}): string[] {
  const apiVersion = API_VERSIONS[kind] ?? "v1";
  const text = stringify(
    { apiVersion, kind, metadata: { name: "a", ...metadata }, ...body },
    { version: "1.1" },
  );
  const { problems, objects } = loadManifests([{ name: "a.yaml", text }]);
  expect(objects).toHaveLength(problems.length === 0 ? 1 : 0);
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

const POD = { containers: [{ name: "c", image: "i" }] };
const podProblems = (spec: Body): string[] => problemsOf("Pod", { spec: { ...POD, ...spec } });
const withPorts = (...ports: readonly Body[]): string[] =>
  podProblems({ containers: [{ name: "c", image: "i", ports }] });
const serviceProblems = (spec: Body): string[] =>
  problemsOf("Service", { spec: { ports: [{ port: 80 }], ...spec } });

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const PORT_RANGE = "must be between 1 and 65535, inclusive";

describe("metadata", () => {
  it.each([
    [{ name: "Web" }, `metadata.name: Invalid value: "Web": ${SUBDOMAIN}`],
    [{ name: "a_b" }, `metadata.name: Invalid value: "a_b": ${SUBDOMAIN}`],
    [{ name: 5 }, "metadata.name: must be text, but is the number 5"],
    [{ name: "" }, "metadata.name: Required value: name or generateName is required"],
    [{ namespace: "a.b" }, `metadata.namespace: Invalid value: "a.b": ${LABEL}`],
    [{ labels: { app: true } }, "metadata.labels.app: must be text, but is the truth value true"],
    [
      { labels: { "-a": "b" } },
      "metadata.labels[-a]: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    ],
    [
      { labels: { a: "b c" } },
      "metadata.labels.a: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    ],
    [
      { labels: { a: "x".repeat(64) } },
      `metadata.labels.a: Invalid value: "${"x".repeat(64)}": must be no more than 63 characters`,
    ],
    [{ labels: ["a"] }, "metadata.labels: must be a mapping, but is a list"],
    [{ annotations: { a: 1 } }, "metadata.annotations.a: must be text, but is the number 1"],
  ])("%o", (metadata, problem) => {
    expect(problemsOf("ConfigMap", {}, metadata)).toEqual([problem]);
  });

  it("a Service's name begins with a letter, a Namespace's has no dots, a CronJob's is short", () => {
    expect(problemsOf("Service", { spec: { ports: [{ port: 1 }] } }, { name: "1a" })[0]).toContain(
      "a DNS-1035 label",
    );
    expect(problemsOf("Namespace", {}, { name: "a.b" })[0]).toContain("RFC 1123 label");
    expect(
      problemsOf(
        "CronJob",
        {
          spec: {
            schedule: "* * * * *",
            jobTemplate: { spec: { template: { spec: { ...POD, restartPolicy: "Never" } } } },
          },
        },
        { name: "x".repeat(53) },
      )[0],
    ).toContain("no more than 52");
  });
});

describe("Services", () => {
  it.each<[string, Body, string]>([
    ["without ports", { ports: [] }, "spec.ports: Required value"],
    ["port 0", { ports: [{ port: 0 }] }, `spec.ports[0].port: Invalid value: 0: ${PORT_RANGE}`],
    ["port 70000", { ports: [{ port: 70_000 }] }, `spec.ports[0].port: Invalid value: 70000: ${PORT_RANGE}`],
    [
      "port in quotes",
      { ports: [{ port: "80" }] },
      'spec.ports[0].port: must be a whole number, but is the text "80"',
    ],
    ["port missing", { ports: [{ targetPort: 80 }] }, "spec.ports[0].port: Required value"],
    [
      "two ports, no names",
      { ports: [{ port: 80, name: "a" }, { port: 81 }] },
      "spec.ports[1].name: Required value",
    ],
    [
      "two ports of one name",
      {
        ports: [
          { port: 80, name: "a" },
          { port: 81, name: "a" },
        ],
      },
      'spec.ports[1].name: Duplicate value: "a"',
    ],
    [
      "one port twice",
      {
        ports: [
          { port: 80, name: "a" },
          { port: 80, name: "b" },
        ],
      },
      'spec.ports[1]: Duplicate value: {"port":80,"protocol":"TCP"}',
    ],
    [
      "unknown protocol",
      { ports: [{ port: 80, protocol: "tcp" }] },
      'spec.ports[0].protocol: Unsupported value: "tcp": supported values: "TCP", "UDP", "SCTP"',
    ],
    [
      "long target name",
      { ports: [{ port: 80, targetPort: "a-name-that-is-too-long" }] },
      'spec.ports[0].targetPort: Invalid value: "a-name-that-is-too-long": must be no more than 15 characters',
    ],
    [
      "target is a truth value",
      { ports: [{ port: 80, targetPort: true }] },
      "spec.ports[0].targetPort: must be a number, or the name of a port, but is the truth value true",
    ],
    [
      "node port of ClusterIP",
      { ports: [{ port: 80, nodePort: 30_080 }] },
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    [
      "one node port twice",
      {
        type: "NodePort",
        ports: [
          { port: 80, name: "a", nodePort: 30_080 },
          { port: 81, name: "b", nodePort: 30_080 },
        ],
      },
      "spec.ports[1].nodePort: Duplicate value: 30080",
    ],
    [
      "unknown type",
      { type: "Headless" },
      'spec.type: Unsupported value: "Headless": supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"',
    ],
    [
      "bad address",
      { clusterIP: "10.0.0.300" },
      'spec.clusterIP: Invalid value: "10.0.0.300": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      "headless NodePort",
      { type: "NodePort", clusterIP: "None" },
      "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
    ],
    [
      "two spellings of the address",
      { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.2"] },
      'spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`',
    ],
    ["ExternalName without a name", { type: "ExternalName" }, "spec.externalName: Required value"],
    [
      "timeout too long",
      { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } } },
      "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than or equal to 86400",
    ],
    [
      "traffic policy of ClusterIP",
      { externalTrafficPolicy: "Local" },
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ],
    [
      "health port of NodePort",
      { type: "NodePort", healthCheckNodePort: 30_000 },
      "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
    [
      "loopback as external address",
      { externalIPs: ["127.0.0.1"] },
      'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    [
      "link-local external address",
      { externalIPs: ["169.254.1.1"] },
      'spec.externalIPs[0]: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    ],
    [
      "bad source range",
      { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0"] },
      'spec.loadBalancerSourceRanges[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      "selector with a number",
      { selector: { app: 1 } },
      "spec.selector.app: must be text, but is the number 1",
    ],
    ["ports are a mapping", { ports: { port: 80 } }, "spec.ports: must be a list, but is a mapping"],
  ])("%s", (_, spec, problem) => {
    expect(serviceProblems(spec)).toEqual([problem]);
  });

  it.each<[string, Body]>([
    ["headless without ports", { clusterIP: "None", ports: [] }],
    ["ExternalName", { type: "ExternalName", externalName: "db.example.com.", ports: [] }],
    [
      "TCP and UDP of one port",
      {
        ports: [
          { port: 53, name: "a" },
          { port: 53, name: "b", protocol: "UDP" },
        ],
      },
    ],
    ["target by name", { ports: [{ port: 80, targetPort: "http" }] }],
    [
      "traffic policy with an external address",
      { externalIPs: ["192.0.2.1"], externalTrafficPolicy: "Local" },
    ],
  ])("%s is good", (_, spec) => {
    expect(serviceProblems(spec)).toEqual([]);
  });

  it("without a spec", () => {
    expect(problemsOf("Service", {})).toEqual(["spec: Required value"]);
  });
});

describe("pods", () => {
  it.each<[string, Body, string]>([
    ["without containers", { containers: [] }, "spec.containers: Required value"],
    ["container without a name", { containers: [{ image: "i" }] }, "spec.containers[0].name: Required value"],
    [
      "container without an image",
      { containers: [{ name: "c" }] },
      "spec.containers[0].image: Required value",
    ],
    [
      "two containers of one name",
      {
        containers: [
          { name: "c", image: "i" },
          { name: "c", image: "i" },
        ],
      },
      'spec.containers[1].name: Duplicate value: "c"',
    ],
    [
      "bad container name",
      { containers: [{ name: "C", image: "i" }] },
      `spec.containers[0].name: Invalid value: "C": ${LABEL}`,
    ],
    ["host name with dots", { hostname: "a.b" }, `spec.hostname: Invalid value: "a.b": ${LABEL}`],
    [
      "unknown dnsPolicy",
      { dnsPolicy: "Cluster" },
      'spec.dnsPolicy: Unsupported value: "Cluster": supported values: "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"',
    ],
    [
      "no name server",
      { dnsPolicy: "None" },
      "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
    ],
    [
      "bad name server",
      { dnsConfig: { nameservers: ["dns"] } },
      'spec.dnsConfig.nameservers[0]: Invalid value: "dns": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      "unknown OS",
      { os: { name: "Windows" } },
      'spec.os.name: Unsupported value: "Windows": supported values: "linux", "windows"',
    ],
    [
      "node selector with a truth value",
      { nodeSelector: { gpu: true } },
      "spec.nodeSelector.gpu: must be text, but is the truth value true",
    ],
    [
      "toleration without a key",
      { tolerations: [{ operator: "Equal", value: "x" }] },
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
    [
      "Exists with a value",
      { tolerations: [{ key: "os", operator: "Exists", value: "x" }] },
      "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
    ],
    [
      "unknown effect",
      { tolerations: [{ key: "os", operator: "Exists", effect: "Never" }] },
      'spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    [
      "seconds without NoExecute",
      { tolerations: [{ key: "os", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 5 }] },
      "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
    ],
    [
      "HostProcess without the host's network",
      { securityContext: { windowsOptions: { hostProcess: true } } },
      "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
    ],
    [
      "hostPID of a Windows pod",
      { os: { name: "windows" }, hostPID: true },
      "spec.hostPID: Forbidden: cannot be set for a windows pod",
    ],
    [
      "hostNetwork in quotes",
      { hostNetwork: "true" },
      'spec.hostNetwork: must be true or false, but is the text "true"',
    ],
  ])("%s", (_, spec, problem) => {
    expect(podProblems(spec)).toEqual([problem]);
  });

  it("HostProcess is all or nothing", () => {
    const hostProcess = { securityContext: { windowsOptions: { hostProcess: true } } };
    const containers = [
      { name: "a", image: "i", ...hostProcess },
      { name: "b", image: "i" },
    ];
    expect(podProblems({ hostNetwork: true, containers })).toEqual([
      'spec.containers: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    ]);
  });

  it.each<[string, readonly Body[], string]>([
    ["port missing", [{ name: "http" }], "containerPort: Required value"],
    ["port too large", [{ containerPort: 65_536 }], `containerPort: Invalid value: 65536: ${PORT_RANGE}`],
    [
      "long name",
      [{ containerPort: 80, name: "a-name-that-is-too-long" }],
      'name: Invalid value: "a-name-that-is-too-long": must be no more than 15 characters',
    ],
    [
      "name of digits",
      [{ containerPort: 80, name: "80" }],
      'name: Invalid value: "80": must contain at least one letter (a-z)',
    ],
    [
      "name in capitals",
      [{ containerPort: 80, name: "HTTP" }],
      'name: Invalid value: "HTTP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
    [
      "bad host address",
      [{ containerPort: 80, hostIP: "host" }],
      'hostIP: Invalid value: "host": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ])("container port: %s", (_, ports, problem) => {
    expect(withPorts(...ports)).toEqual([`spec.containers[0].ports[0].${problem}`]);
  });

  it("a host port stands once, a port name once per container", () => {
    expect(withPorts({ containerPort: 80, hostPort: 8080 }, { containerPort: 81, hostPort: 8080 })).toEqual([
      'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//8080"',
    ]);
    expect(withPorts({ containerPort: 80, name: "a" }, { containerPort: 81, name: "a" })).toEqual([
      'spec.containers[0].ports[1].name: Duplicate value: "a"',
    ]);
  });

  it.each<[string, Body, string]>([
    ["no terms", { nodeSelectorTerms: [] }, "nodeSelectorTerms: Required value"],
    [
      "In without values",
      { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In" }] }] },
      "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    [
      "Exists with values",
      { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] }] },
      "nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ],
    [
      "Gt without a number",
      { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Gt", values: ["b"] }] }] },
      'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "b": must be an integer',
    ],
    [
      "Lt with two values",
      { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Lt", values: ["1", "2"] }] }] },
      "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
    ],
    [
      "unknown operator",
      { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "in", values: ["b"] }] }] },
      'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "in": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
    ],
  ])("node affinity: %s", (_, required, problem) => {
    const path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
    expect(podProblems({ affinity: { nodeAffinity } })).toEqual([`${path}.${problem}`]);
  });
});

describe("workloads", () => {
  const template = { metadata: { labels: { app: "a" } }, spec: POD };
  const selector = { matchLabels: { app: "a" } };
  const deployment = (spec: Body): string[] =>
    problemsOf("Deployment", { spec: { selector, template, ...spec } });

  it.each<[string, Body, string]>([
    ["without a selector", { selector: null }, "spec.selector: Required value"],
    [
      "empty selector",
      { selector: {} },
      "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
    ],
    [
      "selector of other labels",
      { selector: { matchLabels: { app: "b" } } },
      'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
    ],
    ["without a template", { template: null }, "spec.template: Required value"],
    [
      "negative replicas",
      { replicas: -1 },
      "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
    ],
    ["replicas as text", { replicas: "2" }, 'spec.replicas: must be a whole number, but is the text "2"'],
    [
      "pods that end",
      { template: { ...template, spec: { ...POD, restartPolicy: "Never" } } },
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ],
    [
      "a container without an image",
      { template: { ...template, spec: { containers: [{ name: "c" }] } } },
      "spec.template.spec.containers[0].image: Required value",
    ],
  ])("Deployment: %s", (_, spec, problem) => {
    expect(deployment(spec)).toContain(problem);
    expect(deployment(spec).filter((one) => !one.startsWith("spec.template.metadata.labels"))).toHaveLength(
      problem.startsWith("spec.template.metadata.labels") ? 0 : 1,
    );
  });

  it("a Job's pods end", () => {
    expect(problemsOf("Job", { spec: { template: { spec: POD } } })).toEqual([
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ]);
  });

  it("a CronJob has a schedule", () => {
    const jobTemplate = { spec: { template: { spec: { ...POD, restartPolicy: "Never" } } } };
    expect(problemsOf("CronJob", { spec: { jobTemplate } })).toEqual(["spec.schedule: Required value"]);
  });
});

describe("slices, Endpoints and policies", () => {
  it.each<[string, Body, string]>([
    ["without a type", { endpoints: [] }, "addressType: Required value"],
    [
      "address of the other family",
      { addressType: "IPv4", endpoints: [{ addresses: ["fd00::1"] }] },
      'endpoints[0].addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address',
    ],
    [
      "no address",
      { addressType: "IPv4", endpoints: [{ addresses: [] }] },
      "endpoints[0].addresses: Required value",
    ],
    [
      "loopback",
      { addressType: "IPv4", endpoints: [{ addresses: ["127.0.0.1"] }] },
      'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    [
      "bad port",
      { addressType: "IPv4", ports: [{ port: 0 }] },
      `ports[0].port: Invalid value: 0: ${PORT_RANGE}`,
    ],
    [
      "ready as text",
      { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: "yes" } }] },
      'endpoints[0].conditions.ready: must be true or false, but is the text "yes"',
    ],
  ])("EndpointSlice: %s", (_, body, problem) => {
    expect(problemsOf("EndpointSlice", body)).toEqual([problem]);
  });

  it("a slice holds at most 1000 endpoints", () => {
    const endpoints = Array.from({ length: 1_001 }, (_, index) => ({
      addresses: [`10.0.${index >> 8}.${index & 255}`],
    }));
    expect(problemsOf("EndpointSlice", { addressType: "IPv4", endpoints })).toEqual([
      "endpoints: Invalid value: 1001: must have at most 1000 items",
    ]);
  });

  it("Endpoints: a bad address", () => {
    expect(
      problemsOf("Endpoints", { subsets: [{ addresses: [{ ip: "x" }], ports: [{ port: 80 }] }] }),
    ).toEqual([
      'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ]);
  });

  it.each<[string, Body, string]>([
    [
      "bad range",
      { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.1" } }] }] },
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      "exception outside",
      { egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/24", except: ["10.1.0.0/25"] } }] }] },
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.1.0.0/25": must be a strict subset of `cidr`',
    ],
    [
      "block beside a selector",
      { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/24" }, podSelector: {} }] }] },
      "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
    ],
    [
      "empty peer",
      { ingress: [{ from: [{}] }] },
      "spec.ingress[0].from[0]: Required value: must specify a peer",
    ],
    [
      "range backwards",
      { ingress: [{ ports: [{ port: 90, endPort: 80 }] }] },
      "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
    ],
    [
      "unknown type",
      { policyTypes: ["ingress"] },
      'spec.policyTypes[0]: Unsupported value: "ingress": supported values: "Ingress", "Egress"',
    ],
  ])("NetworkPolicy: %s", (_, spec, problem) => {
    expect(problemsOf("NetworkPolicy", { spec: { podSelector: {}, ...spec } })).toEqual([problem]);
  });

  it("ConfigMap: values are texts", () => {
    expect(problemsOf("ConfigMap", { data: { a: 1 } })).toEqual([
      "data.a: must be text, but is the number 1",
    ]);
  });

  it("Node: a taint has an effect", () => {
    expect(problemsOf("Node", { spec: { taints: [{ key: "os" }] } })).toEqual([
      "spec.taints[0].effect: Required value",
    ]);
  });
});
