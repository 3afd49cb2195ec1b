/** The files of one node that its network programs share: what flanneld writes, its plugin and the start scripts read. */
import type { TextFiles } from "../../plugins/host-local/plugin.ts";
import { MemorySubnetFiles } from "./memory-subnet-files.ts";

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

  /** `initial`: what lies there before anything starts, by path. */
  constructor(os: keyof typeof MISSING, initial: Readonly<Record<string, string>> = {}) {
    super();
    this.os = os;
    for (const [path, text] of Object.entries(initial)) this.texts.set(keyOf(path, os), text);
  }

  override read(path: string): Promise<string | undefined> {
    return super.read(keyOf(path, this.os));
  }

  override write(path: string, text: string): Promise<void> {
    return super.write(keyOf(path, this.os), text);
  }

  async readText(path: string): Promise<string> {
    const text = await this.read(path);
    if (text === undefined) throw new Error(`open ${path}: ${MISSING[this.os]}`);
    return text;
  }
}
