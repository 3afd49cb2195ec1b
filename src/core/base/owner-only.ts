/**
 * What keeps a file or a folder for its owner, as a value: mode bits, or what `icacls` is asked on Windows, where mode
 * bits mean nothing. Source: Microsoft's pages on icacls and on well-known security identifiers, which, unlike names of
 * groups, are the same in every language of Windows.
 */
import type { PathRules } from "./path-rules.ts";

/** How to keep a path for its owner. */
export interface OwnerOnly {
  /** For chmod, and for the call that makes the file. */
  readonly mode: number;
  /** Arguments of `icacls`, one run after the other. Empty where modes say it all. */
  readonly icacls: readonly (readonly string[])[];
}

/** The owner of the file; the system; administrators, whom nothing keeps out anyway. */
const TRUSTEES = ["S-1-3-4", "S-1-5-18", "S-1-5-32-544"] as const;

export function ownerOnly(paths: PathRules, path: string, kind: "file" | "folder"): OwnerOnly {
  const mode = kind === "folder" ? 0o700 : 0o600;
  if (paths.name === "posix") return { mode, icacls: [] };
  // What is made in a folder later inherits its rights: objects and containers.
  const rights = kind === "folder" ? ":(OI)(CI)F" : ":F";
  const grants = TRUSTEES.map((trustee) => `*${trustee}${rights}`);
  // First what is inherited alone, which takes away what was granted; then nothing inherited.
  return {
    mode,
    icacls: [
      [path, "/reset"],
      [path, "/inheritance:r", "/grant:r", ...grants],
    ],
  };
}
