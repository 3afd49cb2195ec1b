/** A node for tests of the flannel meta plugin: files in memory, delegates that are told what to do or are real ones. */
import type { Compat } from "#core/base/compat.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin, Platform } from "#contracts/cni/plugin.ts";
import type { JsonObject } from "#core/base/json.ts";
import { Flannel } from "#programs/plugins/flannel/plugin.ts";
import { MemoryScratchStore } from "#programs/plugins/flannel/scratch-files.ts";
import { type PluginRun, runWithTexts } from "./cni-process.ts";
import { ScriptedPlugin } from "./scripted-plugin.ts";
import { NAMESPACE } from "./windows-plugin-node.ts";

export const SUBNET_FILE = "/run/flannel/subnet.env";
export const DATA_FOLDER = "/var/lib/cni/flannel";

/** The file of the worked examples (cni.md §7.C), with other lines in place of its own. */
export function subnetEnv(lines: Readonly<Record<string, string | undefined>> = {}): string {
  const all: Record<string, string | undefined> = {
    FLANNEL_NETWORK: "10.244.0.0/16",
    FLANNEL_SUBNET: "10.244.3.1/24",
    FLANNEL_MTU: "1500",
    FLANNEL_IPMASQ: "true",
    ...lines,
  };
  return Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}

export interface FlannelNode {
  readonly files: Map<string, string>;
  readonly scratch: MemoryScratchStore;
  /** Answers to every type that is no real plugin. */
  readonly delegate: ScriptedPlugin;
  run(verb: string, stdin: unknown, env?: Readonly<Record<string, string>>): Promise<PluginRun>;
  /** What the delegate was sent last. */
  sent(): JsonObject;
}

export function flannelNode(
  compat: Compat = "upstream",
  options: { readonly platform?: Platform; readonly delegates?: readonly CniPlugin[] } = {},
): FlannelNode {
  const { platform = "win32", delegates = [] } = options;
  const files = new Map([[SUBNET_FILE, subnetEnv()]]);
  const scratch = new MemoryScratchStore();
  const delegate = new ScriptedPlugin("delegate", compat);
  const types = ["win-bridge", "win-overlay", "sdnbridge", "sdnoverlay", "bridge"];
  const plugins = new Map<string, CniPlugin>(types.map((type) => [type, delegate]));
  for (const plugin of delegates) plugins.set(plugin.name, plugin);
  const plugin = new Flannel({
    delegate: new RunnerDelegate(new InProcessRunner(plugins, platform)),
    files: {
      readText: async (path) => {
        const text = files.get(path);
        if (text === undefined) throw new Error(`open ${path}: The system cannot find the path specified.`);
        return text;
      },
    },
    scratch,
    compat,
  });
  return {
    files,
    scratch,
    delegate,
    run: (verb, stdin, env = {}) =>
      runWithTexts(plugin, { env: { CNI_COMMAND: verb, CNI_NETNS: NAMESPACE, ...env }, stdin, platform }),
    sent: () => delegate.requests.at(-1)?.configuration ?? {},
  };
}
