// npm run schemas: writes the schemas and the generated pages of the documentation again.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { generatedFiles } from "./generated-files.ts";

for (const { path, text } of generatedFiles()) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.log(path);
}
