// What a finding rules out, as users see it: for each competing cause one node whose files exclude it, and one whose do not.
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import {
  type NodeDocuments,
  NAT_RULE,
  DSR_RULES,
  filesOf,
  healthyNode,
  rulesText,
  servicesText,
} from "#test/support/doctor/healthy-node.ts";
import { OF_FRONT_ENDS } from "#diagnose/doctor/competing/of-front-ends.ts";
import { OF_RANGES, OF_THE_NODE } from "#diagnose/doctor/competing/of-nodes.ts";
import { OF_OUTSIDE } from "#diagnose/doctor/competing/of-pods.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { doctor } from "./doctor.ts";
import { runMullion } from "./program.ts";

type Json = Record<string, unknown>;
type Finding = DoctorReport["findings"][number];

async function run(documents: NodeDocuments, ...words: readonly string[]): Promise<string> {
  const terminal = new MemoryTerminal(filesOf(documents));
  const argv = ["doctor", "node", ...words];
  await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return terminal.output;
}

async function findingOf(documents: NodeDocuments, code: string): Promise<Finding | undefined> {
  const { findings } = JSON.parse(await run(documents, "-o", "json")) as DoctorReport;
  return findings.find((each) => each.code === code);
}

function objectOf({ kubernetes }: NodeDocuments, kind: string, name: string): Json {
  return kubernetes.find((each) => each["kind"] === kind && (each["metadata"] as Json)["name"] === name)!;
}

function remoteRoute({ networks }: NodeDocuments): Json {
  return (networks[0]!["Policies"] as Json[])[1]!;
}

/** What flannel of the Linux node tells others. */
function publish(documents: NodeDocuments, data: string): void {
  const { annotations } = objectOf(documents, "Node", "linux-1")["metadata"] as Record<string, Json>;
  annotations!["flannel.alpha.coreos.com/backend-data"] = data;
}

const NEW = "11111111-0000-4000-8000-000000000009";

interface Base {
  readonly code: string;
  readonly breakIt: (documents: NodeDocuments) => void;
}

/** Faults, each about other traffic. */
const BASES = {
  missing: { code: "load-balancer-missing", breakIt: ({ loadBalancers }) => void loadBalancers.shift() },
  rules: {
    code: "hns-rules-differ",
    breakIt: (documents) => {
      documents.rules = rulesText([...DSR_RULES.slice(0, 2), NAT_RULE]);
    },
  },
  port: {
    code: "load-balancer-port-differs",
    breakIt: ({ loadBalancers }) => {
      (loadBalancers[2]!["Policies"] as Json[])[0]!["InternalPort"] = 8081;
    },
  },
  outside: {
    code: "hns-rules-differ",
    breakIt: (documents) => {
      documents.rules = rulesText(DSR_RULES);
    },
  },
  route: {
    code: "remote-subnet-route-differs",
    breakIt: (documents) => {
      remoteRoute(documents)["ProviderAddress"] = "10.0.0.99";
    },
  },
  vni: {
    code: "vxlan-identifiers-differ",
    breakIt: (documents) => {
      publish(documents, '{"VNI":4097,"VtepMAC":"ba:c1:6f:91:17:c7"}');
      delete remoteRoute(documents)["IsolationId"];
    },
  },
  shadowed: {
    code: "hns-remote-endpoint-left",
    breakIt: ({ endpoints }) => void endpoints.push({ ...endpoints[1]!, ID: NEW, IPAddress: "10.244.1.7" }),
  },
} as const satisfies Readonly<Record<string, Base>>;

interface Row {
  readonly code: string;
  readonly base: keyof typeof BASES;
  /** Of each line of evidence. */
  readonly says: readonly RegExp[];
  /** Takes the evidence away: the entry goes, the finding stays. */
  readonly without: (documents: NodeDocuments) => void;
}

function withoutText(file: string): (documents: NodeDocuments) => void {
  return ({ texts }) => {
    texts[file] = "";
  };
}

function withoutServices(documents: NodeDocuments): void {
  documents.services = servicesText({ kubelet: "Running" });
}

const ROWS: readonly Row[] = [
  {
    code: "load-balancer-missing",
    base: "port",
    says: [/policy\.txt:\d+: load balancer 22222222-\S+3 serves 10\.96\.7\.7:80\/TCP/u],
    without: ({ loadBalancers }) => void loadBalancers.shift(),
  },
  {
    code: "service-without-back-ends",
    base: "rules",
    says: [/objects\.json:\d+: the back end 10\.244\.1\.7 of shop\/web is ready/u],
    without: (documents) => {
      const { endpoints } = objectOf(documents, "EndpointSlice", "web-1") as { endpoints: Json[] };
      endpoints[0]!["conditions"] = { ready: false };
    },
  },
  {
    code: "load-balancer-back-ends-differ",
    base: "rules",
    says: [
      /policy\.txt:\d+: \S.* leads to 10\.244\.1\.7/u,
      /objects\.json:\d+: .*ready back ends 10\.244\.1\.7/u,
    ],
    without: (documents) => {
      const { endpoints } = objectOf(documents, "EndpointSlice", "web-1") as { endpoints: Json[] };
      endpoints.push({ addresses: ["10.244.2.9"], conditions: { ready: true } });
    },
  },
  {
    code: "load-balancer-back-end-unknown",
    base: "rules",
    says: [/policy\.txt:\d+: .*leads to 1 endpoint/u, /endpoint\.txt:\d+: HNS has 11111111/u],
    without: ({ loadBalancers }) => {
      loadBalancers[2]!["References"] = ["/endpoints/33333333-0000-4000-8000-000000000009"];
    },
  },
  {
    code: "load-balancer-doubled",
    base: "rules",
    says: [/policy\.txt:\d+: 3 load balancers, and 22222222-\S+ alone serves 10\.96\.7\.7:80/u],
    without: ({ loadBalancers }) =>
      void loadBalancers.push({ ...loadBalancers[2]!, ID: "22222222-0000-4000-8000-000000000004" }),
  },
  {
    code: "load-balancer-port-differs",
    base: "rules",
    says: [/policy\.txt:\d+: .*internal port 8080/u, /objects\.json:\d+: slice of shop\/web: port 8080/u],
    without: (documents) => {
      (documents.loadBalancers[2]!["Policies"] as Json[])[0]!["InternalPort"] = 8081;
    },
  },
  {
    code: "hns-object-degraded",
    base: "rules",
    says: [/policy\.txt:\d+: .*has State 2/u],
    without: ({ loadBalancers }) => {
      delete loadBalancers[2]!["State"];
    },
  },
  {
    code: "hns-rules-differ",
    base: "port",
    says: [/vfpOutput\.txt:\d+: LB_DSR_10\.0\.0\.11_10\.96\.7\.7_80_8080_6, on the port of 10\.244\.1\.7/u],
    without: (documents) => {
      documents.rules = rulesText([...DSR_RULES.slice(0, 2), NAT_RULE]);
    },
  },
  {
    code: "kube-proxy-network-missing",
    base: "missing",
    says: [
      /kube-proxy\.conf:\d+: .*network flannel\.4096/u,
      /network\.txt:\d+: HNS has the network flannel/u,
    ],
    without: (documents) => {
      const { texts } = documents;
      texts["kube-proxy.conf"] = texts["kube-proxy.conf"]!.replace("networkName: flannel.4096", "x: y");
    },
  },
  {
    code: "kube-proxy-source-vip-invalid",
    base: "rules",
    says: [/policy\.txt:\d+: .*the SourceVIP 10\.244\.1\.2/u, /network\.txt:\d+: .*has 10\.244\.1\.0\/24/u],
    without: ({ loadBalancers }) => {
      (loadBalancers[2]!["Policies"] as Json[])[0]!["SourceVIP"] = "10.244.7.2";
    },
  },
  {
    code: "windows-service-stopped",
    base: "missing",
    says: [/windowsServices\.txt:\d+: the service kubeproxy runs/u],
    without: withoutServices,
  },
  {
    code: "load-balancer-ports-exhausted",
    base: "rules",
    says: [
      /dynamicportrange\.txt:\d+: 254 blocks of tcp ports are free/u,
      /excludedportrange\.txt:\d+: 1 range/u,
    ],
    without: (documents) => {
      documents.dynamic = "";
    },
  },
  {
    code: "remote-subnet-route-missing",
    base: "vni",
    says: [/network\.txt:\d+: .*a RemoteSubnetRoute to 10\.244\.2\.0\/24/u],
    without: ({ networks }) => void (networks[0]!["Policies"] as Json[]).pop(),
  },
  {
    code: "remote-subnet-route-differs",
    base: "vni",
    says: [
      /network\.txt:\d+: .*"ProviderAddress":"10\.0\.0\.21"/u,
      /objects\.json:\d+: Node linux-1: 10\.0\.0\.21/u,
    ],
    without: (documents) => {
      delete remoteRoute(documents)["ProviderAddress"];
    },
  },
  {
    code: "vxlan-identifiers-differ",
    base: "route",
    says: [/objects\.json:\d+: Node win-1 publishes VNI 4096/u, /Node linux-1 publishes VNI 4096/u],
    without: (documents) => publish(documents, '{"VtepMAC":"ba:c1:6f:91:17:c7"}'),
  },
  {
    code: "vxlan-port-in-use",
    base: "route",
    says: [/netstat\.txt:\d+: UDP port 4789 is held by Windows itself/u],
    without: withoutText("netstat.txt"),
  },
  {
    code: "node-not-ready",
    base: "route",
    says: [/objects\.json:\d+: Node win-1 is Ready/u, /Node linux-1 is Ready/u],
    without: (documents) => {
      delete (objectOf(documents, "Node", "linux-1")["status"] as Json)["conditions"];
      delete (objectOf(documents, "Node", "win-1")["status"] as Json)["conditions"];
    },
  },
  {
    code: "pod-without-endpoint",
    base: "shadowed",
    says: [/endpoint\.txt:\d+: endpoint Ethernet has 10\.244\.1\.7/u],
    without: ({ endpoints }) => void endpoints.shift(),
  },
  {
    code: "endpoint-not-attached",
    base: "outside",
    says: [/endpoint\.txt:\d+: the endpoint of 10\.244\.1\.7 has State 3: attached/u],
    without: ({ endpoints }) => {
      delete endpoints[0]!["State"];
    },
  },
  {
    code: "hns-duplicate-local-address",
    base: "outside",
    says: [/endpoint\.txt:\d+: 3 endpoints, and Ethernet alone has 10\.244\.1\.7/u],
    without: ({ endpoints }) => void endpoints.push({ ...endpoints[2]!, ID: NEW, IPAddress: "10.244.1.7" }),
  },
  {
    code: "hns-remote-endpoint-left",
    base: "outside",
    says: [/endpoint\.txt:\d+: 3 endpoints, no remote one with 10\.244\.1\.7/u],
    without: ({ endpoints }) => void endpoints.push({ ...endpoints[1]!, ID: NEW, IPAddress: "10.244.1.7" }),
  },
  {
    code: "endpoint-outside-subnet",
    base: "outside",
    says: [/network\.txt:\d+: network flannel\.4096 has 10\.244\.1\.0\/24, and 10\.244\.1\.7 is of it/u],
    without: ({ networks }) => {
      networks[0]!["Subnets"] = [];
    },
  },
  {
    code: "endpoint-namespace-missing",
    base: "outside",
    says: [/namespaces\.txt:\d+: HNS has the namespace 2c094b9e/u],
    without: ({ namespaces }) => void namespaces.splice(0, 1),
  },
  {
    code: "endpoint-mac-doubled",
    base: "outside",
    says: [/endpoint\.txt:\d+: 3 endpoints, and this one alone has 00-15-5D-24-50-01/u],
    without: ({ endpoints }) => {
      endpoints[2]!["MacAddress"] = "00-15-5D-24-50-01";
    },
  },
  {
    code: "switch-port-blocked",
    base: "outside",
    says: [/vfpOutput\.txt:\d+: port \S+ of 10\.244\.1\.7 is not blocked/u],
    without: (documents) => {
      documents.rules = documents.rules.replace(/ {2}Blocked : FALSE\n {2}BlockedOnRestore : FALSE\n/u, "");
    },
  },
  {
    code: "no-route",
    base: "outside",
    says: [/routes\.txt:\d+: the node has a default route by 10\.0\.0\.1/u],
    without: withoutText("routes.txt"),
  },
  {
    code: "hns-service-not-running",
    base: "missing",
    says: [/windowsServices\.txt:\d+: the service hns runs/u],
    without: withoutServices,
  },
  {
    code: "vfp-extension-disabled",
    base: "missing",
    says: [/network\.txt:\d+: the VFP extension of network flannel\.4096 is enabled/u],
    without: ({ networks }) => {
      networks[0]!["Extensions"] = [];
    },
  },
  {
    code: "management-address-differs",
    base: "missing",
    says: [/network\.txt:\d+: .*ManagementIP 10\.0\.0\.11/u, /objects\.json:\d+: .*InternalIP 10\.0\.0\.11/u],
    without: ({ networks }) => {
      delete networks[0]!["ManagementIP"];
    },
  },
  {
    code: "node-address-missing",
    base: "missing",
    says: [/ip\.txt:\d+: .*has 10\.0\.0\.11/u],
    without: withoutText("ip.txt"),
  },
  {
    code: "interface-down",
    base: "missing",
    says: [/netadapter\.txt:\d+: Ethernet, which the network was made on, is Up/u],
    without: withoutText("netadapter.txt"),
  },
  {
    code: "hns-service-hangs",
    base: "missing",
    says: [/nodedata\.json:\d+: HNS has 1 thread, 200 are many/u],
    without: withoutText("nodedata.json"),
  },
];

function broken(base: Base, ...changes: readonly ((documents: NodeDocuments) => void)[]): NodeDocuments {
  const documents = healthyNode();
  for (const change of [base.breakIt, ...changes]) change(documents);
  return documents;
}

describe("what was ruled out", () => {
  it("each competing cause has a row", () => {
    const causes = [...OF_FRONT_ENDS, ...OF_RANGES, ...OF_OUTSIDE, ...OF_THE_NODE].map(({ code }) => code);
    expect(new Set(ROWS.map(({ code }) => code))).toEqual(new Set(causes));
  });

  it.each(ROWS)(
    "$code, beside $base: by its lines, and not without them",
    async ({ code, base, says, without }) => {
      const there = await findingOf(broken(BASES[base]), BASES[base].code);
      const entry = there?.ruledOut?.find((each) => each.code === code);
      const lines = (entry?.evidence ?? []).map(({ file, line, says: text }) => `${file}:${line}: ${text}`);
      expect(lines).toHaveLength(says.length);
      for (const [at, pattern] of says.entries()) expect(lines[at]).toMatch(pattern);
      const gone = await findingOf(broken(BASES[base], without), BASES[base].code);
      expect(gone).toBeDefined();
      expect(gone?.ruledOut?.map((each) => each.code) ?? []).not.toContain(code);
    },
  );
});
