/** What azure-vnet asks of this machine beside HNS. */
import { readPlainFile, replaceFile } from "#core/base/owner-only.node.ts";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import type { Environment } from "#contracts/cni/plugin-input.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";
import type {
  AzureHost,
  AzureTimer,
  AzureHostInterface,
  HostShell,
  PendingReleases,
  TemporaryFiles,
} from "#programs/plugins/azure-vnet/host.ts";
import { SOCKET_TRANSPORT } from "#programs/plugins/cns/http-transport.node.ts";
import { inSystemWords } from "#programs/plugins/host-local/file-lease-store.node.ts";

/** Where CNS looks for releases that it has missed; on Windows it is on the drive of the process. */
const PENDING_FOLDER = "/var/run/azure-vnet/deleteIDs";
/** Overrides it. */
const PENDING_VARIABLE = "MULLION_AZURE_DELETE_IDS";
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o600;
/** As upstream has it. */
const PENDING_MODE = 0o644;
/** How long one program of Windows may take. */
const SHELL_TIMEOUT_MS = 60_000;

export function readInterfaces(): readonly AzureHostInterface[] {
  return Object.entries(networkInterfaces()).map(([name, entries = []]) => ({
    name,
    mac: (entries[0]?.mac ?? "").toUpperCase().replaceAll(":", "-"),
    addresses: entries.flatMap(({ cidr }) => parseInterfaceAddress(cidr ?? "") ?? []),
  }));
}

export function now(): string {
  return new Date().toISOString();
}

function startTimer(milliseconds: number): AzureTimer {
  let timer: NodeJS.Timeout | undefined;
  const done = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return { done, cancel: () => clearTimeout(timer) };
}

function execute(program: string, words: readonly string[]): Promise<string> {
  const options = { timeout: SHELL_TIMEOUT_MS, windowsHide: true };
  return new Promise((resolve, reject) => {
    execFile(program, [...words], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim() || error.message, { cause: error }));
    });
  });
}

const SHELL: HostShell = {
  powershell: (script) => execute("powershell", ["-NoProfile", "-NonInteractive", "-Command", script]),
  run: (line) => execute("cmd", ["/d", "/s", "/c", line]),
};

function pendingReleases(folder: string): PendingReleases {
  return {
    add: (containerId, podInterfaceId, createsFolder) =>
      inSystemWords(() => {
        if (createsFolder) mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
        replaceFile(join(folder, containerId), podInterfaceId, PENDING_MODE);
      }),
  };
}

/** Where `os.tmpdir` of a process with these variables would be. */
function temporaryFolder(env: Environment): string {
  if (process.platform === "win32") return tmpdir();
  return env["TMPDIR"] || env["TMP"] || env["TEMP"] || "/tmp";
}

function temporaryFiles(folder: string): TemporaryFiles {
  return {
    read: async (name) => {
      try {
        return readPlainFile(join(folder, name)).toString("utf8");
      } catch {
        return undefined;
      }
    },
    write: async (name, text) => {
      replaceFile(join(folder, name), text, FILE_MODE);
    },
  };
}

/** Whose variables and folder count. */
interface Caller {
  readonly env: Environment;
  readonly folder: string;
}

/** `state`: where both plugins' state is looked for. */
export function azureHost(state: string, { env, folder }: Caller): AzureHost {
  return {
    interfaces: readInterfaces,
    now,
    startTimer,
    http: SOCKET_TRANSPORT,
    shell: SHELL,
    pendingReleases: pendingReleases(resolvePath(folder, env[PENDING_VARIABLE] || PENDING_FOLDER)),
    temporaryFiles: temporaryFiles(resolvePath(folder, temporaryFolder(env))),
    forgetAddresses: async () => {
      if (existsSync(join(state, "azure-vnet.json"))) return;
      rmSync(join(state, "azure-vnet-ipam.json"), { force: true });
    },
  };
}
