/**
 * What a Linux node's network programs write besides kube-proxy: flanneld's translation of pods to the node's address,
 * and the rules of the portmap plugin for `hostPort`.
 */
import type { HookRules, Rule } from "#dataplane/host/netfilter/rule-set.ts";
import {
  type Ip,
  type Prefix,
  familyOf,
  hostPrefix,
  parseIp,
  parsePrefix,
  prefixFamily,
} from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { FilePodSpec } from "../file/cluster-file.ts";
import { MASQUERADE_MARK, chainOf, freezeRules, masquerade, programOn } from "./linux-service-rules.ts";

/** portmap's `markMasqBit` is 13. */
const HOST_PORT_MARK = 0x2000;
const LOCALHOSTS: Readonly<Record<4 | 6, Prefix>> = Object.freeze({
  4: hostPrefix(parseIp("127.0.0.1") as Ip),
  6: hostPrefix(parseIp("::1") as Ip),
});
const MULTICAST: Readonly<Record<4 | 6, Prefix>> = Object.freeze({
  4: parsePrefix("224.0.0.0/4") as Prefix,
  6: parsePrefix("ff00::/8") as Prefix,
});

/** portmap's CNI-HOSTPORT-MASQ: it stands in front of flanneld's rules. */
export function portMapRules(nodeName: string): HookRules {
  const rules = masquerade({ mark: HOST_PORT_MARK }, "CNI-HOSTPORT-MASQ", programOn(nodeName, "portmap"));
  return Object.freeze({ "nat-postrouting": rules });
}

/**
 * The node's own rules of POSTROUTING. Pods keep their address towards the cluster and get the node's towards all
 * others, the other nodes among them; what comes from elsewhere to a pod of another node gets the node's, too
 * (flannel's pkg/trafficmngr/iptables/iptables.go, masqRules).
 * Inferred: Linux nodes of a cluster whose Windows nodes use win-bridge have these rules, since flannel is what such
 * clusters mostly run; a cluster with another network on Linux may keep pod addresses towards the nodes.
 */
export function flannelRules(nodeName: string, podCidr: Prefix, clusterCidr: Prefix): HookRules {
  const provenance = programOn(nodeName, "flanneld");
  const name = `${nodeName}'s rule for pods`;
  const family = prefixFamily(podCidr);
  const rule = (match: Rule["match"], kind: "return" | "masquerade"): Rule => ({
    match,
    target: { kind },
    name,
    provenance,
  });
  const chain = chainOf("FLANNEL-POSTRTG", [
    rule({ mark: MASQUERADE_MARK }, "return"),
    rule({ source: podCidr, destination: clusterCidr }, "return"),
    rule({ source: clusterCidr, destination: podCidr }, "return"),
    rule({ notSource: clusterCidr, destination: podCidr }, "return"),
    rule({ source: clusterCidr, notDestination: MULTICAST[family] }, "masquerade"),
    rule({ notSource: clusterCidr, destination: clusterCidr }, "masquerade"),
  ]);
  const rules: readonly Rule[] = [{ match: {}, target: { kind: "jump", chain }, name, provenance }];
  return Object.freeze({ "nat-postrouting": freezeRules(rules) });
}

/**
 * kubenet's rule: what leaves `--non-masquerade-cidr` gets the node's address (kubernetes v1.6,
 * pkg/kubelet/network/kubenet/kubenet_linux.go, ensureMasqRule).
 */
export function kubenetRules(nodeName: string, nonMasqueradeCidr: Prefix): HookRules {
  const match = { notDestination: nonMasqueradeCidr, isToLocal: false };
  const name = "SNAT for outbound traffic from cluster";
  return Object.freeze({ "nat-postrouting": masquerade(match, name, programOn(nodeName, "kubenet")) });
}

/**
 * The rules for the `hostPort`s of a pod; undefined when it has none (plugins/meta/portmap/portmap_iptables.go:
 * CNI-HOSTPORT-DNAT). Clients of the pod's own node that hang on the bridge, and localhost, are masqueraded.
 */
export function hostPortRules(pod: FilePodSpec, address: Ip, podCidr: Prefix): HookRules | undefined {
  const reference = `${pod.namespace}/${pod.name}`;
  const family = familyOf(address);
  const provenance = Object.freeze({ object: "Pod", id: reference, name: reference });
  const rules = pod.ports.flatMap(({ port, protocol, hostPort }): readonly Rule[] => {
    if (hostPort === undefined) return [];
    const name = `Pod ${reference} hostPort ${hostPort}`;
    const make = (match: Rule["match"], target: Rule["target"]): Rule => ({
      match,
      target,
      name,
      provenance,
    });
    const mark = { kind: "mark", bits: HOST_PORT_MARK } as const;
    const backEnd = Object.freeze({ ip: address, port, key: `${reference}/${protocol}/${hostPort}` });
    const chain = chainOf("CNI-DN", [
      make({ source: podCidr }, mark),
      make({ source: LOCALHOSTS[family] }, { ...mark }),
      make({}, { kind: "dnat", backEnds: Object.freeze([backEnd]) }),
    ]);
    const number = protocol === "TCP" ? IpProtocol.tcp : IpProtocol.udp;
    return [
      make({ protocol: number, family, isToLocal: true, destinationPort: hostPort }, { kind: "jump", chain }),
    ];
  });
  if (rules.length === 0) return undefined;
  const list = freezeRules(rules);
  return Object.freeze({ "nat-prerouting": list, "nat-output": list });
}
