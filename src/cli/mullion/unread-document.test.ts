// A document with a fault of YAML among good ones: one finding for the fault, and nothing is said of what may stand there.
import { expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { verify } from "./verify.ts";
import { runMullion } from "./program.ts";

async function run(line: string, text: string): Promise<{ readonly out: string; readonly code: number }> {
  const terminal = new MemoryTerminal({ "shop.yaml": text }, 200);
  const argv = line.split(" ");
  const code = await runMullion({ argv, verbs: { lint, verify }, terminal, version: "0", isDebug: true });
  return { out: `${terminal.output}${terminal.errors}`, code };
}

const SERVICE = `apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`;

/** The bracket of the selector is open. */
const BROKEN = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default }
spec:
  selector: { matchLabels: { app: web }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: registry.example/web:1 }] }
`;

it("lint names a bracket that is open, at its place, once", async () => {
  const { out, code } = await run("lint shop.yaml", `${SERVICE}---\n${BROKEN}`);
  expect(code).toBe(1);
  expect(out).toContain("shop.yaml:11:3: error: manifest-invalid-yaml");
  expect(out).toContain("Close what is open before this place");
  expect(out).toContain("1 document in 1 file checked: 1 error");
});

it("lint names the first fault of a document alone", async () => {
  const text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n   namespace: shop\n";
  expect((await run("lint shop.yaml", text)).out).toContain("0 documents in 1 file checked: 1 error");
});

// goyaml.v2 of sigs.k8s.io/yaml: scanned without regard to the indentation.
it.each([
  ["a list", 'command: ["a",\n"b",\n"c"\n]\n'],
  ["a text in a list", "command: ['sh', '-c', '\n      mkdir a;\n      ']\n"],
  ["a text", 'workingDir: "one\ntwo\nthree"\n'],
])("%s that goes on at the left edge is read as Kubernetes reads it", async (_, field) => {
  const pod = `apiVersion: v1\nkind: Pod\nmetadata: { name: web, labels: { app: web } }\nspec:\n  containers:\n    - name: web\n      image: registry.example/web:1\n      ${field}`;
  const { out } = await run("lint shop.yaml", `${SERVICE}---\n${pod}`);
  expect(out).toContain("2 documents in 1 file checked: nothing found");
  expect(out).not.toContain("skipped");
});

it("verify does not judge a Service whose back ends may stand in the broken document", async () => {
  const { out } = await run("verify -f shop.yaml", `${SERVICE}---\n${BROKEN}`);
  expect(out).toMatch(/→ default\/web +not judged/u);
  expect(out).toMatch(/left out +shop\.yaml:11:3/u);
  expect(out).not.toContain("selector-matches-nothing");
  expect(out).not.toContain("service-without-endpoints");
});

it("verify says of the same Service in a file without faults that nothing is behind it", async () => {
  const { out } = await run("verify -f shop.yaml", SERVICE);
  expect(out).toContain("selector-matches-nothing");
  expect(out).toContain("service-without-endpoints");
});
