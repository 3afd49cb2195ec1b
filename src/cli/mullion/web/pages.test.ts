// Reports as one file: what is in it, and what cannot be. How they look and work in a browser is tested in test/ui.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { allVerbs } from "#test/support/cli/all-verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { doctor } from "../doctor.ts";
import { runMullion } from "../program.ts";
import { trace } from "../trace.ts";
import { verify } from "../verify.ts";
import { formatHtml } from "./pages.ts";

const HOSTILE = "</script><script>alert(1)</script>\u202egnp.exe";
const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: small }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
pods:
  - { name: a, node: win-1, ports: [{ port: 8080 }] }
  - { name: b, node: win-1 }
`;
const OBJECTS = "examples/broken-node/collected/objects.yaml";

async function run(...argv: readonly string[]): Promise<string> {
  const terminal = new MemoryTerminal({
    "c.yaml": CLUSTER,
    [OBJECTS]: readFileSync(OBJECTS, "utf8"),
  });
  const verbs = allVerbs(() => Promise.reject(new Error("another verb")), { trace, verify, doctor });
  await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  expect(terminal.errors).toBe("");
  return terminal.output;
}

/** The document behind a page, as the page reads it. */
function dataOf(html: string): { readonly document: unknown; readonly explanations: object } {
  const [, json = ""] = /<script type="application\/json" id="data">([^<]*)<\/script>/.exec(html) ?? [];
  return JSON.parse(json) as { document: unknown; explanations: object };
}

describe("-o html", () => {
  it.each(["verify -f c.yaml", "verify -f c.yaml --profile ws2019,ws2022", `doctor ${OBJECTS}`])(
    "holds what -o json prints: %s",
    async (line) => {
      const argv = line.split(" ");
      const html = await run(...argv, "-o", "html");
      expect(dataOf(html).document).toEqual(JSON.parse(await run(...argv, "-o", "json")));
    },
  );

  it("holds the bytes of each step of a trace besides, and the text for who has no scripts", async () => {
    const html = await run("trace", "-f", "c.yaml", "pod/b", "pod/a", "-o", "html");
    const { document } = dataOf(html) as { document: { forward: { steps: { bytes: string }[] } } };
    const frames = document.forward.steps.map(({ bytes }) => bytes);
    // Addresses of sender and receiver, behind 26 bytes of Ethernet and IPv4.
    expect(new Set(frames.map((bytes) => bytes.slice(52, 68)))).toEqual(new Set(["0af401040af40103"]));
    const plain = JSON.stringify(document, (name, value: unknown) => (name === "bytes" ? undefined : value));
    const json = await run("trace", "-f", "c.yaml", "pod/b", "pod/a", "-o", "json");
    expect(JSON.parse(plain)).toEqual(JSON.parse(json));
    expect(html).toContain("pod/default/b (10.244.1.4 on win-1) → pod/default/a");
  });

  it("holds the entries of the catalogue that its codes name", async () => {
    const html = await run("trace", "-f", "c.yaml", "pod/b", "external", "--protocol", "icmp", "-o", "html");
    expect(Object.keys(dataOf(html).explanations)).toEqual(["icmp-outbound-not-translated", "no-route"]);
  });
});

describe("a page", () => {
  let html = "";
  const report = { cells: [{ from: HOSTILE }] } as unknown as VerifyReport;
  beforeAll(async () => {
    html = await formatHtml(report, HOSTILE, HOSTILE);
  });

  it("shows markup and what steers a line as text, and says the same", () => {
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html).not.toContain("\u202e");
    expect(dataOf(html).document).toEqual(report);
  });

  it("lets its own script and style run, and nothing else", () => {
    const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
    const [, style = ""] = /<style>([^]*?)<\/style>/.exec(html) ?? [];
    const [, script = ""] = /<script>([^]*?)<\/script>/.exec(html) ?? [];
    const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    expect(policy.split("; ")).toEqual([
      "default-src 'none'",
      `script-src ${hash(script)}`,
      `style-src ${hash(style)}`,
      "base-uri 'none'",
      "form-action 'none'",
    ]);
  });

  it("asks for nothing elsewhere", () => {
    expect(html).not.toMatch(/(?:src|href)="|@import|url\(/);
  });
});
