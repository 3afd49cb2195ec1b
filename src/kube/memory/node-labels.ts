/** Labels that a kubelet puts on its own node (Kubernetes documentation: Well-Known Labels, Annotations and Taints). */
import type { Node } from "../objects.ts";

const OS = "kubernetes.io/os";
const OS_OLD = "beta.kubernetes.io/os";
const ARCH = "kubernetes.io/arch";
const ARCH_OLD = "beta.kubernetes.io/arch";
const HOSTNAME = "kubernetes.io/hostname";
const WINDOWS_BUILD = "node.kubernetes.io/windows-build";

function first(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && text !== "");
}

/** `10.0.20348` of `10.0.20348.2582`: the label leaves the revision out. */
function windowsBuild(kernelVersion: string | undefined): string | undefined {
  return /^\d+\.\d+\.\d+/.exec(kernelVersion ?? "")?.[0];
}

/** The node with the labels that are missing. Old and new spelling stand beside each other, as on a real node. */
export function withKubeletLabels(node: Node): Node {
  const labels = node.metadata.labels ?? {};
  const information = node.status?.nodeInfo;
  const os = first(labels[OS], labels[OS_OLD], information?.operatingSystem);
  const arch = first(labels[ARCH], labels[ARCH_OLD], information?.architecture);
  const build = os === "windows" ? windowsBuild(information?.kernelVersion) : undefined;
  const added: Record<string, string> = {};
  const add = (label: string, value: string | undefined): void => {
    if (value !== undefined && !Object.hasOwn(labels, label)) added[label] = value;
  };
  add(HOSTNAME, node.metadata.name);
  add(OS, os);
  add(OS_OLD, os);
  add(ARCH, arch);
  add(ARCH_OLD, arch);
  add(WINDOWS_BUILD, build);
  if (Object.keys(added).length === 0) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, ...added } } };
}
