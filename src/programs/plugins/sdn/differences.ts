/** Where Microsoft's plugins behave in two ways: as they are published, and mended. */
import { type ByMode, byMode } from "#core/base/compat.ts";
import { CNI_CODES, CniError, PluginPanic } from "#contracts/cni/error.ts";
import { CNI_LIBRARY_1_1, CNI_LIBRARY_1_3, type CniLibrary, SPEC_VERSIONS } from "#contracts/cni/version.ts";

import { ENDPOINT_DIFFERENCES, type EndpointDifferences } from "../windows-endpoint/differences.ts";

export interface SdnDifferences {
  readonly endpoints: EndpointDifferences;
  /** Row 110. */
  readonly supportedVersions: readonly string[];
  /** The release of libcni whose skeleton answers. */
  readonly library: CniLibrary;
  /** Ports that 16 bits cannot hold are refused; else they become others. */
  readonly checksPorts: boolean;
  /** CHECK looks. */
  readonly checks: boolean;
  /** The gateway of a route may be called `gateway`, too (row 107). */
  readonly takesGateway: boolean;
  /** Every failure of a look-up means that there is no such object (cni.md §2.12). */
  readonly takesFailureForNone: boolean;
  /** IPAM gets the configuration as it came; else what is written anew, but for dual stack (row 102). */
  readonly passesOnConfiguration: boolean;
  /** A failing ADD gives back also what IPAM failed to give. */
  readonly undoesFailedIpam: boolean;

  /** What stops ADD at a policy of `AdditionalArgs` that is none. */
  readonly notPolicy: (index: number) => Error;
}

export const SDN_DIFFERENCES: ByMode<SdnDifferences> = byMode<SdnDifferences>({
  endpoints: [ENDPOINT_DIFFERENCES.upstream, ENDPOINT_DIFFERENCES.hardened],
  supportedVersions: [["0.2.0", "0.3.0", "0.4.0", "1.0.0"], SPEC_VERSIONS],
  library: [CNI_LIBRARY_1_1, CNI_LIBRARY_1_3],
  checksPorts: [false, true],
  checks: [false, true],
  takesGateway: [false, true],
  takesFailureForNone: [true, false],
  passesOnConfiguration: [false, true],
  undoesFailedIpam: [false, true],

  notPolicy: [
    () => new PluginPanic("json: cannot unmarshal value into a policy"),
    (index: number) =>
      new CniError(
        CNI_CODES.invalidNetworkConfig,
        `field "AdditionalArgs[${index}].value" must be {"Type": "…", "Settings": {…}}`,
      ),
  ],
});
