/** Rules over flannel's CNI plugin with a delegate for Windows. */
import { shown } from "../../views/address-ranges.ts";
import { cniView, type CniView, type PluginView, fieldOf, networkNameOf } from "../../views/cni-view.ts";
import type { LintContext } from "../../context.ts";
import { isFields } from "#core/base/json.ts";
import { keyOf } from "../../input/fields.ts";
import { flannelView, networkNameOfFlannel } from "../../views/flannel-view.ts";
import { type LintRule, rule } from "../../rule.ts";
import { pluginRule } from "./cni-structure.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** cni.md §3.1: flannel builds the delegate's configuration from `delegate`, and hands nothing else of its own over. */
const FOR_THE_DELEGATE = [
  "dns",
  "policies",
  "AdditionalArgs",
  "apiVersion",
  "optionalFlags",
  "loopbackDSR",
  "endpointMacPrefix",
];

function flannelsOf({ plugins }: CniView): readonly PluginView[] {
  return plugins.flatMap(({ flannel }) => flannel ?? []);
}

const MISPLACED = rule("cni-flannel-field-misplaced", "cni", function* (document, context) {
  const view = cniView(document, context);
  for (const flannel of flannelsOf(view))
    for (const name of FOR_THE_DELEGATE) {
      const field = fieldOf(flannel.value, flannel.path, name);
      if (field !== undefined)
        yield {
          at: { path: field.path },
          message: `flannel does not pass ${shown(name)} on to its delegate`,
          fix: 'Move it into "delegate".',
        };
    }
  for (const plugin of view.plugins) {
    const capabilities =
      plugin.flannel === undefined ? undefined : fieldOf(plugin.value, plugin.path, "capabilities");
    if (capabilities !== undefined)
      yield {
        at: { path: capabilities.path },
        message: WORDS.capabilitiesInDelegate,
        fix: 'Move "capabilities" out of "delegate".',
      };
  }
});

/** cni.md §3.1: refused on every operating system. */
const FORBIDDEN = pluginRule("cni-flannel-delegate-field-forbidden", function* ({ type, value, path }) {
  const delegate = type === "flannel" ? fieldOf(value, path, "delegate") : undefined;
  if (delegate === undefined || !isFields(delegate.value)) return;
  // flannel looks for these names exactly.
  for (const name of ["name", "ipam"])
    if (Object.hasOwn(delegate.value, name))
      yield {
        at: { path: [...delegate.path, name] },
        message: `flannel refuses ${shown(name)} in its delegate, because it sets that itself`,
        fix: "Remove it.",
      };
});

/** The names of the HNS networks that flanneld makes, by the net-confs of the input with the wanted back end. */
function flannelNetworks(context: LintContext, type: string): ReadonlySet<string> {
  const netConfs = context.ofKind("flannel").filter((document) => flannelView(document).type === type);
  return new Set(netConfs.flatMap((document) => networkNameOfFlannel(document) ?? []));
}

/** The back end that a delegate works on. */
function backendOf({ plugins }: CniView): string {
  return plugins.some(({ type, flannel }) => flannel !== undefined && type.endsWith("overlay"))
    ? "vxlan"
    : "host-gw";
}

/** cni.md §9.J; users.md G3: names of HNS networks are compared exactly. */
const NAME_MISMATCH = rule("cni-network-name-mismatch", "cni", function* (document, context) {
  const view = cniView(document, context);
  const name = networkNameOf(view);
  const made = flannelNetworks(context, backendOf(view));
  if (name === undefined || made.size === 0 || made.has(name) || flannelsOf(view).length === 0) return;
  // Another configuration fits: this one is an alternative to it.
  const others = context.ofKind("cni").map((each) => cniView(each, context));
  if (others.some((other) => flannelsOf(other).length > 0 && made.has(networkNameOf(other) ?? ""))) return;
  yield {
    at: { path: view.name?.path ?? [keyOf(document.value, "name") ?? "name"], part: "value" },
    message: `flanneld makes the network ${[...made].map(shown).join(" or ")}, and the plugin looks for ${shown(name)}`,
    fix: WORDS.adviceSameNetworkName,
  };
});

export const CNI_FLANNEL_RULES: readonly LintRule[] = [MISPLACED, FORBIDDEN, NAME_MISMATCH];
