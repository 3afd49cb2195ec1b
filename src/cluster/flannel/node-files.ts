/** The files of one node that flanneld and its plugin share: its disk, as far as somebody reads it. */
import type { SubnetFiles } from "../../flannel/subnet-file.ts";
import type { TextFiles } from "../../plugins/host-local/plugin.ts";

export class NodeFiles implements SubnetFiles, TextFiles {
  private readonly texts = new Map<string, string>();
  /** What the system says of a file that is not there. */
  private readonly missing: string;

  constructor(os: "windows" | "linux") {
    this.missing =
      os === "windows" ? "The system cannot find the path specified." : "no such file or directory";
  }

  read(path: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(path));
  }

  readText(path: string): Promise<string> {
    const text = this.texts.get(path);
    if (text !== undefined) return Promise.resolve(text);
    return Promise.reject(new Error(`open ${path}: ${this.missing}`));
  }

  write(path: string, text: string): Promise<void> {
    this.texts.set(path, text);
    return Promise.resolve();
  }

  remove(path: string): void {
    this.texts.delete(path);
  }
}
