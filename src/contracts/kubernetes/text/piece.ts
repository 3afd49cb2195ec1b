/**
 * One part of a file that is parsed on its own: a document, what stands around the items of a list, or one item.
 * A dump of 15 000 pods is one document; taken whole, its syntax tree would need gigabytes.
 */
export interface Piece {
  readonly format: "yaml" | "json";
  readonly text: string;
  /** The text in UTF-8, where it was not decoded yet. */
  readonly bytes?: Uint8Array;
  /** Characters before the piece's value, in its first line; absent where nobody has looked. */
  readonly lead?: number;
  /** The line of the file in which the piece begins, from 1. */
  readonly line: number;
  /** Characters before the piece in that line. */
  readonly column: number;
  /** A list without its items; they follow. */
  readonly isFrame?: boolean;
  /** Where something was cut out of the text, and how many lines of the file it had. */
  readonly gap?: { readonly offset: number; readonly lines: number };
  /** The item's position in its list. YAML items stand behind their hyphen: a list of one. */
  readonly item?: number;
}
