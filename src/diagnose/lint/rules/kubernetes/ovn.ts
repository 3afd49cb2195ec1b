/** What Nodes of ovn-kubernetes say of themselves in annotations, beside each other and beside the cluster's Network. */
import { type Prefix, formatPrefix, prefixesOverlap } from "#core/net/ip.ts";
import { ANNOTATIONS } from "#programs/ovn/hybrid/annotations.ts";
import { type LintContext, osOfNode } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { type LintPath, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import { parseRange } from "../../views/address-ranges.ts";
import { type LintRule, type RuleFinding, objectRule } from "../../rule.ts";

const NETWORKS = ["Network.operator.openshift.io", "Network.config.openshift.io"];
const HYBRID: LintPath = ["spec", "defaultNetwork", "ovnKubernetesConfig", "hybridOverlayConfig"];

interface NodeRange {
  readonly prefix: Prefix;
  readonly annotation: string;
}

function annotationOf(node: LintDocument, annotation: string): string | undefined {
  return textAt(node.value, "metadata", "annotations", annotation);
}

function nameOf({ value }: LintDocument): string {
  return textAt(value, "metadata", "name") ?? "";
}

/** Ranges of the default network: `{"default":["10.128.2.0/23","fd01::/64"]}`, or one as a text; none of what cannot be read. */
function rangesInJson(text: string): readonly Prefix[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // hybrid-overlay-annotation-invalid says so.
    return [];
  }
  const one = textAt(value, "default");
  const texts: readonly unknown[] = one === undefined ? listAt(value, "default") : [one];
  return texts.flatMap((each) => (typeof each === "string" ? (parseRange(each) ?? []) : []));
}

function rangesOf(node: LintDocument): readonly NodeRange[] {
  const ovn = rangesInJson(annotationOf(node, ANNOTATIONS.ovnSubnets) ?? "null");
  const hybrid = parseRange(annotationOf(node, ANNOTATIONS.nodeSubnet) ?? "");
  return [
    ...ovn.map((prefix) => ({ prefix, annotation: ANNOTATIONS.ovnSubnets })),
    ...(hybrid === undefined ? [] : [{ prefix: hybrid, annotation: ANNOTATIONS.nodeSubnet }]),
  ];
}

/** All Nodes that have ranges, once for the input. */
function nodesWithRanges(
  context: LintContext,
): readonly { readonly node: LintDocument; readonly ranges: readonly NodeRange[] }[] {
  return context
    .objects("Node")
    .map((node) => ({ node, ranges: rangesOf(node) }))
    .filter(({ ranges }) => ranges.length > 0);
}

function at(annotation: string): RuleFinding["at"] {
  return { path: ["metadata", "annotations", annotation] };
}

const OVERLAP = objectRule("node-ranges-overlap", ["Node"], function* (document, context) {
  for (const { node, ranges } of context.once(nodesWithRanges)) {
    // Each pair once: at the second of the two.
    if (node === document) return;
    if (nameOf(node) === nameOf(document)) continue;
    for (const own of rangesOf(document)) {
      const other = ranges.find(({ prefix }) => prefixesOverlap(prefix, own.prefix));
      if (other === undefined) continue;
      const message = `${formatPrefix(own.prefix)} overlaps with ${formatPrefix(other.prefix)} of Node ${nameOf(node)}`;
      yield { at: at(own.annotation), message };
    }
  }
});

function clusterRanges(value: unknown, path: LintPath): readonly Prefix[] {
  return listAt(value, ...path).flatMap((entry) => parseRange(textAt(entry, "cidr") ?? "") ?? []);
}

/** Where the ranges of each annotation come from (OpenShift's `clusterNetwork` and `hybridClusterNetwork`). */
const SOURCES: readonly { readonly annotation: string; readonly path: LintPath; readonly name: string }[] = [
  { annotation: ANNOTATIONS.ovnSubnets, path: ["spec", "clusterNetwork"], name: "clusterNetwork" },
  {
    annotation: ANNOTATIONS.nodeSubnet,
    path: [...HYBRID, "hybridClusterNetwork"],
    name: "hybridClusterNetwork",
  },
];

/** ovn-kubernetes refuses a range of a Node that no range of the cluster holds (its pull request 2825). */
const OUTSIDE: LintRule = {
  code: "cluster-ranges-contradict",
  isPartial: true,
  applies: ["kubernetes"],
  objects: ["Node"],
  *check(document, context): Iterable<RuleFinding> {
    const networks = NETWORKS.flatMap((type) => context.objects(type));
    for (const { annotation, path, name } of SOURCES) {
      // Of one family only: a range of the other family stands in an entry of its own.
      const known = networks.flatMap(({ value }) => clusterRanges(value, path));
      for (const own of rangesOf(document).filter((each) => each.annotation === annotation)) {
        const ofFamily = known.filter((each) => typeof each.address === typeof own.prefix.address);
        if (ofFamily.length === 0 || ofFamily.some((each) => prefixesOverlap(each, own.prefix))) continue;
        const message = `${formatPrefix(own.prefix)} is outside of ${name} ${ofFamily.map(formatPrefix).join(", ")}`;
        yield { at: at(annotation), message };
      }
    }
  },
};

/** Whether the input says that its cluster has the hybrid overlay: a Network, or what ovn-kubernetes wrote on a Node. */
function hasHybridOverlay(context: LintContext): boolean {
  return (
    NETWORKS.some((type) =>
      context.objects(type).some(({ value }) => valueAt(value, ...HYBRID) !== undefined),
    ) || context.objects("Node").some((node) => annotationOf(node, ANNOTATIONS.routerMac) !== undefined)
  );
}

const MISSING = objectRule("hybrid-overlay-annotation-missing", ["Node"], function* (document, context) {
  // What nobody has registered yet has no annotations either.
  const isRegistered = textAt(document.value, "status", "nodeInfo", "machineID") !== undefined;
  if (!isRegistered || !context.once(hasHybridOverlay)) return;
  const isWindows = osOfNode(document.value) === "windows";
  const needed = isWindows ? [ANNOTATIONS.nodeSubnet, ANNOTATIONS.routerMac] : [ANNOTATIONS.routerMac];
  for (const annotation of needed)
    if (annotationOf(document, annotation) === undefined)
      yield {
        at: { path: ["metadata", "name"] },
        message: `Node ${nameOf(document)} lacks ${annotation}`,
      };
});

/** GENEVE's port, where the Network gives it no other. */
const GENEVE_PORT = 6_081;

const PORT = objectRule("hybrid-overlay-port-unsupported", NETWORKS, function* ({ value }) {
  const port = numberAt(value, ...HYBRID, "hybridOverlayVXLANPort");
  const geneve =
    numberAt(value, "spec", "defaultNetwork", "ovnKubernetesConfig", "genevePort") ?? GENEVE_PORT;
  if (port === undefined || port !== geneve) return;
  yield {
    at: { path: [...HYBRID, "hybridOverlayVXLANPort"] },
    message: `port ${port} is that of GENEVE on the Linux nodes`,
    fix: "Give the hybrid overlay a port of its own, such as 9898.",
  };
});

/** What the operator keeps free for outer headers, and what it lets an MTU be (openshift/cluster-network-operator#1276). */
const OVERHEAD = 100;
const LEAST_MTU = { 4: 576, 6: 1_280 } as const;
const MOST_MTU = 65_536;
const TARGET: LintPath = ["spec", "migration", "mtu", "network", "to"];
const MACHINE: LintPath = ["spec", "migration", "mtu", "machine", "to"];

const MTU = objectRule("ovn-mtu-too-large", ["Network.operator.openshift.io"], function* ({ value }) {
  if (textAt(value, "spec", "defaultNetwork", "type") === "OpenShiftSDN") return;
  const [pods, machine] = [numberAt(value, ...TARGET), numberAt(value, ...MACHINE)];
  if (pods === undefined || machine === undefined || machine >= pods + OVERHEAD) return;
  yield {
    at: { path: TARGET },
    message: `${pods} bytes for pods leave ${machine - pods} of ${machine} for outer headers`,
    fix: `Write ${machine - OVERHEAD} or less, or give the machines ${pods + OVERHEAD}.`,
  };
});

const MTU_RANGE = objectRule("ovn-mtu-invalid", ["Network.operator.openshift.io"], function* ({ value }) {
  const hasIpv6 = clusterRanges(value, ["spec", "clusterNetwork"]).some(
    ({ address }) => typeof address === "bigint",
  );
  const least = LEAST_MTU[hasIpv6 ? 6 : 4];
  for (const path of [["spec", "defaultNetwork", "ovnKubernetesConfig", "mtu"], TARGET, MACHINE]) {
    const mtu = numberAt(value, ...path);
    // 0 is how the field is left out.
    if (mtu === undefined || mtu === 0 || (mtu >= least && mtu <= MOST_MTU)) continue;
    yield { at: { path }, message: `an MTU is ${least} to ${MOST_MTU} bytes here, and not ${mtu}` };
  }
});

export const OVN_RULES: readonly LintRule[] = [OVERLAP, OUTSIDE, MISSING, PORT, MTU, MTU_RANGE];
