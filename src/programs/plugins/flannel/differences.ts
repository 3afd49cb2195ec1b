/** Where the meta plugin behaves in two ways: as it is published, and mended. */
import { type ByMode, byMode } from "#core/base/compat.ts";
import { CNI_CODES } from "#contracts/cni/error.ts";

export interface FlannelDifferences {
  /** The code of an error about a configuration that cannot be read. */
  readonly configurationCode: number;
  /** What is sent to the delegate is printed. */
  readonly printsSent: boolean;
  /** The result is handed on in the version that the delegate has printed it in. */
  readonly keepsPrintedVersion: boolean;
  /** DEL makes the configuration anew when its file is gone; else endpoint and address leak (rows 96, 99). */
  readonly remakesConfiguration: boolean;
  /** The file of a sandbox stays when a container that has joined it leaves (cni.md §3.3). */
  readonly keepsSandboxFile: boolean;
  /** CHECK, STATUS (row 95) and GC reach the delegate. */
  readonly delegatesAll: boolean;
  /** A file that stays is told. */
  readonly warnsOfLeftFiles: boolean;
  /** Files are named after network and interface, too; else those of one sandbox overwrite each other. */
  readonly namesAttachments: boolean;
  /** A key without a value in `subnet.env`, or a file of IPv6 alone on Windows, is a crash. */
  readonly crashes: boolean;
  /** A subnet.env whose checksum is wrong is refused. */
  readonly checksSeal: boolean;
  /** The delegate gets the API that a namespace needs, and every network as an exception (row 93). */
  readonly completesDelegate: boolean;
}

export const FLANNEL_DIFFERENCES: ByMode<FlannelDifferences> = byMode<FlannelDifferences>({
  configurationCode: [CNI_CODES.internal, CNI_CODES.invalidNetworkConfig],
  printsSent: [true, false],
  keepsPrintedVersion: [true, false],
  remakesConfiguration: [false, true],
  keepsSandboxFile: [false, true],
  delegatesAll: [false, true],
  warnsOfLeftFiles: [false, true],
  namesAttachments: [false, true],
  crashes: [true, false],
  checksSeal: [false, true],
  completesDelegate: [false, true],
});
