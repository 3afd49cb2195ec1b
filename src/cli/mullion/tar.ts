/**
 * What `tar -czf` makes, as the collectors of Rancher and RKE2 call it (POSIX.1-2017, pax, "ustar Interchange Format" and "pax
 * Extended Header"; long names as GNU tar writes them). Links and devices are named and not followed.
 */
import { gunzipSync } from "node:zlib";
import { errorCode } from "#core/base/thrown.ts";
import { LIMITS } from "#core/base/limits.ts";
import { type ArchiveEntry, type ListedFile, readEntries } from "./archive.ts";

const BLOCK_BYTES = 512;
const GZIP = [0x1f, 0x8b, 0x08] as const;
/** Where fields of a header begin and end. */
const FIELDS = {
  name: [0, 100],
  size: [124, 136],
  checksum: [148, 156],
  type: [156, 157],
  magic: [257, 262],
  prefix: [345, 500],
} as const;
const TYPE = { file: "0", oldFile: "", folder: "5", pax: "x", paxOfAll: "g", longName: "L" } as const;
const BLANK = 0x20;

export function isGzip(bytes: Uint8Array): boolean {
  return GZIP.every((byte, index) => bytes[index] === byte);
}

/** What is inside, or why it is not read. A bomb says nothing of its size: `bytesMax` are unpacked. */
export function gunzip(bytes: Uint8Array, bytesMax: number = LIMITS.archiveBytesMax): Uint8Array | string {
  try {
    const { buffer, byteOffset, byteLength } = gunzipSync(bytes, { maxOutputLength: bytesMax });
    return new Uint8Array(buffer, byteOffset, byteLength);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code === "ERR_BUFFER_TOO_LARGE"
      ? "it unpacks to more than is read: unpack it first"
      : "it is compressed with gzip, and cut or broken";
  }
}

class Header {
  private readonly block: Uint8Array;

  constructor(block: Uint8Array) {
    this.block = block;
  }

  private field(name: keyof typeof FIELDS): string {
    const [from, to] = FIELDS[name];
    const bytes = this.block.subarray(from, to);
    const end = bytes.indexOf(0);
    return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
  }

  /** Octal digits; undefined: none, or a number in another form. */
  private number(name: keyof typeof FIELDS): number | undefined {
    const digits = this.field(name).trim();
    return /^[0-7]{1,12}$/u.test(digits) ? Number.parseInt(digits, 8) : undefined;
  }

  /** The sum of all bytes, with blanks where it stands. */
  get isWhole(): boolean {
    const [from, to] = FIELDS.checksum;
    const sum = this.block.reduce((total, byte, at) => total + (at >= from && at < to ? BLANK : byte), 0);
    return (
      this.block.length === BLOCK_BYTES && this.field("magic") === "ustar" && this.number("checksum") === sum
    );
  }

  get type(): string {
    return this.field("type");
  }

  get size(): number | undefined {
    return this.number("size");
  }

  get name(): string {
    const prefix = this.field("prefix");
    return prefix === "" ? this.field("name") : `${prefix}/${this.field("name")}`;
  }
}

export function isTar(bytes: Uint8Array): boolean {
  return new Header(bytes.subarray(0, BLOCK_BYTES)).isWhole;
}

/** `path` of an extended header: lines such as `30 path=node/kube-proxy.log`, which begin with their length. */
function paxPath(content: Uint8Array): string | undefined {
  let path: string | undefined;
  for (let at = 0; at < content.length; ) {
    const [, digits = ""] =
      /^(\d{1,9}) /u.exec(new TextDecoder().decode(content.subarray(at, at + 10))) ?? [];
    const length = Number(digits);
    if (length <= digits.length) return path;
    const line = new TextDecoder().decode(content.subarray(at + digits.length + 1, at + length - 1));
    if (line.startsWith("path=")) path = line.slice("path=".length);
    at += length;
  }
  return path;
}

function withoutRoot(name: string): string {
  return name.replace(/^(?:\.\/)+/u, "");
}

/** Two blocks of zeros, or the end of the file, end an archive. */
function* listFiles(bytes: Uint8Array): Generator<ListedFile, boolean> {
  let longName: string | undefined;
  for (let at = 0; at < bytes.length; ) {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    if (block.every((byte) => byte === 0)) return true;
    const header = new Header(block);
    const { size, type } = header;
    if (!header.isWhole || size === undefined) return false;
    const content = bytes.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + size);
    const name = withoutRoot(longName ?? header.name);
    at += BLOCK_BYTES + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    if (type === TYPE.longName) longName = new TextDecoder().decode(content).split("\0", 1)[0];
    else if (type === TYPE.pax) longName = paxPath(content) ?? longName;
    else if (type !== TYPE.paxOfAll) {
      longName = undefined;
      if (type === TYPE.folder) continue;
      const isFile = type === TYPE.file || type === TYPE.oldFile;
      yield { name, unpack: (left) => fileOf(content, size, isFile, left) };
    }
  }
  return true;
}

function fileOf(content: Uint8Array, size: number, isFile: boolean, left: number): Uint8Array | string {
  if (!isFile) return "it is a link or a device";
  if (content.length < size) return "the archive ends within it";
  return size > left ? "the archive unpacks to more than is read" : content;
}

/** The files of an archive, in its order; folders are none. */
export function* readTar(bytes: Uint8Array): Generator<ArchiveEntry> {
  let isWhole = true;
  const files = listFiles(bytes);
  function* listed(): Generator<ListedFile> {
    isWhole = yield* files;
  }
  yield* readEntries(listed());
  if (!isWhole) yield { name: "", reason: "the archive is cut or broken from here on" };
}
