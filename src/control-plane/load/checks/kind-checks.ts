/** Which checks an object of each kind must pass. */
import type { KubeKind } from "#contracts/kubernetes/objects.ts";
import { FINALIZER, SELECTOR, metadataOf } from "./check-metadata.ts";
import {
  CRON_JOB_DETAILS,
  DAEMON_SET_DETAILS,
  DEPLOYMENT_DETAILS,
  JOB_DETAILS,
  POD_DETAILS,
  REPLICA_SET_DETAILS,
  STATEFUL_SET_DETAILS,
} from "./check-details.ts";
import { NODE, NODE_DETAILS, NODE_LABELS, NO_FIELDS, POD, TOLERATIONS } from "./check-pod.ts";
import { SERVICE, SERVICE_DETAILS, notSpecial, portOrName } from "./check-service.ts";
import {
  CONFIG_MAP,
  CRON_JOB,
  DAEMON_SET,
  DEPLOYMENT,
  JOB,
  REPLICA_SET,
  STATEFUL_SET,
} from "./check-workload.ts";
import {
  type Check,
  type FieldFaults,
  COUNT,
  PORT,
  all,
  anyText,
  flag,
  integer,
  isAbsent,
  list,
  mappingsOf,
  object,
  oneOf,
  repeated,
  required,
  text,
  textOr,
} from "./field-check.ts";
import {
  CIDR,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  IP_ADDRESS,
  LABEL_VALUE,
  QUALIFIED_NAME,
  type TextRule,
} from "./names.ts";
import { type Fields, listOf, mappingOf } from "#core/base/json.ts";
import { parseInterfaceAddress, parseIp, prefixContains, prefixCovers, prefixOf } from "#core/net/ip.ts";
import { isOfServer } from "#contracts/kubernetes/object-fields.ts";
import { below } from "#contracts/kubernetes/text/field-path.ts";

// EndpointSlices and Endpoints (k8s.io/kubernetes, `pkg/apis/discovery/validation`, `ValidateEndpoints`).

const TARGET: Check = object({ kind: anyText, name: anyText, namespace: anyText, uid: anyText });

/** A slice of the API may name so many zones, or nodes, for an endpoint. */
const HINTS_MAX = 8;

function hintsOf(name: Check): Check {
  return all(list(object({ name })), (value, path, faults) => {
    const names = mappingsOf(value).map((hint) => hint["name"]);
    if (names.length > HINTS_MAX)
      faults.invalid(path, names.length, `must have at most ${HINTS_MAX} items`, "Leave some out.");
    for (const [index, each] of repeated(names))
      faults.duplicate(below(path, index, "name"), each, "Name each once.");
  });
}

const SLICE: Check = object({
  addressType: required(oneOf("IPv4", "IPv6", "FQDN"), "Write addressType: IPv4."),
  endpoints: list(
    object({
      addresses: required(list(anyText), "Write the address of the endpoint."),
      conditions: object({ ready: flag, serving: flag, terminating: flag }),
      hostname: text(DNS_LABEL),
      nodeName: text(DNS_SUBDOMAIN),
      targetRef: TARGET,
      zone: anyText,
      hints: object({ forZones: hintsOf(text(LABEL_VALUE)), forNodes: hintsOf(text(DNS_SUBDOMAIN)) }),
    }),
  ),
  ports: list(
    object({
      name: text(DNS_LABEL, true),
      port: PORT,
      protocol: oneOf("TCP", "UDP", "SCTP"),
      appProtocol: text(QUALIFIED_NAME),
    }),
  ),
});

/** The API takes at most so many endpoints in one slice. */
const ENDPOINTS_MAX = 1_000;
const ADDRESSES_MAX = 100;

const addressesAreOfType: Check = (value, path, faults) => {
  const { addressType, endpoints } = mappingOf(value);
  const items = mappingsOf(endpoints);
  if (items.length > ENDPOINTS_MAX) {
    const detail = `must have at most ${ENDPOINTS_MAX} items`;
    faults.invalid(below(path, "endpoints"), items.length, detail, "Make several slices of them.");
  }
  for (const [index, { addresses }] of items.entries()) {
    const at = below(path, "endpoints", index, "addresses");
    const texts = listOf(addresses);
    if (texts.length > ADDRESSES_MAX) {
      faults.invalid(at, texts.length, `must have at most ${ADDRESSES_MAX} items`, "Leave some out.");
    }
    for (const [position, address] of texts.entries()) {
      if (typeof address !== "string") continue;
      const place = below(at, position);
      if (addressType === "FQDN") {
        text(DNS_SUBDOMAIN)(address, place, faults);
        continue;
      }
      const ip = parseIp(address);
      const isRight = addressType === "IPv6" ? typeof ip === "bigint" : typeof ip === "number";
      const noun = addressType === "IPv6" ? "IPv6" : "IPv4";
      if (isRight) notSpecial(address, place, faults);
      else faults.invalid(place, address, `must be a valid ${noun} address`, `Write an ${noun} address.`);
    }
  }
};

const portNamesAreUnique: Check = (value, path, faults) => {
  const names = new Set<string>();
  for (const [index, { name }] of mappingsOf(mappingOf(value)["ports"]).entries()) {
    const known = textOr(name, "");
    if (names.has(known))
      faults.duplicate(below(path, "ports", index, "name"), known, "Give each port its own name.");
    names.add(known);
  }
};

const ENDPOINT_SLICE: Check = all(SLICE, addressesAreOfType, portNamesAreUnique);

const ADDRESS: Check = object({
  ip: required(all(text(IP_ADDRESS), notSpecial), "Write the address."),
  hostname: text(DNS_LABEL, true),
  nodeName: text(DNS_SUBDOMAIN),
  targetRef: TARGET,
});

const subsetIsWhole: Check = (value, path, faults) => {
  const { addresses, notReadyAddresses, ports } = mappingOf(value);
  if (mappingsOf(addresses).length + mappingsOf(notReadyAddresses).length === 0)
    faults.required(path, "Write the addresses.", "must specify `addresses` or `notReadyAddresses`");
  const named = mappingsOf(ports);
  for (const [index, { name }] of named.entries())
    if (named.length > 1 && textOr(name, "") === "")
      faults.required(below(path, "ports", index, "name"), "With several ports each needs a name.");
};

const ENDPOINTS: Check = object({
  subsets: list(
    all(
      subsetIsWhole,
      object({
        addresses: list(ADDRESS),
        notReadyAddresses: list(ADDRESS),
        ports: list(
          object({
            name: text(DNS_LABEL, true),
            port: required(PORT, "Write the port."),
            protocol: oneOf("", "TCP", "UDP", "SCTP"),
            appProtocol: text(QUALIFIED_NAME),
          }),
        ),
      }),
    ),
  ),
});

function atMostTwo(detail: string): Check {
  return (value, path, faults) => {
    if (Array.isArray(value) && value.length > 2) faults.invalid(path, value, detail, "Keep two at most.");
  };
}

// NetworkPolicies (k8s.io/kubernetes, `pkg/apis/networking/validation`).

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

const NETWORK_POLICY: Check = object({
  spec: object({
    podSelector: SELECTOR,
    policyTypes: all(
      list(oneOf("Ingress", "Egress")),
      atMostTwo("may not specify more than two policyTypes"),
    ),
    ingress: list(object({ from: PEERS, ports: list(POLICY_PORT) })),
    egress: list(object({ to: PEERS, ports: list(POLICY_PORT) })),
  }),
});

const TRANSITIONS_MAX = 2_147_483_647;

/** k8s.io/kubernetes, `pkg/apis/coordination/validation`. */
const LEASE: Check = object({
  spec: object({
    holderIdentity: anyText,
    leaseDurationSeconds: integer(1, TRANSITIONS_MAX, "must be greater than 0"),
    leaseTransitions: COUNT,
    acquireTime: anyText,
    renewTime: anyText,
  }),
});

/** One range of each family at most, each with its length (k8s.io/kubernetes, `pkg/apis/networking/validation`). */
const SERVICE_CIDR: Check = object({
  spec: required(
    object({ cidrs: required(list(text(CIDR)), "Write one range of addresses, or one of each family.") }),
    "Write spec.cidrs.",
  ),
});

/** k8s.io/kubernetes, `pkg/apis/node/validation`. */
const RUNTIME_CLASS: Check = object({
  handler: required(text(DNS_LABEL), "Write the name of the runtime's handler, such as runhcs-wcow-process."),
  scheduling: object({ nodeSelector: NODE_LABELS, tolerations: TOLERATIONS }),
});

/** k8s.io/kubernetes, `pkg/apis/core/validation/events.go`. */
const EVENT: Check = object({
  involvedObject: required(
    object({ kind: anyText, namespace: anyText, name: anyText, uid: anyText }),
    "Write the object that the event is about.",
  ),
  reason: anyText,
  message: anyText,
  type: anyText,
  count: COUNT,
});

const BODY: Readonly<Record<KubeKind, Check>> = Object.freeze({
  Node: NODE,
  Namespace: NO_FIELDS,
  Pod: POD,
  Deployment: DEPLOYMENT,
  ReplicaSet: REPLICA_SET,
  StatefulSet: STATEFUL_SET,
  DaemonSet: DAEMON_SET,
  Job: JOB,
  CronJob: CRON_JOB,
  Service: SERVICE,
  EndpointSlice: ENDPOINT_SLICE,
  Endpoints: ENDPOINTS,
  NetworkPolicy: NETWORK_POLICY,
  ConfigMap: CONFIG_MAP,
  Lease: LEASE,
  ServiceCIDR: SERVICE_CIDR,
  RuntimeClass: RUNTIME_CLASS,
  Event: EVENT,
});

const LEVELS = ["privileged", "baseline", "restricted"];
const POD_SECURITY = ["enforce", "audit", "warn"].map((mode) => `pod-security.kubernetes.io/${mode}`);
const SECURITY_VERSION: TextRule = Object.freeze({
  fault: (version: string) =>
    /^(?:latest|v1\.(?:0|[1-9]\d*))$/.test(version) ? undefined : 'must be "latest" or "v1.x"',
  advice: "Write latest, or a version such as v1.34.",
});

/** k8s.io/pod-security-admission, `api`: labels that admission cannot read are refused. */
const NAMESPACE_DETAILS: Check = object({
  metadata: object({
    labels: object(
      Object.fromEntries(
        POD_SECURITY.flatMap((label) => [
          [label, oneOf(...LEVELS)],
          [`${label}-version`, text(SECURITY_VERSION)],
        ]),
      ),
    ),
  }),
  spec: object({ finalizers: list(text(FINALIZER)) }),
});

const DETAILS: Readonly<Partial<Record<KubeKind, Check>>> = Object.freeze({
  Node: NODE_DETAILS,
  Namespace: NAMESPACE_DETAILS,
  Service: SERVICE_DETAILS,
  Pod: POD_DETAILS,
  Deployment: DEPLOYMENT_DETAILS,
  ReplicaSet: REPLICA_SET_DETAILS,
  StatefulSet: STATEFUL_SET_DETAILS,
  DaemonSet: DAEMON_SET_DETAILS,
  Job: JOB_DETAILS,
  CronJob: CRON_JOB_DETAILS,
});

/** Names differ by kind in what they may be. */
const METADATA = Object.fromEntries(
  (Object.keys(BODY) as KubeKind[]).map((kind) => [
    kind,
    object({ metadata: required(metadataOf(kind), "Write metadata with a name.") }),
  ]),
) as Record<KubeKind, Check>;

/** Tells what Kubernetes would refuse about an object; what an API server has shown is not checked in its details. */
export function checkObject(kind: KubeKind, value: Fields, faults: FieldFaults): void {
  METADATA[kind](value, undefined, faults);
  BODY[kind](value, undefined, faults);
  if (!isOfServer(value)) DETAILS[kind]?.(value, undefined, faults);
}
