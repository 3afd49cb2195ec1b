/** Dumps of HNS: files that people bring from a node, and what can be missing from them. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference, thread } from "../entry-text.ts";

type HnsDumpCode =
  | "hns-dump-unreadable"
  | "hns-dump-object-unknown"
  | "hns-dump-value-cut"
  | "hns-dump-names-only"
  | "hns-restore-refused"
  | "vfp-listing-unreadable";

const DUMPS = reference("docs/reference/hns-dumps.md");

export const HNS_DUMP_ENTRIES: EntryTable<HnsDumpCode> = {
  "vfp-listing-unreadable": {
    title: "A file is not vfpctrl output about rules",
    cause: prose`
      The file was expected to hold layers, groups and rules of a switch port, and has none, or the lines that begin
      them are broken. Other commands of vfpctrl print other things; a failed one prints a line that begins with ERROR.`,
    onNode: prose`
      As text or as JSON, of one port:

          vfpctrl /list-vmswitch-port
          vfpctrl /list-rule /port GUID > rules.txt
          vfpctrl /list-rule /port GUID /format 1 > rules.json`,
    remedy: prose`
      Look at the line that the message names. A file with several ports, such as vfpOutput.txt of collectlogs.ps1, is
      read one port at a time: FILE#GUID.`,
    sources: [reference("dataplane.md §7"), reference("users.md §4")],
    profiles: ALL,
  },
  "hns-dump-unreadable": {
    title: "A file, or a part of it, is not a dump of HNS",
    cause: prose`
      The file was expected to hold objects of HNS, and this part of it is broken or something else. JSON that was
      copied from a console is broken where the console wrapped a line; a file is cut off when the disk was full or
      the collector was stopped; other state files of a node, such as azure-vnet.json, belong to the plugins.`,
    onNode: prose`
      Write to a file instead of copying from the window:

          hnsdiag list all -d > hns.txt
          Get-HnsNetwork | ConvertTo-Json -Depth 20 > network.json`,
    remedy: prose`
      Look at the place that the message names. What is before and behind it is read; what is broken is left
      out, so the state that is restored lacks it.`,
    sources: [DUMPS, reference("users.md §4"), reference("hcn.md §2.12")],
    profiles: ALL,
  },

  "hns-dump-object-unknown": {
    title: "An object in a dump is not recognized as one of HNS",
    cause: prose`
      Dumps do not say what their objects are, so the fields decide: Subnets make a network, IPAddress makes an
      endpoint, References make a policy list. This object has none of these fields, or it has no ID. Often
      Select-Object left them out.`,
    onNode: prose`
      The whole object, with its ID:

          Get-HnsEndpoint | ConvertTo-Json -Depth 20 > endpoint.json`,
    remedy: prose`
      Make the dump without Select-Object. In a dump of Mullion's own each object names its kind and its GUID.`,
    sources: [DUMPS, reference("hcn.md §2")],
    profiles: ALL,
  },

  "hns-dump-value-cut": {
    title: "PowerShell wrote the name of a type where a value was",
    cause: prose`
      ConvertTo-Json follows an object two levels deep unless -Depth says more, and Format-List follows it not at all.
      What lies deeper becomes a text: @{Type=VSID; VSID=4096} for an object, System.Object[] for a list. The first
      is read back; of the second nothing is left. The object is restored without that value.`,
    onNode: prose`
      The same objects, whole:

          Get-HnsNetwork | ConvertTo-Json -Depth 20 > network.json
          hnsdiag list all -d > hns.txt`,
    remedy: prose`
      Make the dump again with -Depth 20. A network whose subnets lost their policies has no VSID here, and an endpoint
      without its policies no ACLs: do not conclude from the restored state that they were missing on the node.`,
    sources: [DUMPS, thread("projectcalico/calico", 8465), reference("users.md §4")],
    profiles: ALL,
  },

  "hns-dump-names-only": {
    title: "hnsdiag without -d shows names and ids only",
    cause: prose`
      The tables of hnsdiag list all show which networks, endpoints, namespaces and load balancers there are, to which
      network an endpoint belongs and which endpoints a load balancer names. Types, addresses, ports and policies are
      not shown. The objects are restored with what is known: a network without a type counts as NAT, as HNS reads a
      document without one.`,
    onNode: prose`
      The objects themselves, as JSON:

          hnsdiag list all -d > hns.txt`,
    remedy: prose`
      Good enough to look at what refers to what. To run the state of the node, make the dump with -d.`,
    sources: [DUMPS, thread("kubernetes-sigs/sig-windows-tools", 84), reference("dataplane.md §7.13")],
    profiles: ALL,
  },

  "hns-restore-refused": {
    title: "The service holds objects already, and a restore would replace them",
    cause: prose`
      A restore puts the state of a dump in the place of what the service has. This service has networks or other
      objects, made by a program or by an earlier restore, and they would be gone.`,
    onNode: prose`
      Windows has no restore. What a node has:

          hnsdiag list all`,
    remedy: prose`
      Look at what would go, then say that it may go, or start a service of its own for the dump:

          mullion hns get all
          mullion hns restore --replace <file>
          mullion hns serve --socket /tmp/other.sock`,
    sources: [DUMPS],
    profiles: ALL,
  },
};
