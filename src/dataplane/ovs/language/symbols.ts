/**
 * The fields that matches and actions name: their widths, what must hold before they mean something, and the names that
 * stand for a part of a field or for a whole match (ovn-sb(5), "Symbols").
 */

/** A field of a packet or of its metadata. */
export interface FieldSymbol {
  readonly kind: "field";
  readonly base: string;
  readonly low: number;
  readonly width: number;
  /** A match that must hold first; empty for none. */
  readonly needs: string;
  /** Only equality may be asked for, and nothing assigned: the field decides which others exist. */
  readonly isNominal: boolean;
}

/** `inport`, `outport`: names of ports. */
export interface PortSymbol {
  readonly kind: "port";
  readonly base: "inport" | "outport";
}

/** A name for a match. */
export interface PredicateSymbol {
  readonly kind: "predicate";
  readonly match: string;
}

export type FieldName = FieldSymbol | PortSymbol | PredicateSymbol;

/** name, bits, what it needs. A `!` in front marks nominal fields. */
const FIELDS: readonly string[] = [
  "flags 32",
  "ct_mark 32",
  "ct_label 128",
  "ct_state 16",
  "eth.src 48",
  "eth.dst 48",
  "!eth.type 16",
  "vlan.tci 16",
  "!ip.proto 8 ip",
  "ip.dscp 6 ip",
  "ip.ecn 2 ip",
  "ip.ttl 8 ip",
  "ip.frag 2 ip",
  "ip4.src 32 ip4",
  "ip4.dst 32 ip4",
  "icmp4.type 8 icmp4",
  "icmp4.code 8 icmp4",
  "ip6.src 128 ip6",
  "ip6.dst 128 ip6",
  "ip6.label 20 ip6",
  "!icmp6.type 8 icmp6",
  "!icmp6.code 8 icmp6",
  "arp.op 16 arp",
  "arp.spa 32 arp",
  "arp.sha 48 arp",
  "arp.tpa 32 arp",
  "arp.tha 48 arp",
  "nd.target 128 nd",
  "nd.sll 48 nd_ns",
  "nd.tll 48 nd_na",
  "tcp.src 16 tcp",
  "tcp.dst 16 tcp",
  "tcp.flags 12 tcp",
  "udp.src 16 udp",
  "udp.dst 16 udp",
  "sctp.src 16 sctp",
  "sctp.dst 16 sctp",
  "pkt.mark 32",
  "icmp4.frag_mtu 16 icmp4",
  "icmp6.frag_mtu 32 icmp6",
  "xreg4 64",
];

/** name, field, lowest bit, bits, what it needs. */
const PARTS: readonly string[] = [
  "flags.loopback flags 0 1",
  "flags.force_snat_for_dnat flags 2 1",
  "flags.force_snat_for_lb flags 3 1",
  "flags.skip_snat_for_lb flags 9 1",
  "flags.use_snat_zone flags 11 1",
  "flags.localnet flags 15 1",
  "flags.tunnel_rx flags 16 1",
  "flags.icmp_snat flags 17 1",
  "flags.from_ctrl flags 19 1",
  "flags.unsnat_new flags 20 1",
  "flags.unsnat_not_tracked flags 21 1",
  "flags.igmp_loopback flags 22 1",
  "flags.pkt_sampled flags 23 1",
  "flags.network_id flags 28 4",
  "ct_mark.blocked ct_mark 0 1",
  "ct_mark.natted ct_mark 1 1",
  "ct_mark.skip_snat ct_mark 2 1",
  "ct_mark.force_snat ct_mark 3 1",
  "ct_mark.obs_stage ct_mark 4 2",
  "ct_mark.allow_established ct_mark 6 1",
  "ct_mark.obs_collector_id ct_mark 16 8",
  "ct_mark.ecmp_reply_port ct_mark 16 16",
  "ct_label.blocked ct_label 0 1",
  "ct_label.natted ct_label 1 1",
  "ct_label.skip_snat ct_label 2 1",
  "ct_label.force_snat ct_label 3 1",
  "ct_label.acl_id ct_label 80 16",
  "ct_label.obs_point_id ct_label 96 32",
  "ct_label.obs_unused ct_label 0 96",
  "ct_label.nf ct_label 7 1",
  "ct_label.nf_id ct_label 17 8",
  "ct_label.tun_if ct_label 8 1",
  "ct_label.tun_if_id ct_label 80 16",
  "ct_label.ecmp_reply_eth ct_label 32 48",
  "ct_label.ecmp_reply_port ct_label 80 16",
  "ct_label.label ct_label 96 32",
  "ct.new ct_state 0 1 ct.trk",
  "ct.est ct_state 1 1 ct.trk",
  "ct.rel ct_state 2 1 ct.trk",
  "ct.rpl ct_state 3 1 ct.trk",
  "ct.inv ct_state 4 1 ct.trk",
  "ct.trk ct_state 5 1",
  "ct.snat ct_state 6 1 ct.trk",
  "ct.dnat ct_state 7 1 ct.trk",
  "eth.mcast eth.dst 40 1",
  "rarp.op arp.op 0 16 rarp",
  "rarp.spa arp.spa 0 32 rarp",
  "rarp.sha arp.sha 0 48 rarp",
  "rarp.tpa arp.tpa 0 32 rarp",
  "rarp.tha arp.tha 0 48 rarp",
  "vlan.pcp vlan.tci 13 3 vlan.present",
  "vlan.vid vlan.tci 0 12 vlan.present",
];

const PREDICATES: Readonly<Record<string, string>> = {
  "eth.bcast": "eth.dst == ff:ff:ff:ff:ff:ff",
  "eth.mcastv6": "eth.dst[32..47] == 0x3333",
  "vlan.present": "vlan.tci[12]",
  ip4: "eth.type == 0x800",
  ip6: "eth.type == 0x86dd",
  ip: "ip4 || ip6",
  "ip4.src_mcast": "ip4.src[28..31] == 0xe",
  "ip4.mcast": "eth.mcast && ip4.dst[28..31] == 0xe",
  icmp4: "ip4 && ip.proto == 1",
  igmp: "ip4 && ip.proto == 2",
  "ip6.mcast_rsvd": "ip6.dst[116..127] == 0xff0 && ip6.dst[0..111] == 0x0",
  "ip6.mcast_all_nodes": "ip6.dst == ff01::1 || ip6.dst == ff02::1",
  "ip6.mcast_all_rtrs": "ip6.dst == ff01::2 || ip6.dst == ff02::2 || ip6.dst == ff05::2",
  "ip6.mcast_sol_node": "ip6.dst == ff02::1:ff00:0/104",
  "ip6.mcast_flood":
    "eth.mcastv6 && (ip6.mcast_rsvd || ip6.mcast_all_nodes || ip6.mcast_all_rtrs || ip6.mcast_sol_node)",
  "ip6.mcast": "eth.mcastv6 && ip6.dst[120..127] == 0xff",
  icmp6: "ip6 && ip.proto == 58",
  icmp: "icmp4 || icmp6",
  "ip.is_frag": "ip.frag[0]",
  "ip.later_frag": "ip.frag[1]",
  "ip.first_frag": "ip.is_frag && !ip.later_frag",
  arp: "eth.type == 0x806",
  rarp: "eth.type == 0x8035",
  nd: "icmp6.type == {135, 136} && icmp6.code == 0 && ip.ttl == 255",
  nd_ns: "icmp6.type == 135 && icmp6.code == 0 && ip.ttl == 255",
  nd_na: "icmp6.type == 136 && icmp6.code == 0 && ip.ttl == 255",
  nd_rs: "icmp6.type == 133 && icmp6.code == 0 && ip.ttl == 255",
  nd_ra: "icmp6.type == 134 && icmp6.code == 0 && ip.ttl == 255",
  mldv1: "ip6.src == fe80::/10 && icmp6.type == {130, 131, 132}",
  mldv2: "ip6.dst == ff02::16 && icmp6.type == 143",
  tcp: "ip.proto == 6",
  udp: "ip.proto == 17",
  sctp: "ip.proto == 132",
};

/** Registers overlap: `reg0` is the highest quarter of `xxreg0`, which is where all of them are kept. */
function registers(): Map<string, FieldName> {
  const names = new Map<string, FieldName>();
  const add = (name: string, base: string, low: number, width: number): void => {
    names.set(name, { kind: "field", base, low, width, needs: "", isNominal: false });
  };
  for (let wide = 0; wide < 2; wide++) {
    add(`xxreg${wide}`, `xxreg${wide}`, 0, 128);
    for (let half = 0; half < 2; half++) add(`xreg${wide * 2 + half}`, `xxreg${wide}`, 64 * (1 - half), 64);
    for (let part = 0; part < 4; part++) add(`reg${wide * 4 + part}`, `xxreg${wide}`, 32 * (3 - part), 32);
  }
  add("reg8", "xreg4", 32, 32);
  add("reg9", "xreg4", 0, 32);
  return names;
}

function rowsOf(table: readonly string[]): string[][] {
  return table.map((row) => row.split(" "));
}

function makeSymbols(): ReadonlyMap<string, FieldName> {
  const names = registers();
  names.set("inport", { kind: "port", base: "inport" });
  names.set("outport", { kind: "port", base: "outport" });
  for (const [name = "", width = "", needs = ""] of rowsOf(FIELDS)) {
    const base = name.replace("!", "");
    names.set(base, { kind: "field", base, low: 0, width: Number(width), needs, isNominal: base !== name });
  }
  for (const [name = "", base = "", low = "", width = "", needs = ""] of rowsOf(PARTS)) {
    names.set(name, { kind: "field", base, low: Number(low), width: Number(width), needs, isNominal: false });
  }
  for (const [name, match] of Object.entries(PREDICATES)) names.set(name, { kind: "predicate", match });
  return names;
}

/** Every name of a field. */
export const SYMBOLS: ReadonlyMap<string, FieldName> = makeSymbols();
