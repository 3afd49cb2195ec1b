// npm run schemas: writes the schemas, the generated pages and the shown outputs of the documentation again.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { formatWordModule, formatWordTypes } from "./word-modules.ts";

// First, and before what asks for texts is loaded: it asks for files of data/words/ by these.
writeFileSync("data/words.js", formatWordModule());
writeFileSync("data/words.d.ts", formatWordTypes());

const CODES = "data/codes.js";
const { formatCodeTypes, formatCodes } = await import("./format-index.ts");
const codes = formatCodes();

if (codes === readFileSync(CODES, "utf8")) {
  const { generatedFiles } = await import("./generated-files.ts");
  for (const { path, text } of await generatedFiles()) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(path);
  }
} else {
  // A new code has a text only for a program that begins with it.
  writeFileSync(CODES, codes);
  writeFileSync("data/codes.d.ts", formatCodeTypes());
  execFileSync(process.execPath, [fileURLToPath(import.meta.url)], { stdio: "inherit" });
}
