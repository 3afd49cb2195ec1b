/** NetworkPolicies (k8s.io/kubernetes, `pkg/apis/networking/validation`). */
import { parseInterfaceAddress, prefixContains, prefixCovers, prefixOf } from "#core/net/ip.ts";
import { SELECTOR } from "./check-metadata.ts";
import {
  type Check,
  PORT,
  all,
  isAbsent,
  list,
  mappingOf,
  object,
  oneOf,
  required,
  text,
} from "./field-check.ts";
import { below } from "#contracts/kubernetes/text/field-path.ts";
import { CIDR, PORT_NAME } from "./names.ts";

const portOrName: Check = (value, path, faults) => {
  if (typeof value === "number") PORT(value, path, faults);
  else if (typeof value === "string") text(PORT_NAME)(value, path, faults);
  else faults.wrongType(path, value, "a number, or the name of a port");
};

const rangeFits: Check = (value, path, faults) => {
  const { port, endPort } = mappingOf(value);
  if (typeof endPort !== "number") return;
  const at = below(path, "endPort");
  if (typeof port !== "number") {
    const detail = isAbsent(port)
      ? "may not be specified when `port` is not specified"
      : "may not be specified when `port` is non-numeric";
    faults.invalid(at, endPort, detail, "Write port as a number, or remove endPort.");
  } else if (endPort < port) {
    faults.invalid(at, endPort, "must be greater than or equal to `port`", "Write the larger number last.");
  }
};

const POLICY_PORT: Check = all(
  object({ port: portOrName, endPort: PORT, protocol: oneOf("TCP", "UDP", "SCTP") }),
  rangeFits,
);

const exceptionsLieInside: Check = (value, path, faults) => {
  const { cidr, except } = mappingOf(value);
  const outer = typeof cidr === "string" ? parseInterfaceAddress(cidr) : undefined;
  if (outer === undefined || !Array.isArray(except)) return;
  const range = prefixOf(outer.ip, outer.length);
  for (const [index, exception] of (except as unknown[]).entries()) {
    const inner = typeof exception === "string" ? parseInterfaceAddress(exception) : undefined;
    if (inner === undefined) continue;
    const isSmaller = inner.length > range.length && prefixContains(range, inner.ip);
    if (isSmaller && prefixCovers(range, prefixOf(inner.ip, inner.length))) continue;
    const detail = `must be a strict subset of \`cidr\``;
    faults.invalid(below(path, "except", index), exception, detail, `Write a part of ${String(cidr)}.`);
  }
};

const IP_BLOCK: Check = all(
  object({ cidr: required(text(CIDR), "Write the range."), except: list(text(CIDR)) }),
  exceptionsLieInside,
);

const onePeer: Check = (value, path, faults) => {
  const { podSelector, namespaceSelector, ipBlock } = mappingOf(value);
  const hasSelector = !isAbsent(podSelector) || !isAbsent(namespaceSelector);
  if (!isAbsent(ipBlock) && hasSelector) {
    const detail = "may not specify both ipBlock and another peer";
    faults.forbidden(path, detail, "Write it as two peers.");
  } else if (isAbsent(ipBlock) && !hasSelector) {
    faults.required(path, "Write a podSelector, a namespaceSelector or an ipBlock.", "must specify a peer");
  }
};

const PEERS: Check = list(
  all(object({ podSelector: SELECTOR, namespaceSelector: SELECTOR, ipBlock: IP_BLOCK }), onePeer),
);

export const NETWORK_POLICY: Check = object({
  spec: object({
    podSelector: SELECTOR,
    policyTypes: list(oneOf("Ingress", "Egress")),
    ingress: list(object({ from: PEERS, ports: list(POLICY_PORT) })),
    egress: list(object({ to: PEERS, ports: list(POLICY_PORT) })),
  }),
});
