/** Where azure-vnet behaves in two ways: as it is published (cni.md §5), and mended. */
import { type ByMode, type Differences, byMode } from "#core/base/compat.ts";
import { CNI_CODES } from "#contracts/cni/error.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { ENDPOINT_DIFFERENCES, type EndpointDifferences } from "../windows-endpoint/differences.ts";
import { AZURE_ERROR_CODE } from "./conf.ts";

/** Rows of switches: what `upstream` has, and what `hardened` has. */
const SWITCHES = {
  /** Failures of CNS have codes of their own, and errors say what to look at. */
  explains: [false, true],
  /** CHECK is answered as GET: with a result. */
  answersCheckWithResult: [true, false],
  /** Endpoints are listed of a state without the network "azure", too. */
  listsWithoutNetwork: [false, true],
  /** CNS is at its usual place but for ADD, whatever the configuration says; its state is always there. */
  asksUsualCns: [true, false],
  /** A second attachment of a container has an endpoint of its own (row 156). */
  hasLongNames: [false, true],
  /** HNS is looked at: for a lost network (row 134), one of that name, an endpoint that is there or left over. */
  looksAtHns: [false, true],
  /** A network that was made for one interface goes with it. */
  forgetsNetworks: [false, true],
  /** What a failed ADD made is removed by what it made; else by keys that an earlier ADD may have (cni.md §5.4). */
  undoesOwn: [false, true],
  /** Addresses of an answer that no pod can be made of are given back. */
  givesBackAddresses: [false, true],
  /** The result has the endpoint's name resolution, MAC and sandbox. */
  printsEndpoint: [false, true],
  /** Without a suffix there is nothing to search; else one empty text. */
  leavesOutEmptySearch: [false, true],
  /** Devices that CNS does not name, and types that it invents, are errors; else they are forgotten. */
  refusesUnknownNics: [false, true],
  /** Answers without a network container are errors, and so are port mappings of unknown protocols (row 142). */
  refusesNothingKnown: [false, true],
  /** A tenant's pod with a namespace that the state does not know is gone already. */
  trustsState: [true, false],
  /** Policies in the form of HCN are taken as they are (row 128). */
  takesHcnForm: [false, true],
  /** Policies that cannot be converted for HNS v1 are left out. */
  leavesOutPolicies: [true, false],
  /** IPAM gets the configuration as it is written anew, for a second family in any case. */
  rewritesIpam: [true, false],
  /** A state of IPAM without pools is forgotten, with the addresses of running pods (cni.md §5.4 step 2). */
  forgetsPools: [true, false],
  /** A file for CNS says the attachment, too. */
  writesWholeReleases: [false, true],
  /** The state file has a checksum, and is refused when it is wrong. */
  sealsState: [false, true],
} as const;

export interface AzureDifferences extends Differences<typeof SWITCHES> {
  readonly endpoints: EndpointDifferences;
  readonly supportedVersions: readonly string[];
  /** The code of an error about a configuration that cannot be read. */
  readonly configurationCode: number;
  /** The code of an error that another try may not meet. */
  readonly tryAgainCode: number;
  /** The file of SNAT support is read under the name that it was written to; else the agent is asked at every ADD. */
  readonly snatCache: string;
}

export const AZURE_DIFFERENCES: ByMode<AzureDifferences> = byMode<AzureDifferences>({
  ...SWITCHES,
  endpoints: [ENDPOINT_DIFFERENCES.upstream, ENDPOINT_DIFFERENCES.hardened],
  supportedVersions: [SPEC_VERSIONS.filter((version) => version !== "1.1.0"), SPEC_VERSIONS],
  configurationCode: [AZURE_ERROR_CODE, CNI_CODES.invalidNetworkConfig],
  tryAgainCode: [CNI_CODES.internal, CNI_CODES.tryAgainLater],
  snatCache: ["snatConfig", "snatConfig.json"],
});
