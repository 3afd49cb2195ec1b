// NetworkPolicies as users write them, through the command line: whose flows are not judged, and whose are.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { inProcessClient } from "#cluster/api/app.ts";
import type { ControlClient } from "#cluster/api/client.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { bringUp } from "./cluster/bring-up.ts";
import { openSession } from "./cluster/open-session.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: colours }
dns: { enabled: false }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
pods:
  - { name: web, namespace: green, node: win-1 }
  - { name: web, namespace: blue, node: win-1 }
  - { name: client, namespace: blue, node: win-2 }
`;

function policy(name: string, namespace: string, spec: string): string {
  return `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: ${name}, namespace: ${namespace} }
spec: ${spec}
`;
}

/** As a user of Calico on Windows wrote it: everything but the own namespace is shut out (projectcalico/calico 4078). */
const OWN_NAMESPACE = policy(
  "deny-other-namespaces",
  "green",
  "{ podSelector: { matchLabels: }, ingress: [{ from: [{ podSelector: {} }] }] }",
);

async function run(files: Readonly<Record<string, string>>, ...words: readonly string[]) {
  const terminal = new MemoryTerminal(files);
  const [verb = "", ...rest] = words;
  const argv = [verb, ...Object.keys(files).flatMap((name) => ["-f", name]), ...rest];
  const verbs = { verify, trace, bringUp };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

async function verified(...policies: readonly string[]): Promise<VerifyReport> {
  const { out } = await run({ "c.yaml": CLUSTER, "p.yaml": policies.join("---\n") }, "verify", "-o", "json");
  return JSON.parse(out) as VerifyReport;
}

function flowsOf({ cells }: VerifyReport, wanted: "not-judged" | "as-expected"): readonly string[] {
  return [
    ...new Set(
      cells
        .filter(({ verdict, flow }) => verdict === wanted && flow === "pod-to-pod-ip")
        .map(({ from, to }) => `${from.slice(4)} → ${to.slice(4)}`),
    ),
  ].toSorted();
}

describe("verify with a NetworkPolicy", () => {
  const files = { "c.yaml": CLUSTER, "p.yaml": OWN_NAMESPACE };

  it("judges no flow to the pods that it selects, and all others", async () => {
    const report = await verified(OWN_NAMESPACE);
    expect(flowsOf(report, "not-judged")).toEqual(["blue/client → green/web", "blue/web → green/web"]);
    // One of the two blue pods stands for both.
    expect(flowsOf(report, "as-expected")).toEqual([
      "blue/web → blue/client",
      "green/web → blue/client",
      "green/web → blue/web",
    ]);
    // The node of a pod always reaches it, another node may not.
    const fromNodes = report.cells.filter(
      ({ flow, protocol }) => flow === "node-to-pod" && protocol === "tcp",
    );
    const toGreen = fromNodes.filter(({ to }) => to === "pod/green/web");
    expect(new Map(toGreen.map(({ from, verdict }) => [from, verdict]))).toEqual(
      new Map([
        ["node/win-1", "as-expected"],
        ["node/win-2", "not-judged"],
      ]),
    );
    expect(report.findings).toMatchObject([
      { about: "p.yaml:1:1", code: "network-policy-not-enforced", limit: 0 },
    ]);
    expect(report.basis.notJudged[0]?.where).toMatchObject({ file: "p.yaml", line: 1 });
    expect(report.basis.notes.map(({ code }) => code)).not.toContain("network-policy-not-enforced");
  });

  it("is not green, unless the user allows it", async () => {
    const table = await run(files, "verify");
    expect(table.code).toBe(1);
    expect(table.out.split("\n")[0]).toBe("Cluster colours, compat upstream");
    expect(table.out).toMatch(
      /^ {2}unjudged {2}p\.yaml:1:1: NetworkPolicy green\/deny-other-namespaces is stored and not enforced$/m,
    );
    expect(table.out).toMatch(/\n\d+ flows not judged\.\n$/);
    const junit = await run(files, "verify", "-o", "junit", "--allow", "not-judged");
    expect(junit.code).toBe(0);
    expect(junit.out).toMatch(/<testsuite name="input" tests="1" failures="0" skipped="1">/);
    expect(junit.out).toContain(
      '<skipped message="not judged: NetworkPolicy green/deny-other-namespaces selects pod/green/web for ingress',
    );
  });

  it("selects for egress what policyTypes or its rules say", async () => {
    const report = await verified(
      policy("send-nothing", "green", "{ podSelector: {}, policyTypes: [Egress] }"),
      policy(
        "by-its-rules",
        "blue",
        "{ podSelector: { matchLabels: { app: none } }, egress: [{ ports: [] }] }",
      ),
    );
    expect(flowsOf(report, "not-judged")).toEqual(["green/web → blue/client", "green/web → blue/web"]);
  });

  it("judges flows that one policy opens to all, whatever others say", async () => {
    // Of RKE2 with the CIS profile (rancher/rke2 5315).
    const open = policy("open", "green", "{ podSelector: {}, ingress: [{}], policyTypes: [Ingress] }");
    const report = await verified(OWN_NAMESPACE, open);
    const tcp = report.cells.filter(({ protocol }) => protocol !== "icmp");
    expect(tcp.filter(({ verdict }) => verdict === "not-judged")).toEqual([]);
    // What a policy does to ping is not defined.
    expect(flowsOf(report, "not-judged")).toEqual(["blue/client → green/web", "blue/web → green/web"]);
  });

  it("is a note, and green, when it selects no pod", async () => {
    const report = await verified(policy("nobody", "red", "{ podSelector: {} }"));
    expect(report.counts).toMatchObject({ notJudged: 0, findings: 0 });
    expect(report.basis.notes.map(({ code }) => code)).toContain("selector-matches-nothing");
  });
});

describe("other verbs with a NetworkPolicy", () => {
  const files = { "c.yaml": CLUSTER, "p.yaml": OWN_NAMESPACE };

  it("trace keeps its outcome and says that it is not judged", async () => {
    const words = ["trace", "pod/blue/client", "pod/green/web"];
    const text = await run(files, ...words);
    expect(text.code).toBe(0);
    expect(text.out).toMatch(
      /\nAnswered after .*\nNot judged: NetworkPolicy green\/deny-other-namespaces selects/,
    );
    const report = JSON.parse((await run(files, ...words, "-o", "json")).out) as TraceReport;
    expect(report.notJudged).toMatchObject([
      { code: "network-policy-not-enforced", where: { file: "p.yaml", line: 1 } },
    ]);
    const free = await run(files, "trace", "pod/green/web", "pod/blue/client");
    expect(free.out).not.toContain("Not judged");
  });

  it("trace says what the specification does: rules add, and what none of them names is denied", async () => {
    const letBlueIn = policy(
      "let-blue-in",
      "green",
      "{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: blue } } }], ports: [{ port: 8080 }] }] }",
    );
    const inside = policy(
      "inside",
      "green",
      "{ podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ namespaceSelector: {} }] }] }",
    );
    const { applied } = await opened(CLUSTER, OWN_NAMESPACE, letBlueIn, inside);
    const asked: readonly (readonly [from: string, to: string, port: number, said: string])[] = [
      [
        "pod/blue/client",
        "pod/green/web",
        8080,
        "allows it, by spec.ingress[0] of NetworkPolicy green/let-blue-in",
      ],
      [
        "pod/blue/client",
        "pod/green/web",
        9090,
        "denies it: no ingress rule of NetworkPolicy green/deny-other-namespaces, NetworkPolicy green/let-blue-in is about it",
      ],
      [
        "pod/green/web",
        "pod/blue/client",
        8080,
        "allows it, by spec.egress[0] of NetworkPolicy green/inside",
      ],
      [
        "pod/green/web",
        "external",
        443,
        "denies it: no egress rule of NetworkPolicy green/inside is about it",
      ],
    ];
    for (const [from, to, port, said] of asked) {
      const { report } = await applied.trace({ from, to, protocol: "tcp", port });
      expect(report.notJudged?.map(({ message }) => message).join("")).toContain(
        `; NetworkPolicies are stored and not enforced; their specification ${said}`,
      );
    }
  });

  it("of a Service it says so by the port of the pods behind it, and nothing when they differ", async () => {
    const service = `apiVersion: v1
kind: Service
metadata: { name: shop, namespace: green }
spec: { clusterIP: 10.96.0.50, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: shop, namespace: green, labels: { kubernetes.io/service-name: shop } }
addressType: IPv4
ports: [{ port: 8080, protocol: TCP }]
endpoints:
  - { addresses: ["10.244.1.2"], targetRef: { kind: Pod, namespace: green, name: web } }
`;
    const other = '  - { addresses: ["10.244.1.3"], targetRef: { kind: Pod, namespace: blue, name: web } }\n';
    const open = policy("port", "green", "{ podSelector: {}, ingress: [{ ports: [{ port: 8080 }] }] }");
    const closed = policy("closed", "blue", "{ podSelector: { matchLabels: { app: web } } }");
    const request = { from: "pod/blue/client", to: "service/green/shop", protocol: "tcp", port: 80 } as const;
    const labelled = CLUSTER.replace(
      "namespace: blue, node: win-1",
      "namespace: blue, node: win-1, labels: { app: web }",
    );
    const one = await (await opened(labelled, open, service)).applied.trace(request);
    expect(one.report.notJudged?.[0]?.message).toContain(
      "allows it, by spec.ingress[0] of NetworkPolicy green/port",
    );
    const two = await (await opened(labelled, open, closed, service + other)).applied.trace(request);
    expect(two.report.notJudged).toHaveLength(1);
    expect(two.report.notJudged?.[0]?.message).not.toContain("specification");
  });

  it("apply says it when the policy is taken", async () => {
    const { applied } = await opened(CLUSTER);
    const answer = await applied.apply({ inputs: [{ name: "p.yaml", text: OWN_NAMESPACE }] });
    expect(answer.notes.map(({ message }) => message)).toEqual([
      "NetworkPolicy green/deny-other-namespaces is stored and not enforced: it selects 1 pod, for ingress",
    ]);
  });

  it("a policy of another API counts from apply to delete", async () => {
    const { applied } = await opened(CLUSTER);
    const text = "apiVersion: projectcalico.org/v3\nkind: GlobalNetworkPolicy\nmetadata: { name: closed }\n";
    const request = { from: "pod/blue/client", to: "pod/green/web", protocol: "tcp" } as const;
    const inputs = [{ name: "p.yaml", text }];
    await applied.apply({ inputs });
    expect((await applied.trace(request)).report.notJudged).toMatchObject([
      { code: "policy-kind-not-enforced", where: { file: "p.yaml" } },
    ]);
    await applied.delete({ inputs });
    expect((await applied.trace(request)).report).not.toHaveProperty("notJudged");
  });

  it("bring-up says it, too", async () => {
    const flannel = readFileSync("examples/flannel-bring-up/cluster.yaml", "utf8");
    const { err } = await run({ "f.yaml": flannel, "p.yaml": OWN_NAMESPACE }, "bring-up");
    expect(err).toContain(
      "p.yaml:1:1: NetworkPolicy green/deny-other-namespaces is stored and not enforced\n",
    );
  });
});

async function opened(...texts: readonly string[]): Promise<{ readonly applied: ControlClient }> {
  const inputs = texts.map((text, index) => ({ name: `${index}.yaml`, text }));
  const { session, readManifests, verify: check, input } = await openSession(inputs);
  const identity = { name: "", version: "", pid: 1 };
  return {
    applied: inProcessClient({ session, readManifests, verify: check, identity, input, log: SILENT_LOG }),
  };
}

interface ExpectedFlow {
  readonly from: string;
  readonly to: string;
  readonly protocol: "tcp" | "udp" | "icmp";
  readonly port?: number;
  readonly expect: "works" | "denied" | "not-judged" | "no-network";
}

/** What the specification is said to say; `not-judged` where it leaves the flow to whoever enforces it. */
function specifiedIn(reasons: readonly { readonly message: string }[] = []): string {
  const [, said = ""] = reasons
    .map(({ message }) => message)
    .join()
    .split("their specification ");
  return { allows: "works", denies: "denied", leaves: "not-judged" }[said.split(" ")[0] ?? ""] ?? "";
}

/** By a NetworkPolicy: the dump's network is one that is not carried out, besides. */
function isByPolicy(reasons: readonly { readonly code: string }[] = []): boolean {
  return reasons.some(
    ({ code }) => code === "network-policy-not-enforced" || code === "network-policy-undecided",
  );
}

it("no flow of the dump with policies works without the mark when its policies deny it", async () => {
  const folder = "examples/dumps/calico-network-policies";
  const { flows } = parse(readFileSync(`${folder}/expected.yaml`, "utf8")) as { flows: ExpectedFlow[] };
  const { applied } = await opened(readFileSync(`${folder}/dump.yaml`, "utf8"));
  const seen: { flow: string; expect: string; outcome: string }[] = [];
  for (const { from, to, protocol, port, expect: expected } of flows) {
    const { report } = await applied.trace({ from, to, protocol, ...(port === undefined ? {} : { port }) });
    const reasons = report.notJudged;
    const specified = isByPolicy(reasons) ? specifiedIn(reasons) : undefined;
    const enforced = report.code === "acl-rule-blocked" ? "denied" : "works";
    seen.push({ flow: `${from} → ${to}`, expect: expected, outcome: specified ?? enforced });
  }
  expect(seen.filter((each) => each.expect === "denied").length).toBeGreaterThan(4);
  // Written from the documentation, before anything here read a rule. Calico, which the dump brings, carries it out.
  expect(seen.map(({ flow, outcome }) => `${flow} ${outcome}`)).toEqual(
    seen.map((each) => `${each.flow} ${each.expect}`),
  );
});

/** A Service without a selector, whose slice has the addresses of pods, and says of none which it is. */
const BY_ADDRESS = (...addresses: readonly string[]): string => `apiVersion: v1
kind: Service
metadata: { name: by-address, namespace: blue }
spec: { ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: by-address, namespace: blue, labels: { kubernetes.io/service-name: by-address } }
addressType: IPv4
ports: [{ port: 8080, protocol: TCP }]
endpoints: [${addresses.map((address) => `{ addresses: ["${address}"] }`).join(", ")}]
`;

it("a back end that only its address names is the pod that has it", async () => {
  const { report } = await (await opened(CLUSTER)).applied.trace({
    from: "pod/blue/client",
    to: "pod/green/web",
    protocol: "tcp",
  });
  const green = report.to.address ?? "";
  for (const [addresses, isMarked] of [
    [[green], true],
    [["10.244.1.200", green], true],
    [["10.244.1.200"], false],
    [[], false],
  ] as const) {
    const { applied } = await opened(CLUSTER, OWN_NAMESPACE, BY_ADDRESS(...addresses));
    const { report: asked } = await applied.trace({
      from: "pod/blue/client",
      to: "service/blue/by-address",
      protocol: "tcp",
    });
    expect([addresses, isByPolicy(asked.notJudged)]).toEqual([addresses, isMarked]);
  }
});

it("what is opened says how far it is: nodes, pods, kube-proxies", async () => {
  const heard: string[] = [];
  const texts = [CLUSTER, BY_ADDRESS("10.244.1.200")];
  await openSession(
    texts.map((text, index) => ({ name: `${index}.yaml`, text })),
    { progress: (text, done, total) => heard.push(`${text} ${done}/${total}`) },
  );
  expect(heard.filter((line) => line.startsWith("node "))).toEqual([
    "node win-1 is up 1/2",
    "node win-2 is up 2/2",
  ]);
  expect(heard).toContain("pods start 3/3");
  expect(heard).toContain("kube-proxies program Services 2/2");
});
