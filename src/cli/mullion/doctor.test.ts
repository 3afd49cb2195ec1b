// A running cluster is broken, its node's files are collected, and doctor reads them as a user's.
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { type CollectedDialect, collectedFiles } from "#test/support/doctor/collected-files.ts";
import { FAULTS, NODE, OVERLAY, clientOf, soundWorld } from "#test/support/doctor/broken-cluster.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { openSessionWorld } from "#test/support/cluster/session-world.ts";
import { listEndpoints, modifyEndpointPolicies } from "#contracts/hcn/operations.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { doctor } from "./doctor.ts";
import { runMullion } from "./program.ts";

async function run(
  files: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly terminal: MemoryTerminal }> {
  const terminal = new MemoryTerminal(files);
  const argv = ["doctor", ...(words.length === 0 ? ["collected"] : words)];
  const code = await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return { code, terminal };
}

async function reportOf(files: Readonly<Record<string, string>>): Promise<DoctorReport> {
  const { terminal } = await run(files, "collected", "-o", "json");
  return JSON.parse(terminal.output) as DoctorReport;
}

function without(
  files: Readonly<Record<string, string>>,
  ...names: readonly string[]
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).filter(([each]) => !names.includes(each)));
}

function utf16(text: string): Uint8Array {
  return Uint8Array.from([0xff, 0xfe, ...Buffer.from(text, "utf16le")]);
}

const EVTX = Uint8Array.from([...Buffer.from("ElfFile\0"), 0, 0, 0, 0, 1, 0, 0, 0]);
const GERMAN = `
Windows-IP-Konfiguration

Ethernet-Adapter vEthernet (Ethernet):
   IPv4-Adresse  . . . . . . . . . . : 10.0.0.11
   Subnetzmaske  . . . . . . . . . . : 255.255.255.0
`;

function secondNode(): Record<string, unknown> {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "win-2", labels: { "kubernetes.io/os": "windows" } },
    spec: { podCIDR: "10.244.3.0/24", podCIDRs: ["10.244.3.0/24"] },
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.12" }],
      nodeInfo: { operatingSystem: "windows", kernelVersion: "10.0.20348.4171", kubeletVersion: "v1.34.2" },
    },
  };
}

/** Both forms are drawn in doctor.long.test.ts; here the second one has a fault and a network. */
const BY_FAULT: readonly (readonly [CollectedDialect, (typeof FAULTS)[number]])[] = [
  ...FAULTS.map((fault) => ["v1", fault] as const),
  ...FAULTS.slice(0, 1).map((fault) => ["v2", fault] as const),
];

describe("a broken node", () => {
  it.each(BY_FAULT.map(([dialect, fault]) => ({ dialect, ...fault })))(
    "$name, files in $dialect form: that first",
    async ({ dialect, code, certainty, isProved, says, network = "", breakIt }) => {
      const world = await soundWorld(network);
      await breakIt(world, clientOf(world));
      const { findings } = await reportOf(await collectedFiles(world, NODE, { dialect }));
      expect(findings[0]).toMatchObject({ code, certainty, node: NODE, proof: { isProved } });
      expect(findings[0]?.message).toMatch(says);
      expect(findings[0]?.evidence.every(({ file, line }) => file.startsWith("collected/") && line > 0)).toBe(
        true,
      );
    },
  );
});

it("a pod that is translated towards pods, too: proved by whom the receiver sees", async () => {
  const world = await soundWorld("");
  const client = clientOf(world);
  for (const { ID, Policies = [] } of await listEndpoints(client)) {
    const own = Policies.filter(({ Type }) => Type === "OutBoundNAT");
    if (own.length === 0) continue;
    await modifyEndpointPolicies(client, ID, "Remove", own);
    const Settings = { Exceptions: ["10.96.0.0/12"] };
    await modifyEndpointPolicies(client, ID, "Add", [{ Type: "OutBoundNAT", Settings }]);
  }
  const { findings } = await reportOf(await collectedFiles(world, NODE, { dialect: "v1" }));
  expect(findings.map(({ code }) => code)).toEqual(["cni-exception-list-without-pods"]);
  expect(findings[0]?.proof.isProved).toBe(true);
  expect(findings[0]?.proof.says).toMatch(
    /"back-\S+ saw 10\.244\.0\.3:\d+", and .* "back-\S+ saw 10\.0\.0\.11:\d+"/u,
  );
});

describe("names in a pod, asked on the twin", () => {
  const SERVERS = /(DNSServerList[" ]*: *"?)10\.96\.0\.10/gu;
  const SUFFIX = /(DNSSuffix[" ]*: *"?)default\.svc\.cluster\.local,/gu;

  it.each([
    ["another server", SERVERS, "$110.96.0.11"],
    ["no suffix of the namespace", SUFFIX, "$1"],
  ])("%s: proved by a name that does not resolve", async (_, text, other) => {
    const sound = await collectedFiles(await soundWorld(""), NODE, { dialect: "v1" });
    const files = Object.fromEntries(
      Object.entries(sound).map(([name, each]) => [
        name,
        typeof each === "string" ? each.replace(text, other) : each,
      ]),
    );
    expect(files).not.toEqual(sound);
    const { findings } = await reportOf(files);
    expect(findings.map(({ code, proof }) => [code, proof.isProved])).toEqual([
      ["endpoint-dns-differs", true],
    ]);
    expect(findings[0]?.proof.says).toMatch(/→ name\/\S+ .*does not resolve/u);
  });
});

it.each<readonly [CollectedDialect, string]>([
  ["v1", ""],
  ["v1", OVERLAY],
  ["v1", "network: { driver: Overlay }\n"],
  ["v1", "kubeProxy: { enableDSR: true }\n"],
  ["v2", OVERLAY],
])("a sound node, files in %s form, %j: nothing", async (dialect, fields) => {
  const files = await collectedFiles(await soundWorld(fields), NODE, { dialect });
  const { code, terminal } = await run(files);
  expect(terminal.output).toMatch(/^Nothing wrong found; \d+ checks made; \d+ could not be made\./u);
  expect(code).toBe(0);
});

it.each(["driver-nat", "driver-transparent", "driver-transparent-dhcp", "driver-overlay", "azure-l2bridge"])(
  "a sound node of examples/%s: nothing",
  async (example) => {
    const world = await openSessionWorld(readFileSync(`examples/${example}/cluster.yaml`, "utf8"));
    const { name = "" } = world.session.cluster.nodes.find(({ spec }) => spec.os === "windows")?.spec ?? {};
    const { terminal } = await run(await collectedFiles(world, name));
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
  },
);

describe("what is no evidence, and half of it", () => {
  const node = filesOf(healthyNode());

  it.each<readonly [string, Readonly<Record<string, string | Uint8Array>>, RegExp]>([
    [
      "a folder without objects of the cluster",
      without(node, "node/objects.json"),
      /checks? without [^\n]*nodes/u,
    ],
    [
      "UTF-16, as PowerShell writes it",
      { ...node, "node/policy.txt": utf16(node["node/policy.txt"]!) },
      /^Nothing wrong found; 105 checks made/u,
    ],
    [
      "JSON that ends early",
      { ...node, "node/policy.txt": node["node/policy.txt"]!.slice(0, -40) },
      /Not read:\n {2}node\/policy\.txt:\d+: /u,
    ],
    [
      "an event log",
      { ...node, "node/System.evtx": EVTX },
      /node\/System\.evtx:1: it is a Windows event log/u,
    ],
    // ptylenda/kubernetes-for-windows, kube-cleanup.ps1.
    [
      "a script that names a file",
      { ...node, "node/cleanup.ps1": 'rm -fo "C:\\var\\run\\flannel\\subnet.env"\n' },
      /node\/cleanup\.ps1:1: it is a script/u,
    ],
    [
      "a listing of rules that ends within one",
      { ...node, "node/vfpOutput.txt": node["node/vfpOutput.txt"]!.split("SNAT_TCP")[0]! },
      /without all rules: vfpctrl/u,
    ],
    [
      "JSON that ends within its first object",
      { ...node, "node/endpoint.txt": node["node/endpoint.txt"]!.slice(0, 600) },
      /Not read:\n {2}node\/endpoint\.txt:\d+: /u,
    ],
    ["an empty file", { ...node, "node/hnsdiag.txt": "" }, /node\/hnsdiag\.txt:1: it is empty/u],
    ["a German ipconfig", { ...node, "node/ip.txt": GERMAN }, /^Nothing wrong found; 105 checks made/u],
  ])("%s: is said, and nothing is concluded from it", async (_, files, says) => {
    const { code, terminal } = await run(files as Readonly<Record<string, string>>, "node");
    expect(terminal.output).toMatch(says);
    expect(terminal.output).toContain("Nothing wrong found");
    expect(code).toBe(0);
  });

  it("a log in which nothing is known is no sound node", async () => {
    const { code, terminal } = await run(
      { "a/kp.log": "I0101 00:00:00.000000       1 server.go:1] hello\n" },
      "a",
    );
    expect(terminal.output).toMatch(/^Nothing was checked; 0 checks made; 105 could not be made\./u);
    expect(code).toBe(2);
  });

  // flannel-io/flannel#1238: a block of code.
  it("a paste that is moved to the right is what it was", async () => {
    const lines = [
      "Name                   : vxlan0",
      "Type                   : Overlay",
      "ManagementIP           : 169.254.1.8",
    ];
    const id = "ID                     : 5E2837E0-1E0D-461E-833B-AFBD2AFB4583";
    const text = [id, ...lines].map((line) => `    ${line}\n`).join("");
    const { terminal } = await run({ "a/paste.txt": text }, "a");
    expect(terminal.output).toMatch(/network vxlan0 was made while the adapter had 169\.254\.1\.8/u);
  });

  // kubernetes-sigs/sig-windows-tools#168: each line is quoted.
  it("a paste whose lines are quoted is what it quotes", async () => {
    const ids = ["865986bc-8a40-4ebc-9916-c2c54e31e011", "1bf1b6f4-c702-4ef3-9da9-eb333e28ae03"];
    const text = [
      "Networks:",
      "Name             ID",
      "vpcbr06684cbed472 B5A22566-BEBC-400C-ABEF-B6717DE7AF59",
      "",
      "Endpoints:",
      "Name             ID                                   Virtual Network Name",
      `Ethernet         ${ids[0]!} vpcbr06684cbed472`,
      "",
      "LoadBalancers:",
      "ID                                   | Virtual IPs      | Direct IP IDs",
      `2ac465b5-ed37-4e87-93aa-ff3034d1c6ed | 10.100.0.10      | ${ids.join(" ")}`,
    ];
    const { terminal } = await run({ "a/paste.txt": text.map((line) => `> ${line}`).join("\n") }, "a");
    expect(terminal.output).toContain(`${ids[1]!}, which HNS does not`);
    expect(terminal.output).toContain("a/paste.txt:11: load balancer 2ac465b5");
  });

  // projectcalico/calico#8465: one of many load balancers, shown by itself.
  it("of a load balancer that is shown alone, no other is missed", async () => {
    const { ID, Policies, References } = healthyNode().loadBalancers[2]!;
    const text = JSON.stringify([{ ID, Policies, References, State: 2 }], undefined, 1);
    const { code, terminal } = await run({ "a/paste.json": `${text}\n` }, "a");
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
    expect(code).toBe(0);
  });

  it("files of two nodes in one folder are told", async () => {
    const documents = healthyNode();
    documents.kubernetes.push(secondNode());
    documents.networks.push({
      ...documents.networks[0]!,
      ID: "8e68213e-9443-4395-a50c-3977cb7bdbff",
      ManagementIP: "10.0.0.12",
    });
    const { terminal } = await run(filesOf(documents), "node");
    expect(terminal.output).toContain("the files of this folder are of several nodes: win-1, win-2");
  });

  it.each<[string, boolean]>([
    ["that no object names", false],
    ["of the cluster", true],
  ])(
    "beside all files of another node %s nothing of them is checked, and no cause is wrong",
    async (_, isKnown) => {
      const [first, second] = [healthyNode(), healthyNode()];
      if (isKnown) first.kubernetes.push(secondNode());
      const other = (text: string): string =>
        text
          .replaceAll(/\b[\da-f]{8}(?=-[\da-f]{4}-)/giu, (digits) => digits.replace(/^../u, "ab"))
          .replaceAll("10.0.0.11", "10.0.0.12")
          .replaceAll("10.244.1.", "10.244.9.");
      const copies = Object.entries(filesOf(second))
        .filter(([name]) => /(?:network|endpoint|policy)\.txt$/u.test(name))
        .map(([name, text]) => [name.replace(".txt", "-b.txt"), other(text)] as const);
      expect(copies).toHaveLength(3);
      const files = { ...filesOf(first), ...Object.fromEntries(copies) };
      const { code, terminal } = await run(files, "node", "-o", "json");
      const { findings, checksMade, notRead } = JSON.parse(terminal.output) as DoctorReport;
      expect({ code, findings, checksMade }).toEqual({ code: 2, findings: [], checksMade: 0 });
      const names = isKnown ? "win-1, win-2" : "10.0.0.1[12]|win-1, 10.0.0.12";
      expect(notRead.map(({ reason }) => reason).join("\n")).toMatch(
        new RegExp(`of several nodes: (?:${names})`, "u"),
      );
    },
  );

  it("a network of a machine that no object names is no likely fault of the node", async () => {
    const documents = healthyNode();
    const ID = "8e68213e-9443-4395-a50c-3977cb7bdbff";
    documents.networks.push({ ...documents.networks[0]!, ID, ManagementIP: "10.0.0.12" });
    const { terminal } = await run(filesOf(documents), "node", "-o", "json");
    const { findings } = JSON.parse(terminal.output) as DoctorReport;
    expect(findings.filter(({ certainty }) => certainty !== "possible")).toEqual([]);
  });

  it("a network of another machine, with its range of pods, accuses no node", async () => {
    const documents = healthyNode();
    const ID = "8e68213e-9443-4395-a50c-3977cb7bdbff";
    const Subnets = [{ AddressPrefix: "10.244.3.0/24", GatewayAddress: "10.244.3.1" }];
    documents.networks.push({ ...documents.networks[0]!, ID, ManagementIP: "10.0.0.12", Subnets });
    const { terminal } = await run(filesOf(documents), "node", "-o", "json");
    const { findings } = JSON.parse(terminal.output) as DoctorReport;
    expect(findings.filter(({ certainty }) => certainty !== "possible")).toEqual([]);
  });

  it("each folder is a node of its own", async () => {
    const second = healthyNode();
    second.networks[0]!["ManagementIP"] = "10.0.0.12";
    second.kubernetes.splice(0, second.kubernetes.length, secondNode());
    const other = Object.fromEntries(
      Object.entries(filesOf(second)).map(([name, text]) => [`all/b/${name}`, text]),
    );
    const first = Object.fromEntries(Object.entries(node).map(([name, text]) => [`all/a/${name}`, text]));
    const { terminal } = await run({ ...first, ...other }, "all", "-o", "json");
    expect((JSON.parse(terminal.output) as DoctorReport).nodes).toEqual(["win-1", "win-2"]);
  });

  it.each([
    ["without the list of networks", ["node/network.txt"]],
    [
      "without anything of HNS",
      ["node/network.txt", "node/endpoint.txt", "node/policy.txt", "node/namespaces.txt"],
    ],
  ])("half a folder, %s, is one node still, whatever stands in folders below", async (_, missing) => {
    const files = { ...node, "node/disk/k/cni.conflist": node["node/cni.conflist"]! };
    const { terminal } = await run(without(files, ...missing), "node", "-o", "json");
    const { nodes, findings } = JSON.parse(terminal.output) as DoctorReport;
    expect(nodes).toEqual(["win-1"]);
    expect(findings).toEqual([]);
  });

  // collect-windows-logs.sh of azure-container-networking writes what Get-HnsNetwork prints beside an archive of collectlogs.ps1.
  it("what two collectors wrote of one node is one node", async () => {
    const twice = { ...node, "node/full/network.txt": node["node/network.txt"]! };
    const { terminal } = await run(twice, "node", "-o", "json");
    expect((JSON.parse(terminal.output) as DoctorReport).nodes).toEqual(["win-1"]);
  });

  it("a node that is none is a mistake, and the nodes that there are are named", async () => {
    const { code, terminal } = await run(node, "node", "--node", "win-9");
    expect(code).toBe(2);
    expect(terminal.errors).toMatch(/no Windows node is called win-9.*\n\s+The nodes here are: win-1\./u);
  });

  it("a list of virtual adapters alone misses no card", async () => {
    const lines = node["node/netadapter.txt"]!.split("\n").filter((line) => !line.startsWith("Ethernet "));
    const { terminal } = await run({ ...node, "node/netadapter.txt": lines.join("\n") }, "node");
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
  });

  it("JUnit names the files that were not read", async () => {
    const { terminal } = await run({ ...node, "node/System.evtx": EVTX } as never, "node", "-o", "junit");
    expect(terminal.output).toMatch(
      /<testsuite name="files" tests="1" failures="0" skipped="1">\s*<testcase classname="files" name="node\/System\.evtx:1">\s*<skipped message="not read: it is a Windows event log/u,
    );
  });

  // A build server that sees skipped cases alone shows success.
  it.each([
    ["text", /^Nothing was checked; 0 checks made/u],
    ["markdown", /\nNothing was checked; 0 checks made/u],
    [
      "junit",
      /<testsuites name="mullion doctor" tests="\d+" failures="0" errors="1"[^]*<error message="no check could be made"/u,
    ],
    ["sarif", /"executionSuccessful": false,[^]*"text": "no check could be made"/u],
  ])("%s says that nothing could be checked", async (form, said) => {
    const log = "I0409 13:34:05.1 3560 server.go:1] hello\n";
    const { code, terminal } = await run({ "a/program.log": log }, "a", "-o", form);
    expect(code).toBe(2);
    expect(terminal.output).toMatch(said);
    expect(terminal.output).not.toContain("othing wrong found");
  });

  it("JUnit counts all its cases", async () => {
    const documents = healthyNode();
    documents.loadBalancers.length = 0;
    const files = { ...filesOf(documents), "node/System.evtx": EVTX } as never;
    const { terminal } = await run(files, "node", "-o", "junit");
    const count = (pattern: RegExp): number => [...terminal.output.matchAll(pattern)].length;
    const [, tests, failures, errors, skipped] =
      /<testsuites name="mullion doctor" tests="(\d+)" failures="(\d+)" errors="(\d+)" skipped="(\d+)">/u.exec(
        terminal.output,
      ) ?? [];
    expect([tests, failures, errors, skipped].map(Number)).toEqual([
      count(/<testcase /gu),
      count(/<failure /gu),
      0,
      count(/<skipped /gu),
    ]);
  });

  it("a log's message has the log's own words where a text of an error has none", async () => {
    const line = 'E0409 13:34:04.7 3560 x.go:1] Network name "cbr0" not found\n';
    const { terminal } = await run({ "a/kubelet.log": line }, "a");
    expect(terminal.output).toContain('the log says: Network name "cbr0" not found.');
    expect(terminal.output).not.toMatch(/\{(?:name|guid|number|ip|words)\}/u);
  });

  it.each(["text", "json", "markdown", "junit", "sarif"])(
    "%s says what to collect next, and not as evidence",
    async (form) => {
      const documents = healthyNode();
      documents.loadBalancers.length = 0;
      const { terminal } = await run(filesOf(documents), "node", "-o", form);
      expect(terminal.output).toMatch(/kube-proxy's log, which says|kube-proxy&apos;s log, which says/u);
      if (form !== "json") return;
      const [first] = (JSON.parse(terminal.output) as DoctorReport).findings;
      expect(first?.evidence.some(({ says }) => says.includes("kube-proxy's log"))).toBe(false);
      expect(first?.next).toContain("kube-proxy's log");
    },
  );

  it("a pipe gets no line of progress", async () => {
    const { terminal } = await run(filesOf(healthyNode()), "node");
    expect(terminal.errors).toBe("");
  });

  it("a log that is longer than the memory is read as it comes, and a screen is told how far", async () => {
    const line = "E0409 13:34:04.7 3560 proxier.go:998] hcnCreateEndpoint failed in Win32: (0x803b002f)\n";
    const pieces = Array.from({ length: 3 }, () => new TextEncoder().encode(line.repeat(20_000)));
    class LongFile extends MemoryTerminal {
      override readonly isInteractive = true;
      override async readBytes(): Promise<Uint8Array> {
        return Promise.reject(Object.assign(new Error("too long"), { code: "EFBIG" }));
      }
      override async *readStream(): AsyncGenerator<Uint8Array, void, undefined> {
        for (const piece of pieces) yield await Promise.resolve(piece);
      }
    }
    const terminal = new LongFile({ "a/kube-proxy.log": "" });
    const argv = ["doctor", "a"];
    const code = await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
    expect(terminal.errors).toMatch(/Reading a\/kube-proxy\.log \(\d MiB so far\)/u);
    expect(terminal.output).toContain("hcn-e-addr-invalid-or-reserved");
    expect(code).toBe(1);
  });

  it("nothing that is read ends with 2 and says what to collect", async () => {
    const { code, terminal } = await run({ "a/picture.png": "\u0000\u0001" }, "a");
    expect(code).toBe(2);
    expect(terminal.errors).toContain("kubectl get nodes,pods,services,endpointslices -A -o yaml");
    expect(terminal.errors).toContain("recognised: a/picture.png: it is not text");
  });

  it("an event log alone ends with 2 and says which command makes text of it", async () => {
    const files = { "home/jane/a.evtx": EVTX, "home/jane/b.evtx": EVTX } as unknown as Readonly<
      Record<string, string>
    >;
    const { code, terminal } = await run(files, "home");
    expect(code).toBe(2);
    expect(terminal.errors).toMatch(
      /home\/jane\/a\.evtx: it is a Windows event log .*Get-WinEvent.* \(and 1 more\)/u,
    );
    expect((await run(files, "home", "--redact")).terminal.errors).not.toContain("jane");
  });
});

it("prints JSON that fits its schema, and YAML of the same value", async () => {
  const documents = healthyNode();
  documents.loadBalancers.splice(0, 1);
  const files = { ...filesOf(documents), "node/System.evtx": EVTX } as unknown as Readonly<
    Record<string, string>
  >;
  const { terminal: json } = await run(files, "node", "-o", "json");
  const { terminal: yaml } = await run(files, "node", "-o", "yaml");
  const report = JSON.parse(json.output) as DoctorReport;
  const schema = JSON.parse(readFileSync("schemas/doctor-report.v1alpha1.json", "utf8")) as object;
  const validate = new Ajv({ strict: true }).compile(schema);
  validate(report);
  expect(validate.errors).toBeNull();
  expect(parse(yaml.output)).toEqual(report);
  expect(report.notRead).toHaveLength(1);
});

// What the threads found to be the cause.
describe("a log of a broken node, and nothing else", () => {
  it.each([
    // kubernetes/kubernetes#139519: HNS was away, kube-proxy forgot what it had made, and HNS brought it back.
    [
      'E0605 09:12:11.3 5012 proxier.go:1573] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: Cannot create a file when that file already exists. (0xb7)"',
      "hns-load-balancers-lost",
    ],
    // kubernetes-sigs/sig-windows-tools#92: deleting the pod of flannel mends it.
    [
      "E0529 11:22:33.0 1532 reflector.go:153] Failed to list *v1.Node: Get https://10.0.0.10:6443/api/v1/nodes?resourceVersion=0: http2: no cached connection was available",
      "flanneld-connection-dead",
    ],
    // kubernetes/kubernetes#100962: the source address was that of the subnet.
    [
      'E0409 13:34:04.7 3560 proxier.go:998] "Source Vip endpoint creation failed" err="hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f)"',
      "hcn-e-addr-invalid-or-reserved",
    ],
    // projectcalico/calico#5539: kube-proxy ended at each start.
    [
      'E0218 09:00:00.1 1111 run.go:74] "command failed" err="failed complete: cannot set feature gate IPv6DualStack to false, feature is locked to true"',
      "kube-proxy-cannot-start",
    ],
    // rancher/rancher#24866: flanneld has not made its network.
    [
      "FATA: Could not get vxlan0 HNS network: FATA[2020-01-07T08:45:22-08:00] rpc error: code = InvalidArgument desc = could not get HNS network vxlan0 via v2 api: Network Id  not found",
      "cni-network-not-found",
    ],
    // MicrosoftDocs/Virtualization-Documentation#1240: the request begins with a byte order mark.
    [
      `PS C:\\k> cat .\\sourceVip.json\n{ "code": 100, "msg": "error reading network config: invalid character 'ï' looking for beginning of value" }`,
      "cni-decoding-failure",
    ],
    // antrea-io/antrea#2013: the uplink was a virtual adapter; no load balancer is meant.
    [
      "F0329 23:35:27.090421    3936 main.go:58] Error running agent: error initializing agent: failed during hnsCallRawResponse: hnsCall failed in Win32: The parameter is incorrect. (0x57)",
      "error-invalid-parameter",
    ],
    // antrea-io/antrea#2213: the same, copied without its time beside what ipconfig printed.
    [
      "Error running agent: error initializing agent: failed during hnsCallRawResponse: hnsCall failed in Win32: The parameter is incorrect. (0x57)\n\nEthernet adapter Ethernet0 2:\n\n   Connection-specific DNS Suffix  . : corp.example\n   IPv4 Address. . . . . . . . . . . : 10.176.25.12\n",
      "error-invalid-parameter",
    ],
    // Azure/azure-container-networking#306: the plugin's file was full of NUL characters.
    [
      String.raw`Failed to allocate pool: Failed to delegate: netplugin failed but error parsing its diagnostic message "Failed to start IPAM plugin, err:invalid character '\x00' looking for beginning of value.\n"`,
      "azure-state-empty",
    ],
  ])("%s", async (line, code) => {
    const { findings } = await reportOf({ "collected/program.log": `${line}\n` });
    expect(findings[0]?.code).toBe(code);
  });

  // kubernetes/kubernetes#100962: the flags of a log in which no line names the program.
  it("takes the flags of the last start that kube-proxy logged, and no other program's", async () => {
    const flagsOf = (...flags: readonly string[]): readonly string[] =>
      flags.map((flag, at) => `I0409 13:33:53.46${at}032    3560 flags.go:59] FLAG: --${flag}`);
    const network = healthyNode().networks[0]!;
    const codesOf = async (...lines: readonly string[]): Promise<readonly string[]> => {
      const files = { "collected/a.log": lines.join("\n"), "collected/n.json": JSON.stringify([network]) };
      return (await reportOf(files)).findings.map(({ code }) => code);
    };
    const of = (name: string): readonly string[] =>
      flagsOf('masquerade-all="false"', `network-name="${name}"`, 'proxy-mode="kernelspace"', 'v="4"');
    expect(await codesOf(...of("cbr0"))).toEqual(["kube-proxy-network-missing"]);
    expect(await codesOf(...of("cbr0"), ...of("flannel.4096"))).toEqual([]);
    expect(await codesOf(...flagsOf('network-name="cbr0"', 'node-ip=""'))).toEqual([]);
  });

  it("says the line where the error has a number and no text", async () => {
    const line = "E0115 08:37:14.3 57 device.go:1] New-NetRoute failed: (0x80070057)";
    const { findings } = await reportOf({ "collected/program.log": `${line}\n` });
    expect(findings[0]).toMatchObject({ code: "route-refused", message: `the log says: ${line}` });
  });

  it("says which of the texts of an error the log has", async () => {
    const line =
      "FATA: rpc error: code = InvalidArgument desc = could not get HNS network vxlan0 via v2 api: Network Id  not found";
    const { findings } = await reportOf({ "collected/program.log": `${line}\n` });
    expect(findings[0]?.message).toBe("the log says: could not get HNS network vxlan0 via v2 api");
  });

  it.each([
    // Azure/acs-engine#3377: the plugin's first start on a node.
    "2018/07/09 12:04:33 os.stat() for file azure-vnet.json failed with error CreateFile azure-vnet.json: The system cannot find the file specified.",
  ])("is silent on %s", async (line) => {
    const { findings } = await reportOf({ "collected/azure-vnet.log": `${line}\n` });
    expect(findings).toEqual([]);
  });

  // Azure/AKS#1375: the node had no ports left.
  it("names that Resolve-DnsName gets no answer for are a symptom", async () => {
    const session = String.raw`
PS C:\> Resolve-DnsName kubernetes.default
Resolve-DnsName : kubernetes.default : This operation returned because the timeout period expired
At line:1 char:1
+ Resolve-DnsName kubernetes.default
+ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
    + CategoryInfo          : OperationTimeout: (kubernetes.default:String) [Resolve-DnsName], Win32Exception
    + FullyQualifiedErrorId : ERROR_TIMEOUT,Microsoft.DnsClient.Commands.ResolveDnsName
`;
    const { findings } = await reportOf({ "collected/session.txt": session });
    expect(findings.map(({ code, certainty }) => [code, certainty])).toEqual([["dns-timeout", "possible"]]);
    const answered = `${session}
PS C:\\> Resolve-DnsName kubernetes.default.svc.cluster.local

Name                                           Type   TTL   Section    IPAddress
----                                           ----   ---   -------    ---------
kubernetes.default.svc.cluster.local           A      5     Answer     10.0.0.1
`;
    expect((await reportOf({ "collected/session.txt": answered })).findings).toEqual([]);
  });

  // Something is recognised in each: a version, a clock, flags, an adapter that somebody pasted below.
  it.each([
    "I0409 13:34:00.1 3560 node.go:1] Microsoft Windows [Version 10.0.17763.2114]",
    "I0409 13:34:00.1 3560 flags.go:64] FLAG: --network-name=cbr0",
    GERMAN,
  ])("and in it %j", async (beside) => {
    const line =
      'E0409 13:34:04.7 3560 proxier.go:998] "Source Vip endpoint creation failed" err="hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. (0x803b002f)"';
    const { findings, files } = await reportOf({ "collected/program.log": `${beside}\n${line}\n` });
    expect(findings[0]?.code).toBe("hcn-e-addr-invalid-or-reserved");
    expect(files.map(({ file }) => file)).toEqual(["collected/program.log"]);
  });
});

describe("what was ruled out", () => {
  const withoutDns = healthyNode();
  withoutDns.loadBalancers.splice(0, 1);
  const files = filesOf(withoutDns);

  it("stands below a finding with the line that excludes it, in all forms", async () => {
    const { terminal: text } = await run(files, "node");
    expect(text.output).toMatch(
      /\n {4}ruled out service-without-back-ends \(node\/objects\.json:\d+\), kube-proxy-network-missing/u,
    );
    for (const form of ["markdown", "junit", "sarif"]) {
      const { terminal } = await run(files, "node", "-o", form);
      expect(terminal.output, form).toMatch(
        /ruled out: hns-service-not-running: node\/windowsServices\.txt:\d+: the service hns runs/u,
      );
    }
  });

  it("goes with its evidence", async () => {
    const excluded = async (given: Readonly<Record<string, string>>): Promise<readonly string[]> => {
      const { terminal } = await run(given, "node", "-o", "json");
      const [first] = (JSON.parse(terminal.output) as DoctorReport).findings;
      expect(first?.code).toBe("load-balancer-missing");
      return (first?.ruledOut ?? []).map(({ code }) => code);
    };
    const all = await excluded(files);
    const left = await excluded(without(files, "node/windowsServices.txt"));
    expect(all.filter((code) => !left.includes(code))).toEqual([
      "windows-service-stopped",
      "hns-service-not-running",
    ]);
    expect(left).toContain("vfp-extension-disabled");
  });
});

describe("--redact", () => {
  const documents = healthyNode();
  documents.loadBalancers.splice(0, 1);
  const files = Object.fromEntries(
    Object.entries(filesOf(documents)).map(([name, text]) => [`home/jane/${name}`, text]),
  );

  it("names files that were not read without their folders", async () => {
    const more = { ...files, "home/jane/System.evtx": EVTX } as unknown as Readonly<Record<string, string>>;
    const { terminal } = await run(more, "home", "--redact");
    expect(terminal.output).toContain("  System.evtx:1: it is a Windows event log");
    expect(terminal.output).not.toContain("jane");
  });

  it("leaves nothing of the cluster, and lines that still belong together", async () => {
    const { terminal } = await run(files, "home", "--redact");
    expect(terminal.output).not.toMatch(/10\.96|10\.244|10\.0\.0|win-1|linux-1|web-1|shop|jane/u);
    expect(terminal.output).toMatch(/^1\. node-1: certain: load-balancer-missing/u);
    const [, vip = ""] =
      /no load balancer for ([\d.]+):53\/UDP of Service kube-system\/kube-dns/u.exec(terminal.output) ?? [];
    expect(vip).toMatch(/^192\.0\.2\.\d+$/u);
    expect(terminal.output).toContain(`namespace-1/pod-1 → ${vip}:53 arrives`);
    expect(terminal.output).toContain("policy.txt:2: 2 load balancers, none for");
  });

  it("finds the same as without it", async () => {
    const [plain, redacted] = await Promise.all(
      [[], ["--redact"]].map(async (words) => run(files, "home", "-o", "json", ...words)),
    );
    const told = (text: string): readonly unknown[] =>
      (JSON.parse(text) as DoctorReport).findings.map(({ code, certainty, proof }) => [
        code,
        certainty,
        proof.isProved,
      ]);
    expect(told(redacted!.terminal.output)).toEqual(told(plain!.terminal.output));
  });
});

describe("what must not be reported (false alarms seen in real dumps)", () => {
  const external = {
    ID: "5181626f-d805-4790-9e19-e0f62386c7a3",
    Name: "External",
    Type: "Overlay",
    ManagementIP: "10.0.0.11",
    CurrentEndpointCount: 0,
    Subnets: [{ AddressPrefix: "192.168.255.0/30", GatewayAddress: "192.168.255.1" }],
    Policies: [],
  };
  const nat = {
    ID: "5181626f-d805-4790-9e19-e0f62386c7a4",
    Name: "nat",
    Type: "NAT",
    Subnets: [{ AddressPrefix: "172.17.0.0/16", GatewayAddress: "172.17.0.1" }],
    Extensions: [
      {
        Id: "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A",
        IsEnabled: false,
        Name: "Microsoft Windows Filtering Platform",
      },
      {
        Id: "F74F241B-440F-4433-BB28-00F89EAD20D8",
        IsEnabled: false,
        Name: "Microsoft Azure VFP Switch Extension",
      },
    ],
  };

  it.each([
    ["the External network without policies and endpoints", external],
    ["WFP and VFP disabled on a nat network", nat],
  ])("%s", async (_, network) => {
    const documents = healthyNode();
    documents.networks.push(network);
    const { code, terminal } = await run(filesOf(documents), "node");
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
    expect(code).toBe(0);
  });

  it("a DNS failure of a pod's first second, and a short name that nslookup does not find", async () => {
    const session = String.raw`
PS C:\> nslookup web
DNS request timed out.
    timeout was 2 seconds.
Server:  kube-dns.kube-system.svc.cluster.local
Address:  10.96.0.10

*** kube-dns.kube-system.svc.cluster.local can't find web: Non-existent domain
`;
    const { terminal } = await run({ ...filesOf(healthyNode()), "node/try.txt": session }, "node");
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
  });

  it.each([
    "Pinging 10.96.0.10 with 32 bytes of data:\nRequest timed out.\n",
    "Pinging 8.8.8.8 with 32 bytes of data:\nRequest timed out.\nLost = 2 (100% loss),\n",
    "CurrentEndpointCount   : 0\n",
    "  UDP    0.0.0.0:5353           *:*\n",
    "   1450                1      105442       25432  vEthernet (Ethernet)\n",
  ])("the line %j", async (line) => {
    const { terminal } = await run({ ...filesOf(healthyNode()), "node/session.txt": line }, "node");
    expect(terminal.output).toMatch(/^Nothing wrong found/u);
  });
});

describe("logs of containers in kubectl cluster-info dump", () => {
  const node = (name: string, os: string): unknown => ({
    metadata: { name, labels: { "kubernetes.io/os": os } },
    status: { nodeInfo: { operatingSystem: os } },
  });
  const pod = (name: string, nodeName: string): unknown => ({
    metadata: { name, namespace: "kube-flannel" },
    spec: { nodeName, containers: [{ name: "kube-flannel", image: "flannel" }] },
    status: { phase: "Running" },
  });
  const list = (kind: string, items: readonly unknown[]): string =>
    JSON.stringify({ kind, apiVersion: "v1", metadata: {}, items }, undefined, 4);
  const log = (name: string, line: string): string => {
    const named = `container kube-flannel of pod kube-flannel/${name} ====`;
    return `==== START logs for ${named}\nI0102 15:04:05.000007    4120 main.go:517] Determining IP address of default interface\n${line}\n==== END logs for ${named}\n`;
  };
  const nodes = list("NodeList", [node("win-1", "windows"), node("linux-1", "linux")]);
  const pods = list("PodList", [pod("on-windows", "win-1"), pod("on-linux", "linux-1")]);
  const refused =
    "E0102 15:04:06.000007    4120 main.go:292] Error registering network: failed to create HNSNetwork cbr0: hnsCall failed in Win32: A network with this name already exists. (0x803b0010)";
  const unassigned =
    'E0102 15:04:06.000007    4120 main.go:292] Error registering network: failed to acquire lease: node "win-1" pod cidr not assigned';
  const logs = [log("on-windows", unassigned), log("on-linux", refused)];

  it.each([
    ["printed", { "dump.txt": [nodes, pods, ...logs].join("\n") }, "dump.txt"],
    [
      "as a folder",
      {
        "dump/nodes.json": nodes,
        "dump/kube-flannel/pods.json": pods,
        "dump/kube-flannel/on-windows/logs.txt": logs[0]!,
        "dump/kube-flannel/on-linux/logs.txt": logs[1]!,
      },
      "dump/kube-flannel/on-windows/logs.txt",
    ],
  ])("%s: those of the Windows node's pods count, with their lines", async (_, files, file) => {
    const terminal = new MemoryTerminal(files);
    const argv = ["doctor", file.split("/")[0]!, "-o", "json"];
    await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
    const { findings } = JSON.parse(terminal.output) as DoctorReport;
    const text = Object.entries(files).find(([name]) => name === file)?.[1] ?? "";
    const line = text.split("\n").indexOf(unassigned) + 1;
    expect(findings.map(({ code, node: name }) => [code, name])).toEqual([["node-range-exhausted", "win-1"]]);
    expect(findings[0]?.evidence[0]).toMatchObject({ file, line });
  });
});
