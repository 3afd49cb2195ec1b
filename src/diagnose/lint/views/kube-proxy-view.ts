/**
 * What kube-proxy is told, the same for a `KubeProxyConfiguration` and for a command line: options by the name of
 * their flag (kube-proxy.md §1.1).
 */
import { isPlaceholder } from "./address-ranges.ts";
import type { LintContext } from "../context.ts";
import type { LintDocument } from "../input/document.ts";
import { type LintPath, fieldsAt, textAt, valueAt } from "../input/fields.ts";

export interface OptionView {
  readonly path: LintPath;
  /** As a flag would say it. */
  readonly text: string;
}

export interface KubeProxyView {
  readonly isFlags: boolean;
  /** It runs on Windows, as far as the text says. */
  readonly isWindows: boolean;
  /** It runs in a pod that is for Linux. */
  readonly isLinux: boolean;
  /** An option that is given and not empty. */
  option(flag: string): OptionView | undefined;
  /** Feature gates with the places where they are set. */
  readonly gates: ReadonlyMap<string, { readonly path: LintPath; readonly isOn: boolean }>;
}

const FIELDS: Readonly<Record<string, LintPath>> = {
  "proxy-mode": ["mode"],
  "network-name": ["winkernel", "networkName"],
  "source-vip": ["winkernel", "sourceVip"],
  "enable-dsr": ["winkernel", "enableDSR"],
  "root-hnsendpoint-name": ["winkernel", "rootHnsEndpointName"],
  "forward-healthcheck-vip": ["winkernel", "forwardHealthCheckVip"],
  "hostname-override": ["hostnameOverride"],
  "bind-address": ["bindAddress"],
  "healthz-bind-address": ["healthzBindAddress"],
  "metrics-bind-address": ["metricsBindAddress"],
  "cluster-cidr": ["clusterCIDR"],
  "nodeport-addresses": ["nodePortAddresses"],
  "masquerade-all": ["iptables", "masqueradeAll"],
};

/** A value as a flag would say it; empty for what a default stands for. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(",");
  return typeof value === "string" || typeof value === "number" || value === true ? String(value) : "";
}

function optionsOfFile(value: unknown, flag: string): OptionView | undefined {
  const path = FIELDS[flag];
  const text = path === undefined ? "" : textOf(valueAt(value, ...path));
  return path === undefined || text === "" ? undefined : { path, text };
}

function optionOfFlags(value: unknown, flag: string): OptionView | undefined {
  const text = textAt(value, "flags", flag);
  return text === undefined ? undefined : { path: ["flags", flag], text };
}

type Gates = Map<string, { readonly path: LintPath; readonly isOn: boolean }>;

function gatesOf(document: LintDocument, isFlags: boolean): Gates {
  const gates: Gates = new Map();
  if (!isFlags) {
    for (const [name, state] of Object.entries(fieldsAt(document.value, "featureGates")))
      if (typeof state === "boolean") gates.set(name, { path: ["featureGates", name], isOn: state });
    return gates;
  }
  const text = textAt(document.value, "flags", "feature-gates") ?? "";
  for (const [, name = "", state = ""] of text.matchAll(/(?<!\w)(\w+)\s*[=:]\s*(\w+)/g))
    gates.set(name, { path: ["flags", "feature-gates"], isOn: /^(?:true|t|1)$/i.test(state) });
  return gates;
}

/** Options that only kube-proxy for Windows reads. */
const WINDOWS_OPTIONS = [
  "network-name",
  "source-vip",
  "enable-dsr",
  "root-hnsendpoint-name",
  "forward-healthcheck-vip",
];

const WINDOWS_WORDS =
  /kube-?proxy\.exe|KUBE_NETWORK|\$env:|Get-Hns|HostNetworkingService|[A-Z]:\\|proxy-mode[= "']+kernelspace/i;

export function kubeProxyView(document: LintDocument, context: LintContext): KubeProxyView {
  const isFlags = document.kind === "kube-proxy-flags";
  const option = (flag: string): OptionView | undefined =>
    isFlags ? optionOfFlags(document.value, flag) : optionsOfFile(document.value, flag);
  const { host } = document;
  const pod = host === undefined ? undefined : context.podOf(host);
  const isScript = isFlags && pod === undefined && WINDOWS_WORDS.test(document.text);
  const isWindowsHost =
    host !== undefined && pod === undefined && /windows/i.test(textAt(host.value, "metadata", "name") ?? "");
  const isWindows =
    (pod !== undefined && context.isForWindows(pod)) ||
    isScript ||
    isWindowsHost ||
    option("proxy-mode")?.text === "kernelspace" ||
    WINDOWS_OPTIONS.some((flag) => option(flag) !== undefined);
  return { isFlags, isWindows, isLinux: pod?.os === "linux", option, gates: gatesOf(document, isFlags) };
}

/** A word in the place of a value: OpenShift's operator fills in `NODE_SUBNET` on the node. */
const VARIABLE = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;

/** The text of an option, unless it is still to be filled in: `$vip`, `{{ .network }}`. */
export function plainOption(view: KubeProxyView, flag: string): OptionView | undefined {
  const found = view.option(flag);
  const isOpen =
    found === undefined ||
    found.text === "" ||
    isPlaceholder(found.text) ||
    VARIABLE.test(found.text) ||
    found.text.startsWith("$");
  return isOpen ? undefined : found;
}

export function isOn(view: KubeProxyView, flag: string): boolean {
  const found = view.option(flag);
  return found !== undefined && /^(?:|true|t|1)$/i.test(found.text);
}
