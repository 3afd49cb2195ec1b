/** What flannel has sent to delegates, kept so that DEL can send the same, and which file belongs to which attachment (cni.md §3.3). */
import type { FlannelDifferences } from "./differences.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { StructReader, parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, isJsonObject } from "#core/base/json.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { sandboxIdOf } from "../windows-endpoint/plugin-call.ts";
import type { FlannelConfiguration } from "./conf.ts";

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

/** A file that was found. */
export interface ScratchFile {
  readonly name: string;
  readonly text: string;
  /** Undefined when the text is no JSON object. */
  readonly document: JsonObject | undefined;
}

function parseDocument(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Published, the file is named after the sandbox alone, so that two networks or interfaces of one sandbox overwrite each
 * other's (cni.md §3.3). Mended, both are in the name, and what the published plugin has left is still found.
 */
export class ScratchFiles {
  private readonly store: ScratchStore;
  private readonly namesAttachments: boolean;

  constructor(store: ScratchStore, { namesAttachments }: FlannelDifferences) {
    this.store = store;
    this.namesAttachments = namesAttachments;
  }

  async save(request: PluginRequest, configuration: FlannelConfiguration, text: string): Promise<void> {
    await this.store.write(configuration.dataFolder, this.nameOf(request, configuration), text);
  }

  /** Undefined when there is none. */
  async find(request: PluginRequest, configuration: FlannelConfiguration): Promise<ScratchFile | undefined> {
    const own = await this.read(configuration, this.nameOf(request, configuration));
    if (own !== undefined || !this.namesAttachments) return own;
    const old = await this.read(configuration, sandboxOf(request));
    const network = old?.document === undefined ? "" : new StructReader(old.document).text("name");
    return network === configuration.name ? old : undefined;
  }

  async remove(configuration: FlannelConfiguration, file: ScratchFile): Promise<void> {
    await this.store.remove(configuration.dataFolder, file.name);
  }

  /** Removes the files of attachments to this network that are not valid any more. */
  async collectGarbage(configuration: FlannelConfiguration, valid: readonly GcAttachment[]): Promise<void> {
    const { dataFolder, name } = configuration;
    const kept = new Set(valid.map(({ containerId, ifName }) => attachmentName(containerId, name, ifName)));
    for (const each of await this.store.list(dataFolder)) {
      if (each.includes(`_${name}_`) && !kept.has(each)) await this.store.remove(dataFolder, each);
    }
  }

  private async read({ dataFolder }: FlannelConfiguration, name: string): Promise<ScratchFile | undefined> {
    const text = await this.store.read(dataFolder, name);
    return text === undefined ? undefined : { name, text, document: parseDocument(text) };
  }

  private nameOf(request: PluginRequest, { name }: FlannelConfiguration): string {
    const sandbox = sandboxOf(request);
    return this.namesAttachments ? attachmentName(sandbox, name, request.ifName) : sandbox;
  }
}

function attachmentName(sandbox: string, network: string, ifName: string): string {
  return `${sandbox}_${network}_${ifName}`;
}

/** On Linux every container is its own sandbox. */
function sandboxOf({ containerId, netns, platform }: PluginRequest): string {
  return platform === "win32" ? sandboxIdOf(containerId, netns) : containerId;
}
