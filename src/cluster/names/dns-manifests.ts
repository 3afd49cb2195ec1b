/** The DNS that a cluster gets when its manifests bring none: what kubeadm installs (Service kube-dns, CoreDNS). */
import type { JsonObject } from "#core/base/json.ts";
import { type Prefix, addToIp, formatIp } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";

export const DNS_NAMESPACE = "kube-system";
export const DNS_SERVICE = "kube-dns";
/** CoreDNS is found by this label, whoever installed it. */
export const DNS_LABEL: readonly [key: string, value: string] = ["k8s-app", "kube-dns"];
export const DNS_PORT = 53;

/** kubeadm gives the DNS the tenth address of the service range. */
const DNS_ADDRESS_OFFSET = 10;
const REPLICAS = 2;

/** The address that the DNS Service gets when nobody says otherwise. */
export function dnsAddressIn(serviceCIDR: Prefix): string {
  return formatIp(
    defined(addToIp(serviceCIDR.address, DNS_ADDRESS_OFFSET), "a service range is at most a /30"),
  );
}

/**
 * Deployment and Service. Ports and names are those of kubeadm's manifests; TCP 53 and the metrics port are
 * left out, because nothing here asks DNS over TCP.
 */
export function dnsManifests(serviceCIDR: Prefix): readonly JsonObject[] {
  const labels = { [DNS_LABEL[0]]: DNS_LABEL[1] };
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
                ports: [{ name: "dns", containerPort: DNS_PORT, protocol: "UDP" }],
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
        ports: [{ name: "dns", port: DNS_PORT, protocol: "UDP", targetPort: DNS_PORT }],
      },
    },
  ];
}
