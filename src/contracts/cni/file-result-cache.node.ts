/**
 * A result cache on the disk, in the layout of the client library (cni.md §1.7, "Cache file"), so that runtimes which are
 * built on it and this one know each other's attachments: `<folder>/results/<network>-<container>-<interface>`.
 *
 * A file appears with all its content or not at all: it is written beside its place and renamed.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readPlainFile, replaceFile } from "#core/base/owner-only.node.ts";
import { type SealMarks, isSealBroken, seal } from "#core/base/seal.ts";
import { errorCode } from "#core/base/thrown.ts";
import { LIMITS } from "#core/base/limits.ts";
import { type PathRules, pathRulesOf } from "#core/base/path-rules.ts";
import { type StructReader, readStruct, formatJson, parseJson } from "./json.ts";
import { type JsonObject, isJsonObject, listOf } from "#core/base/json.ts";
import { CNI_CODES, CniError, describeError } from "./error.ts";
import { type AttachmentKey, type CachedAttachment, type ResultCache, keyText } from "./runtime.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

const KIND = "cniCacheV1";
/** The last field. The client library ignores fields that it does not know, and writes files without them. */
const SEAL: SealMarks = { before: ',"mullionChecksum":"', after: '"}' };
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** No attachment's file begins so: the names of networks begin with a letter or a digit. */
const DRAFT_PREFIX = ".";

export interface FileResultCacheOptions {
  readonly folder: string;
  /** Hears of files that are passed over when all are listed. */
  readonly warn: (text: string) => void;
  /** Default: the machine's. */
  readonly paths?: PathRules;
}

function ioFailure(action: string, path: string, error: unknown): CniError {
  const message = `cannot ${action} the result cache ${path}: ${describeError(error)}`;
  return new CniError(CNI_CODES.ioFailure, message, { cause: error });
}

function isMissing(error: unknown): boolean {
  return errorCode(error) === "ENOENT";
}

function formatAttachment(attachment: CachedAttachment): string {
  const { containerId, ifName, networkName, netns, args, capabilityArgs, listText, result } = attachment;
  const document = {
    kind: KIND,
    containerId,
    config: Buffer.from(listText).toString("base64"),
    ifName,
    networkName,
    ...(netns === "" ? {} : { netns }),
    ...(args.length === 0 ? {} : { cniArgs: args.map((pair) => [...pair]) }),
    ...(Object.keys(capabilityArgs).length === 0 ? {} : { capabilityArgs }),
    result,
  };
  return seal(formatJson(document, 0).slice(0, -1), SEAL);
}

function readPairs(reader: StructReader): CachedAttachment["args"] {
  return reader.list("cniArgs").map((pair) => {
    const [name, value] = listOf(pair);
    if (typeof name !== "string" || typeof value !== "string")
      throw new Error('"cniArgs" must be a list of pairs of texts');
    return [name, value] as const;
  });
}

function parseAttachment(text: string): CachedAttachment {
  if (isSealBroken(text, SEAL)) throw new Error(WORDS.cacheChecksumWrong);
  const document = parseJson(text);
  const reader = readStruct(document, "");
  const kind = reader.text("kind");
  if (kind !== KIND) throw new Error(`its kind is ${JSON.stringify(kind)}, not ${JSON.stringify(KIND)}`);
  const result: JsonObject | undefined = reader.object("result");
  if (result === undefined || !isJsonObject(document)) throw new Error("it has no result");
  return {
    networkName: reader.text("networkName"),
    containerId: reader.text("containerId"),
    ifName: reader.text("ifName"),
    netns: reader.text("netns"),
    args: readPairs(reader),
    capabilityArgs: reader.object("capabilityArgs") ?? {},
    listText: Buffer.from(reader.text("config"), "base64").toString("utf8"),
    result,
  };
}

/** Attachments as files. Rejects with `CniError`, code 5, that names the file. */
export class FileResultCache implements ResultCache {
  private readonly folder: string;
  private readonly warn: (text: string) => void;
  private readonly paths: PathRules;

  constructor(options: FileResultCacheOptions) {
    this.folder = join(options.folder, "results");
    this.warn = options.warn;
    this.paths = options.paths ?? pathRulesOf(process.platform);
  }

  async get(key: AttachmentKey): Promise<CachedAttachment | undefined> {
    const path = this.pathOf(key);
    const text = this.read(path);
    if (text === undefined) return undefined;
    try {
      return parseAttachment(text);
    } catch (error) {
      throw ioFailure("use", path, error);
    }
  }

  async put(attachment: CachedAttachment): Promise<void> {
    const path = this.pathOf(attachment);
    try {
      mkdirSync(this.folder, { recursive: true, mode: FOLDER_MODE });
      replaceFile(path, formatAttachment(attachment), FILE_MODE);
    } catch (error) {
      throw ioFailure("write", path, error);
    }
  }

  async delete(key: AttachmentKey): Promise<void> {
    const path = this.pathOf(key);
    try {
      rmSync(path, { force: true });
    } catch (error) {
      throw ioFailure("delete", path, error);
    }
  }

  /** What cannot be read is reported and passed over: one damaged file does not keep the others from being collected. */
  async list(): Promise<readonly CachedAttachment[]> {
    const attachments: CachedAttachment[] = [];
    for (const name of this.names()) {
      const path = join(this.folder, name);
      try {
        const text = this.read(path);
        if (text !== undefined) attachments.push(parseAttachment(text));
      } catch (error) {
        this.warn(`${path} is passed over: ${describeError(error)}`);
      }
    }
    return attachments;
  }

  private names(): readonly string[] {
    try {
      return readdirSync(this.folder)
        .filter((name) => !name.startsWith(DRAFT_PREFIX))
        .toSorted();
    } catch (error) {
      if (isMissing(error)) return [];
      throw ioFailure("read", this.folder, error);
    }
  }

  private read(path: string): string | undefined {
    try {
      const text = readPlainFile(path).toString("utf8");
      if (text.length > LIMITS.jsonBytesMax) throw new Error(`longer than ${LIMITS.jsonBytesMax} characters`);
      return text;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw ioFailure("read", path, error);
    }
  }

  private pathOf(key: AttachmentKey): string {
    const name = keyText(key);
    const fault = this.paths.fileNameFault(name);
    if (fault === undefined) return join(this.folder, name);
    const message = `the attachment ${JSON.stringify(name)} can have no file of that name: ${fault}`;
    throw new CniError(CNI_CODES.ioFailure, message);
  }
}
