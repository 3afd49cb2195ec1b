// Real processes: any number of workers and shards gives the report of one process, in every form.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jobScripts } from "#test/support/cli/shard-examples.ts";

const BIN = resolve("bin/mullion.js");
const EXAMPLES = ["examples/mixed-services/cluster.yaml", "examples/dumps/kubeadm-flannel-vxlan/dump.yaml"];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-shards-"));
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin", "mullion"), `#!/bin/sh\nexec ${process.execPath} ${BIN} "$@"\n`);
  chmodSync(join(folder, "bin", "mullion"), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly text: string;
}

function shell(cwd: string, script: string, env: Readonly<Record<string, string>> = {}): Ended {
  const path = [join(folder, "bin"), process.env["PATH"] ?? ""].join(delimiter);
  const { status, stdout } = spawnSync("sh", ["-c", script], {
    cwd,
    env: { ...process.env, ...env, PATH: path },
    encoding: "utf8",
    maxBuffer: 256e6,
  });
  return { code: status, text: stdout };
}

/** Nodes and as many Services with 15 pods each, two thirds of them Windows. */
function clusterOf(size: number): string {
  const nodes = Array.from({ length: size }, (_, index) => {
    const os = index < (size * 2) / 3 ? "windows" : "linux";
    return `  - { name: n${index}, os: ${os}, address: 172.16.1.${10 + index} }\n`;
  });
  const workloads = Array.from(
    { length: size },
    (_, index) => `---
apiVersion: apps/v1
kind: Deployment
metadata: { name: app${index} }
spec:
  replicas: 15
  selector: { matchLabels: { app: app${index} } }
  template:
    metadata: { labels: { app: app${index} } }
    spec:
      nodeSelector: { kubernetes.io/os: ${index % 3 === 2 ? "linux" : "windows"} }
      containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: app${index} }
spec: { selector: { app: app${index} }, ports: [{ port: 80, targetPort: 8080 }] }
`,
  );
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: large }
network: { clusterCIDR: 10.128.0.0/9 }
underlay: { subnet: 172.16.0.0/16, router: 172.16.0.1 }
nodes:
${nodes.join("")}${workloads.join("")}`;
}

/** Large enough that each of three processes has work for seconds. */
const largeCluster = (): string => clusterOf(10);

describe("1, 2 and 3 workers, and standard input", () => {
  it.each([...EXAMPLES, "large.yaml"])("%s", (file) => {
    const own = join(folder, "large.yaml");
    writeFileSync(own, largeCluster());
    const path = file === "large.yaml" ? own : file;
    const run = (flags: string): Ended => shell(".", `mullion verify -f ${path} -o json ${flags}`);
    const one = run("--workers 1");
    expect(one.text).toContain('"kind": "Verification"');
    expect(run("--workers 2")).toEqual(one);
    expect(run("--workers 3")).toEqual(one);
    const piped = (workers: number): Ended =>
      shell(".", `mullion verify -f - -o json --workers ${workers} < ${path}`);
    if (file !== EXAMPLES[0]) expect(piped(3)).toEqual(piped(1));
  });
});

describe("the Job of examples/verify-shards, in processes", () => {
  it.each([...EXAMPLES, "large.yaml"])("%s", (file) => {
    const work = mkdtempSync(join(folder, "work-"));
    for (const each of ["input", "reports"]) mkdirSync(join(work, each));
    if (file === "large.yaml") writeFileSync(join(work, "input", file), largeCluster());
    else cpSync(resolve(file, ".."), join(work, "input"), { recursive: true });
    // What a cluster file names lies beside it, and a folder would read it twice over.
    rmSync(join(work, "input", "expected.yaml"), { force: true });
    const { shards, merge } = jobScripts();
    const whole = shell(work, "mullion verify -f input -R --workers 1");
    const codes = shards.map(({ env, script }) => shell(work, script, env).code);
    expect(Math.max(...codes.map((code) => code ?? 9))).toBe(whole.code);
    expect(shell(work, merge)).toEqual(whole);
    // How a form is written does not depend on the size.
    for (const output of file === "large.yaml" ? ["json"] : ["json", "yaml", "junit"])
      expect(shell(work, `${merge} -o ${output}`)).toEqual(
        shell(work, `mullion verify -f input -R --workers 2 -o ${output}`),
      );
  });
});

it("says that the memory may not do, before it is used up", () => {
  writeFileSync(join(folder, "large.yaml"), clusterOf(20));
  const script = "mullion verify -f large.yaml --workers 1 2>&1";
  const { text } = shell(folder, script, { NODE_OPTIONS: "--max-old-space-size=60" });
  expect(text).toMatch(
    /^mullion: 20 nodes with 300 pods may take \d+ MiB of memory, and Node gives this process 60\.\n {4}Give it more \(NODE_OPTIONS=--max-old-space-size=MiB\) .*--shard 1\/4\.\n/,
  );
});

it("a worker that dies costs no answer", () => {
  writeFileSync(join(folder, "large.yaml"), largeCluster());
  // The second process is ended as soon as it is there, and once more when it is at work.
  const script = (pauseS: number): string =>
    `mullion verify -f large.yaml -o json --workers 2 & first=$!; sleep ${pauseS}; ` +
    `for p in $(ps -o pid= --ppid $first); do kill -9 $p; done; wait $first`;
  const one = shell(folder, "mullion verify -f large.yaml -o json --workers 1");
  for (const pauseS of [1, 4]) expect(shell(folder, script(pauseS))).toEqual(one);
});
