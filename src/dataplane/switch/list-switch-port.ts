/** Ports of a switch as `vfpctrl /list-vmswitch-port` shows them (dataplane.md §7.9). */
import { formatMac } from "#core/net/mac.ts";
import type { VfpDirection } from "../vfp/rule.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import type { ListedDrop, ListedForwarding, ListedSwitchPort } from "../vfp/listing/listing.ts";
import { dropReason } from "./drop-reasons.ts";
import type { SwitchPort, SwitchPortKind } from "./switch-port.ts";
import type { VirtualSwitch } from "./virtual-switch.ts";

/** The friendly name of an uplink's port, as nodes have it (users.md §4). */
const EXTERNAL_PORT = "ExternalPort";

const TYPES: Readonly<Record<SwitchPortKind, ListedSwitchPort["type"]>> = {
  external: "External",
  host: "Internal",
  router: "Internal",
  container: "Synthetic",
};

function listDrops(port: SwitchPort, direction: VfpDirection): readonly ListedDrop[] {
  return port
    .listDrops()
    .filter((drops) => drops.direction === direction)
    .map(({ source, code, frames }) => ({ reason: dropReason(source, code), code, packets: frames }));
}

function listForwarding(virtualSwitch: VirtualSwitch): ListedForwarding {
  const ports = virtualSwitch.listPorts();
  const tunnelled = ports.filter((port) => port.virtualSubnets.length > 0);
  return {
    innerMac: tunnelled.length > 0,
    allToExternal: ports.some((port) => port.sendsToFabric),
    vxlanPort: tunnelled[0]?.vfp.vxlanPort ?? VXLAN_PORT,
  };
}

/** Ingress is what comes into the switch, so what left the vNIC. */
export function listSwitchPort(
  port: SwitchPort,
  portId: number,
  virtualSwitch: VirtualSwitch,
): ListedSwitchPort {
  const isExternal = port.kind === "external";
  return {
    name: port.id.toUpperCase(),
    friendlyName: isExternal ? EXTERNAL_PORT : port.name,
    switchName: virtualSwitch.id.toUpperCase(),
    switchFriendlyName: virtualSwitch.name,
    portId,
    type: TYPES[port.kind],
    isLearning: isExternal,
    forwarding: listForwarding(virtualSwitch),
    nicName: port.id.toUpperCase(),
    nicFriendlyName: port.name,
    mtu: port.device.mtuBytes,
    mac: formatMac(port.mac),
    vmName: "",
    vmId: "",
    bytesSent: port.counters.out.bytes,
    bytesReceived: port.counters.in.bytes,
    ingressDrops: listDrops(port, "out"),
    egressDrops: listDrops(port, "in"),
  };
}
