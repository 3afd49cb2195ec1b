/** Which kind of configuration a JSON value is that names no apiVersion. Go reads field names in any letter case. */
import type { DocumentKind } from "./document.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { keyOf, textAt, valueAt } from "./fields.ts";

function has(value: Fields, name: string): boolean {
  return keyOf(value, name) !== undefined;
}

/** A list of plugins, of which each is described: other programs list paths of theirs. */
function hasPlugins(value: Fields): boolean {
  const plugins = valueAt(value, keyOf(value, "plugins") ?? "");
  return Array.isArray(plugins) && plugins.every(isFields);
}

function isCni(value: Fields, file: string): boolean {
  if (has(value, "cniVersion")) return true;
  if (hasPlugins(value) && has(value, "name")) return true;
  return /\.conf(?:list)?$/i.test(file) && has(value, "type") && has(value, "name");
}

const HNS_TYPES = /^(?:l2bridge|l2tunnel|overlay|nat|transparent|ics|internal|private)$/i;

/** HCN v2 documents carry a schema version; HNS v1 networks a type and subnets; load balancers virtual addresses. */
function isHns(value: Fields): boolean {
  if (has(value, "SchemaVersion") || has(value, "HostComputeNetwork") || has(value, "HostComputeEndpoint"))
    return true;
  const type = textAt(value, keyOf(value, "Type") ?? "");
  if (type !== undefined && HNS_TYPES.test(type) && !has(value, "cniVersion")) return true;
  if (has(value, "FrontendVIPs") || has(value, "VirtualNetwork") || has(value, "VirtualNetworkName"))
    return true;
  return (has(value, "Policies") || has(value, "References")) && !has(value, "name");
}

/** `file` is the file's name, which counts where the value alone could be several things. */
export function kindOfJson(value: Fields, file: string): DocumentKind | undefined {
  if (isCni(value, file)) return "cni";
  if (has(value, "Network") && (has(value, "Backend") || has(value, "SubnetLen") || has(value, "EnableIPv6")))
    return "flannel";
  return isHns(value) ? "hns" : undefined;
}

const TITLES: Readonly<Partial<Record<DocumentKind, string>>> = {
  cni: "CNI configuration",
  flannel: "flannel's net-conf",
  hns: "HNS request",
};

export function titleOf(kind: DocumentKind, value: Fields): string {
  const name = textAt(value, keyOf(value, "name") ?? "");
  return `${TITLES[kind] ?? kind}${name === undefined ? "" : ` ${name}`}`;
}
