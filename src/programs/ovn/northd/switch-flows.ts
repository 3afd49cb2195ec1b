/** Logical flows of a switch: who may send, who is where, who answers for whom (ovn-northd(8), "Logical Switch Datapaths"). */
import { parseIpv4, prefixContains } from "#core/net/ip.ts";
import { FlowList, type WrittenFlow } from "./flow-list.ts";
import { isRedirected, ownMacs } from "./distributed-translation-flows.ts";
import { type LogicalSwitch, type NorthboundObjects, type SwitchPort, isOnWire } from "./objects.ts";
import { type AclSummary, addAclStages } from "./acl-flows.ts";
import { answeredVips } from "./translation-flows.ts";
import { addBalancing } from "./balancing-flows.ts";
import type { Dialect } from "./dialect.ts";

const ND = "nd || nd_rs || nd_ra || mldv1 || mldv2";

function addPortSecurity(list: FlowList, { ports }: LogicalSwitch): void {
  list.add("ls_in_check_port_sec", 100, "vlan.present", "drop;");
  list.add("ls_in_check_port_sec", 100, "eth.src[40]", "drop;");
  list.add("ls_in_check_port_sec", 50, "1", "reg0[15] = check_in_port_sec(); next;");
  list.add("ls_in_apply_port_sec", 50, "reg0[15] == 1", "drop;");
  list.add("ls_in_apply_port_sec", 0, "1", "next;");
  for (const { id, name, isEnabled } of ports)
    if (!isEnabled) list.add("ls_in_check_port_sec", 100, `inport == "${name}"`, "drop;", id);
  list.add("ls_out_check_port_sec", 100, "eth.mcast", "reg0[15] = 0; next;");
  list.add("ls_out_check_port_sec", 0, "1", "reg0[15] = check_out_port_sec(); next;");
  for (const { id, name, isEnabled } of ports)
    if (!isEnabled) list.add("ls_out_check_port_sec", 150, `outport == "${name}"`, "drop;", id);
  list.add("ls_out_apply_port_sec", 50, "reg0[15] == 1", "drop;");
  list.add("ls_out_apply_port_sec", 0, "1", "output;");
}

/** MACs behind ports whose addresses nobody wrote down are learned. */
function addLearning(list: FlowList, { ports }: LogicalSwitch): void {
  for (const { id, name, type, hasUnknown, portSecurity } of ports) {
    if (type !== "" || !hasUnknown || portSecurity.length > 0) continue;
    list.add(
      "ls_in_lookup_fdb",
      100,
      `inport == "${name}"`,
      "reg0[11] = lookup_fdb(inport, eth.src); next;",
      id,
    );
    list.add(
      "ls_in_put_fdb",
      100,
      `inport == "${name}" && reg0[11] == 0`,
      "put_fdb(inport, eth.src); next;",
      id,
    );
  }
  list.pass("ls_in_lookup_fdb", "ls_in_put_fdb");
}

/** Which packets are looked up among the connections; those of routers and of the wire are not. */
function addPreStages(
  list: FlowList,
  { ports }: LogicalSwitch,
  hasStateful: boolean,
  hasVips: boolean,
): void {
  const untracked = ports.filter(({ type }) => type === "router" || type === "localnet");
  for (const [stage, direction] of [
    ["ls_in", "inport"],
    ["ls_out", "outport"],
  ] as const) {
    const leaves = direction === "outport" && !hasStateful ? "ct_clear; next;" : "next;";
    if (hasStateful) {
      for (const { id, name } of untracked)
        list.add(`${stage}_pre_acl`, 110, `ip && ${direction} == "${name}"`, leaves, id);
      list.add(`${stage}_pre_acl`, 110, "eth.mcast", "next;");
      list.add(`${stage}_pre_acl`, 110, `${ND} || (udp && udp.src == 546 && udp.dst == 547)`, "next;");
      list.add(`${stage}_pre_acl`, 100, "ip", "reg0[0] = 1; next;");
    }
    list.pass(`${stage}_pre_acl`);
    for (const { id, name } of untracked)
      list.add(`${stage}_pre_lb`, 110, `ip && ${direction} == "${name}"`, leaves, id);
    list.add(`${stage}_pre_lb`, 110, ND, "next;");
    list.add(`${stage}_pre_lb`, 110, "eth.mcast", "next;");
    list.add(`${stage}_pre_lb`, 110, "reg0[16] == 1", "next;");
    if (hasVips) list.add(`${stage}_pre_lb`, 100, "ip", "reg0[2] = 1; next;");
    list.pass(`${stage}_pre_lb`);
  }
}

function answer(mac: string, ip: string): string {
  return `eth.dst = eth.src; eth.src = ${mac}; arp.op = 2; /* ARP reply */ arp.tha = arp.sha; arp.sha = ${mac}; arp.tpa = arp.spa; arp.spa = ${ip}; outport = inport; flags.loopback = 1; output;`;
}

/** The switch answers for all whose addresses it knows, but not to themselves. */
function addResponders(list: FlowList, { ports }: LogicalSwitch): void {
  for (const { id, name, type, ends } of ports) {
    if (type === "localnet") {
      list.add("ls_in_arp_rsp", 100, `inport == "${name}"`, "next;", id);
      continue;
    }
    for (const { mac, ips } of ends)
      for (const ip of ips) {
        const asked = `arp.tpa == ${ip} && arp.op == 1`;
        list.add("ls_in_arp_rsp", 100, `${asked} && inport == "${name}"`, "next;", id);
        list.add("ls_in_arp_rsp", 50, asked, answer(mac, ip), id);
      }
  }
  list.pass("ls_in_arp_rsp");
}

/** Addresses that the router behind a port answers for: its own, and those of load balancers and translations. */
function routerAddresses(port: SwitchPort, { routers }: NorthboundObjects): readonly string[] {
  const name = port.options.get("router-port");
  const own = port.ends.flatMap(({ ips }) => ips);
  const router = routers.find(({ ports }) => ports.some((each) => each.name === name));
  if (router === undefined) return own;
  const networks = router.ports.find((each) => each.name === name)?.networks ?? [];
  const near = answeredVips(router).filter((text) => {
    const ip = parseIpv4(text);
    return ip !== undefined && networks.some(({ prefix }) => prefixContains(prefix, ip));
  });
  const translated = router.translations
    .filter(({ type }) => type !== "snat")
    .map(({ external }) => external);
  return [...new Set([...own, ...near, ...translated])];
}

/** The MACs at a port. Those of a distributed gateway port on the wire are where it is carried out. */
function addMacs(
  list: FlowList,
  { id, name, ends, isEnabled, options }: SwitchPort,
  objects: NorthboundObjects,
): void {
  const to = isEnabled ? `outport = "${name}"; output;` : "drop;";
  const router = objects.routers.find(({ ports }) =>
    ports.some((each) => each.name === options.get("router-port")),
  );
  const behind = router?.ports.find((each) => each.name === options.get("router-port"));
  const isWire = behind !== undefined && isRedirected(behind) && isOnWire(objects, behind);
  const residence = isWire ? ` && is_chassis_resident("cr-${behind.name}")` : "";
  for (const mac of new Set(ends.map((end) => end.mac)))
    list.add("ls_in_l2_lkup", 50, `eth.dst == ${mac}${residence}`, to, id);
  if (router === undefined || behind === undefined) return;
  for (const { mac, resident, id: translation } of ownMacs(router, behind))
    list.add("ls_in_l2_lkup", 50, `eth.dst == ${mac} && is_chassis_resident("${resident}")`, to, translation);
}

function addLookUp(list: FlowList, of: LogicalSwitch, objects: NorthboundObjects): void {
  const hasUnknown = of.ports.some((port) => port.hasUnknown);
  const others = of.ports.some(({ type }) => type !== "router");
  for (const port of of.ports.filter(({ type }) => type === "router")) {
    for (const ip of routerAddresses(port, objects))
      list.add(
        "ls_in_l2_lkup",
        80,
        `flags[1] == 0 && arp.op == 1 && arp.tpa == ${ip}`,
        others
          ? `clone {outport = "${port.name}"; output; }; outport = "_MC_flood_l2"; output;`
          : `outport = "${port.name}"; output;`,
        port.id,
      );
    const macs = port.ends.map(({ mac }) => mac).join(", ");
    list.add(
      "ls_in_l2_lkup",
      75,
      `eth.src == {${macs}} && (arp.op == 1 || rarp.op == 3 || nd_ns)`,
      'outport = "_MC_flood_l2"; output;',
      port.id,
    );
  }
  list.add("ls_in_l2_lkup", 70, "eth.mcast", 'outport = "_MC_flood"; output;');
  for (const port of of.ports) addMacs(list, port, objects);
  list.add("ls_in_l2_lkup", 0, "1", "outport = get_fdb(eth.dst); next;");
  const unknown = hasUnknown ? 'outport = "_MC_unknown"; output;' : "drop;";
  list.add("ls_in_l2_unknown", 50, 'outport == "none"', unknown);
  list.add("ls_in_l2_unknown", 0, "1", "output;");
}

/** Whether packets of a switch have connections. */
export function isTracked({ balancers }: LogicalSwitch, { hasStateful }: AclSummary): boolean {
  return hasStateful || balancers.some(({ vips }) => vips.length > 0);
}

/** All flows of a switch but those of its ACLs, one by one. */
export function switchFlows(
  of: LogicalSwitch,
  objects: NorthboundObjects,
  acls: AclSummary,
  dialect: Dialect,
): readonly WrittenFlow[] {
  const list = new FlowList("ls_in", "ls_out");
  const hasVips = of.balancers.some(({ vips }) => vips.length > 0);
  addPortSecurity(list, of);
  addLearning(list, of);
  addPreStages(list, of, acls.hasStateful, hasVips);
  addAclStages(list, acls.hasAny, isTracked(of, acls), dialect);
  addBalancing(list, of, hasVips, dialect);
  addResponders(list, of);
  addLookUp(list, of, objects);
  list.pass(
    "ls_in_qos_mark",
    "ls_in_qos_meter",
    "ls_in_dhcp_options",
    "ls_in_dhcp_response",
    "ls_in_dns_lookup",
    "ls_in_dns_response",
    "ls_in_external_port",
    "ls_out_qos_mark",
    "ls_out_qos_meter",
  );
  return list.flows;
}
