/** Logical flows of a router's translations and load balancers (ovn-northd(8), "UNSNAT", "DNAT", "SNAT"). */
import { type Prefix, formatIp, formatPrefix, parseIpv4, prefixContains } from "#core/net/ip.ts";
import { portMatch } from "./balancing-flows.ts";
import type { Dialect } from "./dialect.ts";
import type { FlowList } from "./flow-list.ts";
import type { Balancer, LogicalRouter, RouterPort, Vip } from "./objects.ts";
import { tableOf } from "./stages.ts";

/** Who asks for an address of the router hears the MAC of the port that it was asked at. */
export const ARP_ANSWER =
  "eth.dst = eth.src; eth.src = xreg0[0..47]; arp.op = 2; /* ARP reply */ arp.tha = arp.sha; arp.sha = xreg0[0..47]; arp.tpa <-> arp.spa; outport = inport; flags.loopback = 1; output;";

/** What balanced connections get as their source: the address of the port where they leave (`lb_force_snat_ip=router_ip`). */
function isForced({ options }: LogicalRouter): boolean {
  return options.get("lb_force_snat_ip") === "router_ip";
}

/** A host stands without its length. */
export function networkText(prefix: Prefix): string {
  return prefix.length === 32 ? formatIp(prefix.address) : formatPrefix(prefix);
}

/** VIPs that somebody beside the router asks for by ARP: those in its networks. */
export function answeredVips({ balancers, ports }: LogicalRouter): readonly string[] {
  const networks = ports.flatMap((port) => port.networks.map(({ prefix }) => prefix));
  const vips = new Set(balancers.flatMap((balancer) => balancer.vips.map(({ ip }) => ip)));
  return [...vips].filter((text) => {
    const ip = parseIpv4(text);
    return ip !== undefined && networks.some((network) => prefixContains(network, ip));
  });
}

function addressesOf({ networks }: RouterPort): readonly string[] {
  return networks.map(({ ip }) => ip);
}

/** Addresses that sources are translated to. */
export function sourceAddresses({ translations }: LogicalRouter): ReadonlySet<string> {
  return new Set(translations.filter(({ type }) => type !== "dnat").map(({ external }) => external));
}

/** Addresses of the router that answers to translated connections come back to. */
export function translatedAddresses(router: LogicalRouter): ReadonlySet<string> {
  return new Set([
    ...sourceAddresses(router),
    ...(isForced(router) ? router.ports.flatMap(addressesOf) : []),
  ]);
}

function addAffinity(
  list: FlowList,
  { balance }: Dialect,
  balancer: Balancer,
  vip: Vip,
  snat: { flag: string; option: string },
): void {
  const { id, protocol, affinitySeconds } = balancer;
  const to = `ct.new && !ct.rel && ip4 && ip4.dst == ${vip.ip} && ${protocol} && ${protocol}.dst == ${vip.port}`;
  list.add(
    "lr_in_lb_aff_check",
    100,
    to,
    `reg0 = ip4.dst; reg9[16..31] = ${protocol}.dst; reg9[6] = chk_lb_aff(); next;`,
    id,
  );
  for (const backEnd of vip.backEnds) {
    const [ip = "", port = ""] = backEnd.split(":");
    list.add(
      "lr_in_dnat",
      150,
      `reg9[6] == 1 && ct.new && ip4 && reg4 == ${ip} && reg8[0..15] == ${port}`,
      `reg0 = ${vip.ip}; ${snat.flag}${balance}(backends=${backEnd}${snat.option});`,
      id,
    );
    list.add(
      "lr_in_lb_aff_learn",
      100,
      `reg9[6] == 0 && ct.new && ip4 && reg0 == ${vip.ip} && reg9[16..31] == ${vip.port} && ip4.dst == ${ip} && ${protocol}.dst == ${port}`,
      `commit_lb_aff(vip = "${vip.ip}:${vip.port}", backend = "${backEnd}", proto = ${protocol}, timeout = ${affinitySeconds}); /* drop */`,
      id,
    );
  }
}

function addBalancer(list: FlowList, router: LogicalRouter, dialect: Dialect, balancer: Balancer): void {
  const { id, protocol, rejects, skipsSnat, affinitySeconds } = balancer;
  const snat = skipsSnat
    ? { flag: "flags.skip_snat_for_lb = 1; ", option: "; skip_snat" }
    : isForced(router)
      ? { flag: "flags.force_snat_for_lb = 1; ", option: "; force_snat" }
      : { flag: "", option: "" };
  for (const vip of balancer.vips) {
    const proto = vip.port === 0 ? "" : ` && ${protocol}`;
    const to = `ct.new && !ct.rel && ip4 && ip4.dst == ${vip.ip}${proto}${portMatch(vip, protocol)}`;
    const priority = vip.port === 0 ? 110 : 120;
    const back = `pipeline=egress,table=${tableOf("lr_out_snat")}`;
    const refusal = rejects
      ? `${snat.flag}reg0 = 0; reject { outport <-> inport; next(${back});};`
      : `${snat.flag}drop;`;
    const option = dialect.commitNat ? snat.option : "";
    const balance = `${snat.flag}${dialect.balance}(backends=${vip.backEnds.join(",")}${option});`;
    list.add("lr_in_dnat", priority, to, vip.backEnds.length === 0 ? refusal : balance, id);
    if (affinitySeconds > 0 && vip.port !== 0) addAffinity(list, dialect, balancer, vip, snat);
    if (translatedAddresses(router).has(vip.ip))
      list.add(
        "lr_in_unsnat",
        120,
        `ip4 && ip4.dst == ${vip.ip}${proto}${portMatch(vip, protocol)}`,
        "next;",
        id,
      );
  }
}

/** Connections that were balanced before. */
function addBalanced(list: FlowList, { mark, commitNat }: Dialect): void {
  const known = `ct.est && !ct.rel && !ct.new && ${mark}.natted`;
  for (const kind of ["skip_snat", "force_snat"]) {
    list.add("lr_in_dnat", 70, `${known} && ${mark}.${kind} == 1`, `flags.${kind}_for_lb = 1; next;`);
    if (commitNat)
      list.add(
        "lr_in_dnat",
        70,
        `ct.rel && !ct.est && !ct.new && ${mark}.${kind} == 1`,
        `flags.${kind}_for_lb = 1; ct_commit_nat;`,
      );
  }
  list.add("lr_in_dnat", 50, known, "next;");
  if (commitNat) list.add("lr_in_dnat", 50, "ct.rel && !ct.est && !ct.new", "ct_commit_nat;");
}

function addSources(list: FlowList, router: LogicalRouter): void {
  for (const { id, type, external, logical } of router.translations) {
    if (type !== "dnat") {
      list.add("lr_in_unsnat", 90, `ip && ip4.dst == ${external}`, "ct_snat;", id);
      list.add(
        "lr_out_snat",
        logical.length + 1,
        `ip && ip4.src == ${networkText(logical)} && (!ct.trk || !ct.rpl)`,
        `ct_snat(${external});`,
        id,
      );
    }
    if (type !== "snat") {
      const ip = formatIp(logical.address);
      list.add("lr_in_dnat", 100, `ip && ip4.dst == ${external}`, `flags.loopback = 1; ct_dnat(${ip});`, id);
    }
    list.add("lr_in_ip_input", 90, `arp.op == 1 && arp.tpa == ${external}`, ARP_ANSWER, id);
  }
  if (!isForced(router)) return;
  for (const port of router.ports)
    for (const ip of addressesOf(port)) {
      list.add("lr_in_unsnat", 110, `inport == "${port.name}" && ip4.dst == ${ip}`, "ct_snat;", port.id);
      const leaving = `flags.force_snat_for_lb == 1 && ip4 && outport == "${port.name}"`;
      list.add("lr_out_snat", 110, leaving, `ct_snat(${ip});`, port.id);
    }
}

/** Translations and load balancers of a gateway router. `balanced`: the address set of its VIPs. */
export function addTranslations(
  list: FlowList,
  router: LogicalRouter,
  dialect: Dialect,
  balanced: string,
): void {
  const vips = router.balancers.flatMap((balancer) => balancer.vips);
  const isUsed = router.options.has("chassis") && (vips.length > 0 || router.translations.length > 0);
  if (isUsed) {
    for (const ip of new Set(vips.map((vip) => vip.ip)))
      list.add("lr_in_defrag", 100, `ip && ip4.dst == ${ip}`, "ct_dnat;");
    for (const balancer of router.balancers) addBalancer(list, router, dialect, balancer);
    if (vips.length > 0) addBalanced(list, dialect);
    for (const port of answeredVips(router).length > 0 ? router.ports : [])
      list.add(
        "lr_in_ip_input",
        90,
        `inport == "${port.name}" && arp.op == 1 && arp.tpa == $${balanced}`,
        ARP_ANSWER,
        port.id,
      );
    addSources(list, router);
    list.add("lr_out_chk_dnat_local", 50, `ip && ${dialect.mark}.natted == 1`, "reg9[4] = 1; next;");
    list.add("lr_out_undnat", 100, "nd || nd_rs || nd_ra", "next;");
    list.add("lr_out_undnat", 50, "ip", "flags.loopback = 1; ct_dnat;");
    list.add("lr_out_post_undnat", 50, "ip && ct.new", "ct_commit { } ; next; ");
    list.add("lr_out_snat", 120, "nd_ns", "next;");
  }
  list.add("lr_out_chk_dnat_local", 0, "1", "reg9[4] = 0; next;");
  list.pass("lr_in_unsnat", "lr_in_defrag", "lr_in_lb_aff_check", "lr_in_dnat", "lr_in_lb_aff_learn");
  list.pass("lr_out_undnat", "lr_out_post_undnat", "lr_out_snat");
}
