/** Problems of a command line. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference } from "../entry-text.ts";

type CommandLineCode =
  | "unknown-object"
  | "unknown-code"
  | "log-unreadable"
  | "bad-usage"
  | "input-without-documents"
  | "nothing-tried";

export const COMMAND_LINE_ENTRIES: EntryTable<CommandLineCode> = {
  "unknown-object": {
    title: "The cluster has no pod, node or host of that name",
    cause: prose`
      FROM and TO of a trace, and names after get, refer to things of the cluster file: pod/NAMESPACE/NAME (or
      pod/NAME in the namespace "default"), node/NAME, external for the first outside host, or a plain address.
      Nothing in this cluster answers to the name given.`,
    onNode: prose`
      On a real cluster the names come from Kubernetes, and the endpoint that belongs to a pod from its address:

          kubectl get pods -A -o wide
          Get-HnsEndpoint | ? IPAddress -eq <pod IP>`,
    remedy: prose`
      List what there is, and take the name from there:

          mullion get pods -f <file>
          mullion get nodes -f <file>`,
    sources: [reference("docs/start/first-trace.md")],
    profiles: ALL,
  },

  "unknown-code": {
    title: "Neither the catalogue nor the table of errors has it",
    cause: prose`
      mullion explain takes a code of the catalogue, such as icmp-outbound-not-translated, or an error: its number in
      any spelling, its symbolic name, its text, or a line of a log. The given text is none of these, and may be misspelt.
      Codes never change once they are published, so a code from an old report is still valid.`,
    onNode: prose`
      Codes are Mullion's own; no Windows program prints them. What Windows prints are numbers such as
      0x803b0013 and texts; both are in the table of errors as far as they are known.`,
    remedy: prose`
      Show all codes and errors, or those that have some words:

          mullion explain --list
          mullion explain --list source vip`,
    sources: [reference("docs/reference/codes.md"), reference("docs/reference/errors.md")],
    profiles: ALL,
  },

  "log-unreadable": {
    title: "A file cannot be read as a log",
    cause: prose`
      mullion explain --log reads text: UTF-8, any code page that contains ASCII, or the UTF-16 that PowerShell writes.
      The file does not exist, may not be opened, or is not text: event logs (.evtx), traces (.etl), archives and
      compressed files must be turned into text first.`,
    onNode: prose`
      Event logs and traces are turned into text on Windows:

          Get-WinEvent -Path hns.evtx | Format-List TimeCreated, Message > hns.txt
          netsh trace convert server.etl`,
    remedy: prose`
      Name the file of text. Compressed logs can be handed over as they are unpacked:

          gzip -dc kubeproxy.log.gz | mullion explain --log -`,
    sources: [reference("docs/reference/errors.md")],
    profiles: ALL,
  },

  "bad-usage": {
    title: "The command line cannot be understood",
    cause: prose`
      A verb or an option is misspelt, a value is missing or out of range, or options contradict each other.
      Nothing was started. Such a call ends with exit code 2, so that a script can tell it from a finding, which
      ends with 1.`,
    onNode: prose`Nothing to see on a node: the command ended before it looked at any cluster.`,
    remedy: prose`
      Every verb explains its arguments, with examples:

          mullion --help
          mullion trace --help`,
    sources: [reference("docs/start/first-trace.md")],
    profiles: ALL,
  },

  "nothing-tried": {
    title: "No flow was tried, so there is no answer",
    cause: prose`
      A verification sends packets between pods, nodes and hosts outside. Here no pod has a network, or nothing of
      what there is may be asked: pods that wait for a node, addresses of a network that Mullion does not have, a
      cluster without pods. That nothing failed then says nothing about the cluster.`,
    onNode: prose`
      Nothing to see on a node: nothing was sent. What the pods wait for is in their events:

          kubectl get pods -A -o wide
          kubectl describe pod <pod>`,
    remedy: prose`
      Look at what the answer rests on, above the findings: it names the pods without a network, and why. Give the
      cluster file the network that the pods have, or two pods to ask:

          mullion get pods -A -f <file>`,
    sources: [reference("docs/reference/verify.md")],
    profiles: ALL,
  },

  "input-without-documents": {
    title: "A folder that -f names holds no YAML or JSON",
    cause: prose`
      A folder stands for the files in it that end in .yaml, .yml or .json, as with kubectl. Folders below it are
      looked at with -R only. No file of such a name was found, so there is nothing to work with.`,
    onNode: prose`
      Nothing to see on a node: the command ended before it looked at any cluster. kubectl does the same:

          kubectl apply --dry-run=client -f <folder>`,
    remedy: prose`
      Add -R when the manifests are in folders below, or name the files one by one:

          mullion get pods -R -f manifests/
          mullion get pods -f manifests/web.yaml -f manifests/api.yaml`,
    sources: [reference("docs/reference/api.md")],
    profiles: ALL,
  },
};
