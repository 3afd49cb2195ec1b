/** Pods of this node with their annotation, which the controller writes a moment after the pod has its node. */
import type { Clock } from "#core/base/clock.ts";
import type { Log } from "#core/base/log.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { Informer } from "#contracts/kubernetes/informer.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { POD_NETWORKS } from "../kube/pod-networks.ts";
import type { AnnotatedPod } from "./cni-server.ts";

/** How long upstream waits (`GetPodAnnotations`). */
export const ANNOTATION_WAIT_MS = 30_000;

function annotated({ metadata }: Pod): AnnotatedPod {
  return { uid: metadata.uid, networks: metadata.annotations?.[POD_NETWORKS] };
}

export class PodAnnotations {
  private readonly clock: Clock;
  private readonly informer: Informer<"Pod">;
  /** Who waits, by pod. */
  private readonly waiting = new Map<string, Set<() => void>>();
  private isStopped = false;

  constructor(source: KubeSource, node: string, clock: Clock, log: Log) {
    this.clock = clock;
    const changed = (_before: Pod | undefined, after: Pod | undefined): void => {
      if (after === undefined) return;
      const { namespace, name } = after.metadata;
      for (const wake of this.waiting.get(`${namespace}/${name}`) ?? []) wake();
    };
    const failed = (error: Error, retryInMs: number): void =>
      log.write("warn", "pods cannot be followed", { error: error.message, retryInMs });
    const selection = { fieldSelector: `spec.nodeName=${node}` };
    this.informer = new Informer(source, "Pod", { changed, failed }, { clock, selection, log });
  }

  /** Resolves when the pods of the node are known. */
  async start(): Promise<void> {
    this.informer.start();
    await this.informer.synced;
  }

  /** Whoever waits hears what is known. */
  stop(): void {
    this.isStopped = true;
    this.informer.stop();
    for (const wake of [...this.waiting.values()].flatMap((wakers) => [...wakers])) wake();
  }

  /** The pod when it has its annotation; as it is when that does not come in time; undefined where there is no such pod. */
  async find(namespace: string, name: string): Promise<AnnotatedPod | undefined> {
    const key = `${namespace}/${name}`;
    const untilMs = this.clock.nowMs + ANNOTATION_WAIT_MS;
    for (;;) {
      const pod = this.informer.all.get(key);
      const known = pod === undefined ? undefined : annotated(pod);
      const leftMs = untilMs - this.clock.nowMs;
      if (known?.networks !== undefined || leftMs <= 0 || this.isStopped) return known;
      await this.changeOf(key, leftMs);
    }
  }

  /** Resolves when something has happened to the pod, or after a time. */
  private changeOf(key: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wakers = this.waiting.get(key) ?? new Set();
      this.waiting.set(key, wakers);
      const wake = (): void => {
        this.clock.cancel(timer);
        wakers.delete(wake);
        if (wakers.size === 0) this.waiting.delete(key);
        resolve();
      };
      const timer = this.clock.schedule(ms, { run: wake });
      wakers.add(wake);
    });
  }
}
