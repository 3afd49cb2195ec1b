/** Which port a frame with the host's MAC belongs to, when it is not the host's own (dataplane.md §2.17 step 4). */
import { readU16 } from "#core/base/bytes.ts";
import { type Headers, destinationIp } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { ForwardingSwitch } from "./switch-extension.ts";

/** The port that owns the NAT binding of the frame's destination address and port. */
export function findBindingOwner(
  virtualSwitch: ForwardingSwitch,
  packet: Packet,
  headers: Headers,
): SwitchPort | undefined {
  const { protocol } = headers;
  const hasPorts = protocol === IpProtocol.tcp || protocol === IpProtocol.udp;
  if (!hasPorts || headers.transport < 0) return undefined;
  const ip = destinationIp(packet.bytes, headers);
  const port = readU16(packet.bytes, headers.transport + 2);
  const owner = virtualSwitch.portBlocks.findOwner(ip, protocol, port);
  if (owner !== undefined) return virtualSwitch.getPort(owner);
  return virtualSwitch.findPortByBinding({ ip, protocol, port });
}

/** The port whose endpoint has the destination address and takes frames by address. */
export function findByAddress(
  virtualSwitch: ForwardingSwitch,
  packet: Packet,
  headers: Headers,
): SwitchPort | undefined {
  if (headers.family === 0) return undefined;
  const port = virtualSwitch.findPortByIp(destinationIp(packet.bytes, headers));
  return port?.deliversByAddress === true ? port : undefined;
}
