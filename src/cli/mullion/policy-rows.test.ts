// What the policy engines of Windows do, by packets (control-planes.md §7.2); what they write is beside each engine.
import { describe, expect, it } from "vitest";
import type { ControlClient } from "#cluster/api/client.ts";
import { addNamespaceEndpoint, listEndpoints, removeNamespaceEndpoint } from "#contracts/hcn/operations.ts";
import {
  CALICO,
  type Engine,
  NPM,
  opened,
  openedCluster,
  policy,
  policyCluster,
} from "#test/support/policy/policy-cluster.ts";

const WEB = "pod/default/web";
const CLIENT = "pod/default/client";
const STRANGER = "pod/foreign/stranger";
const NODE = "node/win-1";
const OF_WEB = "podSelector: { matchLabels: { app: web } }";
const FROM_CLIENT = "from: [{ podSelector: { matchLabels: { app: client } } }]";

const cluster = (engine: Engine): string => policyCluster(engine, { name: "stranger", app: "stranger" });

/** `pod/default/client tcp 80`: true when the packet arrives. */
type Flow = `${string} ${"tcp" | "udp" | "icmp"} ${number}`;

async function arrives(client: ControlClient, flow: Flow, to: string): Promise<boolean> {
  const [from = "", protocol, port] = flow.split(" ");
  const request = protocol === "icmp" ? { protocol } : { protocol, port: Number(port) };
  const { report } = await client.trace({ from, to, ...(request as { protocol: "tcp"; port: number }) });
  if (report.code === "acl-rule-blocked") return false;
  expect(["answered", "refused"], `${flow}: ${report.code ?? ""}`).toContain(report.verdict);
  return true;
}

interface Row {
  readonly row: string;
  readonly engines: readonly Engine[];
  readonly spec: string;
  readonly to?: string;
  readonly passes: readonly Flow[];
  readonly blocked: readonly Flow[];
}

const BOTH = [CALICO, NPM];

const ROWS: readonly Row[] = [
  {
    row: "CP-P1: inbound, a range of sources and a port of the pod",
    engines: [CALICO],
    spec: `${OF_WEB}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.2.0/24 } }], ports: [{ port: 8080 }] }]`,
    passes: [`${CLIENT} tcp 8080`, `${STRANGER} tcp 8080`],
    blocked: [`${CLIENT} tcp 8081`, `${CLIENT} udp 8080`],
  },
  {
    row: "CP-P1: outbound, a range of receivers and their port",
    engines: [CALICO],
    spec: `${OF_WEB}, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 10.244.2.0/24 } }], ports: [{ port: 8080 }] }]`,
    to: CLIENT,
    passes: [`${WEB} tcp 8080`],
    blocked: [`${WEB} tcp 8081`],
  },
  {
    row: "CP-P2: inbound, the sets of the sources",
    engines: [NPM],
    spec: `${OF_WEB}, ingress: [{ ${FROM_CLIENT}, ports: [{ port: 8080 }] }]`,
    passes: [`${CLIENT} tcp 8080`],
    blocked: [`${CLIENT} tcp 8081`, `${STRANGER} tcp 8080`],
  },
  {
    row: "CP-P3: the ports of a range, and none beside it",
    engines: BOTH,
    spec: `${OF_WEB}, ingress: [{ ports: [{ port: 8080, endPort: 8083 }] }]`,
    passes: [`${CLIENT} tcp 8080`, `${CLIENT} tcp 8082`, `${CLIENT} tcp 8083`],
    blocked: [`${CLIENT} tcp 8079`, `${CLIENT} tcp 8084`],
  },
  {
    row: "CP-P4: with an except Calico leaves out the rule",
    engines: [CALICO],
    spec: `${OF_WEB}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.0.0/16, except: [10.244.9.0/24] } }] }, { ports: [{ port: 8081 }] }]`,
    passes: [`${CLIENT} tcp 8081`],
    blocked: [`${CLIENT} tcp 8080`],
  },
  {
    row: "CP-P4: with an except NPM leaves out the policy",
    engines: [NPM],
    spec: `${OF_WEB}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.0.0/16, except: [10.244.9.0/24] } }] }, { ports: [{ port: 8081 }] }]`,
    passes: [`${CLIENT} tcp 8080`, `${CLIENT} tcp 9999`],
    blocked: [],
  },
  {
    row: "CP-P5: with a named port Calico leaves out the rule",
    engines: [CALICO],
    spec: `${OF_WEB}, ingress: [{ ports: [{ port: http }] }]`,
    passes: [],
    blocked: [`${CLIENT} tcp 8080`],
  },
  {
    row: "CP-P5: with a named port NPM leaves out the policy",
    engines: [NPM],
    spec: `${OF_WEB}, ingress: [{ ports: [{ port: http }] }]`,
    passes: [`${CLIENT} tcp 8080`],
    blocked: [],
  },
  {
    row: "CP-P7: what is allowed comes before the block",
    engines: [CALICO],
    spec: `${OF_WEB}, ingress: [{ ${FROM_CLIENT} }]`,
    passes: [`${CLIENT} tcp 8080`],
    blocked: [`${STRANGER} tcp 8080`],
  },
  {
    row: "CP-P8: a rule about nobody goes, the others stay",
    engines: [CALICO],
    spec: `${OF_WEB}, ingress: [{ from: [{ podSelector: { matchLabels: { app: ghost } } }] }, { ports: [{ port: 8081 }] }]`,
    passes: [`${STRANGER} tcp 8081`],
    blocked: [`${CLIENT} tcp 8080`],
  },
  {
    row: "CP-P8: without any rule the block is left",
    engines: [CALICO],
    spec: `${OF_WEB}, ingress: [{ from: [{ podSelector: { matchLabels: { app: ghost } } }] }]`,
    passes: [],
    blocked: [`${CLIENT} tcp 8080`, `${STRANGER} tcp 8080`],
  },
  {
    row: "CP-P11: its own node is let in",
    engines: BOTH,
    spec: `${OF_WEB}, ingress: []`,
    passes: [`${NODE} tcp 8080`],
    blocked: [`${CLIENT} tcp 8080`],
  },
  {
    row: "CP-P13: a rule without ports is about every protocol",
    engines: BOTH,
    spec: `${OF_WEB}, ingress: [{ ${FROM_CLIENT} }]`,
    passes: [`${CLIENT} tcp 9999`, `${CLIENT} udp 53`, `${CLIENT} icmp 0`],
    blocked: [`${STRANGER} tcp 9999`, `${STRANGER} udp 53`, `${STRANGER} icmp 0`],
  },
];

describe.each(BOTH)("$name", (engine) => {
  const rows = ROWS.filter(({ engines }) => engines.includes(engine));
  let asked: Promise<ControlClient> | undefined;
  const client = (): Promise<ControlClient> => (asked ??= opened(cluster(engine)));

  it.each(rows)("$row", async ({ spec, to = WEB, passes, blocked }) => {
    const open = await client();
    const inputs = [{ name: "p.yaml", text: policy(`{ ${spec} }`) }];
    await open.apply({ inputs });
    const flows = [...passes, ...blocked];
    const arrived: Flow[] = [];
    for (const flow of flows) if (await arrives(open, flow, to)) arrived.push(flow);
    await open.delete({ inputs });
    expect(arrived).toEqual(passes);
  });
});

describe("azure-npm", () => {
  it("CP-P9: when a policy goes, what another one lets through and blocks stays", async () => {
    const open = await opened(cluster(NPM));
    const stays = { name: "a.yaml", text: policy(`{ ${OF_WEB}, ingress: [{ ${FROM_CLIENT} }] }`, "stays") };
    const goes = {
      name: "b.yaml",
      text: policy(`{ ${OF_WEB}, ingress: [{ ports: [{ port: 9090 }] }] }`, "goes"),
    };
    await open.apply({ inputs: [stays, goes] });
    expect(await arrives(open, `${STRANGER} tcp 9090`, WEB)).toBe(true);
    await open.delete({ inputs: [goes] });
    expect(await arrives(open, `${STRANGER} tcp 9090`, WEB)).toBe(false);
    expect(await arrives(open, `${CLIENT} tcp 9090`, WEB)).toBe(true);
  });

  it("CP-P10: a network that comes with the first pod is found, and the pod is protected", async () => {
    const pod = `apiVersion: v1
kind: Pod
metadata: { name: late, namespace: default, labels: { app: web } }
spec: { nodeName: win-1, containers: [{ name: c, image: c, ports: [{ containerPort: 8080 }] }] }
`;
    const empty = cluster(NPM).replace(/ {2}- \{ name: web, .*\n/, "");
    const open = await opened(empty, policy(`{ ${OF_WEB}, ingress: [{ ${FROM_CLIENT} }] }`));
    await open.passTime(60_000);
    await open.apply({ inputs: [{ name: "pod.yaml", text: pod }] });
    await open.passTime(10_000);
    expect(await arrives(open, `${CLIENT} tcp 8080`, "pod/default/late")).toBe(true);
    expect(await arrives(open, `${STRANGER} tcp 8080`, "pod/default/late")).toBe(false);
  });
});

describe.each(BOTH)("$name and endpoints", (engine) => {
  it("CP-P12: one that is detached gets no rules until it is attached and looked at again", async () => {
    const { client, hnsOf } = await openedCluster(cluster(engine));
    const hns = hnsOf("win-1");
    const endpoints = await listEndpoints(hns);
    const { ID: endpoint, HostComputeNamespace: namespace } = endpoints.find(
      (each) => each.HostComputeNamespace !== undefined,
    )!;
    await removeNamespaceEndpoint(hns, namespace!, endpoint);
    const inputs = [{ name: "p.yaml", text: policy(`{ ${OF_WEB}, ingress: [] }`) }];
    await client.apply({ inputs });
    await addNamespaceEndpoint(hns, namespace!, endpoint);
    expect(await arrives(client, `${CLIENT} tcp 8080`, WEB)).toBe(true);
    await client.passTime(10_000);
    expect(await arrives(client, `${CLIENT} tcp 8080`, WEB)).toBe(false);
  });
});

describe.each(BOTH)("$name and the own node", (engine) => {
  it("a policy with egress stops what goes to it, and verify says whose limit that is", async () => {
    const codesOf = async (egress: string): Promise<ReadonlySet<string | undefined>> => {
      const shut = policy(`{ ${OF_WEB}, policyTypes: [Egress], egress: ${egress} }`);
      const { findings } = await (await opened(cluster(engine), shut)).verify();
      return new Set(findings.flatMap(({ cell, code }) => (cell === undefined ? [] : [code])));
    };
    expect(await codesOf("[]")).toEqual(new Set(["network-policy-own-node"]));
    expect(await codesOf("[{ to: [{ ipBlock: { cidr: 10.0.0.11/32 } }] }]")).toEqual(new Set());
  });
});
