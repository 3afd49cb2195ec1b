/** What can be said of anything that was thrown. */

/** Its message. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code that errors of the system carry, such as `ENOENT`; empty for what has none. */
export function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
