/** What is otherwise on the node after a step: two looks at everything that the scripts touch, compared. */
import { plural } from "#core/base/text-layout.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { subnetsOf } from "#contracts/hcn/documents/network.ts";
import { listEndpoints, listLoadBalancers, listNetworks } from "#contracts/hcn/operations.ts";
import { formatRoute } from "#dataplane/host/ip/route-table.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { formatIp } from "#core/net/ip.ts";
import type { NodeFiles } from "../flannel/node-files.ts";
import { CHANGE_KINDS, type Change, type ChangeKind } from "./report.ts";

/** By kind and name: what it is. */
export type Look = ReadonlyMap<string, string>;

/** A Node object, as far as flannel concerns it. */
export interface NodeLook {
  readonly name: string;
  /** `podCIDR 10.244.1.0/24`. */
  readonly range: string;
  /** Annotations and a condition. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Everything that can be looked at. */
export interface Lookout {
  /** HNS itself, whatever the scripts get to hear of it. */
  readonly hns: HcnClient;
  readonly root: Compartment;
  readonly files: NodeFiles;
  reservations(): Promise<readonly string[]>;
  /** Undefined: there is no Node object. */
  node(): Promise<NodeLook | undefined>;
  readonly firewallRules: ReadonlySet<string>;
}

const SEPARATOR = "\u0000";

function keyOf(kind: ChangeKind, name: string): string {
  return `${kind}${SEPARATOR}${name}`;
}

/** A path as Windows writes it: flanneld and CNI plugins name the root of the drive with a slash. */
export function windowsPath(path: string): string {
  return path.startsWith("/") ? `C:${path.replaceAll("/", "\\")}` : path;
}

async function lookAtHns(hns: HcnClient, look: Map<string, string>): Promise<void> {
  for (const network of await listNetworks(hns)) {
    const subnets = subnetsOf(network).map(({ IpAddressPrefix = "" }) => IpAddressPrefix);
    const policies = (network.Policies ?? []).map(({ Type, Settings }) => {
      const value = Object.values(Settings ?? {}).filter((each) => typeof each === "string");
      return value.length === 0 ? Type : `${Type} ${value.join(" ")}`;
    });
    look.set(keyOf("network", network.Name ?? ""), [network.Type, ...subnets, ...policies].join(", "));
  }
  for (const endpoint of await listEndpoints(hns)) {
    const where = (endpoint.IpConfigurations ?? []).map(({ IpAddress = "" }) => IpAddress).join(", ");
    const isRemote = (endpoint.Flags ?? 0) % 2 === 1;
    look.set(keyOf("endpoint", `${endpoint.Name ?? ""} ${where}`.trim()), isRemote ? "remote" : "local");
  }
  for (const balancer of await listLoadBalancers(hns)) {
    const vips = balancer.FrontendVIPs ?? [];
    const ports = (balancer.PortMappings ?? []).map(({ ExternalPort = 0, InternalPort = 0 }) => {
      return `${ExternalPort} → ${InternalPort}`;
    });
    const count = balancer.HostComputeEndpoints?.length ?? 0;
    const name = `${vips.length === 0 ? "node port" : vips.join(", ")} ${ports.join(", ")} ${balancer.ID}`;
    look.set(keyOf("policy-list", name), plural(count, "back end"));
  }
}

export async function lookAt(lookout: Lookout): Promise<Look> {
  const look = new Map<string, string>();
  for (const { path, text } of lookout.files.list())
    look.set(keyOf("file", windowsPath(path)), `${text.length} characters ${text}`);
  for (const reservation of await lookout.reservations()) look.set(keyOf("reservation", reservation), "");
  await lookAtHns(lookout.hns, look);
  for (const { name, addresses, isForwarding } of lookout.root.listInterfaces()) {
    const texts = addresses.map(({ ip, length }) => `${formatIp(ip)}/${length}`);
    const detail = [...texts, ...(isForwarding ? ["forwarding"] : [])].join(", ");
    look.set(keyOf("adapter", name), detail || "without an address");
  }
  for (const route of lookout.root.listRoutes())
    if (route.nextHop !== undefined) look.set(keyOf("route", formatRoute(route)), "");
  for (const rule of lookout.firewallRules) look.set(keyOf("firewall-rule", rule), "");
  const node = await lookout.node();
  if (node === undefined) return look;
  look.set(keyOf("node", node.name), node.range);
  for (const [name, value] of Object.entries(node.fields)) look.set(keyOf("node-field", name), value);
  return look;
}

function changeOf(key: string, before: string | undefined, after: string | undefined): Change {
  const [kind = "", name = ""] = key.split(SEPARATOR);
  const text = after ?? before ?? "";
  // The text of a file stands in the report once, at its end.
  const detail = kind === "file" ? text.replace(/ characters [^]*$/, " characters") : text;
  const change = before === undefined ? "created" : after === undefined ? "deleted" : "changed";
  return { kind: kind as ChangeKind, name, change, detail };
}

/** By kind and name. */
export function compareLooks(before: Look, after: Look): readonly Change[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  const rank = (key: string): number => CHANGE_KINDS.indexOf(key.split(SEPARATOR)[0] as ChangeKind);
  return keys
    .filter((key) => before.get(key) !== after.get(key))
    .toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((key) => changeOf(key, before.get(key), after.get(key)));
}
