/** Switches and routers of a cluster, one gateway router for each node (control-planes.md §4.2, "NB objects per node"). */
import { mapOf, setOf } from "#contracts/ovsdb/client.ts";
import { formatPrefix } from "#core/net/ip.ts";
import { type WantedRows, reference } from "../wanted-rows.ts";
import { type OvnInput, type OvnNode, addressAt, macOfAddress, portName } from "./input.ts";

const CLUSTER_ROUTER = "ovn_cluster_router";
const JOIN_LENGTH = 16;
/** Of the join network, the cluster router's own. */
const JOIN_ROUTER = "100.64.0.1";
const JOIN_NETWORK = "100.64.0.0/16";

/** Of a node's gateway router in the join network. */
function joinAddress({ id }: OvnNode): string {
  return `100.64.${id >> 8}.${id & 0xff}`;
}

export interface Groups {
  /** UUIDs of `clusterLBGroup` and of those for one kind alone. */
  readonly cluster: string;
  readonly switches: string;
  readonly routers: string;
}

/** A port of a router and that of the switch beside it. @returns UUIDs of both */
function putLink(
  wanted: WantedRows,
  link: {
    readonly routerPort: string;
    readonly switchPort: string;
    readonly address: string;
    readonly length: number;
    readonly mac?: string;
    readonly options?: Readonly<Record<string, string>>;
    readonly gatewayChassis?: readonly string[];
  },
): { readonly router: string; readonly switch: string } {
  const { routerPort, switchPort, address, length, mac = macOfAddress(address), options = {} } = link;
  const router = wanted.put("Logical_Router_Port", routerPort, {
    name: routerPort,
    mac,
    networks: `${address}/${length}`,
    gateway_chassis: setOf((link.gatewayChassis ?? []).map(reference)),
  });
  const own = wanted.put("Logical_Switch_Port", switchPort, {
    name: switchPort,
    type: "router",
    addresses: "router",
    options: mapOf({ "router-port": routerPort, ...options }),
  });
  return { router, switch: own };
}

function putRoute(
  wanted: WantedRows,
  router: string,
  prefix: string,
  nextHop: string,
  more: { policy?: string; port?: string } = {},
): string {
  return wanted.put("Logical_Router_Static_Route", `${router} ${prefix} ${nextHop} ${more.policy ?? ""}`, {
    ip_prefix: prefix,
    nexthop: nextHop,
    policy: setOf(more.policy === undefined ? [] : [more.policy]),
    output_port: setOf(more.port === undefined ? [] : [more.port]),
  });
}

function putPods(wanted: WantedRows, { pods, nodes }: OvnInput, node: OvnNode): readonly string[] {
  return pods
    .filter((pod) => pod.node === node.name)
    .map((pod) => {
      const addresses = `${macOfAddress(pod.ip)} ${pod.ip}`;
      const chassis = nodes.find(({ name }) => name === pod.node)?.chassis ?? "";
      return wanted.put("Logical_Switch_Port", portName(pod), {
        name: portName(pod),
        addresses,
        port_security: addresses,
        options: mapOf({ "requested-chassis": chassis, "iface-id-ver": pod.uid }),
        external_ids: mapOf({ namespace: pod.namespace, pod: "true" }),
      });
    });
}

/** What a node's own address may send to its pods: probes of its kubelet. */
function putNodeAcl(wanted: WantedRows, node: OvnNode): string {
  const match = `ip4.src==${addressAt(node.subnet, 2)}`;
  return wanted.put("ACL", `node ${node.name}`, {
    priority: 1001,
    direction: "to-lport",
    match,
    action: "allow-related",
    external_ids: mapOf({ "k8s.ovn.org/owner-type": "Node", "k8s.ovn.org/name": node.name }),
  });
}

interface Parts {
  readonly routerPorts: string[];
  readonly joinPorts: string[];
  readonly routes: string[];
  readonly policies: string[];
}

function putNodeSwitch(
  wanted: WantedRows,
  input: OvnInput,
  node: OvnNode,
  groups: Groups,
  parts: Parts,
): void {
  const { name, subnet, chassis } = node;
  const [first, second] = [addressAt(subnet, 1), addressAt(subnet, 2)];
  const gateway = wanted.put("Gateway_Chassis", `rtos-${name}-${chassis}`, {
    name: `rtos-${name}-${chassis}`,
    chassis_name: chassis,
    priority: 1,
  });
  const link = putLink(wanted, {
    routerPort: `rtos-${name}`,
    switchPort: `stor-${name}`,
    address: first,
    length: subnet.length,
    gatewayChassis: [gateway],
  });
  parts.routerPorts.push(link.router);
  const management = wanted.put("Logical_Switch_Port", `k8s-${name}`, {
    name: `k8s-${name}`,
    addresses: `${macOfAddress(second)} ${second}`,
  });
  wanted.put("Logical_Switch", name, {
    name,
    ports: setOf([link.switch, management, ...putPods(wanted, input, node)].map(reference)),
    acls: reference(putNodeAcl(wanted, node)),
    other_config: mapOf({ subnet: formatPrefix(subnet), exclude_ips: second }),
    load_balancer_group: setOf([groups.cluster, groups.switches].map(reference)),
  });
}

/** Pods reach the node itself through its management port (priority 1004). */
function putNodePolicy(wanted: WantedRows, { name, subnet, gateway }: OvnNode): string {
  return wanted.put("Logical_Router_Policy", `1004 ${name}`, {
    priority: 1004,
    match: `inport == "rtos-${name}" && ip4.dst == ${gateway.address} /* ${name} */`,
    action: "reroute",
    nexthops: addressAt(subnet, 2),
  });
}

/** The router that is the node towards the outside, and its switch on the wire. */
function putGateway(wanted: WantedRows, input: OvnInput, node: OvnNode, groups: Groups, parts: Parts): void {
  const { name, chassis, gateway } = node;
  const router = `GR_${name}`;
  const joined = joinAddress(node);
  const join = putLink(wanted, {
    routerPort: `rtoj-${router}`,
    switchPort: `jtor-${router}`,
    address: joined,
    length: JOIN_LENGTH,
  });
  parts.joinPorts.push(join.switch);
  const outside = putLink(wanted, {
    routerPort: `rtoe-${router}`,
    switchPort: `etor-${router}`,
    address: gateway.address,
    length: gateway.length,
    mac: gateway.mac,
    options: { "nat-addresses": "router", "exclude-lb-vips-from-garp": "true" },
  });
  const wire = wanted.put("Logical_Switch_Port", localnetPort(name), {
    name: localnetPort(name),
    type: "localnet",
    addresses: "unknown",
    options: mapOf({ network_name: "physnet" }),
  });
  wanted.put("Logical_Switch", `ext_${name}`, {
    name: `ext_${name}`,
    ports: setOf([wire, outside.switch].map(reference)),
  });
  const cluster = formatPrefix(input.clusterCIDR);
  const snat = [cluster, joined].map((logical) =>
    wanted.put("NAT", `${router} snat ${logical}`, {
      type: "snat",
      external_ip: gateway.address,
      logical_ip: logical,
    }),
  );
  wanted.put("Logical_Router", router, {
    name: router,
    ports: setOf([join.router, outside.router].map(reference)),
    options: mapOf({
      chassis,
      lb_force_snat_ip: "router_ip",
      "snat-ct-zone": "0",
      dynamic_neigh_routers: "false",
      always_learn_from_arp_request: "false",
      mac_binding_age_threshold: "300",
    }),
    external_ids: mapOf({ physical_ip: gateway.address, physical_ips: gateway.address }),
    static_routes: setOf(
      [
        putRoute(wanted, router, cluster, JOIN_ROUTER),
        putRoute(wanted, router, "0.0.0.0/0", gateway.nextHop, { port: `rtoe-${router}` }),
      ].map(reference),
    ),
    nat: setOf(snat.map(reference)),
    load_balancer_group: setOf([groups.cluster, groups.routers].map(reference)),
  });
  for (const [ip, mac] of gateway.neighbours)
    wanted.put("Static_MAC_Binding", `rtoe-${router} ${ip}`, {
      logical_port: `rtoe-${router}`,
      ip,
      mac,
      override_dynamic_mac: true,
    });
  parts.routes.push(
    putRoute(wanted, CLUSTER_ROUTER, `${joined}/32`, joined),
    putRoute(wanted, CLUSTER_ROUTER, formatPrefix(node.subnet), joined, { policy: "src-ip" }),
  );
}

/** The port of `ext_<node>` on the wire: it is called after the bridge and the node. */
export function localnetPort(node: string): string {
  return `br-ex_${node}`;
}

/** Everything but Services and policies. */
export function putTopology(wanted: WantedRows, input: OvnInput, groups: Groups): void {
  const parts: Parts = { routerPorts: [], joinPorts: [], routes: [], policies: [] };
  const join = putLink(wanted, {
    routerPort: `rtoj-${CLUSTER_ROUTER}`,
    switchPort: `jtor-${CLUSTER_ROUTER}`,
    address: JOIN_ROUTER,
    length: JOIN_LENGTH,
  });
  parts.routerPorts.push(join.router);
  parts.joinPorts.push(join.switch);
  for (const node of input.nodes) {
    putNodeSwitch(wanted, input, node, groups, parts);
    putGateway(wanted, input, node, groups, parts);
    parts.policies.push(putNodePolicy(wanted, node));
  }
  for (const [name, match] of [
    [
      "cluster",
      `ip4.src == ${formatPrefix(input.clusterCIDR)} && ip4.dst == ${formatPrefix(input.clusterCIDR)}`,
    ],
    ["join", `ip4.src == ${formatPrefix(input.clusterCIDR)} && ip4.dst == ${JOIN_NETWORK}`],
  ] as const)
    parts.policies.push(
      wanted.put("Logical_Router_Policy", `102 ${name}`, { priority: 102, match, action: "allow" }),
    );
  wanted.put("Logical_Switch", "join", { name: "join", ports: setOf(parts.joinPorts.map(reference)) });
  wanted.put("Logical_Router", CLUSTER_ROUTER, {
    name: CLUSTER_ROUTER,
    ports: setOf(parts.routerPorts.map(reference)),
    static_routes: setOf(parts.routes.map(reference)),
    policies: setOf(parts.policies.map(reference)),
    options: mapOf({ always_learn_from_arp_request: "false" }),
    external_ids: mapOf({ "k8s-cluster-router": "yes" }),
  });
}
