/**
 * Translations of a router that every chassis runs, at its distributed gateway port: what leaves and comes in there is translated on the
 * chassis that has `cr-PORT`, or where the pod is, for a translation with a port and a MAC of its own (ovn-northd(8), "UNSNAT on
 * Distributed Routers" and what follows; texts as ovn-northd 23.03 writes them).
 */
import { formatIp } from "#core/net/ip.ts";
import type { Dialect } from "./dialect.ts";
import type { FlowList } from "./flow-list.ts";
import type { LogicalRouter, RouterPort, Translation } from "./objects.ts";
import { ARP_ANSWER, networkText } from "./translation-flows.ts";

/** Above those of a gateway router, whose priority is the length of the prefix and one. */
const DISTRIBUTED_PRIORITY = 128;

/** A translation, and where it is done. */
interface Placed {
  readonly translation: Translation;
  readonly port: RouterPort;
  /** The port on whose chassis it is done. */
  readonly resident: string;
  /** Each chassis translates for its own pods, with this MAC. */
  readonly mac: string | undefined;
}

/** A port that only one chassis at a time carries out: `cr-…`. */
export function isRedirected({ gatewayChassis }: RouterPort): boolean {
  return gatewayChassis.length > 0;
}

function placedOf({ ports, translations }: LogicalRouter): readonly Placed[] {
  const redirected = ports.filter(isRedirected);
  return translations.flatMap((translation) => {
    const { logicalPort, externalMac, gatewayPort, type } = translation;
    const named = redirected.find(({ id }) => id === gatewayPort);
    // Of several ports a translation has to name its own.
    const port = named ?? (redirected.length === 1 ? redirected[0] : undefined);
    if (port === undefined) return [];
    const isOwn = type === "dnat_and_snat" && logicalPort !== undefined && externalMac !== undefined;
    const resident = isOwn ? logicalPort : `cr-${port.name}`;
    return [{ translation, port, resident, mac: isOwn ? externalMac : undefined }];
  });
}

/** The MAC of a translation, and of which address. */
export interface OwnMac {
  readonly mac: string;
  readonly external: string;
  readonly resident: string;
  readonly id: string;
}

/** Translations whose MAC is their own: the switch beside the port has to know it. */
export function ownMacs(router: LogicalRouter, port: RouterPort): readonly OwnMac[] {
  return placedOf(router).flatMap(({ mac, resident, port: at, translation }) =>
    mac === undefined || at !== port
      ? []
      : [{ mac, resident, external: translation.external, id: translation.id }],
  );
}

function addBack(list: FlowList, { translation, port, resident, mac }: Placed): void {
  const { id, type, external, logical } = translation;
  const residence = mac === undefined ? ` && is_chassis_resident("${resident}")` : "";
  const comes = `ip && ip4.dst == ${external} && inport == "${port.name}"`;
  if (type !== "dnat") {
    list.add("lr_in_unsnat", 100, `${comes} && flags.loopback == 0${residence}`, "ct_snat_in_czone;", id);
    const turned = `${comes} && flags.loopback == 1 && flags.use_snat_zone == 1${residence}`;
    list.add("lr_in_unsnat", 100, turned, "ct_snat;", id);
  }
  if (type === "snat") return;
  const ip = formatIp(logical.address);
  list.add("lr_in_dnat", 100, `${comes}${residence}`, `ct_dnat_in_czone(${ip});`, id);
  const leaves = `ip && ip4.src == ${ip} && outport == "${port.name}"${residence}`;
  list.add("lr_out_undnat", 100, leaves, `${sourceMac(mac)}ct_dnat_in_czone;`, id);
}

function sourceMac(mac: string | undefined): string {
  return mac === undefined ? "" : `eth.src = ${mac}; `;
}

function addSource(list: FlowList, { translation, port, resident, mac }: Placed): void {
  const { id, type, external, logical } = translation;
  if (type === "dnat") return;
  const match = `ip && ip4.src == ${networkText(logical)} && outport == "${port.name}" && is_chassis_resident("${resident}")`;
  const priority = logical.length + 1 + DISTRIBUTED_PRIORITY;
  list.add("lr_out_snat", priority, match, `${sourceMac(mac)}ct_snat_in_czone(${external});`, id);
  const local = `${sourceMac(mac)}reg9[4] = 0; ct_snat(${external});`;
  list.add("lr_out_snat", priority + 1, `${match} && reg9[4] == 1`, local, id);
}

/** Who asks for the address of a translation, and who sends to it. */
function addExternal(list: FlowList, { translation, port, resident, mac }: Placed): void {
  const { id, external, logical } = translation;
  const residence = `is_chassis_resident("${resident}")`;
  const asked = `inport == "${port.name}" && arp.op == 1 && arp.tpa == ${external}`;
  list.add("lr_in_ip_input", 90, `arp.op == 1 && arp.tpa == ${external}`, ARP_ANSWER, id);
  list.add("lr_in_ip_input", 91, asked, "drop;", id);
  const answer = mac === undefined ? ARP_ANSWER : ARP_ANSWER.replaceAll("xreg0[0..47]", mac);
  list.add("lr_in_ip_input", 92, `${asked} && ${residence}`, answer, id);
  list.add(
    "lr_out_chk_dnat_local",
    50,
    `ip && ip4.dst == ${external} && ${residence}`,
    "reg9[4] = 1; next;",
    id,
  );
  const turns = `ip4.dst == ${external} && outport == "${port.name}" && ${residence}`;
  list.add("lr_out_egr_loop", 100, turns, turnRound(), id);
  const known = `outport == "${port.name}" && reg0 == ${external}`;
  list.add("lr_in_arp_resolve", 100, known, `eth.dst = ${mac ?? port.mac}; next;`, id);
  const hairpin = `inport == "${port.name}" && outport == "${port.name}" && ip4.dst == ${external}`;
  list.add("lr_in_arp_resolve", 150, hairpin, "drop;", id);
  if (mac === undefined) return;
  const stays = `ip4.src == ${formatIp(logical.address)} && outport == "${port.name}" && ${residence}`;
  list.add("lr_in_gw_redirect", 100, stays, `eth.src = ${mac}; reg1 = ${external}; next;`, id);
}

/** A packet to a translated address that would leave comes in again at the port, with nothing of before. */
function turnRound(): string {
  const registers = Array.from({ length: 10 }, (_, index) => `reg${index} = 0; `).join("");
  return `clone { ct_clear; inport = outport; outport = ""; eth.dst <-> eth.src; flags = 0; flags.loopback = 1; flags.use_snat_zone = reg9[4]; ${registers}reg9[0] = 1; next(pipeline=ingress, table=0); };`;
}

export function addDistributedTranslations(list: FlowList, router: LogicalRouter, { mark }: Dialect): void {
  const placed = placedOf(router);
  const [first] = placed;
  if (first === undefined) return;
  const externals = new Set<string>();
  for (const each of placed) {
    addBack(list, each);
    addSource(list, each);
    const { external } = each.translation;
    if (!externals.has(external)) addExternal(list, each);
    externals.add(external);
  }
  // What was translated to an address of the port comes in from outside with it, and is no forgery.
  for (const port of new Set(placed.map((each) => each.port)))
    for (const { ip } of port.networks)
      if (placed.some(({ translation: { type, external } }) => type !== "dnat" && external === ip))
        list.add("lr_in_ip_input", 120, `inport == "${port.name}" && ip4.src == ${ip}`, "next;", port.id);
  list.add("lr_out_chk_dnat_local", 50, `ip && ${mark}.natted == 1`, "reg9[4] = 1; next;");
  list.add("lr_out_snat", 120, "nd_ns", "next;");
}
