// Manifests whose pods never answer, or not as they are, though each object is in order: file in, report out.
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

async function run(argv: readonly string[], text: string) {
  const terminal = new MemoryTerminal({ "m.yaml": text });
  const verbs = { verify, lint };
  const code = await runMullion({ argv: [...argv], verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output };
}

async function verified(text: string) {
  const { code, out } = await run(["verify", "-f", "m.yaml", "-o", "json"], text);
  const { basis, findings, cells } = JSON.parse(out) as VerifyReport;
  const said = (problems: VerifyReport["basis"]["refused"]) => problems.map(({ message }) => message);
  return {
    code,
    codes: [...new Set(findings.flatMap((finding) => finding.code ?? []))].toSorted(),
    fails: cells.filter(({ verdict }) => verdict === "finding").map(({ from, to }) => `${from} → ${to}`),
    cells: cells.flatMap(({ from, to }) => [from, to]),
    notes: said(basis.notes),
    refused: said(basis.refused),
    assumed: said(basis.assumptions).filter(
      (message) => !/^(?:nothing shows|the manifests bring)/.test(message),
    ),
  };
}

async function linted(text: string): Promise<readonly string[]> {
  const { out } = await run(["lint", "m.yaml"], text);
  return [...out.matchAll(/^m\.yaml\S+ (\w+: [\w-]+)/gm)].map(([, finding]) => finding ?? "");
}

interface Shape {
  readonly container?: string;
  readonly metadata?: string;
  readonly target?: number;
  readonly image?: string;
  readonly service?: string;
}

/** A pod for Windows behind a Service. */
function shop(shape: Shape): string {
  const {
    container = "",
    metadata = "",
    target = 80,
    image = "registry.example/web:1",
    service = "",
  } = shape;
  return `apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web }${metadata} }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: web, image: "${image}"${container} }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: ${target} }]${service} }
`;
}

const DECLARED = ", ports: [{ name: http, containerPort: 80 }]";

// k8s.io/kubernetes, pkg/probe/util.go: findPortByName; pkg/kubelet/prober/worker.go: "Prober error, throw away the result".
describe("probes", () => {
  const probe = (port: string): string =>
    `${DECLARED}, readinessProbe: { httpGet: { path: /, port: ${port} } }`;

  it("that name a port which the container does not declare leave their pods not ready", async () => {
    const text = shop({ container: probe("health") });
    expect(await verified(text)).toMatchObject({ code: 1, codes: ["probe-port-undeclared"], refused: [] });
    expect(await linted(text)).toEqual(["error: probe-port-undeclared"]);
  });

  it("are not run, and the answer says so", async () => {
    const text = shop({ container: probe("http") });
    expect(await verified(text)).toMatchObject({
      code: 0,
      codes: [],
      refused: [],
      assumed: [
        "probes are not run, and pods count as ready: those of Pod default/web have readiness or startup probes",
      ],
    });
    expect(await linted(text)).toEqual([]);
  });
});

// https://linkerd.io/2/features/proxy-injection/, https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/
describe("service meshes", () => {
  const namespace = (labels: string): string => `apiVersion: v1
kind: Namespace
metadata: { name: default, labels: { ${labels} } }
---
`;
  const annotated = (annotation: string): string => `, annotations: { ${annotation} }`;

  it.each([
    ["Linkerd", "", annotated("linkerd.io/inject: enabled")],
    ["Istio", namespace("istio-injection: enabled"), ""],
    ["Istio", namespace("istio.io/rev: canary"), ""],
    ["AWS App Mesh", namespace("appmesh.k8s.aws/sidecarInjectorWebhook: enabled"), ""],
  ])("%s is asked for a proxy that does not run on Windows", async (mesh, before, metadata) => {
    const text = before + shop({ container: DECLARED, metadata });
    expect(await verified(text)).toMatchObject({
      code: 1,
      codes: ["mesh-sidecar-left-out"],
      refused: [
        `${mesh} is asked to put its proxy in front of Pod default/web: none is added here, and flows go without it`,
      ],
    });
    expect(await linted(text)).toEqual(["warning: mesh-sidecar-left-out"]);
  });

  it("that have a proxy for Windows are left out all the same, and nothing is wrong with the manifest", async () => {
    const metadata = annotated('consul.hashicorp.com/connect-inject: "true"');
    const text = shop({ container: DECLARED, metadata });
    expect(await verified(text)).toMatchObject({ code: 1, codes: ["mesh-sidecar-left-out"] });
    expect(await linted(text)).toEqual([]);
  });

  // docs.buoyant.io: windows-containers; the image is the pod's, or its namespace's.
  it.each([
    ["the pod", "", ', "config.linkerd.io/proxy-image": ghcr.io/buoyantio/proxy-win'],
    ["its namespace", "config.linkerd.io/proxy-image: ghcr.io/buoyantio/proxy-win", ""],
  ])(
    "Linkerd's proxy for Windows, named by %s, is no fault of the manifest",
    async (_, ofNamespace, ofPod) => {
      const before = `apiVersion: v1
kind: Namespace
metadata: { name: default, annotations: { ${ofNamespace} } }
---
`;
      const text =
        before + shop({ container: DECLARED, metadata: annotated(`linkerd.io/inject: windows${ofPod}`) });
      expect(await verified(text)).toMatchObject({ code: 1, codes: ["mesh-sidecar-left-out"] });
      expect(await linted(text)).toEqual([]);
    },
  );

  // istio.io, ambient/usage/add-workloads: a label of the namespace, which a pod's takes back.
  it("of the node, as Istio's ambient mode, are left out, too, and pods can take it back", async () => {
    const ambient = namespace("istio.io/dataplane-mode: ambient");
    const inside = ambient + shop({ container: DECLARED });
    expect(await verified(inside)).toMatchObject({ code: 1, codes: ["mesh-sidecar-left-out"] });
    expect(await linted(inside)).toEqual([]);
    const out = inside.replace("{ app: web }", "{ app: web, istio.io/dataplane-mode: none }");
    expect(await verified(out)).toMatchObject({ codes: [], refused: [] });
  });

  it.each([
    ["a pod that says no", annotated('sidecar.istio.io/inject: "false"'), DECLARED],
    ["a pod that has its proxy", "", `${DECLARED} }, { name: istio-proxy, image: proxy`],
  ])("leave %s alone", async (_, metadata, container) => {
    const text = namespace("istio-injection: enabled") + shop({ container, metadata });
    expect(await verified(text)).toMatchObject({ code: 0, codes: [], refused: [] });
    expect(await linted(text)).toEqual([]);
  });
});

describe("pods of a Job and of a CronJob in a mesh", () => {
  const job = (kind: string, annotations: string): string => {
    const template = `template: { metadata: { annotations: { ${annotations} } }, spec: { restartPolicy: Never, containers: [{ name: c, image: c }] } }`;
    const spec = kind === "Job" ? template : `schedule: "0 0 * * *", jobTemplate: { spec: { ${template} } }`;
    return `apiVersion: batch/v1
kind: ${kind}
metadata: { name: once }
spec: { ${spec} }
---
${shop({ container: DECLARED })}`;
  };

  it.each(["Job", "CronJob"])("%s: what its template says counts", async (kind) => {
    const asked = await verified(job(kind, "linkerd.io/inject: enabled"));
    expect(asked.codes).toContain("mesh-sidecar-left-out");
    const others = await verified(job(kind, "linkerd.io/inject: disabled"));
    expect(others.codes).not.toContain("mesh-sidecar-left-out");
  });
});

// EXPOSE of microsoft/iis-docker and dotnet/dotnet-docker.
describe("ports that no container declares", () => {
  const IIS = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022";

  it("are taken to be open, and the answer says so", async () => {
    expect(await verified(shop({ target: 9376 }))).toMatchObject({
      code: 0,
      assumed: [
        "no container declares a port to which a Service leads, and something is taken to listen there: default/web to TCP 9376 (declared: none)",
      ],
    });
  });

  it.each([
    ["IIS", IIS, 8080],
    [".NET's sample", "mcr.microsoft.com/dotnet/samples:aspnetapp", 9376],
  ])("are closed where %s listens on another one", async (_, image, target) => {
    const text = shop({ image, target });
    expect(await verified(text)).toMatchObject({ code: 1, codes: ["port-not-listening"], assumed: [] });
    expect(await linted(text)).toEqual(["warning: service-target-port-undeclared"]);
  });

  it("are open where the image listens, and nothing is assumed", async () => {
    expect(await verified(shop({ image: IIS }))).toMatchObject({ code: 0, codes: [], assumed: [] });
    expect(await linted(shop({ image: IIS }))).toEqual([]);
  });

  it("are not known when the manifest changes what the image does", async () => {
    const text = shop({ image: IIS, target: 8080, container: ", args: [--port, '8080']" });
    expect(await verified(text)).toMatchObject({ code: 0, codes: [] });
    expect(await linted(text)).toEqual([]);
  });
});

// k8s.io/kubernetes, pkg/proxy/endpointslicecache.go: an endpoint is of the Service port with its name and protocol.
describe("ports of endpoints that somebody wrote", () => {
  const WINDOWS = shop({ container: DECLARED });
  const written = (of: string, port: string): string => `${WINDOWS}
---
apiVersion: v1
kind: Service
metadata: { name: sql }
spec: { ports: [{ name: tds, port: 1433 }] }
---
apiVersion: ${of === "Endpoints" ? "v1" : "discovery.k8s.io/v1"}
kind: ${of}
metadata: { name: sql, labels: { kubernetes.io/service-name: sql } }
${
  of === "Endpoints"
    ? `subsets: [{ addresses: [{ ip: 203.0.113.7 }], ports: [{ ${port} }] }]`
    : `addressType: IPv4\nports: [{ ${port} }]\nendpoints: [{ addresses: [203.0.113.7] }]`
}
`;

  it.each([
    ["Endpoints", "port: 1433", ["error: service-target-port-undeclared"]],
    ["EndpointSlice", "port: 1433", ["error: service-target-port-undeclared"]],
    ["EndpointSlice", "name: tds, protocol: UDP, port: 1433", ["error: service-target-port-undeclared"]],
    ["Endpoints", "name: tds, port: 11433", []],
    ["EndpointSlice", "name: tds, port: 1433", []],
  ])("%s with %s", async (of, port, findings) => {
    expect(await linted(written(of, port))).toEqual(findings);
  });
});

// Kubernetes documentation, Service, external IPs: they are not managed by Kubernetes, and traffic that comes into a node with one is led on.
describe("external addresses", () => {
  it("are taken to lead to a node, and the answer says so", async () => {
    const text = shop({ container: DECLARED, service: ", externalIPs: [198.51.100.32]" });
    expect(await verified(text)).toMatchObject({
      code: 0,
      assumed: [
        "the network is taken to lead externalIPs to a node that answers there: default/web (198.51.100.32)",
      ],
    });
  });

  it("that are those of nodes leave all that goes to these nodes as it was", async () => {
    const node = (name: string, os: string, address: string, range: string): string => `apiVersion: v1
kind: Node
metadata: { name: ${name}, labels: { kubernetes.io/os: ${os} } }
spec: { podCIDR: ${range} }
status:
  addresses: [{ type: InternalIP, address: ${address} }]
  nodeInfo: { operatingSystem: ${os}, machineID: "${name}"${os === "windows" ? ", kernelVersion: 10.0.20348.2762" : ""}, kubeletVersion: v1.34.1, kubeProxyVersion: v1.34.1 }
---
`;
    const nodes = `${node("lin-1", "linux", "10.0.0.21", "10.244.1.0/24")}${node("win-1", "windows", "10.0.0.11", "10.244.2.0/24")}`;
    const service = ", type: NodePort, externalIPs: [10.0.0.11, 10.0.0.21]";
    const other = `---
apiVersion: v1
kind: Pod
metadata: { name: other, labels: { app: web } }
spec:
  nodeSelector: { kubernetes.io/os: linux }
  containers: [{ name: web, image: registry.example/web:1${DECLARED} }]
`;
    const { codes, assumed } = await verified(nodes + shop({ container: DECLARED, service }) + other);
    expect(codes).toEqual([]);
    expect(assumed.join("\n")).not.toContain("externalIPs");
  });
});

// k8s.io/kubernetes v1.34.4, pkg/proxy/winkernel/proxier.go: "hnslib.AddLoadBalancer() doesn't support endpoints with different
// ports"; k8s.io/endpointslice: one slice for each set of port numbers.
describe("one port name, two numbers", () => {
  const web = (name: string, os: string, number: number): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: web } }
spec:
  nodeSelector: { kubernetes.io/os: ${os} }
  containers: [{ name: web, image: "registry.example/web:1", ports: [{ name: http, containerPort: ${number} }] }]
---
`;
  const service = (more: string): string => `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: http }]${more} }
`;
  const two = (more: string): string =>
    web("iis", "windows", 80) + web("nginx", "linux", 8080) + service(more);

  it("a load balancer of HNS has one of them: clients on Windows miss the other pod", async () => {
    const { code, codes, fails, notes } = await verified(two(""));
    expect({ code, codes }).toEqual({ code: 1, codes: ["service-target-ports-differ"] });
    expect(fails).toContain("pod/default/iis → service/default/web");
    expect(fails.filter((each) => each.startsWith("pod/default/nginx"))).toEqual([]);
    expect(notes).toContainEqual(
      expect.stringMatching(/one port for all back ends.* is pod default\/iis.* is pod default\/nginx/),
    );
    expect(await linted(two(""))).toEqual(["error: service-target-ports-differ"]);
  });

  it("a Service without an address has no load balancer", async () => {
    const text = two(", clusterIP: None");
    expect((await verified(text)).codes).not.toContain("service-target-ports-differ");
    expect(await linted(text)).toEqual([]);
  });
});

// Kubernetes documentation, StatefulSet: stable network ID; k8s.io/endpointslice: ShouldSetHostname.
describe("names of the pods of a StatefulSet", () => {
  const set = (serviceName: string, more = ""): string => `apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db${more} }
spec:
  serviceName: ${serviceName}
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: db, image: "registry.example/db:1", ports: [{ containerPort: 1433 }] }]
`;
  const service = (name: string, app: string, more = ""): string => `---
apiVersion: v1
kind: Service
metadata: { name: ${name}${more} }
spec: { clusterIP: None, selector: { app: ${app} }, ports: [{ port: 1433 }] }
`;
  const UID = ", uid: 5f0c1a52-7d0e-4a0e-9a4e-0d9a5a3e7c";

  it("are not asked without their Service, and the answer says so", async () => {
    const { code, codes, assumed } = await verified(set("db-headless"));
    expect({ code, codes, assumed }).toEqual({
      code: 0,
      codes: [],
      assumed: [
        "names of pods are not asked where the Service that gives them is not in the input: StatefulSet default/db (db-headless)",
      ],
    });
    expect(await linted(set("db-headless"))).toEqual(["info: pod-name-service-missing"]);
  });

  it.each([
    ["its Service has another name", set("db") + service("db-headless", "db")],
    ["the Service selects other pods", set("db") + service("db", "mysql")],
  ])("do not resolve where %s", async (_, text) => {
    expect(await verified(text)).toMatchObject({ code: 1, codes: ["pod-name-service-missing"] });
    expect(await linted(text)).toEqual(["warning: pod-name-service-missing"]);
  });

  it("do not resolve in a running cluster that has Services, and not this one", async () => {
    const text = set("db-headless", `${UID}11`) + service("other", "other", `${UID}22`);
    expect((await verified(text)).codes).toContain("pod-name-service-missing");
  });

  it("are asked with it", async () => {
    const { code, codes, assumed } = await verified(set("db") + service("db", "db"));
    expect({ code, codes, assumed }).toEqual({ code: 0, codes: [], assumed: [] });
  });
});

// kubernetes.io: init containers; plugin/pkg/admission/serviceaccount: "error looking up service account".
describe("what else pods wait for", () => {
  const text = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  serviceAccountName: web
  initContainers: [{ name: wait, image: "registry.example/wait:1" }]
  containers: [{ name: web, image: "registry.example/web:1" }]
`;
  const account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: { name: web }\n";

  it("is taken to be there and to end, and the answer says so", async () => {
    const { code, assumed, notes } = await verified(text);
    expect(code).toBe(0);
    expect(assumed).toEqual(["init containers are not run and are taken to end: those of Pod default/web"]);
    expect(notes).toContainEqual(expect.stringContaining("no file has ServiceAccount default/web"));
  });

  it("is not missed where it is", async () => {
    expect((await verified(text + account)).notes.join("\n")).not.toContain("no file has");
  });
});

describe("lists without a kind", () => {
  const objects = [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "shop", labels: { app: "web" } },
      spec: {
        nodeSelector: { "kubernetes.io/os": "windows" },
        containers: [{ name: "web", image: "registry.example/web:1", ports: [{ containerPort: 80 }] }],
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "shop" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, sessionAffinity: 1 }] },
    },
  ];
  const yaml =
    "- { apiVersion: v1, kind: Pod, metadata: { name: web }, spec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: c }] } }\n";

  it.each([
    ["jq '{items}'", JSON.stringify({ items: objects })],
    ["jq .items", JSON.stringify(objects, undefined, 2)],
    ["yq .items", yaml],
    ["items in YAML", `items:\n${yaml}`],
  ])("%s: its objects are read, and the answer says how", async (_, text) => {
    const { cells, notes } = await verified(text);
    expect(cells).toContainEqual(expect.stringMatching(/pod\/\w+\/web/));
    expect(notes).toContainEqual(expect.stringContaining("a list without a kind"));
    expect(await linted(text)).toContain("info: manifest-list-without-kind");
  });

  it("lists one behind the other are told of once", async () => {
    const found = await linted(JSON.stringify({ items: objects }).repeat(3));
    expect(found.filter((each) => each === "info: manifest-list-without-kind")).toHaveLength(1);
  });

  it("jq '.items[]': one object behind the other is as good as a list", async () => {
    const text = objects.map((each) => JSON.stringify(each, undefined, 2)).join("\n");
    expect((await verified(text)).cells).toContainEqual(expect.stringMatching(/service\/shop\/web/));
    expect(await linted(text)).not.toContain("info: manifest-list-without-kind");
  });
});

// k8s.io/kubernetes, pkg/kubelet/images: ErrInvalidImageName; distribution/reference: the grammar.
describe("names of images that a kubelet cannot read", () => {
  it.each([
    "registry.example/Shop/Web:1",
    "win_registry.example/web:1",
    "registry.example/web:1:2",
    "registry.example/web :1",
  ])("%s keeps its pod from starting", async (image) => {
    const text = shop({ image, container: DECLARED });
    expect((await verified(text)).codes).toContain("image-name-invalid");
    expect(await linted(text)).toEqual(["error: image-name-invalid"]);
  });

  it.each([
    "shop/web:{{tag}}",
    "__registry__.example/web:1",
    "<image-name>",
    "MY_REGISTRY/web:1",
    "${REGISTRY}/web:1",
  ])("%s is taken to be filled in, and the answer says so", async (image) => {
    const text = shop({ image, container: DECLARED });
    expect(await verified(text)).toMatchObject({
      code: 0,
      assumed: [`names of images with placeholders are taken to be filled in: Pod default/web (${image})`],
    });
    expect(await linted(text)).toEqual(["info: image-name-invalid"]);
  });

  it.each([
    "web",
    "shop/web_1",
    "localhost/web",
    "registry.example:5000/shop/web:v1_2.3-x",
    "Registry.Example/web",
  ])("%s is a name", async (image) => {
    const text = shop({ image, container: DECLARED });
    expect(await verified(text)).toMatchObject({ code: 0, assumed: [] });
    expect(await linted(text)).toEqual([]);
  });
});

// kubectl apply: what is the same changes nothing, and labels of a Namespace add up.
describe("objects that several files have", () => {
  const namespace = (labels: string): string =>
    `apiVersion: v1\nkind: Namespace\nmetadata: { name: shop, labels: { ${labels} } }\n---\n`;

  it("that say the same are one", async () => {
    const text = shop({ container: DECLARED });
    expect(await verified(`${text}---\n${text}`)).toMatchObject({ code: 0, codes: [], refused: [] });
  });

  it("that are Namespaces add up", async () => {
    const texts = namespace("team: web") + namespace("istio-injection: enabled");
    const meshed = shop({ container: DECLARED, metadata: ", namespace: shop" });
    const { codes, refused } = await verified(texts + meshed);
    expect(refused.join("\n")).not.toContain("already");
    expect(codes).toContain("mesh-sidecar-left-out");
  });

  it("that say different things are refused", async () => {
    const text = shop({ container: DECLARED });
    expect((await verified(`${text}---\n${text.replace("port: 80", "port: 81")}`)).codes).toContain(
      "manifest-duplicate-object",
    );
  });
});

// kustomize: apiVersion and kind of a kustomization may be left out.
describe("a kustomization without apiVersion and kind", () => {
  async function withKustomization(text: string) {
    const files = { "web.yaml": shop({ container: DECLARED }), "kustomization.yaml": text };
    const terminal = new MemoryTerminal(files);
    const argv = ["verify", "-f", "web.yaml", "-f", "kustomization.yaml", "-o", "json"];
    const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
    const { findings } = JSON.parse(terminal.output) as VerifyReport;
    return { code, codes: findings.map((finding) => finding.code) };
  }

  it("that lists files changes nothing", async () => {
    expect(await withKustomization("resources:\n  - web.yaml\n")).toEqual({ code: 0, codes: [] });
  });

  it("that changes them is not applied, and that counts", async () => {
    const text = "resources: [web.yaml]\nnamePrefix: dev-\n";
    expect(await withKustomization(text)).toEqual({ code: 1, codes: ["manifest-kind-not-carried-out"] });
  });
});

describe("pods whose names are those of containers, or a part of them", () => {
  const pod = (name: string, container: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: ${container}, image: "registry.example/web:1" }]
---
`;

  it.each(["web", "web-main"])("%s: nodes that are equal are told to be", async (container) => {
    expect(await verified(pod("web", container) + pod("other", container))).toMatchObject({
      code: 0,
      notes: [],
    });
  });
});

// kube-proxy.md §8, case C6: a pod in the network of kube-proxy's own node has no endpoint in HNS.
describe("an agent in the node's own network behind a Service", () => {
  const agent = `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: exporter }
spec:
  selector: { matchLabels: { app: exporter } }
  template:
    metadata: { labels: { app: exporter } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      hostNetwork: true
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\\\SYSTEM" } }
      containers: [{ name: c, image: "registry.example/exporter:1", ports: [{ containerPort: 9182, hostPort: 9182 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: exporter }
spec: { selector: { app: exporter }, ports: [{ port: 9182 }] }
`;
  const client = `---
apiVersion: v1
kind: Pod
metadata: { name: client }
spec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: "registry.example/client:1" }] }
`;

  it("is not among those that pods of its node are led to, and the finding says why", async () => {
    const { code, codes } = await verified(agent + client);
    expect([code, codes]).toEqual([1, ["service-local-endpoint-missing"]]);
  });
});
