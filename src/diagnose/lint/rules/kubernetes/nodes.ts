/** Node objects: builds that are known to be broken, addresses, ranges, what flannel wrote on them. */
import { type WindowsBuild, hasUpdate, parseProfile } from "#core/catalogue/profiles.ts";
import { concernsBuild, isDefaultQuirk } from "#core/catalogue/quirks.ts";
import {
  type Ip,
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixesOverlap,
} from "#core/net/ip.ts";
import { type LintContext, buildOfNode, osOfNode } from "../../context.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { type LintPath, isTrueAt, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import { pluginTypeOf } from "../../views/cluster-view.ts";
import { readJsonText } from "../../input/json-text.ts";
import { type LintRule, andOfClusters, objectRule } from "../../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

function anyNodes(code: LintRule["code"], check: LintRule["check"]): LintRule {
  return objectRule(code, ["Node"], check);
}

function windowsNodes(code: LintRule["code"], check: LintRule["check"]): LintRule {
  return anyNodes(code, function* (node, context) {
    if (osOfNode(node.value) === "windows") yield* check(node, context);
  });
}

const KERNEL: LintPath = ["status", "nodeInfo", "kernelVersion"];

/** Where a Node says its build. */
function buildPath(node: Fields): LintPath {
  return textAt(node, ...KERNEL) === undefined
    ? ["metadata", "labels", "node.kubernetes.io/windows-build"]
    : KERNEL;
}

function buildText(node: Fields): string | undefined {
  return textAt(node, ...buildPath(node));
}

const OLD_BUILD = windowsNodes("windows-build-unsupported", function* (node) {
  const text = buildText(node.value);
  if (text === undefined || !/^10\.0\.\d{5}(?:\.\d+)?/.test(text) || parseProfile(text) !== undefined) return;
  yield {
    at: { path: buildPath(node.value) },
    message: `build ${text} is older than Windows Server 2019 (10.0.17763)`,
  };
});

/** A rule over Windows nodes whose revision is known. `say`: what is wrong with a build and its revision. */
function revisions(
  code: LintRule["code"],
  isConcerned: (build: WindowsBuild, context: LintContext) => boolean,
  say: (build: string) => string,
): LintRule {
  return windowsNodes(code, function* (node, context) {
    const build = buildOfNode(node.value);
    if (build?.revision === undefined || !isConcerned(build, context)) return;
    const message = say(`${build.profile.build}.${build.revision}`);
    yield { at: { path: buildPath(node.value) }, message };
  });
}

/** users.md G19. */
const SOCKETS = revisions(
  "windows-update-denies-sockets",
  (build) => concernsBuild("sockets-refused", build),
  (build) => WORDS.buildDeniesSockets({ build }),
);

const DECAP = revisions(
  "windows-update-drops-overlay-rules",
  (build, context) => context.isOverlay && concernsBuild("overlay-decap-lost-at-restart", build),
  (build) => WORDS.buildLosesVxlanRules({ build }),
);

const OVERLAY_UPDATE = revisions(
  "overlay-needs-windows-update",
  (build, context) => context.isOverlay && build.profile.name === "ws2019" && !hasUpdate(build, "KB4489899"),
  (build) => `build ${build} cannot carry the overlay network that this input configures`,
);

const DEFECT = "l2bridge-dsr-kb5005619";

const L2BRIDGE_OF_NODES = revisions(
  "l2bridge-broken-with-dsr",
  (build, { plugins, kubeProxy }) =>
    kubeProxy.enableDSR === true &&
    ["win-bridge", "sdnbridge"].some((plugin) => plugins.has(plugin)) &&
    concernsBuild(DEFECT, build),
  (build) => WORDS.buildBreaksL2BridgeDsr({ build }),
);

/** The same over the nodes of a cluster file, which are as they are unless `quirks` says otherwise. */
const L2BRIDGE = andOfClusters(L2BRIDGE_OF_NODES, function* ({ value }) {
  if (pluginTypeOf(value) !== "win-bridge" || !isTrueAt(value, "kubeProxy", "enableDSR")) return;
  for (const [index, node] of listAt(value, "nodes").entries()) {
    const build =
      textAt(node, "os") === "windows" ? parseProfile(textAt(node, "build") ?? "ws2022") : undefined;
    const setting = valueAt(node, "quirks", DEFECT);
    const isOn =
      build !== undefined && (setting === undefined ? isDefaultQuirk(DEFECT, build) : setting === "on");
    if (isOn)
      yield {
        at: { path: ["nodes", index, "name"] },
        message: WORDS.releaseBreaksL2BridgeDsr({ title: build.profile.title }),
      };
  }
});

interface NodeAddress {
  readonly ip: Ip;
  readonly path: LintPath;
}

function addressesOf(node: Fields): readonly NodeAddress[] {
  return listAt(node, "status", "addresses").flatMap((address, index) => {
    const ip =
      textAt(address, "type") === "InternalIP" ? parseIp(textAt(address, "address") ?? "") : undefined;
    return ip === undefined ? [] : [{ ip, path: ["status", "addresses", index, "address"] }];
  });
}

const LINK_LOCAL = parsePrefix("169.254.0.0/16");

const ADDRESS = windowsNodes("node-address-link-local", function* ({ value }) {
  for (const { ip, path } of addressesOf(value))
    if (LINK_LOCAL !== undefined && prefixContains(LINK_LOCAL, ip))
      yield {
        at: { path },
        message: WORDS.nodeAddressLinkLocal({ ip: formatIp(ip) }),
      };
});

interface NodeRange {
  readonly prefix: Prefix;
  readonly path: LintPath;
}

function rangesOf(node: Fields): readonly NodeRange[] {
  const list = listAt(node, "spec", "podCIDRs").map((text, index) => ({
    text,
    path: ["spec", "podCIDRs", index],
  }));
  const all = list.length > 0 ? list : [{ text: textAt(node, "spec", "podCIDR"), path: ["spec", "podCIDR"] }];
  return all.flatMap(({ text, path }) => {
    const prefix = typeof text === "string" ? parsePrefix(text) : undefined;
    return prefix === undefined ? [] : [{ prefix, path }];
  });
}

/** Only told at the later one of two nodes. */
const OVERLAP = anyNodes("node-ranges-overlap", function* (node, context) {
  if (!context.hasWindows) return;
  for (const { prefix, path } of rangesOf(node.value))
    for (const other of context.objects("Node")) {
      if (other === node) break;
      const found = rangesOf(other.value).find((range) => prefixesOverlap(range.prefix, prefix));
      if (found !== undefined)
        yield {
          at: { path },
          message: `${formatPrefix(prefix)} overlaps with ${formatPrefix(found.prefix)} of ${other.title}`,
        };
    }
});

function holdsNode(code: LintRule["code"], which: "services" | "pods", what: string): LintRule {
  return anyNodes(code, function* ({ value }, context) {
    if (!context.hasWindows) return;
    for (const { ip, path } of addressesOf(value)) {
      const range = context.ranges[which].find(
        ({ prefix, mayHoldNodes }) => !mayHoldNodes && prefixContains(prefix, ip),
      );
      if (range !== undefined)
        yield {
          at: { path },
          message: `${formatIp(ip)} is in the range of ${what} ${formatPrefix(range.prefix)} (${range.from})`,
        };
    }
  });
}

const IN_SERVICES = holdsNode("service-range-holds-node", "services", "Services");
const IN_PODS = holdsNode("pod-range-holds-node", "pods", "pods");

const IPV6_ONLY = windowsNodes("node-ipv6-only", function* ({ value }) {
  const addresses = addressesOf(value);
  const [first] = addresses;
  if (first !== undefined && addresses.every(({ ip }) => familyOf(ip) === 6))
    yield { at: { path: first.path }, message: "this Windows node has addresses of IPv6 only" };
  const ranges = rangesOf(value);
  const [range] = ranges;
  if (range !== undefined && ranges.every(({ prefix }) => familyOf(prefix.address) === 6))
    yield {
      at: { path: range.path },
      message: WORDS.podCIDRIpv6Only,
    };
});

/** From this build on an overlay carries IPv6, as Microsoft announced (dataplane.md §2.11). */
export const OVERLAY_IPV6_BUILD = 22_410;

const OVERLAY_IPV6 = windowsNodes("overlay-without-ipv6", function* ({ value }, context) {
  const ranges = rangesOf(value);
  const second = ranges.find(({ prefix }) => familyOf(prefix.address) === 6);
  const isNew = (buildOfNode(value)?.profile.build ?? 0) >= OVERLAY_IPV6_BUILD;
  if (second === undefined || ranges.length < 2 || !context.isOverlay || isNew) return;
  yield {
    at: { path: second.path },
    message: WORDS.podCIDRIpv6OnOverlay({ prefix: formatPrefix(second.prefix) }),
  };
});

const BACKEND_DATA: LintPath = ["metadata", "annotations", "flannel.alpha.coreos.com/backend-data"];
/** The lowest identifier that Windows can use. */
const IDENTIFIER_MIN = 4_096;

function identifierOf(node: Fields): number | undefined {
  const text = textAt(node, ...BACKEND_DATA);
  const { value } = readJsonText(text ?? "");
  return isFields(value) ? numberAt(value, "VNI") : undefined;
}

/** users.md G4. Told at each node whose identifier Windows cannot use, or which is not that of the Windows nodes. */
const IDENTIFIERS = anyNodes("vxlan-identifiers-differ", function* ({ value }, context) {
  const identifier = identifierOf(value);
  if (identifier === undefined || !context.hasWindows) return;
  const windows = context
    .objects("Node")
    .filter((node) => osOfNode(node.value) === "windows")
    .flatMap((node) => identifierOf(node.value) ?? []);
  const [wanted] = windows;
  const at = { path: BACKEND_DATA };
  if (wanted !== undefined && identifier !== wanted)
    yield { at, message: `this node uses VNI ${identifier}, and the Windows nodes use ${wanted}` };
  else if (identifier < IDENTIFIER_MIN)
    yield { at, message: WORDS.vniBelowMinimum({ identifier, identifierMin: IDENTIFIER_MIN }) };
});

const PUBLIC_IP: LintPath = ["metadata", "annotations", "flannel.alpha.coreos.com/public-ip"];
const OVERWRITE = "flannel.alpha.coreos.com/public-ip-overwrite";

const FLANNEL_ADDRESS = windowsNodes("flannel-address-differs", function* ({ value }) {
  const ip = parseIp(textAt(value, ...PUBLIC_IP) ?? "");
  const addresses = listAt(value, "status", "addresses").map((address) => textAt(address, "address"));
  if (ip === undefined || addresses.length === 0 || addresses.includes(formatIp(ip))) return;
  if (textAt(value, "metadata", "annotations", OVERWRITE) !== undefined) return;
  yield {
    at: { path: PUBLIC_IP },
    message: WORDS.flannelPublicIpForeign({ ip: formatIp(ip) }),
  };
});

export const NODE_RULES: readonly LintRule[] = [
  OLD_BUILD,
  SOCKETS,
  DECAP,
  OVERLAY_UPDATE,
  L2BRIDGE,
  ADDRESS,
  OVERLAP,
  IN_SERVICES,
  IN_PODS,
  IPV6_ONLY,
  OVERLAY_IPV6,
  IDENTIFIERS,
  FLANNEL_ADDRESS,
];
