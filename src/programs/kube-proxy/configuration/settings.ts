/** What kube-proxy runs with: flags and file together, and what it fills in where these say nothing (kube-proxy.md §1.1). */
import { parseIp } from "#core/net/ip.ts";
import type { KubernetesVersion } from "../behaviour.ts";
import {
  FIELDS,
  HEALTHZ_PORT,
  type KubeProxyConfiguration,
  METRICS_PORT,
  emptyConfiguration,
  setAt,
  valueAt,
} from "./configuration.ts";
import { splitHostPort } from "./go-texts.ts";
import { FLAGS, type FlagDefinition } from "./flags.ts";

/** The address with a port, when it has none and is an address; what is neither is left to validation. */
function withPort(address: string, port: number): string {
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
function applyWindowsDefaults(configuration: KubeProxyConfiguration): void {
  if (configuration.mode === "") configuration.mode = "kernelspace";
  if (configuration.winkernel.rootHnsEndpointName === "")
    configuration.winkernel.rootHnsEndpointName = "cbr0";
}

/** Minor versions of Kubernetes whose kube-proxy is known here (kube-proxy.md §4). */
export const MINOR_MIN = 20;
export const MINOR_MAX = 37;

/** `1.31`, `v1.31.4`: the version; undefined for what is none, or not known. */
export function parseKubernetesVersion(text: string): KubernetesVersion | undefined {
  const match = /^v?1\.(\d{1,3})(?:\.\d+)?(?:[-+].*)?$/.exec(text.trim());
  const minor = Number(match?.[1] ?? -1);
  return minor >= MINOR_MIN && minor <= MINOR_MAX ? { major: 1, minor } : undefined;
}

type FlagValues = ReadonlyMap<string, unknown>;

function setFlags(
  configuration: KubeProxyConfiguration,
  values: FlagValues,
  which: (flag: FlagDefinition) => boolean,
): void {
  for (const flag of FLAGS) {
    const value = values.get(flag.name);
    if (value !== undefined && flag.field !== undefined && which(flag))
      setAt(configuration, flag.field, value);
  }
}

/** An address without a port gets the one of the deprecated flag; 0 turns the server off. */
function fromDeprecated(address: string, port: unknown, standard: number): string {
  const wanted = typeof port === "number" ? port : standard;
  return wanted === 0 ? "" : withPort(address, wanted);
}

/**
 * The configuration of a command line alone. Defaults come before flags, as upstream's do: the address of the servers
 * stays IPv4 whatever `--bind-address` says, and a period of zero stays zero.
 */
export function configurationOfFlags(values: FlagValues): KubeProxyConfiguration {
  const configuration = defaultConfiguration();
  setFlags(configuration, values, () => true);
  configuration.healthzBindAddress = fromDeprecated(
    configuration.healthzBindAddress,
    values.get("healthz-port"),
    HEALTHZ_PORT,
  );
  configuration.metricsBindAddress = fromDeprecated(
    configuration.metricsBindAddress,
    values.get("metrics-port"),
    METRICS_PORT,
  );
  applyWindowsDefaults(configuration);
  return configuration;
}

/** A file's configuration with the flags that count beside it. */
export function besideFile(
  configuration: KubeProxyConfiguration,
  values: FlagValues,
): KubeProxyConfiguration {
  setFlags(configuration, values, ({ countsBesideConfig }) => countsBesideConfig);
  applyWindowsDefaults(configuration);
  return configuration;
}

/** Flags that do not count because there is a file. */
export function overlookedFlags(values: FlagValues): readonly string[] {
  return FLAGS.filter(
    ({ name, countsBesideConfig }) => values.has(name) && !countsBesideConfig && !READ_ALWAYS.includes(name),
  ).map(({ name }) => name);
}

/** Flags that are no part of the configuration, and are read with or without a file. */
const READ_ALWAYS: readonly string[] = [
  "config",
  "write-config-to",
  "cleanup",
  "init-only",
  "version",
  "master",
];
