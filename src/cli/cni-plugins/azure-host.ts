/** What azure-vnet asks of this machine beside HNS. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { Compat } from "#core/base/compat.ts";
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
import { describeSystemError } from "#programs/plugins/host-local/file-lease-store.node.ts";

/** Where CNS looks for releases that it has missed; on Windows it is on the drive of the process. */
const PENDING_FOLDER = "/var/run/azure-vnet/deleteIDs";
/** Overrides it. */
const PENDING_VARIABLE = "MULLION_AZURE_DELETE_IDS";
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o600;
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

const PENDING_RELEASES: PendingReleases = {
  add: async (containerId, podInterfaceId, createsFolder) => {
    const folder = process.env[PENDING_VARIABLE] || PENDING_FOLDER;
    try {
      if (createsFolder) mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
      writeFileSync(join(folder, containerId), podInterfaceId, { flush: true });
    } catch (error) {
      throw new Error(describeSystemError(error), { cause: error });
    }
  },
};

const TEMPORARY_FILES: TemporaryFiles = {
  read: async (name) => {
    try {
      return readFileSync(join(tmpdir(), name), "utf8");
    } catch {
      return undefined;
    }
  },
  write: async (name, text) => {
    const path = join(tmpdir(), name);
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, text, { mode: FILE_MODE, flag: "wx" });
    renameSync(draft, path);
  },
};

/** `folder`: where both plugins keep their state. Upstream looks in one place, wherever it keeps it. */
export function azureHost(folder: string, compat: Compat): AzureHost {
  const place = compat === "upstream" && process.platform === "win32" ? "C:\\k" : folder;
  return {
    interfaces: readInterfaces,
    now,
    startTimer,
    http: SOCKET_TRANSPORT,
    shell: SHELL,
    pendingReleases: PENDING_RELEASES,
    temporaryFiles: TEMPORARY_FILES,
    forgetAddresses: async () => {
      if (existsSync(join(place, "azure-vnet.json"))) return;
      rmSync(join(place, "azure-vnet-ipam.json"), { force: true });
    },
  };
}
