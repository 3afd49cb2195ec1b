/**
 * The part of `dns-packet` that dns.ts uses. The package's own types speak of Node's `Buffer`; all it needs is bytes
 * that are one at run time.
 */
declare module "dns-packet" {
  interface Decode<T> {
    (buffer: Uint8Array, offset: number): T;
    /** Bytes that the last call read. */
    readonly bytes: number;
  }
  interface Question {
    readonly name: string;
    readonly type: string;
    readonly class: string;
  }
  export interface ResourceRecord {
    readonly name: string;
    readonly type: string;
    readonly class?: string;
    readonly ttl?: number;
    readonly data?: unknown;
    readonly udpPayloadSize?: number;
    readonly flags?: number;
    readonly options?: readonly unknown[];
  }
  interface Message {
    readonly id: number;
    readonly type: "query" | "response";
    readonly flags: number;
    readonly questions: readonly Question[];
    readonly answers: readonly ResourceRecord[];
    readonly authorities: readonly ResourceRecord[];
    readonly additionals: readonly ResourceRecord[];
  }
  export const name: { readonly decode: Decode<string> };
  export const question: { readonly decode: Decode<Question> };
  export function encode(message: Message): Uint8Array;
}
