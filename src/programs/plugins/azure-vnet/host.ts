/** What azure-vnet asks of the machine beside HNS. */
import type { InterfaceAddress } from "#core/net/ip.ts";
import type { HttpTransport } from "../cns/transport.ts";

export interface AzureHostInterface {
  readonly name: string;
  readonly mac: string;
  readonly addresses: readonly InterfaceAddress[];
}

export interface AzureTimer {
  /** Resolves when the time is over; never after `cancel`. */
  readonly done: Promise<void>;
  cancel(): void;
}

/** Programs of Windows that do what HNS does not; they reject when they are not there or fail. */
export interface HostShell {
  powershell(script: string): Promise<string>;
  /** One line for `cmd.exe`. */
  run(line: string): Promise<string>;
}

/** Releases that CNS is to make when it is there again: it works the folder off (cni.md §5.7). */
export interface PendingReleases {
  /** `createsFolder`: also when CNS has not been there yet. */
  add(containerId: string, podInterfaceId: string, createsFolder: boolean): Promise<void>;
}

export interface TemporaryFiles {
  /** Undefined when there is none. */
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
}

export interface AzureHost {
  readonly http: HttpTransport;
  readonly shell: HostShell;
  readonly pendingReleases: PendingReleases;
  /** The folder that `%TEMP%` names. */
  readonly temporaryFiles: TemporaryFiles;
  /** Removes the state of azure-vnet-ipam, unless that of azure-vnet is there (cni.md §5.4 step 2). */
  forgetAddresses(): Promise<void>;
  interfaces(): readonly AzureHostInterface[];
  /** The time, as the state file has it (RFC 3339). */
  now(): string;
  startTimer(milliseconds: number): AzureTimer;
}
