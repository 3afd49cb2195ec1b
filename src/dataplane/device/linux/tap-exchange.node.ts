/** Who takes in what comes from TAPs, and gives out what goes to them, in bursts. */
import type { SystemCallError } from "./system-calls.node.ts";
import type { TapDevice } from "./tap.node.ts";

export interface TapExchange {
  /** What it costs, where it is not the best way; undefined: it is. */
  readonly cost: "thread" | "single" | undefined;
  add(tap: TapDevice): void;
  /** Nothing of it is read or written any more. */
  remove(tap: TapDevice): void;
  /** Calls `came` once: when frames may have come, or with false when it is closed. One waits at a time. */
  wait(came: (isOpen: boolean) => void): void;
  /** Takes in what has come, lets `process` work on it, and gives out what that sends, some times over while more comes. */
  exchange(process: () => void): void;
  /** Ends the wait, and with it the descriptors that it has. The TAPs stay. */
  close(): void;
}

/** Told of a TAP that somebody took away; nothing is read from it any more. */
export type TapGone = (tap: TapDevice, error: SystemCallError) => void;
