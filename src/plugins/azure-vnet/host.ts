/** What azure-vnet asks of the machine beside HNS. */
import type { InterfaceAddress } from "../../net/prefix.ts";

export interface HostInterface {
  readonly name: string;
  readonly mac: string;
  readonly addresses: readonly InterfaceAddress[];
}

export interface AzureTimer {
  /** Resolves when the time is over; never after `cancel`. */
  readonly done: Promise<void>;
  cancel(): void;
}

export interface AzureHost {
  interfaces(): readonly HostInterface[];
  /** The time, as the state file has it (RFC 3339). */
  now(): string;
  startTimer(milliseconds: number): AzureTimer;
}
