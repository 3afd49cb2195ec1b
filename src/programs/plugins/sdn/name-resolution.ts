/** Names, as these plugins give them to pods (cni.md §2.4, §2.9). */
import type { CniDns } from "#contracts/cni/result.ts";
import type { SdnConfiguration } from "./conf.ts";

/** The configured part; the first search entry begins with the namespace of the pod, if that is known (row 103). */
export function configuredDns({ dns }: SdnConfiguration, podNamespace: string): CniDns {
  const [first, ...others] = dns.search;
  if (first === undefined || podNamespace === "") return dns;
  return { ...dns, search: [`${podNamespace}.${first}`, ...others] };
}

/** What the endpoint gets: each list of the runtime replaces that of the configuration, if it is not empty. */
export function endpointDns(configuration: SdnConfiguration, podNamespace: string): CniDns {
  const own = configuredDns(configuration, podNamespace);
  const { servers, searches, options } = configuration.runtimeDns;
  const replace = (given: readonly string[], list: readonly string[]): readonly string[] =>
    given.length > 0 ? given : list;
  return {
    domain: own.domain,
    nameservers: replace(servers, own.nameservers),
    search: replace(searches, own.search),
    options: replace(options, own.options),
  };
}
