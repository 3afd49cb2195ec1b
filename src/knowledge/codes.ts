/**
 * All codes of the catalogue. A code is stable: texts may change, codes may not. Each has exactly one entry
 * (`catalogue.ts`), and `mullion explain CODE` prints it.
 */
export const KNOWLEDGE_CODES = [
  // What a packet meets.
  "icmp-outbound-not-translated",
  "outbound-nat-exception",
  "acl-rule-blocked",
  "acl-no-rule-matched",
  "nat-port-pool-exhausted",
  "flow-table-full",
  "fragment-without-first",
  "malformed-frame",
  "next-hop-unresolved",
  "no-route",
  "neighbor-unresolved",
  "ttl-expired",
  "mtu-exceeded",
  "port-not-listening",
  "destination-not-local",
  "no-route-back",
  "switch-port-unknown",
  "mac-not-local",
  "broadcast-not-delivered",
  "switch-port-blocked",
  "pending-packets-full",
  "no-answer",
  "checksum-invalid",
  "martian-source",
  "reassembly-failed",
  "protocol-unknown",
  "ipv6-not-carried",
  "interface-down",
  "listen-queue-full",
  // Services, names and host networking.
  "service-vip-from-node-unsupported",
  "node-port-from-node-unsupported",
  "hairpin-under-dsr",
  "external-traffic-policy-local-without-local-endpoint",
  "external-traffic-policy-local-without-dsr",
  "too-many-back-ends",
  "session-affinity-timeout-ignored",
  "icmp-to-service-not-balanced",
  "service-without-back-ends",
  "node-port-without-pods-on-node",
  "external-name-not-proxied",
  "headless-service-without-vip",
  "dns-name-with-dot-not-completed",
  "host-network-unsupported",
  // Linux nodes.
  "service-without-endpoints",
  "internal-policy-local-without-endpoint",
  "load-balancer-source-refused",
  "connection-invalid",
  "connection-table-full",
  "masquerade-ports-exhausted",
  // Load balancers as HNS keeps them.
  "load-balancer-port-already-exists",
  "load-balancer-update-ignored",
  // What keeps kube-proxy on Windows from programming a Service.
  "kube-proxy-cannot-start",
  "kube-proxy-network-missing",
  "service-without-usable-endpoints",
  "service-endpoints-terminating",
  "service-local-endpoint-missing",
  "service-remote-endpoint-refused",
  "service-load-balancer-refused",
  "session-affinity-unsupported",
  // Files and command lines.
  "cluster-file-unreadable",
  "cluster-file-invalid-yaml",
  "cluster-file-unknown-field",
  "cluster-file-missing-field",
  "cluster-file-invalid-value",
  "cluster-file-overlapping-ranges",
  "cluster-file-duplicate-name",
  "cluster-file-duplicate-address",
  "cluster-file-too-large",
  "unknown-object",
  "unknown-code",
  "bad-usage",
  // Plugins and IPAM.
  "cni-api-version-missing",
  "cni-gateway-is-network-plus-two",
  "cni-namespace-not-guid",
  "cni-network-not-found",
  "ipam-range-exhausted",
  "ipam-range-invalid",
  "hns-unreachable",
  "hns-v1-not-served",
] as const;

/** A code of the catalogue. */
export type KnowledgeCode = (typeof KNOWLEDGE_CODES)[number];

const CODES: ReadonlySet<string> = new Set(KNOWLEDGE_CODES);

export function isKnowledgeCode(text: string): text is KnowledgeCode {
  return CODES.has(text);
}
