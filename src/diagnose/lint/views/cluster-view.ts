/** A cluster file as rules look at it: what stands in it of files that an operator of a real cluster would write. */
import { type Ip, parseIp } from "#core/net/ip.ts";
import { type PluginView, fieldOf } from "./cni-view.ts";
import type { LintDocument } from "../input/document.ts";
import { type LintPath, fieldsAt, listAt, textAt, valueAt } from "../input/fields.ts";
import { isFields } from "#core/base/json.ts";
import type { FlannelView } from "./flannel-view.ts";

/** What a cluster file has that does not say so (docs/reference/cluster-file.md). */
const DEFAULTS = {
  clusterCIDR: "10.244.0.0/16",
  serviceCIDR: "10.96.0.0/12",
  outside: "203.0.113.10",
} as const;

export function isFlannelCluster({ kind, value }: LintDocument): boolean {
  return kind === "cluster" && textAt(value, "network", "plugin") === "flannel";
}

/** The range of a cluster with flannel, given or not. */
export function flannelRange(document: LintDocument, name: "clusterCIDR" | "serviceCIDR"): unknown {
  return (
    valueAt(document.value, "network", name) ?? (isFlannelCluster(document) ? DEFAULTS[name] : undefined)
  );
}

/** `network` as flannel's net-conf. */
export function flannelOfCluster({ value }: LintDocument): FlannelView {
  const path: LintPath = ["network"];
  const network = fieldsAt(value, ...path);
  return {
    network: fieldOf(network, path, "clusterCIDR"),
    backend: { path, value: network },
    type: textAt(network, "backend") ?? "vxlan",
    option: (name) => fieldOf(network, path, name),
  };
}

/** The plugin that attaches the pods of Windows nodes. */
export function pluginTypeOf(value: unknown): string {
  const plugin = textAt(value, "network", "plugin");
  if (plugin === "azure-vnet") return plugin;
  const isOverlay =
    plugin === "flannel"
      ? textAt(value, "network", "backend") !== "host-gw"
      : plugin === "win-overlay" || textAt(value, "network", "driver") === "Overlay";
  return isOverlay ? "win-overlay" : "win-bridge";
}

/** The plugin that attaches pods, with the policy that `network.outboundNAT` stands for; none when nobody wrote a list. */
export function pluginsOfCluster(document: LintDocument): readonly PluginView[] {
  const { value } = document;
  const path: LintPath = ["network", "outboundNAT"];
  const body = fieldsAt(value, ...path);
  if (!Array.isArray(body["exceptions"]) || body["enabled"] === false) return [];
  const plugin: PluginView = {
    path,
    value: body,
    type: pluginTypeOf(value),
    flannel: undefined,
    owner: undefined,
    policies: [
      { path, name: "EndpointPolicy", bodyPath: path, body, type: "OutBoundNAT", hasSettings: false },
    ],
    dialect: undefined,
  };
  return [isFlannelCluster(document) ? { ...plugin, flannel: { ...plugin, type: "flannel" } } : plugin];
}

/** The addresses of the hosts outside. */
export function outsideAddresses({ value }: LintDocument): readonly Ip[] {
  if (valueAt(value, "outside") === undefined) return [parseIp(DEFAULTS.outside)].flatMap((ip) => ip ?? []);
  return listAt(value, "outside").flatMap((host) => parseIp(textAt(host, "address") ?? "") ?? []);
}

/** The address in a node's `sourceVip.json`, with its place and the range of the node's pods. */
export interface KeptSourceVip {
  readonly path: LintPath;
  readonly address: Ip;
  readonly podCIDR: string | undefined;
}

export function keptSourceVips({ value }: LintDocument): readonly KeptSourceVip[] {
  return listAt(value, "nodes").flatMap((node, index) =>
    Object.entries(fieldsAt(node, "files")).flatMap(([name, text]) => {
      if (!/(?:^|[\\/])sourcevip\.json$/i.test(name) || typeof text !== "string") return [];
      const address = addressIn(text);
      const path: LintPath = ["nodes", index, "files", name];
      return address === undefined ? [] : { path, address, podCIDR: textAt(node, "podCIDR") };
    }),
  );
}

/** What host-local printed, in CNI 0.2.0. */
function addressIn(text: string): Ip | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const ip = isFields(value) ? textAt(value, "ip4", "ip") : undefined;
    return parseIp(ip?.split("/")[0] ?? "");
  } catch {
    // A file of somebody else: kube-proxy's start script says what is wrong with it.
    return undefined;
  }
}

/** Nodes of Windows whose machines are called otherwise than the Nodes. */
export function misnamedNodes({ value }: LintDocument): readonly string[] {
  return listAt(value, "nodes").flatMap((node) => {
    const name = textAt(node, "name");
    const hostname = textAt(node, "hostname");
    return name !== undefined && hostname !== undefined && hostname.toLowerCase() !== name ? [name] : [];
  });
}
