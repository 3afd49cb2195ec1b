/**
 * Where the plugins for Windows behave in two ways: as they are published, and mended. What is a mere value is a row here;
 * how an endpoint is ensured and told is in `upstream.ts` and `hardened.ts`.
 */
import { type ByMode, byMode } from "#core/base/compat.ts";
import { CNI_CODES } from "#contracts/cni/error.ts";

export interface EndpointDifferences {
  /** The code of an error about a configuration that cannot be read (row 27). */
  readonly configurationCode: number;
  /** `apiVersion` has to be one that there is; else everything but 2 is HNS v1. */
  readonly checksApiVersion: boolean;
  /** The runtime's resolver options replace those of the configuration (row 60). */
  readonly readsRuntimeOptions: boolean;
  /** A person hears of what is left out: keys that nobody reads, ports that HNS cannot map, DSR that HNS has not. */
  readonly warns: boolean;
  /** DEL releases the address first, and leaves the endpoint when that fails (rows 72, 77). */
  readonly releasesFirst: boolean;
  /** CHECK and GC do something; STATUS looks for the network. */
  readonly looksAtNetwork: boolean;
  /** Errors of HNS say what the service adds. */
  readonly tellsDetails: boolean;
  /** An error of the IPAM plugin keeps its code. */
  readonly keepsDelegateCodes: boolean;
  /** A failing ADD calls DEL of an IPAM plugin that was never called (row 43). */
  readonly undoesUncalled: boolean;
  /** An address that is its own gateway is given back once (row 46). */
  readonly givesGatewayBack: boolean;
  /** An exception of OutBoundNAT joins the list of its family; else it is a policy of its own (row 51). */
  readonly joinsExceptions: boolean;
  /** A configured provider address is not joined by the node's (row 66). */
  readonly keepsProviderAddress: boolean;
  /** The overlay plugin maps ports (row 68). */
  readonly mapsOverlayPorts: boolean;
  /** The node reaches its own host ports, and an empty VIP is not written (row 55); host port 0 maps nothing (row 56). */
  readonly mapsPortsForNode: boolean;
  /** Over HCN a pod of two families has each host port twice (rows 108, 141). */
  readonly mapsBothFamilies: boolean;
  /** Policies that would lose something on their way are refused. */
  readonly refusesLossyPolicies: boolean;
  /** One address of each family; else the first alone (row 48). */
  readonly plansBothFamilies: boolean;
  /** What loopback DSR is asked for while no address is known (cni.md §7.G). */
  readonly unknownAddress: readonly string[];
  /** Endpoints are created with prefix lengths. */
  readonly sendsPrefixLengths: boolean;
  /** Without a plan an empty address and a route to nowhere are sent (row 151). */
  readonly sendsEmptyAddress: boolean;
  /** What goes away while it is removed is no error, in whichever words HNS says so. */
  readonly forgivesVanished: boolean;
  /** An endpoint is looked for once more before it is made (HNS v1). */
  readonly looksAgain: boolean;
  /** What was made for a container that cannot be attached goes; else that of a workload stays (HNS v1). */
  readonly removesWhatItMade: boolean;
  /** The corrupted endpoint's address is released, too (HNS v1). */
  readonly releasesCorrupted: boolean;
  /** The first two octets of an overlay endpoint's MAC address, and the error for others (row 63). */
  readonly macPrefix: { readonly pattern: RegExp; readonly code: number };
  /** The overlay plugin calls IPAM over HNS v1 though there is none (cni.md §7.B11), and for its status. */
  readonly asksMissingIpam: boolean;
  /** A network without a subnet, an error that is lost: as a Go program that does not look. */
  readonly takesSubnetForGranted: boolean;
}

export const ENDPOINT_DIFFERENCES: ByMode<EndpointDifferences> = byMode<EndpointDifferences>({
  configurationCode: [CNI_CODES.internal, CNI_CODES.invalidNetworkConfig],
  checksApiVersion: [false, true],
  readsRuntimeOptions: [false, true],
  warns: [false, true],
  releasesFirst: [true, false],
  looksAtNetwork: [false, true],
  tellsDetails: [false, true],
  keepsDelegateCodes: [false, true],
  undoesUncalled: [true, false],
  givesGatewayBack: [false, true],
  joinsExceptions: [false, true],
  keepsProviderAddress: [false, true],
  mapsOverlayPorts: [false, true],
  mapsPortsForNode: [false, true],
  mapsBothFamilies: [false, true],
  refusesLossyPolicies: [false, true],
  plansBothFamilies: [false, true],
  unknownAddress: [["<nil>"], []],
  sendsPrefixLengths: [false, true],
  sendsEmptyAddress: [true, false],
  forgivesVanished: [false, true],
  looksAgain: [true, false],
  removesWhatItMade: [false, true],
  releasesCorrupted: [false, true],
  macPrefix: [
    { pattern: /^..-..$/su, code: CNI_CODES.internal },
    { pattern: /^[0-9a-f]{2}-[0-9a-f]{2}$/i, code: CNI_CODES.invalidNetworkConfig },
  ],
  asksMissingIpam: [true, false],
  takesSubnetForGranted: [true, false],
});
