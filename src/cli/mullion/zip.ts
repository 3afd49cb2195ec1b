/**
 * Archives that collectors make (APPNOTE.TXT of PKWARE, §4.3): the files that the central directory names, stored or
 * deflated. Sizes are bounded before anything is unpacked, and a name that leaves the archive's folder is refused: what an
 * archive says of itself is not believed.
 */
import { crc32, inflateRawSync } from "node:zlib";
import { viewOf } from "#core/base/bytes.ts";
import { errorCode } from "#core/base/thrown.ts";
import { type ArchiveEntry, readEntries } from "./archive.ts";

const LOCAL = 0x04_03_4b_50;
const CENTRAL = 0x02_01_4b_50;
const END = 0x06_05_4b_50;
const END_BYTES = 22;
const CENTRAL_BYTES = 46;
const LOCAL_BYTES = 30;
const COMMENT_MAX = 0xff_ff;
/** The sign that a size stands in a ZIP64 record. */
const ELSEWHERE = 0xff_ff_ff_ff;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

export function isZip(bytes: Uint8Array): boolean {
  if (bytes.length < END_BYTES) return false;
  const sign = viewOf(bytes).getUint32(0, true);
  return sign === LOCAL || sign === END;
}

/** A row of the central directory. */
interface Row {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
}

class Archive {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  private sign(at: number): number {
    return at + 4 <= this.bytes.length ? this.view.getUint32(at, true) : 0;
  }

  /** Where the end record stands: behind it is a comment, and nothing else. */
  private findEnd(): number | undefined {
    const first = Math.max(0, this.bytes.length - END_BYTES - COMMENT_MAX);
    for (let at = this.bytes.length - END_BYTES; at >= first; at--)
      if (this.sign(at) === END && at + END_BYTES + this.view.getUint16(at + 20, true) === this.bytes.length)
        return at;
    return undefined;
  }

  /** The rows of the directory; undefined where it is broken. */
  rows(): readonly Row[] | undefined {
    const end = this.findEnd();
    if (end === undefined) return undefined;
    const rows: Row[] = [];
    const count = this.view.getUint16(end + 10, true);
    let at = this.view.getUint32(end + 16, true);
    for (let index = 0; index < count; index++) {
      if (at + CENTRAL_BYTES > end || this.sign(at) !== CENTRAL) return undefined;
      const length = this.view.getUint16(at + 28, true);
      const next =
        at + CENTRAL_BYTES + length + this.view.getUint16(at + 30, true) + this.view.getUint16(at + 32, true);
      if (next > end) return undefined;
      const name = this.bytes.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + length);
      rows.push({
        name: new TextDecoder().decode(name),
        flags: this.view.getUint16(at + 8, true),
        method: this.view.getUint16(at + 10, true),
        checksum: this.view.getUint32(at + 16, true),
        packed: this.view.getUint32(at + 20, true),
        size: this.view.getUint32(at + 24, true),
        offset: this.view.getUint32(at + 42, true),
      });
      at = next;
    }
    return rows;
  }

  /** The content of a file, or why there is none. `left`: how many bytes the archive may still give. */
  unpack({ flags, method, checksum, packed, size, offset }: Row, left: number): Uint8Array | string {
    if ((flags & ENCRYPTED) !== 0) return "it is encrypted";
    if ([packed, size, offset].includes(ELSEWHERE)) return "it is of a ZIP64 archive: unpack it first";
    if (size > left) return "the archive unpacks to more than is read";
    if (this.sign(offset) !== LOCAL) return "it is not where the archive says";
    const start =
      offset + LOCAL_BYTES + this.view.getUint16(offset + 26, true) + this.view.getUint16(offset + 28, true);
    const data = this.bytes.subarray(start, start + packed);
    if (data.length < packed) return "the archive ends within it";
    const content =
      method === STORED ? data : method === DEFLATED ? inflate(data, size) : "it is packed in another way";
    if (typeof content === "string") return content;
    if (content.length !== size || crc32(content) !== checksum) return "it is not what the archive says";
    return content;
  }
}

/** No byte more than was said: a bomb says little and gives much. */
function inflate(data: Uint8Array, size: number): Uint8Array | string {
  try {
    const { buffer, byteOffset, byteLength } = inflateRawSync(data, { maxOutputLength: Math.max(size, 1) });
    return new Uint8Array(buffer, byteOffset, byteLength);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code === "ERR_BUFFER_TOO_LARGE" ? "it unpacks to more than it says" : "it cannot be unpacked";
  }
}

/** The files of an archive, in its order; folders are none. */
export function* readZip(bytes: Uint8Array): Generator<ArchiveEntry> {
  const archive = new Archive(bytes);
  const rows = archive.rows();
  if (rows === undefined) {
    yield { name: "", reason: "the archive is cut or broken" };
    return;
  }
  const files = rows.filter(({ name }) => !name.endsWith("/"));
  yield* readEntries(files.map((row) => ({ name: row.name, unpack: (left) => archive.unpack(row, left) })));
}
