/** Logical flows of load balancers on switches, and of connections there (ovn-northd(8), "LB", "Hairpin"). */
import { placeOfRefusal } from "./acl-flows.ts";
import type { Dialect } from "./dialect.ts";
import type { FlowList } from "./flow-list.ts";
import type { Balancer, LogicalSwitch, Vip } from "./objects.ts";

const REFUSAL = `reg0 = 0; reject { outport <-> inport; next(${placeOfRefusal("ls_in_lb")});};`;

/** `tcp.dst == 80`; nothing for a VIP of all ports. */
export function portMatch({ port }: Vip, protocol: string): string {
  return port === 0 ? "" : ` && ${protocol}.dst == ${port}`;
}

/** Flows that keep a client with its back end: look up, use, learn. */
function addAffinity(list: FlowList, { balance }: Dialect, balancer: Balancer, vip: Vip): void {
  const { id, protocol, affinitySeconds } = balancer;
  const chosen = `ct.new && ip4 && reg1 == ${vip.ip} && reg2[0..15] == ${vip.port}`;
  list.add("ls_in_lb_aff_check", 100, chosen, "reg9[6] = chk_lb_aff(); next;", id);
  for (const backEnd of vip.backEnds) {
    const [ip = "", port = ""] = backEnd.split(":");
    list.add(
      "ls_in_lb",
      150,
      `reg9[6] == 1 && ct.new && ip4 && reg4 == ${ip} && reg8[0..15] == ${port}`,
      `reg0[1] = 0; reg1 = ${vip.ip}; reg2[0..15] = ${vip.port}; ${balance}(backends=${backEnd});`,
      id,
    );
    list.add(
      "ls_in_lb_aff_learn",
      100,
      `reg9[6] == 0 && ${chosen} && ip4.dst == ${ip} && ${protocol}.dst == ${port}`,
      `commit_lb_aff(vip = "${vip.ip}:${vip.port}", backend = "${backEnd}", proto = ${protocol}, timeout = ${affinitySeconds}); /* drop */`,
      id,
    );
  }
}

function addVip(list: FlowList, dialect: Dialect, balancer: Balancer, vip: Vip): void {
  const { id, protocol, rejects, affinitySeconds } = balancer;
  const to = `ip4.dst == ${vip.ip}${portMatch(vip, protocol)}`;
  const keeps = vip.port === 0 ? `reg1 = ${vip.ip};` : `reg1 = ${vip.ip}; reg2[0..15] = ${vip.port};`;
  list.add("ls_in_pre_stateful", 120, `reg0[2] == 1 && ${to}`, `${keeps} ${dialect.balance};`, id);
  const priority = vip.port === 0 ? 110 : 120;
  if (vip.backEnds.length === 0) {
    list.add("ls_in_lb", priority, `ct.new && ${to}`, rejects ? REFUSAL : "drop;", id);
    return;
  }
  const balance = `${dialect.balance}(backends=${vip.backEnds.join(",")});`;
  list.add("ls_in_lb", priority, `ct.new && ${to}`, `reg0[1] = 0; ${balance}`, id);
  if (affinitySeconds > 0 && vip.port !== 0) addAffinity(list, dialect, balancer, vip);
}

/** A back end that its own service leads to itself. */
function addHairpin(list: FlowList): void {
  list.add(
    "ls_in_pre_hairpin",
    100,
    "ip && ct.trk",
    "reg0[6] = chk_lb_hairpin(); reg0[12] = chk_lb_hairpin_reply(); next;",
  );
  list.add("ls_in_nat_hairpin", 100, "ip && ct.est && ct.trk && reg0[6] == 1", "ct_snat;");
  list.add("ls_in_nat_hairpin", 100, "ip && ct.new && ct.trk && reg0[6] == 1", "ct_snat_to_vip; next;");
  list.add("ls_in_nat_hairpin", 90, "ip && reg0[12] == 1", "ct_snat;");
  list.add(
    "ls_in_hairpin",
    1,
    "(reg0[6] == 1 || reg0[12] == 1)",
    "eth.dst <-> eth.src; outport = inport; flags.loopback = 1; output;",
  );
}

/** Connections and load balancers of a switch. */
export function addBalancing(list: FlowList, of: LogicalSwitch, hasVips: boolean, dialect: Dialect): void {
  for (const stage of ["ls_in_pre_stateful", "ls_out_pre_stateful"]) {
    list.add(stage, 110, "reg0[2] == 1", `${dialect.balance};`);
    list.add(stage, 100, "reg0[0] == 1", "ct_next;");
    list.pass(stage);
  }
  for (const balancer of of.balancers) for (const vip of balancer.vips) addVip(list, dialect, balancer, vip);
  if (hasVips) addHairpin(list);
  list.pass("ls_in_lb_aff_check", "ls_in_lb", "ls_in_lb_aff_learn");
  list.pass("ls_in_pre_hairpin", "ls_in_nat_hairpin", "ls_in_hairpin");
}
