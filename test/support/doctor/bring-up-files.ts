/**
 * What a person collects from a node on which the start scripts have run: the transcript of the script, logs of programs, the
 * files on its disk, what commands of Windows print, HNS, and the objects of the cluster. Nothing of this is shared with what
 * reads it.
 */
import { runScripts } from "#cluster/bring-up/bring-up.ts";
import type { BringUpReport, ProcessReport, StepReport } from "#cluster/bring-up/report.ts";
import type { ScriptNode } from "#cluster/bring-up/script-node.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { createHnsNetwork } from "#contracts/hcn/v1-operations.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import { formatIp, maskOf } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { type Asked, bareNode } from "../cluster/bring-up-world.ts";
import type { CollectedFiles } from "./collected-files.ts";

/** A line that a loop printed is counted in the report; the transcript has it each time. */
function linesAgain(line: string): readonly string[] {
  const [, text = line, count = "1"] = /^(.*) \((\d+) times\)$/u.exec(line) ?? [];
  return Array.from({ length: Number(count) }, () => text);
}

/** The call that `CreateExternalNetwork` makes with -Verbose, as hns.psm1 tells it; nothing where the network was there. */
function callOf({ name, output, changes }: StepReport, { networkMode }: BringUpReport): readonly string[] {
  if (name !== "Make the network External") return [];
  const [, error, code] = output.map((line) => REFUSAL.exec(line)).find((each) => each !== null) ?? [];
  if (error === undefined && changes.every(({ kind }) => kind !== "network")) return [];
  const answer =
    error === undefined
      ? { Output: { Name: "External", Type: networkMode }, Success: true }
      : { Error: error, ErrorCode: Number(code), Success: false };
  return [
    "VERBOSE: Invoke-HNSRequest Method[POST] Path[/networks] Data[{",
    `    "Type":  "${networkMode}",`,
    '    "Name":  "External",',
    '    "Subnets":  [',
    "                    {",
    '                        "AddressPrefix":  "192.168.255.0/30",',
    '                        "GatewayAddress":  "192.168.255.1"',
    "                    }",
    "                ]",
    "}]",
    `VERBOSE: Result : ${JSON.stringify(answer)}`,
  ];
}

const REFUSAL = /^Invoke-HnsRequest : @\{Error=(.*); ErrorCode=(\d+); Success=False\}$/u;

/** What the window of the script shows; programs have windows of their own. */
function transcriptOf(report: BringUpReport): string {
  const lines = report.steps.flatMap((step) => [
    ...callOf(step, report),
    ...step.output.filter((line) => !/^(?:flanneld|kubelet|kube-proxy): /u.test(line)).flatMap(linesAgain),
  ]);
  return String.raw`PS C:\k> .\start.ps1` + `\r\n${lines.join("\r\n")}\r\n`;
}

/** As klog writes a line. */
function logOf({ name, log }: ProcessReport): string {
  const lines = log.map(
    (line, index) =>
      `${line.charAt(0)}0101 00:00:${String(index % 60).padStart(2, "0")}.000000    4120 ${name}.go:${100 + index}] ${line.slice(2)}`,
  );
  return `${lines.join("\r\n")}\r\n`;
}

/** `Get-CimInstance Win32_Process | Format-List ProcessId, CommandLine`, of what runs. */
function processesOf({ processes }: BringUpReport): string {
  const blocks = processes
    .filter(({ state }) => state === "running")
    .map(({ commandLine }, index) => `ProcessId   : ${4120 + index}\r\nCommandLine : ${commandLine}\r\n`);
  return `\r\n${blocks.join("\r\n")}\r\n`;
}

function ipConfigOf(hostname: string, all: readonly Interface[]): string {
  const blocks = all.flatMap(({ name, mac, addresses }) => {
    const own = addresses.filter(({ ip }) => typeof ip === "number");
    if (name.startsWith("Loopback")) return [];
    return [
      `Ethernet adapter ${name}:`,
      "",
      "   Connection-specific DNS Suffix  . :",
      `   Physical Address. . . . . . . . . : ${formatMac(mac).toUpperCase().replaceAll(":", "-")}`,
      ...own.flatMap(({ ip, length }) => [
        `   IPv4 Address. . . . . . . . . . . : ${formatIp(ip)}(Preferred)`,
        `   Subnet Mask . . . . . . . . . . . : ${formatIp(maskOf(length))}`,
      ]),
      "",
    ];
  });
  return [
    "",
    "Windows IP Configuration",
    "",
    `   Host Name . . . . . . . . . . . . : ${hostname}`,
    "   Node Type . . . . . . . . . . . . : Hybrid",
    "",
    ...blocks,
  ].join("\r\n");
}

/** `Get-NetAdapter`: a card stays in the list when a switch has taken its address over. */
function adaptersOf(all: readonly Pick<Interface, "name" | "mac">[]): string {
  const rows = all
    .filter(({ name }) => !name.startsWith("Loopback"))
    .map(({ name, mac }, index) => {
      const what = name.startsWith("vEthernet") ? "Hyper-V Virtual Ethernet Adapter" : "Intel(R) 82574L";
      const address = formatMac(mac).toUpperCase().replaceAll(":", "-");
      return `${name.padEnd(25)} ${what.padEnd(39)} ${String(index + 5).padStart(7)} Up           ${address}        10 Gbps`;
    });
  const head = `${"Name".padEnd(25)} ${"InterfaceDescription".padEnd(39)} ifIndex Status       MacAddress             LinkSpeed`;
  return `\r\n${head}\r\n${head.replaceAll(/\S+/gu, (word) => "-".repeat(word.length))}\r\n${rows.join("\r\n")}\r\n`;
}

/** `Get-Service hns, vfpext`. */
function servicesOf(node: ScriptNode): string {
  const status = node.hasFault("hns-not-running") ? "Stopped" : "Running";
  return `\r\nStatus   Name               DisplayName\r\n------   ----               -----------\r\n${status.padEnd(8)} hns                Host Network Service\r\nRunning  vfpext             Microsoft Azure VFP Switch Extension\r\n`;
}

/** Objects of HNS; nothing where it does not answer, as PowerShell writes an error to another stream. */
async function hnsOf(node: ScriptNode): Promise<CollectedFiles> {
  const files: Record<string, string> = {};
  for (const [name, kind] of [
    ["network.txt", "Network"],
    ["endpoint.txt", "Endpoint"],
    ["policy.txt", "LoadBalancer"],
  ] as const) {
    try {
      const documents: unknown[] = [];
      for (const id of await node.client.enumerate(kind)) documents.push(await node.client.query(kind, id));
      files[name] = documents.length === 0 ? "" : JSON.stringify(documents, undefined, 1);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
    }
  }
  return files;
}

/**
 * `kubectl get nodes,pods,services,endpointslices -A -o json`, on a machine that reaches the API server.
 * @param registered what the kubelet took for its address where no flag tells it one: it asks Windows for its own name
 */
async function objectsOf({ source, hostname }: ScriptNode, registered: string | undefined): Promise<string> {
  const lists = [
    await source.list("Node"),
    await source.list("Pod"),
    await source.list("Service"),
    await source.list("EndpointSlice"),
  ];
  const items = lists.flatMap((list): readonly KubeObject[] => list.items);
  for (const item of items) {
    if (registered === undefined || item.kind !== "Node" || item.metadata.name !== hostname) continue;
    const addresses = [{ type: "InternalIP", address: registered }];
    items[items.indexOf(item)] = { ...item, status: { ...item.status, addresses } };
  }
  return JSON.stringify({ apiVersion: "v1", kind: "List", items }, undefined, 1);
}

/** What is otherwise on the node than scripts and their faults make it. */
export interface Circumstances {
  /** Networks that HNS has before any script has run. */
  readonly networks?: readonly HnsNetwork[];
  readonly registered?: string;
}

export interface BroughtUp {
  readonly report: BringUpReport;
  readonly files: CollectedFiles;
}

/** Runs the scripts as asked, and collects what is there afterwards. */
export async function broughtUp(
  asked: Asked,
  { networks = [], registered }: Circumstances = {},
): Promise<BroughtUp> {
  const node = await bareNode(asked);
  for (const network of networks) await createHnsNetwork(node.client, network);
  const report = await runScripts(node);
  const interfaces = node.node.host.root.listInterfaces();
  const [first] = interfaces;
  const bound = node.options.adapters
    .filter(({ name }) => interfaces.every((each) => each.name !== name))
    .flatMap(({ name }) => (first === undefined ? [] : [{ name, mac: first.mac }]));
  const named: Record<string, string> = {
    "transcript.txt": transcriptOf(report),
    "processes.txt": processesOf(report),
    "ip.txt": ipConfigOf(node.hostname, interfaces),
    "netadapter.txt": adaptersOf([...interfaces, ...bound]),
    "services.txt": servicesOf(node),
    "objects.json": await objectsOf(node, registered),
    ...(await hnsOf(node)),
  };
  for (const each of report.processes) if (each.log.length > 0) named[`${each.name}.log`] = logOf(each);
  for (const { path, text } of report.files)
    named[`disk/${path.replace(/^C:\\/u, "").replaceAll("\\", "/")}`] = text;
  const files = Object.fromEntries(Object.entries(named).map(([name, text]) => [`collected/${name}`, text]));
  return { report, files };
}
