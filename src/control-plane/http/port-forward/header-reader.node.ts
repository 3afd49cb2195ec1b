/** Header blocks of SPDY/3: names and values, compressed as one text over the whole connection (SPDY Protocol draft 3, §2.6.10). */
import { type Inflate, constants, createInflate } from "node:zlib";
import { SpdyError } from "./spdy-frames.ts";

/** Of one block, as it is before compression. */
const BLOCK_BYTES_MAX = 65_536;
const HEADERS_MAX = 64;

/** SPDY Protocol draft 3, §2.6.10.1: words with their lengths in front, and a text. */
const WORDS: readonly string[] = [
  "options head post put delete trace accept accept-charset accept-encoding",
  "accept-language accept-ranges age allow authorization cache-control connection content-base",
  "content-encoding content-language content-length content-location content-md5 content-range",
  "content-type date etag expect expires from host if-match if-modified-since",
  "if-none-match if-range if-unmodified-since last-modified location max-forwards pragma",
  "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding",
  "upgrade user-agent vary via warning www-authenticate method get status",
  "200_OK version HTTP/1.1 url public set-cookie keep-alive origin",
];
const TEXT: readonly string[] = [
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
  "203 Non-Authoritative Information204 No Content301 Moved Permanently",
  "400 Bad Request401 Unauthorized403 Forbidden404 Not Found",
  "500 Internal Server Error501 Not Implemented",
  "503 Service UnavailableJan Feb Mar Apr May ",
  "Jun Jul Aug Sept Oct Nov Dec 00:00:00 ",
  "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT",
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,",
  "application/xhtml+xml,text/plain,text/javascript,",
  "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
];

function withLength(word: string): Buffer {
  const bytes = Buffer.alloc(4 + word.length, word.replace("_", " ").padStart(4 + word.length), "latin1");
  bytes.writeUInt32BE(word.length);
  return bytes;
}

/** Both ends begin with it. */
export function headerDictionary(): Buffer {
  return Buffer.concat([...WORDS.join(" ").split(" ").map(withLength), Buffer.from(TEXT.join(""), "latin1")]);
}

/** The names, in small letters, and their values. @throws SpdyError */
function readHeaders(block: Buffer): ReadonlyMap<string, string> {
  let at = 0;
  const number = (): number => {
    if (at + 4 > block.length) throw new SpdyError("a header block is cut off");
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (at + length > block.length) throw new SpdyError("a header block is cut off");
    at += length;
    return block.toString("latin1", at - length, at);
  };
  const count = number();
  if (count > HEADERS_MAX)
    throw new SpdyError(`a header block has ${count} names; the most is ${HEADERS_MAX}`);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const name = text().toLowerCase();
    headers.set(name, text());
  }
  return headers;
}

/** Reads the header blocks of one connection, one after the other. */
export class HeaderReader {
  private readonly inflate: Inflate = createInflate({
    dictionary: headerDictionary(),
    finishFlush: constants.Z_SYNC_FLUSH,
    flush: constants.Z_SYNC_FLUSH,
  });
  private parts: Buffer[] = [];
  private partsBytes = 0;
  private failure: Error | undefined;

  constructor() {
    this.inflate.on("error", (error) => (this.failure ??= error));
    this.inflate.on("data", (part: Buffer) => {
      this.partsBytes += part.length;
      if (this.partsBytes <= BLOCK_BYTES_MAX) {
        this.parts.push(part);
        return;
      }
      // A few bytes can stand for many megabytes.
      this.failure ??= new SpdyError("a header block is too long");
      this.inflate.destroy();
    });
  }

  /** @throws SpdyError for what is no block, after which no other can be read. */
  async read(block: Uint8Array): Promise<ReadonlyMap<string, string>> {
    if (this.failure === undefined)
      await new Promise<void>((resolve) => {
        this.inflate.once("close", resolve);
        this.inflate.write(block, () => {
          this.inflate.off("close", resolve);
          resolve();
        });
      });
    if (this.failure !== undefined)
      throw this.failure instanceof SpdyError
        ? this.failure
        : new SpdyError("a header block is not compressed as it should be");
    const whole = Buffer.concat(this.parts);
    this.parts = [];
    this.partsBytes = 0;
    return readHeaders(whole);
  }

  close(): void {
    this.inflate.destroy();
  }
}
