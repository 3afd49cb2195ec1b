/** A cluster as its API server shows it: lists, and nothing else. */
import { SourceText } from "#core/base/source-text.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import { objectPath, openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import { FileReading } from "#diagnose/doctor/read-evidence.ts";
import type { InputText } from "#cluster/session/session.ts";
import { Failure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

/** Without Nodes there is nothing to examine; which of the others are missing is said. */
export const NEEDED_BY_DOCTOR: readonly KubeKind[] = ["Node"];
/** Without these there is no cluster to ask packets of. */
export const NEEDED: readonly KubeKind[] = ["Node", "Pod", "Service", "EndpointSlice"];
/** These show which network a twin has; who may not list them has no proof by packets, perhaps. */
export const OF_NETWORKS: readonly KubeKind[] = ["ConfigMap", "DaemonSet"];
/** What else decides about packets. */
const OF_PACKETS: readonly KubeKind[] = ["Namespace", "NetworkPolicy"];

/** The objects of one kind as a text, and where each stands. */
interface ListedKind {
  readonly file: string;
  readonly text: string;
  /** What `kubectl get --raw` shows an object at. */
  readonly placeOf: (each: KubeObject) => string;
}

interface LeftKind {
  readonly file: string;
  readonly line: number;
  readonly reason: string;
}

interface ListedCluster {
  readonly listed: readonly ListedKind[];
  /** Kinds that could not be listed, with the reason. */
  readonly left: readonly LeftKind[];
}

/** What an API server says, and what to do then. */
export function failureOf({ code, message }: KubeError): Failure {
  if (code === "kubeconfig-unusable") return new Failure(code, message, WORDS.adviceKubeconfigFile);
  if (code === "kubernetes-unreachable") return new Failure(code, message, WORDS.adviceServerGone);
  return new Failure(code, message, WORDS.adviceKubeconfig);
}

/** The user may not list a kind: others may be there. Whatever else fails, fails for all. */
export function isLeftOut(error: unknown, kind: KubeKind, needed: readonly KubeKind[]): error is KubeError {
  return error instanceof KubeError && error.code === "kubernetes-access-denied" && !needed.includes(kind);
}

/** A list as `kubectl get -o json` prints it, an object a line. */
export function listText(items: readonly KubeObject[]): string {
  const lines = items.map((each) => JSON.stringify(each)).join(",\n");
  return `{"apiVersion":"v1","kind":"List","items":[\n${lines}\n]}\n`;
}

/** @throws Failure when the server cannot be reached, or does not let list what is needed. */
async function listCluster(
  kubeconfig: string,
  useful: readonly KubeKind[],
  needed: readonly KubeKind[],
): Promise<ListedCluster> {
  try {
    const source = await openApiServerSource({ kubeconfig }, "mullion");
    try {
      const listed: ListedKind[] = [];
      const left: LeftKind[] = [];
      for (const kind of [...NEEDED, ...useful]) {
        const file = `${source.address}/${KINDS[kind].plural}`;
        try {
          const { items } = await source.list(kind);
          listed.push({
            file,
            text: listText(items),
            placeOf: (each) => objectPath(each.kind, each.metadata),
          });
        } catch (error) {
          const isUseful = error instanceof KubeError && useful.includes(kind);
          if (!isUseful && !isLeftOut(error, kind, needed)) throw error;
          left.push({ file, line: 1, reason: error.message });
        }
      }
      return { listed, left };
    } finally {
      await source.close();
    }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw failureOf(error);
  }
}

/** What doctor compares. */
export interface ReadCluster extends Pick<ListedCluster, "left"> {
  readonly readings: readonly FileReading[];
}

/** @param kubeconfig the path of a kubeconfig. */
export async function readCluster(kubeconfig: string): Promise<ReadCluster> {
  const { listed, left } = await listCluster(kubeconfig, OF_NETWORKS, NEEDED_BY_DOCTOR);
  const readings = listed.map(
    ({ file, text, placeOf }) => new FileReading(new SourceText(file, text), placeOf),
  );
  return { readings: readings.filter(({ holds }) => holds.length > 0), left };
}

/** The cluster as texts, as `kubectl get -o json` would give them. What could not be listed is said. */
export async function readServer(kubeconfig: string, terminal: Terminal): Promise<readonly InputText[]> {
  const { listed, left } = await listCluster(kubeconfig, [...OF_NETWORKS, ...OF_PACKETS], NEEDED);
  for (const { file, reason } of left) terminal.stderr(`${file} is left out: ${reason}\n`);
  return listed.map(({ file, text }) => ({ name: file, text }));
}
