/** Pods and pod templates, as far as Mullion reads them (k8s.io/kubernetes, `pkg/apis/core/validation`). */
import { type Fields, isFields, listOf, mappingOf } from "#core/base/json.ts";
import {
  type Check,
  type FieldFaults,
  PORT,
  all,
  anyText,
  flag,
  integer,
  isAbsent,
  list,
  mapOf,
  mappingsOf,
  object,
  oneOf,
  repeated,
  required,
  text,
  textOr,
} from "./field-check.ts";
import { type FieldPath, below } from "#contracts/kubernetes/text/field-path.ts";
import { LABELS, TEMPLATE_METADATA, expressionOf } from "./check-metadata.ts";
import {
  CIDR,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  IP_ADDRESS,
  LABEL_VALUE,
  PORT_NAME,
  QUALIFIED_NAME,
  textUpTo,
} from "./names.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

const WINDOWS_OPTIONS: Check = object({ hostProcess: flag });

const CONTAINER_PORT: Check = object({
  name: text(PORT_NAME, true),
  containerPort: required(PORT, "Write the port on which the container listens."),
  hostPort: integer(0, 65_535, "must be between 1 and 65535, inclusive"),
  hostIP: text(IP_ADDRESS, true),
  protocol: oneOf("", "TCP", "UDP", "SCTP"),
});

const CONTAINER: Check = object({
  name: required(text(DNS_LABEL), "Give the container a name."),
  image: required(anyText, "Write the image of the container."),
  ports: list(CONTAINER_PORT),
  securityContext: object({ windowsOptions: WINDOWS_OPTIONS }),
});

const NODE_OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const NODE_EXPRESSION = expressionOf(NODE_OPERATORS, ["In", "NotIn"]);

const numberForComparison: Check = (value, path, faults) => {
  const { operator, values } = mappingOf(value);
  if (operator !== "Gt" && operator !== "Lt") return;
  const single = Array.isArray(values) && values.length === 1 ? (values[0] as unknown) : undefined;
  if (typeof single !== "string") {
    const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
    faults.required(below(path, "values"), 'Write one number in quotes: ["3"].', detail);
  } else if (!/^-?\d+$/.test(single)) {
    faults.invalid(below(path, "values", 0), single, "must be an integer", "Write a whole number in quotes.");
  }
};

const FIELD_EXPRESSION: Check = object({
  key: required(oneOf("metadata.name"), "Write metadata.name."),
  operator: required(oneOf("In", "NotIn"), "Write In or NotIn."),
  values: required(list(text(DNS_SUBDOMAIN)), "Write the name of one node."),
});

const NODE_TERM: Check = object({
  matchExpressions: list(all(NODE_EXPRESSION, numberForComparison)),
  matchFields: list(FIELD_EXPRESSION),
});

const NODE_AFFINITY: Check = object({
  requiredDuringSchedulingIgnoredDuringExecution: object({
    nodeSelectorTerms: required(list(NODE_TERM), "Write at least one term."),
  }),
  preferredDuringSchedulingIgnoredDuringExecution: list(
    object({ weight: required(integer(1, 100), "Write a weight from 1 to 100."), preference: NODE_TERM }),
  ),
});

const TOLERATION: Check = object({
  key: text(QUALIFIED_NAME, true),
  operator: oneOf("", "Exists", "Equal"),
  value: anyText,
  effect: oneOf("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
  tolerationSeconds: integer(-9_007_199_254_740_991, 9_007_199_254_740_991),
});

const tolerationFits: Check = (value, path, faults) => {
  const toleration = mappingOf(value);
  const { key, operator, effect } = toleration;
  if ((isAbsent(key) || key === "") && operator !== "Exists") {
    const detail = WORDS.tolerationOperatorInvalid;
    faults.invalid(below(path, "operator"), operator ?? "", detail, "Write operator: Exists, or a key.");
  }
  if (operator === "Exists" && typeof toleration["value"] === "string" && toleration["value"] !== "") {
    const detail = "value must be empty when `operator` is 'Exists'";
    faults.invalid(
      below(path, "operator"),
      toleration["value"],
      detail,
      "Remove the value, or write operator: Equal.",
    );
  }
  if (!isAbsent(toleration["tolerationSeconds"]) && effect !== "NoExecute") {
    const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    faults.invalid(below(path, "effect"), effect ?? "", detail, "Remove tolerationSeconds.");
  }
};

/** Labels that a node must have. */
export const NODE_LABELS: Check = mapOf(QUALIFIED_NAME, text(LABEL_VALUE));

export const TOLERATIONS: Check = list(all(TOLERATION, tolerationFits));

const DNS_POLICIES = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];

const dnsFits: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const { nameservers, searches } = mappingOf(spec["dnsConfig"]);
  if (spec["dnsPolicy"] === "None" && !(Array.isArray(nameservers) && nameservers.length > 0)) {
    const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
    faults.required(below(path, "dnsConfig", "nameservers"), "Write the address of a name server.", detail);
  }
  if (Array.isArray(nameservers) && nameservers.length > 3) {
    const advice = "Keep at most three.";
    faults.invalid(
      below(path, "dnsConfig", "nameservers"),
      nameservers,
      "must not have more than 3 nameservers",
      advice,
    );
  }
  if (Array.isArray(searches) && searches.length > 32) {
    const advice = "Keep at most 32.";
    faults.invalid(
      below(path, "dnsConfig", "searches"),
      searches,
      "must not have more than 32 search paths",
      advice,
    );
  }
};

const SPEC: Check = object({
  containers: required(list(CONTAINER), "Write at least one container."),
  initContainers: list(CONTAINER),
  nodeName: text(DNS_SUBDOMAIN, true),
  nodeSelector: NODE_LABELS,
  affinity: object({ nodeAffinity: NODE_AFFINITY }),
  tolerations: TOLERATIONS,
  hostNetwork: flag,
  hostname: text(DNS_LABEL, true),
  subdomain: text(DNS_LABEL, true),
  setHostnameAsFQDN: flag,
  dnsPolicy: oneOf("", ...DNS_POLICIES),
  dnsConfig: object({
    nameservers: list(text(IP_ADDRESS)),
    searches: list(text(textUpTo(253))),
    options: list(object({ name: anyText, value: anyText })),
  }),
  restartPolicy: oneOf("", "Always", "OnFailure", "Never"),
  os: object({ name: required(oneOf("linux", "windows"), "Write linux or windows.") }),
  hostAliases: list(
    object({
      ip: required(text(IP_ADDRESS), "Write the address of the host."),
      hostnames: list(text(DNS_SUBDOMAIN)),
    }),
  ),
  securityContext: object({ windowsOptions: WINDOWS_OPTIONS }),
  terminationGracePeriodSeconds: integer(-9_007_199_254_740_991, 9_007_199_254_740_991),
});

/** Names of containers are unique, and names of ports within a container. */
const namesAreUnique: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const names = new Set<unknown>();
  for (const field of ["initContainers", "containers"]) {
    for (const [index, container] of mappingsOf(spec[field]).entries()) {
      const at = below(path, field, index);
      const name = container["name"];
      if (names.has(name) && typeof name === "string")
        faults.duplicate(below(at, "name"), name, "Give each container its own name.");
      names.add(name);
      portsAreUnique(container, at, faults);
    }
  }
};

function portsAreUnique(container: Fields, path: FieldPath, faults: FieldFaults): void {
  const names = new Set<unknown>();
  for (const [index, port] of mappingsOf(container["ports"]).entries()) {
    const { name } = port;
    if (typeof name !== "string" || name === "") continue;
    if (names.has(name))
      faults.duplicate(below(path, "ports", index, "name"), name, "Give each port its own name.");
    names.add(name);
  }
}

/** A host port is taken once per pod; with host networking it is the container's own port. */
const hostPortsFit: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const taken = new Set<string>();
  for (const [index, container] of mappingsOf(spec["containers"]).entries()) {
    for (const [position, port] of mappingsOf(container["ports"]).entries()) {
      const { hostPort, containerPort } = port;
      if (typeof hostPort !== "number" || hostPort === 0) continue;
      const at = below(path, "containers", index, "ports", position);
      if (spec["hostNetwork"] === true && hostPort !== containerPort) {
        const detail = "must match `hostPort` when `hostNetwork` is true";
        faults.invalid(below(at, "containerPort"), containerPort, detail, "Remove hostPort.");
      }
      const key = `${textOr(port["protocol"], "TCP")}/${textOr(port["hostIP"], "")}/${hostPort}`;
      if (taken.has(key))
        faults.duplicate(below(at, "hostPort"), key, "Take another host port, or another protocol.");
      taken.add(key);
    }
  }
};

function hostProcessOf(holder: unknown): boolean | undefined {
  const value = mappingOf(mappingOf(mappingOf(holder)["securityContext"])["windowsOptions"])["hostProcess"];
  return typeof value === "boolean" ? value : undefined;
}

/** HostProcess is all or nothing, and lives in the network of the host (KEP-1981). */
const hostProcessFits: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const inherited = hostProcessOf(spec);
  const containers = [...mappingsOf(spec["initContainers"]), ...mappingsOf(spec["containers"])];
  const settings = containers.map((container) => hostProcessOf(container) ?? inherited ?? false);
  if (!settings.includes(true)) return;
  if (settings.includes(false)) {
    const detail = WORDS.hostProcessMixed;
    const advice = "Set hostProcess once, in the pod's securityContext.windowsOptions.";
    faults.invalid(below(path, "containers"), "", detail, advice);
  }
  if (spec["hostNetwork"] !== true) {
    const detail = "hostNetwork must be true if pod contains any hostProcess containers";
    faults.invalid(
      below(path, "hostNetwork"),
      spec["hostNetwork"] ?? false,
      detail,
      "Write hostNetwork: true.",
    );
  }
};

/** Of the security of a pod or of a container: what has no meaning on Windows. */
const LINUX_SECURITY = ["appArmorProfile", "seLinuxOptions", "seccompProfile", "runAsUser", "runAsGroup"];
const LINUX_SECURITY_OF_POD = [
  ...LINUX_SECURITY,
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
];
const LINUX_SECURITY_OF_CONTAINER = [
  ...LINUX_SECURITY,
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
];
/** Of a pod itself. The first two are refused when they are true, the others also when they are false. */
const LINUX_FIELDS_OF_POD = ["hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

/** A pod that says which system it is for has nothing that only the other one knows (`validateWindows`, `validateLinux`). */
const osFits: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const os = mappingOf(spec["os"])["name"];
  const ofContainers = ["initContainers", "containers"].flatMap((field) =>
    mappingsOf(spec[field]).map((container, index) => [container, below(path, field, index)] as const),
  );
  const refuse = (holder: Fields, at: FieldPath | undefined, fields: readonly string[], of: string): void => {
    for (const field of fields) {
      const given = holder[field];
      const isSet = Array.isArray(given) ? given.length > 0 : !isAbsent(given);
      if (isSet && !(given === false && field.startsWith("host") && field !== "hostUsers"))
        faults.forbidden(below(at, field), of, "Remove the field.");
    }
  };
  if (os === "windows") {
    const detail = "cannot be set for a windows pod";
    refuse(mappingOf(spec["securityContext"]), below(path, "securityContext"), LINUX_SECURITY_OF_POD, detail);
    refuse(spec, path, LINUX_FIELDS_OF_POD, detail);
    for (const [container, at] of ofContainers)
      refuse(
        mappingOf(container["securityContext"]),
        below(at, "securityContext"),
        LINUX_SECURITY_OF_CONTAINER,
        detail,
      );
  }
  if (os === "linux")
    for (const [holder, at] of [[spec, path] as const, ...ofContainers])
      refuse(
        mappingOf(holder["securityContext"]),
        below(at, "securityContext"),
        ["windowsOptions"],
        "windows options cannot be set for a linux pod",
      );
};

/** The spec of a pod or of a pod template. */
export const POD_SPEC: Check = all(SPEC, dnsFits, namesAreUnique, hostPortsFit, hostProcessFits, osFits);

export const POD_TEMPLATE: Check = object({
  metadata: TEMPLATE_METADATA,
  spec: required(POD_SPEC, "Write the spec of the pods."),
});

const CONDITIONS: Check = list(object({ type: anyText, status: oneOf("True", "False", "Unknown") }));

/** A whole pod, with what a dump says about it. */
export const POD: Check = object({
  spec: required(POD_SPEC, "Write the spec of the pod."),
  status: object({
    podIP: text(IP_ADDRESS, true),
    podIPs: list(object({ ip: text(IP_ADDRESS, true) })),
    hostIP: text(IP_ADDRESS, true),
    phase: oneOf("", "Pending", "Running", "Succeeded", "Failed", "Unknown"),
    conditions: CONDITIONS,
  }),
});

const TAINT: Check = object({
  key: required(text(QUALIFIED_NAME), "Write the key of the taint."),
  value: text(LABEL_VALUE, true),
  effect: required(oneOf("NoSchedule", "PreferNoSchedule", "NoExecute"), "Write NoSchedule, for example."),
});

/** A quantity of pods: a number, or a number as text. */
const podQuantity: Check = (value, path, faults) => {
  const isGood = typeof value === "number" ? Number.isInteger(value) : /^\d+$/.test(String(value));
  if (!isGood) faults.wrongType(path, value, "a whole number");
};

/** A Node. */
export const NODE: Check = object({
  metadata: object({ labels: LABELS }),
  spec: object({ podCIDR: anyText, podCIDRs: list(anyText), taints: list(TAINT), unschedulable: flag }),
  status: object({
    addresses: list(object({ type: anyText, address: anyText })),
    capacity: object({ pods: podQuantity }),
    allocatable: object({ pods: podQuantity }),
    nodeInfo: object({
      kernelVersion: anyText,
      kubeletVersion: anyText,
      kubeProxyVersion: anyText,
      operatingSystem: anyText,
      architecture: anyText,
      osImage: anyText,
      containerRuntimeVersion: anyText,
    }),
    conditions: CONDITIONS,
  }),
});

const nodeFits: Check = (value, path, faults) => {
  const { podCIDRs, taints } = mappingOf(value);
  const ranges = listOf(podCIDRs).map((each) => parseInterfaceAddress(String(each)));
  const families = new Set(ranges.map((range) => typeof range?.ip));
  if (ranges.length > 1 && families.size < ranges.length) {
    const detail = "may specify no more than one CIDR for each IP family";
    faults.invalid(below(path, "podCIDRs"), podCIDRs, detail, "Keep one of each family.");
  }
  const pairs = mappingsOf(taints).map(({ key, effect }) => `${String(key)} ${String(effect)}`);
  for (const [index, pair] of repeated(pairs))
    faults.duplicate(below(path, "taints", index), pair, "Name each key once with an effect.");
};

const POD_RANGES: Check = all(object({ podCIDR: text(CIDR, true), podCIDRs: list(text(CIDR)) }), nodeFits);

/** What of its Nodes a server has taken. Where `podCIDR` is another than the first of `podCIDRs`, it stands for them. */
export const NODE_DETAILS: Check = (value, path, faults) => {
  const { podCIDR, podCIDRs, ...spec } = mappingOf(mappingOf(value)["spec"]);
  const isOther = textOr(podCIDR, "") !== "" && Array.isArray(podCIDRs) && podCIDRs[0] !== podCIDR;
  const ranges = isOther ? [podCIDR] : podCIDRs;
  POD_RANGES({ ...spec, podCIDR, podCIDRs: ranges }, below(path, "spec"), faults);
};

/** Nothing but the metadata is read. */
export const NO_FIELDS: Check = (value, path, faults) => {
  if (!isFields(value)) faults.wrongType(path, value, "a mapping");
};
