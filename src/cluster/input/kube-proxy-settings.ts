/**
 * How kube-proxy runs on the Windows nodes of an input (kube-proxy.md §1.1, §1.4): by the arguments of its own workload,
 * by what its image is known to start, or by a configuration in a ConfigMap.
 */
import { isFields, mappingOf } from "#core/base/json.ts";
import { type ContainerEvidence, type Evidence, type EvidencePlace, mappingIn, textAt } from "./evidence.ts";

/** A setting, and who says it. */
export interface Told<T> extends EvidencePlace {
  readonly value: T;
}

/** DSR, and the feature gate that it needs where the same place says it. */
export interface DsrSetting extends Told<boolean> {
  /** Undefined: the version's default holds. */
  readonly gate: boolean | undefined;
}

export interface KubeProxySettings {
  /** Undefined: nothing of the input says it, and kube-proxy's default holds: off in all versions. */
  readonly enableDSR: DsrSetting | undefined;
  /** Of configurations that the user names as files, whether kube-proxy reads them or not. */
  readonly ofFiles: readonly DsrSetting[];
  /** The HNS network that it is told of. */
  readonly networkName: Told<string> | undefined;
}

/**
 * What start scripts inside images add, of which no object speaks. The script of flannel's image passes neither `--config`
 * nor `--enable-dsr`; that of Calico's passes `--enable-dsr` (control-planes.md §2.3).
 */
const IMAGES: readonly { readonly image: RegExp; readonly enableDSR: boolean }[] = [
  { image: /\/kube-proxy:[^/]*-flannel-hostprocess/, enableDSR: false },
  { image: /\/kube-proxy:[^/]*-calico-hostprocess/, enableDSR: true },
];

const DSR_FLAG = /--enable-dsr(?:[= ]+"?(true|false))?/i;
const NETWORK_FLAG = /--network-name[= ]+"?([\w.-]+)/;
/** How kube-proxy of Windows is called, in whatever script. */
const CALL = /kube-proxy(?:\.exe)?\b/;

function dsrIn(command: string): boolean | undefined {
  const match = DSR_FLAG.exec(command);
  return match === null ? undefined : match[1]?.toLowerCase() !== "false";
}

function told<T>({ source, where }: EvidencePlace, value: T): Told<T> {
  return { source, where, value };
}

const GATE = /\b(?:WinDSR|AllAlpha)=(true|false)/;

function dsr(place: EvidencePlace, value: boolean, gate?: boolean): DsrSetting {
  return { ...told(place, value), gate };
}

/** The gate in a command line. */
function gateIn(command: string): boolean | undefined {
  const value = GATE.exec(command)?.[1];
  return value === undefined ? undefined : value === "true";
}

function isKubeProxy({ image, command, owner }: ContainerEvidence): boolean {
  return CALL.test(image) || CALL.test(command) || owner.startsWith("kube-proxy");
}

/** The arguments of Windows workloads; with `--config` kube-proxy does not look at the other flags. */
function ofWorkloads(containers: readonly ContainerEvidence[]): readonly DsrSetting[] {
  return containers.flatMap((container) => {
    const value = container.command.includes("--config") ? undefined : dsrIn(container.command);
    return value === undefined ? [] : [dsr(container, value, gateIn(container.command))];
  });
}

function ofImages(containers: readonly ContainerEvidence[]): readonly DsrSetting[] {
  return containers.flatMap((container) => {
    const known = IMAGES.find(({ image }) => image.test(container.image));
    return known === undefined ? [] : [dsr(container, known.enableDSR, true)];
  });
}

/** Scripts and lists of services in ConfigMaps that start `kube-proxy.exe`. */
function ofScripts({ configs }: Evidence): readonly DsrSetting[] {
  return configs.flatMap((config) => {
    const value = /kube-proxy\.exe/.test(config.text) ? dsrIn(config.text) : undefined;
    return value === undefined ? [] : [dsr(config, value, gateIn(config.text))];
  });
}

/** Configurations, those for Windows first. */
function ofConfigurations(configs: Evidence["configs"]): readonly DsrSetting[] {
  const found = configs.flatMap((config) => {
    if (!/kubeproxy\.config\.k8s\.io\//.test(config.text)) return [];
    const { winkernel, featureGates } = mappingIn(config.text) ?? {};
    const value = mappingOf(winkernel)["enableDSR"];
    const gate = isFields(featureGates) ? (featureGates["WinDSR"] ?? featureGates["AllAlpha"]) : undefined;
    const setting =
      typeof value === "boolean"
        ? dsr(config, value, gate === undefined ? undefined : gate === true)
        : undefined;
    return setting === undefined ? [] : [{ isWindows: /windows/i.test(config.name), setting }];
  });
  return found.toSorted((a, b) => Number(b.isWindows) - Number(a.isWindows)).map(({ setting }) => setting);
}

function networkNameOf({ configs, containers }: Evidence): Told<string> | undefined {
  for (const container of containers) {
    const name = isKubeProxy(container) ? NETWORK_FLAG.exec(container.command)?.[1] : undefined;
    if (name !== undefined) return told(container, name);
  }
  for (const config of configs) {
    const isCall = /kube-proxy\.exe/.test(config.text);
    const isConfiguration = /kubeproxy\.config\.k8s\.io\//.test(config.text);
    const name = isCall
      ? NETWORK_FLAG.exec(config.text)?.[1]
      : isConfiguration
        ? textAt(mappingIn(config.text), "winkernel", "networkName")
        : "";
    if (name !== undefined && name !== "") return told(config, name);
  }
  return undefined;
}

/** RKE2 starts kube-proxy itself, with DSR where HNS has it (kube-proxy.md §1.4). */
function ofRke2({ nodes }: Evidence): readonly DsrSetting[] {
  const node = nodes.find(
    ({ os, provider, version }) => os === "windows" && (provider === "rke2" || /\+rke2r/.test(version)),
  );
  return node === undefined ? [] : [dsr(node, true, true)];
}

export function kubeProxySettings(evidence: Evidence): KubeProxySettings {
  const containers = evidence.containers.filter(
    (each) => isKubeProxy(each) && (each.isForWindows || /kube-proxy\.exe/.test(each.command)),
  );
  // Who starts kube-proxy decides what it reads: a configuration counts where nothing else is known of the start.
  const [enableDSR] = [
    ...ofWorkloads(containers),
    ...ofScripts(evidence),
    ...ofImages(containers),
    ...ofRke2(evidence),
    ...ofConfigurations(evidence.configs),
  ];
  const ofFiles = ofConfigurations(evidence.configs.filter(({ isFile }) => isFile));
  return { enableDSR, ofFiles, networkName: networkNameOf(evidence) };
}
