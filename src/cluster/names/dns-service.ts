/**
 * The DNS Service of a cluster: which one it is, and what a cluster gets when its manifests bring none, which is what
 * kubeadm installs (Service kube-dns, CoreDNS).
 */
import { DNS_PORT } from "#dataplane/host/resolver/question.ts";
import type { JsonObject } from "#core/base/json.ts";
import { addToIp, formatIp } from "#core/net/ip.ts";
import type { Prefix } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import type { Service } from "#contracts/kubernetes/objects.ts";

export const DNS_NAMESPACE = "kube-system";
export const DNS_SERVICE = "kube-dns";
/** CoreDNS is found by this label, however it was installed. */
export const DNS_POD_LABEL: readonly [key: string, value: string] = ["k8s-app", "kube-dns"];

/** kubeadm gives the DNS the tenth address of the service range. */
const DNS_ADDRESS_OFFSET = 10;
const REPLICAS = 2;

/** The address that the DNS Service gets by default. */
export function dnsAddressIn(serviceCIDR: Prefix): string {
  return formatIp(
    defined(addToIp(serviceCIDR.address, DNS_ADDRESS_OFFSET), "a service range is at most a /30"),
  );
}

/** Deployment and Service. Ports and names are those of kubeadm's manifests; the metrics port is left out. */
export function dnsManifests(serviceCIDR: Prefix): readonly JsonObject[] {
  const labels = { [DNS_POD_LABEL[0]]: DNS_POD_LABEL[1] };
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "coredns", namespace: DNS_NAMESPACE, labels },
      spec: {
        replicas: REPLICAS,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            dnsPolicy: "Default",
            nodeSelector: { "kubernetes.io/os": "linux" },
            tolerations: [
              { key: "CriticalAddonsOnly", operator: "Exists" },
              { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" },
            ],
            containers: [
              {
                name: "coredns",
                image: "registry.k8s.io/coredns/coredns",
                ports: [
                  { name: "dns", containerPort: DNS_PORT, protocol: "UDP" },
                  { name: "dns-tcp", containerPort: DNS_PORT, protocol: "TCP" },
                ],
              },
            ],
          },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: DNS_SERVICE, namespace: DNS_NAMESPACE, labels },
      spec: {
        clusterIP: dnsAddressIn(serviceCIDR),
        selector: labels,
        ports: [
          { name: "dns", port: DNS_PORT, protocol: "UDP", targetPort: DNS_PORT },
          { name: "dns-tcp", port: DNS_PORT, protocol: "TCP", targetPort: DNS_PORT },
        ],
      },
    },
  ];
}

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
  const [label, value] = DNS_POD_LABEL;
  const address = dnsAddressIn(serviceCIDR);
  return (
    inSystem.find(({ metadata }) => metadata.name === DNS_SERVICE) ??
    inSystem.find((service) => service.metadata.labels?.[label] === value && servesDns(service)) ??
    services.find((service) => service.spec?.clusterIP === address && servesDns(service))
  );
}
