/**
 * The CNI configuration that a Windows node's kubelet finds, as an operator would write it for L2Bridge with static
 * routes (cni.md §2.2, §2.10): source NAT except towards the cluster and the nodes, and SDN routes for the service
 * range and the node itself.
 */
import type { JsonObject, JsonValue } from "../hcn/client.ts";
import { addToIp, formatIp } from "../net/ip.ts";
import { formatPrefix } from "../net/prefix.ts";
import type { ClusterFile, NodeSpec, PodSpec } from "./file/cluster-file.ts";

/** `.1` is the network's gateway, `.2` the bridge endpoint: pods begin behind them (cni.md, fact 3). */
const FIRST_POD_OFFSET = 3;

function endpointPolicy(value: JsonValue): JsonObject {
  return { name: "EndpointPolicy", value };
}

/** The HCN endpoint policies that every pod of the node gets. */
export function endpointPolicies(file: ClusterFile, node: NodeSpec): readonly JsonObject[] {
  const { network } = file;
  const policies: JsonObject[] = [];
  if (network.outboundNAT.enabled) {
    const exceptions = network.outboundNAT.exceptions.map(formatPrefix);
    policies.push({ Type: "OutBoundNAT", Settings: { Exceptions: exceptions } });
  }
  const routes = [formatPrefix(network.serviceCIDR), `${formatIp(node.address)}/32`];
  for (const prefix of routes) {
    policies.push({ Type: "SDNRoute", Settings: { DestinationPrefix: prefix, NeedEncap: true } });
  }
  return policies;
}

/** The configuration list for one pod: the node's, with the pod's own policies behind the others. */
export function networkConfigurationList(file: ClusterFile, node: NodeSpec, pod: PodSpec): JsonObject {
  const { network } = file;
  const own = pod.policies.map(endpointPolicy);
  if (network.cni.conflist !== undefined) return withPolicies(network.cni.conflist, own);
  const rangeStart = addToIp(node.podCIDR.address, FIRST_POD_OFFSET);
  return {
    cniVersion: "1.0.0",
    name: network.name,
    plugins: [
      {
        type: "win-bridge",
        apiVersion: 2,
        capabilities: { portMappings: true, dns: true },
        policies: [...endpointPolicies(file, node).map(endpointPolicy), ...network.cni.policies, ...own],
        ipam: {
          type: "host-local",
          subnet: formatPrefix(node.podCIDR),
          ...(rangeStart === undefined ? {} : { rangeStart: formatIp(rangeStart) }),
        },
      },
    ],
  };
}

/** Adds policies to the first plugin of a list that the user wrote. */
function withPolicies(conflist: JsonObject, policies: readonly JsonObject[]): JsonObject {
  const { plugins } = conflist;
  if (policies.length === 0 || !Array.isArray(plugins)) return conflist;
  const [first, ...rest] = plugins as readonly JsonValue[];
  if (typeof first !== "object" || first === null || Array.isArray(first)) return conflist;
  const plugin = first as JsonObject;
  const known = Array.isArray(plugin["policies"]) ? (plugin["policies"] as readonly JsonValue[]) : [];
  return { ...conflist, plugins: [{ ...plugin, policies: [...known, ...policies] }, ...rest] };
}
