/** Rules over the `ipam` object of CNI configurations. */
import {
  type Ip,
  type Prefix,
  addToIp,
  formatIp,
  lastIp,
  parseIp,
  parsePrefix,
  prefixContains,
} from "#core/net/ip.ts";
import {
  familyOfPrefix,
  formatRange,
  isPlaceholder,
  parseRange,
  prefixMeantBy,
  shown,
} from "../../views/address-ranges.ts";
import {
  MICROSOFT_PLUGINS,
  type PluginView,
  fieldOf,
  hasCapability,
  ipamOf,
  isHnsPlugin,
  typeName,
} from "../../views/cni-view.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { type LintPath, isTrueAt, keyOf, listAt, textAt, valueAt } from "../../input/fields.ts";
import type { LintRule, RuleFinding } from "../../rule.ts";
import { pluginRule } from "./cni-structure.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

interface Pool {
  readonly path: LintPath;
  readonly value: Fields;
}

/** The pools of host-local: the one of old, and those of `ranges`. */
function poolsOf(ipam: Pool): readonly Pool[] {
  const ranges = fieldOf(ipam.value, ipam.path, "ranges");
  const inner = listAt(ranges?.value).flatMap((set, outerIndex) =>
    listAt(set).flatMap((pool, index) =>
      isFields(pool) ? [{ path: [...(ranges?.path ?? []), outerIndex, index], value: pool }] : [],
    ),
  );
  return keyOf(ipam.value, "subnet") === undefined ? inner : [ipam, ...inner];
}

function isHostLocal(ipam: Pool | undefined): ipam is Pool {
  return (
    ipam !== undefined && typeName(textAt(ipam.value, keyOf(ipam.value, "type") ?? "") ?? "") === "host-local"
  );
}

/** flannel writes the delegate's `ipam` itself; calico's plugin has its own words for a subnet. */
function hostLocalOf(plugin: PluginView): Pool | undefined {
  const ipam = plugin.flannel === undefined && plugin.type !== "calico" ? ipamOf(plugin) : undefined;
  return isHostLocal(ipam) ? ipam : undefined;
}

function textField(pool: Pool, name: string): { readonly path: LintPath; readonly text: string } | undefined {
  const field = fieldOf(pool.value, pool.path, name);
  return typeof field?.value === "string" && field.value !== "" && !isPlaceholder(field.value)
    ? { path: field.path, text: field.value }
    : undefined;
}

function addressIn(pool: Pool, name: string, subnet: Prefix): RuleFinding | Ip | undefined {
  const field = textField(pool, name);
  if (field === undefined) return undefined;
  const ip = parseIp(field.text);
  const at = { path: field.path, part: "value" } as const;
  if (ip === undefined) return { at, message: `${shown(field.text)} is not an address` };
  return prefixContains(subnet, ip)
    ? ip
    : { at, message: `${name} ${field.text} is outside the subnet ${formatRange(subnet)}` };
}

function isFinding(value: unknown): value is RuleFinding {
  return isFields(value) && "message" in value;
}

function* checkPool(pool: Pool): Generator<RuleFinding> {
  const field = textField(pool, "subnet");
  if (field === undefined) return;
  const at = { path: field.path, part: "value" } as const;
  const range = field.text.includes("/") ? parseRange(field.text) : undefined;
  if (range === undefined) {
    yield { at, message: `${shown(field.text)} is not a prefix` };
    return;
  }
  const meant = prefixMeantBy(field.text);
  if (meant !== undefined)
    yield {
      at,
      message: `${shown(field.text)} has bits set after its prefix length`,
      fix: `Write "${meant}".`,
    };
  if (range.length > (familyOfPrefix(range) === 4 ? 30 : 126))
    yield {
      at,
      message: WORDS.hostLocalRangeTooSmall({ text: shown(field.text) }),
    };
  const start = addressIn(pool, "rangeStart", range);
  const end = addressIn(pool, "rangeEnd", range);
  if (isFinding(start)) yield start;
  if (isFinding(end)) yield end;
  if (start === undefined || end === undefined || isFinding(start) || isFinding(end)) return;
  if (start > end)
    yield {
      at: { path: textField(pool, "rangeStart")?.path ?? pool.path, part: "value" },
      message: `rangeStart ${formatIp(start)} is after rangeEnd ${formatIp(end)}`,
    };
}

/** cni.md §4.1. */
const RANGE = pluginRule("ipam-range-invalid", function* (plugin) {
  const ipam = hostLocalOf(plugin);
  if (ipam !== undefined) for (const pool of poolsOf(ipam)) yield* checkPool(pool);
});

/** cni.md §4.1: "no IP ranges specified", unless the runtime brings them. */
const SUBNET_MISSING = pluginRule("cni-ipam-subnet-missing", function* (plugin, document) {
  const ipam = hostLocalOf(plugin);
  if (ipam === undefined || hasCapability(plugin, "ipRanges") || document.host !== undefined) return;
  // Others fill the range in before they call host-local.
  if (!isHnsPlugin(plugin)) return;
  const hasSubnet = poolsOf(ipam).some(
    ({ value }) => textAt(value, keyOf(value, "subnet") ?? "") !== undefined,
  );
  if (!hasSubnet)
    yield {
      at: { path: ipam.path },
      message: "host-local has no subnet, so it has no address to give",
      fix: 'Add "subnet" with the node\'s own range of pods.',
    };
});

/** cni.md, fact 3: `.2` belongs to the bridge endpoint in the host. */
const PLUS_TWO = pluginRule("cni-gateway-is-network-plus-two", function* (plugin) {
  const ipam = plugin.type === "win-bridge" ? hostLocalOf(plugin) : undefined;
  const [pool] = ipam === undefined ? [] : poolsOf(ipam);
  const subnet = pool === undefined ? undefined : textField(pool, "subnet");
  const range = subnet === undefined ? undefined : parsePrefix(subnet.text);
  if (pool === undefined || range === undefined || familyOfPrefix(range) !== 4 || range.length > 29) return;
  const second = addToIp(range.address, 2);
  const third = addToIp(range.address, 3);
  const start = textField(pool, "rangeStart");
  const from = start === undefined ? undefined : parseIp(start.text);
  const isGivenOut = second !== undefined && (from === undefined || from <= second) && lastIp(range) > second;
  if (!isGivenOut || third === undefined) return;
  yield {
    at: start === undefined ? { path: subnet?.path ?? pool.path } : { path: start.path, part: "value" },
    message: WORDS.hostLocalAssignsGateway({ second: formatIp(second) }),
    fix: `Write "rangeStart": "${formatIp(third)}".`,
  };
});

/** cni.md §2.4: the configuration goes to the IPAM plugin without what Microsoft's programs do not know (W#64). */
const FIELDS_LOST = pluginRule("cni-ipam-fields-lost", function* (plugin) {
  if (!MICROSOFT_PLUGINS.has(plugin.type)) return;
  const flags = valueAt(plugin.value, keyOf(plugin.value, "optionalFlags") ?? "");
  const ipam = hostLocalOf(plugin);
  if (ipam === undefined || isTrueAt(flags, keyOf(flags, "enableDualStack") ?? "")) return;
  const hasSubnet = keyOf(ipam.value, "subnet") !== undefined;
  for (const name of ["ranges", "rangeStart", "rangeEnd", "gateway", "dataDir", "resolvConf"]) {
    const field = fieldOf(ipam.value, ipam.path, name);
    if (field === undefined) continue;
    yield {
      at: { path: field.path },
      message: `${plugin.type} does not pass ${shown(name)} on to host-local`,
      severity: name === "ranges" && !hasSubnet ? "error" : "warning",
      fix: name === "ranges" ? 'Write "subnet", or enableDualStack with two ranges.' : "",
    };
  }
});

/** cni.md §7.D row D2. */
const ROUTE_GATEWAY = pluginRule("cni-ipam-route-gateway-ignored", function* (plugin) {
  const ipam =
    MICROSOFT_PLUGINS.has(plugin.type) && plugin.flannel === undefined ? ipamOf(plugin) : undefined;
  const routes = ipam === undefined ? undefined : fieldOf(ipam.value, ipam.path, "routes");
  for (const [index, route] of listAt(routes?.value).entries()) {
    const gateway = keyOf(route, "gateway");
    if (gateway === undefined || keyOf(route, "gw") !== undefined || ipam === undefined) continue;
    const subnet = parsePrefix(textAt(ipam.value, keyOf(ipam.value, "subnet") ?? "") ?? "");
    const taken = subnet === undefined ? undefined : addToIp(subnet.address, 1);
    // What is taken in its place is the same address: nothing differs.
    if (taken !== undefined && parseIp(textAt(route, gateway) ?? "") === taken) continue;
    const instead = taken === undefined ? "the network address plus one" : formatIp(taken);
    yield {
      at: { path: [...(routes?.path ?? []), index, gateway] },
      message: WORDS.routeGatewayFieldIgnored({ instead }),
      fix: 'Write "GW".',
    };
  }
});

/** cni.md §2.3: IPv4 only. */
const OVERLAY_IPV6 = pluginRule("cni-overlay-ipv6", function* (plugin) {
  const isOverlay = plugin.type === "win-overlay" || plugin.type === "sdnoverlay";
  const ipam = isOverlay ? hostLocalOf(plugin) : undefined;
  for (const pool of ipam === undefined ? [] : poolsOf(ipam)) {
    const subnet = textField(pool, "subnet");
    const range = subnet === undefined ? undefined : parseRange(subnet.text);
    if (subnet === undefined || range === undefined || familyOfPrefix(range) !== 6) continue;
    yield {
      at: { path: subnet.path, part: "value" },
      message: `${plugin.type} gives pods IPv4 addresses only`,
      fix: "Remove the IPv6 range; for dual stack use an L2Bridge network.",
    };
  }
});

export const CNI_IPAM_RULES: readonly LintRule[] = [
  RANGE,
  SUBNET_MISSING,
  PLUS_TWO,
  FIELDS_LOST,
  ROUTE_GATEWAY,
  OVERLAY_IPV6,
];
