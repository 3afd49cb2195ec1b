/** How the client's types come into the library; what the build makes of all of them is compiled by `npm run test:package`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { declareModels, packagesOf, readModel, withRelativeRooms } from "./library-types.ts";

const MODELS = join(import.meta.dirname, "../node_modules/@kubernetes/client-node/dist/gen/models");

function model(fields: string, imports = ""): string {
  return `/** Generated. */\n${imports}/**\n* What it is.\n*/\nexport declare class V1Thing {\n${fields}    static readonly discriminator: string | undefined;\n    constructor();\n}\n`;
}

describe("a model of the client", () => {
  it("becomes an interface of its fields, with their descriptions, and knows what it names", () => {
    const fields = "    /**\n    * service\\'s port\n    */\n    'part'?: V1Part;\n    'at'?: V1MicroTime;\n";
    const imports =
      "import { V1Part } from '../models/V1Part.js';\nimport { IntOrString, V1MicroTime } from '../../types.js';\n";
    expect(readModel("V1Thing", model(fields, imports))).toEqual({
      text: "export interface V1Thing {\n    /**\n    * service's port\n    */\n    'part'?: V1Part;\n    'at'?: V1MicroTime;\n}",
      uses: ["V1Part"],
    });
  });

  it.each([
    ["that is something else", "export type V1Thing = string;\n", "is no class of fields"],
    ["with an import of another kind", model("", 'import x from "y";\n'), "imports in a way"],
  ])("%s stops the build", (_title, text, message) => {
    expect(() => readModel("V1Thing", text)).toThrow(message);
  });

  it("brings all that it reaches, once", () => {
    const texts: Record<string, string> = {
      V1Thing: model("    'a'?: V1Part;\n", "import { V1Part } from '../models/V1Part.js';\n"),
      V1Part: model("    'of'?: V1Thing;\n", "import { V1Thing } from '../models/V1Thing.js';\n").replace(
        "class V1Thing",
        "class V1Part",
      ),
    };
    const declared = declareModels(["V1Thing"], (name) => texts[name] ?? "");
    expect(declared.match(/^export interface \w+/gm)).toEqual([
      "export interface V1Part",
      "export interface V1Thing",
    ]);
  });

  it("of the installed client can be read", () => {
    const declared = declareModels(["V1Lease"], (name) => readFileSync(join(MODELS, `${name}.d.ts`), "utf8"));
    expect(declared).toMatch(
      /^export interface V1LeaseSpec \{[^}]*^ {4}'leaseDurationSeconds'\?: number;$/ms,
    );
    expect(declared).toContain("export interface V1ObjectMeta {");
    expect(declared).not.toContain("static");
  });
});

it("the packages of a file are those of its imports, not of its texts", () => {
  const text = `import { a } from "hono/body-limit";
import {
  b,
} from "@hono/node-server/x";
import { c } from "./d.ts";
import "node:fs";
/** Taken from "somewhere". */
type E = import("yaml").Node;
`;
  expect(packagesOf(text)).toEqual(["hono", "@hono/node-server", "yaml"]);
});

it.each([
  ["mod.node.js", 'export { a } from "#core/net/ip.ts";', 'export { a } from "./core/net/ip.js";'],
  ["hns/ports/port.js", 'import "#core/net/ip.ts";', 'import "../../core/net/ip.js";'],
  ["hns/port.d.ts", 'a: import("#core/net/ip.ts").Ip;', 'a: import("../core/net/ip.js").Ip;'],
  [
    "hns/port.js",
    'const a = "#core/net/ip.ts"; import "./b.js";',
    'const a = "#core/net/ip.ts"; import "./b.js";',
  ],
])("in %s, %s becomes %s", (path, text, expected) => {
  expect(withRelativeRooms(path, text)).toBe(expected);
});
