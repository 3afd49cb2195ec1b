/** Which Service of a cluster is its DNS, whoever installed it. */
import type { Service } from "#contracts/kubernetes/objects.ts";
import type { Prefix } from "#core/net/ip.ts";
import { DNS_LABEL, DNS_NAMESPACE, DNS_PORT, DNS_SERVICE, dnsAddressIn } from "./dns-manifests.ts";

function servesDns({ spec }: Service): boolean {
  return (spec?.ports ?? []).some(({ port, protocol }) => port === DNS_PORT && protocol === "UDP");
}

/**
 * The DNS Service among `services`: the one that kubeadm's manifests call `kube-dns`; another of `kube-system` with its
 * label (k3s, RKE2 and Helm name it after the chart); or the one that has the tenth address of the service range, which
 * most installers give the DNS whatever they call it (OpenShift: `openshift-dns/dns-default`).
 */
export function findDnsService(services: readonly Service[], serviceCIDR: Prefix): Service | undefined {
  const inSystem = services.filter(({ metadata }) => metadata.namespace === DNS_NAMESPACE);
  const [label, value] = DNS_LABEL;
  const address = dnsAddressIn(serviceCIDR);
  return (
    inSystem.find(({ metadata }) => metadata.name === DNS_SERVICE) ??
    inSystem.find((service) => service.metadata.labels?.[label] === value && servesDns(service)) ??
    services.find((service) => service.spec?.clusterIP === address && servesDns(service))
  );
}
