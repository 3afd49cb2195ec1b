/**
 * Texts of one character, or of a reader's own delimiters, to what reads texts of others: the verbs that read files, plugins,
 * the API server, readers of kubeconfigs; and what they cost.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { get } from "#cli/mullion/hns/get.ts";
import { lint } from "#cli/mullion/lint.ts";
import { runMullion } from "#cli/mullion/program.ts";
import { verify } from "#cli/mullion/verify.ts";
import { diff, ports, show } from "#cli/mullion/vfp/vfp.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { loadKubeconfig } from "#contracts/kubernetes/server/kubeconfig.node.ts";
import { decodeProtobuf } from "#control-plane/http/protobuf.ts";
import { azureNode, bridgeNode, overlayNode } from "#test/support/cni/windows-plugin-node.ts";
import { allVerbs } from "./all-verbs.ts";
import { MemoryTerminal } from "./memory-terminal.ts";

const VERBS = allVerbs(() => Promise.reject(new Error("a verb that reads no file")), {
  lint,
  verify,
  vfp: { diff, ports, show },
  hns: { get },
});

/** The answer may be any but a crash. */
async function runVerb(argv: readonly string[], file: string, text: string): Promise<void> {
  const terminal = new MemoryTerminal({ [file]: text });
  const code = await runMullion({ argv, verbs: VERBS, terminal, version: "0", isDebug: false });
  if (![0, 1, 2].includes(code)) throw new Error(`exit code ${code}: ${terminal.errors}`);
}

/** Plugins whose stdin is the text. */
async function runPlugins(text: string): Promise<void> {
  for (const node of [bridgeNode(), overlayNode(), azureNode()]) await node.run("ADD", text);
}

/** Plugins whose configuration and arguments have the text in each place that they read. */
async function configurePlugins(text: string): Promise<void> {
  const around = { cniVersion: "1.0.0", name: "cbr0", type: "win-bridge", ipam: { type: "host-local" } };
  const whole = {
    ...around,
    dns: { nameservers: [text], search: text.split(" ") },
    policies: [{ name: "EndpointPolicy", value: { Type: "OutBoundNAT", ExceptionList: text.split(",") } }],
    runtimeConfig: { portMappings: [{ hostPort: 1, containerPort: 1, protocol: text, hostIP: text }] },
    prevResult: { cniVersion: "1.0.0", ips: [{ address: text }], routes: [{ dst: text }] },
    [text]: text,
  };
  for (const node of [bridgeNode(), azureNode()]) {
    await node.run("ADD", whole);
    await node.run("DEL", { ...around, name: text }, { CNI_ARGS: text });
  }
}

/** A body as client-go sends it: `runtime.Unknown` with a ConfigMap of these fields; and the text alone. */
function readProtobuf(text: string): void {
  const fields = new TextEncoder().encode(text);
  const [start, length] = [[0x6b, 0x38, 0x73, 0x00], fields.length];
  const type = [0x0a, 2, 0x76, 0x31, 0x12, 9, ...new TextEncoder().encode("ConfigMap")];
  const size = [
    (length & 0x7f) | 0x80,
    ((length >> 7) & 0x7f) | 0x80,
    ((length >> 14) & 0x7f) | 0x80,
    length >> 21,
  ];
  for (const begin of [start, [...start, 0x0a, type.length, ...type, 0x12, ...size]]) {
    const body = new Uint8Array(begin.length + length);
    body.set(begin);
    body.set(fields, begin.length);
    try {
      decodeProtobuf(body);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
    }
  }
}

/** The text, and a kubeconfig that has it as a token and as an address. */
async function readKubeconfigs(text: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-hostile-"));
  const kubeconfig = join(folder, "config");
  const quoted = JSON.stringify(text);
  const whole = `clusters: [{name: c, cluster: {server: ${quoted}}}]
users: [{name: u, user: {token: ${quoted}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`;
  try {
    for (const content of [text, whole]) {
      writeFileSync(kubeconfig, content);
      await loadKubeconfig({ kubeconfig }).catch((error: unknown) => {
        if (!(error instanceof KubeError)) throw error;
      });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function verb(file: string, ...argv: readonly string[]): (text: string) => Promise<void> {
  return async (text) => runVerb([...argv, file], file, text);
}

/** Each reader of texts. Those of files have the name by which `mullion` knows them. */
export const READERS: Readonly<Record<string, (text: string) => Promise<void> | void>> = {
  "x.yaml": verb("x.yaml", "lint"),
  "x.json": verb("x.json", "lint"),
  "net.conflist": verb("net.conflist", "lint"),
  "net-conf.json": verb("net-conf.json", "lint"),
  "start.ps1": verb("start.ps1", "lint"),
  "subnet.env": verb("subnet.env", "lint"),
  "x.log": verb("x.log", "explain", "--log"),
  "cluster.yaml": verb("cluster.yaml", "verify", "-f"),
  "rules.txt": verb("rules.txt", "vfp", "diff", "rules.txt"),
  "hns.json": verb("hns.json", "hns", "get", "all", "-f"),
  "hnsdiag.txt": verb("hnsdiag.txt", "hns", "get", "all", "-o", "json", "-f"),
  "stdin of CNI plugins": runPlugins,
  "configurations of CNI plugins": configurePlugins,
  "protobuf of client-go": readProtobuf,
  kubeconfig: readKubeconfigs,
};

/** Single characters, and what the readers look for. */
const CHARACTERS = Array.from(" \n\t\r\u2028-:aA0./\\{}[]()\"'#,;=<>%_\ufffd\u0000");
const WORDS =
  '- |: |--|0.|a=|<a |$(|${|{{|{{ |*a |&a |""|//|/*|items:#|\u2028items:#|template|flannel|a.b |--a |\u001b[|F-|AAAA_|YOUR_|= = |((|))|kube-proxy.exe --a=$(|kube-proxy --a=b |error |hr=|0x|Policy for port : ';
const LINES = "/**//|---|a:|- a|&a a|[{|Name : a|ID : 1|LAYER : a|GROUP : a|RULE : a|apiVersion: v1";

/** What a Get-Hns dump, an hnsdiag listing, a configuration of CNI and a message of protobuf are made of. */
const PIECES = [
  '{"a":',
  '{"ID":"x"}',
  '{"items":[]}',
  '{"ID":"x","Name":"y"},',
  "[0,",
  '"a",',
  '\\"',
  "Get-HnsNetwork:\n{}\n",
  "Networks : \n",
  "Network : x\n    Name : y\n",
  "ID             : 1\nName           : a\n\n",
  "IP Address : {1, ",
  "\u0012\u0006\n\u0001a\u0012\u0001b",
  "\n\u0001",
  "\u0008\u0001",
  "- name: a\n  user: {}\n",
  "users:\n",
  "- [",
];

export const UNITS: readonly string[] = [
  ...CHARACTERS,
  ...WORDS.split("|"),
  ...LINES.split("|").map((line) => `${line}\n`),
  "|\n",
  ...PIECES,
];

/** Seconds of this process that a reader takes with a text. */
export async function secondsOf(reader: string, text: string): Promise<number> {
  const read = READERS[reader];
  if (read === undefined) throw new Error(`there is no reader ${reader}`);
  const before = process.cpuUsage();
  await read(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** As many of `unit` as make `length` characters. */
export function textOf(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}
