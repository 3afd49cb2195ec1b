/** Rules over flannel's `subnet.env` (cni.md §3.2, control-planes.md §1.7). */
import {
  formatRange,
  isCovered,
  isPlaceholder,
  parseRange,
  podRangesOf,
  shown,
} from "../views/address-ranges.ts";
import { textAt } from "../input/fields.ts";
import { type LintRule, rule } from "../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

const INCOMPLETE = rule("subnet-env-incomplete", "subnet-env", function* ({ value }) {
  const wanted = [
    ["FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK"],
    ["FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"],
    ["FLANNEL_MTU"],
    ["FLANNEL_IPMASQ"],
  ];
  const missing = wanted
    .filter((names) => names.every((name) => (textAt(value, name) ?? "") === ""))
    .map(([name]) => name);
  if (missing.length > 0)
    yield {
      at: { path: [Object.keys(value)[0] ?? ""] },
      message: `flannel's CNI plugin refuses the file, because ${missing.join(", ")} is missing`,
    };
});

const OUTSIDE = rule("subnet-env-subnet-outside-network", "subnet-env", function* ({ value }, context) {
  const subnet = textAt(value, "FLANNEL_SUBNET");
  const networks = (textAt(value, "FLANNEL_NETWORK") ?? "").split(",").filter((text) => text !== "");
  if (subnet === undefined || subnet === "" || [subnet, ...networks].some(isPlaceholder)) return;
  const own = parseRange(subnet);
  const ranges = networks.flatMap((text) => parseRange(text) ?? []);
  if (own === undefined || !subnet.includes("/"))
    yield {
      at: { path: ["FLANNEL_SUBNET"] },
      message: `${shown(subnet)} is not a node's range such as 10.244.3.1/24`,
    };
  else if (ranges.length > 0 && !isCovered(own, ranges))
    yield {
      at: { path: ["FLANNEL_SUBNET"] },
      message: `the node's range ${formatRange(own)} is outside the network ${networks.join(", ")}`,
    };
  else {
    const others = podRangesOf(context)
      .filter(({ from }) => from.startsWith("Network"))
      .map(({ prefix }) => prefix);
    const [first] = others;
    if (first !== undefined && own !== undefined && !isCovered(own, others))
      yield {
        at: { path: ["FLANNEL_SUBNET"] },
        message: `the node's range ${formatRange(own)} is outside flannel's network ${formatRange(first)}`,
        severity: "warning",
      };
  }
});

/** Exactly `true` counts (cni.md §3.2). */
const MASQUERADE = rule("subnet-env-ipmasq-not-true", "subnet-env", function* ({ value }) {
  const text = textAt(value, "FLANNEL_IPMASQ") ?? "";
  if (text === "" || text === "true" || text === "false" || isPlaceholder(text)) return;
  yield {
    at: { path: ["FLANNEL_IPMASQ"] },
    message: WORDS.flannelIpmasqInvalid({ text: shown(text) }),
  };
});

export const SUBNET_ENV_RULES: readonly LintRule[] = [INCOMPLETE, OUTSIDE, MASQUERADE];
