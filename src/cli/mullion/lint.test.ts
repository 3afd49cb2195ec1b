// `mullion lint` as a user would run it, over files in memory.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";

const POD = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  hostNetwork: true
  containers: [{ name: web, image: registry.example/web:1 }]
`;
const SERVICE = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { sessionAffinity: ClientIP, ports: [{ port: 80 }] }
`;
const NODE = `apiVersion: v1
kind: Node
metadata: { name: win-1 }
status:
  nodeInfo: { operatingSystem: windows, kernelVersion: 10.0.17763.6293, kubeProxyVersion: v1.28.3 }
`;

/** UTF-16 with a byte order mark, as PowerShell writes it. */
function utf16(text: string): Uint8Array {
  const bytes = new Uint8Array(2 + text.length * 2);
  bytes.set([0xff, 0xfe]);
  for (let index = 0; index < text.length; index++) {
    bytes[2 + index * 2] = text.charCodeAt(index) & 0xff;
    bytes[3 + index * 2] = text.charCodeAt(index) >> 8;
  }
  return bytes;
}

const FILES = {
  "acs/cluster.yaml": readFileSync("examples/acs-2017/cluster.yaml", "utf8"),
  "acs/manifests.yaml": readFileSync("examples/acs-2017/manifests.yaml", "utf8"),
  "pod.yaml": POD,
  "-": `apiVersion: v1\nkind: List\nitems:\n${[NODE, SERVICE].map((text) => `- ${text.trimEnd().replaceAll("\n", "\n  ")}\n`).join("")}`,
  "good.yaml": POD.replace("  hostNetwork: true\n", ""),
  "legacy/pod.yaml": POD,
  "legacy/deep/pod.yaml": POD,
  "legacy/.mullion-lint.yaml":
    'ignore: [{ code: host-network-unsupported, paths: ["deep/**"], reason: old }]\n',
  "eks/cluster.yaml":
    'apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: a, version: "1.29" }\nnodeGroups: [{ name: w, amiFamily: WindowsServer2019FullContainer }]\n',
  "eks/pod.yaml":
    "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: 'mcr.microsoft.com/windows/servercore:ltsc2022' }] }\n",
  "legacy/node_modules/x/pod.yaml": POD,
  "legacy/readme.md": "# nothing",
  "empty/notes.txt": "nothing",
};

async function run(line: string): Promise<{ code: number; out: string; err: string }> {
  const terminal = new MemoryTerminal(FILES);
  terminal.files.set("utf16.yaml", utf16(POD));
  terminal.files.set("binary.yaml", Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 0));
  const argv = ["lint", ...line.split(" ").filter((word) => word !== "")];
  const code = await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

it("nodes of before HCN are known by their build, and reach Services by their kube-proxy", async () => {
  const { code, out } = await run("acs");
  expect(code).toBe(0);
  expect(out).toContain("nothing found");
  expect(out).toContain("for Windows Server 2016 (from the cluster file) and Kubernetes 1.6");
});

it("eksctl's document says the builds of Windows and the version", async () => {
  const { code, out } = await run("eks");
  expect(code).toBe(1);
  expect(out).toContain("image-of-another-build");
  expect(out).toContain("for Windows Server 2019 (from the cluster's definition) and Kubernetes 1.29 (from");
});

describe("mullion lint", () => {
  it("ends with 1 on findings, with their places", async () => {
    const { code, out } = await run("pod.yaml");
    expect(code).toBe(1);
    expect(out).toMatch(/^pod\.yaml:6:3: error: host-network-unsupported \(Pod web\)\n/);
  });

  it("ends with 0 when nothing is found", async () => {
    expect(await run("good.yaml")).toMatchObject({ code: 0, err: "" });
  });

  it("reads standard input, and takes build and version from the Node objects there", async () => {
    const { code, out } = await run("-");
    expect(code).toBe(1);
    expect(out).toContain("standard input:12:11: warning: session-affinity-unsupported (Service web)\n");
    expect(out).toContain(
      "for Windows Server 2019 (17763.6293) (from the Node objects) and Kubernetes 1.28.3",
    );
  });

  it("lets flags win over Node objects", async () => {
    expect(await run("- --profile ws2022")).toMatchObject({ code: 0 });
  });

  it("searches a folder and all below it, and silences what its own file says", async () => {
    const { code, out } = await run("legacy");
    expect(code).toBe(1);
    expect(out).toContain("legacy/pod.yaml:6:3");
    expect(out).not.toContain("legacy/deep/pod.yaml:6");
    expect(out).not.toContain("node_modules");
    expect(out).toContain("2 documents in 2 files checked: 1 error; 1 suppressed");
  });

  it("reads UTF-16", async () => {
    expect((await run("utf16.yaml")).out).toContain("utf16.yaml:6:3: error: host-network-unsupported");
  });

  it("leaves out what weighs less, for the exit code as well", async () => {
    expect(await run("- --severity error")).toMatchObject({ code: 0 });
    expect(await run("pod.yaml --severity error")).toMatchObject({ code: 1 });
  });

  it.each([
    ["", "no file is given"],
    ["missing.yaml", 'cannot read "missing.yaml"'],
    ["pod.yaml --profile windows95", '"windows95" is not a build of Windows'],
    ["pod.yaml --kubernetes new", '"new" is not a version of Kubernetes'],
    ["pod.yaml --format xml", "xml"],
    ["pod.yaml -o json --format text", "-o and --format both say how to print it"],
    ["binary.yaml", "there is nothing here that lint reads"],
    ["empty", "there is nothing here that lint reads"],
  ])("lint %s ends with 2", async (line, message) => {
    const { code, err } = await run(line);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  it("says of what it cannot read why, and what it could", async () => {
    expect(await run("binary.yaml")).toEqual({
      code: 2,
      out: "",
      err:
        "mullion: there is nothing here that lint reads: binary.yaml: the file holds no text [input-without-documents]\n" +
        "    Name manifests, CNI configuration or other files that it reads: mullion lint --help\n" +
        "    More: mullion explain input-without-documents\n",
    });
  });

  it("reports other files when one holds no text", async () => {
    const { code, out } = await run("binary.yaml pod.yaml");
    expect(code).toBe(1);
    expect(out).toContain("skipped: binary.yaml: the file holds no text");
  });

  it("lists its rules", async () => {
    const { code, out } = await run("--list");
    expect(code).toBe(0);
    expect(out).toMatch(/^host-network-unsupported +error +\S/m);
    expect(Number(/(\d+) rules\./.exec(out)?.[1])).toBeGreaterThanOrEqual(60);
    expect(JSON.parse((await run("--list --format json")).out)).toContainEqual(
      expect.objectContaining({ code: "host-network-unsupported", severity: "error" }),
    );
  });

  it.each(["json", "yaml", "sarif", "junit"])("prints %s by either name of the flag", async (format) => {
    expect((await run(`pod.yaml -o ${format}`)).out).toBe((await run(`pod.yaml --format ${format}`)).out);
  });

  it("gives code scanning paths from the root of the repository", async () => {
    const absolute = join(process.cwd(), "k8s", "pod.yaml");
    const terminal = new MemoryTerminal({ [absolute]: FILES["pod.yaml"] });
    const argv = ["lint", absolute, "-o", "sarif"];
    await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
    const { runs } = JSON.parse(terminal.output) as {
      runs: [{ results: { locations: [{ physicalLocation: { artifactLocation: { uri: string } } }] }[] }];
    };
    const uris = runs[0].results.map(({ locations }) => locations[0].physicalLocation.artifactLocation.uri);
    expect([...new Set(uris)]).toEqual(["k8s/pod.yaml"]);
  });

  it.each(["json", "sarif"])("prints %s", async (format) => {
    expect(JSON.parse((await run(`pod.yaml --format ${format}`)).out)).toBeTruthy();
  });
});
