/** Stages of the logical pipelines in the order of OVN 23.03 (ovn-northd(8)): a stage's place is its table. */

const STAGES = {
  ls_in: [
    "check_port_sec",
    "apply_port_sec",
    "lookup_fdb",
    "put_fdb",
    "pre_acl",
    "pre_lb",
    "pre_stateful",
    "acl_hint",
    "acl",
    "qos_mark",
    "qos_meter",
    "lb_aff_check",
    "lb",
    "lb_aff_learn",
    "pre_hairpin",
    "nat_hairpin",
    "hairpin",
    "acl_after_lb",
    "stateful",
    "arp_rsp",
    "dhcp_options",
    "dhcp_response",
    "dns_lookup",
    "dns_response",
    "external_port",
    "l2_lkup",
    "l2_unknown",
  ],
  ls_out: [
    "pre_acl",
    "pre_lb",
    "pre_stateful",
    "acl_hint",
    "acl",
    "qos_mark",
    "qos_meter",
    "stateful",
    "check_port_sec",
    "apply_port_sec",
  ],
  lr_in: [
    "admission",
    "lookup_neighbor",
    "learn_neighbor",
    "ip_input",
    "unsnat",
    "defrag",
    "lb_aff_check",
    "dnat",
    "lb_aff_learn",
    "ecmp_stateful",
    "nd_ra_options",
    "nd_ra_response",
    "ip_routing_pre",
    "ip_routing",
    "ip_routing_ecmp",
    "policy",
    "policy_ecmp",
    "arp_resolve",
    "chk_pkt_len",
    "larger_pkts",
    "gw_redirect",
    "arp_request",
  ],
  lr_out: ["chk_dnat_local", "undnat", "post_undnat", "snat", "post_snat", "egr_loop", "delivery"],
} as const;

export type Pipeline = keyof typeof STAGES;

/** Names of a pipeline's stages: `ls_in_acl`. */
export function stagesOf(pipeline: Pipeline): readonly string[] {
  return STAGES[pipeline].map((name) => `${pipeline}_${name}`);
}

/** Table of a stage. */
export function tableOf(stage: string): number {
  const pipeline = stage.split("_").slice(0, 2).join("_") as Pipeline;
  return stagesOf(pipeline).indexOf(stage);
}
