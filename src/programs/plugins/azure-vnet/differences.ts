/** Where azure-vnet behaves in two ways: as it is published (cni.md §5), and mended. */
import { type ByMode, byMode } from "#core/base/compat.ts";
import { CNI_CODES } from "#contracts/cni/error.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { ENDPOINT_DIFFERENCES, type EndpointDifferences } from "../windows-endpoint/differences.ts";
import { AZURE_ERROR_CODE } from "./conf.ts";

export interface AzureDifferences {
  readonly endpoints: EndpointDifferences;
  readonly supportedVersions: readonly string[];
  /** The code of an error about a configuration that cannot be read. */
  readonly configurationCode: number;
  /** The code of an error that another try may not meet. */
  readonly tryAgainCode: number;
  /** Failures of CNS have codes of their own, and errors say what to look at. */
  readonly explains: boolean;
  /** CHECK is answered as GET: with a result. */
  readonly answersCheckWithResult: boolean;
  /** Endpoints are listed of a state without the network "azure", too. */
  readonly listsWithoutNetwork: boolean;
  /** CNS is at its usual place but for ADD, whatever the configuration says; its state is always there. */
  readonly asksUsualCns: boolean;
  /** A second attachment of a container has an endpoint of its own (row 156). */
  readonly hasLongNames: boolean;
  /** HNS is looked at: for a lost network (row 134), one of that name, an endpoint that is there or left over. */
  readonly looksAtHns: boolean;
  /** A network that was made for one interface goes with it. */
  readonly forgetsNetworks: boolean;
  /** What a failed ADD made is removed by what it made; else by keys that an earlier ADD may have (cni.md §5.4). */
  readonly undoesOwn: boolean;
  /** Addresses of an answer that no pod can be made of are given back. */
  readonly givesBackAddresses: boolean;
  /** The result has the endpoint's name resolution, MAC and sandbox. */
  readonly printsEndpoint: boolean;
  /** Without a suffix there is nothing to search; else one empty text. */
  readonly leavesOutEmptySearch: boolean;
  /** Devices that CNS does not name, and types that it invents, are errors; else they are forgotten. */
  readonly refusesUnknownNics: boolean;
  /** Answers without a network container are errors, and so are port mappings of unknown protocols (row 142). */
  readonly refusesNothingKnown: boolean;
  /** The file of SNAT support is read under the name that it was written to; else the agent is asked at every ADD. */
  readonly snatCache: string;
  /** A tenant's pod with a namespace that the state does not know is gone already. */
  readonly trustsState: boolean;
  /** Policies in the form of HCN are taken as they are (row 128). */
  readonly takesHcnForm: boolean;
  /** Policies that cannot be converted for HNS v1 are left out. */
  readonly leavesOutPolicies: boolean;
  /** IPAM gets the configuration as it is written anew, for a second family in any case. */
  readonly rewritesIpam: boolean;
  /** A state of IPAM without pools is forgotten, with the addresses of running pods (cni.md §5.4 step 2). */
  readonly forgetsPools: boolean;
  /** A file for CNS says the attachment, too. */
  readonly writesWholeReleases: boolean;
  /** The state file has a checksum, and is refused when it is wrong. */
  readonly sealsState: boolean;
}

export const AZURE_DIFFERENCES: ByMode<AzureDifferences> = byMode<AzureDifferences>({
  endpoints: [ENDPOINT_DIFFERENCES.upstream, ENDPOINT_DIFFERENCES.hardened],
  supportedVersions: [SPEC_VERSIONS.filter((version) => version !== "1.1.0"), SPEC_VERSIONS],
  configurationCode: [AZURE_ERROR_CODE, CNI_CODES.invalidNetworkConfig],
  tryAgainCode: [CNI_CODES.internal, CNI_CODES.tryAgainLater],
  explains: [false, true],
  answersCheckWithResult: [true, false],
  listsWithoutNetwork: [false, true],
  asksUsualCns: [true, false],
  hasLongNames: [false, true],
  looksAtHns: [false, true],
  forgetsNetworks: [false, true],
  undoesOwn: [false, true],
  givesBackAddresses: [false, true],
  printsEndpoint: [false, true],
  leavesOutEmptySearch: [false, true],
  refusesUnknownNics: [false, true],
  refusesNothingKnown: [false, true],
  snatCache: ["snatConfig", "snatConfig.json"],
  trustsState: [true, false],
  takesHcnForm: [false, true],
  leavesOutPolicies: [true, false],
  rewritesIpam: [true, false],
  forgetsPools: [true, false],
  writesWholeReleases: [false, true],
  sealsState: [false, true],
});
