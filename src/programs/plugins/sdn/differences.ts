/** Where Microsoft's plugins behave in two ways: as they are published, and mended. */
import { type ByMode, type Differences, byMode } from "#core/base/compat.ts";
import { CNI_CODES, CniError, PluginPanic } from "#contracts/cni/error.ts";
import { CNI_LIBRARY_1_1, CNI_LIBRARY_1_3, type CniLibrary, SPEC_VERSIONS } from "#contracts/cni/version.ts";

import { ENDPOINT_DIFFERENCES, type EndpointDifferences } from "../windows-endpoint/differences.ts";

/** Rows of switches: what `upstream` has, and what `hardened` has. */
const SWITCHES = {
  /** Ports that 16 bits cannot hold are refused; else they become others. */
  checksPorts: [false, true],
  /** CHECK looks. */
  checks: [false, true],
  /** The gateway of a route may be called `gateway`, too (row 107). */
  takesGateway: [false, true],
  /** Every failure of a look-up means that there is no such object (cni.md §2.12). */
  takesFailureForNone: [true, false],
  /** IPAM gets the configuration as it came; else what is written anew, but for dual stack (row 102). */
  passesOnConfiguration: [false, true],
  /** A failing ADD gives back also what IPAM failed to give. */
  undoesFailedIpam: [false, true],
} as const;

export interface SdnDifferences extends Differences<typeof SWITCHES> {
  readonly endpoints: EndpointDifferences;
  /** Row 110. */
  readonly supportedVersions: readonly string[];
  /** The release of libcni whose skeleton answers. */
  readonly library: CniLibrary;
  /** What stops ADD at a policy of `AdditionalArgs` that is none. */
  readonly notPolicy: (index: number) => Error;
}

export const SDN_DIFFERENCES: ByMode<SdnDifferences> = byMode<SdnDifferences>({
  ...SWITCHES,
  endpoints: [ENDPOINT_DIFFERENCES.upstream, ENDPOINT_DIFFERENCES.hardened],
  supportedVersions: [["0.2.0", "0.3.0", "0.4.0", "1.0.0"], SPEC_VERSIONS],
  library: [CNI_LIBRARY_1_1, CNI_LIBRARY_1_3],
  notPolicy: [
    () => new PluginPanic("json: cannot unmarshal value into a policy"),
    (index: number) =>
      new CniError(
        CNI_CODES.invalidNetworkConfig,
        `field "AdditionalArgs[${index}].value" must be {"Type": "…", "Settings": {…}}`,
      ),
  ],
});
