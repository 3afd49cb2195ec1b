/** Families, ports and addresses of Services, against builds of Windows and versions. */
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { LintDocument } from "../../input/document.ts";
import { fieldsAt, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import { type LintRule, objectRule } from "../../rule.ts";
import { OVERLAY_IPV6_BUILD } from "./nodes.ts";
import { anyServices, hasNodePorts, isLocal, lacks, windowsServices } from "./service-scope.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

const EQUAL_PORTS_MINOR = 15;

const EQUAL_PORTS = anyServices("node-port-equals-port", function* (service, { kubernetes }) {
  if (kubernetes.minor >= EQUAL_PORTS_MINOR) return;
  for (const [index, port] of listAt(service.value, "spec", "ports").entries()) {
    const nodePort = numberAt(port, "nodePort");
    if (nodePort !== undefined && nodePort === numberAt(port, "port"))
      yield {
        at: { path: ["spec", "ports", index, "nodePort"] },
        message: WORDS.nodePortEqualsPort({ nodePort, minor: kubernetes.minor }),
      };
  }
});

function familiesOf(service: LintDocument): readonly string[] {
  const { value } = service;
  const said = listAt(value, "spec", "ipFamilies").map(String);
  if (said.length > 0) return said;
  return listAt(value, "spec", "clusterIPs").map((ip) => (String(ip).includes(":") ? "IPv6" : "IPv4"));
}

const IPV6 = windowsServices("service-ipv6-unsupported", function* (service, context) {
  const [first] = familiesOf(service);
  if (first !== "IPv6" && !familiesOf(service).includes("IPv6")) return;
  const field = listAt(service.value, "spec", "ipFamilies").length > 0 ? "ipFamilies" : "clusterIPs";
  const at = { path: ["spec", field] };
  const build = context.buildWhere((each) => lacks(each, "IPv6DualStack"));
  const severity = first === "IPv6" ? "error" : "warning";
  if (build !== undefined)
    yield {
      at,
      severity,
      message: WORDS.serviceDualStackUnsupported({ title: build.profile.title }),
      differs: "dual-stack-from-2004",
    };
  else if (context.isOverlay && context.buildWhere((each) => each.profile.build < OVERLAY_IPV6_BUILD))
    yield {
      at,
      severity,
      message: WORDS.serviceIpv6OnOverlay,
    };
});

const DUAL_NODE_PORT_MINOR = 36;

const DUAL_NODE_PORT = windowsServices("dual-stack-node-port-missing", function* (service, { kubernetes }) {
  if (!hasNodePorts(service) || kubernetes.minor >= DUAL_NODE_PORT_MINOR) return;
  const families = familiesOf(service);
  const isSaid = listAt(service.value, "spec", "ipFamilies").length === 2;
  const isRequired = textAt(service.value, "spec", "ipFamilyPolicy") === "RequireDualStack";
  if (families.length !== 2 && !isRequired) return;
  yield {
    at: { path: ["spec", isSaid ? "ipFamilies" : isRequired ? "ipFamilyPolicy" : "clusterIPs"] },
    message: WORDS.nodePortSingleFamily({
      minor: kubernetes.minor,
      family: families[0] ?? "the first family",
    }),
  };
});

const IP_MODE_MINOR = 36;

const IP_MODE = anyServices("load-balancer-ip-mode-ignored", function* (service, { kubernetes }) {
  if (kubernetes.minor >= IP_MODE_MINOR) return;
  for (const [index, ingress] of listAt(service.value, "status", "loadBalancer", "ingress").entries())
    if (textAt(ingress, "ipMode") === "Proxy")
      yield {
        at: { path: ["status", "loadBalancer", "ingress", index, "ipMode"] },
        message: WORDS.ipModeIgnored({ minor: kubernetes.minor }),
      };
});

/** windows-networking-documentation.md §5, known issues. */
const OVERLAY_NODE_PORT = windowsServices("node-port-on-overlay-server-2022", function* (service, context) {
  if (!hasNodePorts(service) || isLocal(service) || !context.isOverlay) return;
  if (context.windows.origin === "assumed") return;
  const build = context.buildWhere((each) => each.profile.name === "ws2022");
  if (build === undefined) return;
  yield {
    at: { path: ["spec", "type"] },
    message: WORDS.nodePortLostOnOverlay,
    fix: "Write externalTrafficPolicy: Local.",
  };
});

/** Services that the default dynamic range has blocks for (kube-proxy.md §3.13). */
const BLOCKS = 225;

const PORT_BUDGET = objectRule("load-balancer-ports-exhausted", ["Service"], function* (document, context) {
  if (context.kubeProxy.enableDSR !== false || context.serviceAt(BLOCKS) !== document) return;
  yield {
    at: { path: ["metadata", "name"] },
    message: WORDS.servicePortBlocksExhausted({ position: BLOCKS + 1, most: BLOCKS }),
  };
});

const SLICE_PORT_MINOR = 34;

/** The port that the Service sends to, where that is a number. */
function targetOf(service: LintDocument, name: string): number | undefined {
  const ports = listAt(service.value, "spec", "ports");
  const port = ports.find((each) => (textAt(each, "name") ?? "") === name);
  if (port === undefined) return undefined;
  const target = valueAt(port, "targetPort");
  if (target === undefined || target === null) return numberAt(port, "port");
  return typeof target === "number" ? target : undefined;
}

/** kube-proxy.md §8.3. */
const SLICE_PORT = objectRule("slice-port-not-used", ["EndpointSlice"], function* (document, context) {
  if (!context.hasWindows || context.kubernetes.minor >= SLICE_PORT_MINOR) return;
  const name = textAt(fieldsAt(document.value, "metadata", "labels"), SERVICE_NAME_LABEL);
  const namespace = textAt(document.value, "metadata", "namespace") ?? "default";
  const service = name === undefined ? undefined : context.serviceNamed(namespace, name);
  if (service === undefined) return;
  for (const [index, port] of listAt(document.value, "ports").entries()) {
    const number = numberAt(port, "port");
    const target = targetOf(service, textAt(port, "name") ?? "");
    if (number === undefined || target === undefined || number === target) continue;
    yield {
      at: { path: ["ports", index, "port"] },
      message: WORDS.targetPortMismatch({
        minor: context.kubernetes.minor,
        target,
        title: service.title,
        number,
      }),
    };
  }
});

export const ADDRESS_RULES: readonly LintRule[] = [
  EQUAL_PORTS,
  IPV6,
  DUAL_NODE_PORT,
  IP_MODE,
  OVERLAY_NODE_PORT,
  PORT_BUDGET,
  SLICE_PORT,
];
