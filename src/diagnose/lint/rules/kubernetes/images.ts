/** Rules over images of containers: the operating system and the build that they are made for, against the nodes. */
import { faultOfImageName, imagePlatform, isWindowsImage } from "#contracts/kubernetes/container-image.ts";
import { BUILD_LABEL, platformOfLabel } from "#contracts/kubernetes/node-labels.ts";
import { type WindowsBuild, parseProfile, runsContainersOf } from "#core/catalogue/profiles.ts";
import { type LintContext, buildOfNode, osOfNode } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { fieldsAt, listAt, numberAt, textAt, valueAt } from "../../input/fields.ts";
import type { ContainerView, PodView } from "../../views/pods.ts";
import { type LintRule, type RuleFinding, rule } from "../../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** What a dump shows running, runs, whatever its image is called. */
function isShownRunning({ value }: LintDocument, { name }: ContainerView): boolean {
  return ["containerStatuses", "initContainerStatuses"]
    .flatMap((field) => listAt(value, "status", field))
    .some((status) => textAt(status, "name") === name && hasRun(status));
}

function hasRun(status: unknown): boolean {
  return ["running", "terminated"].some((state) => valueAt(status, "state", state) !== undefined);
}

function imageRule(
  code: LintRule["code"],
  check: (
    container: ContainerView,
    pod: PodView,
    context: LintContext,
  ) => Omit<RuleFinding, "at"> | undefined,
): LintRule {
  return rule(code, "kubernetes", function* (document, context) {
    const pod = context.podOf(document);
    // Another runtime may isolate with Hyper-V, where older builds run as well.
    if (pod === undefined || textAt(pod.spec, "runtimeClassName") !== undefined) return;
    for (const container of pod.containers) {
      const found = isShownRunning(document, container) ? undefined : check(container, pod, context);
      if (found !== undefined) yield { at: { path: [...container.path, "image"] }, ...found };
    }
  });
}

function isOnLinux(pod: PodView, context: LintContext): boolean {
  return pod.os === "linux" || context.osOfNodeOf(pod) === "linux";
}

const WINDOWS_IMAGE = imageRule("windows-image-on-linux-node", ({ image }, pod, context) => {
  if (!isOnLinux(pod, context) || !isWindowsImage(image)) return undefined;
  return { message: WORDS.windowsImageOnLinuxNode({ image }) };
});

const LINUX_IMAGE = imageRule("linux-image-on-windows-node", ({ image }, pod, context) => {
  if (!context.isForWindows(pod) || imagePlatform(image)?.os !== "linux") return undefined;
  return { message: WORDS.linuxImageOnWindowsNode({ image }) };
});

const UNREADABLE = imageRule("image-name-invalid", ({ image }) => {
  const fault = faultOfImageName(image);
  if (fault === undefined) return undefined;
  const name = JSON.stringify(image);
  return fault === "open"
    ? { severity: "info", message: WORDS.imageNameOpen({ name }), fix: WORDS.adviceImageNameOpen }
    : { message: WORDS.imageNameInvalid({ name }) };
});

interface Host {
  /** Undefined for a build that a flag names. */
  readonly name: string | undefined;
  readonly build: WindowsBuild;
}

/** Labels that a cluster file's nodes have without saying so, with their values. */
const KNOWN_LABELS: readonly string[] = [
  "kubernetes.io/os",
  "beta.kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/arch",
];

function hostsOfInput(
  context: LintContext,
): readonly (Host & { readonly labels: ReturnType<typeof fieldsAt> })[] {
  const { builds, origin } = context.windows;
  if (origin === "nodes")
    return context.objects("Node").flatMap(({ value }) => {
      const build = osOfNode(value) === "windows" ? buildOfNode(value) : undefined;
      const name = textAt(value, "metadata", "name");
      return build === undefined ? [] : [{ name, build, labels: fieldsAt(value, "metadata", "labels") }];
    });
  if (origin === "cluster-file")
    return context.ofKind("cluster").flatMap(({ value }) =>
      listAt(value, "nodes").flatMap((node) => {
        const build = parseProfile(textAt(node, "build") ?? numberAt(node, "build")?.toString() ?? "ws2022");
        if (textAt(node, "os") !== "windows" || build === undefined) return [];
        return [{ name: textAt(node, "name"), build, labels: fieldsAt(node, "labels") }];
      }),
    );
  return builds.map((build) => ({ name: undefined, build, labels: {} }));
}

/** The Windows nodes that the pod may be put on, as far as the input says. */
function hostsFor(pod: PodView, context: LintContext): readonly Host[] {
  const wanted = textAt(pod.spec, "nodeName");
  const selector = Object.entries(fieldsAt(pod.spec, "nodeSelector")).filter(
    ([label]) => !KNOWN_LABELS.includes(label),
  );
  return context.once(hostsOfInput).filter(({ name, build, labels }) => {
    if (wanted !== undefined && name !== undefined && wanted !== name) return false;
    return selector.every(([label, value]) => {
      const own = labels[label] ?? (label === BUILD_LABEL ? `10.0.${build.profile.build}` : undefined);
      if (name !== undefined || label === BUILD_LABEL) return own === value;
      // The labels of a build that a flag names are not known, unless they name a build themselves.
      const told = platformOfLabel(label, String(value))?.build;
      return told === undefined || told === build.profile.build;
    });
  });
}

/**
 * Microsoft: "Windows container version compatibility". HostProcess containers take any build
 * (containerd/containerd issue 7431). With affinity or taints the nodes are not known for sure: then only what runs on
 * none of them is told.
 */
const OTHER_BUILD = imageRule("image-of-another-build", ({ image }, pod, context) => {
  const builds = imagePlatform(image)?.builds ?? [];
  if (pod.isHostProcess || builds.length === 0 || isOnLinux(pod, context)) return undefined;
  const hosts = hostsFor(pod, context);
  const others = hosts.filter(({ build }) => builds.every((each) => runsContainersOf(build, each) === false));
  const [first] = others;
  if (first === undefined) return undefined;
  const made = `${image} is made for build ${builds.join(", ")} of Windows`;
  const { title, build } = first.build.profile;
  const { origin } = context.windows;
  if (others.length === hosts.length)
    return {
      message: `${made}, and does not start on ${title} (build ${build})`,
      // Another node may be there that the input does not show.
      ...(origin === "assumed" || origin === "pods" ? { severity: "warning" } : {}),
    };
  if (valueAt(pod.spec, "affinity", "nodeAffinity") !== undefined) return undefined;
  return {
    message: `${made}, and nothing keeps this pod off ${first.name ?? title} (build ${build})`,
    severity: origin === "pods" ? "info" : "warning",
  };
});

export const IMAGE_RULES: readonly LintRule[] = [WINDOWS_IMAGE, LINUX_IMAGE, OTHER_BUILD, UNREADABLE];
