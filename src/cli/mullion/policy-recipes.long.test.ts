// Sets of NetworkPolicies that others publish, on mixed clusters under each engine of Windows nodes: the recipes of
// ahmetb/kubernetes-network-policy-recipes, whose numbers stand in the rows, in words of our own.
import { readFileSync, readdirSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { Felix } from "#programs/policy/calico/felix.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import {
  CALICO,
  type Engine,
  NPM,
  type Outcome,
  opened,
  outcomeOf,
  policy,
} from "#test/support/policy/policy-cluster.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

function mixed({ network, fields }: Engine): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: recipes }
dns: { enabled: false }
${fields}
network: ${network}
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24 }
pods:
  - { name: api, node: win-1, labels: { app: bookstore, role: api }, ports: [{ port: 80 }, { port: 5000 }] }
  - { name: frontend, node: win-2, labels: { app: bookstore, role: frontend } }
  - { name: stranger, node: linux-1, labels: { app: other } }
  - { name: monitor, namespace: ops, node: linux-1, labels: { type: monitoring } }
  - { name: worker, namespace: ops, node: win-2, labels: { type: worker } }
  - { name: guest, namespace: dev, node: linux-1 }
`;
}

const NAMESPACES = `apiVersion: v1
kind: Namespace
metadata: { name: ops, labels: { team: operations, purpose: production } }
---
apiVersion: v1
kind: Namespace
metadata: { name: dev, labels: { purpose: testing } }
`;

const API = "podSelector: { matchLabels: { app: bookstore, role: api } }";
const WHO = {
  frontend: "pod/default/frontend",
  stranger: "pod/default/stranger",
  monitor: "pod/ops/monitor",
  worker: "pod/ops/worker",
  guest: "pod/dev/guest",
} as const;

/** Who reaches the API, and on port 80 where no other is named, as the recipe says. */
type Recipe = readonly [
  name: string,
  spec: string,
  outcomes: readonly (readonly [who: keyof typeof WHO, outcome: Outcome, port?: number])[],
];

const RECIPES: readonly Recipe[] = [
  [
    "01 nothing reaches an application",
    `{ ${API}, ingress: [] }`,
    [
      ["frontend", "blocked"],
      ["monitor", "blocked"],
    ],
  ],
  [
    "02 only pods of the application",
    `{ ${API}, ingress: [{ from: [{ podSelector: { matchLabels: { app: bookstore } } }] }] }`,
    [
      ["frontend", "passes"],
      ["stranger", "blocked"],
      ["guest", "blocked"],
    ],
  ],
  [
    "02a everything reaches it",
    `{ ${API}, ingress: [{}] }`,
    [
      ["stranger", "passes"],
      ["guest", "passes"],
    ],
  ],
  [
    "03 nothing reaches the namespace",
    "{ podSelector: {}, ingress: [] }",
    [
      ["frontend", "blocked"],
      ["guest", "blocked"],
    ],
  ],
  [
    "04 only the own namespace",
    "{ podSelector: { matchLabels: }, ingress: [{ from: [{ podSelector: {} }] }] }",
    [
      ["stranger", "passes"],
      ["monitor", "blocked"],
      ["guest", "blocked"],
    ],
  ],
  [
    "05 every namespace",
    `{ ${API}, ingress: [{ from: [{ namespaceSelector: {} }] }] }`,
    [
      ["stranger", "passes"],
      ["monitor", "passes"],
      ["guest", "passes"],
    ],
  ],
  [
    "06 one namespace",
    `{ ${API}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { purpose: production } } }] }] }`,
    [
      ["monitor", "passes"],
      ["worker", "passes"],
      ["guest", "blocked"],
      ["frontend", "blocked"],
    ],
  ],
  [
    "07 some pods of another namespace",
    `{ ${API}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: operations } }, podSelector: { matchLabels: { type: monitoring } } }] }] }`,
    [
      ["monitor", "passes"],
      ["worker", "blocked"],
      ["frontend", "blocked"],
    ],
  ],
  [
    "08 the outside, too",
    `{ ${API}, ingress: [{ from: [] }] }`,
    [
      ["guest", "passes"],
      ["frontend", "passes"],
    ],
  ],
  [
    "09 one port, for the monitors",
    `{ ${API}, ingress: [{ ports: [{ port: 5000 }], from: [{ namespaceSelector: {}, podSelector: { matchLabels: { type: monitoring } } }] }] }`,
    [
      ["monitor", "passes", 5000],
      ["monitor", "blocked", 80],
      ["frontend", "blocked", 5000],
    ],
  ],
  [
    "10 several selectors",
    `{ ${API}, ingress: [{ from: [{ podSelector: { matchLabels: { role: frontend } } }, { podSelector: { matchLabels: { app: inventory } } }] }] }`,
    [
      ["frontend", "passes"],
      ["stranger", "blocked"],
    ],
  ],
];

describe.each([CALICO, NPM])("recipes under $name on a mixed cluster", (engine) => {
  it("let in whom they say", async () => {
    const client = await opened(mixed(engine), NAMESPACES);
    for (const [name, spec, outcomes] of RECIPES) {
      const inputs = [{ name: "p.yaml", text: policy(spec) }];
      await client.apply({ inputs });
      for (const [who, outcome, port = 80] of outcomes) {
        const seen = await outcomeOf(client, WHO[who], "pod/default/api", port);
        expect(`${name}: ${who} ${port} ${seen}`).toBe(`${name}: ${who} ${port} ${outcome}`);
      }
      await client.delete({ inputs });
    }
  });

  it("11, 12, 14: keep in whom they say", async () => {
    const client = await opened(mixed(engine), NAMESPACES);
    const specs: readonly (readonly [spec: string, toFrontend: Outcome, outside: Outcome])[] = [
      [`{ ${API}, policyTypes: [Egress], egress: [] }`, "blocked", "blocked"],
      ["{ podSelector: {}, policyTypes: [Egress] }", "blocked", "blocked"],
      [
        `{ ${API}, policyTypes: [Egress], egress: [{ to: [{ namespaceSelector: {} }] }] }`,
        "passes",
        "blocked",
      ],
    ];
    for (const [spec, toFrontend, outside] of specs) {
      const inputs = [{ name: "p.yaml", text: policy(spec) }];
      await client.apply({ inputs });
      expect(await outcomeOf(client, "pod/default/api", WHO.frontend, 8080)).toBe(toFrontend);
      expect(await outcomeOf(client, "pod/default/api", "external", 443)).toBe(outside);
      await client.delete({ inputs });
    }
  });
});

describe("an engine that does not do its work", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("is found by verify: what should come of a flow is not asked of the engine", async () => {
    // It says that it looks after the network, and writes nothing.
    vi.spyOn(Felix.prototype, "sync").mockResolvedValue({ networks: ["cbr0"], written: [], findings: [] });
    const client = await opened(mixed(CALICO), NAMESPACES, policy(`{ ${API}, ingress: [] }`));
    const { cells, findings } = await client.verify();
    const rows = findings.flatMap(({ cell }) => (cell === undefined ? [] : (cells[cell]?.row ?? [])));
    expect(new Set(rows)).toEqual(new Set(["NETWORK-POLICY-DENIES"]));
  });
});

const EXAMPLE = "examples/network-policy";
const FILES = Object.fromEntries(
  readdirSync(EXAMPLE).map((file) => [`${EXAMPLE}/${file}`, readFileSync(`${EXAMPLE}/${file}`, "utf8")]),
);

describe("examples/network-policy", () => {
  it.each<[string, number, readonly string[]]>([
    ["cluster", 0, []],
    ["azure-npm", 0, []],
    ["calico-limit", 1, ["network-policy-except"]],
    ["azure-npm-limit", 1, ["network-policy-except"]],
    ["no-network", 1, ["policy-engine-without-network"]],
  ])("%s ends with %i, and finds what the engine does not hold", async (name, exit, codes) => {
    const terminal = new MemoryTerminal(FILES);
    const argv = ["verify", "-f", `${EXAMPLE}/${name}.yaml`, "--allow", "not-judged", "-o", "json"];
    expect(await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false })).toBe(exit);
    const { cells, findings } = JSON.parse(terminal.output) as VerifyReport;
    // What the specification leaves open is not judged, and said once; nothing else is left out.
    expect(new Set(findings.flatMap(({ code, cell }) => (cell === undefined ? [] : code)))).toEqual(
      new Set(codes),
    );
    const leftOut = findings.flatMap(({ code, cell }) => (cell === undefined ? code : []));
    expect(leftOut).toEqual(["network-policy-undecided"]);
    const verdicts = cells.filter(({ row }) => row.startsWith("NETWORK-POLICY-")).map(({ row }) => row);
    expect(new Set(verdicts)).toEqual(new Set(["NETWORK-POLICY-ALLOWS", "NETWORK-POLICY-DENIES"]));
  });
});
