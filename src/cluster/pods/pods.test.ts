// Pods of Kubernetes objects on the nodes of a running cluster: where they run, with which network, and what is left
// of them when they are gone.
import { beforeAll, describe, expect, it } from "vitest";
import {
  type SessionWorld,
  apply,
  ask,
  clusterText,
  deployment,
  openSessionWorld,
  podOf,
  podsOf,
  remove,
  service,
  stateOf,
} from "#test/support/cluster/session-world.ts";

const HOST_PROCESS = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      hostNetwork: true
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } }
      containers: [{ name: c, image: agent, ports: [{ containerPort: 9100 }] }]
---`;

const STATEFUL = `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: ledger }
spec:
  serviceName: ledger
  replicas: 3
  selector: { matchLabels: { app: ledger } }
  template:
    metadata: { labels: { app: ledger } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: c, image: ledger, ports: [{ containerPort: 8080 }] }]
---`;

function pod(name: string, spec: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec: { ${spec}, containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }] }
---`;
}

/** Node, and the compartment that the pod lives in. */
function placeOf({ session }: SessionWorld, prefix: string): readonly string[] {
  return session.cluster.pods
    .filter(({ spec }) => spec.name.startsWith(prefix))
    .map(({ node, compartment, namespaceId }) => {
      const network = compartment === node.host.root ? "host" : "own";
      return `${node.spec.name} ${network}${namespaceId === undefined ? "" : " namespace"}`;
    })
    .toSorted();
}

function messagesOf(
  notes: readonly { readonly code: string; readonly message: string }[],
): readonly string[] {
  return notes.map(({ code, message }) => `${code}: ${message}`);
}

describe("pods of workloads", () => {
  let world: SessionWorld;
  beforeAll(async () => {
    world = await openSessionWorld(
      clusterText(),
      [
        deployment("web", "windows", 2),
        deployment("api", "linux", 2),
        STATEFUL,
        HOST_PROCESS,
        pod("bare", "hostNetwork: true, nodeName: win-1"),
        pod("net", "hostNetwork: true, nodeName: linux-1"),
        pod("lost", "nodeSelector: { disk: ssd }"),
      ].join(""),
    );
  });

  it.each([
    ["Deployment on Windows", "web-", ["win-1 own namespace", "win-2 own namespace"]],
    ["Deployment on Linux", "api-", ["linux-1 own", "linux-1 own"]],
    [
      "StatefulSet on Windows",
      "ledger-",
      ["win-1 own namespace", "win-1 own namespace", "win-2 own namespace"],
    ],
    ["HostProcess DaemonSet", "agent-", ["win-1 host", "win-2 host"]],
    ["hostNetwork without HostProcess on Windows", "bare", ["win-1 own namespace"]],
    ["hostNetwork on Linux", "net", ["linux-1 host"]],
    ["a pod that fits nowhere", "lost", []],
  ])("%s", (_, prefix, places) => {
    expect(placeOf(world, prefix).map((place) => place.replace(/ledger.*/, "")).length).toBe(places.length);
    if (prefix !== "ledger-") expect(placeOf(world, prefix)).toEqual(places);
    else expect(new Set(placeOf(world, prefix))).toEqual(new Set(places));
  });

  it.each([
    ["web-", "Running"],
    ["api-", "Running"],
    ["ledger-", "Running"],
    ["agent-", "Running"],
    ["bare", "Running"],
    ["lost", "Pending"],
  ])("the status of %s says %s", (prefix, phase) => {
    expect(new Set(podsOf(world, prefix).map(({ status }) => status?.phase))).toEqual(new Set([phase]));
  });

  it("status and sandbox agree about addresses; pods of the node's network have the node's", () => {
    const ips = world.session.cluster.objects.Pod.flatMap(({ status }) => status?.podIP ?? []);
    expect(ips.filter((ip) => ip.startsWith("10.244."))).toHaveLength(
      new Set(ips.filter((ip) => ip.startsWith("10.244."))).size,
    );
    expect(
      podsOf(world, "agent-")
        .map(({ status }) => status?.podIP ?? "")
        .toSorted(),
    ).toEqual(["10.0.0.11", "10.0.0.12"]);
    expect(podsOf(world, "net").map(({ status }) => status?.podIP)).toEqual(["10.0.0.21"]);
  });

  it("says what is special, once for each maker, with its place", () => {
    expect(messagesOf(world.begun.notes)).toEqual([
      "host-network-unsupported: pod default/bare on win-1: hostNetwork is not supported on Windows nodes without HostProcess: it gets its own network",
      expect.stringMatching(
        /^pod-unschedulable: pod default\/lost stays Pending: 0\/3 nodes are available: /,
      ),
    ]);
    expect(world.begun.notes.map(({ file, line }) => `${file}:${line}`)).toEqual([
      expect.stringMatching(/^2\.yaml:\d+$/),
      expect.stringMatching(/^2\.yaml:\d+$/),
    ]);
  });

  it.each([
    ["pod/ledger-0", "web-", 8080, "web saw 10.244."],
    ["pod/ledger-0", "api-", 8080, "api saw 10.244."],
    ["pod/ledger-0", "bare", 8080, "bare saw 10.244."],
    ["pod/ledger-0", "agent-", 9100, "agent-"],
    ["pod/net", "ledger-1", 8080, "ledger-1 saw 10.0.0.21"],
  ])("%s reaches %s", (from, to, port, answer) => {
    expect(ask(world, from, podOf(world, to), { port })).toContain(answer);
  });
});

describe("changes of a running cluster", () => {
  const start = (): Promise<SessionWorld> =>
    openSessionWorld(
      clusterText(),
      service("web", "selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]"),
    );

  it("everything disappears with what it was for", async () => {
    const world = await start();
    const before = await stateOf(world);
    await apply(
      world,
      `${deployment("web", "windows", 4)}${deployment("api", "linux", 3)}${HOST_PROCESS}${STATEFUL}`,
    );
    await apply(
      world,
      [
        service("api", "type: LoadBalancer, selector: { app: api }, ports: [{ port: 80, targetPort: 8080 }]"),
        service("open", "type: NodePort, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]"),
      ].join(""),
    );
    expect(ask(world, podOf(world, "web-", "win-1"), "service/api")).toMatch(/^api saw /);
    expect(await stateOf(world)).not.toEqual(before);
    await remove(world, "deployment/web", "deployment/api", "daemonset/agent", "statefulset/ledger");
    await remove(world, "service/api", "service/open");
    expect(await stateOf(world)).toEqual(before);
  });

  it.each([
    [4, 1],
    [1, 5],
    [3, 0],
  ])("scales from %i to %i", async (from, to) => {
    const world = await start();
    await apply(world, deployment("web", "windows", from));
    expect(podsOf(world, "web-")).toHaveLength(from);
    await apply(world, deployment("web", "windows", to));
    expect(podsOf(world, "web-")).toHaveLength(to);
    const fresh = await start();
    await apply(fresh, deployment("web", "windows", to));
    expect(placeOf(world, "web-")).toHaveLength(to);
    const { loadBalancers } = (await stateOf(world)) as { loadBalancers: unknown };
    expect({ loadBalancers }).toEqual({
      loadBalancers: ((await stateOf(fresh)) as { loadBalancers: unknown }).loadBalancers,
    });
  });

  it("replaces a pod by another of the same name on another node", async () => {
    const world = await start();
    await apply(world, pod("solo", "nodeName: win-1"));
    const [first] = podsOf(world, "solo");
    await remove(world, "pod/solo");
    await apply(world, pod("solo", "nodeName: linux-1"));
    const [second] = podsOf(world, "solo");
    expect(first?.status?.podIP).toMatch(/^10\.244\.0\./);
    expect(second?.status?.podIP).toMatch(/^10\.244\.2\./);
    expect(second?.metadata.uid).not.toBe(first?.metadata.uid);
    expect(placeOf(world, "solo")).toEqual(["linux-1 own"]);
    expect(ask(world, "pod/solo", "external")).toMatch(/^external saw 10\.0\.0\.21$/);
  });

  it("names whose parts look alike are different pods", async () => {
    const world = await start();
    const twin = (namespace: string, name: string): string =>
      pod(name, "nodeName: win-1").replace(`name: ${name},`, `name: ${name}, namespace: ${namespace},`);
    await apply(world, `${twin("a-b", "c")}${twin("a", "b-c")}`);
    await remove(world, "pod/a-b/c");
    expect(placeOf(world, "b-c")).toEqual(["win-1 own namespace"]);
    expect((await world.leases())["win-1"]).toEqual([podsOf(world, "b-c")[0]?.status?.podIP]);
  });

  it("says what became of each object, in the order given, with generated names and refusals", async () => {
    const world = await start();
    const report = await apply(
      world,
      [
        service("one", "clusterIP: 10.96.0.77, ports: [{ port: 80 }]"),
        service("two", "clusterIP: 10.96.0.77, ports: [{ port: 80 }]"),
        pod("x", "nodeName: win-1").replace("name: x,", "generateName: job-,"),
        "\napiVersion: v1\nkind: Namespace\nmetadata: { name: late }\n---",
        service("web", "selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]"),
        service("web2", "ports: [{ port: 81 }]").replace("web2", "one").replace("name: one", "name: three"),
      ].join(""),
    );
    expect(
      report.results.map(({ reference, outcome, problem }) => [
        `${reference.kind}/${reference.name.replace(/^job-.{5}$/, "job-?")}`,
        outcome,
        problem?.where?.field,
      ]),
    ).toEqual([
      ["Service/one", "created", undefined],
      ["Service/two", "refused", "spec.clusterIPs"],
      ["Pod/job-?", "created", undefined],
      ["Namespace/late", "created", undefined],
      ["Service/web", "unchanged", undefined],
      ["Service/three", "created", undefined],
    ]);
  });

  it("tells what is worth knowing when it is new", async () => {
    const world = await start();
    const odd = service("odd", "selector: { app: nobody }, ports: [{ port: 80 }]");
    expect((await apply(world, odd)).notes.map(({ code }) => code)).toEqual(["selector-matches-nothing"]);
    expect((await apply(world, odd)).notes).toEqual([]);
    expect((await apply(world, pod("lost", "nodeSelector: { disk: ssd }"))).notes).toMatchObject([
      { code: "pod-unschedulable", where: { file: "applied.yaml" } },
    ]);
    await apply(world, deployment("web", "windows", 1));
    const { notes } = await remove(world, "deployment/web");
    expect(notes).toMatchObject([{ code: "selector-matches-nothing", where: { field: "spec.selector" } }]);
  });

  it("a Node that is written by hand adds labels and taints to its machine", async () => {
    const world = await openSessionWorld(
      clusterText(),
      `
apiVersion: v1
kind: Node
metadata: { name: win-2, labels: { disk: ssd } }
spec: { taints: [{ key: gpu, effect: NoSchedule }] }
---
${pod("near", "nodeSelector: { disk: ssd, kubernetes.io/os: windows }, tolerations: [{ key: gpu, operator: Exists }]")}
${pod("far", "nodeSelector: { kubernetes.io/os: windows }")}`,
    );
    expect(placeOf(world, "near")).toEqual(["win-2 own namespace"]);
    expect(placeOf(world, "far")).toEqual(["win-1 own namespace"]);
    const node = world.session.cluster.objects.Node.find(({ metadata }) => metadata.name === "win-2");
    expect(node?.spec).toMatchObject({ podCIDR: "10.244.1.0/24" });
    expect(node?.status?.nodeInfo?.operatingSystem).toBe("windows");
  });

  it("a Node that comes later has no machine", async () => {
    const world = await start();
    const late =
      "apiVersion: v1\nkind: Node\nmetadata: { name: late, labels: { kubernetes.io/os: linux } }\n---";
    expect((await apply(world, late)).notes).toMatchObject([
      { code: "node-without-machine", message: "node late has no machine: nothing runs on it" },
    ]);
  });

  it("a namespace goes with everything in it", async () => {
    const world = await start();
    const before = await stateOf(world);
    const into = (text: string): string =>
      text.replaceAll("metadata: { name:", "metadata: { namespace: shop, name:");
    await apply(
      world,
      "apiVersion: v1\nkind: Namespace\nmetadata: { name: shop }\n---" +
        into(
          deployment("web", "windows", 2) + service("web", "selector: { app: web }, ports: [{ port: 80 }]"),
        ),
    );
    expect(podsOf(world, "web-")).toHaveLength(2);
    await remove(world, "namespace/shop");
    expect(await stateOf(world)).toEqual(before);
  });

  it("a pod of the cluster file that Kubernetes would refuse is left out, and the others run", async () => {
    const world = await openSessionWorld(
      clusterText(`pods:
  - { name: good, node: win-1 }
  - { name: bad, node: win-1, labels: { "no key!": x } }`),
    );
    expect(placeOf(world, "good")).toEqual(["win-1 own namespace"]);
    expect(placeOf(world, "bad")).toEqual([]);
    expect(messagesOf(world.begun.problems)).toEqual([
      expect.stringMatching(
        /^manifest-invalid-value: pod default\/bad: metadata\.labels\[no key!\]: Invalid value/,
      ),
    ]);
  });

  it("listeners hear of objects, pods and notes", async () => {
    const world = await start();
    const heard: string[] = [];
    const stop = world.session.subscribe((event) => {
      if (event.type === "object")
        heard.push(`${event.action} ${event.reference.kind}/${event.reference.name}`);
      if (event.type === "note") heard.push(`${event.code}`);
    });
    await apply(world, pod("bare", "hostNetwork: true, nodeName: win-1"));
    await remove(world, "pod/bare", "pod/nobody");
    stop();
    await apply(world, pod("more", "nodeName: win-1"));
    expect(heard).toEqual(["created Pod/bare", "host-network-unsupported", "deleted Pod/bare"]);
  });

  // An init container that restarts always runs as long as its pod (KEP-753).
  it("a Service finds the port of a sidecar by its name, and the port of one that ends by none", async () => {
    const world = await start();
    const init = (policy: string): string =>
      `nodeName: win-1, initContainers: [{ name: proxy, image: proxy, ${policy} ports: [{ name: http, containerPort: 9000 }] }]`;
    const front = (name: string): string =>
      service(name, `selector: { app: ${name} }, ports: [{ port: 80, targetPort: http }]`);
    await apply(
      world,
      pod("stays", init("restartPolicy: Always,")) + front("stays") + pod("ends", init("")) + front("ends"),
    );
    const portsOf = (name: string): unknown =>
      world.session.cluster.objects.EndpointSlice.filter(
        ({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name,
      ).map(({ ports }) => ports?.map(({ port }) => port) ?? []);
    expect([portsOf("stays"), portsOf("ends")]).toEqual([[[9000]], [[]]]);
    expect(ask(world, "node/linux-1", "pod/default/stays", { port: 9000 })).toBe("stays saw 10.0.0.21");
    expect(ask(world, "node/linux-1", "pod/default/ends", { port: 9000 })).toBe("refused");
  });

  it("two pods of the node's network want one port: the second gets it when the first is gone", async () => {
    const world = await start();
    const host = (name: string): string => pod(name, "hostNetwork: true, nodeName: linux-1");
    await apply(world, host("a"));
    expect((await apply(world, host("b"))).notes).toMatchObject([
      {
        code: "pod-port-in-use",
        message: "pod default/b on linux-1: TCP port 8080 cannot be opened: the port is in use",
      },
    ]);
    expect(ask(world, "node/win-1", "10.0.0.21", { port: 8080 })).toBe("a saw 10.0.0.11");
    await remove(world, "pod/a");
    expect(ask(world, "node/win-1", "10.0.0.21", { port: 8080 })).toBe("b saw 10.0.0.11");
    expect(world.session.notes().map(({ code }) => code)).not.toContain("pod-port-in-use");
  });
});

describe("a node whose plugins fail", () => {
  it("a full pod range leaves the others running; room that is freed is used", async () => {
    const world = await openSessionWorld(
      clusterText("network: { clusterCIDR: 10.244.0.0/24, nodeCIDRMaskSize: 29 }"),
      deployment("web", "windows", 12),
    );
    // .3 to .6 of a /29, twice.
    expect(world.session.cluster.pods.filter(({ spec }) => spec.name.startsWith("web-"))).toHaveLength(8);
    expect(podsOf(world, "web-").filter(({ status }) => status?.phase === "Pending")).toHaveLength(4);
    expect(messagesOf(world.begun.notes)).toEqual([
      expect.stringMatching(
        /^ipam-range-exhausted: 2 pods of Deployment default\/web on win-[12]: its sandbox cannot be set up: plugin type="win-bridge" failed \(add\): .*no IP addresses available in range set: 10\.244\.0\.\d+-10\.244\.0\.\d+/,
      ),
      expect.stringMatching(/^ipam-range-exhausted: 2 pods of Deployment default\/web on win-[12]: /),
    ]);
    const running = podsOf(world, "web-").filter(({ status }) => status?.phase === "Running");
    await remove(world, `pod/${running[0]?.metadata.name}`);
    expect(podsOf(world, "web-").filter(({ status }) => status?.phase === "Running")).toHaveLength(8);
    await apply(world, deployment("web", "windows", 0));
    expect(await world.leases()).toEqual({ "win-1": [], "win-2": [] });
    expect(world.session.notes()).toEqual([]);
  });

  it.each(["win-bridge", "hns"])("the range of a Linux node is full, too (plugin %s)", async (plugin) => {
    const world = await openSessionWorld(
      clusterText(
        `network: { plugin: ${plugin}, clusterCIDR: 10.244.0.0/24, nodeCIDRMaskSize: 29 }\ndns: { enabled: false }`,
      ),
      `${deployment("web", "linux", 7)}${deployment("win", "windows", 10)}`,
    );
    // Linux: .2 to .6; Windows: .3 to .6 on each node.
    expect(placeOf(world, "web-")).toHaveLength(5);
    expect(placeOf(world, "win-")).toHaveLength(8);
    expect(new Set(world.begun.notes.map(({ code }) => code))).toEqual(new Set(["ipam-range-exhausted"]));
  });

  it("a configuration list that names a plugin nobody has stops the pods of Windows nodes alone", async () => {
    const world = await openSessionWorld(
      clusterText(
        `network: { cni: { conflist: { cniVersion: "1.0.0", name: cbr0, plugins: [{ type: sdnoverlay }] } } }`,
      ),
      `${deployment("web", "windows", 2)}${deployment("api", "linux", 1)}`,
    );
    const empty = await openSessionWorld(clusterText());
    expect(placeOf(world, "web-")).toEqual([]);
    expect(placeOf(world, "api-")).toEqual(["linux-1 own"]);
    expect(messagesOf(world.begun.notes)).toEqual([
      expect.stringMatching(
        /^pod-sandbox-failed: 2 pods of Deployment default\/web on win-1, win-2: its sandbox cannot be set up: .*sdnoverlay/,
      ),
    ]);
    const [failed, fresh] = (await Promise.all([stateOf(world), stateOf(empty)])) as readonly {
      readonly namespaces: number;
    }[];
    expect(failed?.namespaces).toBe(fresh?.namespaces);
  });
});
