/**
 * A CNI configuration as rules look at it: its plugins, flannel's delegates among them, and their policies. Names of
 * fields are found in any letter case, as Go finds them (cni.md, fact 1).
 */
import { isPlaceholder } from "./address-ranges.ts";
import type { LintDocument } from "../input/document.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { type LintPath, fieldsAt, keyOf, listAt, numberAt, textAt, valueAt } from "../input/fields.ts";

/** A field with the way to it, its name as it is written. */
export interface FieldView {
  readonly path: LintPath;
  readonly value: unknown;
}

/** The field `name` of a mapping that stands at `path`; undefined when it is not there. */
export function fieldOf(value: unknown, path: LintPath, name: string): FieldView | undefined {
  const key = keyOf(value, name);
  return key === undefined ? undefined : { path: [...path, key], value: valueAt(value, key) };
}

/** The dialect of policies that a plugin reads: flat as HNS v1 has them, or `{Type, Settings}` (cni.md, fact 5). */
export type PolicyDialect = "v1" | "v2";

export interface PolicyView {
  /** The entry of the list: `{Name, Value}`. */
  readonly path: LintPath;
  readonly name: string;
  readonly bodyPath: LintPath;
  readonly body: Fields;
  /** As it is written. */
  readonly type: string;
  readonly hasSettings: boolean;
}

export interface PluginView {
  readonly path: LintPath;
  readonly value: Fields;
  /** In lower case, without `.exe`; empty when there is none. */
  readonly type: string;
  /** Set for the delegate of a flannel plugin. */
  readonly flannel: PluginView | undefined;
  /** The meta plugin that a runtime calls, when this is a delegate: flannel or mullion-netns. It has the capabilities. */
  readonly owner: PluginView | undefined;
  readonly policies: readonly PolicyView[];
  /** The policies' dialect; undefined when this plugin is not known to be strict. */
  readonly dialect: PolicyDialect | undefined;
}

export interface CniView {
  readonly document: LintDocument;
  readonly name: FieldView | undefined;
  readonly version: FieldView | undefined;
  readonly isList: boolean;
  readonly plugins: readonly PluginView[];
  /** Something in it is only for Windows. */
  readonly isWindows: boolean;
}

/** Plugins that make endpoints in HNS: of containernetworking, of Microsoft, and their old names. */
const HNS_PLUGINS: ReadonlySet<string> = new Set([
  "win-bridge",
  "win-overlay",
  "nat",
  "sdnbridge",
  "sdnoverlay",
  "wincni",
  "l2bridge",
  "l2tunnel",
]);

export const UPSTREAM_PLUGINS: ReadonlySet<string> = new Set(["win-bridge", "win-overlay"]);
export const MICROSOFT_PLUGINS: ReadonlySet<string> = new Set(["nat", "sdnbridge", "sdnoverlay"]);

export function isHnsPlugin({ type }: PluginView): boolean {
  return HNS_PLUGINS.has(type);
}

export function typeName(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/\.exe$/, "");
}

function dialectOf(type: string, value: Fields): PolicyDialect | undefined {
  if (UPSTREAM_PLUGINS.has(type))
    return numberAt(value, keyOf(value, "apiVersion") ?? "") === 2 ? "v2" : "v1";
  if (MICROSOFT_PLUGINS.has(type)) return "v2";
  return type === "azure-vnet" ? "v1" : undefined;
}

/** The list of policies that a plugin reads. The other one is only read by others. */
export function policyListName(type: string): "policies" | "AdditionalArgs" {
  return MICROSOFT_PLUGINS.has(type) || /^(?:azure-vnet|wincni|l2bridge|l2tunnel)$/.test(type)
    ? "AdditionalArgs"
    : "policies";
}

function policyOf(entry: unknown, path: LintPath): PolicyView | undefined {
  const body = fieldOf(entry, path, "value");
  if (body === undefined || !isFields(body.value)) return undefined;
  return {
    path,
    name: textAt(entry, keyOf(entry, "name") ?? "") ?? "",
    bodyPath: body.path,
    body: body.value,
    type: textAt(body.value, keyOf(body.value, "Type") ?? "") ?? "",
    hasSettings: isFields(valueAt(body.value, keyOf(body.value, "Settings") ?? "")),
  };
}

function policiesOf(type: string, value: Fields, path: LintPath): readonly PolicyView[] {
  const list = fieldOf(value, path, policyListName(type));
  if (list === undefined || !Array.isArray(list.value)) return [];
  return (list.value as unknown[]).flatMap((entry, index) => policyOf(entry, [...list.path, index]) ?? []);
}

/** @param meta the plugin whose delegate this is. */
function pluginOf(value: Fields, path: LintPath, meta?: PluginView): PluginView {
  const flannel = meta?.type === "flannel" ? meta : undefined;
  const given = textAt(value, keyOf(value, "type") ?? "");
  const type = typeName(given ?? (flannel === undefined ? "" : "win-bridge"));
  return {
    path,
    value,
    type,
    flannel,
    owner: meta?.owner ?? meta,
    policies: policiesOf(type, value, path),
    dialect: dialectOf(type, value),
  };
}

/** Meta plugins: what they are called with stands in `delegate`. */
const META_PLUGINS: ReadonlySet<string> = new Set(["flannel", "mullion-netns"]);

/** The delegate of a meta plugin, with its own, when it is one for Windows; Linux' are other plugins' business. */
function delegatesOf(plugin: PluginView): readonly PluginView[] {
  if (!META_PLUGINS.has(plugin.type)) return [];
  const delegate = fieldOf(plugin.value, plugin.path, "delegate");
  if (delegate === undefined || !isFields(delegate.value)) return [];
  const view = pluginOf(delegate.value, delegate.path, plugin);
  const isSaid = textAt(delegate.value, "type") !== undefined;
  const isMeta = plugin.owner === undefined && META_PLUGINS.has(view.type);
  if (isMeta) return [view, ...delegatesOf(view)];
  const isWindows = isSaid ? HNS_PLUGINS.has(view.type) : view.policies.length > 0;
  return isWindows ? [view] : [];
}

function speaksOfWindows(plugin: PluginView): boolean {
  return (
    isHnsPlugin(plugin) ||
    plugin.policies.some(({ name }) => name.toLowerCase() === "endpointpolicy") ||
    keyOf(plugin.value, "windows_use_single_network") !== undefined
  );
}

function readCniView(document: LintDocument): CniView {
  const { value } = document;
  const list = fieldOf(value, [], "plugins");
  const isList = Array.isArray(list?.value);
  const own = isList
    ? listAt(value, ...(list?.path ?? [])).flatMap((plugin, index) =>
        isFields(plugin) ? [pluginOf(plugin, [...(list?.path ?? []), index])] : [],
      )
    : [pluginOf(value, [])];
  const plugins = own.flatMap((plugin) => [plugin, ...delegatesOf(plugin)]);
  return {
    document,
    name: fieldOf(value, [], "name"),
    version: fieldOf(value, [], "cniVersion"),
    isList,
    plugins,
    isWindows: plugins.some(speaksOfWindows),
  };
}

/** What owns the views: the lint context, which is the same for all documents of an input. */
interface ViewOwner {
  once<T>(find: () => T): T;
}

function noViews(): Map<LintDocument, CniView> {
  return new Map();
}

/** The view of a document of kind `cni`, read once for each owner. */
export function cniView(document: LintDocument, owner: ViewOwner): CniView {
  const views = owner.once(noViews);
  const known = views.get(document);
  if (known !== undefined) return known;
  const view = readCniView(document);
  views.set(document, view);
  return view;
}

/** A text of a policy or list with its place. */
export interface TextView {
  readonly path: LintPath;
  readonly text: string;
}

function textsOf(list: FieldView | undefined): readonly TextView[] {
  if (list === undefined || !Array.isArray(list.value)) return [];
  return (list.value as unknown[]).flatMap((item, index) =>
    typeof item === "string" ? [{ path: [...list.path, index], text: item }] : [],
  );
}

/** Where a policy's own fields stand: below `Settings`, or flat. */
export function settingsOf({ body, bodyPath, hasSettings }: PolicyView): FieldView {
  const settings = hasSettings ? fieldOf(body, bodyPath, "Settings") : undefined;
  return settings ?? { path: bodyPath, value: body };
}

export function isType(policy: PolicyView, ...types: readonly string[]): boolean {
  const type = policy.type.toLowerCase();
  return types.some((name) => name.toLowerCase() === type);
}

/** What an OutBoundNAT policy excepts, in either dialect; placeholders are left out. */
export function exceptionsOf(policy: PolicyView): readonly TextView[] {
  if (!isType(policy, "OutBoundNAT")) return [];
  const { path, value } = settingsOf(policy);
  return ["Exceptions", "ExceptionList"]
    .flatMap((name) => textsOf(fieldOf(value, path, name)))
    .filter(({ text }) => !isPlaceholder(text));
}

/** The prefix of a ROUTE or SDNRoute policy. */
export function routePrefixOf(policy: PolicyView): TextView | undefined {
  if (!isType(policy, "ROUTE", "SDNRoute")) return undefined;
  const { path, value } = settingsOf(policy);
  const prefix = fieldOf(value, path, "DestinationPrefix");
  if (typeof prefix?.value !== "string" || isPlaceholder(prefix.value)) return undefined;
  return { path: prefix.path, text: prefix.value };
}

/** The `ipam` object of a plugin with its place. */
export function ipamOf(plugin: PluginView): { readonly path: LintPath; readonly value: Fields } | undefined {
  const ipam = fieldOf(plugin.value, plugin.path, "ipam");
  return ipam !== undefined && isFields(ipam.value) ? { path: ipam.path, value: ipam.value } : undefined;
}

/** True when the runtime is told that the plugin takes `capability`. */
export function hasCapability(plugin: PluginView, capability: string): boolean {
  const owner = plugin.owner ?? plugin;
  const key = keyOf(owner.value, "capabilities");
  return key !== undefined && fieldsAt(owner.value, key)[capability] === true;
}

/** The name of the network that HNS must have, when the file gives it. */
export function networkNameOf({ name }: CniView): string | undefined {
  return typeof name?.value === "string" && name.value !== "" && !isPlaceholder(name.value)
    ? name.value
    : undefined;
}
