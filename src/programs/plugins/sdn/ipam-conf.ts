/** The configuration as upstream writes it anew for its IPAM plugin: fields it does not know are lost (row 102). */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { formatDns, formatInterfaceAddress } from "#contracts/cni/result.ts";
import { formatIp } from "#core/net/ip.ts";
import type { SdnConfiguration, SdnRoute } from "./conf.ts";
import { configuredDns } from "./name-resolution.ts";

function filled(members: Readonly<Record<string, JsonValue>>): JsonObject {
  const isEmpty = (value: JsonValue): boolean => value === "" || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isEmpty(value)));
}

/** Go prints a network that is none as `<nil>`. */
function formatRoute({ destination, gateway }: SdnRoute): JsonObject {
  return {
    dst: destination === undefined ? "<nil>" : formatInterfaceAddress(destination),
    ...(gateway !== undefined && { gw: formatIp(gateway) }),
  };
}

export function makeIpamConfiguration(configuration: SdnConfiguration, podNamespace: string): JsonObject {
  const { ipam, runtimeDns, portMappings, additionalRoutes, additionalArguments } = configuration;
  const { type, routes, ...texts } = ipam;
  return {
    cniVersion: configuration.cniVersion,
    name: configuration.name,
    type: configuration.networkType,
    ipam: { type, ...filled({ ...texts, routes: routes.map(formatRoute) }) },
    dns: formatDns(configuredDns(configuration, podNamespace)),
    optionalFlags: { ...configuration.flags },
    runtimeConfig: {
      ...filled({
        portMappings: portMappings.map(({ hostPort, containerPort, protocol, hostIp }) => ({
          hostPort,
          containerPort,
          protocol,
          ...(hostIp !== "" && { hostIP: hostIp }),
        })),
      }),
      dns: filled({ ...runtimeDns }),
    },
    additionalRoutes: additionalRoutes.length === 0 ? null : additionalRoutes.map(formatRoute),
    AdditionalArgs:
      additionalArguments.length === 0
        ? null
        : additionalArguments.map(({ name, value }) => ({ name, value: value ?? null })),
  };
}
