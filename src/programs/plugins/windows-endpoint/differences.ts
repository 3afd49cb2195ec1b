/**
 * Where the plugins for Windows behave in two ways: as they are published, and mended. What is a mere value is a row here;
 * how an endpoint is ensured and told is in `upstream.ts` and `hardened.ts`.
 */
import { type ByMode, type Differences, byMode } from "#core/base/compat.ts";
import { CNI_CODES } from "#contracts/cni/error.ts";

/** Rows of switches: what `upstream` has, and what `hardened` has. */
const SWITCHES = {
  /** `apiVersion` has to be one that there is; else everything but 2 is HNS v1. */
  checksApiVersion: [false, true],
  /** The runtime's resolver options replace those of the configuration (row 60). */
  readsRuntimeOptions: [false, true],
  /** A person hears of what is left out: keys that nobody reads, ports that HNS cannot map, DSR that HNS has not. */
  warns: [false, true],
  /** DEL releases the address first, and leaves the endpoint when that fails (rows 72, 77). */
  releasesFirst: [true, false],
  /** CHECK and GC do something; STATUS looks for the network. */
  looksAtNetwork: [false, true],
  /** Errors of HNS say what the service adds. */
  tellsDetails: [false, true],
  /** An error of the IPAM plugin keeps its code. */
  keepsDelegateCodes: [false, true],
  /** A failing ADD calls DEL of an IPAM plugin that was never called (row 43). */
  undoesUncalled: [true, false],
  /** An address that is its own gateway is given back once (row 46). */
  givesGatewayBack: [false, true],
  /** An exception of OutBoundNAT joins the list of its family; else it is a policy of its own (row 51). */
  joinsExceptions: [false, true],
  /** A configured provider address is not joined by the node's (row 66). */
  keepsProviderAddress: [false, true],
  /** The overlay plugin maps ports (row 68). */
  mapsOverlayPorts: [false, true],
  /** The node reaches its own host ports, and an empty VIP is not written (row 55); host port 0 maps nothing (row 56). */
  mapsPortsForNode: [false, true],
  /** Over HCN a pod of two families has each host port twice (rows 108, 141). */
  mapsBothFamilies: [false, true],
  /** Policies that would lose something on their way are refused. */
  refusesLossyPolicies: [false, true],
  /** One address of each family; else the first alone (row 48). */
  plansBothFamilies: [false, true],
  /** Endpoints are created with prefix lengths. */
  sendsPrefixLengths: [false, true],
  /** Without a plan an empty address and a route to nowhere are sent (row 151). */
  sendsEmptyAddress: [true, false],
  /** What goes away while it is removed is no error, in whichever words HNS says so. */
  forgivesVanished: [false, true],
  /** An endpoint is looked for once more before it is made (HNS v1). */
  looksAgain: [true, false],
  /** What was made for a container that cannot be attached goes; else that of a workload stays (HNS v1). */
  removesWhatItMade: [false, true],
  /** The corrupted endpoint's address is released, too (HNS v1). */
  releasesCorrupted: [false, true],
  /** The overlay plugin calls IPAM over HNS v1 though there is none (cni.md §7.B11), and for its status. */
  asksMissingIpam: [true, false],
  /** A network without a subnet, an error that is lost: as a Go program that does not look. */
  takesSubnetForGranted: [true, false],
} as const;

export interface EndpointDifferences extends Differences<typeof SWITCHES> {
  /** The code of an error about a configuration that cannot be read (row 27). */
  readonly configurationCode: number;
  /** What loopback DSR is asked for while no address is known (cni.md §7.G). */
  readonly unknownAddress: readonly string[];
  /** The first two octets of an overlay endpoint's MAC address, and the error for others (row 63). */
  readonly macPrefix: { readonly pattern: RegExp; readonly code: number };
}

export const ENDPOINT_DIFFERENCES: ByMode<EndpointDifferences> = byMode<EndpointDifferences>({
  ...SWITCHES,
  configurationCode: [CNI_CODES.internal, CNI_CODES.invalidNetworkConfig],
  unknownAddress: [["<nil>"], []],
  macPrefix: [
    { pattern: /^..-..$/su, code: CNI_CODES.internal },
    { pattern: /^[0-9a-f]{2}-[0-9a-f]{2}$/i, code: CNI_CODES.invalidNetworkConfig },
  ],
});
