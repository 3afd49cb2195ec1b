// Names as pods resolve them. Text in, printed answer and exit code out.
import { describe, expect, it } from "vitest";
import { Ajv2020 } from "ajv/dist/2020.js";
import { RESOLUTION_SCHEMA, type ResolutionReport } from "#cluster/trace/resolve-report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { resolve } from "./trace.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: linux-1, os: linux, address: 10.0.0.21}
manifests: [m.yaml]
`;
const COLD = `${CLUSTER}quirks: {names-fail-at-first: on}\n`;

function pod(name: string, os: string, spec = ""): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  nodeSelector: {kubernetes.io/os: ${os}}
  containers: [{name: c, image: example.invalid/c}]
  ${spec}`;
}

const MANIFESTS = [
  pod("win", "windows"),
  pod("tux", "linux"),
  pod("listed", "windows", "hostAliases: [{ip: 192.0.2.7, hostnames: [depot, depot.example]}]"),
  pod(
    "own",
    "windows",
    "dnsPolicy: None\n  dnsConfig: {nameservers: [10.96.0.10], searches: [other.svc.cluster.local]}",
  ),
  pod("mute", "windows", "dnsPolicy: None\n  dnsConfig: {nameservers: [192.0.2.53]}"),
  ...["default", "other"].map(
    (namespace, index) => `
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ${namespace}}
spec: {clusterIP: 10.96.0.2${index}, selector: {app: tux}, ports: [{port: 80}]}`,
  ),
].join("");

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

async function run(words: readonly string[], cluster = CLUSTER): Promise<Answer> {
  const terminal = new MemoryTerminal({ "c.yaml": cluster, "m.yaml": MANIFESTS });
  const argv = ["resolve", "-f", "c.yaml", ...words];
  const code = await runMullion({ argv, verbs: { resolve }, terminal, version: "0", isDebug: false });
  return { code, text: terminal.output, errors: terminal.errors };
}

const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(RESOLUTION_SCHEMA);

async function resolution(...words: readonly string[]): Promise<ResolutionReport> {
  const { text } = await run([...words, "-o", "json"]);
  const report: unknown = JSON.parse(text);
  validate(report);
  expect(validate.errors ?? []).toEqual([]);
  return report as ResolutionReport;
}

/** What was asked for, without the final dots; those that were remembered in brackets. */
function questionsOf({ lookups }: ResolutionReport): readonly (readonly string[])[] {
  return lookups.map(({ questions }) =>
    questions.map(({ name, sent }) => (sent === 0 ? `(${name.slice(0, -1)})` : name.slice(0, -1))),
  );
}

const SUFFIX = "svc.cluster.local";

describe("mullion resolve asks for the names that the system asks for", () => {
  it.each([
    [
      "DT-157 a single label gets the namespace's suffix",
      "win",
      "web",
      [`web.default.${SUFFIX}`],
      "10.96.0.20",
    ],
    [
      "DT-158 a name with a dot is asked for as it is",
      "win",
      "web.other",
      ["web.other"],
      "dns-name-with-dot-not-completed",
    ],
    [
      "the same name on Linux",
      "tux",
      "web.other",
      [`web.other.default.${SUFFIX}`, `web.other.${SUFFIX}`],
      "10.96.0.21",
    ],
    ["a suffix of the pod's own", "own", "web", [`web.other.${SUFFIX}`], "10.96.0.21"],
    ["DT-167 the hosts file comes first", "listed", "depot", [], "192.0.2.7"],
    ["a server that is not there", "mute", "web.example.", ["web.example"], "dns-server-unreachable"],
  ])("%s", async (_, sender, name, asked, outcome) => {
    const report = await resolution(`pod/${sender}`, name);
    expect(questionsOf(report)).toEqual([asked]);
    const [{ addresses, code } = { addresses: [], code: undefined }] = report.lookups;
    expect(code ?? addresses.join()).toBe(outcome);
  });

  it("DT-159 nslookup has a search of its own, and knows no hosts file", async () => {
    const searched = await resolution("pod/win", "web.other", "--as", "nslookup");
    expect(questionsOf(searched)).toEqual([[`web.other.default.${SUFFIX}`, `web.other.${SUFFIX}`]]);
    const listed = await resolution("pod/listed", "depot.example", "--as", "nslookup");
    expect(listed.lookups[0]?.outcome).toBe("failed");
  });

  it("DT-160 a name that does not exist is remembered for five minutes on Windows, and not on Linux", async () => {
    const report = await resolution("pod/win,pod/tux", "gone.", "--times", "3", "--interval", "4m");
    expect(questionsOf(report)).toEqual([["gone"], ["(gone)"], ["gone"], ["gone"], ["gone"], ["gone"]]);
    expect(report.lookups.map(({ afterMs }) => afterMs)).toEqual([0, 240_000, 480_000, 0, 240_000, 480_000]);
  });

  it("DT-161 in a pod's first seconds nothing is asked, and some time later it works", async () => {
    const { text, code } = await run(["pod/win", "web", "--times", "2", "--interval", "1m"], COLD);
    expect(text).toContain("mullion explain dns-cold-start");
    expect(text).toContain("10.96.0.20");
    expect(code).toBe(1);
  });
});

it("lookups at the same time are one first lookup of each sender and others again", async () => {
  const { text } = await run(["pod/listed,pod/listed", "depot", "--times", "2", "--interval", "0s"]);
  const headings = text.split("\n").filter((line) => line.startsWith("pod/") || line.includes("again"));
  const first: unknown = expect.stringMatching(/^pod\/default\/listed /);
  expect(headings).toEqual([first, "  again, 0 ms after the first", first, "  again, 0 ms after the first"]);
});

it("senders are shown beside each other; nothing is kept in the cluster", async () => {
  const { text, code } = await run(["pod/win,pod/tux", "web.other"]);
  const headings = text.split("\n").filter((line) => line.startsWith("pod/"));
  expect(headings).toEqual([
    expect.stringMatching(/^pod\/default\/win \(\S+ on win-1\), by Windows' DNS client$/),
    expect.stringMatching(/^pod\/default\/tux \(\S+ on linux-1\), by the resolver of Linux$/),
  ]);
  expect(text).toContain("why, and what to do: mullion explain dns-name-with-dot-not-completed");
  expect(code).toBe(1);
  expect((await run(["pod/win,pod/tux", "web"])).code).toBe(0);
});

describe("mullion resolve refuses", () => {
  it.each([
    [["pod/nobody", "web"], /pod\/nobody/, /pod\/default\/win/],
    [["service/web", "web"], /answers and does not ask/, /Name a pod/],
    [["pod/win", "10.96.0.20"], /is an address/, /Write the name/],
    [["pod/win", "a..b"], /is not a DNS name/, /Write a name/],
    [["pod/win,", "web"], /leaves out a sender/, /with commas/],
    [["pod/tux", "web", "--as", "Resolve-DnsName"], /a command of Windows/, /ping or nslookup/],
    [["pod/win", "web", "--interval", "1s"], /--interval/, /--times/],
    [["pod/win", "web", "--times", "0"], /--times takes/, /from 1 to 100/],
    [["pod/win", "web", "--times", "2", "--interval", "2h"], /--interval takes a time/, /1\.5s/],
  ])("%j", async (words, message, advice) => {
    const { code, text, errors } = await run(words);
    expect({ code, text }).toEqual({ code: 2, text: "" });
    expect(errors).toMatch(message);
    expect(errors).toMatch(advice);
  });
});
