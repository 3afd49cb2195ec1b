/**
 * Which network a cluster has, read off its objects and the CNI configuration beside them: what a cluster file can say of
 * it, what contradicts, and which flows cannot be answered because the network is not carried out.
 */
import type { JsonObject } from "#core/base/json.ts";
import { gateAt } from "#programs/kube-proxy/configuration/feature-gates.ts";
import { KUBERNETES_MINOR_MAX } from "../file/description.ts";
import type { FlowLimit } from "../session/flow-limit.ts";
import { parseReportedVersion } from "../session/node-object.ts";
import type { InputText } from "../session/session.ts";
import {
  type Evidence,
  type EvidenceInput,
  type EvidencePlace,
  type InstallationEvidence,
  collectEvidence,
  textAt,
} from "./evidence.ts";
import { signsOfDefinitions } from "./cluster-definitions.ts";
import { type KubeProxySettings, kubeProxySettings } from "./kube-proxy-settings.ts";
import { accountOf } from "./known-networks.ts";
import type { Contradiction, NetworkAccount } from "./network-account.ts";
import { limitOfContradiction, limitOfLack } from "./network-limits.ts";
import { type NetworkId, type Sign, ipv4Pool, networkSigns, policyEngine } from "./network-signs.ts";
import { type ToldCluster, toldCluster } from "./told-ranges.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

export interface RecognisedNetwork {
  /** Undefined: nothing of the input shows a network. */
  readonly account: NetworkAccount | undefined;
  /** What shows it; undefined with the account. */
  readonly at: EvidencePlace | undefined;
  readonly kubeProxy: KubeProxySettings;
  readonly policies: ReturnType<typeof policyEngine>;
  /** Ranges, names and version, where a file or object says them. */
  readonly told: ToldCluster;
  /** `network` of a cluster file, without ranges. */
  readonly fields: JsonObject;
  readonly contradictions: readonly Contradiction[];
  readonly limits: readonly FlowLimit[];
}

/** What networks are called in messages. */
const TITLES: Readonly<Record<NetworkId, string>> = {
  flannel: "flannel",
  calico: "Calico",
  "azure-vnet": "azure-vnet",
  "vpc-bridge": "the VPC CNI",
  gke: "GKE's win-bridge",
  antrea: "Antrea",
  "ovn-hybrid-overlay": "OVN-Kubernetes",
  cilium: "Cilium",
  "win-bridge": "win-bridge",
  "win-overlay": "win-overlay",
  "linux-only": "a network without a Windows part",
  unknown: "another CNI plugin",
};

/** Networks of which nodes and configurations can show two modes that exclude each other. */
const ONE_MODE: ReadonlySet<NetworkId> = new Set(["flannel", "calico"]);

/** Signs of one network, those that say most first. */
interface Candidate {
  readonly network: NetworkId;
  readonly first: Sign;
  readonly signs: readonly Sign[];
}

/** Files that the user names count before everything else, then what installers and agents leave, then where it runs. */
function candidatesOf(signs: readonly Sign[], files: ReadonlySet<string>): readonly Candidate[] {
  const named = signs.filter(({ source }) => files.has(source));
  const certain = signs.filter(({ isHint }) => !isHint);
  const counted = named.length > 0 ? named : certain.length > 0 ? certain : signs;
  const networks = [...new Set(counted.map(({ network }) => network))];
  return networks.flatMap((network) => {
    const [first] = counted.filter((each) => each.network === network);
    if (first === undefined) return [];
    return [{ network, first, signs: signs.filter((each) => each.network === network) }];
  });
}

function contradictionsOf(chosen: Candidate, others: readonly Candidate[]): readonly Contradiction[] {
  const title = TITLES[chosen.network];
  const networks = others.map(
    ({ network, first }): Contradiction => ({
      code: "network-signs-contradict",
      where: first.where,
      message: WORDS.podNetworkContradiction({
        source: first.source,
        network: TITLES[network],
        strongerSource: chosen.first.source,
        strongerNetwork: title,
      }),
    }),
  );
  if (!ONE_MODE.has(chosen.network)) return networks;
  const told = chosen.signs.find(({ mode }) => mode !== undefined);
  const dissent = chosen.signs.find(({ mode }) => mode !== undefined && mode !== told?.mode);
  if (told === undefined || dissent === undefined) return networks;
  return [
    ...networks,
    {
      code: "network-signs-contradict",
      where: dissent.where,
      message: WORDS.networkModeContradiction({
        source: dissent.source,
        title,
        mode: dissent.mode ?? "",
        strongerSource: told.source,
        strongerMode: told.mode ?? "",
      }),
    },
  ];
}

/** kube-proxy ends where it is told to use DSR and its gate is off: up to 1.32 it is, unless somebody turns it on. */
function dsrContradiction({ nodes }: Evidence, { enableDSR }: KubeProxySettings): readonly Contradiction[] {
  if (enableDSR?.value !== true || enableDSR.gate === true) return [];
  const node = nodes.find(({ os, version }) => os === "windows" && version !== "");
  const minor = parseReportedVersion(node?.version ?? "")?.minor ?? KUBERNETES_MINOR_MAX;
  const isOn = enableDSR.gate ?? gateAt("WinDSR", minor)?.isOnByDefault ?? true;
  if (isOn) return [];
  const message = WORDS.dsrWithGateOff({ source: enableDSR.source, minor });
  return [{ code: "kube-proxy-dsr-without-gate", where: enableDSR.where, message }];
}

/** A configuration that the user names, and a start of kube-proxy that does not read it. */
function proxyContradictions({ enableDSR, ofFiles }: KubeProxySettings): readonly Contradiction[] {
  const other = ofFiles.find(({ value }) => enableDSR !== undefined && value !== enableDSR.value);
  if (other === undefined || enableDSR === undefined) return [];
  const word = (isOn: boolean): string => (isOn ? "on" : "off");
  const [said, done] = [word(other.value), word(enableDSR.value)];
  const message = WORDS.dsrContradiction({
    source: other.source,
    said,
    startScript: enableDSR.source,
    started: done,
  });
  return [{ code: "kube-proxy-settings-contradict", where: other.where, message }];
}

/** Windows nodes have Calico of another installer: its manifests, or a service of Windows. */
function isInstalledOtherwise({ nodes, containers }: Evidence): boolean {
  return (
    containers.some(({ owner, isForWindows }) => isForWindows && owner.startsWith("calico-node")) ||
    nodes.some(
      ({ os, annotations }) =>
        os === "windows" && Object.keys(annotations).some((name) => name.startsWith("projectcalico.org/")),
    )
  );
}

function lackOf({ source, spec }: InstallationEvidence): string | undefined {
  const encapsulation = textAt(ipv4Pool(spec), "encapsulation");
  if (encapsulation !== "" && encapsulation !== "VXLAN" && encapsulation !== "None")
    return WORDS.calicoEncapsulationUnsupported({ source, encapsulation });
  const services = spec["serviceCIDRs"];
  return Array.isArray(services) && services.length > 0
    ? undefined
    : WORDS.calicoServiceCIDRsMissing({ source });
}

/**
 * What of an `Installation` Calico's operator does not carry out on Windows (tigera/operator,
 * pkg/controller/installation/validation.go). Nothing without Windows nodes, and where it gives pods no network.
 */
function installationContradictions(evidence: Evidence): readonly Contradiction[] {
  const [installation] = evidence.installations;
  const hasWindows = evidence.nodes.length === 0 || evidence.nodes.some(({ os }) => os === "windows");
  if (installation === undefined || !hasWindows) return [];
  const { source, spec, where } = installation;
  const plugin = textAt(spec, "cni", "type");
  if (plugin !== "" && plugin !== "Calico") return [];
  const isOn = textAt(spec, "calicoNetwork", "windowsDataplane") === "HNS";
  if (!isOn && isInstalledOtherwise(evidence)) return [];
  const message = isOn ? lackOf(installation) : WORDS.calicoDataplaneNotHns({ source });
  return message === undefined ? [] : [{ code: "calico-installation-not-for-windows", where, message }];
}

/** The network's name that kube-proxy is told, where nothing else says one. */
function withName(fields: JsonObject, { networkName }: KubeProxySettings): JsonObject {
  const isNameable = Object.keys(fields).length > 0 && fields["name"] === undefined;
  return isNameable && networkName !== undefined ? { ...fields, name: networkName.value } : fields;
}

interface Choice {
  readonly account: NetworkAccount;
  readonly at: EvidencePlace;
  readonly contradictions: readonly Contradiction[];
}

function choose(evidence: Evidence, files: readonly InputText[]): Choice | undefined {
  const signs = [...networkSigns(evidence), ...signsOfDefinitions(evidence)];
  const [chosen, ...others] = candidatesOf(signs, new Set(files.map(({ name }) => name)));
  if (chosen === undefined) return undefined;
  const mode = chosen.signs.find((each) => each.mode !== undefined)?.mode;
  const account = accountOf(chosen.first, mode, evidence);
  const contradictions = [...contradictionsOf(chosen, others), ...account.contradictions];
  return { account, at: chosen.first, contradictions };
}

/** Reads off an input which network its cluster has. */
export function recogniseNetwork(input: EvidenceInput): RecognisedNetwork {
  const { objects, files } = input;
  const evidence = collectEvidence(input);
  const kubeProxy = kubeProxySettings(evidence);
  const policies = policyEngine(evidence);
  const told = toldCluster(
    evidence,
    objects.map(({ object }) => object),
  );
  const choice = choose(evidence, files);
  const others = [
    ...dsrContradiction(evidence, kubeProxy),
    ...proxyContradictions(kubeProxy),
    ...installationContradictions(evidence),
    ...told.contradictions,
  ];
  const limitsOf = (found: readonly Contradiction[]): readonly FlowLimit[] =>
    found.flatMap((each) => limitOfContradiction(each) ?? []);
  if (choice === undefined) {
    const limits = limitsOf(others);
    const nothing = { account: undefined, at: undefined, fields: {} };
    return { ...nothing, kubeProxy, policies, told, contradictions: others, limits };
  }
  const { account, at } = choice;
  const contradictions = [...choice.contradictions, ...others];
  const lack = account.lack === undefined ? [] : [limitOfLack(account.lack, at.where)];
  return {
    account,
    at,
    kubeProxy,
    policies,
    told,
    fields: withName(account.fields, kubeProxy),
    contradictions,
    limits: [...lack, ...limitsOf(contradictions)],
  };
}
