/**
 * What a person collects from a node on which the start scripts have run: the transcript of the script, logs of programs, the
 * files on its disk, what commands of Windows print, HNS, and the objects of the cluster. Nothing of this is shared with what
 * reads it.
 */
import { runScripts } from "#cluster/bring-up/bring-up.ts";
import type { BringUpReport, ProcessReport } from "#cluster/bring-up/report.ts";
import type { ScriptNode } from "#cluster/bring-up/script-node.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { formatIp, maskOf } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { type Asked, bareNode } from "../cluster/bring-up-world.ts";
import type { CollectedFiles } from "./collected-files.ts";

/** A line that a loop printed is counted in the report; the transcript has it each time. */
function linesAgain(line: string): readonly string[] {
  const [, text = line, count = "1"] = /^(.*) \((\d+) times\)$/u.exec(line) ?? [];
  return Array.from({ length: Number(count) }, () => text);
}

/** What the window of the script shows; programs have windows of their own. */
function transcriptOf({ steps }: BringUpReport): string {
  const lines = steps.flatMap(({ output }) =>
    output.filter((line) => !/^(?:flanneld|kubelet|kube-proxy): /u.test(line)).flatMap(linesAgain),
  );
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

/** `kubectl get nodes,pods,services,endpointslices -A -o json`, on a machine that reaches the API server. */
async function objectsOf({ source }: ScriptNode): Promise<string> {
  const lists = [
    await source.list("Node"),
    await source.list("Pod"),
    await source.list("Service"),
    await source.list("EndpointSlice"),
  ];
  const items = lists.flatMap((list): readonly unknown[] => list.items);
  return JSON.stringify({ apiVersion: "v1", kind: "List", items }, undefined, 1);
}

/** Runs the scripts as asked, and collects what is there afterwards. */
export async function filesOfBringUp(asked: Asked): Promise<CollectedFiles> {
  const node = await bareNode(asked);
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
    "objects.json": await objectsOf(node),
    ...(await hnsOf(node)),
  };
  for (const each of report.processes) if (each.log.length > 0) named[`${each.name}.log`] = logOf(each);
  for (const { path, text } of report.files)
    named[`disk/${path.replace(/^C:\\/u, "").replaceAll("\\", "/")}`] = text;
  return Object.fromEntries(Object.entries(named).map(([name, text]) => [`collected/${name}`, text]));
}
