import { expect, it } from "vitest";
import { MODE_REFERENCES_MAX, findModeReferences } from "../../tools/mode-references.ts";

it("the type checker finds no more references to the programs' mode than are allowed", () => {
  expect(findModeReferences(process.cwd()).length).toBeLessThanOrEqual(MODE_REFERENCES_MAX);
});
