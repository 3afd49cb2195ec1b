/**
 * Network namespaces of our own. One without a name lasts as long as a descriptor, a device or a process holds it, so the
 * kernel takes it away whatever happens to us. A name is a mount in `/run/netns`, where `ip netns` looks; it outlives us
 * and has to be taken away.
 */
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { InterfaceSettings } from "./interface-settings.node.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";

const NEW_NETWORK = 0x4000_0000;
const BIND = 0x1000;
const RECURSIVE = 0x4000;
const SHARED = 0x10_0000;
const DETACH = 2;
/** O_CREAT and O_EXCL. */
const NEW_FILE = 0o300;
const OWN_FILE = 0o600;
/** Where names of namespaces are. */
export const NAMESPACES = "/run/netns";
/** Of the thread that reads it. */
const HERE = "/proc/thread-self/ns/net";

/** Lets others see what is mounted in the folder of names, as `ip netns add` does. */
function shareNames(calls: SystemCalls): void {
  mkdirSync(NAMESPACES, { recursive: true });
  const share = (): number =>
    calls.call("mount", NAMESPACES, "", NAMESPACES, "none", SHARED | RECURSIVE, null);
  try {
    share();
  } catch (error) {
    if (!(error instanceof SystemCallError) || error.code !== "EINVAL") throw error;
    calls.call("mount", NAMESPACES, NAMESPACES, NAMESPACES, "none", BIND | RECURSIVE, null);
    share();
  }
}

export class NetworkNamespace {
  /** Of the namespace itself: who opens it has it. */
  readonly fd: number;
  private readonly calls: SystemCalls;
  private named: string | undefined;

  private constructor(calls: SystemCalls, fd: number) {
    this.calls = calls;
    this.fd = fd;
  }

  /**
   * Makes a namespace, and calls `build` in it. Then this thread is back where it was; where it may not go back (in a user
   * namespace, to the network of the machine) it stays in the new one.
   */
  static make<T>(
    calls: SystemCalls,
    build: () => T,
  ): { readonly namespace: NetworkNamespace; readonly built: T } {
    const before = openSync(HERE, "r");
    let own: number | undefined;
    try {
      calls.call("unshare", "the network", NEW_NETWORK);
      own = openSync(HERE, "r");
      const built = build();
      return { namespace: new NetworkNamespace(calls, own), built };
    } catch (error) {
      if (own !== undefined) closeSync(own);
      throw error;
    } finally {
      goBack(calls, before);
      closeSync(before);
    }
  }

  /** As `ip netns` calls it; undefined: it has no name, or the name was deleted since, and may be another's now. */
  get name(): string | undefined {
    if (this.named === undefined) return undefined;
    const there = statSync(join(NAMESPACES, this.named), { throwIfNoEntry: false });
    const own = fstatSync(this.fd);
    return there?.ino === own.ino && there.dev === own.dev ? this.named : undefined;
  }

  /** Gives it a name, which lasts until `close`. @throws SystemCallError EEXIST when another has the name. */
  setName(name: string): void {
    shareNames(this.calls);
    const path = join(NAMESPACES, name);
    const place = this.calls.call("open", path, path, NEW_FILE, OWN_FILE);
    closeSync(place);
    try {
      this.calls.call("mount", path, `/proc/self/fd/${this.fd}`, path, "none", BIND, null);
    } catch (error) {
      rmSync(path);
      throw error;
    }
    this.named = name;
  }

  /** Lets go of it. What runs in it keeps it. */
  close(): void {
    const { name } = this;
    if (name !== undefined) removeName(this.calls, name);
    this.named = undefined;
    closeSync(this.fd);
  }
}

function goBack(calls: SystemCalls, before: number): void {
  try {
    calls.call("setns", "the network", before, NEW_NETWORK);
  } catch (error) {
    if (!(error instanceof SystemCallError) || error.code !== "EPERM") throw error;
  }
}

function removeName(calls: SystemCalls, name: string): void {
  const path = join(NAMESPACES, name);
  try {
    calls.call("umount2", path, path, DETACH);
  } catch (error) {
    // EINVAL: nothing is mounted there; ENOENT: somebody was faster.
    if (!(error instanceof SystemCallError) || !["EINVAL", "ENOENT"].includes(error.code)) throw error;
  }
  rmSync(path, { force: true });
}

/**
 * Takes away a name that a process left which was killed. A namespace in which the interface `device` is there is somebody's:
 * a TAP is gone when its process is.
 * @returns whether the name is free now.
 */
export function removeLeftName(calls: SystemCalls, name: string, device: string): boolean {
  const path = join(NAMESPACES, name);
  if (!existsSync(path)) return true;
  if (isInUse(calls, path, device)) return false;
  removeName(calls, name);
  return true;
}

/**
 * Calls `build` in the namespace that the file at `path` is; then this thread is back where it was.
 * @throws SystemCallError EINVAL for a file that is no namespace.
 */
export function inNamespace<T>(calls: SystemCalls, path: string, build: () => T): T {
  // The file may be gone by now: nothing else is open then.
  const there = openSync(path, "r");
  const before = openSync(HERE, "r");
  try {
    calls.call("setns", path, there, NEW_NETWORK);
    return build();
  } finally {
    goBack(calls, before);
    closeSync(there);
    closeSync(before);
  }
}

function isInUse(calls: SystemCalls, path: string, device: string): boolean {
  try {
    return inNamespace(calls, path, () => {
      const settings = new InterfaceSettings(calls);
      try {
        return settings.has(device);
      } finally {
        settings.close();
      }
    });
  } catch (error) {
    // EINVAL: a file that is no namespace, left between its two steps.
    if (error instanceof SystemCallError && error.code === "EINVAL") return false;
    throw error;
  }
}
