/** Rules over kube-proxy's feature gates and flags: what a version or build refuses, and what Windows does not read. */
import { hasFeature } from "#contracts/hcn/features.ts";
import { hnsVersionOf } from "#core/catalogue/profiles.ts";
import { FIELDS } from "#programs/kube-proxy/configuration/configuration.ts";
import { endOfGate, gateAt } from "#programs/kube-proxy/configuration/feature-gates.ts";
import { shown } from "../views/address-ranges.ts";
import type { LintDocument } from "../input/document.ts";
import { fieldsAt, valueAt } from "../input/fields.ts";
import { type KubeProxyView, isOn } from "../views/kube-proxy-view.ts";
import { type LintRule, type RuleFinding, rule } from "../rule.ts";
import { atValue, kubeProxyRule } from "./kube-proxy.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

const DSR_GATE = kubeProxyRule("kube-proxy-dsr-without-gate", function* (view, { kubernetes }, document) {
  const gate = view.gates.get("WinDSR");
  const option = view.option("enable-dsr");
  if (!isOn(view, "enable-dsr") || option === undefined || gate?.isOn === true) return;
  const isOffBySelf = gate === undefined && gateAt("WinDSR", kubernetes.minor)?.isOnByDefault !== true;
  // A script may put the gates together elsewhere.
  if (gate === undefined && (!isOffBySelf || /WinDSR/.test(document.text))) return;
  yield {
    at: gate === undefined ? { path: option.path } : { path: gate.path },
    message:
      gate === undefined
        ? WORDS.winDsrGateOff({ minor: kubernetes.minor })
        : "DSR is requested while its feature gate WinDSR is off",
    fix: view.isFlags ? "Add --feature-gates=WinDSR=true." : "Add featureGates: {WinDSR: true}.",
  };
});

const DSR_SUPPORT = kubeProxyRule("kube-proxy-dsr-without-support", function* (view, context) {
  const option = view.option("enable-dsr");
  const build = context.buildWhere((each) => !hasFeature(hnsVersionOf(each), "DSR"));
  if (option === undefined || !isOn(view, "enable-dsr") || build === undefined) return;
  const { profile, revision } = build;
  yield {
    at: { path: option.path },
    message: `${profile.title}${revision === undefined ? "" : ` (${profile.build}.${revision})`} has an HNS without Direct Server Return`,
    fix: WORDS.adviceUpdateForDsr,
  };
});

/** Gates of what kube-proxy does on Windows, which people still write (kube-proxy.md §1.2). */
const GATES: readonly string[] = [
  "WinDSR",
  "WinOverlay",
  "WindowsEndpointSliceProxying",
  "IPv6DualStack",
  "ProxyTerminatingEndpoints",
  "KubeProxyDrainingTerminatingNodes",
];

function gateFault(name: string, isOnNow: boolean, minor: number): string | undefined {
  const exact = GATES.find((known) => known.toLowerCase() === name.toLowerCase());
  if (exact === undefined) return undefined;
  if (exact !== name) return `there is no feature gate ${shown(name)}: it is called ${exact}`;
  const { gone, locked } = endOfGate(exact);
  if (gone !== undefined && minor >= gone) return WORDS.featureGateRemoved({ gone, name });
  if (!isOnNow && locked !== undefined && minor >= locked) return WORDS.featureGateLocked({ locked, name });
  return undefined;
}

/** users.md G3: a script's old gate, and 8200 restarts in ten hours. */
const GATE = kubeProxyRule("kube-proxy-feature-gate-refused", function* (view, { kubernetes }) {
  const faults: [string, RuleFinding["at"]][] = [];
  for (const [name, { path, isOn: isOnNow }] of view.gates) {
    const fault = gateFault(name, isOnNow, kubernetes.minor);
    if (fault !== undefined) faults.push([fault, { path }]);
  }
  for (const [message, at] of faults)
    yield {
      at,
      message,
      fix: "Remove it.",
      ...(kubernetes.origin === "assumed" && !message.startsWith("there is") ? { severity: "warning" } : {}),
    };
});

/** What `--config` makes kube-proxy overlook (kube-proxy.md §1.1). */
const OVERRIDDEN = [
  "proxy-mode",
  "network-name",
  "source-vip",
  "enable-dsr",
  "cluster-cidr",
  "feature-gates",
  "nodeport-addresses",
  "bind-address",
  "healthz-bind-address",
  "metrics-bind-address",
];

/** In a script the flags of one line are those of one call; others may be those of another. */
function isBeside(flag: string, { host, text }: LintDocument): boolean {
  return (
    host !== undefined ||
    text.split("\n").some((line) => /--config\b/.test(line) && line.includes(`--${flag}`))
  );
}

const BESIDE_CONFIG = kubeProxyRule("kube-proxy-flags-beside-config", function* (view, _context, document) {
  if (!view.isFlags || view.option("config") === undefined) return;
  for (const flag of OVERRIDDEN) {
    const option = view.option(flag);
    if (option !== undefined && isBeside(flag, document))
      yield {
        at: { path: option.path },
        message: `--${flag} has no effect beside --config: what the file says counts`,
        fix: "Write it into the file.",
      };
  }
});

/** Flags that a version no longer knows: kube-proxy ends at once (kube-proxy.md §1.1; klog's flags went with 1.26). */
const REMOVED_FLAGS: ReadonlyMap<string, number> = new Map([
  ["proxy-port-range", 31],
  ["log-dir", 26],
  ["log-file", 26],
  ["log-file-max-size", 26],
  ["logtostderr", 26],
  ["alsologtostderr", 26],
  ["stderrthreshold", 26],
  ["skip-headers", 26],
  ["one-output", 26],
]);

const FLAG = kubeProxyRule("kube-proxy-flag-refused", function* (view, { kubernetes }) {
  if (!view.isFlags) return;
  for (const [flag, minor] of REMOVED_FLAGS) {
    const option = view.option(flag);
    if (option === undefined || kubernetes.minor < minor) continue;
    yield {
      at: { path: option.path },
      message: `Kubernetes 1.${minor} and later have no flag --${flag}, and kube-proxy ends`,
      severity: kubernetes.origin === "assumed" ? "info" : "error",
    };
  }
  for (const flag of ["cleanup", "init-only"]) {
    const option = view.option(flag);
    if (option !== undefined && isOn(view, flag))
      yield {
        at: { path: option.path },
        message: `kube-proxy on Windows does not implement --${flag}, and ends`,
      };
  }
});

const WINKERNEL = "winkernel.";
const WINKERNEL_FIELDS = FIELDS.filter(({ path }) => path.startsWith(WINKERNEL)).map(({ path }) =>
  path.slice(WINKERNEL.length),
);

function isNear(a: string, b: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replace(/[-_]/g, "");
  return plain(a) === plain(b);
}

/** Names of fields are exact here, unlike in CNI configurations. */
const FIELD = rule("kube-proxy-field-unknown", "kube-proxy", function* ({ value }) {
  const outer = Object.keys(value).find((key) => key !== "winkernel" && isNear(key, "winkernel"));
  if (outer !== undefined)
    yield {
      at: { path: [outer] },
      message: `there is no field ${shown(outer)}`,
      fix: 'Write "winkernel".',
    };
  for (const name of WINKERNEL_FIELDS)
    if (valueAt(value, name) !== undefined)
      yield {
        at: { path: [name] },
        message: `${name} is below winkernel; here it is not read`,
      };
  for (const key of Object.keys(fieldsAt(value, "winkernel")))
    if (!WINKERNEL_FIELDS.includes(key)) yield unknownField(key);
});

function unknownField(key: string): RuleFinding {
  const meant = WINKERNEL_FIELDS.find((name) => isNear(name, key));
  return {
    at: { path: ["winkernel", key] },
    message: `winkernel has no field ${shown(key)}`,
    fix: meant === undefined ? `It has ${WINKERNEL_FIELDS.join(", ")}.` : `Write "${meant}".`,
  };
}

/** kube-proxy.md §1.1: accepted, and of no effect. */
const IGNORED = new Map([
  ["nodeport-addresses", WORDS.nodePortAddressesIgnored],
  ["masquerade-all", "kube-proxy on Windows does not read masqueradeAll"],
]);

const OPTION_IGNORED = kubeProxyRule("kube-proxy-option-ignored", function* (view) {
  for (const [flag, message] of IGNORED) {
    const option = view.option(flag);
    if (option !== undefined && option.text !== "false" && isSet(view, flag))
      yield { at: atValue(option), message };
  }
});

function isSet(view: KubeProxyView, flag: string): boolean {
  return flag !== "masquerade-all" || isOn(view, flag);
}

export const KUBE_PROXY_OPTION_RULES: readonly LintRule[] = [
  DSR_GATE,
  DSR_SUPPORT,
  GATE,
  BESIDE_CONFIG,
  FLAG,
  FIELD,
  OPTION_IGNORED,
];
