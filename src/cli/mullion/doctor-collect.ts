/**
 * `mullion doctor --collect`: what commands print on Windows nodes, by way of a HostProcess pod on each. The pods are made
 * only with `--yes`, end by themselves, and are deleted whatever comes of it.
 */
import { setTimeout as pause } from "node:timers/promises";
import { stringify } from "yaml";
import { SourceText } from "#core/base/source-text.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import type { KubeDraft, ObjectName } from "#contracts/kubernetes/source.ts";
import {
  type ApiServerSource,
  openApiServerSource,
} from "#contracts/kubernetes/server/api-server-source.node.ts";
import { PodExec } from "#contracts/kubernetes/server/pod-exec.node.ts";
import { FileReading } from "#diagnose/doctor/read-evidence.ts";
import { Failure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

/** What is asked, and the file that a collector would write. Each is a program and its arguments, without a shell. */
const COMMANDS: readonly (readonly [file: string, command: readonly string[]])[] = [
  ["hnsdiag.txt", ["hnsdiag", "list", "all", "-d"]],
  ["ip.txt", ["ipconfig", "/all"]],
  ["routes.txt", ["route", "print"]],
  ["netstat.txt", ["netstat", "-ano"]],
  ["excludedportrange.txt", ["netsh", "int", "ipv4", "show", "excludedportrange", "tcp"]],
  ["dynamicportrange.txt", ["netsh", "int", "ipv4", "show", "dynamicportrange", "tcp"]],
  ["mtu.txt", ["netsh", "int", "ipv4", "show", "interfaces"]],
  ["windowsServices.txt", ["powershell", "-NoProfile", "-Command", "Get-Service"]],
  ["netadapter.txt", ["powershell", "-NoProfile", "-Command", "Get-NetAdapter"]],
];

const NAMESPACE = "kube-system";
const CONTAINER = "collect";
/** After this time a pod ends, whatever became of who made it. */
const LIFE_SECONDS = 600;
const START_MS_MAX = 180_000;
const LOOK_MS = 500;
/** An image with nothing in it: HostProcess containers run the programs of the node. */
const IMAGE = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0";

function podFor(node: string): KubeDraft<"Pod"> {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "mullion-doctor-", namespace: NAMESPACE },
    spec: {
      nodeName: node,
      hostNetwork: true,
      restartPolicy: "Never",
      activeDeadlineSeconds: LIFE_SECONDS,
      terminationGracePeriodSeconds: 0,
      nodeSelector: { "kubernetes.io/os": "windows" },
      tolerations: [{ operator: "Exists" }],
      securityContext: {
        windowsOptions: { hostProcess: true, runAsUserName: String.raw`NT AUTHORITY\SYSTEM` },
      },
      containers: [
        {
          name: CONTAINER,
          image: IMAGE,
          command: ["powershell", "-NoProfile", "-Command", `Start-Sleep ${LIFE_SECONDS}`],
        },
      ],
    },
  };
}

/** What would be done, for the user to read first. */
function planOf(nodes: readonly string[]): string {
  const pods = nodes.map((node) => stringify(podFor(node)));
  const commands = COMMANDS.map(([, command]) => `#   ${command.join(" ")}\n`);
  return `${pods.join("---\n")}# ${WORDS.collectRuns}\n${commands.join("")}`;
}

export interface CollectedFromNodes {
  readonly readings: readonly FileReading[];
  readonly left: readonly { readonly file: string; readonly line: number; readonly reason: string }[];
}

class NodeCollector {
  readonly readings: FileReading[] = [];
  readonly left: CollectedFromNodes["left"][number][] = [];
  private readonly source: ApiServerSource;
  private readonly exec: PodExec;
  private readonly stopped: Promise<void>;
  private isStopped = false;

  /** @param stopped what ends the commands: Ctrl-C. */
  constructor(source: ApiServerSource, exec: PodExec, stopped: Promise<void>) {
    this.source = source;
    this.exec = exec;
    this.stopped = this.stopWith(stopped);
  }

  private async stopWith(stopped: Promise<void>): Promise<void> {
    await stopped;
    this.isStopped = true;
  }

  /** One after the other, so that Ctrl-C leaves one pod to delete. @throws KubeError where a pod may not be made. */
  async collectAll(nodes: readonly string[]): Promise<void> {
    for (const node of nodes)
      if (this.isStopped) this.leaveAll(node);
      else await this.collect(node);
  }

  private async collect(node: string): Promise<void> {
    const { metadata } = await this.source.create("Pod", podFor(node));
    try {
      await this.untilRunning(metadata);
      for (const [file, command] of COMMANDS)
        if (this.isStopped) this.leaveStopped(node, file, command);
        else await this.run(node, metadata, file, command);
    } catch (error) {
      if (error instanceof KubeError || !(error instanceof Error)) throw error;
      this.leave(node, error.message);
    } finally {
      await this.source.delete("Pod", metadata);
    }
  }

  private leave(file: string, reason: string): void {
    this.left.push({ file, line: 1, reason });
  }

  private leaveStopped(node: string, file: string, command: readonly string[]): void {
    this.leave(`${node}/${file}`, WORDS.collectStopped({ command: command.join(" ") }));
  }

  /** A node that is not asked any more. */
  private leaveAll(node: string): void {
    for (const [file, command] of COMMANDS) this.leaveStopped(node, file, command);
  }

  /** Until the pod runs, or Ctrl-C. @throws Error where it does not run. */
  private async untilRunning(name: ObjectName): Promise<void> {
    const endMs = performance.now() + START_MS_MAX;
    let pod: Pod | undefined;
    while (performance.now() < endMs) {
      if (this.isStopped) return;
      pod = await this.source.get("Pod", name);
      if (pod.status?.phase === "Running") return;
      if (pod.status?.phase === "Failed") break;
      await Promise.race([pause(LOOK_MS, undefined, { ref: false }), this.stopped]);
    }
    throw new Error(
      `the pod ${name.namespace}/${name.name} does not run: ${pod?.status?.phase ?? "unknown"}`,
    );
  }

  private async run(node: string, pod: ObjectName, name: string, command: readonly string[]): Promise<void> {
    const file = `${node}/${name}`;
    try {
      // A command that hangs is not waited for: it ends with its pod.
      const text = await Promise.race([
        this.exec.run({ ...pod, container: CONTAINER }, command),
        this.stopped,
      ]);
      if (text === undefined) this.leaveStopped(node, name, command);
      else this.readings.push(new FileReading(new SourceText(file, text)));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.leave(file, `${command.join(" ")}: ${error.message}`);
    }
  }
}

export interface CollectRequest {
  readonly kubeconfig: string;
  /** Of these Windows nodes; undefined: of all. */
  readonly node: string | undefined;
  /** The user has read what is made. */
  readonly isAgreed: boolean;
}

async function windowsNodes(source: ApiServerSource, wanted: string | undefined): Promise<readonly string[]> {
  const { items } = await source.list("Node", { labelSelector: "kubernetes.io/os=windows" });
  const names = items.map(({ metadata }) => metadata.name);
  const found = wanted === undefined ? names : names.filter((name) => name === wanted);
  if (found.length > 0) return found;
  throw new Failure(
    "bad-usage",
    wanted === undefined ? "the cluster has no Windows node" : `the cluster has no Windows node ${wanted}`,
    `Its Windows nodes: ${names.join(", ") || "none"}.`,
  );
}

/** Prints what will be made, and does it when the user agrees. @throws Failure. */
export async function collectFromNodes(
  { kubeconfig, node, isAgreed }: CollectRequest,
  terminal: Terminal,
): Promise<CollectedFromNodes> {
  const source = await openApiServerSource({ kubeconfig }, "mullion");
  const stopped = terminal.untilInterrupted();
  try {
    const nodes = await windowsNodes(source, node);
    terminal.stderr(planOf(nodes));
    if (!isAgreed) throw new Failure("bad-usage", WORDS.collectNeedsYes, WORDS.adviceCollect);
    const collector = new NodeCollector(source, await PodExec.open({ kubeconfig }), stopped);
    await collector.collectAll(nodes);
    return collector;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw new Failure(error.code, error.message, WORDS.adviceCollect);
  } finally {
    await source.close();
  }
}
