/** SQLite as Node has it built in. */
import type * as Sqlite from "node:sqlite";
import { assert } from "#core/base/assert.ts";

/** Primary result codes of SQLite that mean something to us. */
export const SQLITE_CODES = { busy: 5, corrupt: 11, full: 13, notADatabase: 26 } as const;

/** The primary result code of a failed call; undefined when the failure is none of SQLite's. */
export function sqliteCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  // Extended codes have the primary one in their low byte.
  return error.errcode & 0xff;
}

/**
 * Loads the module. Node 22 warns its users that the module may change, which is our affair and not that of somebody who
 * runs a command: that one warning is kept back.
 */
export function loadSqlite(): typeof Sqlite {
  const before = Object.getOwnPropertyDescriptor(process, "emitWarning");
  assert(before !== undefined, "Node's process can warn");
  process.emitWarning = () => undefined;
  try {
    const sqlite = process.getBuiltinModule("node:sqlite");
    assert(sqlite !== undefined, "Node 22.18 and later have node:sqlite");
    return sqlite;
  } finally {
    Object.defineProperty(process, "emitWarning", before);
  }
}
