/** The files of one node that its network programs share: what flanneld writes, its plugin and the start scripts read. */
import type { TextFiles } from "../../plugins/host-local/plugin.ts";
import { MemorySubnetFiles } from "./memory-subnet-files.ts";

/** What the systems say of a file that is not there. */
const MISSING = {
  windows: "The system cannot find the path specified.",
  linux: "no such file or directory",
} as const;

export class NodeFiles extends MemorySubnetFiles implements TextFiles {
  private readonly os: keyof typeof MISSING;

  constructor(os: keyof typeof MISSING) {
    super();
    this.os = os;
  }

  readText(path: string): Promise<string> {
    const text = this.texts.get(path);
    if (text !== undefined) return Promise.resolve(text);
    return Promise.reject(new Error(`open ${path}: ${MISSING[this.os]}`));
  }
}
