/**
 * Leases as files, in the layout of upstream (cni.md §4.3), so that both can share a folder:
 * `<dataDir>/<network>/<address>` holds `<container ID>\r\n<interface>`, `last_reserved_ip.<set>` an address.
 *
 * A lease appears with its content, never empty: the content is written to a file of its own, which is then
 * linked to the address. Linking fails when the address is taken, by whatever process.
 */
import {
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
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
const DRAFT_PREFIX = ".reservation.";

/** `mkdir /x: permission denied`, as Go puts what Node calls `EACCES: permission denied, mkdir '/x'`. */
export function describeSystemError(error: unknown): string {
  const message = messageOf(error);
  const match = /^[A-Z0-9]+: (.*?), (\w+)(?: '(.*?)')?/.exec(message);
  if (match === null) return message;
  const [, text = "", call = "", path = ""] = match;
  return `${call}${path === "" ? "" : ` ${path}`}: ${text}`;
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
    if (!this.createLease(this.pathOf(formatIp(ip)), content)) return false;
    const draft = this.draftPath();
    writeFileSync(draft, formatIp(ip), { mode: FILE_MODE });
    renameSync(draft, this.pathOf(`last_reserved_ip.${rangeIndex}`));
    return true;
  }

  lastReserved(rangeIndex: number): Ip | undefined {
    try {
      return parseIp(readFileSync(this.pathOf(`last_reserved_ip.${rangeIndex}`), "utf8"));
    } catch {
      return undefined;
    }
  }

  list(): readonly Lease[] {
    const leases: Lease[] = [];
    for (const name of readdirSync(this.folder).toSorted()) {
      // Under the lock no other process is drafting: what is there was left by a process that died.
      if (name.startsWith(DRAFT_PREFIX)) unlinkSync(join(this.folder, name));
      // Windows allows no colon in a file name, and no address has an underscore.
      const ip = parseIp(this.paths.name === "windows" ? name.replaceAll("_", ":") : name);
      const content = ip === undefined ? undefined : this.readLease(name);
      if (ip === undefined || content === undefined) continue;
      const [containerId = "", ifName] = content.split(LINE_BREAK, 2);
      leases.push({ ip, containerId, ifName });
    }
    return leases;
  }

  release(ip: Ip): void {
    try {
      unlinkSync(this.pathOf(formatIp(ip)));
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
  }

  /** Undefined when it vanished. */
  private readLease(name: string): string | undefined {
    try {
      return readFileSync(join(this.folder, name), "utf8").trim();
    } catch (error) {
      return errorCode(error) === "ENOENT" ? undefined : "";
    }
  }

  private pathOf(name: string): string {
    return join(this.folder, this.paths.fileNameOf(name));
  }

  /** One process holds the lock, so its id is enough to distinguish drafts. */
  private draftPath(): string {
    return join(this.folder, `${DRAFT_PREFIX}${process.pid}`);
  }

  /** @returns false when the address is taken. */
  private createLease(path: string, content: string): boolean {
    const draft = this.draftPath();
    writeFileSync(draft, content, { mode: FILE_MODE });
    try {
      linkSync(draft, path);
      return true;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      return this.createWithoutLink(path, content);
    } finally {
      unlinkSync(draft);
    }
  }

  /** For file systems without links, as upstream does it: a crash in between leaves an empty file. */
  private createWithoutLink(path: string, content: string): boolean {
    try {
      writeFileSync(path, content, { flag: "wx", mode: FILE_MODE });
      return true;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    }
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

  withLeases<T>(network: LeaseNetwork, access: LeaseAccess, work: (leases: Leases) => T): Promise<T> {
    return Promise.resolve().then(() => this.run(network, access, work));
  }

  private run<T>(network: LeaseNetwork, access: LeaseAccess, work: (leases: Leases) => T): T {
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
      return withLeaseLock(folder, this.options, () => work(leases));
    } catch (error) {
      // Errors of the system carry the failed call; others are those of `work`.
      if (!(error instanceof Error) || !("syscall" in error)) throw error;
      throw new LeaseStoreError("failed", describeSystemError(error), { cause: error });
    }
  }
}

function isFolder(path: string): boolean {
  try {
    readdirSync(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
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
