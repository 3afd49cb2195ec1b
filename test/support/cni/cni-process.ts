/** A plugin's process made of texts, for tests. */
import { type CniPlugin, type CniProcess, type Platform, runPlugin } from "#contracts/cni/plugin.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

/** What one run left behind. */
export interface PluginRun {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly explained: KnowledgeCode | undefined;
}

/** What a run is given; `stdin` may be an object, which is printed as JSON. */
export interface PluginInput {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: unknown;
  readonly platform?: Platform;
}

/** The environment of an ordinary ADD; a test overrides what it is about. */
export const ORDINARY_ENV: Readonly<Record<string, string>> = {
  CNI_COMMAND: "ADD",
  CNI_CONTAINERID: "SBX",
  CNI_NETNS: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
  CNI_IFNAME: "eth0",
  CNI_PATH: "/opt/cni/bin",
};

/** Runs a plugin once with texts. */
export async function runWithTexts(plugin: CniPlugin, input: PluginInput): Promise<PluginRun> {
  const output = { stdout: "", stderr: "" };
  let explained: KnowledgeCode | undefined;
  const process: CniProcess = {
    env: { ...ORDINARY_ENV, ...input.env },
    platform: input.platform ?? "win32",
    readStdin: () =>
      Promise.resolve(typeof input.stdin === "string" ? input.stdin : JSON.stringify(input.stdin ?? {})),
    stdout: (text) => {
      output.stdout += text;
    },
    stderr: (text) => {
      output.stderr += text;
    },
    explain: (code) => {
      explained = code;
    },
  };
  const status = await runPlugin(plugin, process);
  return { ...output, status, explained };
}

/** The error object on stdout. */
export function errorOf(run: PluginRun): { code: number; msg: string; details?: string } {
  return JSON.parse(run.stdout) as { code: number; msg: string; details?: string };
}
