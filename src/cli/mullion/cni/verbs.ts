/** What each verb of `mullion cni` is given, and the seam between the command line and the verbs. */
import type { JsonObject } from "#core/base/json.ts";
import type { TextFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

/** Which list, and with what. */
export interface CniTarget {
  /** A file, `-` for standard input, or the name of a network. */
  readonly list: string;
  /** Where networks are looked for by name; undefined: `NETCONFPATH`, or `/etc/cni/net.d`. */
  readonly confFolder: string | undefined;
  /** Where plugins are looked for; none: `CNI_PATH`, or those of this package and `/opt/cni/bin`. */
  readonly pluginFolders: readonly string[];
  /** Where attachments are remembered; undefined: the user's own place. */
  readonly cacheFolder: string | undefined;
  readonly output: TextFormat;
}

export const ATTACHMENT_COMMANDS = ["ADD", "DEL", "CHECK"] as const;
export type AttachmentCommand = (typeof ATTACHMENT_COMMANDS)[number];

export interface CniAttachRequest {
  readonly target: CniTarget;
  readonly command: AttachmentCommand;
  /** As it was typed; undefined for DEL by container. */
  readonly netns: string | undefined;
  /** Undefined: made of the namespace, as cnitool makes it. */
  readonly containerId: string | undefined;
  /** Undefined: `CNI_IFNAME`, or eth0. */
  readonly ifName: string | undefined;
  /** `K=V;K2=V2`; undefined: `CNI_ARGS`, or what ADD was given. */
  readonly args: string | undefined;
  /** What the options give by capability; undefined: `CAP_ARGS`, or what ADD was given. */
  readonly capabilityArgs: JsonObject | undefined;
}

/** An attachment that GC keeps. Without an interface: all of the container's. */
export interface KeptAttachment {
  readonly containerId: string;
  readonly ifName: string | undefined;
}

export interface CniGcRequest {
  readonly target: CniTarget;
  /** Undefined: none is valid for the cache, and the plugins are told no list. */
  readonly keep: readonly KeptAttachment[] | undefined;
}

/** Each prints its results and says how it ended; it may throw a `Failure`. */
export interface CniVerbs {
  readonly attach: (request: CniAttachRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly gc: (request: CniGcRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly status: (request: CniTarget, terminal: Terminal) => Promise<ExitCode>;
  readonly version: (request: CniTarget, terminal: Terminal) => Promise<ExitCode>;
}
