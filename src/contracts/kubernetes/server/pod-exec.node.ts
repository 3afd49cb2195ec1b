/** Commands in the containers of a cluster, as `kubectl exec` runs them; the official client has the protocol. */
import { Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { Exec, type KubeConfig, type V1Status } from "@kubernetes/client-node";
import type { ObjectName } from "../source.ts";
import { type ApiServerPlace, loadKubeconfig } from "./kubeconfig.node.ts";

const COMMAND_MS_MAX = 60_000;

class Text extends Writable {
  private readonly parts: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.parts.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.parts).toString();
  }
}

export class PodExec {
  private readonly config: KubeConfig;

  private constructor(config: KubeConfig) {
    this.config = config;
  }

  /** Nothing is sent yet. @throws KubeError `kubeconfig-unusable`. */
  static async open(place: ApiServerPlace): Promise<PodExec> {
    return new PodExec(await loadKubeconfig(place));
  }

  /** What a command prints. @throws Error with what went wrong, also for one that fails or takes more than a minute. */
  async run(
    { namespace, name, container }: ObjectName & { readonly container: string },
    command: readonly string[],
  ): Promise<string> {
    const [stdout, stderr] = [new Text(), new Text()];
    const exec = new Exec(this.config);
    const ended = new Promise<V1Status>((resolve, reject) => {
      exec.exec(namespace, name, container, [...command], stdout, stderr, null, false, resolve).catch(reject);
    });
    const status = await Promise.race([ended, pause(COMMAND_MS_MAX, undefined, { ref: false })]);
    if (status === undefined) throw new Error(`nothing within ${COMMAND_MS_MAX / 1_000} s`);
    if (status.status === "Success") return stdout.text;
    throw new Error([stderr.text.trim(), status.message ?? "", "it failed"].find((text) => text !== ""));
  }
}
