/** Rules over the ranges in CNI policies: against those of the cluster, as far as the input names them. */
import { type Prefix, prefixContains, prefixesOverlap } from "#core/net/ip.ts";
import {
  familyOfPrefix,
  formatRange,
  isCovered,
  isDefaultRoute,
  isPublic,
  parseRange,
  podRangesOf,
  serviceRangesOf,
  shown,
  type KnownRange,
} from "../../views/address-ranges.ts";
import {
  cniView,
  type PluginView,
  type PolicyView,
  type TextView,
  UPSTREAM_PLUGINS,
  exceptionsOf,
  fieldOf,
  isType,
  routePrefixOf,
  settingsOf,
} from "../../views/cni-view.ts";
import { outsideAddresses, pluginsOfCluster } from "../../views/cluster-view.ts";
import type { LintContext } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { keyOf } from "../../input/fields.ts";
import { type LintRule, type RuleFinding, rule } from "../../rule.ts";
import { pluginRule } from "./cni-structure.ts";
import { isFilledInLater } from "../json-files.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

const KINDS: LintRule["applies"] = ["cni", "cluster"];

/** The plugins of a CNI configuration, or what a cluster file has in place of one. */
function pluginsIn(document: LintDocument, context: LintContext): readonly PluginView[] {
  return document.kind === "cluster" ? pluginsOfCluster(document) : cniView(document, context).plugins;
}

interface Exception extends TextView {
  readonly range: Prefix;
}

function exceptionsIn({ policies }: PluginView): readonly Exception[] {
  return policies.flatMap(exceptionsOf).flatMap(({ path, text }) => {
    const range = parseRange(text);
    return range === undefined ? [] : [{ path, text, range }];
  });
}

function routesIn({ policies }: PluginView): readonly Prefix[] {
  return policies.flatMap((policy) => {
    const route = routePrefixOf(policy);
    const range = route === undefined ? undefined : parseRange(route.text);
    return range === undefined ? [] : [range];
  });
}

/** The policy that translates pods' addresses; undefined where there is none, or only one for given destinations. */
function outboundNat({ policies }: PluginView): PolicyView | undefined {
  return policies.find((policy) => {
    const settings = settingsOf(policy);
    return (
      isType(policy, "OutBoundNAT") && fieldOf(settings.value, settings.path, "Destinations") === undefined
    );
  });
}

/** Plugins whose policies are all that an endpoint gets; azure-vnet knows more of its network than the file says. */
function isEvaluated(plugin: PluginView): boolean {
  return UPSTREAM_PLUGINS.has(plugin.type) || /^sdn(?:bridge|overlay)$/.test(plugin.type);
}

function missing(plugin: PluginView, wanted: readonly KnownRange[]): KnownRange | undefined {
  const ranges = exceptionsIn(plugin).map(({ range }) => range);
  return wanted.find(({ prefix }) => familyOfPrefix(prefix) === 4 && !isCovered(prefix, ranges));
}

function listPath(policy: PolicyView): RuleFinding["at"] {
  const { path, value } = settingsOf(policy);
  const key = keyOf(value, "Exceptions") ?? keyOf(value, "ExceptionList");
  return { path: key === undefined ? path : [...path, key] };
}

function exceptionRule(
  code: LintRule["code"],
  wantedOf: (context: LintContext, plugin: PluginView) => readonly KnownRange[],
  say: (range: string) => string,
): LintRule {
  return rule(code, KINDS, function* (document, context) {
    for (const plugin of pluginsIn(document, context)) {
      const isEmpty = exceptionsIn(plugin).length === 0;
      // An installer fills the list in.
      const isEvaluatedHere = isEvaluated(plugin) && !(isEmpty && isFilledInLater(document));
      const nat = isEvaluatedHere ? outboundNat(plugin) : undefined;
      const range = nat === undefined ? undefined : missing(plugin, wantedOf(context, plugin));
      if (nat === undefined || range === undefined) continue;
      yield {
        at: listPath(nat),
        message: `${say(formatRange(range.prefix))} (${range.from})`,
        fix: `Add "${formatRange(range.prefix)}".`,
      };
    }
  });
}

/** windows-networking-documentation.md §9 row 2. */
const WITHOUT_SERVICES = exceptionRule(
  "cni-exception-list-without-services",
  (context) => serviceRangesOf(context),
  (range) => `the exceptions do not hold the range of Services, ${range}`,
);

/** The same; flannel itself adds its network for win-bridge (cni.md §3.3). */
const WITHOUT_PODS = exceptionRule(
  "cni-exception-list-without-pods",
  (context, plugin) =>
    plugin.type === "win-bridge" && plugin.flannel !== undefined ? [] : podRangesOf(context),
  (range) => `the exceptions do not hold the pods' range, ${range}`,
);

/** windows-networking-documentation.md §9 row 2: what is excepted leaves with the pod's address, which nobody answers. */
const EXTERNAL = rule("cni-exception-list-external", KINDS, function* (document, context) {
  const { pods, services, nodes } = context.ranges;
  const known = [...pods, ...services, ...nodes].map(({ prefix }) => prefix);
  const hosts = document.kind === "cluster" ? outsideAddresses(document) : [];
  for (const plugin of pluginsIn(document, context)) {
    const inside = [...known, ...routesIn(plugin)];
    for (const { path, text, range } of exceptionsIn(plugin)) {
      if (isDefaultRoute(range))
        yield {
          at: { path, part: "value" },
          message: `${shown(text)} excepts everything, so no packet is ever translated`,
        };
      else if (hosts.some((host) => prefixContains(range, host)))
        yield {
          at: { path, part: "value" },
          message: WORDS.outboundNatExceptionOutsideHost({ text: shown(text) }),
        };
      else if (isPublic(range) && !inside.some((other) => prefixesOverlap(other, range)))
        yield {
          at: { path, part: "value" },
          message: WORDS.outboundNatExceptionInternet({ text: shown(text) }),
        };
    }
  }
});

/** The subnet that the nodes stand in, when the file or the input shows it. */
function nodesIn({ range }: Exception, routes: readonly Prefix[], context: LintContext): string | undefined {
  const isSubnet = range.length < (familyOfPrefix(range) === 4 ? 32 : 128);
  const { pods, services, nodes } = context.ranges;
  if (!isSubnet || [...pods, ...services].some(({ prefix }) => prefixesOverlap(prefix, range)))
    return undefined;
  const node = nodes.find(({ prefix }) => prefixesOverlap(prefix, range));
  if (node !== undefined) return node.from;
  const own = routes.find((route) => route.length === 32 && prefixesOverlap(route, range));
  // A route that covers it, too, makes it a range of the cluster.
  const isCluster = routes.some((route) => route.length < 32 && prefixesOverlap(route, range));
  return own === undefined || isCluster ? undefined : `the node ${formatRange(own)} is in it`;
}

/** users.md G7: SDN#313, flannel#1405. The documentation asks for it, so this is no more than a note. */
const LAN = pluginRule("cni-exception-list-lan", function* (plugin, _document, context) {
  if (!isEvaluated(plugin)) return;
  const routes = routesIn(plugin);
  for (const exception of exceptionsIn(plugin)) {
    const node = nodesIn(exception, routes, context);
    if (node !== undefined)
      yield {
        at: { path: exception.path, part: "value" },
        message: WORDS.outboundNatExceptionNeedsRoute({ text: exception.text, node }),
      };
  }
});

/** cni.md §2.3, §2.10. */
const SERVICE_ROUTE = rule("cni-service-route-missing", "cni", function* (document, context) {
  const wanted = serviceRangesOf(context).filter(({ prefix }) => familyOfPrefix(prefix) === 4);
  for (const plugin of cniView(document, context).plugins) {
    const routes = routesIn(plugin);
    if (!isEvaluated(plugin) || (routes.length === 0 && isFilledInLater(document))) continue;
    const range = wanted.find(({ prefix }) => !isCovered(prefix, routes));
    if (range === undefined) continue;
    const [first] = plugin.policies;
    const key = first?.path.at(-2);
    yield {
      at: { path: key === undefined ? plugin.path : [...plugin.path, key] },
      message: `no route policy covers the range of Services, ${formatRange(range.prefix)} (${range.from})`,
      fix: `Add the policy ${routeFor(plugin)} with "DestinationPrefix": "${formatRange(range.prefix)}" and "NeedEncap": true.`,
    };
  }
});

function routeFor({ dialect }: PluginView): string {
  return dialect === "v2" ? "SDNRoute" : "ROUTE";
}

/** cni.md §2.0: without it the route is an ordinary one. */
const NEED_ENCAP = pluginRule("cni-route-need-encap", function* ({ policies }) {
  for (const policy of policies) {
    if (routePrefixOf(policy) === undefined) continue;
    const { path, value } = settingsOf(policy);
    const need = fieldOf(value, path, "NeedEncap");
    if (need === undefined || typeof need.value === "boolean") continue;
    yield {
      at: { path: need.path, part: "value" },
      message: `NeedEncap is true or false, without quotes; ${shown(need.value)} is neither`,
    };
  }
});

export const CNI_RANGE_RULES: readonly LintRule[] = [
  WITHOUT_SERVICES,
  WITHOUT_PODS,
  EXTERNAL,
  LAN,
  SERVICE_ROUTE,
  NEED_ENCAP,
];
