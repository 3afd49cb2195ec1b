// npm run schemas: writes the schemas, the generated pages and the shown outputs of the documentation again.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { generatedFiles } from "./generated-files.ts";

for (const { path, text } of await generatedFiles()) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.log(path);
}
