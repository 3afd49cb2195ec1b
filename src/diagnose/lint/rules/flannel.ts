/** Rules over flannel's net-conf for clusters with Windows nodes (control-planes.md §1.3). */
import { type Prefix, prefixesOverlap } from "#core/net/ip.ts";
import { WINDOWS_VNI_MAX, WINDOWS_VNI_MIN } from "#programs/flannel/net-conf.ts";
import {
  formatRange,
  isCovered,
  isPlaceholder,
  parseRange,
  serviceRangesOf,
  shown,
  type KnownRange,
} from "../views/address-ranges.ts";
import { flannelOfCluster, isFlannelCluster } from "../views/cluster-view.ts";
import type { FieldView } from "../views/cni-view.ts";
import type { LintContext } from "../context.ts";
import type { LintDocument } from "../input/document.ts";
import { keyOf, textAt, valueAt } from "../input/fields.ts";
import { type FlannelView, flannelView } from "../views/flannel-view.ts";
import { isForWindows } from "../views/hns-networks.ts";
import { type LintRule, type RuleFinding, andOfClusters, rule } from "../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

const PORT = 4_789;

/** The same over `network` of a cluster file, which the cluster makes a net-conf of. */
function andOfNetworks(base: LintRule, check: (view: FlannelView) => Iterable<RuleFinding>): LintRule {
  return andOfClusters(base, function* (document, context) {
    if (isFlannelCluster(document) && context.hasWindows) yield* check(flannelOfCluster(document));
  });
}

function windowsRule(
  code: LintRule["code"],
  check: (view: FlannelView, document: LintDocument, context: LintContext) => Iterable<RuleFinding>,
): LintRule {
  return rule(code, "flannel", function* (document, context) {
    if (isForWindows(document, context)) yield* check(flannelView(document), document, context);
  });
}

function vniOf(view: FlannelView): FieldView | undefined {
  return view.type === "vxlan" ? view.option("VNI") : undefined;
}

function at(field: FieldView): RuleFinding["at"] {
  return { path: field.path, part: "value" };
}

/** users.md G4. */
function* lowVni(view: FlannelView): Iterable<RuleFinding> {
  const vni = vniOf(view);
  if (typeof vni?.value !== "number" || vni.value >= WINDOWS_VNI_MIN) return;
  yield {
    at: at(vni),
    message: `flanneld on Windows refuses the VNI ${vni.value}: Windows takes 4096 and more`,
    fix: 'Write "VNI": 4096 for all nodes, and "Port": 4789.',
  };
}

const VNI_LOW = andOfNetworks(windowsRule("flannel-vni-below-4096", lowVni), lowVni);

/** windows-networking-documentation.md §8 says 4096 and nothing else; flanneld takes more. */
function* otherVni(view: FlannelView): Iterable<RuleFinding> {
  const vni = vniOf(view);
  if (typeof vni?.value !== "number" || vni.value <= WINDOWS_VNI_MIN) return;
  const isTooLarge = vni.value > WINDOWS_VNI_MAX;
  yield {
    at: at(vni),
    message: isTooLarge
      ? `flanneld keeps the VNI in 16 bits, and ${vni.value} does not fit`
      : WORDS.vniNotDocumented({ value: vni.value }),
    ...(isTooLarge ? { severity: "error" } : { differs: "flanneld-takes-other-vnis" }),
  };
}

/** One that does not fit is told of the cluster file itself (`cluster-file-vni-too-large`). */
function* otherVniOfCluster(view: FlannelView): Iterable<RuleFinding> {
  const vni = vniOf(view)?.value;
  if (typeof vni === "number" && vni <= WINDOWS_VNI_MAX) yield* otherVni(view);
}

const VNI_OTHER = andOfNetworks(windowsRule("flannel-vni-other-than-4096", otherVni), otherVniOfCluster);

/** Go's json.Unmarshal takes no text for a number (flannel, pkg/backend/vxlan/vxlan_windows.go). */
function* notNumbers(view: FlannelView): Iterable<RuleFinding> {
  const right = { VNI: WINDOWS_VNI_MIN, Port: PORT };
  for (const name of ["VNI", "Port"] as const) {
    const option = view.type === "vxlan" ? view.option(name) : undefined;
    const value = option?.value;
    if (option === undefined || (typeof value !== "string" && typeof value !== "boolean")) continue;
    if (isPlaceholder(String(value))) continue;
    yield {
      at: at(option),
      code: "flanneld-configuration-invalid",
      severity: "error",
      message: WORDS.flanneldNumberInvalid({ name: shown(name), value: JSON.stringify(value) }),
      fix: `Write ${shown(name)}: ${right[name]}, without quotes.`,
    };
  }
}

const VXLAN_PORT = windowsRule("flannel-vxlan-port-not-4789", function* (view) {
  yield* notNumbers(view);
  const port = view.type === "vxlan" ? view.option("Port") : undefined;
  if (typeof port?.value !== "number" || port.value === PORT || port.value === 0) return;
  yield {
    at: at(port),
    message: WORDS.flannelPortUnsupported({ value: port.value }),
    fix: 'Write "Port": 4789 for all nodes.',
  };
});

/** k3s#9295, rke2#5952: Linux takes VNI 1 and port 8472 when nothing is said. */
const DEFAULTS = windowsRule("flannel-vxlan-defaults-differ", function* (view) {
  if (view.type !== "vxlan") return;
  const missing = [
    ...(view.option("VNI") === undefined ? [{ name: "VNI", linux: 1, windows: 4_096 }] : []),
    ...(view.option("Port") === undefined ? [{ name: "Port", linux: 8_472, windows: 4_789 }] : []),
  ];
  if (missing.length === 0) return;
  yield {
    at: { path: view.backend?.path ?? [] },
    message: missing
      .map(
        ({ name, linux, windows }) =>
          `without ${shown(name)} Linux nodes take ${linux} and Windows nodes ${windows}`,
      )
      .join(", and "),
    fix: `Add ${missing.map(({ name, windows }) => `${shown(name)}: ${windows}`).join(" and ")}.`,
  };
});

const WINDOWS_BACKENDS = new Set(["vxlan", "host-gw"]);

/** Those that flanneld has on Linux (flannel, pkg/backend). */
const LINUX_BACKENDS = new Set(WORDS.flannelLinuxBackends.split(" "));

/** Ways in which one of the two is misspelt: `host_gw`, `hostgw`, `VxLAN`. */
function backendMeantBy(type: string): string | undefined {
  const letters = (text: string): string => text.toLowerCase().replaceAll(/[^a-z]/g, "");
  return [...WINDOWS_BACKENDS].find((name) => letters(name) === letters(type));
}

/**
 * flanneld refuses a name that it does not have on every system, and `udp` is what it takes when nothing is said; both
 * are told whether or not a Windows node is in the input. Back ends of Linux alone are told beside Windows only.
 */
const BACKEND = rule("flannel-backend-not-for-windows", "flannel", function* (document, context) {
  const view = flannelView(document);
  const type = view.option("Type");
  if (type !== undefined && (typeof type.value !== "string" || isPlaceholder(type.value))) return;
  const isWord = type === undefined || /^[a-z][\w-]*$/i.test(String(type.value));
  if (WINDOWS_BACKENDS.has(view.type) || !isWord) return;
  const isWindows = isForWindows(document, context);
  const meant = backendMeantBy(view.type);
  if (!isWindows && (LINUX_BACKENDS.has(view.type) || type === undefined)) return;
  yield {
    at: type === undefined ? { path: view.backend?.path ?? [] } : at(type),
    message: messageOfBackend(type?.value, meant),
    fix: meant === undefined ? "Write vxlan or host-gw." : `Write "${meant}".`,
    ...(!isWindows && view.type === "udp" && { severity: "warning" }),
  };
});

function messageOfBackend(type: unknown, meant: string | undefined): string {
  if (type === undefined) return WORDS.flannelBackendMissing;
  return meant === undefined
    ? `flanneld on Windows has no back end ${shown(type)}`
    : WORDS.flannelBackendMisspelt({ type: shown(type), meant });
}

const MAC_PREFIX = /^[0-9a-f]{2}-[0-9a-f]{2}$/i;

const OPTIONS = windowsRule("flannel-option-not-for-windows", function* (view, document) {
  for (const name of view.type === "vxlan" ? (["DirectRouting", "GBP"] as const) : []) {
    const option = view.option(name);
    if (option?.value === true)
      yield { at: { path: option.path }, message: `flanneld on Windows refuses ${name} and ends` };
  }
  const prefix = view.option("MacPrefix");
  if (typeof prefix?.value === "string" && !MAC_PREFIX.test(prefix.value) && !isPlaceholder(prefix.value))
    yield {
      at: at(prefix),
      message: `${shown(prefix.value)} is not a beginning of a MAC address`,
      fix: 'Write two bytes with a hyphen between them: "0E-2A".',
    };
  const key = keyOf(document.value, "EnableIPv6");
  if (key !== undefined && valueAt(document.value, key) === true)
    yield {
      at: { path: [key] },
      message: WORDS.flannelIpv6Unsupported,
      severity: "warning",
    };
});

/** The range of IPv4, unless it is off or cannot be read. */
function networkOf(view: FlannelView): Prefix | undefined {
  const text = view.network?.value;
  return typeof text === "string" && !isPlaceholder(text) ? parseRange(text) : undefined;
}

const NETWORK = rule("flannel-network-invalid", "flannel", function* (document) {
  const { network } = flannelView(document);
  if (network === undefined) return;
  const { value } = network;
  // A word is what a script replaces.
  if (typeof value === "string" && !/^[0-9a-f.:/ ]+$/i.test(value)) return;
  if (typeof value === "string" && value.includes("/") && parseRange(value) !== undefined) return;
  yield { at: at(network), message: `${shown(value)} is not a range of addresses such as 10.244.0.0/16` };
});

function* overlaps(network: FieldView, range: Prefix, others: readonly KnownRange[]): Generator<RuleFinding> {
  const other = others.find(({ prefix }) => prefixesOverlap(prefix, range));
  if (other !== undefined)
    yield {
      at: at(network),
      message: `the pods' network ${formatRange(range)} overlaps ${formatRange(other.prefix)} (${other.from})`,
    };
}

const OVERLAP = rule("flannel-network-overlaps", "flannel", function* (document, context) {
  const view = flannelView(document);
  const range = networkOf(view);
  if (view.network === undefined || range === undefined) return;
  yield* overlaps(view.network, range, serviceRangesOf(context));
  // Addresses of Node objects are told at the nodes.
  const subnets = context.ranges.nodes.filter(({ from }) => !from.startsWith("address of"));
  yield* overlaps(view.network, range, subnets);
});

const OUTSIDE = rule("flannel-network-without-node-range", "flannel", function* (document, context) {
  const view = flannelView(document);
  const range = networkOf(view);
  if (view.network === undefined || range === undefined) return;
  for (const node of context.objects("Node")) {
    const text = textAt(node.value, "spec", "podCIDR");
    const own = text === undefined ? undefined : parseRange(text);
    if (own === undefined || typeof own.address !== "number" || isCovered(own, [range])) continue;
    yield {
      at: at(view.network),
      message: `the podCIDR ${formatRange(own)} of ${node.title} is outside ${formatRange(range)}`,
    };
    return;
  }
});

/** control-planes.md §1.3: checked by flanneld when it keeps its leases in etcd. */
const SUBNET_LENGTH = rule("flannel-subnet-length-invalid", "flannel", function* (document) {
  const range = networkOf(flannelView(document));
  const key = keyOf(document.value, "SubnetLen");
  const length = key === undefined ? undefined : valueAt(document.value, key);
  if (key === undefined || range === undefined || typeof length !== "number" || length === 0) return;
  if (length <= 30 && length >= range.length + 2) return;
  yield {
    at: { path: [key], part: "value" },
    message: WORDS.flannelSubnetLenInvalid({
      length,
      range: formatRange(range),
      rangeLength: range.length + 2,
    }),
  };
});

export const FLANNEL_RULES: readonly LintRule[] = [
  VNI_LOW,
  VNI_OTHER,
  VXLAN_PORT,
  DEFAULTS,
  BACKEND,
  OPTIONS,
  NETWORK,
  OVERLAP,
  OUTSIDE,
  SUBNET_LENGTH,
];
