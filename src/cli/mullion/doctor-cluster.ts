/** The cluster's side of `mullion doctor`, read from its API server: lists, and nothing else. */
import { SourceText } from "#core/base/source-text.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import { objectPath, openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import { FileReading } from "#diagnose/doctor/read-evidence.ts";
import { Failure } from "./failure.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

/** Without these nothing is compared. */
const NEEDED: readonly KubeKind[] = ["Node", "Pod", "Service", "EndpointSlice"];
/** These show which network a twin has; who may not list them has no proof by packets, perhaps. */
const USEFUL: readonly KubeKind[] = ["ConfigMap", "DaemonSet"];

export interface ReadCluster {
  readonly readings: readonly FileReading[];
  /** Kinds that could not be listed, with the reason. */
  readonly left: readonly { readonly file: string; readonly line: number; readonly reason: string }[];
}

/**
 * Lists what the checks compare.
 * @param kubeconfig the path of a kubeconfig.
 * @throws Failure when the server cannot be reached, or does not let list what is needed.
 */
export async function readCluster(kubeconfig: string): Promise<ReadCluster> {
  try {
    const source = await openApiServerSource({ kubeconfig }, "mullion-doctor");
    try {
      const readings: FileReading[] = [];
      const left: ReadCluster["left"][number][] = [];
      for (const kind of [...NEEDED, ...USEFUL]) {
        const file = `${source.address}/${KINDS[kind].plural}`;
        try {
          const { items } = await source.list(kind);
          const text = JSON.stringify({ apiVersion: "v1", kind: "List", items });
          // What `kubectl get --raw` shows an object at.
          const place = (each: KubeObject): string => objectPath(each.kind, each.metadata);
          readings.push(new FileReading(new SourceText(file, text), place));
        } catch (error) {
          if (!(error instanceof KubeError) || NEEDED.includes(kind)) throw error;
          left.push({ file, line: 1, reason: error.message });
        }
      }
      return { readings: readings.filter(({ holds }) => holds.length > 0), left };
    } finally {
      await source.close();
    }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw new Failure(error.code, error.message, WORDS.adviceKubeconfig);
  }
}
