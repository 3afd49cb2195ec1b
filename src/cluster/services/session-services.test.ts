// Services of a running cluster, asked with real packets: who answers, and whom the back end sees.
import { beforeAll, describe, expect, it } from "vitest";
import {
  type SessionWorld,
  apply,
  ask,
  askMany,
  askName,
  clusterText,
  deployment,
  openSessionWorld,
  podOf,
  podsOf,
  remove,
  service,
} from "#test/support/cluster/session-world.ts";

const HTTP =
  "ports: [{ name: http, port: 80, targetPort: 8080 }, { name: dns, port: 53, targetPort: 8080, protocol: UDP }]";
const PORT = "ports: [{ port: 80, targetPort: 8080 }]";

function pinned(name: string, node: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec:
  nodeName: ${node}
  containers:
    - { name: c, image: server, ports: [{ containerPort: 8080 }, { containerPort: 8080, protocol: UDP }] }
---`;
}

const HOST_PROCESS = `
apiVersion: v1
kind: Pod
metadata: { name: agent, labels: { app: agent } }
spec:
  nodeName: win-2
  hostNetwork: true
  securityContext: { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } }
  containers: [{ name: c, image: agent, ports: [{ containerPort: 9100 }] }]
---`;

const OUTSIDE_SLICE = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: legacy-own, labels: { kubernetes.io/service-name: legacy } }
addressType: IPv4
ports: [{ port: 443, protocol: TCP }]
endpoints: [{ addresses: [203.0.113.10] }]
---`;

const OUTSIDE_ENDPOINTS = `
apiVersion: v1
kind: Endpoints
metadata: { name: older }
subsets: [{ addresses: [{ ip: 203.0.113.10 }], ports: [{ port: 443 }] }]
---`;

/** `w1`, `w2`, `l1` answer and ask on their nodes; Services lead to one or several of them. */
const MANIFESTS = [
  pinned("w1", "win-1"),
  pinned("w2", "win-2"),
  pinned("l1", "linux-1"),
  pinned("ask-w", "win-1"),
  pinned("ask-w2", "win-2"),
  pinned("ask-l", "linux-1"),
  pinned("port-w", "win-1").replace("containerPort: 8080 }", "containerPort: 8080, hostPort: 18080 }"),
  pinned("port-l", "linux-1").replace("containerPort: 8080 }", "containerPort: 8080, hostPort: 18080 }"),
  HOST_PROCESS,
  deployment("many", "windows", 4),
  service("to-w1", `selector: { app: w1 }, ${HTTP}`),
  service("to-w2", `selector: { app: w2 }, ${HTTP}`),
  service("to-l1", `selector: { app: l1 }, ${HTTP}`),
  service("to-agent", "selector: { app: agent }, ports: [{ port: 80, targetPort: 9100 }]"),
  service("many", `selector: { app: many }, ${PORT}`),
  service("sticky", `selector: { app: many }, sessionAffinity: ClientIP, ${PORT}`),
  service(
    "open",
    "type: NodePort, selector: { app: w1 }, ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }]",
  ),
  service(
    "near",
    "type: NodePort, externalTrafficPolicy: Local, selector: { app: w1 }, ports: [{ port: 80, targetPort: 8080, nodePort: 30081 }]",
  ),
  service("outer", `type: LoadBalancer, selector: { app: w2 }, ${PORT}`),
  service("outer-l", `type: LoadBalancer, externalTrafficPolicy: Local, selector: { app: l1 }, ${PORT}`),
  service("legacy", "ports: [{ port: 80, targetPort: 443 }]"),
  OUTSIDE_SLICE,
  service("older", "ports: [{ port: 80, targetPort: 443 }]"),
  OUTSIDE_ENDPOINTS,
  service("alias", "type: ExternalName, externalName: www.example.com"),
  service("pods", `clusterIP: None, selector: { app: w1 }, ${PORT}`),
  service("empty", `selector: { app: nobody }, ${PORT}`),
].join("");

const ipOf = (world: SessionWorld, name: string): string => podsOf(world, name)[0]?.status?.podIP ?? "";

function ingressOf({ session }: SessionWorld, name: string): string {
  const found = session.cluster.objects.Service.find(({ metadata }) => metadata.name === name);
  return found?.status?.loadBalancer?.ingress?.[0]?.ip ?? "";
}

describe.each([
  ["non-DSR", false],
  ["DSR", true],
])("ClusterIP, %s", (_, isDsr) => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(clusterText(`kubeProxy: { enableDSR: ${isDsr} }`), MANIFESTS);
  });

  // dataplane.md B-3, B-4: with DSR the back end sees the client pod, without it the node. Linux keeps the client.
  const windows = isDsr ? "ask-w" : "10.0.0.11";
  it.each([
    ["ask-w", "to-w1", "local back end", `w1 saw ${windows}`],
    ["ask-w", "to-w2", "remote back end", `w2 saw ${windows}`],
    ["ask-w", "to-l1", "back end on Linux", `l1 saw ${windows}`],
    ["ask-l", "to-w1", "back end on Windows", "w1 saw ask-l"],
    ["ask-l", "to-l1", "local back end", "l1 saw ask-l"],
    ["ask-w", "to-agent", "KP-C6 HostProcess back end on another node", `agent saw ${windows}`],
    // flannel masquerades what goes to no pod.
    ["ask-l", "to-agent", "HostProcess back end", "agent saw 10.0.0.21"],
  ])("%s → %s, %s", (from, to, _what, expected) => {
    const answer = expected.replace(/ask-./, (name) => ipOf(world, name));
    expect(ask(world, `pod/${from}`, `service/${to}`)).toBe(answer);
  });

  it.each([
    ["ask-w", "to-w1", `w1 saw ${windows}`],
    ["ask-w", "to-w2", `w2 saw ${windows}`],
    ["ask-l", "to-w2", "w2 saw ask-l"],
    ["ask-l", "to-l1", "l1 saw ask-l"],
  ])("UDP: %s → %s", (from, to, expected) => {
    const answer = expected.replace(/ask-./, (name) => ipOf(world, name));
    expect(ask(world, `pod/${from}`, `service/${to}`, { protocol: "udp", port: 53 })).toBe(answer);
  });

  it.each(["ask-w", "ask-l"])("%s reaches all back ends, and one alone with affinity", (from) => {
    expect(askMany(world, `pod/${from}`, "service/many", 60)).toHaveLength(4);
    expect(askMany(world, `pod/${from}`, "service/sticky", 20)).toHaveLength(1);
  });

  // Nobody in the cluster has the address: the source is translated on the way out.
  it.each([
    ["ask-w", "legacy", "external saw 10.0.0.11"],
    ["ask-w", "older", "external saw 10.0.0.11"],
    ["ask-l", "legacy", "external saw 10.0.0.21"],
    ["ask-l", "older", "external saw 10.0.0.21"],
  ])("no selector, back end outside: %s → %s", (from, to, expected) => {
    expect(ask(world, `pod/${from}`, `service/${to}`)).toBe(expected);
  });

  it.each(["ask-w", "ask-l"])("%s gets nothing from a Service without back ends", (from) => {
    expect(ask(world, `pod/${from}`, "service/empty")).toMatch(/^(timed-out|refused|unreachable)$/);
  });

  it("KP-B4 HostProcess back end on the caller's own node: HNS has no endpoint for it, which is told", () => {
    expect(ask(world, "pod/ask-w2", "service/to-agent")).toBe("timed-out");
    expect(world.begun.notes.map(({ code, message }) => `${code}: ${message}`)).toContain(
      "service-local-endpoint-missing: The pod 10.0.0.12 is on this node, and HNS has no endpoint with its address (Service default/to-agent on win-2)",
    );
  });

  it.each(["node/linux-1", "node/win-1"])("%s reaches a ClusterIP", (from) => {
    expect(ask(world, from, "service/to-w2")).toMatch(/^w2 saw /);
  });
});

describe("from outside", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(clusterText(), MANIFESTS);
  });

  // dataplane.md B-7; the router leads ingress addresses to a node.
  it.each([
    ["NodePort, back end on the node", "10.0.0.11", 30080, "w1 saw 10.0.0.11"],
    ["NodePort, back end elsewhere", "10.0.0.12", 30080, "w1 saw 10.0.0.12"],
    ["NodePort of a Linux node", "10.0.0.21", 30080, "w1 saw 10.0.0.21"],
    ["policy Local keeps the client", "10.0.0.11", 30081, "w1 saw 203.0.113.10"],
    ["policy Local, no back end on the Windows node", "10.0.0.12", 30081, "fails"],
    ["policy Local, no back end on the Linux node", "10.0.0.21", 30081, "fails"],
    ["hostPort of a pod on Windows", "10.0.0.11", 18080, "port-w saw 203.0.113.10"],
    ["hostPort of a pod on Linux", "10.0.0.21", 18080, "port-l saw 203.0.113.10"],
    ["hostPort of a node without the pod", "10.0.0.12", 18080, "fails"],
    ["a port that is not a NodePort", "10.0.0.11", 30082, "fails"],
  ])("%s", (_, to, port, expected) => {
    const answer = ask(world, "external", to, { port });
    expect(answer).toMatch(expected === "fails" ? /^(timed-out|refused|unreachable)$/ : expected);
  });

  it.each([
    ["outer", /^w2 saw 10\.0\.0\.1[12]$/],
    ["outer-l", /^l1 saw 203\.0\.113\.10$/],
  ])("LoadBalancer %s, by its address of the pool", (name, answer) => {
    expect(ingressOf(world, name)).toMatch(/^198\.51\.100\./);
    expect(ask(world, "external", ingressOf(world, name))).toMatch(answer);
  });

  it("a LoadBalancer that is deleted is not led to any more", async () => {
    const own = await openSessionWorld(clusterText(), MANIFESTS);
    const address = ingressOf(own, "outer");
    await remove(own, "service/outer");
    expect(ask(own, "external", address)).toMatch(/^(timed-out|unreachable)$/);
  });
});

describe("names", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(clusterText(), MANIFESTS);
  });

  const NOT_COMPLETED = "no such name: dns-name-with-dot-not-completed";
  // windows-networking-documentation.md §6: one suffix, and none for a name with a dot.
  it.each([
    ["short name", "to-w2", "w2 saw ", "w2 saw "],
    ["with its namespace", "to-w2.default", NOT_COMPLETED, "w2 saw "],
    ["with namespace and svc", "to-w2.default.svc", NOT_COMPLETED, "w2 saw "],
    ["full name", "to-w2.default.svc.cluster.local", "w2 saw ", "w2 saw "],
    ["external name", "www.example.com", "external saw ", "external saw "],
    ["ExternalName", "alias", "external saw ", "external saw "],
    ["nobody's name", "nobody", "no such name: dns-", "no such name: dns-"],
  ])("%s", (_, name, fromWindows, fromLinux) => {
    expect(askName(world, "pod/ask-w", name)).toContain(fromWindows);
    expect(askName(world, "pod/ask-l", name)).toContain(fromLinux);
  });

  it.each(["ask-w", "ask-l"])("a headless Service leads %s to its pods", (from) => {
    expect(askName(world, `pod/${from}`, "pods", { port: 8080 })).toMatch(/^w1 saw /);
  });

  it.each(["ask-w", "ask-l"])("%s sees Services come and go", async (from) => {
    const own = await openSessionWorld(clusterText(), MANIFESTS);
    await apply(own, service("late", `selector: { app: w1 }, ${PORT}`));
    expect(askName(own, `pod/${from}`, "late")).toMatch(/^w1 saw /);
    await remove(own, "service/late");
    expect(askName(own, `pod/${from}`, "late")).toMatch(/^no such name/);
  });

  it("the name service is the cluster's own when the manifests bring one", async () => {
    const own = await openSessionWorld(
      clusterText(),
      `${pinned("ask-w", "win-1")}${deployment("resolver", "linux", 1, { ports: ["5353/UDP"] })}
apiVersion: v1
kind: Service
metadata: { name: rke2-coredns, namespace: kube-system, labels: { k8s-app: kube-dns } }
spec: { clusterIP: 10.96.0.53, selector: { app: resolver }, ports: [{ port: 53, protocol: UDP, targetPort: 5353 }] }
---`.replace("name: resolver }", "name: resolver, namespace: kube-system }"),
    );
    expect(own.session.cluster.objects.Deployment.map(({ metadata }) => metadata.name)).toEqual(["resolver"]);
    expect(askName(own, "pod/ask-w", "www.example.com")).toMatch(/^external saw /);
    expect(
      askName(own, "pod/ask-w", "rke2-coredns.kube-system.svc.cluster.local", { protocol: "udp", port: 53 }),
    ).not.toMatch(/^no such name/);
    // CoreDNS' name for itself leads to its own Service, whatever that is called (plugin/kubernetes/ns.go).
    const itself = askName(own, "pod/ask-w", "ns.dns.cluster.local", { protocol: "udp", port: 53 });
    expect(itself).not.toMatch(/^no such name/);
  });
});

describe("back ends that come and go while clients ask", () => {
  it("a client reaches new back ends, and none that is gone", async () => {
    const world = await openSessionWorld(
      clusterText(),
      `${pinned("ask-w", "win-1")}${pinned("ask-l", "linux-1")}${deployment("web", "windows", 1)}${service("web", `selector: { app: web }, ${PORT}`)}`,
    );
    for (const replicas of [1, 3, 2, 5]) {
      await apply(world, deployment("web", "windows", replicas));
      const names = podsOf(world, "web-").map(({ metadata }) => metadata.name);
      expect(askMany(world, "pod/ask-w", "service/web", 60)).toEqual(names);
      expect(askMany(world, "pod/ask-l", "service/web", 60)).toEqual(names);
    }
    await apply(world, deployment("web", "linux", 2));
    expect(ask(world, "pod/ask-w", "service/web")).toMatch(/^web saw /);
    await apply(world, deployment("web", "windows", 0));
    expect(ask(world, "pod/ask-w", "service/web")).toBe("timed-out");
  });

  // A dump may show a pod that is going: KEP-1672, serving and terminating.
  it("an endpoint that is going serves when no other is left", async () => {
    const going = pinned("old", "win-2").replace(
      "labels:",
      "deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30, labels:",
    );
    const world = await openSessionWorld(
      clusterText(),
      `${pinned("ask-l", "linux-1")}${going}${service("old", `selector: { app: old }, ${PORT}`)}`,
    );
    const [slice] = world.session.cluster.objects.EndpointSlice.filter(({ metadata }) =>
      metadata.name.startsWith("old-"),
    );
    expect(slice?.endpoints?.map(({ conditions }) => conditions)).toEqual([
      { ready: false, serving: true, terminating: true },
    ]);
    expect(ask(world, "pod/ask-l", "service/old")).toMatch(/^old saw /);
    expect(podOf(world, "old")).toBe("pod/default/old");
  });
});

describe("what a kube-proxy cannot do", () => {
  // kube-proxy.md §3.13: 64 back ends as released.
  it("is told once for each Service, with the nodes, until it can", async () => {
    const slice = (count: number): string => `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: wide-own, labels: { kubernetes.io/service-name: wide } }
addressType: IPv4
ports: [{ port: 443 }]
endpoints: [${Array.from({ length: count }, (_, index) => `{ addresses: [203.0.113.${index + 1}] }`).join(", ")}]
---`;
    const world = await openSessionWorld(
      clusterText("", "ws2019.1098"),
      `${service("wide", "ports: [{ port: 80, targetPort: 443 }]")}${slice(65)}`,
    );
    expect(world.begun.notes).toMatchObject([
      {
        code: "too-many-back-ends",
        file: "2.yaml",
        message: expect.stringMatching(/\(Service default\/wide on win-1, win-2\)$/) as string,
      },
    ]);
    await apply(world, slice(64));
    expect(world.session.notes()).toEqual([]);
  });
});
