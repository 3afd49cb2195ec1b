/** Rules over the policies in CNI configurations: their dialect, their types, and the addresses in them. */
import { parseIp } from "#core/net/ip.ts";
import {
  familyOfPrefix,
  isPlaceholder,
  parseRange,
  prefixMeantBy,
  shown,
} from "../../views/address-ranges.ts";
import {
  cniView,
  type PluginView,
  type PolicyView,
  exceptionsOf,
  fieldOf,
  ipamOf,
  isType,
  policyListName,
  routePrefixOf,
  settingsOf,
} from "../../views/cni-view.ts";
import { getProfile } from "#core/catalogue/profiles.ts";
import { mappingOf } from "#core/base/json.ts";
import { keyOf, listAt, textAt } from "../../input/fields.ts";
import { type LintRule, type RuleFinding, rule } from "../../rule.ts";
import { pluginRule } from "./cni-structure.ts";
import { isFilledInLater } from "../json-files.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** Types that exist in one dialect only (hcn.md §3.6). */
const ONLY_V1 = new Map([
  ["route", "SDNRoute"],
  ["nat", "PortMapping"],
  ["pa", "ProviderAddress"],
]);
const ONLY_V2 = new Map([
  ["sdnroute", "ROUTE"],
  ["portmapping", "NAT"],
  ["provideraddress", "PA"],
]);

function flatFields({ body }: PolicyView): string | undefined {
  return ["ExceptionList", "DestinationPrefix", "NeedEncap", "PA", "InternalPort", "Exceptions"].find(
    (name) => keyOf(body, name) !== undefined,
  );
}

function v2Finding(plugin: PluginView, policy: PolicyView): RuleFinding | undefined {
  const flat = policy.hasSettings ? undefined : flatFields(policy);
  const settings = settingsOf(policy);
  const old = fieldOf(settings.value, settings.path, "ExceptionList");
  if (flat !== undefined)
    return {
      at: { path: [...policy.bodyPath, keyOf(policy.body, flat) ?? flat] },
      message: WORDS.pluginPolicyFieldsDropped({ type: plugin.type, flat: shown(flat) }),
      fix: v2Fix(policy),
    };
  if (old !== undefined && isType(policy, "OutBoundNAT") && listAt(old.value).length > 0)
    return {
      at: { path: old.path },
      message: WORDS.exceptionListInSettings,
      severity: "warning",
    };
  const other = ONLY_V1.get(policy.type.toLowerCase());
  if (other === undefined) return undefined;
  return {
    at: { path: [...policy.bodyPath, keyOf(policy.body, "Type") ?? "Type"], part: "value" },
    message: WORDS.policyTypeOfV1({ type: shown(policy.type) }),
    fix: `Write "${other}".`,
    severity: "warning",
  };
}

function v2Fix(policy: PolicyView): string {
  if (isType(policy, "OutBoundNAT")) return 'Write "Settings": {"Exceptions": [ … ]}.';
  if (isType(policy, "ROUTE", "SDNRoute"))
    return 'Write {"Type": "SDNRoute", "Settings": {"DestinationPrefix": …, "NeedEncap": true}}.';
  return 'Put the fields below "Settings".';
}

function v1Finding(plugin: PluginView, policy: PolicyView): RuleFinding | undefined {
  const because = plugin.dialect === "v1" && plugin.type !== "azure-vnet" ? " without apiVersion 2" : "";
  if (policy.hasSettings)
    return {
      at: { path: [...policy.bodyPath, keyOf(policy.body, "Settings") ?? "Settings"] },
      message: `${plugin.type}${because} takes flat policies: "Settings" means nothing to it`,
      fix:
        plugin.type === "azure-vnet"
          ? 'Write the fields beside "Type": {"Type": "OutBoundNAT", "ExceptionList": [ … ]}.'
          : 'Add "apiVersion": 2, or write the fields beside "Type".',
    };
  const list = fieldOf(policy.body, policy.bodyPath, "Exceptions");
  if (list !== undefined && isType(policy, "OutBoundNAT"))
    return {
      at: { path: list.path },
      message: WORDS.exceptionsInFlatPolicy,
    };
  const other = ONLY_V2.get(policy.type.toLowerCase());
  if (other === undefined) return undefined;
  return {
    at: { path: [...policy.bodyPath, keyOf(policy.body, "Type") ?? "Type"], part: "value" },
    message: WORDS.policyTypeOfV2({ type: shown(policy.type) }),
    fix: `Write "${other}".`,
    severity: "warning",
  };
}

/** cni.md, fact 5; users.md G13. */
const SHAPE = pluginRule("cni-policy-shape-mismatch", function* (plugin) {
  if (plugin.dialect === undefined) return;
  for (const policy of plugin.policies) {
    if (isPlaceholder(policy.type)) continue;
    const found = plugin.dialect === "v2" ? v2Finding(plugin, policy) : v1Finding(plugin, policy);
    if (found !== undefined) yield found;
  }
});

/** Types of endpoint policies, v1 and v2, in lower case (hcn.md §3.3, §3.6). */
const ENDPOINT_TYPES = new Set(WORDS.endpointPolicyTypes.split(" "));

/** Types of network policies that Microsoft's plugins pass on when they make a network. */
const NETWORK_NAME = "networkpolicy";

/** cni.md §2.1, §2.4: an entry of another name is skipped silently. */
const UNKNOWN = pluginRule("cni-policy-unknown", function* (plugin, document) {
  if (plugin.dialect === undefined) return;
  const takesNetwork = policyListName(plugin.type) === "AdditionalArgs";
  for (const policy of plugin.policies) {
    const name = policy.name.toLowerCase();
    if (name !== "endpointpolicy" && !(takesNetwork && name === NETWORK_NAME))
      yield {
        at: { path: [...policy.path, keyOf(nameOwner(document.value, policy), "name") ?? "name"] },
        message: `${plugin.type} skips a policy whose name is ${shown(policy.name)}`,
        fix: 'Write "EndpointPolicy".',
        severity: "warning",
      };
    else if (name === "endpointpolicy" && isUnknownType(policy.type, plugin))
      yield {
        at: { path: [...policy.bodyPath, keyOf(policy.body, "Type") ?? "Type"], part: "value" },
        message:
          policy.type === ""
            ? "a policy without a type is refused by HNS"
            : `HNS knows no endpoint policy of type ${shown(policy.type)}`,
      };
  }
});

function isUnknownType(type: string, plugin: PluginView): boolean {
  // azure-vnet makes an OutBoundNAT policy of it.
  const isAzures = plugin.type === "azure-vnet" && type.toLowerCase() === "loopbackdsr";
  return !isPlaceholder(type) && !isAzures && !ENDPOINT_TYPES.has(type.toLowerCase());
}

function nameOwner(value: unknown, policy: PolicyView): unknown {
  let found = value;
  for (const step of policy.path)
    found = typeof step === "number" ? listAt(found)[step] : mappingOf(found)[step];
  return found;
}

interface Written {
  readonly path: RuleFinding["at"];
  readonly text: string;
}

/** Texts of policies that are prefixes or addresses. */
function* prefixesOf({ policies }: PluginView): Generator<Written> {
  for (const policy of policies) {
    for (const { path, text } of exceptionsOf(policy)) yield { path: { path, part: "value" }, text };
    const route = routePrefixOf(policy);
    if (route !== undefined) yield { path: { path: route.path, part: "value" }, text: route.text };
  }
}

/** hcn.md §3.3: from Server 2022 on. */
const HOST_BITS = rule("hns-prefix-host-bits", "cni", function* (document, context) {
  const build = context.buildWhere(({ profile }) => profile.build >= getProfile("ws2022").build);
  if (build === undefined) return;
  for (const plugin of cniView(document, context).plugins)
    for (const policy of plugin.policies)
      for (const { path, text } of exceptionsOf(policy)) {
        const meant = prefixMeantBy(text);
        if (meant !== undefined)
          yield {
            at: { path, part: "value" },
            message: WORDS.prefixHasHostBits({ text: shown(text), title: build.profile.title }),
            fix: `Write "${meant}".`,
            // AKS' own files have it with azure-vnet, and the refusal is observed with other plugins, not documented.
            ...(plugin.type === "azure-vnet" && { severity: "info" }),
          };
      }
});

function providerAddressOf(policy: PolicyView): Written | undefined {
  if (!isType(policy, "PA", "ProviderAddress")) return undefined;
  const { path, value } = settingsOf(policy);
  const field = fieldOf(value, path, isType(policy, "PA") ? "PA" : "ProviderAddress");
  const isText = typeof field?.value === "string" && !isPlaceholder(field.value);
  return isText
    ? { path: { path: field.path, part: "value" }, text: textAt({ v: field.value }, "v") ?? "" }
    : undefined;
}

const ADDRESS = pluginRule("cni-address-invalid", function* (plugin, document) {
  for (const { path, text } of prefixesOf(plugin))
    if (parseRange(text) === undefined && !isFilledInLater(document))
      yield { at: path, message: `${shown(text)} is neither a prefix nor an address` };
  for (const policy of plugin.policies) {
    const provider = providerAddressOf(policy);
    const isLater = provider?.text === "" && isFilledInLater(document);
    if (provider !== undefined && !isLater && parseIp(provider.text) === undefined)
      yield {
        at: provider.path,
        message: WORDS.providerAddressForeign({ text: shown(provider.text) }),
      };
  }
  const ipam = plugin.flannel === undefined ? ipamOf(plugin) : undefined;
  const subnet = ipam === undefined ? undefined : fieldOf(ipam.value, ipam.path, "subnet");
  const isMicrosofts = /^(?:nat|sdnbridge|sdnoverlay)$/.test(plugin.type);
  if (isMicrosofts && typeof subnet?.value === "string" && isWrongPrefix(subnet.value))
    yield {
      at: { path: subnet.path, part: "value" },
      message: `${shown(subnet.value)} is not a prefix for the network's addresses`,
    };
});

function isWrongPrefix(text: string): boolean {
  return text !== "" && !isPlaceholder(text) && (parseRange(text) === undefined || !text.includes("/"));
}

/** AgentBaker#3049. */
const MIXED_FAMILIES = pluginRule("cni-exception-list-mixed-families", function* ({ policies }) {
  for (const policy of policies) {
    const ranges = exceptionsOf(policy).map((item) => ({ ...item, range: parseRange(item.text) }));
    const [first] = ranges;
    const family = first?.range === undefined ? undefined : familyOfPrefix(first.range);
    const other = ranges.find(
      ({ range }) => range !== undefined && family !== undefined && familyOfPrefix(range) !== family,
    );
    if (other !== undefined)
      yield {
        at: { path: other.path, part: "value" },
        message: `${shown(other.text)} is among exceptions of the other address family`,
        fix: "Write one OutBoundNAT policy for IPv4 and one for IPv6.",
      };
  }
});

export const CNI_POLICY_RULES: readonly LintRule[] = [SHAPE, UNKNOWN, HOST_BITS, ADDRESS, MIXED_FAMILIES];
