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

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** @throws Error for a licence that is not allowed. */
function noticeOf(folder: string): string {
  const {
    name,
    version,
    license = "",
  } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
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
