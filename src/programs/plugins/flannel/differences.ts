/** Where the meta plugin behaves in two ways: as it is published, and mended. */
import { type ByMode, type Differences, byMode } from "#core/base/compat.ts";
import { CNI_CODES } from "#contracts/cni/error.ts";

/** Rows of switches: what `upstream` has, and what `hardened` has. */
const SWITCHES = {
  /** What is sent to the delegate is printed. */
  printsSent: [true, false],
  /** The result is handed on in the version that the delegate has printed it in. */
  keepsPrintedVersion: [true, false],
  /** DEL makes the configuration anew when its file is gone; else endpoint and address leak (rows 96, 99). */
  remakesConfiguration: [false, true],
  /** The file of a sandbox stays when a container that has joined it leaves (cni.md §3.3). */
  keepsSandboxFile: [false, true],
  /** CHECK, STATUS (row 95) and GC reach the delegate. */
  delegatesAll: [false, true],
  /** A file that stays is told. */
  warnsOfLeftFiles: [false, true],
  /** Files are named after network and interface, too; else those of one sandbox overwrite each other. */
  namesAttachments: [false, true],
  /** A key without a value in `subnet.env`, or a file of IPv6 alone on Windows, is a crash. */
  crashes: [true, false],
  /** A subnet.env whose checksum is wrong is refused. */
  checksSeal: [false, true],
  /** The delegate gets the API that a namespace needs, and every network as an exception (row 93). */
  completesDelegate: [false, true],
} as const;

export interface FlannelDifferences extends Differences<typeof SWITCHES> {
  /** The code of an error about a configuration that cannot be read. */
  readonly configurationCode: number;
}

export const FLANNEL_DIFFERENCES: ByMode<FlannelDifferences> = byMode<FlannelDifferences>({
  ...SWITCHES,
  configurationCode: [CNI_CODES.internal, CNI_CODES.invalidNetworkConfig],
});
