/**
 * The files of a cluster with flannel as an operator writes them: `net-conf.json` for flanneld, and the CNI configuration
 * of Windows nodes, in the variant for containerd (control-planes.md §2.4).
 */
import type { JsonObject } from "#core/base/json.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { printConfig } from "#programs/flannel/config-fields.ts";
import { NET_CONF, WINDOWS_HOST_GW, WINDOWS_VXLAN } from "#programs/flannel/net-conf.ts";
import type { ClusterFile, NetworkSpec, NodeSpec } from "../file/cluster-file.ts";

/** `net-conf.json`. On Linux VNI and port have to be those of Windows (control-planes.md §3.1). */
export function networkConfiguration({ clusterCIDR, backend, name, vni }: NetworkSpec): JsonObject {
  const Backend =
    backend === "vxlan"
      ? printConfig(WINDOWS_VXLAN, { Type: "vxlan", Name: name, VNI: vni, Port: 4_789 })
      : printConfig(WINDOWS_HOST_GW, { Type: "host-gw", Name: name });
  return printConfig(NET_CONF, { Network: clusterCIDR, Backend });
}

/** The configuration list of Windows nodes; `policies` stand behind flannel's own. */
export function flannelConfigurationList(
  file: ClusterFile,
  node: NodeSpec,
  policies: readonly JsonObject[],
): JsonObject {
  const { network } = file;
  const services = formatPrefix(network.serviceCIDR);
  const isOverlay = network.backend === "vxlan";
  const exceptions = network.outboundNAT.exceptions.map(formatPrefix);
  const routes = isOverlay ? [services] : [services, `${formatIp(node.address)}/32`];
  const endpointPolicy = (value: JsonObject): JsonObject => ({ name: "EndpointPolicy", value });
  return {
    cniVersion: "1.0.0",
    name: network.name,
    plugins: [
      {
        type: "flannel",
        capabilities: { portMappings: true, dns: true },
        delegate: {
          type: isOverlay ? "win-overlay" : "win-bridge",
          apiVersion: 2,
          policies: [
            ...(network.outboundNAT.enabled
              ? [endpointPolicy({ Type: "OutBoundNAT", Settings: { Exceptions: exceptions } })]
              : []),
            ...routes.map((DestinationPrefix) =>
              endpointPolicy({ Type: "SDNRoute", Settings: { DestinationPrefix, NeedEncap: true } }),
            ),
            ...policies,
          ],
        },
      },
    ],
  };
}
