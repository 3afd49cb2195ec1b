/**
 * The CNI configuration that a Windows node's kubelet finds, as an operator would write it for L2Bridge with static
 * routes, or for an Overlay network (cni.md §2.2, §2.3, §2.10): source NAT except towards the cluster and the nodes, and SDN routes for the service
 * range and the node itself.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type Prefix, addToIp, formatIp, formatPrefix } from "#core/net/ip.ts";
import { azureConfigurationList, azureEndpointPolicy } from "./azure-node.ts";
import type { ClusterFile, NodeSpec, FilePodSpec } from "../file/cluster-file.ts";
import { flannelConfigurationList } from "../flannel/network-configuration.ts";
import { endpointPolicies } from "../networks/network-document.ts";
import { ovnConfigurationList } from "../ovn/ovn-node.ts";
import { FIRST_POD_OFFSET, secondFamily } from "../networks/networks-of-node.ts";

function endpointPolicy(value: JsonValue): JsonObject {
  return { name: "EndpointPolicy", value };
}

/** The configuration list for one pod: the node's, with the pod's own policies behind the others. */
export function networkConfigurationList(file: ClusterFile, node: NodeSpec, pod: FilePodSpec): JsonObject {
  const { network } = file;
  const own = pod.policies.map(network.plugin === "azure-vnet" ? azureEndpointPolicy : endpointPolicy);
  if (network.cni.conflist !== undefined) return withPolicies(network.cni.conflist, own);
  if (network.plugin === "flannel")
    return flannelConfigurationList(file, node, [...network.cni.policies, ...own]);
  if (network.plugin === "ovn-kubernetes") return ovnConfigurationList();
  if (network.plugin === "azure-vnet")
    return azureConfigurationList(file, pod, endpointPolicies(file, network, node));
  const second = secondFamily(file, network, node);
  return {
    cniVersion: "1.0.0",
    name: network.name,
    plugins: [
      {
        type: network.driver === "Overlay" ? "win-overlay" : "win-bridge",
        apiVersion: 2,
        capabilities: { portMappings: true, dns: true },
        policies: [
          ...endpointPolicies(file, network, node).map(endpointPolicy),
          ...network.cni.policies,
          ...own,
        ],
        ipam: {
          type: "host-local",
          ...(second === undefined
            ? rangeOf(node.podCIDR)
            : { ranges: [[rangeOf(node.podCIDR)], [rangeOf(second.podRange)]] }),
        },
      },
    ],
  };
}

/** A range of host-local, behind the addresses that the network and the node have. */
function rangeOf(subnet: Prefix): JsonObject {
  const rangeStart = addToIp(subnet.address, FIRST_POD_OFFSET);
  return {
    subnet: formatPrefix(subnet),
    ...(rangeStart === undefined ? {} : { rangeStart: formatIp(rangeStart) }),
  };
}

/** Adds policies to the first plugin of a list that the user wrote. */
function withPolicies(conflist: JsonObject, policies: readonly JsonObject[]): JsonObject {
  const { plugins } = conflist;
  if (policies.length === 0 || !Array.isArray(plugins)) return conflist;
  const [first, ...rest] = plugins as readonly JsonValue[];
  if (typeof first !== "object" || first === null || Array.isArray(first)) return conflist;
  const plugin = first as JsonObject;
  // azure-vnet has another name for them.
  const key = plugin["type"] === "azure-vnet" ? "AdditionalArgs" : "policies";
  const known = Array.isArray(plugin[key]) ? (plugin[key] as readonly JsonValue[]) : [];
  return { ...conflist, plugins: [{ ...plugin, [key]: [...known, ...policies] }, ...rest] };
}
