// Logical networks for the comparison with ovn-trace, as commands for ovn-nbctl, and who sends what in them.

/** A port that packets come from. */
export interface Source {
  readonly port: string;
  readonly datapath: string;
  readonly mac: string;
  readonly ip: string;
  /** MAC of the router beside it. */
  readonly gateway: string;
}

export interface Topology {
  readonly name: string;
  readonly script: string;
  readonly sources: readonly Source[];
  /** Addresses that packets go to; those of load balancers with a port. */
  readonly targets: readonly string[];
  readonly vips: readonly string[];
  readonly ports: readonly number[];
}

function pod(index: number, last: number): Source {
  return {
    port: `p${index}${last}`,
    datapath: `sw${index}`,
    mac: `50:54:00:00:0${index}:0${last}`,
    ip: `10.0.${index}.${last}`,
    gateway: `00:00:00:00:ff:0${index}`,
  };
}

const PODS = [pod(0, 2), pod(0, 3), pod(1, 2), pod(1, 3)];

function switchPort({ port, datapath, mac, ip }: Source): string {
  return `nb lsp-add ${datapath} ${port} -- lsp-set-addresses ${port} "${mac} ${ip}" -- lsp-set-port-security ${port} "${mac} ${ip}"`;
}

function joined(router: string, each: string, mac: string, networks: string): string {
  return [
    `nb lrp-add ${router} ${router}-${each} ${mac} ${networks}`,
    `nb lsp-add ${each} ${each}-${router} -- lsp-set-type ${each}-${router} router -- lsp-set-addresses ${each}-${router} router -- lsp-set-options ${each}-${router} router-port=${router}-${each}`,
  ].join("\n");
}

/** Two switches with two pods each, and a router between them. */
const TWO_SWITCHES = [
  "nb lr-add lr0",
  ...[0, 1].map((index) => `nb ls-add sw${index}`),
  ...[0, 1].map((index) => joined("lr0", `sw${index}`, `00:00:00:00:ff:0${index}`, `10.0.${index}.1/24`)),
  ...PODS.map(switchPort),
].join("\n");

const NEAR = PODS.map(({ ip }) => ip);

const STATELESS = `
nb pg-add web p02 p12 p13
nb acl-add web to-lport 1000 'outport == @web && ip4' drop
nb acl-add web to-lport 1001 'outport == @web && tcp.dst == 80' allow-stateless
`;

/** As ovn-kubernetes writes NetworkPolicies: default deny in both directions, allowed by address sets and ports. */
const POLICIES = `
nb pg-add denied p02 p12 p13
nb pg-add web p02 p12
nb create address_set name=friends addresses='"10.0.0.3" "10.0.1.3"'
nb acl-add denied to-lport 1000 'outport == @denied' drop
nb acl-add denied to-lport 1001 'outport == @denied && (arp || nd)' allow
nb --log --name=web acl-add web to-lport 1001 'outport == @web && ip4.src == {$friends} && tcp && tcp.dst==80' allow-related
nb --label=7 acl-add web to-lport 1001 'outport == @web && ip4.src == 10.0.1.0/24 && udp && 50<=udp.dst<=60' allow-related
nb acl-add web to-lport 1002 'outport == @web && icmp4' reject
nb --apply-after-lb acl-add denied from-lport 1000 'inport == @denied' drop
nb --apply-after-lb acl-add denied from-lport 1001 'inport == @denied && (arp || nd)' allow
nb --apply-after-lb acl-add denied from-lport 1001 'inport == @denied && ip4.dst == {10.0.0.0/24, 10.0.1.2}' allow-related
`;

// One service for each address: ovn-trace looks for a hairpin by the address alone, and takes the first that it meets.
const SERVICES = `
nb lb-add web 10.96.0.10:80 10.0.0.2:8080,10.0.1.2:8080 tcp
nb lb-add dns 10.96.0.13:53 10.0.0.3:53,10.0.1.3:53,10.0.1.2:53 udp
nb lb-add none 10.96.0.11:80 "" tcp
nb lb-add own 10.96.0.12:80 10.0.0.2:80 tcp
for lb in web dns none own; do
  nb set load_balancer $lb options:reject=true options:event=false options:hairpin_snat_ip=169.254.169.5
  for ls in sw0 sw1; do nb ls-lb-add $ls $lb; done
done
nb pg-add deny p13
nb --apply-after-lb acl-add deny from-lport 1000 'inport == @deny && ip4.dst == 10.0.0.2 && tcp.dst == 8080' drop
nb pg-add guarded p02 p03 p12 p13
nb acl-add guarded to-lport 1000 'outport == @guarded' drop
nb acl-add guarded to-lport 1001 'outport == @guarded && tcp.dst == {80, 8080} && ip4.src != {10.0.1.3, 10.0.0.3}' allow-related
nb acl-add guarded to-lport 1001 'outport == @guarded && udp.dst == 53 && ip4.src != 10.0.0.3' allow-related
`;

const OUTSIDE: Source = {
  port: "out",
  datapath: "ext",
  mac: "50:54:00:00:09:09",
  ip: "172.16.0.9",
  gateway: "00:00:00:00:ff:09",
};

const EXTERNAL = `
nb ls-add ext
nb lsp-add ext ln -- lsp-set-type ln localnet -- lsp-set-addresses ln unknown -- lsp-set-options ln network_name=physnet
nb lsp-add ext out -- lsp-set-addresses out "${OUTSIDE.mac} ${OUTSIDE.ip}"
`;

const GATEWAY_ROUTER = `
${EXTERNAL}
nb ls-add join
${joined("lr0", "join", "00:00:00:00:ff:07", "100.64.0.1/16")}
nb lr-add gr -- set logical_router gr options:chassis=hv1
${joined("gr", "join", "00:00:00:00:ff:08", "100.64.0.2/16")}
${joined("gr", "ext", OUTSIDE.gateway, "172.16.0.1/24")}
nb lr-route-add gr 10.0.0.0/16 100.64.0.1
nb lr-route-add lr0 0.0.0.0/0 100.64.0.2
nb lr-nat-add gr snat 172.16.0.1 10.0.0.0/16
nb lr-nat-add gr dnat_and_snat 172.16.0.5 10.0.1.2
nb lb-add front 172.16.0.1:8080 10.0.0.2:80,10.0.1.2:80 tcp
nb lr-lb-add gr front
nb lb-add web 10.96.0.10:80 10.0.0.2:80,10.0.1.2:80 tcp
nb ls-lb-add sw0 web -- ls-lb-add sw1 web
nb pg-add guarded p02 p03 p12 p13
nb acl-add guarded to-lport 1000 'outport == @guarded' drop
nb acl-add guarded to-lport 1001 'outport == @guarded && tcp.dst == 80 && ip4.src != {10.0.1.3, 10.0.0.3}' allow-related
nb acl-add sw1 from-lport 1000 'ip4.dst == 172.16.0.0/24 && udp' reject
nb acl-add sw0 to-lport 1000 'ip4 && udp' drop
nb acl-add sw1 to-lport 1000 'ip4 && udp' drop
sb chassis-add hv1 geneve 127.0.0.1
`;

const DISTRIBUTED_GATEWAY = `
${EXTERNAL}
${joined("lr0", "ext", OUTSIDE.gateway, "172.16.0.1/24")}
nb lrp-set-gateway-chassis lr0-ext hv1 10
nb lr-nat-add lr0 snat 172.16.0.1 10.0.0.0/24
nb lr-nat-add lr0 dnat_and_snat 172.16.0.5 10.0.1.2
nb lr-nat-add lr0 dnat_and_snat 172.16.0.6 10.0.1.3 p13 50:54:00:00:aa:06
nb lb-add web 10.96.0.10:80 10.0.0.2:80,10.0.1.2:80 tcp
nb ls-lb-add sw0 web -- ls-lb-add sw1 web
nb pg-add guarded p02 p03 p12 p13
nb acl-add guarded to-lport 1000 'outport == @guarded' drop
nb acl-add guarded to-lport 1001 'outport == @guarded && tcp.dst == 80 && ip4.src != {10.0.1.3, 10.0.0.3}' allow-related
nb acl-add sw1 from-lport 1000 'ip4.dst == 10.0.0.3' drop
nb acl-add sw0 to-lport 1000 'ip4 && udp' drop
nb acl-add sw1 to-lport 1000 'ip4 && udp' drop
nb set logical_router_port lr0-ext options:gateway_mtu=1400
`;

/** Two nodes as ovn-kubernetes lays them out: cluster router, join switch, gateway routers, a switch for each node. */
function node(index: number): string {
  const name = `sw${index}`;
  return `
nb ls-add ${name}
${joined("lr0", name, `00:00:00:00:ff:0${index}`, `10.0.${index}.1/24`)}
nb lrp-set-gateway-chassis lr0-${name} hv${index} 1
nb lsp-add ${name} k8s-${name} -- lsp-set-addresses k8s-${name} "50:54:00:00:0${index}:0f 10.0.${index}.15"
nb acl-add ${name} to-lport 1001 'ip4.src == 10.0.${index}.15' allow-related
nb ls-add ext${index}
nb lsp-add ext${index} ln${index} -- lsp-set-type ln${index} localnet -- lsp-set-addresses ln${index} unknown -- lsp-set-options ln${index} network_name=physnet
nb lr-add gr${index} -- set logical_router gr${index} options:chassis=hv${index} options:dynamic_neigh_routers=false options:always_learn_from_arp_request=false options:mac_binding_age_threshold=300
${joined(`gr${index}`, "join", `0a:58:64:40:00:0${index + 2}`, `100.64.0.${index + 2}/16`)}
${joined(`gr${index}`, `ext${index}`, `00:00:00:00:fe:0${index}`, `172.18.0.${index + 2}/16`)}
nb lr-route-add gr${index} 10.0.0.0/16 100.64.0.1
nb lr-route-add gr${index} 0.0.0.0/0 172.18.0.1 gr${index}-ext${index}
nb lr-nat-add gr${index} snat 172.18.0.${index + 2} 10.0.0.0/16
nb --policy=src-ip lr-route-add lr0 10.0.${index}.0/24 100.64.0.${index + 2}
nb lr-policy-add lr0 1004 'inport == "lr0-${name}" && ip4.dst == 172.18.0.${index + 2}' reroute 10.0.${index}.15
`;
}

/** What a chassis learned of the router outside. */
function learned(index: number): string {
  const datapath = `$(sb --bare --columns=_uuid find datapath_binding external_ids:name=gr${index})`;
  return `sb create mac_binding logical_port=gr${index}-ext${index} ip=172.18.0.1 mac='"50:54:00:00:18:01"' datapath=${datapath}`;
}

const KUBERNETES = `
nb lr-add lr0 -- set logical_router lr0 options:always_learn_from_arp_request=false
nb ls-add join
${joined("lr0", "join", "0a:58:64:40:00:01", "100.64.0.1/16")}
${[0, 1].map(node).join("\n")}
${PODS.map(switchPort).join("\n")}
${POLICIES}
${SERVICES.replaceAll("nb pg-add deny p13\n", "")
  .replace(/^nb --apply-after-lb acl-add deny .*$/m, "")
  .replace(/^nb (?:pg-add guarded|acl-add guarded).*$/gm, "")}
nb --wait=sb sync
${[0, 1].map(learned).join("\n")}
`;

const VIPS = ["10.96.0.10", "10.96.0.10", "10.96.0.11", "10.96.0.12", "10.96.0.13"];

export const TOPOLOGIES: readonly Topology[] = [
  {
    name: "stateless ACLs",
    script: `${TWO_SWITCHES}\n${STATELESS}`,
    sources: PODS,
    targets: [...NEAR, ...NEAR, "10.0.0.9", "10.0.9.9", "10.0.0.1", "224.0.0.5"],
    vips: [],
    ports: [80, 81, 82],
  },
  {
    name: "policies with state",
    script: `${TWO_SWITCHES}\n${POLICIES}`,
    sources: PODS,
    targets: [...NEAR, "10.0.0.1"],
    vips: [],
    ports: [80, 81, 82, 53],
  },
  {
    name: "services",
    script: `${TWO_SWITCHES}\n${SERVICES}`,
    sources: PODS,
    targets: [...NEAR, "10.0.1.1"],
    vips: VIPS,
    ports: [80, 81, 82, 53],
  },
  {
    name: "a gateway router",
    script: `${TWO_SWITCHES}\n${GATEWAY_ROUTER}`,
    sources: [...PODS, OUTSIDE],
    targets: [...NEAR, ...NEAR, OUTSIDE.ip, "172.16.0.5", "172.16.0.1"],
    vips: ["10.96.0.10"],
    ports: [80, 8080, 53],
  },
  {
    name: "a distributed gateway port",
    script: `${TWO_SWITCHES}\n${DISTRIBUTED_GATEWAY}`,
    sources: [...PODS, OUTSIDE],
    targets: [...NEAR, ...NEAR, OUTSIDE.ip, "172.16.0.5", "172.16.0.6", "172.16.0.1"],
    vips: ["10.96.0.10"],
    ports: [80, 81, 82, 53],
  },
  {
    name: "two nodes of ovn-kubernetes",
    script: KUBERNETES,
    sources: PODS,
    targets: [...NEAR, ...NEAR, "10.0.0.15", "172.18.0.3", "203.0.113.9"],
    vips: VIPS,
    ports: [80, 53],
  },
];
