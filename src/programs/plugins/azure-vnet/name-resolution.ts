/** Name resolution of a pod's endpoint (cni.md §5.5). */
import { CniError } from "#contracts/cni/error.ts";
import type { CniDns } from "#contracts/cni/result.ts";
import { AZURE_ERROR_CODE, type AzureConfiguration } from "./conf.ts";

/** As the state keeps it: the search list is one text. */
export interface AzureDns {
  readonly suffix: string;
  readonly servers: readonly string[];
  readonly options: readonly string[];
}

/** The structure as Go prints it. */
function print(dns: CniDns): string {
  const { nameservers, domain, search, options } = dns;
  const list = (items: readonly string[]): string => `[${items.join(" ")}]`;
  return `{Nameservers:${list(nameservers)} Domain:${domain} Search:${list(search)} Options:${list(options)}}`;
}

/**
 * All from the runtime when it names servers or searches (row 131); else from the configuration; else from IPAM.
 * @throws CniError (100) for one of nameservers and search without the other (row 130)
 */
export function azureEndpointDns(
  { runtimeDns, dns }: AzureConfiguration,
  ipam: CniDns,
  podNamespace: string,
): AzureDns {
  if (runtimeDns.servers.length > 0 || runtimeDns.searches.length > 0) {
    return {
      suffix: runtimeDns.searches.join(","),
      servers: runtimeDns.servers,
      options: runtimeDns.options,
    };
  }
  if ((dns.search.length === 0) !== (dns.nameservers.length === 0)) {
    const message = `Failed to getEndpointDNSSettings: Wrong DNS configuration: ${print(dns)}`;
    throw new CniError(AZURE_ERROR_CODE, message);
  }
  if (dns.search.length > 0) {
    const suffix = `${podNamespace}.${dns.search.join(",")}`;
    return { suffix, servers: dns.nameservers, options: dns.options };
  }
  return { suffix: ipam.domain, servers: ipam.nameservers, options: dns.options };
}
