// Pods whose images or ports keep their containers from running: what get, verify, trace and lint say of them.
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { get } from "./get/get.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24 }
`;

function pod(name: string, spec: string, image: string, more = ""): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec:
  ${spec}
  containers:
    - { name: ${name}, image: "${image}", ports: [{ containerPort: 80 }] }
${more}`;
}

/** Manifests alone: nothing says what the nodes are. */
const NO_CLUSTER = "";

const WINDOWS = "nodeSelector: { kubernetes.io/os: windows }";
const CLIENTS =
  pod("client", WINDOWS, "registry.example/client:1") + pod("tool", "nodeName: linux-1", "alpine:3.20");

async function run(words: readonly string[], pods: string, cluster = CLUSTER): Promise<MemoryTerminal> {
  const terminal = new MemoryTerminal({ "cluster.yaml": cluster, "pods.yaml": pods });
  const files = cluster === NO_CLUSTER ? ["pods.yaml"] : ["cluster.yaml", "pods.yaml"];
  const inputs = words[0] === "lint" ? files : files.flatMap((file) => ["-f", file]);
  const argv = [...words, ...inputs];
  await runMullion({ argv, verbs: { get, lint, trace, verify }, terminal, version: "0", isDebug: false });
  return terminal;
}

/** The row of `mullion get pods` that begins with the name. */
async function row(name: string, pods: string): Promise<readonly string[]> {
  const { output } = await run(["get", "pods"], pods);
  return (output.split("\n").find((line) => line.startsWith(name)) ?? "").split(/\s+/).slice(0, 3);
}

async function verified(pods: string): Promise<VerifyReport> {
  return JSON.parse((await run(["verify", "-o", "json"], pods)).output) as VerifyReport;
}

describe("a container that cannot start", () => {
  it.each([
    // microsoft/Windows-Containers issue 223: nothing is pulled from a list without the node's platform.
    ["image-of-another-build", WINDOWS, "mcr.microsoft.com/windows/servercore:ltsc2019", "ErrImagePull"],
    ["image-of-another-build", WINDOWS, "mcr.microsoft.com/windows/nanoserver:1809", "ErrImagePull"],
    ["image-of-another-build", WINDOWS, "mcr.microsoft.com/windows/servercore:20H2", "ErrImagePull"],
    ["image-of-another-build", WINDOWS, "mcr.microsoft.com/windows/server:ltsc2025", "ErrImagePull"],
    // kubernetes/kubernetes issue 74019: one manifest is pulled, and its container does not start.
    ["image-of-another-build", WINDOWS, "acme.azurecr.io/shop:1.2-ltsc2019", "RunContainerError"],
    ["linux-image-on-windows-node", WINDOWS, "nginx:1.27", "ErrImagePull"],
    [
      "windows-image-on-linux-node",
      "nodeName: linux-1",
      "mcr.microsoft.com/windows:ltsc2022",
      "ErrImagePull",
    ],
  ])("%s: %s with %s", async (code, spec, image, status) => {
    const pods = CLIENTS + pod("web", spec, image);
    expect(await row("web", pods)).toEqual(["web", "0/1", status]);
    const { findings, counts } = await verified(pods);
    expect(findings.map((each) => each.code)).toEqual([code]);
    expect(counts.findings).toBe(1);
    const checked = await run(["lint", "--format", "json"], pods);
    expect(checked.output).toContain(`"code": "${code}"`);
    // Its sandbox has an address, and nothing listens there.
    const followed = await run(["trace", "pod/client", "pod/web", "--port", "80"], pods);
    expect(followed.output).toContain("mullion explain port-not-listening");
  });

  it.each([
    ["ws2025", WINDOWS, "mcr.microsoft.com/windows/nanoserver:ltsc2022"],
    ["ws2022", WINDOWS, "mcr.microsoft.com/dotnet/aspnet:8.0"],
    // Another runtime may isolate with Hyper-V.
    [
      "ws2022",
      `${WINDOWS}\n  runtimeClassName: runhcs-hyperv`,
      "mcr.microsoft.com/windows/nanoserver:ltsc2019",
    ],
    [
      "ws2022",
      `${WINDOWS}\n  hostNetwork: true\n  securityContext: { windowsOptions: { hostProcess: true } }`,
      "mcr.microsoft.com/windows/nanoserver:ltsc2019",
    ],
  ])("nothing is said on %s: %s with %s", async (build, spec, image) => {
    const pods = pod("web", spec, image);
    const cluster = CLUSTER.replaceAll("ws2022", build);
    expect((await run(["get", "pods"], pods, cluster)).output).toMatch(/^web +1\/1 +Running/m);
    expect((await run(["lint"], pods, cluster)).output).toContain("nothing found");
  });

  it("is not behind its Service, and no flow is asked of it", async () => {
    const service = `
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`;
    const pods = CLIENTS + pod("web", WINDOWS, "mcr.microsoft.com/windows/servercore:ltsc2019") + service;
    const { cells } = await verified(pods);
    expect(cells.filter(({ from, to }) => [from, to].includes("pod/default/web"))).toMatchObject([
      { flow: "bring-up" },
    ]);
    const followed = await run(["trace", "pod/client", "service/web"], pods);
    expect(followed.output).toContain("mullion explain service-without-back-ends");
  });

  it("leaves the other container of its pod running, and the pod unready", async () => {
    const more = `    - { name: side, image: "registry.example/side:1", ports: [{ containerPort: 9000 }] }`;
    const pods = CLIENTS + pod("web", WINDOWS, "mcr.microsoft.com/windows/servercore:ltsc2019", more);
    expect(await row("web", pods)).toEqual(["web", "1/2", "ErrImagePull"]);
    const asked = async (port: string) =>
      (await run(["trace", "pod/client", "pod/web", "--port", port], pods)).output;
    expect(await asked("9000")).toContain("Answered");
    expect(await asked("80")).toContain("port-not-listening");
  });
});

describe("two containers with one port", () => {
  const more = (protocol: string) =>
    `    - { name: side, image: "registry.example/side:1", ports: [{ containerPort: 80, protocol: ${protocol} }] }`;

  it("is a finding of verify and of lint", async () => {
    const pods = CLIENTS + pod("web", WINDOWS, "registry.example/web:1", more("TCP"));
    expect((await verified(pods)).findings.map(({ code }) => code)).toEqual(["container-ports-conflict"]);
    const { output } = await run(["lint"], pods);
    expect(output).toMatch(/warning: container-ports-conflict \(Pod web\)/);
  });

  it("the first runs, the second is started again and again", async () => {
    const pods = CLIENTS + pod("web", WINDOWS, "registry.example/web:1", more("TCP"));
    expect(await row("web", pods)).toEqual(["web", "1/2", "CrashLoopBackOff"]);
    const { output } = await run(["get", "pod", "web", "-o", "json"], pods);
    expect(JSON.parse(output)).toMatchObject({
      status: {
        phase: "Running",
        containerStatuses: [
          { name: "web", ready: true, restartCount: 0, state: { running: {} } },
          {
            name: "side",
            ready: false,
            restartCount: 1,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 1, reason: "Error" } },
          },
        ],
      },
    });
  });

  it("its kubelet writes an Event", async () => {
    const pods = CLIENTS + pod("web", WINDOWS, "registry.example/web:1", more("TCP"));
    const { output } = await run(["get", "events", "-o", "json"], pods);
    const { items } = JSON.parse(output) as { readonly items: readonly object[] };
    expect(items).toMatchObject([
      {
        reason: "BackOff",
        type: "Warning",
        message: expect.stringMatching(
          /^Back-off restarting failed container=side pod=web_default\([0-9a-f-]{36}\)$/,
        ) as string,
        involvedObject: { kind: "Pod", name: "web", fieldPath: "spec.containers{side}" },
        source: { component: "kubelet", host: expect.stringMatching(/^win-/) as string },
      },
    ]);
  });

  it("of different protocols is none", async () => {
    const pods = CLIENTS + pod("web", WINDOWS, "registry.example/web:1", more("UDP"));
    expect((await verified(pods)).findings).toEqual([]);
    expect((await run(["lint"], pods)).output).toContain("nothing found");
  });
});

describe("a HostProcess pod without hostNetwork", () => {
  it("is refused, and lint says so", async () => {
    const spec = `${WINDOWS}\n  securityContext: { windowsOptions: { hostProcess: true } }`;
    const pods = CLIENTS + pod("agent", spec, "registry.example/agent:1");
    expect((await run(["get", "pods"], pods)).output).not.toContain("agent");
    expect((await verified(pods)).findings).toMatchObject([{ code: "manifest-invalid-value" }]);
    expect((await run(["lint"], pods)).output).toContain("error: host-process-without-host-network");
  });
});

/** A pod of a dump, with what its kubelet told of its container. */
function dumped(name: string, address: string, phase: string, state: string): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: default, uid: 0f0c1a52-7d0e-4a0e-9a4e-0d9a5a3e7c1${address.at(-1)} }
spec: { nodeName: win-1, containers: [{ name: app, image: "registry.example/app:1", ports: [{ containerPort: 80 }] }] }
status:
  phase: ${phase}
  podIP: ${address}
  conditions: [{ type: Ready, status: "False", reason: ContainersNotReady }]
  containerStatuses:
    - { name: app, image: "registry.example/app:1", imageID: "", ready: false, restartCount: 3, state: { ${state} } }
`;
}

describe("a pod of a dump whose container does not run", () => {
  const pods =
    CLIENTS +
    dumped("scale", "10.244.1.41", "Running", "waiting: { reason: CrashLoopBackOff }") +
    dumped("report", "10.244.1.42", "Pending", "waiting: { reason: ImagePullBackOff }");

  it("is listed as it was dumped", async () => {
    expect(await row("scale", pods)).toEqual(["scale", "0/1", "CrashLoopBackOff"]);
    expect(await row("report", pods)).toEqual(["report", "0/1", "ImagePullBackOff"]);
  });

  it("is a note of verify and no finding", async () => {
    const { basis, findings } = await verified(pods);
    expect(findings).toEqual([]);
    expect(basis.notes.filter(({ code }) => code === "container-not-running")).not.toEqual([]);
  });

  it("refuses what is sent to its address", async () => {
    const { output } = await run(["trace", "pod/client", "pod/scale", "--port", "80"], pods);
    expect(output).toContain("mullion explain port-not-listening");
  });
});

describe("a pod that has no network here", () => {
  it("is not ready, whatever its dump said", async () => {
    const running = dumped("far", "192.168.7.5", "Running", 'running: { startedAt: "2024-05-01T07:11:00Z" }');
    expect(await row("far", CLIENTS + running.replace("ready: false", "ready: true"))).toEqual([
      "far",
      "0/1",
      "ContainerCreating",
    ]);
  });
});

describe("manifests without nodes", () => {
  const SERVERCORE = "mcr.microsoft.com/windows/servercore";
  const answers = async (pods: string) => ({
    verify: await run(["verify", "-o", "json"], pods, NO_CLUSTER),
    lint: (await run(["lint"], pods, NO_CLUSTER)).output,
  });

  it("run on the build that their images are made for, and both verify and lint say so", async () => {
    const { verify: green, lint: linted } = await answers(pod("web", WINDOWS, `${SERVERCORE}:ltsc2019`));
    const { findings, basis } = JSON.parse(green.output) as VerifyReport;
    expect(findings).toEqual([]);
    expect(basis.facts).toContainEqual(
      expect.objectContaining({ name: "build", value: "ws2019 on win-1, win-2", source: "assumed" }),
    );
    expect(green.output).toContain("two Windows Server 2019 nodes, which pods ask for by image or selector,");
    expect(linted).toContain("nothing found");
    expect(linted).toContain("for Windows Server 2019 (by images and selectors of pods)");
  });

  it("have a node for each build that no other runs; a pod that nothing keeps off the wrong one is told", async () => {
    const two = pod("old", WINDOWS, `${SERVERCORE}:ltsc2019`) + pod("new", WINDOWS, `${SERVERCORE}:ltsc2022`);
    const { lint: linted } = await answers(two);
    expect(linted).toMatch(/info: image-of-another-build \(Pod old\)/);
    expect(linted).toMatch(/info: image-of-another-build \(Pod new\)/);
    const kept = (build: string) =>
      `nodeSelector: { kubernetes.io/os: windows, node.kubernetes.io/windows-build: ${build} }`;
    const apart = await answers(
      pod("old", kept("10.0.17763"), `${SERVERCORE}:ltsc2019`) +
        pod("new", kept("10.0.20348"), `${SERVERCORE}:ltsc2022`),
    );
    expect((JSON.parse(apart.verify.output) as VerifyReport).findings).toEqual([]);
    expect(apart.lint).toContain("nothing found");
  });
});
