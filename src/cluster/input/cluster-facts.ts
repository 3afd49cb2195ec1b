/** What a cluster rests on, one by one, each with the object or file that says it, or `assumed`. */
import { listed } from "#core/base/text-layout.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import { equalPrefixes, formatIp, formatPrefix } from "#core/net/ip.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { isMadeByDaemon } from "../file/driver-traits.ts";
import type { ClusterFile, NodeSpec } from "../file/cluster-file.ts";
import type { WrittenFields } from "../file/parse-cluster-file.ts";
import type { ClusterFact } from "../session/session.ts";
import { ENGINE_TITLES } from "../policies/enforcement.ts";
import { planApiServer } from "../services/api-server.ts";
import { type EvidencePlace, placeOfObject } from "./evidence.ts";
import { type RecognisedNetwork, recogniseNetwork } from "./recognise-network.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

const ASSUMED: EvidencePlace = { source: "assumed", where: undefined };

function fact(
  name: ClusterFact["name"],
  value: string,
  { source, where }: EvidencePlace = ASSUMED,
): ClusterFact {
  return { name, value, source, ...(where === undefined ? {} : { where }) };
}

function buildText({ build }: NodeSpec): string {
  if (build === undefined) return "";
  const { profile, revision, named } = build;
  const text = revision === undefined ? profile.name : `${profile.name}.${revision}`;
  return named === undefined ? text : `${text} in place of build ${named}, which has no profile,`;
}

/** A fact for each build of Windows and each place that says so. */
function buildFacts(file: ClusterFile, placeOf: (node: NodeSpec) => EvidencePlace): readonly ClusterFact[] {
  const groups = new Map<
    string,
    { readonly place: EvidencePlace; readonly text: string; readonly names: string[] }
  >();
  for (const node of file.nodes) {
    if (node.build === undefined) continue;
    const [text, place] = [buildText(node), placeOf(node)];
    const isAssumed = place.source === ASSUMED.source;
    const key = `${text} ${String(isAssumed)}`;
    const group = groups.get(key) ?? { place, text, names: [] };
    groups.set(key, group);
    group.names.push(node.name);
  }
  return [...groups.values()].map(({ place, text, names }) =>
    fact("build", `${text} on ${listed(names)}`, place),
  );
}

function versionText({ kubernetes: { version } }: ClusterFile): string {
  const { major, minor, patch } = version;
  return patch === undefined ? `${major}.${minor}` : `${major}.${minor}.${patch}`;
}

function compatText({ nodes }: ClusterFile): string {
  return [...new Set(nodes.map(({ compat }) => compat))].toSorted().join(" and ");
}

const COMMAND_LINE: EvidencePlace = { source: "--as-documented", where: undefined };

/** The edition of the Kubernetes page that all Windows nodes run as; none where they run as their builds. */
function limitsFact({ asDocumented }: ClusterFile, place: EvidencePlace): readonly ClusterFact[] {
  if (asDocumented === undefined) return [];
  const value = asDocumented === "2017" ? WORDS.limitsOfArticle : WORDS.limitsAsDocumented({ asDocumented });
  return [fact("limits", value, place)];
}

function policyFact(
  { policy, network }: ClusterFile,
  policies: RecognisedNetwork["policies"],
  place = ASSUMED,
): ClusterFact {
  const own = policies ?? place;
  if (policy.engine === "none") return fact("policy engine", "none", place);
  if (policy.engine !== undefined) {
    const value = WORDS.policyEngineRuns({ engine: ENGINE_TITLES[policy.engine] });
    return fact("policy engine", value, place === ASSUMED ? own : place);
  }
  if (network.plugin === "ovn-kubernetes")
    return fact("policy engine", "OVN's ACLs, for pods on Windows nodes", policies ?? ASSUMED);
  const title = "NetworkPolicies are not enforced here";
  return policies === undefined
    ? fact("policy engine", `none is seen; ${title}`)
    : fact("policy engine", `${policies.name}; ${title}`, policies);
}

/** With the engine that the objects bring: it is found when the cluster is read, and what was said before may not stay. */
export function withEngineOfObjects(
  facts: readonly ClusterFact[],
  { policy: { engine } }: ClusterFile,
): readonly ClusterFact[] {
  if (engine === undefined || engine === "none") return facts;
  const value = WORDS.policyEngineRuns({ engine: ENGINE_TITLES[engine] });
  return facts.map((each) => (each.name === "policy engine" ? { ...each, value } : each));
}

function driverText(file: ClusterFile, driver: string): string {
  const own = file.network.driver;
  return own === driver ? own : `${driver}, carried out as ${own}`;
}

function networkFacts(
  file: ClusterFile,
  { account, at = ASSUMED }: RecognisedNetwork,
): readonly ClusterFact[] {
  const { network } = file;
  if (account === undefined)
    return [
      fact("network plugin", network.plugin),
      fact("network mode", "pod range per node"),
      fact("network driver", network.driver),
      fact("routes", network.routes === "static" ? "static, in each node" : network.routes),
    ];
  const { plugin, mode, isModeAssumed, driver, routes, vxlan } = account;
  return [
    fact("network plugin", plugin, at),
    fact("network mode", mode, isModeAssumed ? ASSUMED : at),
    fact("network driver", driverText(file, driver), isModeAssumed ? ASSUMED : at),
    fact("routes", routes, isModeAssumed ? ASSUMED : at),
    ...(vxlan === undefined ? [] : [fact("VXLAN", `VNI ${vxlan.vni}; port ${vxlan.port}`, vxlan.at)]),
  ];
}

function nodesByName(
  objects: readonly LoadedObject[],
): ReadonlyMap<string, EvidencePlace & { readonly node: Node }> {
  return new Map(
    objects.flatMap(({ object, origin }) => {
      if (object.kind !== "Node") return [];
      const { name } = object.metadata;
      const where = origin && { file: origin.file, line: origin.line, column: origin.column, field: "" };
      return [[name, { source: `node/${name}`, where, node: object }]];
    }),
  );
}

/** Where the API server is, and whether the input has its Service. */
function apiServerFact(file: ClusterFile, objects: readonly LoadedObject[]): ClusterFact {
  const { places, toldBy, isServiceBrought, lack } = planApiServer(
    file,
    objects.map(({ object }) => object),
  );
  const by = objects.find(({ object }) => object === toldBy);
  const at = by === undefined ? ASSUMED : placeOfObject(by);
  if (lack !== undefined) return fact("API server", `none: ${lack}`, at);
  const found = places.map(({ address, port, node }) => {
    const host = `${formatIp(address)}:${port}`;
    return node === undefined ? host : `${host} on ${node}`;
  });
  const added = isServiceBrought ? "" : "; Service kubernetes is added";
  return fact("API server", `${listed(found)}${added}`, at);
}

/** What files and objects say of ranges and names, where the cluster has it. */
function toldFacts({ network, dns }: ClusterFile, { told }: RecognisedNetwork): readonly ClusterFact[] {
  const { pods, services, dnsDomain } = told;
  return [
    ...(pods !== undefined && equalPrefixes(pods.value, network.clusterCIDR)
      ? [fact("pod range", formatPrefix(pods.value), pods)]
      : []),
    ...(services !== undefined && equalPrefixes(services.value, network.serviceCIDR)
      ? [fact("service range", formatPrefix(services.value), services)]
      : []),
    ...(dnsDomain !== undefined && dnsDomain.value === dns.domain
      ? [fact("DNS domain", dns.domain, dnsDomain)]
      : []),
  ];
}

/** Of a cluster that its objects describe. */
export function factsOfObjects(
  file: ClusterFile,
  objects: readonly LoadedObject[],
  recognised: RecognisedNetwork,
): readonly ClusterFact[] {
  const nodes = nodesByName(objects);
  const reported = [...nodes.values()].find(({ node: { metadata, status } }) => {
    const isHere = file.nodes.some(
      ({ name, os }) =>
        name === metadata.name && (os === "windows" || file.nodes.every((each) => each.os === "linux")),
    );
    return isHere && (status?.nodeInfo?.kubeletVersion ?? status?.nodeInfo?.kubeProxyVersion ?? "") !== "";
  });
  const { enableDSR } = recognised.kubeProxy;
  return [
    ...networkFacts(file, recognised),
    ...toldFacts(file, recognised),
    fact("DSR", file.kubeProxy.enableDSR ? "on" : "off", enableDSR),
    ...buildFacts(file, ({ name }) => {
      const found = nodes.get(name);
      const labels = found?.node.metadata.labels ?? {};
      const kernel =
        found?.node.status?.nodeInfo?.kernelVersion ?? labels["node.kubernetes.io/windows-build"];
      return found === undefined || kernel === undefined || parseProfile(kernel) === undefined
        ? ASSUMED
        : found;
    }),
    fact("Kubernetes version", versionText(file), reported ?? recognised.told.version),
    apiServerFact(file, objects),
    policyFact(file, recognised.policies),
    fact("behaviour", compatText(file)),
    ...limitsFact(file, COMMAND_LINE),
  ];
}

/** Of a cluster file: what it says, and what it leaves to its defaults. */
export function factsOfFile(
  file: ClusterFile,
  written: WrittenFields,
  objects: readonly LoadedObject[],
): readonly ClusterFact[] {
  const { network, fileName, nodes } = file;
  const at = (...paths: readonly string[]): EvidencePlace => {
    const path = paths.find((each) => written[each] !== undefined) ?? "";
    const place = written[path];
    if (place === undefined) return ASSUMED;
    return {
      source: fileName,
      where: { file: fileName, line: place.line, column: place.column, field: path },
    };
  };
  const { backend, shape, routes } = network;
  const routesText = {
    static: "static, in each node",
    fabric: "by the network around the nodes",
    flannel: "by flanneld",
    "hybrid-overlay": "through VXLAN tunnels, by hybrid-overlay-node and br-ext",
    cloud: `${network.plugin === "flannel" ? "by flanneld, and " : ""}by the Routes controller of the cloud provider`,
    none: "none",
  }[routes];
  return [
    fact("network plugin", network.plugin, at("network.plugin")),
    fact("network mode", backend ?? shape, at("network.backend", "network.shape")),
    fact("network driver", network.driver, at("network.driver", "network.backend")),
    fact("routes", routesText, at("network.routes", ...(isMadeByDaemon(file) ? ["network.plugin"] : []))),
    ...(network.driver === "Overlay"
      ? [
          fact(
            "VXLAN",
            `VNI ${network.vni}; port ${network.vxlanPort}`,
            at("network.vni", "network.vxlanPort"),
          ),
        ]
      : []),
    fact("DSR", file.kubeProxy.enableDSR ? "on" : "off", at("kubeProxy.enableDSR")),
    ...buildFacts(file, (node) => at(`nodes[${nodes.indexOf(node)}].build`)),
    fact("Kubernetes version", versionText(file), at("kubernetes.version")),
    apiServerFact(file, objects),
    policyFact(file, recogniseNetwork({ objects, files: [], configurations: [] }).policies, at("policy")),
    fact("behaviour", compatText(file), at(...nodes.map((_, index) => `nodes[${index}].compat`))),
    ...limitsFact(file, written["asDocumented"] === undefined ? COMMAND_LINE : at("asDocumented")),
  ];
}
