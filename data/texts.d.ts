/** Where texts with a file each lie. */
export type Shelf = "catalogue" | "errors";

/** Texts about one subject: a folder. */
export interface Subject {
  readonly folder: string;
  readonly title: string;
  /** Of its files, without the ending. */
  readonly names: readonly string[];
}

/** A file: its front matter, and what stands under each heading; under "" what stands before the first. */
export interface TextFile {
  readonly fields: unknown;
  /** Paragraphs of one line each and verbatim lines, as `blocksOf` takes them apart. */
  readonly sections: Readonly<Record<string, string>>;
}

export function listSubjects(shelf: Shelf): readonly Subject[];
/** @throws Error where the file has no front matter. */
export function readText(shelf: Shelf, folder: string, name: string): TextFile;
/** A table in YAML: its path without the ending. */
export interface AllTexts {
  readonly subjects: Readonly<Record<Shelf, readonly Subject[]>>;
  /** By `shelf/folder/name`. */
  readonly texts: Readonly<Record<string, TextFile>>;
  readonly tables: Readonly<Record<string, unknown>>;
}
/** Everything at once, for the build. */
export function readAll(): AllTexts;
export function readTable(name: string): unknown;
