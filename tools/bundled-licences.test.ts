import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { formatBillOfMaterials, formatNotices, packageFolders } from "./bundled-licences.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "mullion-licences-"));
});
afterEach(() => rmSync(root, { recursive: true }));

/** A package with one module; its path. */
function install(name: string, license: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = join(root, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.2.3", license }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return join(folder, "dist", "a.js");
}

describe("the notices of a bundle", () => {
  it("name each package once, with its licence and the text of that", () => {
    const modules = [
      join(root, "src", "main.ts"),
      install("small", "MIT", { "LICENSE.md": "Do what you like.\n", "README.md": "hello" }),
      install("@scope/large", "Apache-2.0", { LICENSE: "Terms", NOTICE: "By us" }),
      join(root, "node_modules", "small", "b.js"),
    ];
    const text = formatNotices(modules);
    expect(text).toContain("small 1.2.3 (MIT)\n\nDo what you like.\n");
    expect(text).toContain("@scope/large 1.2.3 (Apache-2.0)\n\nTerms\n\nBy us\n");
    expect(text.match(/1\.2\.3/g)).toHaveLength(2);
    expect(text).not.toContain("hello");
  });

  it.each(["GPL-3.0", ""])("do not come about for the licence %j", (licence) => {
    expect(() => formatNotices([install("other", licence)])).toThrow('other 1.2.3 has the licence "');
  });

  it("are of the package within the package, and of paths of Windows", () => {
    const modules = ["C:\\m\\node_modules\\a\\node_modules\\@s\\b\\c.js", "\0/m/node_modules/d/e.js"];
    expect(packageFolders(modules)).toEqual([
      "/m/node_modules/d",
      "C:\\m\\node_modules\\a\\node_modules\\@s\\b",
    ]);
  });
});

describe("the bill of materials of a bundle", () => {
  it("names each package once, with its licence, as CycloneDX has it", () => {
    const modules = [
      install("small", "MIT"),
      install("@scope/large", "Apache-2.0"),
      join(root, "node_modules", "small", "b.js"),
    ];
    const text = formatBillOfMaterials(modules, { name: "mullion", version: "0.1.0" });
    expect(JSON.parse(text)).toMatchObject({
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      metadata: { component: { name: "mullion", purl: "pkg:npm/mullion@0.1.0" } },
      components: [
        {
          name: "@scope/large",
          purl: "pkg:npm/%40scope/large@1.2.3",
          licenses: [{ license: { id: "Apache-2.0" } }],
        },
        { name: "small", version: "1.2.3", purl: "pkg:npm/small@1.2.3" },
      ],
      dependencies: [{ dependsOn: ["pkg:npm/%40scope/large@1.2.3", "pkg:npm/small@1.2.3"] }],
    });
    expect(formatBillOfMaterials(modules, { name: "mullion", version: "0.1.0" })).toBe(text);
  });
});
