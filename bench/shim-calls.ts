/**
 * What does a call of HNS cost a Windows program: through the DLL under Wine, through the same code as a Linux library,
 * and from hcsshim in Go, against the same call over HTTP from Node? One service answers them all.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { findGo, GoMissingError } from "../tools/go-toolchain.ts";
import { prepareWinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import { HttpHcnClient, parseHnsAddress } from "#contracts/hcn/mod.node.ts";
import { PROGRAM, buildGoPrograms } from "../test/wine/go-programs.ts";
import { ROOT, startDaemon } from "../test/wine/test-daemon.ts";
import { type Measured, printTable } from "./measure.ts";

const CALLS = 1_000;
const ROUNDS = 7;
const NS_PER_US = 1_000;

const V2 = { Major: 2, Minor: 0 };
/** That of the programs. */
const NAT = {
  Name: "nat",
  Type: "NAT",
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "172.30.0.0/16",
          Routes: [{ NextHop: "172.30.0.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
  SchemaVersion: V2,
};

/** Somebody who makes so many calls, and says how many nanoseconds one took. */
interface Caller {
  readonly name: string;
  readonly create: () => Promise<number>;
  readonly query?: () => Promise<number>;
}

async function timeCalls(work: () => Promise<unknown>): Promise<number> {
  const started = process.hrtime.bigint();
  for (let call = 0; call < CALLS; call++) await work();
  return Number(process.hrtime.bigint() - started) / CALLS;
}

function nodeCaller(client: HttpHcnClient): Caller {
  const inNetwork = async (work: (network: string) => Promise<unknown>): Promise<number> => {
    const network = await client.create("Network", NAT);
    const ns = await timeCalls(() => work(network));
    await client.delete("Network", network);
    return ns;
  };
  return {
    name: "Node, HTTP",
    create: () => inNetwork((network) => client.create("Endpoint", { SchemaVersion: V2 }, { network })),
    query: () => inNetwork((network) => client.query("Network", network, { SchemaVersion: V2 })),
  };
}

type Variables = Readonly<Record<string, string>>;

/** A program that prints how long a call took. */
function runProgram(words: readonly [string, ...string[]], variables: Variables): number {
  const [program, ...args] = words;
  return Number(execFileSync(program, args, { env: { ...process.env, ...variables }, encoding: "utf8" }));
}

async function callersOf(service: Variables): Promise<readonly Caller[]> {
  const programs = join(ROOT, "out", "shim");
  const { wine, variables } = await prepareWinePrefix(
    join(ROOT, "out", "wine", "prefix"),
    join(ROOT, "dist", "shim"),
  );
  const count = String(CALLS);
  const onLinux = { ...service, LD_LIBRARY_PATH: programs };
  const onWine = { ...service, ...variables };
  const address = parseHnsAddress(service["MULLION_HNS"] ?? "", service["MULLION_HNS_TOKEN"]);
  const callers: Caller[] = [
    nodeCaller(new HttpHcnClient({ address })),
    {
      name: "C, Linux library",
      create: async () => runProgram([join(programs, "shim-test"), "bench", count], onLinux) * NS_PER_US,
      query: async () =>
        runProgram([join(programs, "shim-test"), "bench-queries", count], onLinux) * NS_PER_US,
    },
    {
      name: "C, DLL under Wine",
      create: async () =>
        runProgram([wine, join(programs, "shim-test.exe"), "bench", count], onWine) * NS_PER_US,
      query: async () =>
        runProgram([wine, join(programs, "shim-test.exe"), "bench-queries", count], onWine) * NS_PER_US,
    },
  ];
  try {
    findGo();
    buildGoPrograms();
    callers.push({
      name: "Go, hcsshim under Wine (3 calls)",
      create: async () => runProgram([wine, PROGRAM, "endpoints", count], onWine),
    });
  } catch (error) {
    if (!(error instanceof GoMissingError)) throw error;
    process.stdout.write(`\nWithout Go: ${error.message}\n`);
  }
  return callers;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** In turns, so that whatever disturbs the machine disturbs all of them. */
async function measureInTurns(
  callers: readonly { readonly name: string; readonly time: () => Promise<number> }[],
): Promise<Measured[]> {
  const samples = callers.map((): number[] => []);
  for (let round = -1; round < ROUNDS; round++) {
    for (const [index, { time }] of callers.entries()) {
      const ns = await time();
      if (round >= 0) samples[index]?.push(ns);
    }
  }
  return callers.map(({ name }, index) => {
    const own = samples[index] ?? [];
    return { name, ns: median(own), minNs: Math.min(...own) };
  });
}

export async function run(): Promise<void> {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "ignore" });
  const service = await startDaemon();
  try {
    const callers = await callersOf(service.variables);
    const queries = callers.flatMap(({ name, query }) =>
      query === undefined ? [] : [{ name, time: query }],
    );
    const creates = callers.map(({ name, create }) => ({ name, time: create }));
    printTable("A network is queried, each call", await measureInTurns(queries), "Node, HTTP");
    printTable(
      `${CALLS} endpoints are made by one program, each`,
      await measureInTurns(creates),
      "Node, HTTP",
    );
  } finally {
    await service.stop();
  }
}
