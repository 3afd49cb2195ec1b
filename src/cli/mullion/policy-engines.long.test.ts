// NetworkPolicies carried out on Windows nodes: what passes under each engine, beside what the specification says.
import { describe, expect, it } from "vitest";
import {
  CALICO,
  type Engine,
  NPM,
  type Outcome,
  opened,
  outcomeOf,
  policy,
  policyCluster,
} from "#test/support/policy/policy-cluster.ts";

const cluster = (engine: Engine): string => policyCluster(engine, { name: "other", app: "client" });

const WEB = "{ matchLabels: { app: web } }";
const CLIENT = "pod/default/client";
const OTHER = "pod/foreign/other";
const TO_WEB = "pod/default/web";

/**
 * Of a policy: who asks the web pod on which port; by the specification; under Calico and under NPM; and the code of what each of
 * them cannot hold, which is said when the policy is taken.
 */
type Row = readonly [
  what: string,
  spec: string,
  from: string,
  port: number,
  said: Outcome,
  calico: Outcome,
  npm: Outcome,
  calicoCode?: string | undefined,
  npmCode?: string | undefined,
];

/** control-planes.md §7.2, the table of semantics, with what engines on Windows leave out. */
const ROWS: readonly Row[] = [
  [
    "no policy that is about ingress",
    `{ podSelector: ${WEB}, policyTypes: [Egress] }`,
    CLIENT,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  [
    "a policy that selects another",
    "{ podSelector: { matchLabels: { app: none } } }",
    CLIENT,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  ["ingress: []", `{ podSelector: ${WEB}, ingress: [] }`, CLIENT, 8080, "blocked", "blocked", "blocked"],
  [
    "from its own node",
    `{ podSelector: ${WEB}, ingress: [] }`,
    "node/win-1",
    8080,
    "passes",
    "passes",
    "passes",
  ],
  ["an empty rule", `{ podSelector: ${WEB}, ingress: [{}] }`, OTHER, 8080, "passes", "passes", "passes"],
  ["from: []", `{ podSelector: ${WEB}, ingress: [{ from: [] }] }`, OTHER, 8080, "passes", "passes", "passes"],
  [
    "an empty podSelector: the own namespace",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ podSelector: {} }] }] }`,
    CLIENT,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  [
    "not another namespace",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ podSelector: {} }] }] }`,
    OTHER,
    8080,
    "blocked",
    "blocked",
    "blocked",
  ],
  [
    "an empty namespaceSelector: all",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ namespaceSelector: {} }] }] }`,
    OTHER,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  [
    "both selectors of a peer hold",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: foreign } }, podSelector: { matchLabels: { app: client } } }] }] }`,
    OTHER,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  [
    "one of them is not enough",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: foreign } }, podSelector: { matchLabels: { app: client } } }] }] }`,
    CLIENT,
    8080,
    "blocked",
    "blocked",
    "blocked",
  ],
  [
    "a port of a rule",
    `{ podSelector: ${WEB}, ingress: [{ ports: [{ port: 8080 }] }] }`,
    CLIENT,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  [
    "another port",
    `{ podSelector: ${WEB}, ingress: [{ ports: [{ port: 8080 }] }] }`,
    CLIENT,
    8081,
    "blocked",
    "blocked",
    "blocked",
  ],
  [
    "a range of ports",
    `{ podSelector: ${WEB}, ingress: [{ ports: [{ port: 8000, endPort: 8090 }] }] }`,
    CLIENT,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  [
    "a range of addresses",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.2.0/24 } }] }] }`,
    CLIENT,
    8080,
    "passes",
    "passes",
    "passes",
  ],
  [
    "an except beside the sender",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.0.0/16, except: [10.244.9.0/24] } }] }] }`,
    CLIENT,
    8080,
    "passes",
    "blocked",
    "passes",
    "network-policy-except",
    "network-policy-except",
  ],
  [
    "an except with the sender",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.0.0/16, except: [10.244.2.0/24] } }] }] }`,
    CLIENT,
    8080,
    "blocked",
    "blocked",
    "passes",
    "network-policy-except",
    "network-policy-except",
  ],
  [
    "a named port",
    `{ podSelector: ${WEB}, ingress: [{ ports: [{ port: http }] }] }`,
    CLIENT,
    8080,
    "blocked",
    "blocked",
    "passes",
    "network-policy-named-port",
    "network-policy-named-port",
  ],
  [
    "pods by NotIn",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ podSelector: { matchExpressions: [{ key: app, operator: NotIn, values: [web] }] } }] }] }`,
    CLIENT,
    8080,
    "passes",
    "passes",
    "passes",
    undefined,
    "network-policy-negated-selector",
  ],
  [
    "pods by NotIn, of another namespace",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ podSelector: { matchExpressions: [{ key: app, operator: NotIn, values: [web] }] } }] }] }`,
    OTHER,
    8080,
    "blocked",
    "blocked",
    "passes",
    undefined,
    "network-policy-negated-selector",
  ],
  [
    "SCTP alone",
    `{ podSelector: ${WEB}, ingress: [{ ports: [{ protocol: SCTP, port: 8080 }] }] }`,
    CLIENT,
    8080,
    "blocked",
    "blocked",
    "passes",
    undefined,
    "network-policy-sctp",
  ],
  [
    "a range of IPv6",
    `{ podSelector: ${WEB}, ingress: [{ from: [{ ipBlock: { cidr: 2001:db8::/32 } }] }] }`,
    CLIENT,
    8080,
    "blocked",
    "blocked",
    "passes",
    "network-policy-ipv6",
    "network-policy-ipv6",
  ],
];

describe.each([CALICO, NPM])("$name on a network that it finds", (engine) => {
  it("lets through and blocks as the table of semantics says", async () => {
    const client = await opened(cluster(engine));
    for (const [what, spec, from, port, , calico, npm, calicoCode, npmCode] of ROWS) {
      const inputs = [{ name: "p.yaml", text: policy(spec) }];
      const { notes } = await client.apply({ inputs });
      const seen = await outcomeOf(client, from, TO_WEB, port);
      const codes = notes.map(({ code }) => code).filter((code) => code !== "selector-matches-nothing");
      const [expected, limit] = engine === CALICO ? [calico, calicoCode] : [npm, npmCode];
      expect(`${what}: ${[seen, ...codes].join()}`).toBe(
        `${what}: ${[expected, ...(limit === undefined ? [] : [limit])].join()}`,
      );
      await client.delete({ inputs });
    }
    expect(await outcomeOf(client, CLIENT, TO_WEB, 8080)).toBe("passes");
  });

  it("a row that does otherwise than the specification has a code", () => {
    const unexplained = ROWS.filter(([, , , , said, calico, npm, calicoCode, npmCode]) => {
      const [seen, code] = engine === CALICO ? [calico, calicoCode] : [npm, npmCode];
      return seen !== said && code === undefined;
    });
    expect(unexplained.map(([what]) => what)).toEqual([]);
  });

  it("egress is independent of ingress, and answers pass", async () => {
    const deny = policy(`{ podSelector: ${WEB}, policyTypes: [Egress], egress: [] }`);
    const client = await opened(cluster(engine), deny);
    expect(await outcomeOf(client, TO_WEB, CLIENT, 8080)).toBe("blocked");
    expect(await outcomeOf(client, CLIENT, TO_WEB, 8080)).toBe("passes");
  });

  it("rules of several policies add up", async () => {
    const deny = policy(`{ podSelector: {} }`, "deny-all");
    const allow = policy(`{ podSelector: ${WEB}, ingress: [{ from: [{ podSelector: {} }] }] }`, "let-in");
    const client = await opened(cluster(engine), deny, allow);
    const { report } = await client.trace({ from: CLIENT, to: TO_WEB, protocol: "tcp", port: 8080 });
    expect(report.verdict).toBe("answered");
    expect(report.forward.steps.flatMap(({ networkPolicy }) => networkPolicy ?? [])).toContain(
      "NetworkPolicy default/let-in, spec.ingress[0]",
    );
    const blocked = await client.trace({ from: OTHER, to: TO_WEB, protocol: "tcp", port: 8080 });
    const [by] = blocked.report.forward.steps.flatMap(({ kind, networkPolicy }) =>
      kind === "drop" ? (networkPolicy ?? []) : [],
    );
    // Each of NPM's policies has a block of its own; Calico has one for all.
    const both = engine === CALICO ? ", NetworkPolicy default/let-in" : "";
    expect(by).toBe(`NetworkPolicy default/deny-all${both}: no ingress rule allows it`);
  });

  it("verify holds the flows against the specification, and finds what Windows cannot", async () => {
    const except = `{ podSelector: ${WEB}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.0.0/16, except: [10.244.2.0/24] } }] }] }`;
    const good = await opened(
      cluster(engine),
      policy(`{ podSelector: ${WEB}, ingress: [{ from: [{ podSelector: {} }] }] }`),
    );
    const wrong = await opened(cluster(engine), policy(except));
    const [report, other] = [await good.verify(), await wrong.verify()];
    const ofPolicies = report.cells.filter(({ row }) => row.startsWith("NETWORK-POLICY"));
    expect(new Set(ofPolicies.map(({ row, verdict }) => `${row} ${verdict}`))).toEqual(
      new Set(["NETWORK-POLICY-ALLOWS as-expected", "NETWORK-POLICY-DENIES as-expected"]),
    );
    // What is neither TCP nor UDP is left to the engine.
    expect(
      report.cells
        .filter(({ verdict }) => verdict === "not-judged")
        .every(({ protocol }) => protocol === "icmp"),
    ).toBe(true);
    const codes = other.findings.filter(({ cell }) => cell !== undefined).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(engine === NPM ? ["network-policy-except"] : []));
  });
});

describe("no engine", () => {
  it("lets everything through, and says of each policy that nothing enforces it", async () => {
    const client = await opened(cluster({ name: "none", network: "{ name: cbr0 }", fields: "policy: none" }));
    for (const [what, spec, from, port] of ROWS) {
      const inputs = [{ name: "p.yaml", text: policy(spec) }];
      const { notes } = await client.apply({ inputs });
      const seen = await outcomeOf(client, from, TO_WEB, port);
      const isNobodys = spec.includes("app: none");
      const codes = isNobodys ? ["selector-matches-nothing"] : ["network-policy-not-enforced"];
      expect([what, seen, ...notes.map(({ code }) => code)]).toEqual([what, "passes", ...codes]);
      await client.delete({ inputs });
    }
  });
});

describe("engines that enforce nothing", () => {
  const DENY = policy(`{ podSelector: ${WEB} }`);

  it.each([
    ["calico without KUBE_NETWORK", "policy: calico", "policy-engine-without-network"],
    ["NPM beside flannel's network", "policy: azure-npm", "policy-engine-without-network"],
    ["none", "policy: none", "network-policy-not-enforced"],
  ])("%s: everything passes, and that is a finding", async (name, fields, code) => {
    const client = await opened(cluster({ name, network: "{ name: cbr0 }", fields }), DENY);
    expect(await outcomeOf(client, CLIENT, TO_WEB, 8080)).toBe("passes");
    const { findings, basis } = await client.verify();
    const ofFlows = findings.filter(({ cell }) => cell !== undefined);
    expect(new Set(ofFlows.map((each) => each.code))).toEqual(new Set([code]));
    const said = [...basis.notes, ...basis.notJudged].map((each) => each.code);
    expect(said).toContain(code);
  });
});

describe("the engine that manifests bring", () => {
  const daemonSet = (name: string, env: string): string => `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: ${name}, namespace: kube-system }
spec:
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: system } }
      hostNetwork: true
      containers: [{ name: engine, image: engine, env: [${env}] }]
`;

  it.each([
    ["calico-node-windows", "{ name: KUBE_NETWORK, value: cbr0 }", "{ name: cbr0 }"],
    ["azure-npm-win", "", "{ name: azure, plugin: azure-vnet, shape: own-subnet, routes: fabric }"],
  ])("%s runs", async (name, env, network) => {
    const deny = policy(`{ podSelector: ${WEB} }`);
    const client = await opened(cluster({ name, network, fields: "" }), daemonSet(name, env), deny);
    expect(await outcomeOf(client, CLIENT, TO_WEB, 8080)).toBe("blocked");
  });
});
