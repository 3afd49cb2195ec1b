// npm run schemas: writes the schemas, the generated pages and the shown outputs of the documentation again.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { formatCodes } from "#diagnose/catalogue/format-index.ts";
import { generatedFiles } from "./generated-files.ts";

const CODES = "src/core/catalogue/codes.ts";
const codes = formatCodes();

if (codes === readFileSync(CODES, "utf8")) {
  for (const { path, text } of await generatedFiles()) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(path);
  }
} else {
  // A new code has a text only for a program that begins with it.
  writeFileSync(CODES, codes);
  execFileSync(process.execPath, [fileURLToPath(import.meta.url)], { stdio: "inherit" });
}
