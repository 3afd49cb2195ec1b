/** Settings of network providers: Calico, OVN-Kubernetes, EKS. */
import { isFields } from "#core/base/json.ts";
import { type Prefix, formatPrefix, parsePrefix, prefixesOverlap } from "#core/net/ip.ts";
import { unreadableAnnotations } from "#programs/ovn/hybrid/annotations.ts";
import type { LintDocument } from "../../input/document.ts";
import { type LintPath, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import { type LintRule, objectRule } from "../../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** Calico's own objects, as the API server and as its own have them. */
function calico(kind: string): readonly string[] {
  return [`${kind}.crd.projectcalico.org`, `${kind}.projectcalico.org`];
}

const INSTALLATION = "Installation.operator.tigera.io";

function isForWindows(installation: LintDocument): boolean {
  return textAt(installation.value, "spec", "calicoNetwork", "windowsDataplane") === "HNS";
}

const POOLS: LintPath = ["spec", "calicoNetwork", "ipPools"];

const ENCAPSULATION = objectRule(
  "calico-encapsulation-unsupported",
  [INSTALLATION, ...calico("IPPool")],
  function* (document, context) {
    const { value } = document;
    const message = "Windows nodes cannot unwrap IP-in-IP";
    if (isForWindows(document))
      for (const [index, pool] of listAt(value, ...POOLS).entries()) {
        const encapsulation = textAt(pool, "encapsulation");
        const at = { path: [...POOLS, index, "encapsulation"] };
        if (encapsulation?.startsWith("IPIP") === true) yield { at, message };
        if (encapsulation === "VXLANCrossSubnet")
          yield {
            at,
            message: "Calico has no VXLANCrossSubnet on Windows: the operator starts nothing there",
          };
      }
    const mode = textAt(value, "spec", "ipipMode");
    const selector = textAt(value, "spec", "nodeSelector") ?? "all()";
    const isForLinux = selector !== "all()" && !/windows/i.test(selector);
    const isUsed = valueAt(value, "spec", "disabled") !== true && !isForLinux;
    // There may be another pool for the Windows nodes.
    if (context.hasWindows && isUsed && (mode === "Always" || mode === "CrossSubnet"))
      yield { at: { path: ["spec", "ipipMode"] }, message, severity: "warning" };
  },
);

const SERVICE_RANGES = objectRule("calico-service-ranges-missing", [INSTALLATION], function* (document) {
  if (!isForWindows(document) || listAt(document.value, "spec", "serviceCIDRs").length > 0) return;
  yield {
    at: { path: ["spec", "calicoNetwork", "windowsDataplane"] },
    message: WORDS.calicoServiceCIDRsMissing,
  };
});

const STRICT_AFFINITY = objectRule(
  "calico-strict-affinity-off",
  [...calico("IPAMConfig"), ...calico("IPAMConfiguration")],
  function* (document, context) {
    if (!context.hasWindows || valueAt(document.value, "spec", "strictAffinity") !== false) return;
    yield {
      at: { path: ["spec", "strictAffinity"] },
      message: WORDS.calicoStrictAffinityOff,
    };
  },
);

/** The lowest identifier that Windows can use. */
const IDENTIFIER_MIN = 4_096;

const CALICO_IDENTIFIER = objectRule(
  "calico-vxlan-identifier-too-low",
  calico("FelixConfiguration"),
  function* (document, context) {
    const identifier = numberAt(document.value, "spec", "vxlanVNI");
    if (!context.hasWindows || identifier === undefined || identifier >= IDENTIFIER_MIN) return;
    yield {
      at: { path: ["spec", "vxlanVNI"] },
      message: WORDS.vniBelowMinimum({ identifier, identifierMin: IDENTIFIER_MIN }),
    };
  },
);

const NETWORKS = ["Network.operator.openshift.io", "Network.config.openshift.io"];
const HYBRID: LintPath = ["spec", "defaultNetwork", "ovnKubernetesConfig", "hybridOverlayConfig"];
const VXLAN_PORT = 4_789;

const HYBRID_PORT = objectRule("hybrid-overlay-port-unsupported", NETWORKS, function* (document, context) {
  const port = numberAt(document.value, ...HYBRID, "hybridOverlayVXLANPort");
  const build = context.buildWhere((each) => each.profile.name === "ws2019");
  if (port === undefined || port === VXLAN_PORT || build === undefined) return;
  yield {
    at: { path: [...HYBRID, "hybridOverlayVXLANPort"] },
    message: `${build.profile.title} sends VXLAN to port ${VXLAN_PORT} only, and not to ${port}`,
  };
});

interface NamedRange {
  readonly prefix: Prefix;
  readonly path: LintPath;
  readonly name: string;
}

function rangesAt(value: unknown, path: LintPath, name: string): readonly NamedRange[] {
  return listAt(value, ...path).flatMap((item, index) => {
    const isText = typeof item === "string";
    const prefix = parsePrefix(isText ? item : (textAt(item, "cidr") ?? ""));
    return prefix === undefined
      ? []
      : [{ prefix, path: isText ? [...path, index] : [...path, index, "cidr"], name }];
  });
}

const HYBRID_RANGE = objectRule("hybrid-overlay-range-overlaps", NETWORKS, function* ({ value }) {
  const others = [
    ...rangesAt(value, ["spec", "clusterNetwork"], "clusterNetwork"),
    ...rangesAt(value, ["spec", "serviceNetwork"], "serviceNetwork"),
  ];
  for (const { prefix, path } of rangesAt(value, [...HYBRID, "hybridClusterNetwork"], ""))
    for (const other of others)
      if (prefixesOverlap(prefix, other.prefix))
        yield {
          at: { path },
          message: `${formatPrefix(prefix)} overlaps with ${other.name} ${formatPrefix(other.prefix)}`,
        };
});

/** Annotations that the nodes and the control plane of ovn-kubernetes read from one another. */
const HYBRID_ANNOTATION = objectRule("hybrid-overlay-annotation-invalid", ["Node"], function* ({ value }) {
  const annotations = valueAt(value, "metadata", "annotations");
  if (!isFields(annotations)) return;
  for (const { annotation, message } of unreadableAnnotations(annotations))
    yield { at: { path: ["metadata", "annotations", annotation] }, message };
});

const EKS = objectRule("eks-windows-addresses-off", ["ConfigMap"], function* ({ value }, context) {
  if (textAt(value, "metadata", "name") !== "amazon-vpc-cni" || !context.hasWindows) return;
  const state = textAt(value, "data", "enable-windows-ipam");
  if (state === undefined || state === "true") return;
  yield {
    at: { path: ["data", "enable-windows-ipam"] },
    message: WORDS.windowsIpamDisabled({ state: JSON.stringify(state) }),
  };
});

export const PROVIDER_RULES: readonly LintRule[] = [
  ENCAPSULATION,
  SERVICE_RANGES,
  STRICT_AFFINITY,
  CALICO_IDENTIFIER,
  HYBRID_PORT,
  HYBRID_RANGE,
  HYBRID_ANNOTATION,
  EKS,
];
