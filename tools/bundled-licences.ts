/** What the executables hold of other packages, and under which licences: those ask that their text goes with the code. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The licences that docs/decisions/0004-dependencies.md allows. */
const ALLOWED: readonly string[] = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0"];
const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
const MODULES = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/;

/** The folders of the packages that modules of a bundle come from. */
export function packageFolders(modules: readonly string[]): readonly string[] {
  const folders = modules.map((path) => MODULES.exec(path.replace(/^\0+/, ""))?.[1] ?? "");
  return [...new Set(folders)].filter((folder) => folder !== "").toSorted();
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** The fields of a folder's `package.json` that name it. */
export function manifestOf(folder: string): Required<Manifest> {
  return { license: "", ...(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest) };
}

/** @throws Error for a licence that is not allowed. */
function noticeOf(folder: string): string {
  const { name, version, license } = manifestOf(folder);
  if (!ALLOWED.includes(license))
    throw new Error(`${name} ${version} has the licence "${license}"; allowed are ${ALLOWED.join(", ")}`);
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return [`${name} ${version} (${license})`, ...texts].join("\n\n");
}

/** The text that goes with bundles made of these modules. */
export function formatNotices(modules: readonly string[]): string {
  const head = "The programs in this folder hold code of the packages below.";
  const line = "-".repeat(80);
  return `${[head, ...packageFolders(modules).map(noticeOf)].join(`\n\n${line}\n\n`)}\n`;
}

/** How a package is named in a bill of materials (github.com/package-url/purl-spec). */
function purlOf({ name, version }: Manifest): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/**
 * What the executables hold, for those who audit: CycloneDX 1.6 (cyclonedx.org/docs/1.6/json). Equal modules, equal bytes:
 * no time and no number of its own.
 */
export function formatBillOfMaterials(modules: readonly string[], own: Manifest): string {
  const packages = new Map(
    packageFolders(modules).map((folder) => {
      const manifest = manifestOf(folder);
      return [purlOf(manifest), manifest] as const;
    }),
  );
  const components = [...packages].map(([purl, { name, version, license }]) => ({
    type: "library",
    "bom-ref": purl,
    name,
    version,
    licenses: [{ license: { id: license } }],
    purl,
  }));
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": purlOf(own),
        name: own.name,
        version: own.version,
        purl: purlOf(own),
      },
    },
    components,
    dependencies: [{ ref: purlOf(own), dependsOn: [...packages.keys()] }],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
