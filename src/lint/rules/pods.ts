/** Rules over pods and their templates. */
import { isTrueAt, textAt } from "../fields.ts";
import type { LintRule } from "../rule.ts";

/** windows-networking-documentation.md §8; HostProcess pods are the exception. */
const HOST_NETWORK: LintRule = {
  code: "host-network-unsupported",
  applies: ["kubernetes"],
  *check(document, context) {
    const pod = context.windowsPodOf(document);
    if (pod === undefined || pod.isHostProcess || !isTrueAt(pod.spec, "hostNetwork")) return;
    yield {
      at: { path: [...pod.path, "hostNetwork"] },
      message: "hostNetwork does not exist for containers on Windows, unless they are HostProcess containers",
    };
  },
};

/** windows-networking-documentation.md §6. */
const HOST_NETWORK_DNS: LintRule = {
  code: "dns-host-network-policy-unsupported",
  applies: ["kubernetes"],
  *check(document, context) {
    const pod = context.windowsPodOf(document);
    if (pod === undefined || textAt(pod.spec, "dnsPolicy") !== "ClusterFirstWithHostNet") return;
    yield {
      at: { path: [...pod.path, "dnsPolicy"] },
      message: "dnsPolicy ClusterFirstWithHostNet is not supported on Windows",
      fix: "Write ClusterFirst, or leave dnsPolicy out.",
    };
  },
};

export const POD_RULES: readonly LintRule[] = [HOST_NETWORK, HOST_NETWORK_DNS];
