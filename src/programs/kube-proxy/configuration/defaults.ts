/** What kube-proxy fills in where its configuration says nothing. */
import { parseIp } from "#core/net/ip.ts";
import {
  FIELDS,
  HEALTHZ_PORT,
  type KubeProxyConfiguration,
  METRICS_PORT,
  emptyConfiguration,
  setAt,
  valueAt,
} from "./configuration.ts";
import { splitHostPort } from "./host-port.ts";

/** The address with a port, when it has none and is an address; what is neither is left to validation. */
export function withPort(address: string, port: number): string {
  if (splitHostPort(address) !== undefined) return address;
  if (parseIp(address) === undefined) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function isZero(value: unknown, zero: unknown): boolean {
  return value === zero;
}

/** Fills in defaults, in place. The addresses of the servers follow the family of `bindAddress`. */
export function applyDefaults(configuration: KubeProxyConfiguration): KubeProxyConfiguration {
  for (const { path, zero, initial } of FIELDS)
    if (initial !== undefined && isZero(valueAt(configuration, path), zero))
      setAt(configuration, path, initial);
  const isIpv6 = configuration.bindAddress.includes(":");
  const { healthzBindAddress, metricsBindAddress } = configuration;
  configuration.healthzBindAddress = withPort(
    healthzBindAddress || (isIpv6 ? "::" : "0.0.0.0"),
    HEALTHZ_PORT,
  );
  configuration.metricsBindAddress = withPort(
    metricsBindAddress || (isIpv6 ? "::1" : "127.0.0.1"),
    METRICS_PORT,
  );
  return configuration;
}

export function defaultConfiguration(): KubeProxyConfiguration {
  return applyDefaults(emptyConfiguration());
}

/** What kube-proxy for Windows fills in besides, last of all (kube-proxy.md §2.1). */
export function applyWindowsDefaults(configuration: KubeProxyConfiguration): void {
  if (configuration.mode === "") configuration.mode = "kernelspace";
  if (configuration.winkernel.rootHnsEndpointName === "")
    configuration.winkernel.rootHnsEndpointName = "cbr0";
}
