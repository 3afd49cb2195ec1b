import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createProgram } from "#cli/mullion/program.ts";
import type { Verbs } from "#cli/mullion/verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { PROGRAMS } from "#cli/programs/table.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import {
  type Known,
  codeBlocks,
  findBrokenLinks,
  findBrokenTables,
  findMissingPaths,
  findUnknownCommands,
  findUnpublished,
} from "./documents.ts";
import { listPaths, readFiles, readImportMap } from "./source-files.ts";

const PAGES = readFiles("*.md", "{bench,data,docs,examples,src}/**/*.md");

function verbNames(): ReadonlySet<string> {
  const none = async (): Promise<0> => 0;
  const verbs: Verbs = {
    trace: none,
    resolve: none,
    exec: none,
    get: none,
    verify: none,
    merge: none,
    up: none,
    ui: none,
    shell: none,
    logs: none,
    capture: none,
    top: none,
    apply: none,
    delete: none,
    down: none,
    bringUp: none,
    node: none,
    controlPlane: none,
    pass: none,
    demo: none,
    ovn: { trace: none, show: none, list: none, listFlows: none },
    cni: { attach: none, gc: none, status: none, version: none },
    docker: { create: none, list: none, inspect: none, remove: none },
    hns: {
      serve: none,
      get: none,
      create: none,
      modify: none,
      delete: none,
      watch: none,
      dump: none,
      restore: none,
      check: none,
      repair: none,
      fault: none,
    },
    kube: { serve: none },
    programs: { list: none, install: none, remove: none, run: none },
    vfp: { ports: none, show: none, diff: none },
    wine: none,
    lint: none,
    doctor: none,
  };
  const program = createProgram(verbs, new MemoryTerminal(), "0", async () => undefined);
  return new Set(program.commands.map((command) => command.name()));
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
  readonly bin: unknown;
  readonly dependencies: object;
  readonly optionalDependencies: object;
};
const { scripts } = manifest;
const NUMBERS = "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split(
  " ",
);
const KNOWN: Known = {
  paths: new Set(listPaths("*", ".ci/*", "{bench,bin,data,docs,examples,schemas,src,test,tools}/**/*")),
  scripts: new Set(Object.keys(scripts)),
  verbs: verbNames(),
  imports: readImportMap(),
};

describe("the documentation", () => {
  it("has the pages that readers look for", () => {
    const paths = PAGES.map(({ path }) => path);
    for (const path of [
      "README.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
      "CHANGELOG.md",
      "SECURITY.md",
      "docs/vocabulary.md",
    ]) {
      expect(paths).toContain(path);
    }
  });

  it("links to files and headings that exist", () => {
    expect(findBrokenLinks(PAGES, KNOWN)).toEqual([]);
  });

  it("has tables whose rows are as wide as their heads", () => {
    expect(findBrokenTables(PAGES)).toEqual([]);
  });

  it("names files that exist", () => {
    // Pages of sources name files of other projects.
    const own = PAGES.filter(({ path }) => !path.startsWith("docs/sources/"));
    expect(findMissingPaths(own, KNOWN)).toEqual([]);
  });

  it("shows commands that exist", () => {
    expect(findUnknownCommands(PAGES, KNOWN)).toEqual([]);
  });

  it("tells nobody to install a package that is not published", () => {
    expect(findUnpublished(PAGES)).toEqual([]);
  });

  it("has a first page that is read in one go", () => {
    expect(readFileSync("README.md", "utf8").split("\n").length).toBeLessThan(150);
  });

  it.each(["AKS", "EKS", "RKE2", "Calico", "flannel"])(
    "says on the first page what there is of %s",
    (name) => {
      const rows = readFileSync("README.md", "utf8")
        .split("\n")
        .filter((line) => line.startsWith("| "));
      expect(rows.some((row) => row.split("|")[1]?.includes(name))).toBe(true);
    },
  );

  it("shows cluster files that are accepted", () => {
    const blocks = PAGES.flatMap(({ path, text }) =>
      codeBlocks(text, "yaml")
        .filter((code) => code.startsWith("apiVersion: mullion/"))
        .map((code) => parseClusterFile(code, path)),
    );
    expect(blocks.length).toBeGreaterThan(0);
    expect(blocks.flatMap((result) => ("problems" in result ? result.problems : []))).toEqual([]);
  });

  it("says on the first page that nothing has run on Windows", () => {
    expect(readFileSync("README.md", "utf8").slice(0, 2_000)).toMatch(/nothing here has run on Windows/i);
  });
});

describe("README, CONTRIBUTING and SECURITY", () => {
  const readme = readFileSync("README.md", "utf8");
  const contributing = readFileSync("CONTRIBUTING.md", "utf8");

  it("name the Node of package.json for the package, and one and the same for a clone", () => {
    const least = /^>=(\d+\.\d+)$/.exec(manifest.engines.node)?.[1];
    const sayings = [readme, contributing].map((text) =>
      [...text.matchAll(/\bNode ([\d.]+\d) or later/g)].map(([, version]) => version),
    );
    expect(sayings).toEqual([
      ["20", least],
      ["20", least],
    ]);
  });

  it("count the run-time packages of package.json, as the decision about them does", () => {
    const { dependencies, optionalDependencies } = manifest;
    const count = Object.keys({ ...dependencies, ...optionalDependencies }).length;
    const said = (file: string): string | undefined =>
      /\b(\w+) packages(?: are installed with Mullion|, which with what they bring)/.exec(
        readFileSync(file, "utf8"),
      )?.[1];
    expect([said("SECURITY.md"), said("docs/decisions/0004-dependencies.md")]).toEqual([
      NUMBERS[count]?.replace(/^./, (letter) => letter.toUpperCase()),
      NUMBERS[count],
    ]);
  });

  it("name every program, and that one executable is on the path", () => {
    const named = readme
      .replace(/(\S+) \(also ([^)]+)\)/, (_all, name: string, rest: string) =>
        [name, ...rest.split(", ").map((ending) => `${name}${ending}`)].join(", "),
      )
      .split(/[\s,;:`|()]+/);
    expect(PROGRAMS.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([]);
    expect(manifest.bin).toEqual({ mullion: "bin/mullion.js" });
  });
});

describe("a planted fault", () => {
  const page = (text: string): { readonly path: string; readonly text: string } => ({
    path: "docs/a.md",
    text,
  });

  it.each([
    ["[x](b.md)", "docs/a.md: b.md leads nowhere"],
    ["[x](../README.md#nowhere)", "docs/a.md: ../README.md#nowhere has no such heading"],
    ["# One\n[x](#two)", "docs/a.md: #two has no such heading"],
  ])("link %j is found", (text, problem) => {
    const pages = [page(text), { path: "README.md", text: "# Here" }];
    expect(findBrokenLinks(pages, KNOWN)).toEqual([problem]);
  });

  it("link in order is not", () => {
    const pages = [
      page("# A `b` (c)\n[x](#a-b-c) [y](../README.md#here) [z](https://example.com)"),
      { path: "README.md", text: "# Here" },
    ];
    expect(findBrokenLinks(pages, KNOWN)).toEqual([]);
  });

  it.each([
    ["| a | b |\n| - | - |\n| 1 | 2 | 3 |", "docs/a.md:3: 3 cells below a head of 2"],
    ["| a | b |\n| - | - |\n| 1 |", "docs/a.md:3: 1 cells below a head of 2"],
    ["| a |\n| - |\n| 1 |\n| - |", "docs/a.md:4: a table has one head"],
    ["| a |\n| 1 |", "docs/a.md:2: a table has one head"],
  ])("table %j is found", (text, problem) => {
    expect(findBrokenTables([page(text)])).toEqual([problem]);
  });

  it("table in order is not", () => {
    const text = "| a | b |\n| :-- | --: |\n| `x \\| y` | 2 |\n\n| c |\n| - |";
    expect(findBrokenTables([page(text)])).toEqual([]);
  });

  it("path is found", () => {
    expect(
      findMissingPaths(
        [page("See `src/core/base/assert.ts`, `src/*/mod.tsx` and `src/no/where.ts`.")],
        KNOWN,
      ),
    ).toEqual(["docs/a.md: src/*/mod.tsx does not exist", "docs/a.md: src/no/where.ts does not exist"]);
  });

  it("name of a file in a room is found", () => {
    const known = {
      ...KNOWN,
      imports: { "#core/*.ts": "./bench/*.ts", "#core/base/*.ts": "./tools/*.ts" },
    };
    expect(
      findMissingPaths([page("See `#core/base/tidy.ts`, `#core/base/` and `#core/base/where.ts`.")], known),
    ).toEqual(["docs/a.md: #core/base/where.ts does not exist"]);
  });

  it.each([
    ["npm install --prefix C:\\mullion mullion", true],
    ["npm i -g mullion@latest", true],
    ["npx -y mullion verify", true],
    ["npm install --global .", false],
    ["npm install --prefix C:\\mullion .\\mullion-0.1.0.tgz", false],
    ["npm --prefix ../mullion ci", false],
    ["npx mullion verify -f mullion", false],
  ])("install %j is found: %s", (line, isFound) => {
    expect(findUnpublished([page(`\`\`\`powershell\n${line}\n\`\`\`\n`)])).toHaveLength(isFound ? 1 : 0);
  });

  it.each([
    ["npm run nothing", "there is no script nothing"],
    ["npx mullion tarce x", "there is no verb tarce"],
    ["npx mullion get pods -f examples/none/cluster.yaml", "examples/none/cluster.yaml does not exist"],
    ["npm publish", "npm publish is not used here"],
  ])("command %j is found", (line, problem) => {
    expect(findUnknownCommands([page(`\`\`\`sh\n${line}\n\`\`\`\n`)], KNOWN)).toEqual([
      `docs/a.md: ${line}: ${problem}`,
    ]);
  });
});
