/** What the plugin remembers of each attachment, so that DEL without a path and GC find the namespace again. */
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { readStruct, formatJson, parseJson } from "#contracts/cni/json.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import { type Guid, parseGuid } from "#contracts/hcn/guid.ts";
import type { ScratchStore } from "../flannel/scratch-files.ts";

/** A namespace of Linux, and the one of HNS that stands for it. */
export interface NetnsMapping {
  readonly path: string;
  readonly namespace: Guid;
}

export interface AttachmentName {
  readonly networkName: string;
  readonly containerId: string;
  readonly ifName: string;
}

/** A container's id has no `@`, so the first one parts it from the interface. */
const SEPARATOR = "@";

function fileNameOf({ containerId, ifName }: Pick<AttachmentName, "containerId" | "ifName">): string {
  return `${containerId}${SEPARATOR}${ifName}`;
}

/** A file that a crash has left empty says nothing, and is as good as none. */
function parseMapping(text: string): NetnsMapping | undefined {
  try {
    const reader = readStruct(parseJson(text), "");
    const namespace = parseGuid(reader.text("namespace"));
    const path = reader.text("path");
    return namespace === undefined || path === "" ? undefined : { path, namespace };
  } catch {
    return undefined;
  }
}

/** Attachments as files, a folder for each network. Rejects with `CniError`, code 5. */
export class Attachments {
  private readonly store: ScratchStore;
  private readonly folder: string;

  constructor(store: ScratchStore, folder: string) {
    this.store = store;
    this.folder = folder;
  }

  async find(attachment: AttachmentName): Promise<NetnsMapping | undefined> {
    const text = await this.io("read", () =>
      this.store.read(this.folderOf(attachment.networkName), fileNameOf(attachment)),
    );
    return text === undefined ? undefined : parseMapping(text);
  }

  async save(attachment: AttachmentName, { path, namespace }: NetnsMapping): Promise<void> {
    const text = formatJson({ path, namespace }, 0);
    await this.io("write", () =>
      this.store.write(this.folderOf(attachment.networkName), fileNameOf(attachment), text),
    );
  }

  async remove(attachment: AttachmentName): Promise<void> {
    await this.io("delete", () =>
      this.store.remove(this.folderOf(attachment.networkName), fileNameOf(attachment)),
    );
  }

  /** Those of the network that are not among `valid`. */
  async listStale(networkName: string, valid: readonly GcAttachment[]): Promise<readonly AttachmentName[]> {
    const kept = new Set(valid.map(fileNameOf));
    const stale: AttachmentName[] = [];
    for (const name of await this.io("read", () => this.store.list(this.folderOf(networkName)))) {
      const at = name.indexOf(SEPARATOR);
      if (at < 1 || kept.has(name)) continue;
      stale.push({ networkName, containerId: name.slice(0, at), ifName: name.slice(at + 1) });
    }
    return stale;
  }

  /** A folder for each network: its name may hold whatever separates the parts of a file's name. */
  private folderOf(networkName: string): string {
    return `${this.folder}/${networkName}`;
  }

  private async io<T>(action: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const message = `mullion-netns cannot ${action} its files in ${this.folder}: ${describeError(error)}`;
      throw new CniError(CNI_CODES.ioFailure, message, { cause: error });
    }
  }
}
