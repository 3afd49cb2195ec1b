/** flannel as an input shows it: its backend, VNI and port on both systems, and what of that cannot work on Windows. */
import { type JsonObject, type JsonValue, isFields } from "#core/base/json.ts";
import { formatPrefix, parsePrefix } from "#core/net/ip.ts";
import type { NodeOs } from "../file/cluster-file.ts";
import { type CniEvidence, type Evidence, type EvidencePlace, mappingIn } from "./evidence.ts";
import type { Contradiction, NetworkAccount } from "./network-account.ts";
import { flannelBackend, isNetConf } from "./network-signs.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

/** flanneld's own, where net-conf.json says nothing (control-planes.md §1.3, §1.8). */
const DEFAULTS: Readonly<Record<NodeOs, { readonly vni: number; readonly port: number }>> = {
  windows: { vni: 4_096, port: 4_789 },
  linux: { vni: 1, port: 8_472 },
};

interface Known<T> extends EvidencePlace {
  readonly value: T;
}

/** The VNI that the nodes of a system publish, by how many nodes. */
function publishedVni({ nodes }: Evidence, os: NodeOs): Known<number> | undefined {
  for (const node of nodes) {
    if (node.os !== os) continue;
    const vni = mappingIn(node.annotations["flannel.alpha.coreos.com/backend-data"] ?? "")?.["VNI"];
    if (typeof vni === "number") return { source: node.source, where: node.where, value: vni };
  }
  return undefined;
}

function backendOf({ configs }: Evidence): Known<Readonly<Record<string, unknown>>> | undefined {
  for (const config of configs) {
    const { text, source, where } = config;
    const value = isNetConf(config) ? flannelBackend(text) : undefined;
    if (value !== undefined) return { source, where, value };
  }
  return undefined;
}

function numberIn(
  backend: Known<Readonly<Record<string, unknown>>> | undefined,
  field: string,
): number | undefined {
  const value = backend?.value[field];
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}

/** The configuration of Windows nodes: that which delegates to a plugin of Windows. */
export function windowsConfiguration({ cni }: Evidence): CniEvidence | undefined {
  return cni.find(({ type, delegate }) => type === "flannel" && /^(?:win-|sdn)/.test(delegate));
}

function fieldIn(value: unknown, name: string): unknown {
  if (!isFields(value)) return undefined;
  return Object.entries(value).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}

/** OutBoundNAT as the delegate's policies have it; undefined: they do not say it in a way that is understood. */
function outboundNatOf(configuration: CniEvidence | undefined): JsonObject | undefined {
  const policies = fieldIn(fieldIn(configuration?.plugin, "delegate"), "policies");
  if (!Array.isArray(policies)) return undefined;
  const values = policies.map((policy: unknown) => fieldIn(policy, "value"));
  const nat = values.find((value) => String(fieldIn(value, "type")).toLowerCase() === "outboundnat");
  if (nat === undefined) return undefined;
  const list = fieldIn(fieldIn(nat, "settings"), "exceptions") ?? fieldIn(nat, "exceptionList");
  if (!Array.isArray(list)) return undefined;
  const ranges = list.flatMap((text: unknown) => (typeof text === "string" ? (parsePrefix(text) ?? []) : []));
  const isUnderstood =
    ranges.length === list.length && ranges.every(({ address }) => typeof address === "number");
  return isUnderstood ? { exceptions: ranges.map(formatPrefix) } : undefined;
}

/** What Windows and Linux have, where it differs: `1 on Linux, 4096 on Windows`. */
function both(linux: number, windows: number): string {
  return linux === windows ? String(windows) : `${linux} on Linux, ${windows} on Windows`;
}

export interface FlannelTunnels {
  readonly vni: Readonly<Record<NodeOs, number>>;
  readonly port: Readonly<Record<NodeOs, number>>;
  readonly at: EvidencePlace;
  readonly contradictions: readonly Contradiction[];
}

function contradictionsOf(
  evidence: Evidence,
  backend: Known<Readonly<Record<string, unknown>>> | undefined,
  tunnels: Pick<FlannelTunnels, "vni" | "port">,
): readonly Contradiction[] {
  const found: Contradiction[] = [];
  const { vni, port } = tunnels;
  const [given, givenPort] = [numberIn(backend, "vni"), numberIn(backend, "port")];
  if (backend !== undefined && given !== undefined && given < DEFAULTS.windows.vni)
    found.push({
      code: "flannel-vni-below-4096",
      where: backend.where,
      message: WORDS.vniBelowMinimum({ source: backend.source, given }),
    });
  if (backend !== undefined && givenPort !== undefined && givenPort !== DEFAULTS.windows.port)
    found.push({
      code: "flannel-vxlan-port-not-4789",
      where: backend.where,
      message: `${backend.source}: net-conf.json has port ${givenPort}, and flanneld on Windows takes 4789 alone`,
    });
  const hasLinux = evidence.nodes.length === 0 || evidence.nodes.some(({ os }) => os === "linux");
  if (hasLinux && (vni.linux !== vni.windows || port.linux !== port.windows)) {
    const place = publishedVni(evidence, "linux") ?? backend;
    found.push({
      code: "vxlan-identifiers-differ",
      where: place?.where,
      message: WORDS.vxlanIdentifiersDiffer({
        linuxVni: vni.linux,
        linuxPort: port.linux,
        windowsVni: vni.windows,
        windowsPort: port.windows,
      }),
    });
  }
  return found;
}

/** Without any node the cluster gets some of Windows. */
function hasWindows({ nodes }: Evidence): boolean {
  return nodes.length === 0 || nodes.some(({ os }) => os === "windows");
}

/** VNI and port on both systems: what nodes publish counts before what net-conf.json asks for. */
export function flannelTunnels(evidence: Evidence): FlannelTunnels {
  const backend = backendOf(evidence);
  const [windows, linux] = [publishedVni(evidence, "windows"), publishedVni(evidence, "linux")];
  const given = numberIn(backend, "vni");
  const at = windows ?? backend ?? { source: "assumed", where: undefined };
  if (!hasWindows(evidence)) {
    // Nobody has to agree with Windows: the machines take what the Linux nodes have.
    const value = linux?.value ?? given ?? DEFAULTS.linux.vni;
    const own = numberIn(backend, "port") ?? DEFAULTS.linux.port;
    const place = linux ?? at;
    return {
      vni: { windows: value, linux: value },
      port: { windows: own, linux: own },
      at: place,
      contradictions: [],
    };
  }
  const ofWindows = windows?.value ?? given ?? DEFAULTS.windows.vni;
  // Without net-conf.json nobody says what Linux has, unless its nodes do: the same is taken then.
  const ofLinux = backend === undefined ? ofWindows : (given ?? DEFAULTS.linux.vni);
  const vni = { windows: ofWindows, linux: linux?.value ?? ofLinux };
  const isPortTold = backend !== undefined || vni.linux !== vni.windows;
  const linuxPort = isPortTold ? (numberIn(backend, "port") ?? DEFAULTS.linux.port) : DEFAULTS.windows.port;
  const known = { windows: DEFAULTS.windows.port, linux: linuxPort };
  return { vni, port: known, at, contradictions: contradictionsOf(evidence, backend, { vni, port: known }) };
}

function optionalName(name: unknown): { readonly [field: string]: JsonValue } {
  return typeof name === "string" && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name) ? { name } : {};
}

/** What of flannel's settings a cluster file can say. */
export function flannelAccount(mode: string | undefined, evidence: Evidence): NetworkAccount {
  const backend = backendOf(evidence);
  const configuration = windowsConfiguration(evidence);
  const kind = mode ?? "vxlan";
  const outboundNAT = outboundNatOf(configuration);
  const name = configuration?.network === "" ? undefined : configuration?.network;
  const common = {
    ...optionalName(name ?? backend?.value["name"]),
    ...(outboundNAT === undefined ? {} : { outboundNAT }),
  };
  const isAssumed = mode === undefined;
  if (kind === "host-gw")
    return {
      plugin: "flannel (delegates to win-bridge)",
      mode: kind,
      isModeAssumed: isAssumed,
      driver: "L2Bridge",
      routes: "by flanneld, in each node",
      fields: { plugin: "flannel", backend: "host-gw", ...common },
      contradictions: [],
    };
  if (kind !== "vxlan")
    return {
      plugin: "flannel",
      mode: kind,
      isModeAssumed: false,
      driver: "L2Bridge",
      routes: `by flannel's backend ${kind}`,
      fields: {},
      contradictions: [],
      lack: {
        code: "flannel-backend-not-for-windows",
        message: WORDS.flannelBackendUnsupported({ kind }),
      },
    };
  const tunnels = flannelTunnels(evidence);
  const { vni, port } = tunnels;
  return {
    plugin: "flannel (delegates to win-overlay)",
    mode: kind,
    isModeAssumed: isAssumed,
    driver: "Overlay",
    routes: "by flanneld, through VXLAN tunnels",
    vxlan: { vni: both(vni.linux, vni.windows), port: both(port.linux, port.windows), at: tunnels.at },
    fields: { plugin: "flannel", backend: "vxlan", vni: vni.windows, ...common },
    contradictions: tunnels.contradictions,
  };
}
