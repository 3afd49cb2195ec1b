// kubectl as the user's hand, on the emulator's API as `mullion kube serve` serves it.
import { execFile, spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findProgram } from "../../../tools/live-programs.ts";
import { CONTROL_PLANE_TIMEOUT_MS } from "./control-plane.ts";
import { Program } from "./processes.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const UP_MS = 60_000;
let folder: string;
let program: string;
let kubeconfig: string;
let server: Program;

beforeAll(async () => {
  program = findProgram("kubectl");
  folder = mkdtempSync(join(tmpdir(), "mullion-kubectl-"));
  kubeconfig = join(folder, "kubeconfig");
  const serve = [
    "kube",
    "serve",
    "-f",
    "examples/two-windows-nodes/cluster.yaml",
    "--kubeconfig",
    kubeconfig,
  ];
  const command = [process.execPath, join(ROOT, "bin", "mullion.js"), ...serve];
  server = new Program(command, join(folder, "mullion.log"));
  await server.until(() => existsSync(kubeconfig), UP_MS);
}, CONTROL_PLANE_TIMEOUT_MS);

afterAll(async () => {
  await server.end("SIGTERM");
  rmSync(folder, { recursive: true });
});

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[], input = ""): Outcome {
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
  const { status, stdout, stderr } = spawnSync(program, args, {
    input,
    encoding: "utf8",
    env,
    timeout: 60_000,
  });
  return { code: status, stdout, stderr };
}

/** What it prints. @throws Error when it ends with another code than 0. */
function kubectl(...args: readonly string[]): string {
  const { code, stdout, stderr } = run(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

function apply(text: string): string {
  const { code, stdout, stderr } = run(["apply", "-f", "-"], text);
  if (code !== 0) throw new Error(`kubectl apply: ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

function shop(replicas: number): string {
  return `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      containers: [{name: web, image: "web:1", ports: [{name: http, containerPort: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
`;
}

describe("kubectl on the emulator", () => {
  it("finds what there is", () => {
    expect(kubectl("version")).toMatch(/Server Version: v1\.\d+\.\d+/);
    expect(kubectl("api-resources")).toMatch(/endpointslices +discovery\.k8s\.io\/v1 +true +EndpointSlice/);
    expect(kubectl("cluster-info")).toContain("https://127.0.0.1:");
  });

  it("get shows nodes as tables, wide ones, YAML and JSON paths", () => {
    const lines = kubectl("get", "nodes").trim().split("\n");
    expect(lines[0]).toMatch(/^NAME +STATUS +ROLES +AGE +VERSION$/);
    expect(lines[1]).toMatch(/^win-1 +Ready /);
    expect(kubectl("get", "nodes", "-o", "wide")).toMatch(
      /INTERNAL-IP +EXTERNAL-IP +OS-IMAGE +KERNEL-VERSION/,
    );
    expect(kubectl("get", "node", "win-1", "-o", "yaml")).toMatch(/^kind: Node$/m);
    expect(kubectl("get", "node", "win-1", "-o", "jsonpath={.metadata.name}")).toBe("win-1");
    expect(kubectl("get", "nodes", "-l", "kubernetes.io/os=linux", "-o", "name")).toBe("");
  });

  it("apply makes a Deployment and a Service, whose pods run with addresses and are endpoints", () => {
    const created = "namespace/shop created\ndeployment.apps/web created\nservice/web created\n";
    expect(apply(shop(2))).toBe(created);
    const pods = kubectl("get", "pods", "-n", "shop", "-o", "wide").trim().split("\n").slice(1);
    expect(pods).toHaveLength(2);
    for (const line of pods) expect(line).toMatch(/^web-\S+ +1\/1 +Running +0 +\d+s +10\.\S+ +win-[12] /);
    const ready = "{.items[0].endpoints[*].conditions.ready}";
    expect(kubectl("get", "endpointslices", "-n", "shop", "-o", `jsonpath=${ready}`)).toBe("true true");
    kubectl("wait", "-n", "shop", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=5s");
  });

  it("apply again changes nothing; another number of replicas is followed", () => {
    const unchanged = "namespace/shop unchanged\ndeployment.apps/web unchanged\nservice/web unchanged\n";
    expect(apply(shop(2))).toBe(unchanged);
    expect(run(["diff", "-f", "-"], shop(1)).stdout).toMatch(/^- {2}replicas: 2\n\+ {2}replicas: 1$/m);
    expect(apply(shop(1))).toContain("deployment.apps/web configured");
    expect(kubectl("get", "pods", "-n", "shop", "-o", "name").trim().split("\n")).toHaveLength(1);
  });

  it("rollout status, wait and ages are as on a cluster", () => {
    expect(kubectl("rollout", "status", "deployment/web", "-n", "shop", "--timeout=10s")).toContain(
      'deployment "web" successfully rolled out',
    );
    kubectl("wait", "-n", "shop", "--for=condition=Available", "deployment/web", "--timeout=5s");
    kubectl("rollout", "restart", "deployment/web", "-n", "shop");
    kubectl("rollout", "status", "deployment/web", "-n", "shop", "--timeout=10s");
    expect(kubectl("describe", "deployment", "web", "-n", "shop")).toMatch(/^NewReplicaSet: +web-/m);
    const set = (kind: string, more: string): string =>
      `{"apiVersion": "apps/v1", "kind": "${kind}", "metadata": {"name": "set", "namespace": "shop"}, "spec": {${more}
        "selector": {"matchLabels": {"app": "s"}}, "template": {"metadata": {"labels": {"app": "s"}}, "spec": {
        "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "s", "image": "s:1"}]}}}}`;
    apply(set("StatefulSet", '"serviceName": "set",'));
    expect(kubectl("rollout", "status", "statefulset/set", "-n", "shop", "--timeout=10s")).toContain(
      "complete",
    );
    kubectl("delete", "statefulset", "set", "-n", "shop");
    apply(set("DaemonSet", ""));
    expect(kubectl("rollout", "status", "daemonset/set", "-n", "shop", "--timeout=10s")).toContain(
      "rolled out",
    );
    kubectl("delete", "daemonset", "set", "-n", "shop");
    expect(kubectl("get", "nodes,namespaces,pods", "-A")).not.toContain("<unknown>");
  });

  it("apply takes a List, checks its fields, and takes it away again", () => {
    const list = (field: string): string =>
      `{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "two"}, "spec": {"${field}": [{"port": 80}]}}]}`;
    expect(apply(list("ports"))).toBe("configmap/one created\nservice/two created\n");
    const { code, stderr } = run(["apply", "-f", "-"], list("portz"));
    expect([code, stderr]).toEqual([1, expect.stringContaining('unknown field "portz"') as string]);
    expect(run(["delete", "-f", "-"], list("ports")).code).toBe(0);
  });

  it("explain says what fields are, and what differs on Windows", () => {
    expect(kubectl("explain", "pod.spec.dnsPolicy")).toMatch(
      /DESCRIPTION:\s+Where the resolver's settings come from\.[^]*ClusterFirstWithHostNet does not work\s+on\s+Windows\./,
    );
    // A field that is a message of its own.
    expect(kubectl("explain", "service.spec")).toMatch(
      /DESCRIPTION:\s+Which pods, and at which addresses and ports\.\s+FIELDS:/,
    );
    for (const kind of ["pod", "svc", "node", "endpointslice", "netpol", "cm", "deploy", "ds", "ns"])
      expect(kubectl("explain", kind)).not.toContain("<no description>");
  });

  it("explain names the fields of every kind", () => {
    expect(kubectl("explain", "deployment.spec.replicas")).toMatch(/^FIELD: replicas <integer>$/m);
    expect(kubectl("explain", "pods")).toMatch(/^ {2}spec\t<PodSpec>$/m);
    expect(kubectl("explain", "netpol.spec", "--recursive")).toMatch(/^ {2}podSelector\t<LabelSelector>/m);
    for (const kind of kubectl("api-resources", "--no-headers")
      .trim()
      .split("\n")
      .map((line) => line.split(" ")[0] ?? ""))
      expect(kubectl("explain", kind)).toMatch(/^KIND: /m);
  });

  it("apply takes away what is not in the file any more", () => {
    const map = (data: string): string =>
      `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "shop"}, "data": ${data}}`;
    apply(map('{"a": "1", "b": "2"}'));
    apply(map('{"b": "3"}'));
    expect(kubectl("get", "configmap", "m", "-n", "shop", "-o", "jsonpath={.data}")).toBe('{"b":"3"}');
  });

  it("patch, annotate, label and replace", () => {
    kubectl("patch", "service", "web", "-n", "shop", "-p", '{"spec": {"type": "NodePort"}}');
    expect(kubectl("get", "service", "web", "-n", "shop")).toMatch(
      /^web +NodePort +10\.\S+ +<none> +80:3\d{4}\/TCP /m,
    );
    const operations = '[{"op": "replace", "path": "/spec/type", "value": "ClusterIP"}]';
    kubectl("patch", "service", "web", "-n", "shop", "--type=json", "-p", operations);
    kubectl("annotate", "node", "win-1", "example.com/note=hello");
    kubectl("label", "node", "win-1", "zone=a");
    kubectl("label", "node", "win-1", "zone-");
    const node = kubectl("get", "node", "win-1", "-o", "json");
    expect(JSON.parse(node)).toMatchObject({ metadata: { annotations: { "example.com/note": "hello" } } });
    expect(node).not.toContain('"zone"');
    const file = join(folder, "node.json");
    writeFileSync(file, node);
    kubectl("annotate", "node", "win-1", "example.com/note=bye", "--overwrite");
    const stale = run(["replace", "-f", file]);
    expect(stale.code).toBe(1);
    expect(stale.stderr).toContain("the object has been modified");
  });

  it("create and run send protobuf, and what they make is whole", () => {
    kubectl("create", "namespace", "made");
    kubectl("create", "configmap", "m", "-n", "made", "--from-literal=a=1", "--from-literal=b=");
    expect(kubectl("get", "configmap", "m", "-n", "made", "-o", "jsonpath={.data}")).toBe('{"a":"1","b":""}');
    kubectl("create", "deployment", "d", "-n", "made", "--image=web:1", "--port=80", "--replicas=2");
    const deployment = JSON.parse(kubectl("get", "deployment", "d", "-n", "made", "-o", "json")) as object;
    expect(deployment).toMatchObject({
      metadata: { name: "d", labels: { app: "d" } },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "d" } },
        template: {
          metadata: { labels: { app: "d" } },
          spec: { containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }] }] },
        },
      },
    });
    kubectl("scale", "deployment", "d", "-n", "made", "--replicas=3", "--current-replicas=2");
    expect(kubectl("get", "deployment", "d", "-n", "made", "-o", "jsonpath={.spec.replicas}")).toBe("3");
    kubectl("create", "service", "nodeport", "s", "-n", "made", "--tcp=80:8080");
    const service = JSON.parse(kubectl("get", "service", "s", "-n", "made", "-o", "json")) as object;
    expect(service).toMatchObject({
      spec: {
        type: "NodePort",
        selector: { app: "s" },
        ports: [{ name: "80-8080", port: 80, targetPort: 8_080 }],
      },
    });
    kubectl("run", "p", "-n", "made", "--image=web:1", "--env=A=B", "--restart=Never");
    const pod = JSON.parse(kubectl("get", "pod", "p", "-n", "made", "-o", "json")) as object;
    expect(pod).toMatchObject({
      spec: { restartPolicy: "Never", containers: [{ name: "p", env: [{ name: "A", value: "B" }] }] },
    });
    kubectl("delete", "namespace", "made");
  });

  it("describe tells of pods, Services and nodes", () => {
    expect(kubectl("describe", "service", "web", "-n", "shop")).toMatch(/Endpoints: +10\.\S+:80/);
    expect(kubectl("describe", "pods", "-n", "shop")).toMatch(/Controlled By: +ReplicaSet\/web-/);
    expect(kubectl("describe", "node", "win-1")).toMatch(/^Name: +win-1$/m);
  });

  it("watch hears of changes", async () => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    const watch = spawn(program, ["get", "nodes", "--watch", "-o", "name"], { env });
    let heard = "";
    watch.stdout.on("data", (part: Buffer) => (heard += part.toString()));
    await expect.poll(() => heard).toContain("node/win-2");
    apply('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "late"}}');
    await expect.poll(() => heard).toContain("node/late");
    watch.kill();
    kubectl("delete", "node", "late");
  });

  it("exec runs a command in a pod, and brings its texts and its exit code", () => {
    expect(kubectl("exec", "client", "--", "ipconfig")).toMatch(/^\r\nWindows IP Configuration\r\n/);
    expect(run(["exec", "-i", "client", "--", "ipconfig"], "no command reads this\n")).toMatchObject({
      code: 0,
    });
    const failed = run(["exec", "client", "--", "curl", "http://gone."]);
    expect(failed).toMatchObject({ code: 6, stdout: "" });
    expect(failed.stderr).toContain("curl: (6) Could not resolve host: gone.");
    expect(failed.stderr).toContain("command terminated with exit code 6");
    const refused = run(["exec", "client", "--", "ipconfig", "/renew"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("ipconfig /renew is not one of the commands that Mullion has");
  });

  it("exec of a client that speaks SPDY says which kubectl is needed", () => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    const { status, stderr } = spawnSync(program, ["exec", "client", "--", "ipconfig"], {
      encoding: "utf8",
      env: { ...env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" },
      timeout: 60_000,
    });
    expect(status).toBe(1);
    expect(stderr).toContain("use kubectl 1.31 or later");
  });

  it("logs -f shows whom a pod answers, while it does", async () => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    const following = spawn(program, ["logs", "-f", "api"], { env });
    let text = "";
    following.stdout.on("data", (part: Buffer) => (text += part.toString()));
    const address = kubectl("get", "pod", "api", "-o", "jsonpath={.status.podIP}");
    expect(kubectl("exec", "client", "--", "curl", "-s", `http://${address}:8080`)).toMatch(/api saw /);
    await expect.poll(() => text, { timeout: 15_000 }).toMatch(/answered 10\.\S+ on TCP port 8080\n/);
    following.kill("SIGINT");
    expect(kubectl("logs", "api", "--tail", "1")).toMatch(/^answered 10\.\S+ on TCP port 8080\n$/);
  });

  it("port-forward brings 10 MB to a pod and back, and says why a port does not answer", async () => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    const forwarding = spawn(program, ["port-forward", "pod/api", ":8080", ":9"], { env });
    let text = "";
    for (const stream of [forwarding.stdout, forwarding.stderr])
      stream.on("data", (part: Buffer) => (text += part.toString()));
    const localPort = async (remote: number): Promise<string> => {
      const line = new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${remote}\\n`);
      await expect.poll(() => text, { timeout: 15_000 }).toMatch(line);
      return line.exec(text)?.[1] ?? "";
    };
    const body = randomBytes(10_000_000);
    const url = `http://127.0.0.1:${await localPort(8_080)}`;
    expect(await (await fetch(url)).text()).toMatch(/^api saw 10\.244\.\d+\.2:\d+\n$/);
    const echoed = await (await fetch(url, { method: "POST", body })).arrayBuffer();
    const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
    expect(digest(new Uint8Array(echoed))).toBe(digest(body));
    await expect(fetch(`http://127.0.0.1:${await localPort(9)}`)).rejects.toThrow(/fetch failed/);
    await expect.poll(() => text).toContain("the target machine actively refused it.");
    forwarding.kill("SIGINT");
  }, 60_000);

  it("port-forward of a client that speaks SPDY says which kubectl is needed", () => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    const { status, stderr } = spawnSync(program, ["port-forward", "pod/api", ":8080"], {
      encoding: "utf8",
      env: { ...env, KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" },
      timeout: 60_000,
    });
    expect(status).toBe(1);
    expect(stderr).toContain("use kubectl 1.31 or later");
  });

  it("many at once are served", async () => {
    const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
    const annotate = (index: number): Promise<void> =>
      new Promise((done, fail) => {
        const args = ["annotate", "node", "win-2", `example.com/n${index}=1`];
        execFile(program, args, { env }, (error) => (error === null ? done() : fail(error)));
      });
    await Promise.all(Array.from({ length: 8 }, async (_, index) => annotate(index)));
    const annotations = kubectl("get", "node", "win-2", "-o", "jsonpath={.metadata.annotations}");
    for (let index = 0; index < 8; index++) expect(annotations).toContain(`example.com/n${index}`);
  });

  it.each<[args: readonly string[], input: string, message: string]>([
    [["get", "things"], "", `the server doesn't have a resource type "things"`],
    [["get", "pod", "nobody"], "", 'Error from server (NotFound): pods "nobody" not found'],
    [
      ["create", "-f", "-"],
      '{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":70000}]}}',
      'The Service "s" is invalid: spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
    [
      ["create", "-f", "-"],
      '{"apiVersion":"v1","kind":"Node","metadata":{"name":"win-1"}}',
      'Error from server (AlreadyExists): error when creating "STDIN": nodes "win-1" already exists',
    ],
    [
      ["apply", "-n", "nowhere", "-f", "-"],
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}',
      'Error from server (NotFound): error when creating "STDIN": namespaces "nowhere" not found',
    ],
    [["apply", "--server-side", "-f", "-"], shop(1), "Server-side apply is not served here"],
  ])("what is refused is told as Kubernetes tells it: %j", (args, input, message) => {
    const { code, stderr } = run(args, input);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it("delete takes a namespace with all that is in it", () => {
    expect(kubectl("delete", "namespace", "shop")).toContain('namespace "shop" deleted');
    expect(kubectl("get", "deployments,pods,services", "-n", "shop", "-o", "name")).toBe("");
  });
});
