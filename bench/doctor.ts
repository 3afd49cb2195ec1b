/**
 * What does it cost to examine a node with 5 000 load balancers and 20 000 endpoints? Against parsing the same JSON. And how
 * fast are logs of four nodes read, by one thread and by two?
 */
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SourceText } from "#core/base/source-text.ts";
import { examineNodes } from "#diagnose/doctor/doctor.ts";
import { FileReading } from "#diagnose/doctor/read-evidence.ts";
import { publishFigure } from "./measure.ts";

const LOAD_BALANCERS = 5_000;
const BACK_ENDS = 4;
const NETWORK = "8e68213e-9443-4395-a50c-3977cb7bdba7";

function idOf(kind: number, number: number): string {
  return `${String(kind).repeat(8)}-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}

function addressOf(second: number, number: number): string {
  return `10.${second + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, number) => number);
}

function backEndsOf(service: number): readonly number[] {
  return numbers(BACK_ENDS).map((number) => service * BACK_ENDS + number);
}

/** HNS and the API server agree, but for one Service that HNS does not have. */
function filesOf(count: number): Readonly<Record<string, string>> {
  const json = (value: unknown): string => JSON.stringify(value, undefined, 2);
  const endpoints = numbers(count * BACK_ENDS).map((number) => ({
    ID: idOf(1, number),
    Name: "Ethernet",
    VirtualNetwork: NETWORK,
    IPAddress: addressOf(100, number + 2),
    MacAddress: "00-15-5D-24-50-01",
    IsRemoteEndpoint: true,
    State: 1,
  }));
  const loadBalancers = numbers(count - 1).map((number) => ({
    ID: idOf(2, number),
    References: backEndsOf(number).map((each) => `/endpoints/${idOf(1, each)}`),
    State: 2,
    Policies: [
      { Type: "ELB", VIPs: [addressOf(96, number + 2)], Protocol: 6, ExternalPort: 80, InternalPort: 8080 },
    ],
  }));
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "win-1", labels: { "kubernetes.io/os": "windows" } },
    status: { addresses: [{ type: "InternalIP", address: "10.0.0.11" }] },
  };
  const services = numbers(count).flatMap((number) => [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "a", name: `s${number}` },
      spec: { clusterIP: addressOf(96, number + 2), ports: [{ name: "http", port: 80 }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        namespace: "a",
        name: `s${number}-1`,
        labels: { "kubernetes.io/service-name": `s${number}` },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      endpoints: backEndsOf(number).map((each) => ({ addresses: [addressOf(100, each + 2)] })),
    },
  ]);
  return {
    "node/network.txt": json([{ ID: NETWORK, Name: "cbr0", Type: "L2Bridge", ManagementIP: "10.0.0.11" }]),
    "node/endpoint.txt": json(endpoints),
    "node/policy.txt": json(loadBalancers),
    "node/objects.json": json({ apiVersion: "v1", kind: "List", items: [node, ...services] }),
  };
}

/** Of the processor: other programs do not count. */
function secondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000_000;
}

/** Seconds for reading and examining, and for parsing alone. */
async function measureOne(count: number): Promise<readonly [number, number]> {
  const files = Object.entries(filesOf(count));
  const started = process.cpuUsage();
  for (const [, text] of files) JSON.parse(text);
  const parsing = process.cpuUsage(started);
  const begun = process.cpuUsage();
  const { findings } = await examineNodes(
    files.map(([name, text]) => new FileReading(new SourceText(name, text))),
  );
  if (findings.length !== 1) throw new Error(`doctor found ${findings.length} things`);
  return [secondsOf(process.cpuUsage(begun)), secondsOf(parsing)];
}

const NODES = 4;
/** Four are a gigabyte; each is read whole. */
const LOG_BYTES = 250_000_000;
const LINE =
  'I0102 15:04:05.000007    4120 proxier.go:1180] "Hns endpoint resource" endpointInfo={"ip":"10.244.1.7","port":8080,"isLocal":false}\n';
const LAST_LINE =
  'E0102 15:04:06.000007    4120 proxier.go:1285] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013)"\n';
const ROUNDS = 2;

/** Seconds by the clock that the program takes for a folder. */
function examineFolder(folder: string, threads: number): number {
  const began = process.hrtime.bigint();
  const { status, stderr } = spawnSync(
    process.execPath,
    ["bin/mullion.js", "doctor", folder, "--threads", String(threads), "-o", "json"],
    { encoding: "utf8", maxBuffer: 67_108_864 },
  );
  if (status !== 1) throw new Error(`doctor ended with ${status}: ${stderr}`);
  return Number(process.hrtime.bigint() - began) / 1e9;
}

/** Logs of four nodes, read by one thread and by two in turns. */
function measureThreads(): void {
  const folder = mkdtempSync(join(tmpdir(), "mullion-doctor-"));
  const logOf = (node: number): string => join(folder, `win-${node}`, "kube-proxy.log");
  const log = Buffer.from(LINE.repeat(Math.ceil(LOG_BYTES / LINE.length)) + LAST_LINE);
  try {
    for (let node = 1; node <= NODES; node++) {
      mkdirSync(join(folder, `win-${node}`));
      if (node === 1) writeFileSync(logOf(node), log);
      else linkSync(logOf(1), logOf(node));
    }
    const times = Array.from({ length: ROUNDS }, () =>
      [1, 2].map((threads) => examineFolder(folder, threads)),
    );
    const least = (index: number): number => Math.min(...times.map((each) => each[index] ?? Number.NaN));
    const [one, two] = [least(0), least(1)];
    const megabytes = (NODES * log.length) / 1e6;
    publishFigure("logs of four nodes", "1 GB by one thread", (one * 1_000) / megabytes, "s");
    publishFigure("logs of four nodes", "two threads", two / one);
    process.stdout.write(
      `doctor, ${megabytes.toFixed(0)} MB of logs of ${NODES} nodes\n  one thread ${one.toFixed(2)} s (${(megabytes / one).toFixed(0)} MB/s); two ${two.toFixed(2)} s, ${(two / one).toFixed(2)} × as long\n`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function run(): Promise<void> {
  await measureOne(LOAD_BALANCERS / 10);
  const title = `doctor, a node with ${LOAD_BALANCERS} load balancers and ${LOAD_BALANCERS * BACK_ENDS} endpoints`;
  const [small] = await measureOne(LOAD_BALANCERS / 10);
  const [whole, floor] = await measureOne(LOAD_BALANCERS);
  publishFigure(title, "all of it", whole, "s");
  publishFigure(title, "against JSON.parse", whole / floor);
  publishFigure(title, "a tenth of it", small, "s");
  process.stdout.write(
    `${title}\n  ${whole.toFixed(2)} s; a tenth ${small.toFixed(2)} s; JSON.parse ${floor.toFixed(2)} s\n`,
  );
  measureThreads();
}
