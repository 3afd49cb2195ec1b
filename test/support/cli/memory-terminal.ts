/** A terminal in memory: what verbs print, and the files they read and write. */
import type { ByteSink, Terminal } from "#cli/mullion/terminal.ts";

export class MemoryTerminal implements Terminal {
  readonly columns: number;
  readonly isInteractive: boolean = false;
  readonly threads = 1;
  readonly files: Map<string, Uint8Array | string>;
  output = "";
  errors = "";

  /** `files` are there from the start. */
  constructor(files: Readonly<Record<string, string>> = {}, columns = 100) {
    this.columns = columns;
    this.files = new Map(Object.entries(files));
  }

  stdout(text: string): void {
    this.output += text;
  }
  stderr(text: string): void {
    this.errors += text;
  }
  status(text: string): void {
    this.errors += text;
  }
  bold(text: string): string {
    return text;
  }
  dim(text: string): string {
    return text;
  }
  red(text: string): string {
    return text;
  }
  green(text: string): string {
    return text;
  }
  yellow(text: string): string {
    return text;
  }
  async readFile(path: string): Promise<string> {
    const content = this.files.get(path);
    if (typeof content !== "string") throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    return Promise.resolve(content);
  }
  async readBytes(path: string): Promise<Uint8Array> {
    const content = this.files.get(path);
    if (content === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    return Promise.resolve(typeof content === "string" ? new TextEncoder().encode(content) : content);
  }
  async readChunks(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  async *readStream(path: string): AsyncGenerator<Uint8Array, void, undefined> {
    yield await this.readBytes(path);
  }
  async listFolder(path: string, isRecursive: boolean): Promise<readonly string[] | undefined> {
    const begin = path.endsWith("/") ? path : `${path}/`;
    const files = [...this.files.keys()].filter((file) => file.startsWith(begin));
    if (files.length === 0) return Promise.resolve(undefined);
    const shown = files.filter((file) => isRecursive || !file.slice(begin.length).includes("/"));
    return Promise.resolve(shown.toSorted());
  }
  async foldersIn(path: string): Promise<readonly string[]> {
    const begin = path.endsWith("/") ? path : `${path}/`;
    const below = [...this.files.keys()]
      .filter((file) => file.startsWith(begin))
      .map((file) => file.slice(begin.length));
    const names = below.flatMap((file) => (file.includes("/") ? [file.slice(0, file.indexOf("/"))] : []));
    return Promise.resolve([...new Set(names)].map((name) => begin + name).toSorted());
  }
  async writeFile(path: string, bytes: Uint8Array | string): Promise<void> {
    this.files.set(path, bytes);
    return Promise.resolve();
  }

  async openFile(path: string): Promise<ByteSink> {
    this.files.set(path, new Uint8Array(0));
    const write = async (bytes: Uint8Array): Promise<void> => {
      const before = this.files.get(path) as Uint8Array;
      return this.writeFile(path, Buffer.concat([before, bytes]));
    };
    return Promise.resolve({ write, close: async () => Promise.resolve() });
  }

  /** What `untilInterrupted` waits for; a test resolves it. */
  interrupt: () => void = () => undefined;

  untilInterrupted(): Promise<void> {
    return new Promise((resolve) => {
      this.interrupt = resolve;
    });
  }
}
