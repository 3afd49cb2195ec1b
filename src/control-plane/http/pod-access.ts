/** What a kubelet does for `kubectl exec`, `logs` and `port-forward`, as the served API asks for it, and what those requests ask. */
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { badRequest } from "./requests.ts";

export interface PodPlace {
  readonly namespace: string;
  readonly name: string;
}

export interface CommandEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** A line of a pod's log. */
export interface LogLine {
  /** Counts up from 1 over the pod's life. */
  readonly number: number;
  /** RFC 3339. */
  readonly at: string;
  readonly text: string;
}

/** What a port said since it was asked last. */
export interface PodAnswer {
  readonly bytes: readonly Uint8Array[];
  /** The server has said all. */
  readonly isFinished: boolean;
  /** Why nothing more comes, as the container runtime says it; undefined: nothing failed. */
  readonly failure: string | undefined;
}

/** A connection to a port of a pod, made where the container runtime makes it. */
export interface PodConnection {
  /** Gives bytes, `isLast` as the end of the client's stream, and takes what came. Time passes only for bytes or an end. */
  readonly exchange: (bytes: Uint8Array, isLast: boolean) => Promise<PodAnswer>;
  readonly close: () => Promise<void>;
}

export interface PodAccess {
  /** @throws KubeError for a command that is refused. */
  readonly exec: (pod: PodPlace, command: readonly string[]) => Promise<CommandEnd>;
  /** The lines behind a number, the oldest first; undefined for a pod that does not run. */
  readonly logs: (pod: PodPlace, after: number) => Promise<readonly LogLine[] | undefined>;
  /** For `kubectl port-forward`. @returns why it cannot, as the container runtime says it. */
  readonly connect: (pod: PodPlace, port: number) => Promise<PodConnection | string>;
}

/** Every container of a pod has the pod's network, and one server answers for all. @throws KubeError for a name of none. */
export function checkContainer({ metadata, spec }: Pod, container: string | undefined): void {
  if (container === undefined || container === "") return;
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  if (!all.some(({ name }) => name === container))
    throw badRequest(`container ${container} is not valid for pod ${metadata.name}`);
}

/** What `kubectl logs` asks for. */
export interface LogRequest {
  readonly isFollowing: boolean;
  readonly hasTimes: boolean;
  readonly tailLines: number | undefined;
}

const NOT_SERVED = ["sinceSeconds", "sinceTime", "limitBytes"] as const;

/** @throws KubeError for values that are wrong, and for what is not served. */
export function readLogRequest(query: (name: string) => string | undefined): LogRequest {
  for (const name of NOT_SERVED)
    if (query(name) !== undefined) throw badRequest(`${name} is not served here`);
  if (query("previous") === "true")
    throw new KubeError("kubernetes-request-invalid", 400, "previous terminated container not found");
  const tail = query("tailLines");
  if (tail !== undefined && !/^\d{1,9}$/.test(tail))
    throw badRequest(`tailLines is not a number: ${JSON.stringify(tail)}`);
  return {
    isFollowing: query("follow") === "true",
    hasTimes: query("timestamps") === "true",
    tailLines: tail === undefined ? undefined : Number(tail),
  };
}
