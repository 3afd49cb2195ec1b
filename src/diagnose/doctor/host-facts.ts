/** What commands and files of a node show beside HNS, kind by kind: a row is a reader, its name, and what brings it. */
import { patternFor } from "./log-runs.ts";
import type { Line } from "./place.ts";
import {
  type Adapter,
  type HostRoute,
  type Interface,
  type InterfaceMtu,
  readAdapters,
  readInterfaces,
  readMtus,
  readRoutes,
} from "./host-addresses.ts";
import {
  type DynamicPorts,
  type ExcludedPorts,
  type Listener,
  type WindowsService,
  readDynamicPorts,
  readExcludedPorts,
  readListeners,
  readServices,
} from "./host-ports.ts";
import {
  type Compartment,
  type Lease,
  type NodeHealth,
  type PortState,
  type RegistryValue,
  type SourceVip,
  type WindowsVersion,
  readCompartments,
  readLeases,
  readNodeHealth,
  readPortStates,
  readRegistry,
  readSourceVips,
  readVersions,
} from "./host-state.ts";
import { type ClockReading, readClocks } from "./host-clocks.ts";
import {
  type KubeletAddress,
  type NetworkRequest,
  readKubeletAddresses,
  readNetworkRequests,
} from "./host-scripts.ts";
import { type Attempt, type LookUp, readAttempts, readLookUps } from "./host-symptoms.ts";

/** Of each kind what was found. */
export interface HostFacts {
  readonly "excluded ports": readonly ExcludedPorts[];
  readonly "dynamic ports": readonly DynamicPorts[];
  readonly "windows services": readonly WindowsService[];
  readonly listeners: readonly Listener[];
  readonly interfaces: readonly Interface[];
  readonly routes: readonly HostRoute[];
  readonly adapters: readonly Adapter[];
  readonly mtus: readonly InterfaceMtu[];
  readonly registry: readonly RegistryValue[];
  readonly versions: readonly WindowsVersion[];
  readonly "port states": readonly PortState[];
  readonly leases: readonly Lease[];
  readonly "source addresses": readonly SourceVip[];
  readonly "node health": readonly NodeHealth[];
  readonly compartments: readonly Compartment[];
  readonly clocks: readonly ClockReading[];
  readonly "look-ups": readonly LookUp[];
  readonly connections: readonly Attempt[];
  readonly "network requests": readonly NetworkRequest[];
  readonly "kubelet addresses": readonly KubeletAddress[];
}
export type KindOfHostFact = keyof HostFacts;

interface HostReader<Fact> {
  readonly read: (lines: readonly Line[]) => readonly Fact[];
  /** What a report calls it. */
  readonly holds: string;
  /** The command that prints it. */
  readonly collect: string;
  /**
   * A pattern for what a line that begins as one of a log does has to hold to say something to this reader. Readers without
   * one know their lines by how they begin.
   */
  readonly inLogs?: string;
}

export const HOST_READERS: {
  readonly [Kind in KindOfHostFact]: HostReader<HostFacts[Kind][number]>;
} = {
  "excluded ports": {
    read: readExcludedPorts,
    holds: "excluded ranges of ports",
    collect: "netsh int ipv4 show excludedportrange tcp",
  },
  "dynamic ports": {
    read: readDynamicPorts,
    holds: "dynamic ranges of ports",
    collect: "netsh int ipv4 show dynamicportrange tcp",
  },
  "windows services": {
    read: readServices,
    holds: "services of Windows",
    collect: "Get-Service (or sc queryex)",
  },
  listeners: { read: readListeners, holds: "ports that are waited on", collect: "netstat -ano" },
  interfaces: { read: readInterfaces, holds: "adapters with addresses", collect: "ipconfig /all" },
  routes: { read: readRoutes, holds: "routes", collect: "route print" },
  adapters: {
    read: readAdapters,
    holds: "network adapters",
    collect: "Get-NetAdapter",
    inLogs: String.raw`(?:Up|Disconnected|Disabled|Not Present)[^\S\n]{1,20}[\dA-Fa-f]{2}-`,
  },
  mtus: { read: readMtus, holds: "MTUs", collect: "netsh int ipv4 show interfaces" },
  registry: {
    read: readRegistry,
    holds: "values of the registry",
    collect: String.raw`reg query HKLM\SYSTEM\CurrentControlSet\Services\Tcpip6\Parameters`,
  },
  versions: {
    read: readVersions,
    holds: "versions of Windows",
    collect: "cmd /c ver",
    inLogs: String.raw`Microsoft Windows|Windows NT|KB\d{6}`,
  },
  "port states": {
    read: readPortStates,
    holds: "states of switch ports",
    collect: "vfpctrl /port PORT /get-port-state",
  },
  leases: {
    read: readLeases,
    holds: "addresses in use",
    collect: String.raw`the files of C:\var\lib\cni\networks, or azure-vnet-ipam.json`,
  },
  "source addresses": {
    read: readSourceVips,
    holds: "a source address for kube-proxy",
    collect: String.raw`C:\k\sourceVip.json`,
  },
  "node health": {
    read: readNodeHealth,
    holds: "what networkhealth.ps1 wrote down",
    collect: "networkhealth.ps1 -Replay (nodedata.json)",
  },
  compartments: { read: readCompartments, holds: "compartments", collect: "Get-NetCompartment" },
  clocks: {
    read: readClocks,
    holds: "clocks beside each other",
    collect: "w32tm /stripchart /computer:time.windows.com /samples:3",
    inLogs: "current time ",
  },
  "look-ups": {
    read: readLookUps,
    holds: "names that were looked up",
    collect: "kubectl exec POD -- nslookup kubernetes.default.svc.cluster.local",
    inLogs: "timed-out",
  },
  connections: {
    read: readAttempts,
    holds: "connections that were tested",
    collect: "kubectl exec POD -- powershell Test-NetConnection ADDRESS -Port PORT",
  },
  "network requests": {
    read: readNetworkRequests,
    holds: "calls for networks of HNS",
    collect: "the window of the start script (Start-Transcript)",
  },
  "kubelet addresses": {
    read: readKubeletAddresses,
    holds: "a kubelet's --node-ip",
    collect: "Get-CimInstance Win32_Process | Format-List CommandLine",
  },
};

export const KINDS_OF_HOST_FACTS = Object.keys(HOST_READERS) as readonly KindOfHostFact[];

/** What all readers look for within lines of a log. */
export const WITHIN_LOG_LINES: RegExp = patternFor(
  KINDS_OF_HOST_FACTS.flatMap((kind) => HOST_READERS[kind].inLogs ?? []),
);

function factsBy(read: (kind: KindOfHostFact) => readonly unknown[]): HostFacts {
  // The readers of the table give what its type says; the compiler cannot see that kind by kind.
  return Object.fromEntries(KINDS_OF_HOST_FACTS.map((kind) => [kind, read(kind)])) as unknown as HostFacts;
}

export function readHostFacts(lines: readonly Line[]): HostFacts {
  return factsBy((kind) => HOST_READERS[kind].read(lines));
}

/** The facts of several files of one node. */
export function joinHostFacts(all: readonly HostFacts[]): HostFacts {
  return factsBy((kind) => all.flatMap((each): readonly unknown[] => each[kind]));
}
