/** Services (k8s.io/kubernetes, `pkg/apis/core/validation`, `ValidateService`). */
import { parseIp } from "#core/net/ip.ts";
import { type Fields, listOf, mappingOf, textOf } from "#core/base/json.ts";
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
import {
  CIDR,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  IP_ADDRESS,
  LABEL_VALUE,
  PORT_NAME,
  QUALIFIED_NAME,
  type TextRule,
} from "./names.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** A port by number, or by the name that it has in the pod. */
export const portOrName: Check = (value, path, faults) => {
  if (typeof value === "number") PORT(value, path, faults);
  else if (typeof value === "string") text(PORT_NAME)(value, path, faults);
  else faults.wrongType(path, value, "a number, or the name of a port");
};

/** Zero and an empty text stand for the Service's own port. */
const targetPort: Check = (value, path, faults) => {
  if (value !== 0 && value !== "") portOrName(value, path, faults);
};

const SERVICE_PORT: Check = object({
  name: text(DNS_LABEL, true),
  port: required(PORT, "Write the port of the Service."),
  protocol: oneOf("", "TCP", "UDP", "SCTP"),
  targetPort,
  nodePort: integer(0, 65_535),
  appProtocol: text(QUALIFIED_NAME),
});

const CLUSTER_IP: TextRule = Object.freeze({
  fault: (address: string) => (address === "None" ? undefined : IP_ADDRESS.fault(address)),
  advice: WORDS.adviceClusterIp,
});

/** A server trims it. */
const PADDED_CIDR: TextRule = { fault: (range) => CIDR.fault(range.trim()), advice: CIDR.advice };

/** Without the affinity its settings are dropped. */
const affinityFits: Check = (value, path, faults) => {
  const { sessionAffinity, sessionAffinityConfig } = mappingOf(value);
  if (sessionAffinity === "ClientIP" && !isAbsent(sessionAffinityConfig))
    AFFINITY_SETTINGS(sessionAffinityConfig, below(path, "sessionAffinityConfig"), faults);
};

const AFFINITY_SETTINGS: Check = object({
  clientIP: object({
    timeoutSeconds: integer(1, 86_400, "must be greater than 0 and less than or equal to 86400"),
  }),
});

const SPEC: Check = object({
  type: oneOf("", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
  ports: list(SERVICE_PORT),
  selector: mapOf(QUALIFIED_NAME, text(LABEL_VALUE)),
  clusterIP: text(CLUSTER_IP, true),
  clusterIPs: list(text(CLUSTER_IP, true)),
  externalIPs: list(text(IP_ADDRESS)),
  loadBalancerIP: anyText,
  loadBalancerSourceRanges: list(text(PADDED_CIDR)),
  externalName: anyText,
  sessionAffinity: oneOf("", "None", "ClientIP"),
  externalTrafficPolicy: oneOf("", "Cluster", "Local"),
  internalTrafficPolicy: oneOf("Cluster", "Local"),
  trafficDistribution: oneOf("PreferClose", "PreferSameZone", "PreferSameNode"),
  loadBalancerClass: text(QUALIFIED_NAME),
  healthCheckNodePort: integer(0, 65_535),
  publishNotReadyAddresses: flag,
  allocateLoadBalancerNodePorts: flag,
  ipFamilyPolicy: oneOf("SingleStack", "PreferDualStack", "RequireDualStack"),
  ipFamilies: list(oneOf("IPv4", "IPv6")),
});

function typeOf(spec: Fields): string {
  const { type } = spec;
  return typeof type === "string" && type !== "" ? type : "ClusterIP";
}

function isHeadless(spec: Fields): boolean {
  return spec["clusterIP"] === "None";
}

const portsAreThere: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const { ports } = spec;
  const isEmpty = isAbsent(ports) || (Array.isArray(ports) && ports.length === 0);
  if (isEmpty && typeOf(spec) !== "ExternalName" && !isHeadless(spec)) {
    const advice = WORDS.adviceServicePorts;
    faults.required(below(path, "ports"), advice);
  }
};

function checkPortNames(ports: readonly Fields[], path: FieldPath, faults: FieldFaults): void {
  const names = new Set<unknown>();
  for (const [index, { name }] of ports.entries()) {
    const at = below(path, index, "name");
    if (isAbsent(name) || name === "") {
      if (ports.length > 1) faults.required(at, "With several ports each needs a name.");
    } else if (names.has(name)) faults.duplicate(at, name, "Give each port its own name.");
    names.add(name);
  }
}

function checkPortPairs(ports: readonly Fields[], path: FieldPath, faults: FieldFaults): void {
  const pairs = new Set<string>();
  const nodePorts = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const protocol = textOr(port["protocol"], "TCP");
    const pair = `${protocol} ${String(port["port"])}`;
    if (pairs.has(pair)) {
      const shown = { port: port["port"], protocol };
      faults.duplicate(below(path, index), shown, "Each pair of port and protocol may appear once.");
    }
    pairs.add(pair);
    const { nodePort } = port;
    if (typeof nodePort !== "number" || nodePort === 0) continue;
    const nodePair = `${protocol} ${nodePort}`;
    if (nodePorts.has(nodePair)) {
      faults.duplicate(below(path, index, "nodePort"), nodePort, "Take another node port.");
    }
    nodePorts.add(nodePair);
  }
}

const portsFit: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const ports = mappingsOf(spec["ports"]);
  const at = below(path, "ports");
  checkPortNames(ports, at, faults);
  checkPortPairs(ports, at, faults);
  if (typeOf(spec) !== "ClusterIP" && typeOf(spec) !== "ExternalName") return;
  for (const [index, { nodePort }] of ports.entries()) {
    if (typeof nodePort !== "number" || nodePort === 0) continue;
    const detail = `may not be used when \`type\` is '${typeOf(spec)}'`;
    faults.forbidden(below(at, index, "nodePort"), detail, "Remove it, or write type: NodePort.");
  }
};

const addressesFit: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const { clusterIP, clusterIPs } = spec;
  const type = typeOf(spec);
  if (type === "ExternalName") {
    if (typeof clusterIP === "string" && clusterIP !== "") {
      const detail = "may not be set when `type` is 'ExternalName'";
      faults.forbidden(below(path, "clusterIPs"), detail, "Remove the address.");
    }
  } else if (isHeadless(spec) && type !== "ClusterIP") {
    const detail = `may not be set to 'None' for ${type} services`;
    faults.invalid(
      below(path, "clusterIPs", 0),
      "None",
      detail,
      "Remove the field, or write type: ClusterIP.",
    );
  }
  const [first] = listOf(clusterIPs);
  if (isAbsent(first)) return;
  if (isAbsent(clusterIP) || clusterIP === "") {
    const detail = "must be empty when `clusterIP` is not specified";
    faults.invalid(below(path, "clusterIPs"), clusterIPs, detail, "Write clusterIP, too.");
  } else if (typeof clusterIP === "string" && first !== clusterIP) {
    const detail = "first value must match `clusterIP`";
    faults.invalid(below(path, "clusterIPs"), clusterIPs, detail, "Write the same address in both.");
  }
};

/** One of each family at most. */
const familiesFit: Check = (value, path, faults) => {
  const { ipFamilies, clusterIPs } = mappingOf(value);
  for (const [index, family] of repeated(listOf(ipFamilies)))
    faults.duplicate(below(path, "ipFamilies", index), family, "Name each family once.");
  const addresses = listOf(clusterIPs).map((each) => parseIp(String(each)));
  const counts = ["number", "bigint"].map((type) => addresses.filter((ip) => typeof ip === type).length);
  if (Math.max(...counts) < 2) return;
  const detail = "may specify no more than one IP for each IP family";
  faults.invalid(below(path, "clusterIPs"), clusterIPs, detail, "Keep one of them.");
};

const namePointsOutside: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  if (typeOf(spec) !== "ExternalName") return;
  const name = spec["externalName"];
  const at = below(path, "externalName");
  if (isAbsent(name) || name === "") faults.required(at, "Write the name of the Service.");
  else if (typeof name === "string") text(DNS_SUBDOMAIN)(name.replace(/\.$/, ""), at, faults);
};

/** An address that no machine outside can have (`ValidateNonSpecialIP`). */
function specialAddress(address: string): string | undefined {
  const ip = parseIp(address);
  if (ip === undefined) return undefined;
  if (ip === 0 || ip === 0n) return "may not be unspecified (0.0.0.0 or ::)";
  const isLoopback = typeof ip === "number" ? ip >>> 24 === 127 : ip === 1n;
  if (isLoopback) return "may not be in the loopback range (127.0.0.0/8, ::1/128)";
  const isLinkLocal = typeof ip === "number" ? ip >>> 16 === 0xa9fe : ip >> 118n === 0x3fan;
  if (isLinkLocal) return "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
  const isGroup = typeof ip === "number" ? ip >>> 8 === 0xe00000 : ip >> 112n === 0xff02n;
  return isGroup ? "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)" : undefined;
}

/** For addresses of Services and of back ends. */
export const notSpecial: Check = (value, path, faults) => {
  const fault = typeof value === "string" ? specialAddress(value) : undefined;
  if (fault !== undefined) faults.invalid(path, value, fault, "Write the address of a machine.");
};

const externalAddressesFit: Check = (value, path, faults) => {
  const addresses = mappingOf(value)["externalIPs"];
  if (!Array.isArray(addresses)) return;
  for (const [index, address] of addresses.entries())
    notSpecial(address, below(path, "externalIPs", index), faults);
};

const policiesFit: Check = (value, path, faults) => {
  const spec = mappingOf(value);
  const type = typeOf(spec);
  const hasExternal = Array.isArray(spec["externalIPs"]) && spec["externalIPs"].length > 0;
  const isReachable = type === "NodePort" || type === "LoadBalancer" || (type === "ClusterIP" && hasExternal);
  const policy = spec["externalTrafficPolicy"];
  if (typeof policy === "string" && policy !== "" && !isReachable) {
    const detail = "may only be set for externally-accessible services";
    faults.invalid(
      below(path, "externalTrafficPolicy"),
      policy,
      detail,
      "Remove it, or write type: NodePort.",
    );
  }
  const healthPort = spec["healthCheckNodePort"];
  const takesHealthPort = type === "LoadBalancer" && policy === "Local";
  if (typeof healthPort === "number" && healthPort !== 0 && !takesHealthPort) {
    const detail = WORDS.healthCheckNodePortForbidden;
    faults.invalid(below(path, "healthCheckNodePort"), healthPort, detail, "Remove the field.");
  }
};

const INGRESS: Check = object({
  loadBalancer: object({
    ingress: list(object({ ip: text(IP_ADDRESS, true), hostname: anyText, ipMode: oneOf("VIP", "Proxy") })),
  }),
});

export const SERVICE: Check = object({
  spec: required(
    all(
      SPEC,
      affinityFits,
      portsAreThere,
      portsFit,
      addressesFit,
      familiesFit,
      namePointsOutside,
      externalAddressesFit,
      policiesFit,
    ),
    "Write the spec of the Service.",
  ),
  status: INGRESS,
});

/** What a server's own Services need not be asked: a change of type leaves some of it behind. */
const LOAD_BALANCERS_ALONE = [
  "loadBalancerSourceRanges",
  "allocateLoadBalancerNodePorts",
  "loadBalancerClass",
] as const;
const SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges";
const OF_CLUSTER_ADDRESSES = ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] as const;

function isSet(value: unknown): boolean {
  return !isAbsent(value) && !(Array.isArray(value) && value.length === 0);
}

const fieldsFitType: Check = (value, path, faults) => {
  const { spec: given, metadata } = mappingOf(value);
  const [spec, type] = [mappingOf(given), typeOf(mappingOf(given))];
  const at = below(path, "spec");
  const ranges = mappingOf(mappingOf(metadata)["annotations"])[SOURCE_RANGES];
  if (type !== "LoadBalancer") {
    const detail = "may only be used when `type` is 'LoadBalancer'";
    const advice = "Remove it, or write type: LoadBalancer.";
    for (const field of LOAD_BALANCERS_ALONE)
      if (isSet(spec[field])) faults.forbidden(below(at, field), detail, advice);
    if (!isAbsent(ranges))
      faults.forbidden(below(path, "metadata", "annotations", SOURCE_RANGES), detail, advice);
  }
  if (type === "ExternalName")
    for (const field of OF_CLUSTER_ADDRESSES)
      if (isSet(spec[field]))
        faults.forbidden(below(at, field), "may not be set for ExternalName services", "Remove the field.");
};

const clusterAddressesFit: Check = (value, path, faults) => {
  const { clusterIPs, ipFamilies } = mappingOf(value);
  if (!Array.isArray(clusterIPs)) return;
  const at = below(path, "clusterIPs");
  if (clusterIPs.length > 2)
    faults.invalid(at, clusterIPs, "may only hold up to 2 values", "Keep one of each family.");
  if (clusterIPs.length > 1 && clusterIPs.includes("None"))
    faults.invalid(at, clusterIPs, "'None' must be the first and only value", "Write None alone.");
  const families = listOf(ipFamilies);
  for (const [index, address] of clusterIPs.entries()) {
    const ip = parseIp(String(address));
    const family = ip === undefined ? undefined : typeof ip === "number" ? "IPv4" : "IPv6";
    const wanted = textOf(families[index]);
    if (family === undefined || wanted === "" || wanted === family) continue;
    const detail = `expected an ${wanted} value as indicated by \`ipFamilies[${index}]\``;
    faults.invalid(below(at, index), address, detail, "Write the families in the order of the addresses.");
  }
};

export const SERVICE_DETAILS: Check = all(fieldsFitType, object({ spec: clusterAddressesFit }));
