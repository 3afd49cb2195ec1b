import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readInput } from "#cluster/input/read-input.ts";
import { LIMITS } from "#core/base/limits.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { readClusterInputs } from "./cluster/read-cluster-inputs.ts";
import { processTerminal } from "./process-terminal.ts";
import { readInputs } from "./read-inputs.ts";

const CLUSTER_FILE = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes: [{name: linux-1, os: linux, address: 10.0.0.21}]
`;

const FILES = {
  "one.yaml": "one",
  "-": "piped",
  "lab/b.yaml": "b",
  "lab/a.json": "a",
  "lab/c.YML": "c",
  "lab/notes.md": "no",
  "lab/deep/d.yaml": "d",
  "empty/notes.md": "no",
  "outer/inner/x.yaml": "x",
};

async function read(paths: readonly string[], isRecursive = false): Promise<readonly string[]> {
  const inputs = await readInputs(paths, isRecursive, new MemoryTerminal(FILES));
  return inputs.map(({ name, text }) => `${name}=${text}`);
}

describe("what -f names", () => {
  it.each([
    [["one.yaml"], false, ["one.yaml=one"]],
    [["-"], false, ["standard input=piped"]],
    [["lab"], false, ["lab/a.json=a", "lab/b.yaml=b", "lab/c.YML=c"]],
    [["lab/"], true, ["lab/a.json=a", "lab/b.yaml=b", "lab/c.YML=c", "lab/deep/d.yaml=d"]],
    [["outer"], true, ["outer/inner/x.yaml=x"]],
    [
      ["one.yaml", "-", "lab"],
      false,
      ["one.yaml=one", "standard input=piped", "lab/a.json=a", "lab/b.yaml=b", "lab/c.YML=c"],
    ],
    [["lab/b.yaml", "lab", "lab/b.yaml"], false, ["lab/b.yaml=b", "lab/a.json=a", "lab/c.YML=c"]],
    // A file that is named itself may have any name.
    [["lab/notes.md"], false, ["lab/notes.md=no"]],
    [[], false, []],
  ])("%j, recursive %j: %j", async (paths, isRecursive, texts) => {
    expect(await read(paths, isRecursive)).toEqual(texts);
  });

  it.each([
    [
      ["missing.yaml"],
      false,
      "cluster-file-unreadable",
      /^cannot read "missing.yaml": there is no such file$/,
    ],
    [
      ["empty"],
      false,
      "input-without-documents",
      /^there are no files .yaml, .yml, .json in the folder "empty"$/,
    ],
    [["outer"], false, "input-without-documents", /in the folder "outer"$/],
    [["-", "-"], false, "bad-usage", /^standard input is named twice$/],
    [["https://example.com/web.yaml"], false, "bad-usage", /is a URL, and nothing is fetched/],
  ])("%j is refused: %s", async (paths, isRecursive, code, message) => {
    await expect(read(paths, isRecursive)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
      exitCode: 2,
    });
  });

  it("is bounded in bytes, together: each file may have what those before it left", async () => {
    const limits: number[] = [];
    class Limited extends MemoryTerminal {
      override readFile(path: string, bytesMax?: number): Promise<string> {
        limits.push(bytesMax ?? 0);
        return super.readFile(path);
      }
    }
    const files = { "a.yaml": "12345", "b.yaml": "ü", "c.yaml": "x" };
    await readInputs(Object.keys(files), false, new Limited(files));
    expect(limits.map((each) => LIMITS.inputBytesMax - each)).toEqual([0, 5, 7]);
  });

  it("is bounded in number", async () => {
    const count = LIMITS.inputFilesMax + 1;
    const files = Object.fromEntries(Array.from({ length: count }, (_, index) => [`many/${index}.yaml`, ""]));
    await expect(readInputs(["many"], false, new MemoryTerminal(files))).rejects.toMatchObject({
      code: "cluster-file-too-large",
    });
  });
});

describe("real files", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "mullion-inputs-"));
    const text = "name: Zürich\n";
    const little = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]);
    writeFileSync(join(folder, "utf8.yaml"), text);
    writeFileSync(join(folder, "bom.yaml"), `\uFEFF${text}`);
    writeFileSync(join(folder, "powershell.yaml"), little);
    writeFileSync(join(folder, "big-endian.yaml"), Buffer.from(little).swap16());
    mkdirSync(join(folder, "deep.yaml"));
    writeFileSync(join(folder, "deep.yaml", "deep.yaml"), text);
    symlinkSync(join(folder, "utf8.yaml"), join(folder, "link.yaml"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("are read in the encodings that kubectl's output has on Windows and elsewhere", async () => {
    const inputs = await readInputs([folder], true, processTerminal());
    expect(inputs.map(({ name, text }) => [name.slice(folder.length + 1), text])).toEqual([
      ["big-endian.yaml", "name: Zürich\n"],
      ["bom.yaml", "name: Zürich\n"],
      ["deep.yaml/deep.yaml", "name: Zürich\n"],
      ["link.yaml", "name: Zürich\n"],
      ["powershell.yaml", "name: Zürich\n"],
      ["utf8.yaml", "name: Zürich\n"],
    ]);
  });

  it("are read in chunks when they are long, as often as they are asked for", async () => {
    const path = join(folder, "long.json");
    writeFileSync(path, '{"kind":"List"}');
    expect(await processTerminal().readChunks(path)).toBeUndefined();
    truncateSync(path, LIMITS.wholeFileBytesMax + 1);
    const chunks = await processTerminal().readChunks(path);
    for (const _ of [1, 2]) {
      let bytes = 0;
      let begin = "";
      for (const chunk of chunks ?? []) {
        begin ||= Buffer.from(chunk.subarray(0, 15)).toString();
        bytes += chunk.length;
        if (bytes > LIMITS.wholeFileBytesMax / 16) break;
      }
      expect([begin, bytes]).toEqual(['{"kind":"List"}', 8_388_608]);
    }
    rmSync(path);
  });

  it("are bounded also where they have no size", async () => {
    await expect(processTerminal().readFile("/dev/zero", 1_000_000)).rejects.toMatchObject({ code: "EFBIG" });
  });
});

describe("manifests in folders below", () => {
  const NODE = "{apiVersion: v1, kind: Node, metadata: {name: linux-1, labels: {kubernetes.io/os: linux}}}";
  const POD = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}";
  // As `kubectl cluster-info dump --output-directory` writes them.
  const DUMP = {
    "dump/nodes.json": NODE,
    "dump/default/pods.json": POD,
    "dump/default/web/logs.txt": "hello",
  };

  async function told(
    files: Readonly<Record<string, string>>,
    isRecursive: boolean,
  ): Promise<readonly string[]> {
    const texts = await readClusterInputs(["dump"], isRecursive, new MemoryTerminal(files));
    const result = readInput(texts);
    if (!("input" in result)) throw new Error(JSON.stringify(result.problems));
    return result.input.notes
      .filter(({ code }) => code === "input-folders-unread")
      .map(({ file, message }) => `${file}: ${message}`);
  }

  it("that nobody asked for are told", async () => {
    expect(await told(DUMP, false)).toEqual(["dump: 1 file in folders below this one was not read"]);
    expect(await told({ ...DUMP, "dump/kube-system/pods.json": POD }, false)).toEqual([
      "dump: 2 files in folders below this one were not read",
    ]);
    // Its first file is another program's, and passed by.
    expect(await told({ ...DUMP, "dump/a.conf": "set x 1" }, false)).toHaveLength(1);
  });

  it.each([
    ["with -R", DUMP, true],
    ["beside a cluster file, which names its own", { ...DUMP, "dump/c.yaml": CLUSTER_FILE }, false],
    ["that hold no manifests", { "dump/nodes.json": NODE, "dump/notes/a.md": "x" }, false],
    [
      "that are hidden",
      { "dump/nodes.json": NODE, "dump/.git/a.json": "{}", "dump/node_modules/b.json": "{}" },
      false,
    ],
  ])("%s are not", async (_, files, isRecursive) => {
    expect(await told(files, isRecursive)).toEqual([]);
  });
});
