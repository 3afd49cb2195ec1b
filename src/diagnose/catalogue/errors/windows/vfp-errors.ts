/** VFP and the switch, as vfpctrl and pktmon print them. */
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_PORT = [
  "vfpctrl /list-vmswitch-port",
  "vfpctrl /port <port> /get-port-state",
  "vfpctrl /port <port> /get-rule-counter",
];

export const VFP_ERRORS: PrintedErrors = {
  "vfp-invalid-packet": {
    standing: "root",
    texts: ["DropReason Invalid Packet", "DropLocation 0xE0006096"],
    hresults: [0xe0006096],
    cause: prose`VFP dropped a packet that it could not make sense of. Fragments of UDP meet it when two trains of fragments share a place in its cache, about one in a hundred under load.`,
    next: ["pktmon start -c --pkt-size 0", "pktmon counters"],
    remedy: prose`Keep UDP messages below the MTU (1450 on overlays); for DNS lower the EDNS size.`,
    related: "fragment-without-first",
    sources: [reference("dataplane.md §7.12, §9 F-04")],
  },
  "vfp-not-locally-destined": {
    standing: "root",
    texts: ["Not locally destined", "DropLocation 0xE0004136"],
    hresults: [0xe0004136],
    cause: prose`The node's own stack got a packet for an address that it does not have, and does not forward. A rewritten packet went to the wrong port, or forwarding is off.`,
    next: ["Get-NetIPInterface | Select-Object InterfaceAlias, Forwarding", "pktmon counters"],
    remedy: prose`On host-gw switch forwarding on for the management interface; else follow the packet with mullion trace.`,
    related: "destination-not-local",
    sources: [reference("dataplane.md §7.12")],
  },
  "vfp-port-blocked-on-restore": {
    standing: "root",
    texts: ["BlockedOnRestore"],
    cause: prose`After a restart VFP has restored the port blocked, and nothing has released it: no rules, no traffic.`,
    next: SEE_PORT,
    remedy: prose`Restart HNS; when the port stays blocked, delete the pod.`,
    related: "switch-port-blocked",
    sources: [reference("users.md §4")],
  },
  "vfp-port-blocked": {
    standing: "root",
    texts: ["Blocked : TRUE"],
    cause: prose`The switch port is blocked: its endpoint is not attached fully, or its policies could not be programmed.`,
    next: SEE_PORT,
    remedy: prose`Delete the pod; when many ports are blocked, restart HNS.`,
    related: "switch-port-blocked",
    sources: [reference("dataplane.md §1.2; users.md §4")],
  },
  "vfpctrl-missing": {
    standing: "root",
    texts: [
      "The term 'vfpctrl' is not recognized",
      "'vfpctrl' is not recognized as an internal or external command",
    ],
    cause: prose`vfpctrl.exe is part of Windows Server with VFP; editions for clients lack it.`,
    next: ["Get-Service vfpext", "Get-ComputerInfo WindowsProductName, OsBuildNumber"],
    remedy: prose`Look on a node with Windows Server.`,
    sources: [thread("microsoft/Windows-Containers", 608), reference("users.md §4")],
  },
  "vfp-extension-filter": {
    standing: "root",
    texts: ["Microsoft Azure VFP Switch Filter Extension"],
    cause: prose`The switch has the VFP that filters only, as on editions for clients. Policies of endpoints are then refused or stay without effect. On a nat network it is normal.`,
    next: ["Get-HnsNetwork | ForEach-Object { $_.Extensions } | Select-Object Name, IsEnabled"],
    remedy: prose`Use Windows Server for L2Bridge and Overlay.`,
    sources: [thread("projectcalico/calico", 8465), reference("users.md G13, G19; dataplane.md §9 F-36")],
  },
};
