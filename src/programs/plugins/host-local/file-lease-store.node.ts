/**
 * Leases as files, in the layout of upstream (cni.md §4.3), so that both can share a folder:
 * `<dataDir>/<network>/<address>` holds `<container ID>\r\n<interface>`, `last_reserved_ip.<set>` an address.
 *
 * A lease appears with its content, never empty, and not when the address is taken, by whatever process. On file systems
 * without links a crash can leave an empty file, as upstream does.
 */
import { mkdirSync, readdirSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { createFile, readPlainFile, removeDrafts, replaceFile } from "#core/base/owner-only.node.ts";
import { errorCode, messageOf } from "#core/base/thrown.ts";
import type { PathRules } from "#core/base/path-rules.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { type LeaseLockOptions, withLeaseLock } from "./lease-lock.node.ts";
import {
  type Lease,
  type LeaseAccess,
  type LeaseNetwork,
  type LeaseOwner,
  type LeaseStore,
  LeaseStoreError,
  type Leases,
  NO_LEASES,
} from "./leases.ts";

const LINE_BREAK = "\r\n";
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o600;
/** What the specification allows as container ID and, but in old records, interface (cni.md §1.3). */
const RECORD = /^[A-Za-z0-9][\w.-]*(?:\r\n[^/:\s]{1,15})?$/;

/** `mkdir /x: permission denied`, as Go puts what Node calls `EACCES: permission denied, mkdir '/x'`. */
export function describeSystemError(error: unknown): string {
  const message = messageOf(error);
  const match = /^[A-Z0-9]+: (.*?), (\w+)(?: '(.*?)')?/.exec(message);
  if (match === null) return message;
  const [, text = "", call = "", path = ""] = match;
  return `${call}${path === "" ? "" : ` ${path}`}: ${text}`;
}

/** What `work` gives; a failure is said in the system's words. */
export async function inSystemWords<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (error) {
    throw new Error(describeSystemError(error), { cause: error });
  }
}

/** The text of a file, in the system's words when it cannot be read; undefined when there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return inSystemWords(() => whenThere(() => readPlainFile(path).toString("utf8")));
}

/** What `work` gives; undefined when what it looks for is not there. */
export function whenThere<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

class FileLeases implements Leases {
  private readonly folder: string;
  private readonly paths: PathRules;

  constructor(folder: string, paths: PathRules) {
    this.folder = folder;
    this.paths = paths;
  }

  reserve(ip: Ip, owner: LeaseOwner, rangeIndex: number): boolean {
    const content = `${owner.containerId.trim()}${LINE_BREAK}${owner.ifName}`;
    if (!createFile(this.pathOf(formatIp(ip)), content, FILE_MODE)) return false;
    replaceFile(this.pathOf(`last_reserved_ip.${rangeIndex}`), formatIp(ip), FILE_MODE);
    return true;
  }

  lastReserved(rangeIndex: number): Ip | undefined {
    try {
      return parseIp(readPlainFile(this.pathOf(`last_reserved_ip.${rangeIndex}`)).toString("utf8"));
    } catch {
      return undefined;
    }
  }

  list(): readonly Lease[] {
    const leases: Lease[] = [];
    removeDrafts(this.folder);
    for (const name of readdirSync(this.folder).toSorted()) {
      // Windows allows no colon in a file name, and no address has an underscore.
      const ip = parseIp(this.paths.name === "windows" ? name.replaceAll("_", ":") : name);
      const record = ip === undefined ? undefined : this.readLease(name);
      if (ip !== undefined && record !== undefined) leases.push({ ip, ...record });
    }
    return leases;
  }

  release(ip: Ip): void {
    whenThere(() => unlinkSync(this.pathOf(formatIp(ip))));
  }

  /** Undefined when it vanished. */
  private readLease(name: string): Omit<Lease, "ip"> | undefined {
    const path = join(this.folder, name);
    try {
      const content = readPlainFile(path).toString("utf8").trim();
      const [containerId = "", ifName] = content.split(LINE_BREAK, 2);
      if (content === "" || RECORD.test(content)) return { containerId, ifName };
      return { containerId, ifName, damage: `${path} holds no container and interface` };
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      const damage = `${path} cannot be read: ${describeSystemError(error)}`;
      return { containerId: "", ifName: undefined, damage };
    }
  }

  private pathOf(name: string): string {
    return join(this.folder, this.paths.fileNameOf(name));
  }
}

export interface FileLeaseStoreOptions extends LeaseLockOptions {
  /** Decide what a lease's file is called, and which networks can have a folder. */
  readonly paths: PathRules;
}

/** Leases in folders of this machine. */
export class FileLeaseStore implements LeaseStore {
  private readonly options: FileLeaseStoreOptions;

  constructor(options: FileLeaseStoreOptions) {
    this.options = options;
  }

  async withLeases<T>(network: LeaseNetwork, access: LeaseAccess, work: (leases: Leases) => T): Promise<T> {
    const { paths } = this.options;
    const fault = paths.fileNameFault(network.name);
    if (fault !== undefined) {
      const name = JSON.stringify(network.name);
      throw new LeaseStoreError("failed", `the network ${name} can have no folder of that name: ${fault}`);
    }
    const folder = join(network.dataDir, network.name);
    const leases = new FileLeases(folder, paths);
    try {
      if (access === "create") makeFolder(folder);
      else if (!isFolder(folder)) return work(NO_LEASES);
      return await withLeaseLock(folder, this.options, () => work(leases));
    } catch (error) {
      // Errors of the system carry the failed call; others are those of `work`.
      if (!(error instanceof Error) || !("syscall" in error)) throw error;
      throw new LeaseStoreError("failed", describeSystemError(error), { cause: error });
    }
  }
}

function isFolder(path: string): boolean {
  return whenThere(() => readdirSync(path)) !== undefined;
}

/** Makes a folder and those above it. Node's own recursion never ends where a file system refuses new folders. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    if (errorCode(error) !== "ENOENT" || isFolder(dirname(path))) throw error;
    makeFolder(dirname(path));
    makeFolder(path);
  }
}
