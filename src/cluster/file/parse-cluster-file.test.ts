import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { parseClusterFile } from "./parse-cluster-file.ts";
import { type FileProblem, formatProblem } from "#core/catalogue/file-problem.ts";

const HEAD = "apiVersion: mullion/v1alpha1\nkind: Cluster\nmetadata: {name: test}\n";
const WIN_1 = "  - {name: win-1, os: windows, address: 10.0.0.11}\n";
const WIN_2 = "  - {name: win-2, os: windows, address: 10.0.0.12}\n";
const SMALLEST = `${HEAD}nodes:\n${WIN_1}`;

function clusterOf(text: string): ClusterFile {
  const result = parseClusterFile(text, "cluster.yaml");
  if ("problems" in result) throw new Error(result.problems.map(formatProblem).join(""));
  return result.cluster;
}

function problemsOf(text: string): readonly FileProblem[] {
  const result = parseClusterFile(text, "cluster.yaml");
  return "problems" in result ? result.problems : [];
}

/** A problem as the tables below write it: `4:7 code field: message`. */
function short({ line, column, code, path, message }: FileProblem): string {
  return `${line}:${column} ${code.replace("cluster-file-", "")} ${path}: ${message}`;
}

describe("the smallest cluster file", () => {
  const cluster = clusterOf(SMALLEST);

  it("gets every default", () => {
    expect(cluster).toMatchObject({
      fileName: "cluster.yaml",
      name: "test",
      kubernetes: { version: { major: 1, minor: 37, patch: undefined } },
      seed: 1,
      pods: [],
    });
    expect(cluster.nodes[0]).toMatchObject({ os: "windows", compat: "upstream" });
    expect(cluster.nodes[0]?.build).toMatchObject({ profile: { name: "ws2022" }, revision: undefined });
    expect(cluster.network).toMatchObject({
      plugin: "win-bridge",
      name: "cbr0",
      driver: "L2Bridge",
      shape: "own-subnet",
      routes: "static",
      cni: { conflist: undefined, policies: [] },
    });
    expect(formatPrefix(cluster.network.clusterCIDR)).toBe("10.244.0.0/16");
    expect(formatPrefix(cluster.network.serviceCIDR)).toBe("10.96.0.0/12");
    expect(formatPrefix(cluster.underlay.subnet)).toBe("10.0.0.0/24");
    expect(formatIp(cluster.underlay.router)).toBe("10.0.0.1");
    expect(cluster.underlay.routes).toEqual([]);
  });

  it("has one host outside", () => {
    expect(cluster.outside.map(({ name, address }) => [name, formatIp(address)])).toEqual([
      ["external", "203.0.113.10"],
    ]);
  });

  it("excepts pods, services and nodes from OutBoundNAT", () => {
    expect(cluster.network.outboundNAT.enabled).toBe(true);
    expect(cluster.network.outboundNAT.exceptions.map(formatPrefix)).toEqual([
      "10.244.0.0/16",
      "10.96.0.0/12",
      "10.0.0.0/24",
    ]);
  });

  it("cannot be changed", () => {
    expect(Object.isFrozen(cluster)).toBe(true);
    expect(Object.isFrozen(cluster.nodes[0]?.podCIDR)).toBe(true);
    expect(Object.isFrozen(cluster.network.outboundNAT.exceptions)).toBe(true);
  });
});

describe("values", () => {
  it.each([
    ["1.30", { major: 1, minor: 30, patch: undefined }],
    ['"1.30"', { major: 1, minor: 30, patch: undefined }],
    ["v1.27.4", { major: 1, minor: 27, patch: 4 }],
  ])("kubernetes.version %s", (text, version) => {
    expect(clusterOf(`${SMALLEST}kubernetes: {version: ${text}}\n`).kubernetes.version).toEqual(version);
  });

  it.each([
    ["ws2019", "ws2019", undefined],
    ["1903", "1903", undefined],
    ["ws2022.2582", "ws2022", 2582],
    ["20348.2540", "ws2022", 2540],
    ["10.0.26100.1", "ws2025", 1],
  ])("build: %s", (text, profile, revision) => {
    const cluster = clusterOf(`${HEAD}nodes: [{name: a, os: windows, build: ${text}, address: 10.0.0.11}]\n`);
    expect(cluster.nodes[0]?.build).toMatchObject({ profile: { name: profile }, revision });
  });

  it("quirks: those of a node go before those of the cluster; YAML's words for yes and no count", () => {
    const nodes = `nodes:
  - name: a
    os: windows
    address: 10.0.0.11
    quirks: {fragment-collisions: "0.5@seed", sockets-refused: off, acl-without-effect: 0.25, service-deadlock: true}
  - {name: b, os: windows, address: 10.0.0.12}
`;
    const cluster = clusterOf(`${HEAD}quirks: {sockets-refused: on}\n${nodes}`);
    expect(cluster.nodes.map(({ quirks }) => quirks)).toEqual([
      {
        "sockets-refused": "off",
        "fragment-collisions": { rate: 0.5, seed: "seed" },
        "acl-without-effect": { rate: 0.25 },
        "service-deadlock": "on",
      },
      { "sockets-refused": "on" },
    ]);
  });

  it.each([
    ["{socket-refused: on}", "cluster-file-unknown-field", "Did you mean sockets-refused?"],
    ["{sockets-refused: 2}", "cluster-file-invalid-value", "Write on, off, a rate from 0 to 1"],
    ["{sockets-refused: [on]}", "cluster-file-invalid-value", "Write on, off, a rate from 0 to 1"],
    ["[sockets-refused]", "cluster-file-invalid-value", "Write defect: on, one per line."],
  ])("quirks: %s is refused", (text, code, advice) => {
    const parsed = parseClusterFile(`${SMALLEST}quirks: ${text}\n`, "c.yaml");
    const [problem] = "problems" in parsed ? parsed.problems : [];
    expect(problem).toMatchObject({ code, advice: expect.stringContaining(advice) as string });
    expect(problem?.path).toMatch(/^quirks/);
  });

  it("quirks of a Linux node are refused", () => {
    const node = "nodes: [{name: a, os: linux, address: 10.0.0.11, quirks: {sockets-refused: on}}]\n";
    const parsed = parseClusterFile(`${HEAD}${node}`, "c.yaml");
    expect(parsed).toMatchObject({ problems: [{ message: "a Linux node has no defects of Windows" }] });
  });

  it("gives nodes the free blocks of the cluster range in order", () => {
    const nodes = [11, 12, 13, 14]
      .map((last) => {
        const podCIDR = last === 13 ? ", podCIDR: 10.244.1.0/24" : "";
        return `  - {name: n${last}, os: linux, address: 10.0.0.${last}${podCIDR}}\n`;
      })
      .join("");
    const ranges = clusterOf(`${HEAD}nodes:\n${nodes}`).nodes.map((node) => formatPrefix(node.podCIDR));
    expect(ranges).toEqual(["10.244.0.0/24", "10.244.2.0/24", "10.244.1.0/24", "10.244.3.0/24"]);
  });

  it("reads pods, ports and policies", () => {
    const { pods } = clusterOf(
      `${SMALLEST}pods:
  - name: web
    namespace: shop
    node: win-1
    labels: {app: web}
    address: 10.244.0.10
    ports: [{port: 80, hostPort: 8080}, {port: 53, protocol: UDP}]
    policies: [{Type: ACL, Settings: {Action: Block, Priority: 200, Nested: [1, null, true]}}]
  - {name: client, node: win-1}
`,
    );
    expect(pods[0]).toMatchObject({
      namespace: "shop",
      labels: { app: "web" },
      ports: [
        { port: 80, protocol: "TCP", hostPort: 8080 },
        { port: 53, protocol: "UDP", hostPort: undefined },
      ],
      policies: [{ Type: "ACL", Settings: { Action: "Block", Priority: 200, Nested: [1, null, true] } }],
    });
    expect(pods[1]).toMatchObject({
      namespace: "default",
      address: undefined,
      ports: [{ port: 8080, protocol: "TCP" }],
    });
  });

  it("uses the underlay as pod range in shape node-subnet", () => {
    const { network } = clusterOf(
      `${HEAD}network: {plugin: hns, shape: node-subnet}
underlay: {subnet: 10.0.0.0/16}
nodes: [{name: a, os: windows, address: 10.0.0.11, podCIDR: 10.0.1.0/24}]
`,
    );
    expect(network.routes).toBe("none");
    expect(formatPrefix(network.clusterCIDR)).toBe("10.0.0.0/16");
    expect(network.outboundNAT.exceptions.map(formatPrefix)).toEqual(["10.0.0.0/16", "10.96.0.0/12"]);
  });

  it("takes aliases for what they stand for", () => {
    const text = `${HEAD}nodes:\n${WIN_1}pods:\n  - {name: a, node: &n win-1}\n  - {name: b, node: *n}\n`;
    expect(clusterOf(text).pods.map((pod) => pod.node)).toEqual(["win-1", "win-1"]);
  });

  it("keeps a field named __proto__ as data", () => {
    const { pods } = clusterOf(
      `${SMALLEST}pods: [{name: a, node: win-1, policies: [{Type: ACL, __proto__: {x: 1}}]}]\n`,
    );
    expect(Object.keys(pods[0]?.policies[0] ?? {})).toEqual(["Type", "__proto__"]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });
});

describe("text that is no cluster file", () => {
  it.each([
    ["", "1:1 missing-field : the file is empty"],
    ["# only a comment\n", "1:1 missing-field : the file is empty"],
    ["just words", '1:1 invalid-value : must be a cluster file, but is "just words"'],
    ["- a\n- b\n", "1:1 invalid-value : must be a cluster file, but is a list"],
    [
      "a: [1, 2\nb: 3\n",
      "2:1 invalid-yaml : flow sequence in block collection must be sufficiently indented and end with a ]",
    ],
    ["kind: Cluster\n\tname: x\n", "2:1 invalid-yaml : tabs are not allowed as indentation"],
    ["a: *nowhere\n", "1:4 invalid-yaml : the alias *nowhere has no anchor before it"],
    ["a: &x [*x]\n", "1:8 invalid-yaml : the alias *x has no anchor before it"],
    [`${SMALLEST}---\na: 1\n`, "6:1 invalid-yaml : the file holds more than one document"],
    ["a: \u0000\n", "1:4 cluster-file-unreadable : the file holds a zero byte, so it is not text in UTF-8"],
    [
      "apiVersion: v1\nkind: Pod\nspec: {}\n",
      '1:1 invalid-value apiVersion: this is a Pod of "v1", not a cluster file',
    ],
    [
      "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n",
      '2:1 invalid-value apiVersion: this is a Cluster of "kind.x-k8s.io/v1alpha4", not a cluster file',
    ],
    ["x: !secret 1\n", "1:4 invalid-yaml : unresolved tag: !secret"],
  ])("%j", (text, expected) => {
    const first = problemsOf(text)[0];
    expect(first && short(first)).toBe(expected.replace("cluster-file-", ""));
  });
});

describe("single fields", () => {
  it.each([
    ["seeed: 5", '6:1 unknown-field seeed: there is no field "seeed" here', "Did you mean seed?"],
    [
      "zzz: 5",
      '6:1 unknown-field zzz: there is no field "zzz" here',
      /^Fields here are: apiVersion, kind, metadata/,
    ],
    [
      "manifests: [../a.yaml]",
      '6:13 invalid-value manifests[0]: "../a.yaml" is not a path below the folder of this file',
      /^Write a path such as manifests\//,
    ],
    ["manifests: [/etc]", /^6:13 invalid-value manifests\[0\]: "\/etc" is not a path below/, /^Write a path/],
    [
      "expectations: [{from: pod/a, to: pod/a, expect: denied, code: no-rout}]",
      '6:63 invalid-value expectations[0].code: "no-rout" is not a code of the catalogue',
      /^Did you mean no-route\?/,
    ],
    [
      "expectations: [{from: pod/a, to: pod/a, expect: works, code: no-route}]",
      "6:62 invalid-value expectations[0].code: what works has no code",
      /^Remove the field, or write expect: denied/,
    ],
    [
      "expectations: [{from: pod/a, to: pod/a, expect: works, protocol: icmp, port: 1}]",
      "6:78 invalid-value expectations[0].port: ICMP has no ports",
      /^Remove the field/,
    ],
    ["workloads: [{pod: a, command: []}]", /^6:\d+ invalid-value workloads\[0\]\.command: /, /./],
    [
      "workloads: [{pod: a, command: [nc, 80]}]",
      /^6:36 invalid-value workloads\[0\]\.command\[1\]: must be a word of a command, but is the number 80/,
      /^Put it in quotes/,
    ],
    [
      "workloads: [{pod: A, command: [nc]}]",
      /^6:19 invalid-value workloads\[0\]\.pod: "A" is not a name/,
      /./,
    ],
    [
      "expectations: [{from: a b, to: pod/a, expect: works}]",
      /^6:23 invalid-value expectations\[0\]\.from: "a b" is not a pod, a node/,
      /^Write pod/,
    ],
    [
      "network: {backend: vxlan}",
      "6:20 invalid-value network.backend: a backend belongs to the plugin flannel",
      "Remove it, or write plugin: flannel.",
    ],
    [
      "seed: 1\nseed: 2",
      "7:1 invalid-yaml seed: the field is given twice, first in line 6",
      "Keep one of the two.",
    ],
    ["seed: -1", "6:7 invalid-value seed: -1 is not a seed", "Write a whole number from 0 to 4294967295."],
    ['seed: "1"', '6:7 invalid-value seed: must be a seed, but is "1"', "Leave the quotes out: 1."],
    [
      "network: win-bridge",
      '6:10 invalid-value network: must be a mapping, but is "win-bridge"',
      /^Write its fields below it: plugin, name/,
    ],
    [
      "network: {plugin: win-brigde}",
      '6:19 invalid-value network.plugin: "win-brigde" is not possible here',
      /^Did you mean win-bridge\?/,
    ],
    [
      "network: {driver: overlay}",
      /^6:19 invalid-value network.driver: "overlay" is not possible/,
      "Did you mean Overlay? Possible values: L2Bridge, L2Tunnel, Overlay, Transparent, NAT.",
    ],
    [
      "kubernetes: {version: 1.19}",
      "6:23 invalid-value kubernetes.version: the number 1.19 is not a Kubernetes version known here",
      /1\.20 to 1\.37/,
    ],
    [
      "kubernetes: {version: latest}",
      '6:23 invalid-value kubernetes.version: "latest" is not a Kubernetes version known here',
      /1\.20 to 1\.37/,
    ],
    [
      "network: {clusterCIDR: 10.244.0.1/16}",
      '6:24 invalid-value network.clusterCIDR: "10.244.0.1/16" is not an IPv4 range',
      "It has host bits; the range is 10.244.0.0/16.",
    ],
    ["network: {clusterCIDR: 10.244.0.0}", /is not an IPv4 range$/, /^Add the length: 10\.244\.0\.0\/32/],
    ["network: {clusterCIDR: fd00::/48}", /is not an IPv4 range$/, /IPv4 ranges only/],
    ["network: {clusterCIDR: 10.244.0.0/33}", /is not an IPv4 range$/, /^Write the first address/],
    [
      "network: {nodeCIDRMaskSize: 30}",
      "6:29 invalid-value network.nodeCIDRMaskSize: 30 is not a prefix length",
      /from 8 to 29/,
    ],
    [
      "network: {outboundNAT: {enabled: yes}}",
      '6:34 invalid-value network.outboundNAT.enabled: must be true or false, but is "yes"',
      /without quotes/,
    ],
    [
      "underlay: {router: 10.0.0.1/24}",
      /^6:20 invalid-value underlay.router: "10.0.0.1\/24" is not an IPv4 address/,
      "Leave the length out: 10.0.0.1.",
    ],
    ["underlay: {router: 010.0.0.1}", /is not an IPv4 address$/, /^Write four numbers/],
    [
      "underlay: {router: 10}",
      "6:20 invalid-value underlay.router: must be an IPv4 address, but is the number 10",
      "Put it in quotes.",
    ],
    ["pods: {name: a}", "6:7 invalid-value pods: must be a list, but is a mapping", /each is a pod/],
    ["pods: [~]", "6:8 missing-field pods[0]: the item is empty", "Write a pod."],
    [
      "pods: [{name: a}]",
      "6:8 missing-field pods[0].node: the field is missing",
      /The name of the node it runs on/,
    ],
    ["pods: [{name: , node: win-1}]", "6:9 missing-field pods[0].name: the field is empty", /^Write a name/],
    [
      "pods: [{name: Web_1, node: win-1}]",
      '6:15 invalid-value pods[0].name: "Web_1" is not a name',
      /both ends: web-1\.$/,
    ],
    [
      "pods: [{name: a, node: win-1, ports: [{port: 70000}]}]",
      "6:46 invalid-value pods[0].ports[0].port: 70000 is not a port",
      "Write a whole number from 1 to 65535.",
    ],
    ["pods: [{name: a, node: win-1, ports: [{port: 80.5}]}]", /80\.5 is not a port/, /whole number/],
    [
      "pods: [{name: a, node: win-1, ports: [{port: 80, protocol: tcp}]}]",
      '6:60 invalid-value pods[0].ports[0].protocol: "tcp" is not possible here',
      /^Did you mean TCP\?/,
    ],
    [
      "pods: [{name: a, node: win-1, labels: {a: 1}}]",
      "6:43 invalid-value pods[0].labels.a: the value of a label must be text",
      /^Put it in quotes/,
    ],
    [
      "pods: [{name: a, node: win-1, policies: [{Settings: {}}]}]",
      '6:42 missing-field pods[0].policies[0]: "Type" is missing or not text',
      /an HCN endpoint policy/,
    ],
    [
      "pods: [{name: a, node: win-1, policies: [{Type: ACL, Settings: .inf}]}]",
      /the number \.inf cannot be sent as JSON/,
      /^Write text/,
    ],
    [
      "outside: [{name: x, address: 203.0.113.300}]",
      '6:30 invalid-value outside[0].address: "203.0.113.300" is not an IPv4 address',
      /^Write four numbers/,
    ],
    ["? [a]\n: b", "6:3 invalid-value : a field name must be text", "Quote the name."],
    ["<<: {seed: 3}", '6:1 unknown-field ["<<"]: merge keys are not read', /YAML 1\.1/],
  ])("%s", (line, problem, advice) => {
    const found = problemsOf(`${SMALLEST}${line}\n`);
    expect(found).toHaveLength(1);
    expect(short(found[0]!)).toMatch(
      typeof problem === "string" ? new RegExp(`^${escapeRegExp(problem)}$`) : problem,
    );
    expect(found[0]!.advice).toMatch(
      typeof advice === "string" ? new RegExp(`^${escapeRegExp(advice)}$`) : advice,
    );
  });
});

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

describe("fields that contradict each other", () => {
  it.each([
    [
      "two nodes with one address (F-52)",
      `nodes:\n${WIN_1}  - {name: b, os: linux, address: 10.0.0.11}\n`,
      "6:35 duplicate-address nodes[1].address: 10.0.0.11 belongs to node win-1 already",
    ],
    [
      "a node with the router's address",
      "nodes: [{name: a, os: linux, address: 10.0.0.1}]\n",
      "4:39 duplicate-address nodes[0].address: 10.0.0.1 belongs to the router already",
    ],
    [
      "two nodes of one name",
      `nodes:\n${WIN_1}  - {name: win-1, os: linux, address: 10.0.0.12}\n`,
      '6:12 duplicate-name nodes[1].name: a node or host "win-1" exists already, in line 5',
    ],
    [
      "a node named router",
      "nodes: [{name: router, os: linux, address: 10.0.0.11}]\n",
      '4:16 invalid-value nodes[0].name: the name "router" is taken',
    ],
    [
      "a build on Linux",
      "nodes: [{name: a, os: linux, build: ws2022, address: 10.0.0.11}]\n",
      "4:37 invalid-value nodes[0].build: a Linux node has no build of Windows",
    ],
    [
      "a build without a profile",
      "nodes: [{name: a, os: windows, build: ws2202, address: 10.0.0.11}]\n",
      '4:39 invalid-value nodes[0].build: "ws2202" is not a build of Windows that has a profile',
    ],
    [
      "a node outside the underlay",
      "nodes: [{name: a, os: linux, address: 10.0.1.11}]\n",
      "4:39 invalid-value nodes[0].address: 10.0.1.11 is not a host address of the underlay, 10.0.0.0/24",
    ],
    [
      "a node with the broadcast address",
      "nodes: [{name: a, os: linux, address: 10.0.0.255}]\n",
      "4:39 invalid-value nodes[0].address: 10.0.0.255 is not a host address of the underlay, 10.0.0.0/24",
    ],
    [
      "pod ranges that overlap",
      "nodes:\n  - {name: a, os: linux, address: 10.0.0.11, podCIDR: 10.244.0.0/23}\n  - {name: b, os: linux, address: 10.0.0.12, podCIDR: 10.244.1.0/24}\n",
      "6:55 overlapping-ranges nodes[1].podCIDR: 10.244.1.0/24 overlaps the podCIDR of a, 10.244.0.0/23",
    ],
    [
      "a pod range outside the cluster's",
      "nodes: [{name: a, os: linux, address: 10.0.0.11, podCIDR: 10.245.0.0/24}]\n",
      "4:59 invalid-value nodes[0].podCIDR: 10.245.0.0/24 is not in the pod range (network.clusterCIDR), 10.244.0.0/16",
    ],
    [
      "a pod range that is too small",
      "nodes: [{name: a, os: linux, address: 10.0.0.11, podCIDR: 10.244.0.0/30}]\n",
      "4:59 invalid-value nodes[0].podCIDR: 10.244.0.0/30 is too small for pods",
    ],
    [
      "services inside the pod range",
      `nodes:\n${WIN_1}network: {serviceCIDR: 10.244.128.0/17}\n`,
      "6:24 overlapping-ranges network.serviceCIDR: 10.244.128.0/17 overlaps the pod range (network.clusterCIDR), 10.244.0.0/16",
    ],
    [
      "nodes inside the service range",
      `nodes: [{name: a, os: linux, address: 10.105.0.11}]\nunderlay: {subnet: 10.105.0.0/24}\n`,
      "5:20 overlapping-ranges underlay.subnet: 10.105.0.0/24 overlaps the service range (network.serviceCIDR), 10.96.0.0/12",
    ],
    [
      "a service range that Kubernetes refuses",
      `nodes:\n${WIN_1}network: {serviceCIDR: 11.0.0.0/8}\n`,
      "6:24 invalid-value network.serviceCIDR: 11.0.0.0/8 has a length that Kubernetes refuses for services",
    ],
    [
      "more nodes than blocks",
      `nodes:\n${WIN_1}${WIN_2}  - {name: c, os: linux, address: 10.0.0.13}\nnetwork: {clusterCIDR: 10.244.0.0/23}\n`,
      "7:5 invalid-value nodes[2].podCIDR: no block of length 24 is left in 10.244.0.0/23 for this node",
    ],
    [
      "blocks larger than the range",
      `nodes:\n${WIN_1}network: {clusterCIDR: 10.244.0.0/25}\n`,
      "6:10 invalid-value network.nodeCIDRMaskSize: no block of length 24 fits into 10.244.0.0/25",
    ],
    [
      "an underlay that is too small",
      `nodes:\n${WIN_1}underlay: {subnet: 10.0.0.8/30}\n`,
      "6:20 invalid-value underlay.subnet: 10.0.0.8/30 is too small for nodes",
    ],
    [
      "a router outside the underlay",
      `nodes:\n${WIN_1}underlay: {router: 10.0.1.1}\n`,
      "6:20 invalid-value underlay.router: 10.0.1.1 is not a host address of the underlay, 10.0.0.0/24",
    ],
    [
      "a route over a stranger",
      `nodes:\n${WIN_1}underlay: {routes: [{to: 10.244.0.0/24, via: 192.0.2.1}]}\n`,
      "6:46 invalid-value underlay.routes[0].via: the next hop 192.0.2.1 is not on the underlay, 10.0.0.0/24",
    ],
    [
      "an outside host on the underlay",
      `nodes:\n${WIN_1}outside: [{name: x, address: 10.0.0.99}]\n`,
      "6:30 invalid-value outside[0].address: 10.0.0.99 is in the underlay, 10.0.0.0/24",
    ],
    [
      "an outside host among the pods",
      `nodes:\n${WIN_1}outside: [{name: x, address: 10.244.9.9}]\n`,
      "6:30 invalid-value outside[0].address: 10.244.9.9 is in the pod range, 10.244.0.0/16",
    ],
    [
      "an outside host with a multicast address",
      `nodes:\n${WIN_1}outside: [{name: x, address: 224.0.0.1}]\n`,
      "6:30 invalid-value outside[0].address: 224.0.0.1 cannot be the address of a host",
    ],
    [
      "win-bridge on the nodes' subnet",
      "nodes: [{name: a, os: windows, address: 10.0.0.11, podCIDR: 10.0.0.64/26}]\nnetwork: {shape: node-subnet}\n",
      "5:18 invalid-value network.shape: win-bridge gives pods the gateway network + 2, which does not exist in shape node-subnet",
    ],
    [
      "static routes on the nodes' subnet",
      "nodes: [{name: a, os: windows, address: 10.0.0.11, podCIDR: 10.0.0.64/26}]\nnetwork: {plugin: hns, shape: node-subnet, routes: static}\n",
      "5:52 invalid-value network.routes: shape node-subnet has no routes between nodes",
    ],
    [
      "no pod range on the nodes' subnet",
      `nodes:\n${WIN_1}network: {plugin: hns, shape: node-subnet}\n`,
      "5:5 missing-field nodes[0].podCIDR: in shape node-subnet the field is needed",
    ],
    [
      "a pod range that holds a node",
      "nodes: [{name: a, os: windows, address: 10.0.0.11, podCIDR: 10.0.0.0/28}]\nnetwork: {plugin: hns, shape: node-subnet}\n",
      "4:61 overlapping-ranges nodes[0].podCIDR: 10.0.0.0/28 holds 10.0.0.1, the address of the router",
    ],
    [
      "a CNI configuration without CNI",
      `nodes:\n${WIN_1}network: {plugin: hns, cni: {policies: [{name: EndpointPolicy}]}}\n`,
      "6:40 invalid-value network.cni.policies: plugin hns reads no CNI configuration",
    ],
    [
      "policies beside a conflist",
      `nodes:\n${WIN_1}network: {cni: {conflist: {name: cbr0}, policies: [{name: EndpointPolicy}]}}\n`,
      "6:51 invalid-value network.cni.policies: the conflist replaces the configuration that these are added to",
    ],
    [
      "exceptions without OutBoundNAT",
      `nodes:\n${WIN_1}network: {outboundNAT: {enabled: false, exceptions: [10.0.0.0/8]}}\n`,
      "6:53 invalid-value network.outboundNAT.exceptions: exceptions without OutBoundNAT have no effect",
    ],
    [
      "a pod on an unknown node",
      `nodes:\n${WIN_1}pods: [{name: a, node: win-l}]\n`,
      '6:24 invalid-value pods[0].node: there is no node "win-l"',
    ],
    [
      "two pods of one name",
      `nodes:\n${WIN_1}pods:\n  - {name: a, node: win-1}\n  - {name: a, node: win-1}\n`,
      '8:12 duplicate-name pods[1].name: the pod "default/a" exists already, in line 7',
    ],
    [
      "one port twice",
      `nodes:\n${WIN_1}pods: [{name: a, node: win-1, ports: [{port: 80}, {port: 80}]}]\n`,
      '6:58 duplicate-name pods[0].ports[1].port: the port "TCP 80" exists already, in line 6',
    ],
    [
      "one host port for two pods",
      `nodes:\n${WIN_1}pods:\n  - {name: a, node: win-1, ports: [{port: 80, hostPort: 80}]}\n  - {name: b, node: win-1, ports: [{port: 80, hostPort: 80}]}\n`,
      '8:57 duplicate-name pods[1].ports[0].hostPort: the host port "TCP 80 on win-1" exists already, in line 7',
    ],
    [
      "HCN policies on Linux",
      "nodes: [{name: l, os: linux, address: 10.0.0.11}]\npods: [{name: a, node: l, policies: [{Type: ACL}]}]\n",
      "5:37 invalid-value pods[0].policies: HCN policies exist on Windows nodes only",
    ],
    [
      "a pod outside its node's range",
      `nodes:\n${WIN_1}pods: [{name: a, node: win-1, address: 10.244.9.9}]\n`,
      "6:40 invalid-value pods[0].address: 10.244.9.9 is not in the pod range of win-1, 10.244.0.0/24",
    ],
    [
      "a pod with the bridge endpoint's address",
      `nodes:\n${WIN_1}pods: [{name: a, node: win-1, address: 10.244.0.2}]\n`,
      "6:40 invalid-value pods[0].address: 10.244.0.2 is kept for the bridge endpoint of the node",
    ],
    [
      "two pods with one address",
      `nodes:\n${WIN_1}pods:\n  - {name: a, node: win-1, address: 10.244.0.9}\n  - {name: b, node: win-1, address: 10.244.0.9}\n`,
      "8:37 duplicate-address pods[1].address: 10.244.0.9 belongs to pod default/a already",
    ],
  ])("%s", (_name, rest, expected) => {
    expect(problemsOf(`${HEAD}${rest}`).map(short)).toEqual([expected]);
  });

  it("does not confuse two pods of one name in two namespaces, or one port of two protocols", () => {
    const pods = `pods:
  - {name: a, node: win-1, ports: [{port: 53}, {port: 53, protocol: UDP}]}
  - {name: a, namespace: other, node: win-1, ports: [{port: 53, hostPort: 53}]}
  - {name: b, node: win-1, ports: [{port: 53, protocol: UDP, hostPort: 53}]}
`;
    expect(problemsOf(`${SMALLEST}${pods}`)).toEqual([]);
  });
});

describe("several problems", () => {
  it("are all reported, in the order of the file", () => {
    const text = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: Bad Name}
nodes:
  - name: win-1
    os: Windows
    adress: 10.0.0.11
  - name: win-2
    os: windows
    address: 10.0.0.300
pods:
  - name: a
    node: win-1
    ports: [{port: 0}]
`;
    expect(problemsOf(text).map(short)).toEqual([
      '3:18 invalid-value metadata.name: "Bad Name" is not a name',
      "5:5 missing-field nodes[0].address: the field is missing",
      '6:9 invalid-value nodes[0].os: "Windows" is not possible here',
      '7:5 unknown-field nodes[0].adress: there is no field "adress" here',
      '10:14 invalid-value nodes[1].address: "10.0.0.300" is not an IPv4 address',
      "14:20 invalid-value pods[0].ports[0].port: 0 is not a port",
    ]);
  });

  it("are printed with file, line, column, field, message, advice and code", () => {
    const [problem] = problemsOf(`${SMALLEST}seeed: 5\n`);
    expect(formatProblem(problem!)).toBe(
      'cluster.yaml:6:1: seeed: there is no field "seeed" here\n' +
        "    Did you mean seed? [cluster-file-unknown-field]\n",
    );
  });

  it("are at most 200", () => {
    const fields = Array.from({ length: 1_000 }, (_, index) => `x${index}: 1\n`).join("");
    expect(problemsOf(`${SMALLEST}${fields}`)).toHaveLength(200);
  });
});

describe("limits", () => {
  it.each([
    [
      "nested flow lists",
      `a: ${"[".repeat(200)}${"]".repeat(200)}\n`,
      "1:131 too-large : values are nested more than 128 levels deep",
    ],
    [
      "nested lists on one line",
      `${"- ".repeat(200)}a\n`,
      "1:257 too-large : values are nested more than 128 levels deep",
    ],
    [
      "ten thousand levels",
      `${"[".repeat(10_000)}\n`,
      "1:129 too-large : values are nested more than 128 levels deep",
    ],
    [
      "too many lines",
      "\n".repeat(2_000_001),
      "2000001:1 too-large : the file has more than 2000000 lines and values",
    ],
  ])("%s", (_name, text, expected) => {
    expect(problemsOf(text).map(short)).toEqual([expected]);
  });

  it("bounds what aliases stand for", () => {
    const levels = [`a0: &a0 [${"x, ".repeat(10)}x]`];
    for (let level = 1; level <= 8; level++) {
      levels.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(", ")}]`);
    }
    const bomb = levels.map((line) => `          ${line}`).join("\n");
    const text = `${SMALLEST}pods:\n  - name: a\n    node: win-1\n    policies:\n      - Type: ACL\n        Settings:\n${bomb}\n`;
    expect(problemsOf(text).map(({ code, message }) => [code, message])).toEqual([
      ["cluster-file-too-large", "the aliases of this file stand for more than 100000 values"],
    ]);
  });

  it("refuses more nodes than the limit", () => {
    const nodes = Array.from({ length: 5_001 }, () => "{}").join(", ");
    expect(problemsOf(`${HEAD}nodes: [${nodes}]\n`).map(short)).toEqual([
      "4:8 too-large nodes: the list has 5001 items, and 5000 are the most",
    ]);
  });
});
