import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { LongManifestFile } from "#control-plane/load/manifests.ts";
import { readInput } from "./read-input.ts";

function longText(name: string, text: string, size = 1_000): LongManifestFile {
  const bytes = new TextEncoder().encode(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  return { name, text: text.slice(0, size), chunks };
}

describe("an input that is read as a stream", () => {
  it.each(["broken-flannel-vni", "image-of-another-build"])("says of %s what its whole text says", (name) => {
    const text = readFileSync(`examples/dumps/${name}/dump.yaml`, "utf8");
    expect(readInput([longText(name, text)])).toEqual(readInput([{ name, text }]));
  });

  it("names file, line and field of what is broken", () => {
    const text = `apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: win-1
- apiVersion: v1
  kind: Service
  metadata:
    name: web
  spec:
    ports:
    - port: 70000
kind: List
`;
    const read = readInput([longText("dump.yaml", text)]);
    expect("input" in read && read.input.problems).toMatchObject([
      { code: "manifest-invalid-value", file: "dump.yaml", line: 13, path: "spec.ports[0].port" },
    ]);
  });

  it("refuses a cluster file in it, with what to do", () => {
    const text = "apiVersion: mullion/v1alpha1\nkind: Cluster\nnodes: []\n---\napiVersion: v1\nkind: Node\n";
    expect(readInput([longText("both.yaml", text)])).toMatchObject({
      problems: [
        {
          code: "cluster-file-too-large",
          file: "both.yaml",
          advice: expect.stringContaining("-f") as string,
        },
      ],
    });
  });
});
