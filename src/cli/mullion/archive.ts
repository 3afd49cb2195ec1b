/** The files of archives that collectors make: how much of them is read, and which names are not believed. */
import { LIMITS } from "#core/base/limits.ts";

/** A file of an archive, or why it is not read. Without a name: why the archive is not. */
export type ArchiveEntry =
  | { readonly name: string; readonly bytes: Uint8Array }
  | { readonly name: string; readonly reason: string };

/** A file as its archive lists it. */
export interface ListedFile {
  readonly name: string;
  /** The content, or why there is none. `left`: how many bytes may still be read. */
  readonly unpack: (left: number) => Uint8Array | string;
}

/** Why a name is not one of a file below the archive. */
function faultOfName(name: string): string | undefined {
  const parts = name.replaceAll("\\", "/").split("/");
  if (name.startsWith("/") || name.startsWith("\\") || /^[A-Za-z]:/u.test(name) || parts.includes(".."))
    return "its name leaves the folder of the archive";
  return /\p{Cc}/u.test(name) ? "its name has characters that steer a terminal" : undefined;
}

/** Reads the files in their order, as many bytes of them as are read of one input. */
export function* readEntries(files: Iterable<ListedFile>): Generator<ArchiveEntry> {
  let left: number = LIMITS.archiveBytesMax;
  const seen = new Set<string>();
  for (const { name, unpack } of files) {
    const fault =
      faultOfName(name) ?? (seen.has(name) ? "another file of the archive has its name" : undefined);
    seen.add(name);
    const content = fault ?? unpack(Math.min(left, LIMITS.inputBytesMax));
    if (typeof content === "string") yield { name, reason: content };
    else {
      left -= content.length;
      yield { name: name.replaceAll("\\", "/"), bytes: content };
    }
  }
}
