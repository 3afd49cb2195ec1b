/** What `mullion doctor` reads: files and what archives hold, the objects of an HNS that runs, and those of an API server. */
import { SourceText } from "#core/base/source-text.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HcnClient, HcnObjectKind } from "#contracts/hcn/client.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { FileReading } from "#diagnose/doctor/read-evidence.ts";
import { type Collected, Collector } from "./doctor-file.ts";
import { readInThreads, threadsFor } from "./doctor-readers.ts";
import { asFailure } from "./hns/connect.ts";
import { QUERY_V1, listObjects } from "./hns/list-objects.ts";
import { ProgressLine } from "./progress-line.ts";
import type { ReadCluster } from "./server-objects.ts";
import type { Terminal } from "./terminal.ts";
import type { DoctorRequest } from "./verbs.ts";

/** The files that paths name; those of folders and of folders below, in the order of their names. */
async function listFiles(paths: readonly string[], terminal: Terminal): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, true);
    files.push(...(inside ?? [path]));
  }
  return [...new Set(files)];
}

function joined(parts: readonly Collected[]): Collected {
  return {
    readings: parts.flatMap(({ readings }) => readings),
    logs: parts.flatMap(({ logs }) => logs),
    left: parts.flatMap(({ left }) => left),
  };
}

/** What files say, in the order of their names, however many threads read them. */
async function readFiles(
  paths: readonly string[],
  terminal: Terminal,
  wanted: number | undefined,
): Promise<Collected> {
  const files = await listFiles(paths, terminal);
  const threads = threadsFor(files, terminal, wanted);
  const progress = new ProgressLine(terminal);
  const tasks = files.map((path) => ({ path, isNamed: paths.includes(path) }));
  try {
    if (threads > 1)
      return joined(
        await readInThreads(tasks, threads, {
          onRead: (path, done) => progress.reading(path, done, files.length),
          onBytes: (path, bytes) => progress.streaming(path, bytes),
        }),
      );
    const collector = new Collector(terminal, (path, bytes) => progress.streaming(path, bytes));
    for (const [index, { path, isNamed }] of tasks.entries()) {
      progress.reading(path, index + 1, files.length);
      await collector.read(path, isNamed);
    }
    return collector.drain();
  } finally {
    progress.end();
  }
}

/** What collectors call the lists that they write: an empty one says by its name of what it is. */
const HNS_LISTS: readonly (readonly [HcnObjectKind, string])[] = [
  ["Network", "networks.json"],
  ["Endpoint", "endpoints.json"],
  ["Namespace", "namespaces.json"],
  ["LoadBalancer", "loadbalancers.json"],
];

/** The folder that objects of a running HNS stand in, as reports name it. */
const HNS_FOLDER = "hns";

/** The lists of the HNS of this machine, an object a line. @throws Failure when none answers. */
async function readHns(): Promise<readonly FileReading[]> {
  let client: HcnClient | undefined;
  try {
    const found = findHns({ variables: process.env });
    client = found;
    return await Promise.all(
      HNS_LISTS.map(async ([kind, name]) => {
        const objects = await listObjects(found, kind, QUERY_V1);
        const lines = objects.map((each) => JSON.stringify(each)).join(",\n");
        return new FileReading(new SourceText(`${HNS_FOLDER}/${name}`, `[\n${lines}\n]\n`));
      }),
    );
  } catch (error) {
    if (!(error instanceof HcnError)) throw error;
    throw asFailure(error);
  } finally {
    await client?.close();
  }
}

export type DoctorSources = Pick<
  DoctorRequest,
  "paths" | "kubeconfig" | "isHns" | "collect" | "node" | "threads"
>;

/** What an API server shows; the client of Kubernetes is loaded only where there is one. */
async function readServer(kubeconfig: string | undefined): Promise<ReadCluster> {
  if (kubeconfig === undefined) return { readings: [], left: [] };
  return (await import("./server-objects.ts")).readCluster(kubeconfig);
}

/**
 * Everything that a request names, as it is now: what changes is read at the same moment.
 * @param read who reads the cluster; default: it is listed.
 * @throws Failure.
 */
export async function collect(
  { paths, kubeconfig, isHns, collect: how, node, threads }: DoctorSources,
  terminal: Terminal,
  read: () => Promise<ReadCluster> = () => readServer(kubeconfig),
): Promise<Collected> {
  const files = await readFiles(paths, terminal, threads);
  const own =
    how === undefined || kubeconfig === undefined
      ? { readings: [], left: [] }
      : await (await import("./doctor-collect.ts")).collectFromNodes(
          { kubeconfig, node, isAgreed: how === "do" },
          terminal,
        );
  const [hns, cluster] = await Promise.all([isHns ? readHns() : [], read()]);
  return {
    readings: [...files.readings, ...own.readings, ...hns, ...cluster.readings],
    logs: files.logs,
    left: [...files.left, ...own.left, ...cluster.left],
  };
}
