/** Whom the packet of a question is to reach, and what there is in place of a name or an address that nobody has. */
import {
  type Ip,
  type Prefix,
  formatIp,
  formatPrefix,
  isMulticastIp,
  lastIp,
  parseInterfaceAddress,
  prefixContains,
  prefixOf,
} from "#core/net/ip.ts";
import type { Packet } from "#core/wire/packet.ts";
import { PacketFields } from "#dataplane/ovs/packet-fields.ts";
import type { PortBinding, Southbound } from "#dataplane/ovs/southbound.ts";
import { Failure } from "../failure.ts";

/** Names that are told one by one. */
export const SHOWN_MAX = 8;

/** Names that have something in common with what was asked for. */
export function near(asked: string, names: readonly string[]): string {
  const wanted = asked.toLowerCase();
  const close = names.filter((name) => {
    const known = name.toLowerCase();
    return wanted !== "" && (known.includes(wanted) || wanted.includes(known));
  });
  const shown = close.length > 0 ? close : names;
  const more = shown.length > SHOWN_MAX ? `, and ${shown.length - SHOWN_MAX} more` : "";
  return `${shown.slice(0, SHOWN_MAX).join(", ")}${more}`;
}

/**
 * An address of a switch's own range that no port, service or flow has is a slip of the pen more often than a question: the packet
 * would end with an ARP request that nobody answers. Switches behind which anybody may be are left out.
 */
export function checkDestination(southbound: Southbound, packet: Packet): void {
  const asked = destinationOf(packet);
  if (asked === undefined) return;
  const { datapaths, ports, flows, loadBalancers } = southbound;
  const text = formatIp(asked);
  const byName = new Map(ports.map((port) => [port.name, port]));
  const isOpen = (datapath: string): boolean =>
    ports.some(
      (port) => port.datapath === datapath && (port.type === "localnet" || port.mac.includes("unknown")),
    );
  for (const router of ports) {
    const peer = byName.get(router.options.get("peer") ?? "");
    const beside = datapaths.find(({ id }) => id === peer?.datapath);
    if (beside?.kind !== "switch" || isOpen(beside.id)) continue;
    const network: Prefix | undefined = networksOf(router).find((each) => prefixContains(each, asked));
    if (network === undefined || asked === network.address || asked === lastIp(network)) continue;
    const own = ports.filter(({ datapath }) => datapath === beside.id).flatMap(({ mac }) => mac);
    const isNamed = (each: string): boolean =>
      each.includes(text) && each.split(/[^\d.:a-f]+/).includes(text);
    const isKnown =
      [...own, ...router.mac].some((each) => isNamed(each)) ||
      loadBalancers.some(({ vips }) =>
        [...vips.keys()].some((vip) => vip === text || vip.startsWith(`${text}:`)),
      ) ||
      flows.some(({ match, stage }) => !/_acl/.test(stage) && isNamed(match));
    if (isKnown) continue;
    const addresses = own.flatMap((each) => each.split(" ").slice(1));
    throw new Failure(
      "bad-usage",
      `no port of ${beside.name} has ${text}, of its range ${formatPrefix(network)}`,
      `Those that there are: ${near("", addresses)}.`,
    );
  }
}

/** Where the packet is to go; undefined for a packet without IP, or to many. */
function destinationOf(packet: Packet): Ip | undefined {
  const fields = new PacketFields(packet);
  if (fields.family === 0) return undefined;
  const ip = (fields.family === 4 ? Number(fields.read("ip4.dst")) : fields.read("ip6.dst")) as Ip;
  return isMulticastIp(ip) ? undefined : ip;
}

function networksOf({ mac }: PortBinding): readonly Prefix[] {
  return mac.flatMap((each) =>
    each.split(" ").flatMap((word) => {
      const address = parseInterfaceAddress(word);
      return address === undefined || !word.includes("/") ? [] : [prefixOf(address.ip, address.length)];
    }),
  );
}
