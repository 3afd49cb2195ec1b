/**
 * The two modes of the programs. `upstream` behaves as the real component, known defects included; `hardened` repairs them.
 * The first is the default of emulated nodes, the second of executables that run on their own.
 */
export type Compat = "upstream" | "hardened";

/** The mode that a word names, by its name or by its older one (older names of the modes are read, never printed). */
export function parseCompat(text: string): Compat | undefined {
  switch (text) {
    case "upstream":
    case "reference":
      return "upstream";
    case "hardened":
    case "better":
      return "hardened";
    default:
      return undefined;
  }
}
