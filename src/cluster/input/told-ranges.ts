/**
 * The ranges of pods and Services that an input says, beside the addresses in use: kubeadm's ClusterConfiguration,
 * flannel's net-conf.json, Calico's Installation, kube-proxy's configuration. The first one counts; that others agree, and
 * that the addresses of Nodes and Services are inside, is what a cluster needs to work.
 */
import { isFields } from "#core/base/json.ts";
import { definedBuilds } from "#control-plane/load/cluster-definitions.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import {
  type Prefix,
  formatPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixCovers,
} from "#core/net/ip.ts";
import { type Evidence, type EvidencePlace, KUBEADM_KEY, mappingIn, textAt } from "./evidence.ts";
import type { Contradiction } from "./network-account.ts";
import { ipv4Pool, isNetConf } from "./network-signs.ts";

/** A setting, and who says it. */
export interface ToldSetting<T> extends EvidencePlace {
  readonly value: T;
}

/** What an input says of the cluster itself. */
export interface ToldCluster {
  /** Of IPv4. */
  readonly pods: ToldSetting<Prefix> | undefined;
  readonly services: ToldSetting<Prefix> | undefined;
  /** Not said, or that of every cluster: undefined. */
  readonly dnsDomain: ToldSetting<string> | undefined;
  /** `v1.31.4`. */
  readonly version: ToldSetting<string> | undefined;
  /** Builds of Windows that node groups have, as nodes of a cluster file name them. */
  readonly builds: readonly string[];
  /** By node: the blocks of its pods, of either family. */
  readonly nodeRanges: ReadonlyMap<string, readonly Prefix[]>;
  readonly contradictions: readonly Contradiction[];
}

/** The range of IPv4 among those behind commas. */
function ipv4Range(place: EvidencePlace, text: string): readonly ToldSetting<Prefix>[] {
  const { source, where } = place;
  return text.split(",").flatMap((each) => {
    const value = parsePrefix(each.trim());
    return value !== undefined && typeof value.address === "number" ? [{ source, where, value }] : [];
  });
}

/** A field of any case, as Go reads net-conf.json. */
function networkOf(text: string): string {
  const found = Object.entries(mappingIn(text) ?? {}).find(([name]) => name.toLowerCase() === "network");
  return typeof found?.[1] === "string" ? found[1] : "";
}

function textsIn(value: unknown): string {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string").join(",") : "";
}

interface ToldRanges {
  readonly pods: readonly ToldSetting<Prefix>[];
  /** That of kube-controller-manager, which gives Nodes their part; Calico has pools beside it. */
  readonly nodes: ToldSetting<Prefix> | undefined;
  readonly services: readonly ToldSetting<Prefix>[];
}

function rangesIn({ configs, installations }: Evidence): ToldRanges {
  const kubeadm = configs.filter(({ key }) => key === KUBEADM_KEY);
  const ofKubeadm = (field: string): readonly ToldSetting<Prefix>[] =>
    kubeadm.flatMap((each) => ipv4Range(each, textAt(mappingIn(each.text), "networking", field)));
  const proxies = configs.filter(({ isFile, text }) => isFile && /kubeproxy\.config\.k8s\.io\//.test(text));
  const ofNodes = [
    ...ofKubeadm("podSubnet"),
    ...configs.filter(isNetConf).flatMap((each) => ipv4Range(each, networkOf(each.text))),
  ];
  return {
    nodes: ofNodes[0],
    pods: [
      ...ofNodes,
      ...installations.flatMap((each) => ipv4Range(each, textAt(ipv4Pool(each.spec), "cidr"))),
      ...proxies
        .flatMap((each) => ipv4Range(each, textAt(mappingIn(each.text), "clusterCIDR")))
        .filter(({ value }) => value.length > 0),
    ],
    services: [
      ...ofKubeadm("serviceSubnet"),
      ...installations.flatMap((each) => ipv4Range(each, textsIn(each.spec["serviceCIDRs"]))),
    ],
  };
}

function contradiction(where: EvidencePlace["where"], message: string): Contradiction {
  return { code: "cluster-ranges-contradict", where, message };
}

/** Ranges of which none holds the other. */
function dissent(what: string, told: readonly ToldSetting<Prefix>[]): readonly Contradiction[] {
  const [first, ...others] = told;
  if (first === undefined) return [];
  return others
    .filter(({ value }) => !prefixCovers(value, first.value) && !prefixCovers(first.value, value))
    .map(({ source, where, value }) =>
      contradiction(
        where,
        `${source} has ${formatPrefix(value)} for ${what}, and ${first.source} has ${formatPrefix(first.value)}`,
      ),
    );
}

/** Objects that lie outside the range that is told. */
function strays(
  objects: readonly KubeObject[],
  { nodes: pods, services: [services] }: ToldRanges,
): readonly Contradiction[] {
  const found: Contradiction[] = [];
  const ofNode = objects.find(
    (object) => object.kind === "Node" && isOutside(pods?.value, object.spec?.podCIDR ?? ""),
  );
  if (ofNode?.kind === "Node" && pods !== undefined)
    found.push(
      contradiction(
        pods.where,
        `${pods.source} has ${formatPrefix(pods.value)} for pods, and node ${ofNode.metadata.name} has ${ofNode.spec?.podCIDR ?? ""}`,
      ),
    );
  const ofService = objects.find(
    (object) => object.kind === "Service" && isOutside(services?.value, object.spec?.clusterIP ?? ""),
  );
  if (ofService?.kind === "Service" && services !== undefined)
    found.push(
      contradiction(
        services.where,
        `${services.source} has ${formatPrefix(services.value)} for Services, and ${ofService.metadata.namespace}/${ofService.metadata.name} has ${ofService.spec?.clusterIP ?? ""}`,
      ),
    );
  return found;
}

/** An address or range of the same family that is not inside; texts that are none are. */
function isOutside(range: Prefix | undefined, text: string): boolean {
  const ip = parseIp(text.split("/")[0] ?? "");
  return range !== undefined && typeof ip === "number" && !prefixContains(range, ip);
}

/** What the input says of ranges, names and version; `objects` are those that have addresses. */
export function toldCluster(evidence: Evidence, objects: readonly KubeObject[]): ToldCluster {
  const ranges = rangesIn(evidence);
  const kubeadm = evidence.configs.find(({ key }) => key === KUBEADM_KEY);
  const fields = kubeadm === undefined ? undefined : mappingIn(kubeadm.text);
  const setting = (value: string): ToldSetting<string> | undefined =>
    kubeadm === undefined || value === ""
      ? undefined
      : { source: kubeadm.source, where: kubeadm.where, value };
  const defined = evidence.definitions.find((each) => each.version !== "");
  const contradictions = [
    ...dissent("pods", ranges.pods),
    ...dissent("Services", ranges.services),
    ...strays(objects, ranges),
  ];
  const isSure = contradictions.length === 0;
  return {
    pods: isSure ? ranges.pods[0] : undefined,
    services: isSure ? ranges.services[0] : undefined,
    dnsDomain: setting(isFields(fields) ? textAt(fields, "networking", "dnsDomain") : ""),
    version:
      setting(isFields(fields) ? textAt(fields, "kubernetesVersion") : "") ??
      (defined === undefined
        ? undefined
        : { source: defined.source, where: defined.where, value: defined.version }),
    builds: [...new Set(evidence.definitions.flatMap(({ fields: each }) => definedBuilds(each)))],
    nodeRanges: new Map(evidence.nodeNetworks.map(({ node, ranges: own }) => [node, own])),
    contradictions,
  };
}
