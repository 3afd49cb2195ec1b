/**
 * What a label of a node tells of its operating system, and of the build of Windows: the kubelet's own labels, and those that
 * platforms give their pools. A selector for one of them is a selector for that system.
 */
import { type Fields, mappingOf, mappingsIn } from "#core/base/json.ts";

/** What one label says. */
export interface LabelledPlatform {
  readonly os: "windows" | "linux";
  readonly build: number | undefined;
}

/** The label that kubelets of Windows nodes give. */
export const BUILD_LABEL = "node.kubernetes.io/windows-build";

type Reader = (value: string) => LabelledPlatform | undefined;

const LINUX: LabelledPlatform = { os: "linux", build: undefined };

function ofName(value: string): LabelledPlatform | undefined {
  const os = value.toLowerCase();
  return os === "windows" || os === "linux" ? { os, build: undefined } : undefined;
}

function ofBuild(value: string): LabelledPlatform {
  const match = /^10\.0\.(\d{5})/.exec(value);
  return { os: "windows", build: match === null ? undefined : Number(match[1]) };
}

/** Azure, OSSKU of agent pools: `Windows2019`, `Windows2022`, `Windows2025`, `WindowsAnnual`; the others are distributions of Linux. */
const SKU_BUILDS: Readonly<Record<string, number>> = {
  windows2019: 17_763,
  windows2022: 20_348,
  windows2025: 26_100,
};

function ofSku(value: string): LabelledPlatform | undefined {
  const sku = value.toLowerCase();
  if (sku === "") return undefined;
  return sku.startsWith("windows") ? { os: "windows", build: SKU_BUILDS[sku] } : LINUX;
}

/** Windows Machine Config Operator: `node.openshift.io/os_id=Windows`; others have the ID of their os-release. */
function ofOsId(value: string): LabelledPlatform | undefined {
  if (value === "") return undefined;
  return ofName(value) ?? LINUX;
}

function onLinux(): LabelledPlatform {
  return LINUX;
}

const READERS: Readonly<Record<string, Reader>> = {
  "kubernetes.io/os": ofName,
  "beta.kubernetes.io/os": ofName,
  [BUILD_LABEL]: ofBuild,
  // https://learn.microsoft.com/azure/aks/use-labels; system pools have Linux:
  // https://learn.microsoft.com/azure/aks/use-system-pools
  "kubernetes.azure.com/os-sku": ofSku,
  "kubernetes.azure.com/mode": (value) => (value.toLowerCase() === "system" ? LINUX : undefined),
  // https://github.com/openshift/windows-machine-config-operator
  "node.openshift.io/os_id": ofOsId,
  // Control planes run on Linux alone: https://kubernetes.io/docs/concepts/windows/intro/
  "node-role.kubernetes.io/control-plane": onLinux,
  "node-role.kubernetes.io/controlplane": onLinux,
  "node-role.kubernetes.io/master": onLinux,
  "node-role.kubernetes.io/etcd": onLinux,
};

/** What a label with this value tells; an empty value stands for any. */
export function platformOfLabel(key: string, value: string): LabelledPlatform | undefined {
  return Object.hasOwn(READERS, key) ? READERS[key]?.(value) : undefined;
}

/**
 * What a pod's selector and the first term of its required affinity ask for, where one value answers it.
 * @param spec the specification of a pod whose shape nobody has checked.
 */
export function labelsAskedFor(spec: Fields): ReadonlyMap<string, string> {
  const labels = new Map(
    Object.entries(mappingOf(spec["nodeSelector"])).map(([key, value]) => [key, String(value)]),
  );
  const affinity = mappingOf(mappingOf(spec["affinity"])["nodeAffinity"]);
  const required = mappingOf(affinity["requiredDuringSchedulingIgnoredDuringExecution"]);
  const [term] = mappingsIn(required["nodeSelectorTerms"]);
  for (const { key, operator, values } of mappingsIn(term?.["matchExpressions"])) {
    const first: unknown = Array.isArray(values) ? values[0] : undefined;
    const value = operator === "In" ? first : operator === "Exists" ? "" : undefined;
    if (typeof key === "string" && typeof value === "string" && !labels.has(key)) labels.set(key, value);
  }
  return labels;
}
