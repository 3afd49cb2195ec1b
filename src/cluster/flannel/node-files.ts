/** The files of one node that its network programs share: what flanneld writes, its plugin and the start scripts read. */
import type { SubnetFiles } from "#programs/flannel/node/subnet-file.ts";
import type { TextFiles } from "#programs/plugins/host-local/plugin.ts";

/** The files that flanneld of an emulated node writes. Plain data: a part of the world. */
export class MemorySubnetFiles implements SubnetFiles {
  readonly texts: Map<string, string> = new Map();
  /** Why nothing can be written; undefined: it can. */
  refusal: string | undefined;

  read(path: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(path));
  }

  write(path: string, text: string): Promise<void> {
    if (this.refusal !== undefined) return Promise.reject(new Error(this.refusal));
    this.texts.set(path, text);
    return Promise.resolve();
  }
}

/** What the systems say of a file that is not there. */
const MISSING = {
  windows: "The system cannot find the path specified.",
  linux: "no such file or directory",
} as const;

/** What one file is called, whichever way it is written: Windows knows no case, both slashes, and starts at its drive. */
function keyOf(path: string, os: keyof typeof MISSING): string {
  if (os === "linux") return path;
  return path
    .replace(/^[Cc]:/, "")
    .replaceAll("\\", "/")
    .toLowerCase();
}

export class NodeFiles extends MemorySubnetFiles implements TextFiles {
  private readonly os: keyof typeof MISSING;
  /** How each was called when it was first written, by its key. */
  private readonly paths = new Map<string, string>();

  /** `initial`: what lies there before anything starts, by path. */
  constructor(os: keyof typeof MISSING, initial: Readonly<Record<string, string>> = {}) {
    super();
    this.os = os;
    for (const [path, text] of Object.entries(initial)) {
      this.paths.set(keyOf(path, os), path);
      this.texts.set(keyOf(path, os), text);
    }
  }

  override read(path: string): Promise<string | undefined> {
    return super.read(keyOf(path, this.os));
  }

  override write(path: string, text: string): Promise<void> {
    const key = keyOf(path, this.os);
    if (!this.paths.has(key)) this.paths.set(key, path);
    return super.write(key, text);
  }

  has(path: string): boolean {
    return this.texts.has(keyOf(path, this.os));
  }

  remove(path: string): void {
    this.texts.delete(keyOf(path, this.os));
  }

  /** All files, as they were called when they were first written, in that order. */
  list(): readonly { readonly path: string; readonly text: string }[] {
    return [...this.texts].map(([key, text]) => ({ path: this.paths.get(key) ?? key, text }));
  }

  async readText(path: string): Promise<string> {
    const text = await this.read(path);
    if (text === undefined) throw new Error(`open ${path}: ${MISSING[this.os]}`);
    return text;
  }
}
