/** Where flannel keeps what it has sent to a delegate, so that DEL can send the same (cni.md §3.3). */

/** Files of one folder by name. All reject with the system's words. */
export interface ScratchStore {
  /** Undefined when there is none of that name. */
  read(folder: string, name: string): Promise<string | undefined>;
  /** Writes through to the disk; makes the folder when it is missing. Readable for the owner alone. */
  write(folder: string, name: string, text: string): Promise<void>;
  /** What is not there is no failure. */
  remove(folder: string, name: string): Promise<void>;
  /** All names; none when the folder is missing. */
  list(folder: string): Promise<readonly string[]>;
}

export class MemoryScratchStore implements ScratchStore {
  private readonly texts: Map<string, string> = new Map();

  read(folder: string, name: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(`${folder}\0${name}`));
  }

  write(folder: string, name: string, text: string): Promise<void> {
    this.texts.set(`${folder}\0${name}`, text);
    return Promise.resolve();
  }

  remove(folder: string, name: string): Promise<void> {
    this.texts.delete(`${folder}\0${name}`);
    return Promise.resolve();
  }

  list(folder: string): Promise<readonly string[]> {
    const prefix = `${folder}\0`;
    const names = [...this.texts.keys()].filter((key) => key.startsWith(prefix));
    return Promise.resolve(names.map((key) => key.slice(prefix.length)).toSorted());
  }
}
