/** Logging as a value: the core says what happened, the executable decides where it goes. */

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Takes one event. `fields` are data, never secrets. */
export interface Log {
  write(level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Drops everything. */
export const SILENT_LOG: Log = { write(): void {} };
