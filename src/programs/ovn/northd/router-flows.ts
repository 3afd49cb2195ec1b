/** Logical flows of a router: admission, its own addresses, routes, neighbours (ovn-northd(8), "Logical Router Datapaths"). */
import { formatPrefix, parseIpv4, prefixContains } from "#core/net/ip.ts";
import type { Dialect } from "./dialect.ts";
import { addDistributedTranslations, isRedirected, ownMacs } from "./distributed-translation-flows.ts";
import { FlowList, type WrittenFlow } from "./flow-list.ts";
import {
  type LogicalRouter,
  type NorthboundObjects,
  type RouterPort,
  broadcastOf,
  isOnWire,
} from "./objects.ts";
import { addPacketLengths, lengthCheck } from "./packet-length-flows.ts";
import { ARP_ANSWER, addTranslations, sourceAddresses, translatedAddresses } from "./translation-flows.ts";

/** Bound to one chassis (`options:chassis`). */
export function isGateway({ options }: LogicalRouter): boolean {
  return options.has("chassis");
}

function residence(port: RouterPort): string {
  return isRedirected(port) ? ` && is_chassis_resident("cr-${port.name}")` : "";
}

function addAdmission(list: FlowList, router: LogicalRouter): void {
  list.add("lr_in_admission", 100, "vlan.present || eth.src[40]", "drop;");
  for (const port of router.ports) {
    const keep = `${lengthCheck(port)}xreg0[0..47] = ${port.mac}; next;`;
    list.add("lr_in_admission", 50, `eth.mcast && inport == "${port.name}"`, keep, port.id);
    const own = `eth.dst == ${port.mac} && inport == "${port.name}"${residence(port)}`;
    list.add("lr_in_admission", 50, own, keep, port.id);
    for (const { mac, resident, id } of ownMacs(router, port)) {
      const translated = `eth.dst == ${mac} && inport == "${port.name}" && is_chassis_resident("${resident}")`;
      list.add("lr_in_admission", 50, translated, keep, id);
    }
  }
  list.add("lr_in_admission", 0, "1", "drop;");
}

/** What is learned from ARP: with `always_learn_from_arp_request=false` only what was asked for, or is known already. */
function addLearning(list: FlowList, { ports, options }: LogicalRouter): void {
  const learnsAlways = options.get("always_learn_from_arp_request") !== "false";
  const isKnown = "reg9[2] = lookup_arp(inport, arp.spa, arp.sha);";
  list.add(
    "lr_in_lookup_neighbor",
    100,
    "arp.op == 2",
    `${isKnown}${learnsAlways ? "" : " reg9[3] = 1;"} next;`,
  );
  for (const port of ports)
    for (const { ip, prefix } of port.networks) {
      const from = `inport == "${port.name}" && arp.spa == ${formatPrefix(prefix)}`;
      const actions = learnsAlways
        ? `${isKnown} next;`
        : `${isKnown} reg9[3] = lookup_arp_ip(inport, arp.spa); next;`;
      list.add("lr_in_lookup_neighbor", 100, `${from} && arp.op == 1${residence(port)}`, actions, port.id);
      if (!learnsAlways)
        list.add(
          "lr_in_lookup_neighbor",
          110,
          `${from} && arp.tpa == ${ip} && arp.op == 1${residence(port)}`,
          `${isKnown} reg9[3] = 1; next;`,
          port.id,
        );
    }
  list.add("lr_in_lookup_neighbor", 0, "1", "reg9[2] = 1; next;");
  list.add(
    "lr_in_learn_neighbor",
    100,
    learnsAlways ? "reg9[2] == 1" : "reg9[2] == 1 || reg9[3] == 0",
    "next;",
  );
  list.add("lr_in_learn_neighbor", 90, "arp", "put_arp(inport, arp.spa, arp.sha); next;");
  list.add("lr_in_learn_neighbor", 0, "1", "drop;");
}

/** What the router itself answers to whom talks to it. */
function addUnreachable(list: FlowList, ip: string, id: string): void {
  const to = `ip4 && ip4.dst == ${ip} && !ip.later_frag`;
  const back = "eth.dst <-> eth.src; ip4.dst <-> ip4.src;";
  const unreachable = (code: number): string =>
    `icmp4 {${back} ip.ttl = 255; icmp4.type = 3; icmp4.code = ${code}; next; };`;
  list.add("lr_in_ip_input", 80, `${to} && udp`, unreachable(3), id);
  list.add("lr_in_ip_input", 80, `${to} && tcp`, `tcp_reset {${back} next; };`, id);
  list.add("lr_in_ip_input", 80, `${to} && sctp`, `sctp_abort {${back} next; };`, id);
  list.add("lr_in_ip_input", 70, to, unreachable(2), id);
}

function addInputOf(
  list: FlowList,
  router: LogicalRouter,
  port: RouterPort,
  objects: NorthboundObjects,
): void {
  const isPlain = !isGateway(router) && !router.ports.some(isRedirected);
  const translated = translatedAddresses(router);
  // On the wire one chassis alone answers; elsewhere each does for its own pods.
  const onWire = isOnWire(objects, port) ? residence(port) : "";
  for (const { ip, prefix } of port.networks) {
    const sources = `ip4.src == {${ip}, ${broadcastOf(prefix)}} && reg9[0] == 0`;
    list.add("lr_in_ip_input", 100, sources, "drop;", port.id);
    const asked = `inport == "${port.name}" && arp.op == 1 && arp.tpa == ${ip} && arp.spa == ${formatPrefix(prefix)}${onWire}`;
    list.add("lr_in_ip_input", 90, asked, ARP_ANSWER, port.id);
    list.add(
      "lr_in_ip_input",
      90,
      `ip4.dst == ${ip} && icmp4.type == 8 && icmp4.code == 0`,
      "ip4.dst <-> ip4.src; ip.ttl = 255; icmp4.type = 0; flags.loopback = 1; next; ",
      port.id,
    );
    if (isPlain) addUnreachable(list, ip, port.id);
    if (!translated.has(ip)) list.add("lr_in_ip_input", 60, `ip4.dst == {${ip}}`, "drop;", port.id);
    const turned = isRedirected(port) ? "ip4.dst <-> ip4.src ;" : `ip4.dst = ip4.src; ip4.src = ${ip} ;`;
    list.add(
      "lr_in_ip_input",
      31,
      `inport == "${port.name}" && ip4 && ip.ttl == {0, 1} && !ip.later_frag`,
      `icmp4 {eth.dst <-> eth.src; icmp4.type = 11; /* Time exceeded */ icmp4.code = 0; /* TTL exceeded in transit */ ${turned} ip.ttl = 254; outport = "${port.name}"; flags.loopback = 1; output; };`,
      port.id,
    );
  }
}

function addInput(list: FlowList, router: LogicalRouter, objects: NorthboundObjects): void {
  const strange =
    "ip4.src_mcast ||ip4.src == 255.255.255.255 || ip4.src == 127.0.0.0/8 || ip4.dst == 127.0.0.0/8 || ip4.src == 0.0.0.0/8 || ip4.dst == 0.0.0.0/8";
  list.add("lr_in_ip_input", 100, strange, "drop;");
  for (const port of router.ports) addInputOf(list, router, port, objects);
  list.add("lr_in_ip_input", 85, "arp || nd", "drop;");
  list.add("lr_in_ip_input", 82, "ip4.mcast || ip6.mcast", "drop;");
  list.add("lr_in_ip_input", 50, "eth.bcast", "drop;");
  list.add("lr_in_ip_input", 30, "ip.ttl == {0, 1}", "drop;");
  list.pass("lr_in_ip_input");
}

interface Way {
  readonly priority: number;
  readonly match: string;
  /** `ip4.dst`, or an address. */
  readonly nextHop: string;
  readonly port: RouterPort;
  readonly source: string;
  readonly id: string;
}

function forward({ nextHop, source, port }: Way): string {
  return `ip.ttl--; reg8[0..15] = 0; reg0 = ${nextHop}; reg1 = ${source}; eth.src = ${port.mac}; outport = "${port.name}"; flags.loopback = 1; next;`;
}

/** The port that an address is a neighbour at. */
function portTo({ ports }: LogicalRouter, address: string): { port: RouterPort; source: string } | undefined {
  const ip = parseIpv4(address);
  if (ip === undefined) return undefined;
  for (const port of ports)
    for (const network of port.networks)
      if (prefixContains(network.prefix, ip)) return { port, source: network.ip };
  return undefined;
}

/** Priority: three times the length of the prefix, and one more for a route, two for a network of its own. */
function ways(router: LogicalRouter): readonly Way[] {
  const connected = router.ports.flatMap((port) =>
    port.networks.map(({ ip, prefix }): Way => {
      const match = `ip4.dst == ${formatPrefix(prefix)}`;
      return { priority: 3 * prefix.length + 2, match, nextHop: "ip4.dst", port, source: ip, id: port.id };
    }),
  );
  const routed = router.routes.flatMap(({ id, prefix, isSource, nextHop, port: name }) => {
    const named = router.ports.find((port) => port.name === name);
    const found =
      named === undefined ? portTo(router, nextHop) : { port: named, source: named.networks[0]?.ip ?? "" };
    if (found === undefined) return [];
    const match = `${isSource ? "ip4.src" : "reg7 == 0 && ip4.dst"} == ${formatPrefix(prefix)}`;
    return [{ priority: 3 * prefix.length + (isSource ? 0 : 1), match, nextHop, id, ...found }];
  });
  return [...connected, ...routed];
}

function addRouting(list: FlowList, router: LogicalRouter): void {
  list.add("lr_in_ip_routing_pre", 0, "1", "reg7 = 0; next;");
  for (const way of ways(router)) list.add("lr_in_ip_routing", way.priority, way.match, forward(way), way.id);
  list.add("lr_in_ip_routing", 0, "1", "drop;");
  for (const stage of ["lr_in_ip_routing_ecmp", "lr_in_policy_ecmp"]) {
    list.add(stage, 150, "reg8[0..15] == 0", "next;");
    list.add(stage, 0, "1", "drop;");
  }
  for (const { id, priority, match, action, nextHops } of router.policies) {
    const [nextHop = ""] = nextHops;
    const found = portTo(router, nextHop);
    if (action === "drop") list.add("lr_in_policy", priority, match, "drop;", id);
    else if (action === "allow") list.add("lr_in_policy", priority, match, "reg8[0..15] = 0; next;", id);
    else if (found !== undefined)
      list.add(
        "lr_in_policy",
        priority,
        match,
        `reg0 = ${nextHop}; reg1 = ${found.source}; eth.src = ${found.port.mac}; outport = "${found.port.name}"; flags.loopback = 1; reg8[0..15] = 0; next;`,
        id,
      );
  }
  list.add("lr_in_policy", 0, "1", "reg8[0..15] = 0; next;");
}

/** Neighbours whose addresses the northbound database has need no ARP: those of the switch at each port. */
function addNeighbours(
  list: FlowList,
  router: LogicalRouter,
  { switches, routers }: NorthboundObjects,
): void {
  const isDynamic = router.options.get("dynamic_neigh_routers") === "true";
  list.add("lr_in_arp_resolve", 500, "ip4.mcast || ip6.mcast", "next;");
  for (const port of router.ports) {
    const beside = switches.find(({ ports }) => ports.some(({ name }) => name === port.peer));
    for (const neighbour of beside?.ports ?? []) {
      if (neighbour.name === port.peer) continue;
      const other = routers.find(({ ports }) =>
        ports.some(({ name }) => name === neighbour.options.get("router-port")),
      );
      if (other !== undefined && isDynamic) continue;
      for (const { mac, ips } of neighbour.ends)
        for (const ip of ips)
          list.add(
            "lr_in_arp_resolve",
            100,
            `outport == "${port.name}" && reg0 == ${ip}`,
            `eth.dst = ${mac}; next;`,
            neighbour.id,
          );
    }
  }
  const own = sourceAddresses(router);
  for (const port of router.ports)
    for (const { ip } of port.networks)
      if (own.has(ip)) list.add("lr_in_arp_resolve", 2, `ip4.dst == {${ip}}`, "drop;", port.id);
  list.add("lr_in_arp_resolve", 1, "ip4", "get_arp(outport, reg0); next;");
  list.add("lr_in_arp_resolve", 0, "1", "drop;");
  list.add(
    "lr_in_arp_request",
    100,
    "eth.dst == 00:00:00:00:00:00 && ip4",
    "arp { eth.dst = ff:ff:ff:ff:ff:ff; arp.spa = reg1; arp.tpa = reg0; arp.op = 1; output; };",
  );
  list.add("lr_in_arp_request", 0, "1", "output;");
}

/** All flows of a router. */
export function routerFlows(
  router: LogicalRouter,
  objects: NorthboundObjects,
  dialect: Dialect,
  balancedAddresses: string,
): readonly WrittenFlow[] {
  const list = new FlowList("lr_in", "lr_out");
  addAdmission(list, router);
  addLearning(list, router);
  addInput(list, router, objects);
  addTranslations(list, router, dialect, balancedAddresses);
  if (!isGateway(router)) addDistributedTranslations(list, router, dialect);
  addRouting(list, router);
  addNeighbours(list, router, objects);
  addPacketLengths(list, router);
  for (const port of router.ports.filter(isRedirected))
    list.add(
      "lr_in_gw_redirect",
      50,
      `outport == "${port.name}"`,
      `outport = "cr-${port.name}"; next;`,
      port.id,
    );
  list.pass("lr_in_ecmp_stateful", "lr_in_nd_ra_options", "lr_in_nd_ra_response", "lr_in_gw_redirect");
  for (const port of router.ports)
    list.add("lr_out_delivery", 100, `outport == "${port.name}"`, "output;", port.id);
  list.add("lr_out_delivery", 0, "1", "drop;");
  list.pass("lr_out_post_snat", "lr_out_egr_loop");
  return list.flows;
}
