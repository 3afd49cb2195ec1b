/**
 * The programs of other people that `npm run test:live` and `npm run test:wine` run against: kube-apiserver, kubectl and
 * kube-proxy, built from the module k8s.io/kubernetes, flanneld and crictl, built from their own, and etcd from Debian. What
 * is built is kept in `~/.cache/mullion/live`, under the versions that it is built from. A folder named by KUBEBUILDER_ASSETS
 * goes first.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { env } from "node:process";
import { cacheFolder } from "./cache-folder.ts";
import { findGo } from "./go-toolchain.ts";

/** What flannel's go.mod asks for. */
const NEEDED_GO: readonly [number, number] = [1, 26];
const ROOT = resolve(import.meta.dirname, "..");

export type BuiltProgram =
  | "kube-apiserver"
  | "kubectl"
  | "flanneld"
  | "crictl"
  | "kube-proxy-1.37.exe"
  | "kube-proxy-1.30.exe"
  | "flanneld.exe";

interface Recipe {
  /** The folder of `go.mod`, below test/live/go. */
  readonly module: string;
  readonly package: string;
  /** The module whose version the program is of. */
  readonly of: string;
  /** flannel's UDP backend for Linux is written in C. */
  readonly needsC: boolean;
  /** What it runs on; absent: this machine. */
  readonly system?: "windows";
}

const RECIPES: Readonly<Record<BuiltProgram, Recipe>> = {
  "kube-apiserver": {
    module: "kubernetes",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    of: "k8s.io/kubernetes",
    needsC: false,
  },
  kubectl: {
    module: "kubernetes",
    package: "k8s.io/kubernetes/cmd/kubectl",
    of: "k8s.io/kubernetes",
    needsC: false,
  },
  flanneld: {
    module: "flannel",
    package: "github.com/flannel-io/flannel",
    of: "github.com/flannel-io/flannel",
    needsC: true,
  },
  crictl: {
    module: "cri-tools",
    package: "sigs.k8s.io/cri-tools/cmd/crictl",
    of: "sigs.k8s.io/cri-tools",
    needsC: false,
  },
  "kube-proxy-1.37.exe": {
    module: "kube-proxy-1.37",
    package: "k8s.io/kubernetes/cmd/kube-proxy",
    of: "k8s.io/kubernetes",
    needsC: false,
    system: "windows",
  },
  "kube-proxy-1.30.exe": {
    module: "kube-proxy-1.30",
    package: "k8s.io/kubernetes/cmd/kube-proxy",
    of: "k8s.io/kubernetes",
    needsC: false,
    system: "windows",
  },
  "flanneld.exe": {
    module: "flannel",
    package: "github.com/flannel-io/flannel",
    of: "github.com/flannel-io/flannel",
    needsC: false,
    system: "windows",
  },
};

export const BUILT_PROGRAMS: readonly BuiltProgram[] = Object.keys(RECIPES) as BuiltProgram[];

function moduleFolder({ module }: Recipe): string {
  return join(ROOT, "test", "live", "go", module);
}

/** `v1.34.4`: what go.mod requires of a module. */
function versionIn(goMod: string, module: string): string {
  const found = goMod.split("\n").find((line) =>
    line
      .replace(/^require /, "")
      .trim()
      .startsWith(`${module} v`),
  );
  const version = /\bv\d\S*/.exec(found ?? "")?.[0];
  if (version === undefined) throw new Error(`go.mod requires no ${module}`);
  return version;
}

/** Without optimisation the compiler takes two thirds of the time; a test asks these programs little. */
const COMPILER_FLAGS = "-gcflags=all=-N -l";

/** Where a program is kept: another go.mod or go.sum, and other flags, give another one. */
function pathOf(name: BuiltProgram): { readonly path: string; readonly version: string } {
  const recipe = RECIPES[name];
  const texts = ["go.mod", "go.sum"].map((file) => readFileSync(join(moduleFolder(recipe), file), "utf8"));
  const version = versionIn(texts[0] ?? "", recipe.of);
  const digest = createHash("sha256")
    .update(texts.join("") + COMPILER_FLAGS)
    .digest("hex")
    .slice(0, 12);
  return { path: join(cacheFolder("live"), `${recipe.module}-${version}-${digest}`, name), version };
}

/** The program in the folder that KUBEBUILDER_ASSETS names; undefined when it has none. */
function inAssets(name: string): string | undefined {
  const folder = env["KUBEBUILDER_ASSETS"] ?? "";
  const path = join(folder, name);
  return folder !== "" && existsSync(path) ? path : undefined;
}

function linkerFlags(name: BuiltProgram, version: string): string {
  if (RECIPES[name].module === "flannel")
    return `-s -w -X github.com/flannel-io/flannel/pkg/version.Version=${version}`;
  const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const at = "-X k8s.io/component-base/version.git";
  return `-s -w ${at}Version=${version} ${at}Major=${major} ${at}Minor=${minor}`;
}

function build(name: BuiltProgram, path: string, version: string): void {
  const recipe = RECIPES[name];
  const folder = resolve(path, "..");
  mkdirSync(folder, { recursive: true });
  const made = `${path}.${process.pid}`;
  const go = findGo({ needed: NEEDED_GO });
  const args = [
    "build",
    "-p",
    "2",
    "-trimpath",
    COMPILER_FLAGS,
    "-ldflags",
    linkerFlags(name, version),
    "-o",
    made,
    recipe.package,
  ];
  const built = spawnSync("nice", [go, ...args], {
    cwd: moduleFolder(recipe),
    encoding: "utf8",
    env: {
      ...env,
      CGO_ENABLED: recipe.needsC ? "1" : "0",
      ...(recipe.system === "windows" && { GOOS: "windows", GOARCH: "amd64" }),
      GOFLAGS: "-mod=readonly -buildvcs=false",
      GOTOOLCHAIN: "local",
      GOWORK: "off",
    },
  });
  if (built.status !== 0) {
    rmSync(made, { force: true });
    throw new Error(`${name} ${version} was not built:\n${built.stderr || String(built.error)}`);
  }
  renameSync(made, path);
}

/** The path of a program, which is built when it is not there: kube-apiserver takes ten minutes on two cores. */
export function findProgram(name: BuiltProgram): string {
  const given = inAssets(name);
  if (given !== undefined) return given;
  const { path, version } = pathOf(name);
  if (!existsSync(path)) build(name, path, version);
  return path;
}

/** The path of Debian's etcd, or of the one in KUBEBUILDER_ASSETS. */
export function findEtcd(): string {
  const given = inAssets("etcd");
  if (given !== undefined) return given;
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, "etcd");
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here.
    }
  }
  throw new Error("etcd is missing; install it with: apt-get install --no-install-recommends etcd-server");
}
