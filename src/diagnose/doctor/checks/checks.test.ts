// Each check beside a public case: the node is sound but for one thing.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  DSR_RULES,
  IDS,
  NAT_RULE,
  type NodeDocuments,
  excludedText,
  filesOf,
  healthyNode,
  rulesText,
  servicesText,
} from "#test/support/doctor/healthy-node.ts";
import { toldTexts } from "#test/support/told-texts.ts";
import { ACL_CASES } from "#test/support/doctor/acl-cases.ts";
import { type Case, FURTHER_CASES } from "#test/support/doctor/further-cases.ts";
import { SourceText } from "#core/base/source-text.ts";
import type { RuledOut } from "../check.ts";
import { type DoctorReport, examineNodes } from "../doctor.ts";
import { FileReading } from "../read-evidence.ts";
import { NODE_CHECKS } from "./all-checks.ts";
import { doctorChecks } from "#data/facts.js";

type Json = Record<string, unknown>;

async function examine(documents: NodeDocuments): Promise<DoctorReport> {
  const files = Object.entries(filesOf(documents));
  return examineNodes(
    files.map(([name, text]) => new FileReading(new SourceText(name, text))),
    { logs: [{ file: "node/kubeproxy.log", findings: [] }] },
  );
}

function byName(documents: NodeDocuments, kind: string, name: string): Json {
  return documents.kubernetes.find(
    (each) => each["kind"] === kind && (each["metadata"] as Json)["name"] === name,
  )!;
}

function remove<T>(list: T[], wanted: (each: T) => boolean): void {
  const at = list.findIndex(wanted);
  if (at < 0) throw new Error("there is none to be removed");
  list.splice(at, 1);
}

function idOf(id: string): (each: Json) => boolean {
  return (each) => each["ID"] === id;
}

/** What is asked of logs: a question for each family of programs. */
const LOG_QUESTIONS = 9;
const GONE_LB = "22222222-0000-4000-8000-000000000003";

const CASES: readonly Case[] = [
  ...FURTHER_CASES,
  ...ACL_CASES,
  {
    check: "services-have-load-balancers",
    code: "load-balancer-missing",
    seen: "kubernetes/kubernetes#110674",
    says: /no load balancer for 10\.96\.0\.10:53\/UDP of Service kube-system\/kube-dns/u,
    file: "node/objects.json",
    change: ({ loadBalancers }) => remove(loadBalancers, () => true),
  },
  {
    check: "dns-is-balanced",
    code: "load-balancer-missing",
    seen: "Azure/AKS#2899",
    says: /no load balancer of this node has the port 53 by UDP/u,
    file: "node/policy.txt",
    change: ({ loadBalancers, kubernetes }) => {
      remove(loadBalancers, () => true);
      kubernetes.length = 0;
    },
  },
  {
    check: "back-ends-are-those-of-slices",
    code: "load-balancer-back-ends-differ",
    seen: "kubernetes/kubernetes#113524",
    says: /10\.96\.7\.7:80\/TCP leads to 10\.244\.2\.5, which no slice of shop\/web names/u,
    file: "node/policy.txt",
    change: ({ loadBalancers }) => {
      loadBalancers[2]!["References"] = [`/endpoints/${IDS.DNS_POD}`];
    },
  },
  {
    check: "back-ends-exist",
    code: "load-balancer-back-end-unknown",
    seen: "https://github.com/microsoft/wcnscripts (findDegradedPolicies)",
    says: /refers to endpoint 33333333-\S+, which HNS does not list/u,
    file: "node/policy.txt",
    change: ({ loadBalancers }) => {
      loadBalancers[2]!["References"] = ["/endpoints/33333333-0000-4000-8000-000000000009"];
    },
  },
  {
    check: "load-balancers-have-services",
    code: "load-balancer-without-service",
    seen: "kubernetes/kubernetes#91703",
    says: /serves 10\.96\.7\.7, which is no Service's address/u,
    file: "node/policy.txt",
    change: ({ kubernetes }) => {
      remove(
        kubernetes,
        (each) => each["kind"] === "Service" && (each["metadata"] as Json)["name"] === "web",
      );
    },
  },
  {
    check: "front-ends-are-single",
    code: "load-balancer-doubled",
    seen: "kubernetes/kubernetes#130963",
    says: /two load balancers serve 10\.96\.7\.7:80\/TCP/u,
    file: "node/policy.txt",
    change: ({ loadBalancers }) =>
      void loadBalancers.push({ ...loadBalancers[2]!, ID: "22222222-0000-4000-8000-000000000004" }),
  },
  {
    check: "load-balancers-are-applied",
    code: "hns-object-degraded",
    seen: "https://github.com/microsoft/wcnscripts (findDegradedPolicies)",
    says: new RegExp(`load balancer ${GONE_LB} of 10\\.96\\.7\\.7 is degraded`, "u"),
    file: "node/policy.txt",
    change: ({ loadBalancers }) => {
      loadBalancers[2]!["State"] = 4;
    },
  },
  {
    check: "remote-endpoints-shadow-no-pod",
    code: "hns-remote-endpoint-left",
    seen: "microsoft/Windows-Containers#631",
    says: /a local and a remote endpoint have the address 10\.244\.1\.7/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) =>
      void endpoints.push({
        ...endpoints[1]!,
        ID: "11111111-0000-4000-8000-000000000004",
        IPAddress: "10.244.1.7",
      }),
  },
  {
    check: "local-addresses-are-single",
    code: "hns-duplicate-local-address",
    seen: "kubernetes/kubernetes#130963",
    says: /two local endpoints have the address 10\.244\.1\.7/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) =>
      void endpoints.push({ ...endpoints[0]!, ID: "11111111-0000-4000-8000-000000000004" }),
  },
  {
    check: "pods-have-endpoints",
    code: "pod-without-endpoint",
    seen: "kubernetes-sigs/sig-windows-tools#380",
    says: /pod shop\/late has 10\.244\.1\.9, and no endpoint of HNS does/u,
    file: "node/objects.json",
    change: ({ kubernetes }) => {
      const pod = structuredClone(kubernetes.find((each) => each["kind"] === "Pod")!);
      (pod["metadata"] as Json)["name"] = "late";
      pod["status"] = { phase: "Running", podIP: "10.244.1.9", podIPs: [{ ip: "10.244.1.9" }] };
      kubernetes.push(pod);
    },
  },
  {
    check: "endpoints-have-pods",
    code: "endpoint-without-pod",
    seen: "Azure/azure-container-networking#218",
    says: /no pod has the address of the local endpoint Ethernet \(10\.244\.1\.44\)/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) =>
      void endpoints.push({
        ...endpoints[0]!,
        ID: "11111111-0000-4000-8000-000000000004",
        IPAddress: "10.244.1.44",
        Resources: {},
      }),
  },
  {
    check: "ingress-addresses-have-load-balancers",
    code: "load-balancer-missing",
    seen: "no public one found (a variant of the one above)",
    says: /no load balancer for 192\.0\.2\.7:80\/TCP of Service shop\/web/u,
    file: "node/objects.json",
    change: (documents) => {
      const { spec } = byName(documents, "Service", "web") as unknown as { spec: Json };
      spec["externalIPs"] = ["192.0.2.7"];
    },
  },
  {
    check: "endpoints-are-attached",
    code: "endpoint-not-attached",
    seen: "microsoft/SDN#582",
    says: /Ethernet \(10\.244\.1\.7\) is attached to no compartment/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[0]!["State"] = 1;
    },
  },
  {
    check: "endpoints-are-sound",
    code: "hns-object-degraded",
    seen: "projectcalico/felix#2893",
    says: /Ethernet \(10\.244\.1\.7\) is degraded/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[0]!["State"] = 5;
    },
  },
  {
    check: "endpoints-are-in-their-subnets",
    code: "endpoint-outside-subnet",
    seen: "kubernetes-sigs/sig-windows-tools#336",
    says: /Ethernet \(10\.244\.1\.7\) is in no subnet of network flannel\.4096/u,
    file: "node/endpoint.txt",
    change: ({ networks, endpoints }) => {
      const [subnet] = networks[0]!["Subnets"] as Json[];
      subnet!["AddressPrefix"] = "10.244.5.0/24";
      remove(endpoints, idOf(IDS.SOURCE));
    },
  },
  {
    check: "namespaces-hold-endpoints",
    code: "namespace-endpoint-missing",
    seen: "https://github.com/microsoft/wcnscripts (invalidCompartment)",
    says: /refers to endpoint 44444444-\S+, which HNS does not list/u,
    file: "node/namespaces.txt",
    change: ({ namespaces }) => {
      namespaces[0]!["ResourceList"] = [
        { Type: "Endpoint", Data: { Id: "44444444-0000-4000-8000-000000000001" } },
      ];
    },
  },
  {
    check: "management-address-is-routable",
    code: "node-address-link-local",
    seen: "microsoft/SDN#269",
    says: /was made while the adapter had 169\.254\.7\.1/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      networks[0]!["ManagementIP"] = "169.254.7.1";
    },
  },
  {
    check: "management-address-is-the-nodes",
    code: "management-address-differs",
    seen: "kubernetes/kubernetes#75561",
    says: /has the management address 10\.0\.0\.99, and the node 10\.0\.0\.11/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      networks[0]!["ManagementIP"] = "10.0.0.99";
    },
  },
  {
    check: "vfp-extension-is-on",
    code: "vfp-extension-disabled",
    seen: "microsoft/Windows-Containers#608",
    says: /VFP Switch Extension is disabled on the switch of network flannel\.4096/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      const [extension] = networks[0]!["Extensions"] as Json[];
      extension!["IsEnabled"] = false;
    },
  },
  {
    check: "each-node-has-a-tunnel",
    code: "remote-subnet-route-missing",
    seen: "flannel-io/flannel#1944",
    says: /no RemoteSubnetRoute to 10\.244\.2\.0\/24 of node linux-1/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      networks[0]!["Policies"] = [{ Type: "HostRoute" }];
    },
  },
  {
    check: "tunnels-end-where-nodes-are",
    code: "remote-subnet-route-differs",
    seen: "flannel-io/flannel#1394",
    says: /has the MAC BA-C1-6F-91-17-00 instead of ba:c1:6f:91:17:c7 of node linux-1/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      const [, route] = networks[0]!["Policies"] as Json[];
      route!["DistributedRouterMacAddress"] = "BA-C1-6F-91-17-00";
    },
  },
  {
    check: "nodes-have-one-vni",
    code: "vxlan-identifiers-differ",
    seen: "rancher/rke2#5995",
    says: /this node uses VNI 4096, and linux-1 VNI 1/u,
    file: "node/objects.json",
    change: (documents) => {
      const { annotations } = byName(documents, "Node", "linux-1")["metadata"] as { annotations: Json };
      annotations["flannel.alpha.coreos.com/backend-data"] = '{"VNI":1,"VtepMAC":"ba:c1:6f:91:17:c7"}';
      const [, route] = documents.networks[0]!["Policies"] as Json[];
      route!["IsolationId"] = 1;
    },
  },
  {
    check: "vni-is-one-for-windows",
    code: "hns-vsid-invalid",
    seen: "moby/moby#32935",
    says: /has the identifier 258, and Windows uses none below 4096/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      const [subnet] = networks[0]!["Subnets"] as Json[];
      subnet!["Policies"] = [{ Type: "VSID", VSID: 258 }];
    },
  },
  {
    check: "services-of-windows-run",
    code: "windows-service-stopped",
    seen: "projectcalico/calico#5539",
    says: /the service kubeproxy of Windows is stopped/u,
    file: "node/windowsServices.txt",
    change: (documents) => {
      documents.services = servicesText({ hns: "Running", kubeproxy: "Stopped", kubelet: "Running" });
    },
  },
  {
    check: "wanted-ports-are-free",
    code: "wanted-port-excluded",
    seen: "docker/for-win#3171",
    says: /node port 31080 of Service shop\/web is in the range 31064–31127, which Windows keeps/u,
    file: "node/excludedportrange.txt",
    change: (documents) => {
      const { spec } = byName(documents, "Service", "web") as unknown as {
        spec: { type: string; ports: Json[] };
      };
      spec.type = "NodePort";
      spec.ports[0]!["nodePort"] = 31_080;
      documents.excluded = excludedText([
        [31_000, 31_063],
        [31_064, 31_127],
      ]);
    },
  },
  {
    check: "ports-are-left-for-load-balancers",
    code: "load-balancer-ports-exhausted",
    seen: "Azure/AKS#1375",
    says: /6 blocks of 64 tcp ports are free/u,
    file: "node/dynamicportrange.txt",
    change: (documents) => {
      documents.excluded = excludedText([[49_152, 65_151]]);
    },
  },
  {
    check: "outbound-nat-is-programmed",
    code: "hns-rules-differ",
    seen: "projectcalico/calico#12862",
    says: /10\.244\.1\.7 has the policy OutBoundNAT, and its port no rule of it/u,
    file: "node/endpoint.txt",
    change: (documents) => {
      documents.rules = rulesText(DSR_RULES);
    },
  },
  {
    check: "tunnels-are-programmed",
    code: "hns-rules-differ",
    seen: "flannel-io/flannel#1394",
    says: /a RemoteSubnetRoute to 10\.244\.2\.0\/24, and the port of 10\.244\.1\.7 no rule for it/u,
    file: "node/network.txt",
    change: (documents) => {
      documents.rules = rulesText([...DSR_RULES, NAT_RULE], []);
    },
  },
  {
    check: "load-balancers-are-programmed",
    code: "hns-rules-differ",
    seen: "https://github.com/microsoft/wcnscripts (mitigation-missing-lb-rules)",
    says: /the load balancer of 10\.96\.7\.7:80 has no rule on the port of 10\.244\.1\.7/u,
    file: "node/policy.txt",
    change: (documents) => {
      documents.rules = rulesText([...DSR_RULES.slice(0, 2), NAT_RULE]);
    },
  },
  {
    check: "rules-are-single",
    code: "hns-rules-differ",
    seen: "https://github.com/microsoft/wcnscripts (duplicate rules)",
    says: /VFP has 2 rules for 10\.96\.7\.7:80 in one group of a port/u,
    file: "node/vfpOutput.txt",
    change: (documents) => {
      documents.rules = rulesText([...DSR_RULES, `${DSR_RULES[2]!}_1A2B3`, NAT_RULE]);
    },
  },
  {
    check: "rules-have-load-balancers",
    code: "hns-rules-differ",
    seen: "https://github.com/microsoft/wcnscripts (cleanup-orphan-rules)",
    says: /VFP balances 10\.96\.9\.9:80 by rule LB_DSR_\S+, and no load balancer of HNS does/u,
    file: "node/vfpOutput.txt",
    change: (documents) => {
      documents.rules = rulesText([...DSR_RULES, "LB_DSR_10.0.0.11_10.96.9.9_80_8080_6", NAT_RULE]);
    },
  },
];

// kubernetes/kubernetes#79515: Get-HnsPolicyList is empty, and the node is Ready all the time.
describe("a node without any load balancer", () => {
  it.each([
    ["an empty list", "[]\n"],
    ["an empty file", ""],
    [
      "hnsdiag list all",
      "Networks:\nName             ID\n\nLoadBalancers:\nID | Virtual IPs | Direct IP IDs\n\n",
    ],
  ])("as %s", async (_, text) => {
    const files = { ...filesOf(healthyNode()), "node/policy.txt": text };
    const readings = Object.entries(files).map(([name, own]) => new FileReading(new SourceText(name, own)));
    const { findings } = await examineNodes(readings);
    expect(findings[0]).toMatchObject({ code: "load-balancer-missing", proof: { isProved: true } });
    expect(findings[0]?.evidence.at(-1)?.file).toBe("node/policy.txt");
    expect(findings[0]?.others).toHaveLength(2);
  });

  it("is not concluded from files that list none of anything", async () => {
    const { "node/policy.txt": _, ...files } = filesOf(healthyNode());
    const readings = Object.entries(files).map(([name, own]) => new FileReading(new SourceText(name, own)));
    const { findings, checksNotMade } = await examineNodes(readings);
    expect(findings).toEqual([]);
    expect(checksNotMade.map(({ check }) => check)).toContain("services-have-load-balancers");
  });
});

it("proves a fault on a twin that has few of many pods, and makes none of its own", async () => {
  const documents = healthyNode();
  remove(documents.loadBalancers, () => true);
  const pod = documents.kubernetes.find((each) => each["kind"] === "Pod")!;
  for (let number = 0; number < 600; number++) {
    const podIP = `10.244.3.${number % 256}`;
    const copy = structuredClone(pod);
    copy["status"] = { phase: "Running", podIP, podIPs: [{ ip: podIP }] };
    Object.assign(copy["metadata"] as Json, { name: `many-${number}`, labels: { app: "many" } });
    Object.assign(copy["spec"] as Json, { nodeName: "linux-9" });
    documents.kubernetes.push(copy);
  }
  documents.kubernetes.push({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "many", namespace: "shop" },
    spec: {
      replicas: 600,
      selector: { matchLabels: { app: "many" } },
      template: { metadata: { labels: { app: "many" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  });
  const { findings } = await examine(documents);
  const missing = findings.find(({ code }) => code === "load-balancer-missing");
  expect(missing).toMatchObject({ proof: { isProved: true } });
});

describe("a sound node", () => {
  it("is asked everything, and nothing is wrong", async () => {
    const report = await examine(healthyNode());
    expect(report.findings).toEqual([]);
    expect(report.checksNotMade).toEqual([]);
    expect(report.checksMade).toBe(NODE_CHECKS.length + LOG_QUESTIONS);
    expect(report.notRead).toEqual([]);
  });

  it("has a case for each check", () => {
    const checks = new Set(CASES.map(({ check }) => check));
    expect([...checks].toSorted()).toEqual(NODE_CHECKS.map(({ id }) => id).toSorted());
  });
});

/** All that is said of each case, but for lines of files, the catalogue's text and what a packet met. */
const told = toldTexts("test/support/doctor/case-findings.txt");

/** What is ruled out of the same traffic again and again, once: `title` begins with "of", its lines are those of findings. */
const usual = told.titles
  .filter((title) => title.startsWith("of "))
  .map((title) => ({
    title,
    lines: told
      .of(title)
      .split("\n")
      .filter((line) => line !== ""),
  }));

function ruledOutLines(ruledOut: readonly RuledOut[]): readonly string[] {
  const own = ruledOut.map(
    ({ code, evidence }) => `  not ${code}: ${evidence.map(({ says }) => says).join("; ")}`,
  );
  const folded = usual.filter(
    ({ lines }) => lines.filter((line) => own.includes(line)).length > lines.length / 2,
  );
  const all = new Set(folded.flatMap(({ lines }) => lines));
  return [
    ...own.filter((line) => !all.has(line)),
    ...folded.map(({ title, lines }) => {
      const open = lines
        .filter((line) => !own.includes(line))
        .map((line) => / not ([a-z0-9-]+)/u.exec(line)?.[1]);
      return `  ruled out: what is said ${title}${open.length === 0 ? "" : `, but for ${open.join(", ")}`}`;
    }),
  ];
}

/** Of faults that nothing changes on a twin. */
const NOT_TRIED = "this fault is not one that is brought to a twin";

function toldText({ findings, checksNotMade }: DoctorReport): string {
  const lines = findings.flatMap((each) => {
    const { code, certainty, node, message, evidence, proof, ruledOut = [], others = [] } = each;
    return [
      `${code}, ${certainty}, ${node}: ${message}`,
      ...evidence.map(({ file, says }) => `  ${file}: ${says}`),
      `  breaks ${each.breaks}`,
      ...(each.next === undefined ? [] : [`  next: ${each.next}`]),
      ...(proof.isProved
        ? [`  proved: ${proof.observed ?? ""}`]
        : proof.says === NOT_TRIED
          ? []
          : [`  not proved: ${proof.says}`]),
      ...ruledOutLines(ruledOut),
      ...others.map((one) => `  also ${one}`),
    ];
  });
  const notMade = Map.groupBy(checksNotMade, ({ missing }) => missing.join(", "));
  const left = [...notMade].map(
    ([missing, checks]) => `without ${missing}: ${checks.map(({ check }) => check).join(", ")}`,
  );
  return `${[...lines, ...left].join("\n")}\n`;
}

/** Checks whose case packets prove; docs/how-to/find-out-why-a-node-is-broken.md has the list. */
const proved = new Set<string>();
const PAGE = "docs/how-to/find-out-why-a-node-is-broken.md";

describe.each(CASES)("$check ($seen)", ({ check, code, says, file, change }) => {
  it("is found, with the file that shows it", async () => {
    const documents = healthyNode();
    change(documents);
    const report = await examine(documents);
    const { findings } = report;
    const found = findings.find((each) => says.test(each.message));
    expect(findings.map(({ message }) => message).join("\n")).toMatch(says);
    expect(found).toMatchObject({ code });
    expect(found?.evidence[0]?.file).toBe(file);
    expect(found?.evidence.every(({ line }) => line > 0)).toBe(true);
    if (found?.proof.isProved === true) proved.add(check);
    const text = toldText(report);
    expect(text).toBe(told.held(`${check}: ${says.source}`, text));
  });
});

it("each question of the table has a check, in the same order", () => {
  expect(Object.keys(doctorChecks().value as object)).toEqual(NODE_CHECKS.map(({ id }) => id));
});

it("the page lists the checks whose case packets prove", () => {
  const [, list = ""] = /Packets prove: ([a-z0-9,\s-]+)\./u.exec(readFileSync(PAGE, "utf8")) ?? [];
  expect(list.split(/,\s+/u).toSorted()).toEqual([...proved].toSorted());
});

describe("the page's tables of what Microsoft's scripts check", () => {
  const page = readFileSync(PAGE, "utf8");
  const rowsBelow = (title: string): readonly (readonly string[])[] => {
    const lines = page.slice(page.indexOf(`| ${title}`)).split("\n");
    const end = lines.findIndex((line) => !line.startsWith("|"));
    return lines.slice(2, end).map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  };
  // https://github.com/microsoft/wcnscripts, networkhealth.ps1: the classes of its checks.
  const NETWORK_HEALTH = new Set([
    "EndpointState",
    "EndpointVfpPortState",
    "PortExhaustion",
    "IncorrectManagementIp",
    "LoadBalancerPolicyState",
    "DSRLoadBalancerPolicyVfpRules",
    "StaleRemoteEndpoints",
    "LoadBalancerStaleRemoteEndpoints",
    "ValidDNSLoadbalancerPolicy",
    "HNSCrash",
    "ClusterIPServiceDSR",
    "HNSPotentialDeadlock",
    "BasicConnectivity",
    "HNSManagement",
  ]);

  it("have every check of networkhealth.ps1, and as many rows of wcnscripts as it has checks", () => {
    expect(new Set(rowsBelow("networkhealth.ps1").map(([name]) => name))).toEqual(NETWORK_HEALTH);
    expect(rowsBelow("wcnscripts").length).toBeGreaterThanOrEqual(19);
  });

  it("name checks that are there, or say why there is none", () => {
    const ids = new Set(NODE_CHECKS.map(({ id }) => id));
    for (const [name = "", ours = ""] of [...rowsBelow("networkhealth.ps1"), ...rowsBelow("wcnscripts")]) {
      const named = ours.match(/\b[a-z]+(?:-[a-z0-9]+){2,}\b/gu) ?? [];
      expect([name, named.filter((id) => !ids.has(id) && !/^logs-|^events-/u.test(id))]).toEqual([name, []]);
      expect([name, named.length > 0 || ours.startsWith("none: ")]).toEqual([name, true]);
    }
  });
});
