/**
 * What the name of a container image tells of where it runs: the operating system, and the build of Windows. Only what is
 * certain: most names tell nothing.
 */
import { type Fields, isFields, mappingOf } from "#core/base/json.ts";
import { labelsAskedFor, platformOfLabel } from "./node-labels.ts";
import { type WindowsProfile, WINDOWS_PROFILES, runsContainersOf } from "#core/catalogue/profiles.ts";

/** Where an image runs, as far as its name says. */
export interface ImagePlatform {
  readonly os: "windows" | "linux";
  /** Builds of Windows that it is made for; none: the name does not say, or it holds several. */
  readonly builds: readonly number[];
  /** Published as a list of manifests, one for each platform: a node that finds none of its own pulls nothing. */
  readonly isList: boolean;
}

/** Images that only run on Windows, and tags that say so. */
const WINDOWS_IMAGE =
  /(?:^|\/)(?:windows\/)?(?:nanoserver|servercore|windowsservercore)(?:[:@/]|$)|mcr\.microsoft\.com\/(?:windows(?!-)|dotnet\/framework)|microsoft\/(?:iis|windowsservercore|nanoserver|aspnet:4)|(?:nanoserver|windowsservercore|servercore)[-_:]?(?:ltsc20\d\d|1[78]\d\d|20h2|1903|1909|2004)|[-_:](?:ltsc20(?:16|19|22|25))\b/i;

/** True for an image that runs on Windows alone. */
export function isWindowsImage(image: string): boolean {
  return WINDOWS_IMAGE.test(image);
}

/** Releases as tags name them: Microsoft, "Windows container version compatibility" and "Windows container base images". */
const BUILDS: Readonly<Record<string, number>> = {
  ltsc2016: 14_393,
  "1709": 16_299,
  "1803": 17_134,
  "1809": 17_763,
  ltsc2019: 17_763,
  "1903": 18_362,
  "1909": 18_363,
  "2004": 19_041,
  "20h2": 19_042,
  ltsc2022: 20_348,
  ltsc2025: 26_100,
};

const RELEASE = /(?<=^|[^0-9a-z]|nanoserver|servercore)(1709|1803|1809|1903|1909|2004|20h2)(?![0-9a-z])/g;
const LONG_TERM = /ltsc20(?:16|19|22|25)(?![0-9])/g;
/** The whole version of the operating system: `10.0.17763.3770`. */
const VERSION = /(?<![0-9.])10\.0\.(\d{5})(?:\.\d+)?/g;

function buildsOf(tag: string): readonly number[] {
  const names = [...tag.matchAll(LONG_TERM), ...tag.matchAll(RELEASE)].flatMap(
    ([name]) => BUILDS[name] ?? [],
  );
  const versions = [...tag.matchAll(VERSION)].map(([, build]) => Number(build));
  return [...new Set([...names, ...versions])];
}

/**
 * Official images of Docker Hub that have no Windows among their architectures
 * (https://github.com/docker-library/official-images, folder `library`).
 */
const LINUX_LIBRARY: ReadonlySet<string> = new Set([
  "almalinux",
  "alpine",
  "amazonlinux",
  "archlinux",
  "busybox",
  "debian",
  "fedora",
  "haproxy",
  "httpd",
  "mariadb",
  "memcached",
  "mysql",
  "nginx",
  "node",
  "php",
  "postgres",
  "rabbitmq",
  "redis",
  "ubuntu",
  "wordpress",
]);

/** Distributions of Linux, as the tags of many images name what they are built on. */
const LINUX_TAG =
  /(?:^|[-_.])(?:alpine(?:3[\d.]*)?|bookworm|bullseye|buster|stretch|trixie|focal|jammy|noble|bionic|linux)(?:$|[-_.])/;

/**
 * Images of Kubernetes' own tests: lists that hold Windows as well, whatever Linux their tags name
 * (https://github.com/kubernetes/kubernetes/tree/master/test/images, files `BASEIMAGE`).
 */
const TEST_IMAGES = /(?:^|\/)(?:kubernetes-)?e2e-test-images\//;

function libraryName(repository: string): string | undefined {
  const name = repository.replace(/^(?:(?:index\.|registry-1\.)?docker\.io\/)?(?:library\/)?/, "");
  return name.includes("/") ? undefined : name;
}

/** What the name of an image says; undefined when it says nothing of the operating system. */
export function imagePlatform(image: string): ImagePlatform | undefined {
  // What a template or a script still fills in.
  if (!/^[\w.:@/-]+$/.test(image)) return undefined;
  const [name = "", digest] = image.toLowerCase().split("@");
  const colon = name.indexOf(":", name.lastIndexOf("/") + 1);
  const repository = colon < 0 ? name : name.slice(0, colon);
  const tag = colon < 0 ? "" : name.slice(colon + 1);
  const library = libraryName(repository);
  if (isWindowsImage(image)) {
    // A digest is what is pulled: the tag beside it is not looked at.
    const builds = digest === undefined ? buildsOf(tag) : [];
    const isOneOfList = /(?:^|-)(?:amd64|arm64)/.test(tag) || digest !== undefined;
    const isList = (repository.startsWith("mcr.microsoft.com/") || library !== undefined) && !isOneOfList;
    return { os: "windows", builds, isList };
  }
  if (library !== undefined && LINUX_LIBRARY.has(library)) return { os: "linux", builds: [], isList: true };
  return LINUX_TAG.test(tag) && !TEST_IMAGES.test(repository)
    ? { os: "linux", builds: [], isList: repository.startsWith("mcr.microsoft.com/") }
    : undefined;
}

/** What a template, a script or a person fills in. */
const OPEN = /[{}<>$%#]|__[A-Za-z]|[A-Z]_[A-Z]|(?:^|[/:])[A-Z][A-Z0-9-]{2,}(?=[/:]|$)/;

const DOMAIN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.|$))+$/;
const HOST = /^(?:\[[0-9A-Fa-f:]+\]|[^:[\]]+)(?::\d+)?$/;
const PATH_PART = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}$/;
/** Characters of registry and repository together. */
const NAME_MAX = 255;

/** Where the registry ends: a first part that is no part of a repository (distribution/reference, `splitDockerDomain`). */
function isRegistry(first: string): boolean {
  return /[.:]/.test(first) || first === "localhost" || first.toLowerCase() !== first;
}

/** True for a name that distribution/reference parses, as the kubelet does before it pulls. */
function isReadable(image: string): boolean {
  const [before = "", digest, ...more] = image.split("@");
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) return false;
  const colon = before.indexOf(":", before.lastIndexOf("/") + 1);
  const name = colon < 0 ? before : before.slice(0, colon);
  if (colon >= 0 && !TAG.test(before.slice(colon + 1))) return false;
  const parts = name.split("/");
  const [first = ""] = parts;
  const registry = parts.length > 1 && isRegistry(first) ? first : undefined;
  if (registry !== undefined) {
    const host = registry.replace(/:\d+$/, "");
    if (!HOST.test(registry) || (!host.startsWith("[") && !DOMAIN.test(host))) return false;
  }
  const path = registry === undefined ? parts : parts.slice(1);
  // Sixty-four digits are the id of an image, and no name.
  if (/^[a-f0-9]{64}$/.test(name)) return false;
  return name.length <= NAME_MAX && path.every((part) => PATH_PART.test(part));
}

/**
 * What keeps a kubelet from reading the name of an image; undefined where it can. `open`: something is still filled in.
 * An image that is left out is for the API server to judge.
 */
export function faultOfImageName(image: string): "open" | "invalid" | undefined {
  if (image === "" || isReadable(image)) return undefined;
  return OPEN.test(image) ? "open" : "invalid";
}

function listIn(fields: Fields, name: string): readonly Fields[] {
  const value = fields[name];
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** The build that labels ask for. */
function labelledBuild(labels: ReadonlyMap<string, string>): number | undefined {
  return [...labels]
    .map(([key, value]) => platformOfLabel(key, value)?.build)
    .find((build) => build !== undefined);
}

/** The one build that each image of a pod is made for; HostProcess containers and isolated pods run on any. */
function imageBuilds(spec: Fields): readonly number[] {
  if (spec["runtimeClassName"] !== undefined) return [];
  const all = [spec, ...listIn(spec, "containers"), ...listIn(spec, "initContainers")];
  const isHostProcess = all.some(({ securityContext }) => {
    const options = mappingOf(securityContext)["windowsOptions"];
    return isFields(options) && options["hostProcess"] === true;
  });
  if (isHostProcess) return [];
  return all.flatMap(({ image }) => {
    const builds = typeof image === "string" ? (imagePlatform(image)?.builds ?? []) : [];
    return builds.length === 1 ? builds : [];
  });
}

/**
 * The builds of Windows, oldest first, that nodes have on which all these pods run, as far as their selectors and images
 * tell; none: they tell nothing, or ask for builds without a profile.
 * @param specs specifications of pods whose shape nobody has checked.
 */
export function profilesAskedFor(specs: readonly Fields[]): readonly WindowsProfile[] {
  const profileOf = (build: number): readonly WindowsProfile[] =>
    WINDOWS_PROFILES.filter((profile) => profile.build === build);
  const asked = new Set(
    specs.flatMap((spec) => labelledBuild(labelsAskedFor(spec)) ?? []).flatMap(profileOf),
  );
  // The newest first: its host runs older images as well.
  for (const build of specs.flatMap(imageBuilds).toSorted((a, b) => b - a)) {
    const isRun = [...asked].some((profile) =>
      runsContainersOf({ profile, revision: undefined, note: undefined }, build),
    );
    if (!isRun) for (const profile of profileOf(build)) asked.add(profile);
  }
  return [...asked].toSorted((a, b) => a.build - b.build);
}

/** The system of nodes that a pod is for, as far as its selectors and images tell; and their build, if labels name it. */
export function specPlatform(
  spec: Fields,
  labels: ReadonlyMap<string, string>,
): { readonly os: "windows" | "linux" | undefined; readonly build: WindowsProfile | undefined } {
  const build = labelledBuild(labels);
  const profile = WINDOWS_PROFILES.find((each) => each.build === build);
  const [told] = [...labels].flatMap(([key, value]) => platformOfLabel(key, value) ?? []);
  const os = told?.os ?? mappingOf(spec["os"])["name"];
  if (os === "windows" || os === "linux") return { os, build: profile };
  const images = listIn(spec, "containers").flatMap(({ image }) =>
    typeof image === "string" ? (imagePlatform(image)?.os ?? []) : [],
  );
  return { os: images[0], build: profile };
}
