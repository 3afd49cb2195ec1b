import { describe, expect, it } from "vitest";
import type { MemoryKube } from "../memory-kube.ts";
import {
  apply,
  objectsOf,
  pod,
  range,
  runPods,
  service,
  start,
  windowsNode,
  workload,
} from "#test/support/kubernetes/kube.suite.ts";

/** Sorts rows by what they say. */
const byText = (a: unknown, b: unknown) => JSON.stringify(a).localeCompare(JSON.stringify(b));

const NODE = windowsNode("win-1", "");
const slicesOf = (kube: MemoryKube) => kube.objects("EndpointSlice");
const endpoints = (kube: MemoryKube) => slicesOf(kube).flatMap((slice) => slice.endpoints ?? []);
const conditions = (kube: MemoryKube) =>
  endpoints(kube).map(({ addresses, conditions: { ready, serving, terminating } = {} }) => [
    addresses[0],
    ready,
    serving,
    terminating,
  ]);

function running(text: string): MemoryKube {
  const kube = start(NODE + text);
  runPods(kube);
  return kube;
}

const WEB = workload("Deployment", "web", "replicas: 2");
const SERVICE = service("web", "selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]");

describe("slices of a Service with a selector", () => {
  // The controller follows its slices, and one that goes without its doing makes the Service due.
  it("that a user deletes come again", () => {
    const kube = running(WEB + SERVICE);
    const before = endpoints(kube);
    for (const { metadata } of slicesOf(kube)) kube.delete("EndpointSlice", "default", metadata.name);
    expect(slicesOf(kube)).toEqual([]);
    kube.reconcile();
    expect(endpoints(kube)).toEqual(before);
    expect(before).toHaveLength(2);
  });

  it("carry what programs look for", () => {
    const kube = running(WEB + SERVICE);
    const [slice] = slicesOf(kube);
    const [first] = kube.objects("Pod");
    expect(slice).toMatchObject({
      addressType: "IPv4",
      metadata: {
        name: expect.stringMatching(/^web-[b-z2-9]{5}$/) as string,
        labels: {
          "kubernetes.io/service-name": "web",
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
        ownerReferences: [{ kind: "Service", name: "web" }],
      },
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
    });
    expect(slice?.endpoints?.[0]).toEqual({
      addresses: ["10.244.0.1"],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: "win-1",
      targetRef: { kind: "Pod", namespace: "default", name: first?.metadata.name, uid: first?.metadata.uid },
    });
  });

  it("begin empty, and know pods without an address not at all", () => {
    const kube = start(NODE + WEB + SERVICE);
    expect(slicesOf(kube).map((slice) => [slice.endpoints, slice.ports])).toEqual([[[], []]]);
  });

  it.each<[string, Parameters<MemoryKube["setPodStatus"]>[2], unknown]>([
    [
      "not ready",
      { conditions: [{ type: "Ready", status: "False" }] },
      [["10.244.0.1", false, false, false]],
    ],
    ["ready", {}, [["10.244.0.1", true, true, false]]],
    ["ended", { phase: "Succeeded" }, []],
    ["failed", { phase: "Failed" }, []],
  ])("a pod that is %s", (_, change, expected) => {
    const kube = running(pod("p", "", "labels: {app: web}") + SERVICE);
    kube.setPodStatus("default", "p", change);
    kube.reconcile();
    expect(conditions(kube)).toEqual(expected);
  });

  it("a pod that is on its way out serves and is not ready", () => {
    const kube = running(pod("p", "", "labels: {app: web}") + SERVICE);
    kube.terminatePod("default", "p", "2024-01-01T00:00:30Z");
    kube.reconcile();
    expect(conditions(kube)).toEqual([["10.244.0.1", false, true, true]]);
    kube.delete("Pod", "default", "p");
    kube.reconcile();
    expect(conditions(kube)).toEqual([]);
  });

  it("publishNotReadyAddresses makes all ready", () => {
    const kube = running(
      pod("p", "", "labels: {app: web}") +
        service("web", "publishNotReadyAddresses: true, selector: {app: web}, ports: [{port: 80}]"),
    );
    kube.setPodStatus("default", "p", { conditions: [{ type: "Ready", status: "False" }] });
    kube.reconcile();
    expect(conditions(kube)).toEqual([["10.244.0.1", true, false, false]]);
  });

  it("a pod with hostname and subdomain of the Service has a name", () => {
    const kube = running(
      workload("StatefulSet", "db", "serviceName: db, replicas: 2") +
        service("db", "clusterIP: None, selector: {app: db}"),
    );
    expect(endpoints(kube).map(({ hostname }) => hostname)).toEqual(["db-0", "db-1"]);
    expect(slicesOf(kube)[0]?.metadata.labels).toHaveProperty(["service.kubernetes.io/headless"], "");
    expect(slicesOf(kube)[0]?.ports).toEqual([]);
    expect(
      running(
        workload("StatefulSet", "db", "serviceName: other") +
          service("db", "clusterIP: None, selector: {app: db}"),
      ).objects("EndpointSlice")[0]?.endpoints?.[0],
    ).not.toHaveProperty("hostname");
  });

  it("pods that call a port differently have slices of their own", () => {
    const one = (name: string, port: string) =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, labels: {app: web}}\nspec: {containers: [{name: c, image: i, ports: [${port}]}]}\n---\n`;
    const kube = running(
      `\n${one("a", "{name: http, containerPort: 80}")}${one("b", "{name: http, containerPort: 8080}")}${one("c", "{name: other, containerPort: 80}")}${SERVICE}`,
    );
    const groups = slicesOf(kube).map((slice) => [
      slice.ports?.map(({ port }) => port),
      slice.endpoints?.map(({ targetRef }) => targetRef?.name),
    ]);
    expect(groups).toEqual(
      expect.arrayContaining([
        [[80], ["a"]],
        [[8080], ["b"]],
        [[], ["c"]],
      ]),
    );
    expect(groups).toHaveLength(3);
  });

  it("hold at most 100 endpoints; those that stay keep their slice", () => {
    const big = NODE.replace("status:", "status:\n  allocatable: {pods: 1000}");
    const kube = start(big + workload("Deployment", "web", "replicas: 250") + SERVICE);
    runPods(kube);
    expect(
      slicesOf(kube)
        .map((slice) => slice.endpoints?.length)
        .toSorted((a = 0, b = 0) => a - b),
    ).toEqual([50, 100, 100]);
    const where = () =>
      new Map(
        slicesOf(kube).flatMap(({ metadata, endpoints: own }) =>
          (own ?? []).map(({ targetRef }) => [targetRef?.uid, metadata.name] as const),
        ),
      );
    const before = where();
    kube.delete("Pod", "default", kube.objects("Pod")[0]!.metadata.name);
    kube.reconcile();
    const moved = [...where()].filter(([uid, name]) => before.has(uid) && before.get(uid) !== name);
    expect([moved, where().size]).toEqual([[], 249]);
  });

  it("one per family, each with the addresses of that family", () => {
    const kube = start(
      NODE +
        pod("p", "", "labels: {app: web}") +
        service("web", "ipFamilyPolicy: RequireDualStack, selector: {app: web}, ports: [{port: 80}]"),
      {
        serviceCIDRs: [range("10.96.0.0/16"), range("fd00:96::/112")],
      },
    );
    kube.setPodStatus("default", "p", {
      phase: "Running",
      podIPs: ["10.244.0.5", "fd00::5"],
      conditions: [{ type: "Ready", status: "True" }],
    });
    kube.reconcile();
    expect(
      slicesOf(kube)
        .map(({ addressType, endpoints: own }) => [addressType, own?.[0]?.addresses])
        .toSorted(byText),
    ).toEqual([
      ["IPv4", ["10.244.0.5"]],
      ["IPv6", ["fd00::5"]],
    ]);
  });

  it("name the zone of the node", () => {
    const kube = start(
      windowsNode("win-1").replace(
        "{name: win-1}",
        "{name: win-1, labels: {topology.kubernetes.io/zone: west}}",
      ) +
        pod("p", "", "labels: {app: web}") +
        SERVICE,
    );
    runPods(kube);
    expect(endpoints(kube)[0]?.zone).toBe("west");
  });

  it("follow the selector, and go with the Service", () => {
    const kube = running(WEB + SERVICE);
    apply(kube, service("web", "selector: {app: none}, ports: [{port: 80}]"));
    expect(endpoints(kube)).toEqual([]);
    expect(kube.notes().map(({ code, path }) => [code, path])).toEqual([
      ["selector-matches-nothing", "spec.selector"],
    ]);
    kube.delete("Service", "default", "web");
    kube.reconcile();
    expect(slicesOf(kube)).toEqual([]);
  });
});

describe("Services without a selector", () => {
  const ENDPOINTS = `
apiVersion: v1
kind: Endpoints
metadata: {name: db}
subsets:
- addresses: [{ip: 192.0.2.1}, {ip: "fd00::1"}]
  notReadyAddresses: [{ip: 192.0.2.2}]
  ports: [{name: sql, port: 1433}]
---`;
  const OWN = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: mine, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.9]}]
ports: [{port: 1433}]
---`;
  const DB = service("db", "ports: [{name: sql, port: 1433}]");

  it("have no slices by themselves", () => {
    expect(slicesOf(start(DB))).toEqual([]);
  });

  it("take the slices that people wrote", () => {
    expect(slicesOf(start(DB + OWN)).map(({ metadata }) => metadata.name)).toEqual(["mine"]);
  });

  it("have the Endpoints of their name mirrored, one slice per family", () => {
    const kube = start(DB + ENDPOINTS);
    expect(
      slicesOf(kube)
        .map(({ addressType, ports, metadata }) => [
          addressType,
          ports,
          metadata.labels?.["endpointslice.kubernetes.io/managed-by"],
        ])
        .toSorted(byText),
    ).toEqual([
      ["IPv4", [{ name: "sql", port: 1433, protocol: "TCP" }], "endpointslicemirroring-controller.k8s.io"],
      ["IPv6", [{ name: "sql", port: 1433, protocol: "TCP" }], "endpointslicemirroring-controller.k8s.io"],
    ]);
    expect(conditions(kube).toSorted(byText)).toEqual([
      ["192.0.2.1", true, true, false],
      ["192.0.2.2", false, false, false],
      ["fd00::1", true, true, false],
    ]);
    apply(kube, ENDPOINTS.replace("192.0.2.1", "192.0.2.7"));
    expect(conditions(kube).map(([address]) => address)).toContain("192.0.2.7");
    kube.delete("Endpoints", "default", "db");
    kube.reconcile();
    expect(slicesOf(kube)).toEqual([]);
  });

  it("have nothing mirrored beside slices, or when they say so", () => {
    expect(slicesOf(start(DB + ENDPOINTS + OWN)).map(({ metadata }) => metadata.name)).toEqual(["mine"]);
    const skipped = ENDPOINTS.replace(
      "{name: db}",
      '{name: db, labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}',
    );
    expect(slicesOf(start(DB + skipped))).toEqual([]);
  });

  it("an ExternalName has none", () => {
    expect(
      slicesOf(start(service("db", "type: ExternalName, externalName: db.example.com") + ENDPOINTS)),
    ).toEqual([]);
  });
});

describe("a slice that points at what is not there", () => {
  it("is noted, with the place", () => {
    const text = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints:
- {addresses: [10.244.0.1], nodeName: gone, targetRef: {kind: Pod, name: lost, namespace: default}}
`;
    const kube = start(text);
    expect(kube.notes().map(({ code, line, path, message }) => [code, line, path, message])).toEqual([
      [
        "slice-target-unknown",
        2,
        "endpoints[0].targetRef",
        "EndpointSlice default/s points at pod lost, which is not there",
      ],
      [
        "slice-target-unknown",
        2,
        "endpoints[0].nodeName",
        "EndpointSlice default/s points at node gone, which is not there",
      ],
    ]);
    expect(objectsOf(text)).toHaveLength(1);
  });
});
