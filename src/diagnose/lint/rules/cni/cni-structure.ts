/** Rules over the shape of CNI configurations: files, names, versions, plugins and capabilities. */
import { isPlaceholder, shown } from "../../views/address-ranges.ts";
import {
  cniView,
  type CniView,
  MICROSOFT_PLUGINS,
  type PluginView,
  UPSTREAM_PLUGINS,
  fieldOf,
  isHnsPlugin,
  policyListName,
} from "../../views/cni-view.ts";
import type { LintContext } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { isFields } from "#core/base/json.ts";
import { NEWEST_VERSION, OLDEST_VERSION, SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { isTrueAt, keyOf, numberAt } from "../../input/fields.ts";
import { type LintRule, type RuleFinding, rule } from "../../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** A rule over each plugin of a CNI configuration. */
export function pluginRule(
  code: LintRule["code"],
  check: (plugin: PluginView, document: LintDocument, context: LintContext) => Iterable<RuleFinding>,
): LintRule {
  return rule(code, "cni", function* (document, context) {
    for (const plugin of cniView(document, context).plugins) yield* check(plugin, document, context);
  });
}

/** A result of a plugin has a version, too; only what names a plugin is a configuration. */
function isConfiguration({ plugins, isList }: CniView): boolean {
  return isList || plugins.some(({ type }) => type !== "");
}

function fileName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}

function folderOf(path: string): string {
  return path.slice(0, path.length - fileName(path).length);
}

/** Folders that a runtime reads: `C:\Program Files\containerd\cni\conf`, `C:\k\cni\config`, `/etc/cni/net.d`. */
const CONF_FOLDER = /(?:^|[\\/])cni[\\/](?:conf|config|net\.d)[\\/]$/i;

/** cni.md, fact 10: containerd takes the first file by name, and no other. */
const FOLDER_ORDER = rule("cni-conf-folder-order", "cni", function* (document, context) {
  const { file } = document.source;
  const folder = folderOf(file);
  if (document.host !== undefined || !CONF_FOLDER.test(folder)) return;
  const siblings = context
    .ofKind("cni")
    .filter((other) => other.host === undefined && folderOf(other.source.file) === folder);
  if (!siblings.some((other) => cniView(other, context).isWindows)) return;
  const [first = ""] = siblings.map((other) => fileName(other.source.file)).toSorted();
  if (first === fileName(file)) return;
  yield {
    at: { path: ["name"] },
    message: WORDS.configurationNeverRead({ first }),
    fix: WORDS.adviceSortFirst({ first }),
  };
});

/** go-cni reads a `.conflist` as a list and everything else as one plugin. */
const FILE_ENDING = rule("cni-file-ending-mismatch", "cni", function* (document, context) {
  const view = cniView(document, context);
  const ending = /\.(conf|conflist)$/i.exec(document.source.file)?.[1]?.toLowerCase();
  if (document.host !== undefined || ending === undefined || !isConfiguration(view)) return;
  if (ending === "conf" && view.isList)
    yield {
      at: { path: ["plugins"] },
      message: WORDS.confHoldsList,
      fix: "Rename it to end in .conflist.",
    };
  if (ending === "conflist" && !view.isList)
    yield {
      at: { path: [keyOf(document.value, "type") ?? "type"] },
      message: WORDS.conflistWithoutPlugins,
      fix: WORDS.adviceConfOrPluginList,
    };
});

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** cni.md §1.1, §1.3. */
const NETWORK_NAME = rule("cni-name-invalid", "cni", function* (document, context) {
  const view = cniView(document, context);
  // Somebody else may give a fragment its name: Multus does.
  const isFile = /\.conf(?:list)?$/i.test(document.source.file) || view.isWindows;
  if (document.host !== undefined || !isFile || !isConfiguration(view)) return;
  // Runtimes bring the loopback network along; a file for it is a habit from Linux that nobody reads.
  if (view.plugins.every(({ type }) => type === "loopback")) return;
  if (view.name === undefined)
    yield {
      at: { path: [] },
      message: WORDS.networkNameMissing,
      fix: WORDS.adviceAddNetworkName,
      // One plugin of a list is kept in a file like that, as of Linux.
      ...(view.isWindows ? {} : { severity: "info" as const }),
    };
  else if (
    typeof view.name.value !== "string" ||
    (!NAME.test(view.name.value) && !isPlaceholder(view.name.value))
  )
    yield {
      at: { path: view.name.path, part: "value" },
      message: WORDS.networkNameInvalid({ value: shown(view.name.value) }),
    };
});

/** cni.md §1.4. */
function versionsOf({ type }: PluginView): readonly string[] {
  if (MICROSOFT_PLUGINS.has(type)) return ["0.2.0", "0.3.0", "0.4.0", "1.0.0"];
  return type === "azure-vnet"
    ? SPEC_VERSIONS.filter((version) => version !== NEWEST_VERSION)
    : SPEC_VERSIONS;
}

const VERSION = rule("cni-version-not-supported", "cni", function* (document, context) {
  const view = cniView(document, context);
  const version = view.version?.value;
  if (!isConfiguration(view) || (typeof version === "string" && isPlaceholder(version))) return;
  for (const plugin of view.plugins) {
    if (!isHnsPlugin(plugin) && plugin.type !== "azure-vnet") continue;
    const given = version ?? (plugin.flannel === undefined ? OLDEST_VERSION : "0.2.0");
    const known = versionsOf(plugin);
    if (version === undefined && plugin.type === "azure-vnet") continue;
    if (typeof given === "string" && known.includes(given)) continue;
    yield {
      at: { path: view.version?.path ?? [], part: view.version === undefined ? "key" : "value" },
      message:
        version === undefined
          ? `without cniVersion the version is 0.1.0, which ${plugin.type} refuses`
          : `${plugin.type} does not know cniVersion ${shown(version)}: versions are compared as texts`,
      fix: `Write one of ${known.join(", ")}.`,
    };
  }
});

const OLD_NAMES = new Map([
  ["wincni", "it was replaced by win-bridge and win-overlay"],
  ["l2bridge", "today's programs are sdnbridge and win-bridge"],
  ["l2tunnel", "today's program is azure-vnet, and only in Azure"],
]);

/** cni.md §2.4, §2.5. */
const OLD_PLUGIN = pluginRule("cni-plugin-name-outdated", function* ({ path, value, type }) {
  const instead = OLD_NAMES.get(type);
  if (instead !== undefined)
    yield {
      at: { path: [...path, keyOf(value, "type") ?? "type"], part: "value" },
      message: `no current CNI plugin is called ${type}: ${instead}`,
    };
});

/** Reference plugins without a build for Windows. */
const LINUX_PLUGINS = new Set(WORDS.linuxPlugins.split(" "));

const LINUX_PLUGIN = rule("cni-linux-plugin-on-windows", "cni", function* (document, context) {
  const view = cniView(document, context);
  // mullion-netns brings pods of Linux to HNS, and stands beside plugins for Linux.
  const isForLinux = view.plugins.some(({ type }) => type === "mullion-netns");
  if (!view.isWindows || !view.isList || isForLinux) return;
  for (const { path, value, type } of view.plugins)
    if (LINUX_PLUGINS.has(type))
      yield {
        at: { path: [...path, keyOf(value, "type") ?? "type"], part: "value" },
        message: WORDS.pluginNotOnWindows({ type }),
        fix: type === "portmap" ? WORDS.adviceReplacePortmap : "Remove it from the list for Windows nodes.",
      };
});

/** What a capability's name must have been, when it is none. Runtimes compare names exactly. */
function meantCapability(name: string): string | undefined {
  const plain = name.toLowerCase().replace(/[-_]/g, "");
  if (/^dns(?:cap.*|config|s)?$/.test(plain)) return "dns";
  if (/^(?:host)?portmap(?:ping)?s?$/.test(plain)) return "portMappings";
  return undefined;
}

/** cni.md §1.9: the example files of Microsoft's plugins say `dnsCapabilities`. */
const CAPABILITY = pluginRule("cni-capability-unknown", function* ({ path, value }) {
  const misspelt = Object.keys(value).find((key) => /^(?:capabilites|capabilties|capability)$/i.test(key));
  if (misspelt !== undefined)
    yield {
      at: { path: [...path, misspelt] },
      message: WORDS.capabilitiesMisspelt({ misspelt: shown(misspelt) }),
      fix: 'Write "capabilities".',
    };
  const capabilities = fieldOf(value, path, "capabilities");
  if (capabilities === undefined || !isFields(capabilities.value)) return;
  for (const name of Object.keys(capabilities.value)) {
    const meant = meantCapability(name);
    if (meant !== undefined && meant !== name)
      yield {
        at: { path: [...capabilities.path, name] },
        message: WORDS.capabilityUnknown({ name: shown(name) }),
        fix: `Write "${meant}": true.`,
      };
  }
});

function* ignoredFields({ type, flannel, value }: PluginView): Generator<readonly [string, string]> {
  if (UPSTREAM_PLUGINS.has(type)) {
    yield ["AdditionalArgs", 'Policies are in "policies" here.'];
    yield ["optionalFlags", WORDS.adviceLoopbackDsrField];
    yield ["HcnPolicyArgs", 'Since version 1.0.0 all policies are in "policies".'];
    yield ["clusterNetworkPrefix", "The range is an exception of the policy OutBoundNAT."];
    if (type === "win-overlay")
      yield ["ipMasqNetwork", "win-overlay has ipMasq, for the network's own range."];
    if (type === "win-bridge" && flannel === undefined && isTrueAt(value, "ipMasq"))
      yield ["ipMasq", "win-bridge has ipMasqNetwork, or a policy OutBoundNAT."];
  }
  if (MICROSOFT_PLUGINS.has(type)) yield ["loopbackDSR", 'It is a flag below "optionalFlags" here.'];
  if (MICROSOFT_PLUGINS.has(type) || type === "azure-vnet")
    yield ["policies", 'Policies are in "AdditionalArgs" here.'];
}

/** cni.md §2.1, §2.2, §2.4; kubernetes#65016. */
const FIELD_IGNORED = pluginRule("cni-field-ignored", function* (plugin) {
  for (const [name, fix] of ignoredFields(plugin)) {
    const found = fieldOf(plugin.value, plugin.path, name);
    if (found !== undefined && name !== policyListName(plugin.type))
      yield { at: { path: found.path }, message: `${plugin.type} does not read ${shown(name)}`, fix };
  }
});

/** cni.md, fact 2. Nodes up to Kubernetes 1.23 could run Docker, for which the old way was right. */
const API_VERSION = pluginRule(
  "cni-api-version-missing",
  function* ({ path, value, type }, _document, context) {
    if (!UPSTREAM_PLUGINS.has(type)) return;
    const field = fieldOf(value, path, "apiVersion");
    if (field !== undefined && numberAt(field.value) === 2) {
      if (typeof field.value === "number") return;
      yield {
        at: { path: field.path, part: "value" },
        message: `apiVersion is a number: the text ${shown(field.value)} is refused by ${type}`,
        fix: "Write 2 without quotes.",
        severity: "error",
      };
      return;
    }
    yield {
      at: field === undefined ? { path } : { path: field.path, part: "value" },
      message: `${type} makes no endpoints for containerd unless its apiVersion is 2`,
      fix: WORDS.adviceApiVersion2,
      severity: isWithoutDocker(context) ? "error" : "warning",
    };
  },
);

function isWithoutDocker({ kubernetes }: LintContext): boolean {
  return kubernetes.origin !== "assumed" && kubernetes.minor >= 24;
}

const MAC_PREFIX = /^[0-9a-f]{2}-[0-9a-f]{2}$/i;

/** cni.md §2.3, row B4. */
const ENDPOINT_MAC_PREFIX = pluginRule("cni-endpoint-mac-prefix-invalid", function* ({ path, value, type }) {
  const field = type === "win-overlay" ? fieldOf(value, path, "endpointMacPrefix") : undefined;
  if (field === undefined || (typeof field.value === "string" && isUsable(field.value))) return;
  yield {
    at: { path: field.path, part: "value" },
    message: `${shown(field.value)} is not a beginning of a MAC address`,
    fix: 'Write two bytes with a hyphen between them: "0E-2A".',
  };
});

function isUsable(prefix: string): boolean {
  return MAC_PREFIX.test(prefix) || isPlaceholder(prefix);
}

export const CNI_STRUCTURE_RULES: readonly LintRule[] = [
  FOLDER_ORDER,
  FILE_ENDING,
  NETWORK_NAME,
  VERSION,
  OLD_PLUGIN,
  LINUX_PLUGIN,
  CAPABILITY,
  FIELD_IGNORED,
  API_VERSION,
  ENDPOINT_MAC_PREFIX,
];
