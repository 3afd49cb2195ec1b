/** The files that flanneld of an emulated node writes. */
import type { SubnetFiles } from "../../flannel/subnet-file.ts";

/** Plain data: a part of the world. */
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
