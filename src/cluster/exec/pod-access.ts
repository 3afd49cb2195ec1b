/**
 * What `kubectl exec`, `logs` and `port-forward` find in the pods of a served cluster. A command runs in the cluster itself, whose clock goes
 * on with it: servers log whom they answered, and what a pod remembers stays. A pod's log is that of its built-in server.
 */
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type {
  CommandEnd,
  LogLine,
  PodAccess,
  PodConnection,
  PodPlace,
} from "#control-plane/http/pod-access.ts";
import type { AnsweredClient } from "#dataplane/host/services/identification-server.ts";
import type { Turns } from "../api/held-cluster.ts";
import type { ClusterPod } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import type { ClusterSession } from "../session/session.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";
import { execute } from "./exec.ts";
import { connectToPod } from "./port-connection.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const BAD_REQUEST = 400;
const NOT_FOUND = 404;

function lineOf({ number, atMs, clientIp, clientPort, protocol, port }: AnsweredClient): LogLine {
  const client = formatSocketAddress(clientIp, clientPort);
  return {
    number,
    at: new Date(CAPTURE_EPOCH_MS + Math.floor(atMs)).toISOString(),
    text: `answered ${client} on ${protocol} port ${port}`,
  };
}

export class ClusterPodAccess implements PodAccess {
  private readonly session: ClusterSession;
  private readonly turns: Turns;

  constructor(session: ClusterSession, turns: Turns) {
    this.session = session;
    this.turns = turns;
  }

  readonly exec = async ({ namespace, name }: PodPlace, command: readonly string[]): Promise<CommandEnd> =>
    this.turns.take(async () => {
      await this.session.raise();
      try {
        return execute(this.session.cluster, { from: `pod/${namespace}/${name}`, command });
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        // It went away while this command waited for its turn.
        if (this.find(namespace, name) === undefined)
          throw new KubeError("object-not-found", NOT_FOUND, `pods ${JSON.stringify(name)} not found`);
        throw new KubeError("kubernetes-request-invalid", BAD_REQUEST, `${error.message}. ${error.advice}`);
      }
    });

  readonly logs = async (
    { namespace, name }: PodPlace,
    after: number,
  ): Promise<readonly LogLine[] | undefined> =>
    this.turns.take(() =>
      this.find(namespace, name)
        ?.server.log.filter(({ number }) => number > after)
        .map(lineOf),
    );

  readonly connect = async ({ namespace, name }: PodPlace, port: number): Promise<PodConnection | string> =>
    this.turns.take(async () => {
      await this.session.raise();
      const pod = this.find(namespace, name);
      if (pod === undefined) return WORDS.portForwardPodGone;
      return connectToPod(this.session.cluster, this.turns, pod, port);
    });

  private find(namespace: string, name: string): ClusterPod | undefined {
    return this.session.cluster.pods.find(({ spec }) => spec.namespace === namespace && spec.name === name);
  }
}
