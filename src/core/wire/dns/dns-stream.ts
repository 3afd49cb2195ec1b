/** DNS messages over TCP: each has its length before it (RFC 1035 §4.2.2). */
import { readU16, writeU16 } from "../../base/bytes.ts";

const LENGTH_BYTES = 2;

/** A message as it is sent. */
export function withLength(message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(LENGTH_BYTES + message.length);
  writeU16(bytes, 0, message.length);
  bytes.set(message, LENGTH_BYTES);
  return bytes;
}

/** Cuts what comes over TCP into messages. */
export class DnsStream {
  private bytes: Uint8Array = new Uint8Array(0);

  /** The messages that are whole now. */
  take(bytes: Uint8Array): readonly Uint8Array[] {
    const all = new Uint8Array(this.bytes.length + bytes.length);
    all.set(this.bytes);
    all.set(bytes, this.bytes.length);
    const messages: Uint8Array[] = [];
    let at = 0;
    while (all.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + readU16(all, at);
      if (end > all.length) break;
      messages.push(all.slice(at + LENGTH_BYTES, end));
      at = end;
    }
    this.bytes = all.slice(at);
    return messages;
  }
}
