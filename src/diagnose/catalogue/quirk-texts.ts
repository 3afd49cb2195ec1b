/** What each defect of HNS is, in words. The facts that a service asks for are in `../knowledge/quirks.ts`. */
import type { QuirkName } from "#core/catalogue/quirks.ts";

export interface QuirkText {
  /** One line: what happens. */
  readonly title: string;
  /** Why nobody acts on it. Absent: the service does. */
  readonly notActedOn?: string;
}

/** A defect without its text does not compile. */
export const QUIRK_TEXTS: Readonly<Record<QuirkName, QuirkText>> = Object.freeze({
  // The life of objects and of the service itself.
  "duplicate-local-address": {
    title: "Two local endpoints of a network may have the same address",
  },
  "reattach-refused": {
    title: "An endpoint that was attached once cannot be attached again",
  },
  "outbound-nat-host-bits-accepted": {
    title: "OutBoundNAT takes exceptions with bits set behind their length",
  },
  "networks-lost-at-reboot": {
    title: "Networks that should persist are gone after a reboot",
  },
  "load-balancers-lost-at-restart": {
    title: "A restart of the service forgets all load balancers",
  },
  "load-balancers-restored-late": {
    title:
      "After a restart the old load balancers come back while their owner makes new ones, which fail with 0xb7",
  },
  "endpoints-lost-at-restart": {
    title: "A restart of the service removes endpoints whose containers live on",
  },
  "loopback-gateway-not-reloaded": {
    title:
      "A network whose gateway is an address of a loopback adapter is gone after a restart of the service",
  },
  "service-deadlock": {
    title: "A call never answers, and no later one either, until the service restarts",
  },
  "parallel-attach-not-found": {
    title: "Attaching many endpoints at once fails now and then with Element not found",
  },
  "stored-object-incompatible": {
    title: "Objects of an older version of HNS cannot be attached: The wrong diskette is in the drive",
  },
  "namespace-deletion-stuck": {
    title: "A namespace whose deletion was refused stays in State 4",
  },
  "source-address-refused": {
    title: "A new endpoint with a free address of its own is refused with 0x803b002f",
  },

  // Load balancers.
  "load-balancer-update-ignored": {
    title: "Changing a load balancer in place answers success and changes nothing",
  },
  "load-balancer-port-blocks-not-shared": {
    title: "Each load balancer without DSR has a block of 64 ports to itself",
  },
  "own-node-port-unreachable": {
    title: "A node does not reach its own NodePorts",
  },
  "front-end-stale-after-delete": {
    title: "The front end of a deleted load balancer stays taken: 0x803b0013 for the next one",
  },
  "load-balancers-of-one-endpoint-hang": {
    title:
      "Several load balancers of one endpoint hang the service; with an update of 2021 it is an error instead",
  },
  "load-balancer-port-missing": {
    title: "Creating a load balancer fails with 0x803b0007 although its endpoints are attached",
  },
  "degraded-load-balancer-not-deleted": {
    title: "A load balancer without back ends (State 4) cannot be deleted",
  },
  "listener-blocks-front-end": {
    title: "A load balancer is refused with 0x803b0013 because the host itself listens on the port",
  },
  "load-balancer-count-limit": {
    title: "Of the rules of load balancers, those beyond 1290 are not on the ports of pods",
  },

  // What HNS programmed otherwise than its objects say.
  "nat-denies-outbound": {
    title: "Containers on a NAT network may not open connections unless an ACL allows it",
  },
  "load-balancer-rules-stale": {
    title: "Rules of a deleted load balancer stay in VFP and lead to pods that are gone",
  },
  "load-balancer-rules-doubled": {
    title: "Each rule of a load balancer stands twice in LB_DSR",
  },
  "l2-rewrite-rules-doubled": {
    title: "Each rule stands twice in EXTERNAL_L2_REWRITE_LAYER",
  },
  "load-balancer-rules-missing": {
    title: "The port of a pod lacks the load-balancing rules of DNS",
  },
  "load-balancer-rules-left-on-change": {
    title: "When a load balancer changes, its former rules stay beside the new ones",
  },
  "outbound-nat-rules-missing": {
    title: "The port of a new pod lacks its OutBoundNAT rules: nothing gets out",
  },
  "encap-route-rules-missing": {
    title:
      "The port of a pod lacks the rules that lead to other nodes: what is for them leaves without a tunnel",
  },
  "overlay-routes-need-a-pod": {
    title: "Routes to other nodes of an overlay network are programmed with the first pod only",
  },
  "overlay-decap-lost-at-restart": {
    title: "A restart of the service leaves ports without the layer that unpacks VXLAN",
  },
  "network-space-removed-late": {
    title: "What a deleted network had in VFP goes 30 s and more after it",
  },
  "session-affinity-not-kept": {
    title: "Connections of one client go to different back ends in spite of session affinity",
  },
  "acl-without-effect": {
    title: "ACLs that block have no effect",
  },
  "acl-blocks-all": {
    title: "An ACL that blocks blocks everything in its direction",
  },
  "client-policies-not-applied": {
    title: "On client editions policies are taken and not applied: IsApplied is false",
  },
  "proxy-policy-limit": {
    title: "L4WFPPROXY is not applied after about 15 policies",
  },
  "ipv6-port-mapping-from-node": {
    title: "IPv6 port mappings do not work from the node itself",
  },
  "overlay-nodeport-ws2022": {
    title: "NodePorts of overlay networks are lost on Server 2022, but with externalTrafficPolicy: Local",
  },
  "l2bridge-dsr-kb5005619": {
    title: "Pods of L2Bridge networks do not reach each other while a load balancer of the network has DSR",
  },

  // Ports, flows and the wire.
  "idle-flows-forgotten": {
    title: "A connection that was idle for 240 s is forgotten silently; off: flows outlive any idle time",
  },
  "acl-change-resets-flows": {
    title: "A change of ACLs ends the flows of a port: connections that were translated are reset",
  },
  "encap-layer-rebuilt": {
    title:
      "While a network changes, its router's port is without VNET_ENCAP_LAYER for a moment, and flows made then stay so",
  },
  "fragment-collisions": {
    title: "One later fragment in a hundred is lost because entries of the fragment cache collide",
  },
  "large-udp-dropped": {
    title: "Datagrams that a container sends in fragments are dropped",
  },
  "nat-ports-reused": {
    title:
      "Source NAT of a pod has one block of 64 ports, which soon come again: firewalls take one connection for another",
  },
  "nat-ports-exhausted": {
    title: "The node has no ports left for the source NAT of pods; DNS fails first",
  },
  "acl-applied-late": {
    title: "A change of ACLs comes to a port a minute later",
  },
  "load-balancer-rules-late": {
    title: "A change of load balancers comes to the ports of pods half a minute later",
  },
  "receive-coalescing-slow": {
    title: "Receive segment coalescing in the switch lets TCP fall to 100 KiB/s",
  },
  "l2bridge-unstable": {
    title: "With an L2Bridge network the node's adapter works for some seconds and then does not, in turn",
  },
  "vxlan-port-taken": {
    title: "The hypervisor below takes UDP port 4789 for itself: no tunnel arrives",
  },
  "udp-port-65330-taken": {
    title: "UDP from source port 65330 is lost on Azure, and source NAT may choose that port",
  },

  // Nodes.
  "sockets-refused": {
    title: "Programs in containers cannot open sockets",
  },
  "names-fail-at-first": {
    title: "No name is resolved in the first seconds of a pod",
  },
  "encap-overhead-ignored": {
    title:
      "Pods of overlay networks have the adapter's MTU: what they send in full size does not fit with the tunnel",
  },
  "low-virtual-subnet-silent": {
    title: "An overlay network with an identifier below 4096 carries nothing between nodes",
  },
  "source-vip-is-network-address": {
    title: "The source address of load balancers becomes the first address of its subnet, which nothing has",
  },
  "management-address-flips": {
    title: "The management address of a node becomes one that was added, such as that of a load balancer",
  },
  "metadata-route-lost": {
    title: "Making a switch loses the node's route to the cloud's metadata service, 169.254.169.254",
  },
  "bridge-endpoint-not-routed": {
    title: "A node does not route what its pods send over the bridge endpoint, as before Windows Server 1809",
  },
  "remote-endpoint-left-behind": {
    title: "A deleted remote endpoint stays, and a new pod that gets its address is cut off from the network",
  },
  "front-end-keeps-back-ends": {
    title: "A load balancer that is made again for a front end leads to the former one's back ends",
  },
  "shared-back-ends-removed": {
    title: "Deleting a load balancer takes its remote back ends away, though others lead to them, too",
  },
});
