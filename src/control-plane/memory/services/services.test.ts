import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import type { Service } from "#contracts/kubernetes/objects.ts";
import { MemoryKube } from "../memory-kube.ts";
import type { MemoryKubeOptions } from "../control-plane.ts";
import { OPTIONS, apply, objectsOf, range, service, start } from "#test/support/kubernetes/kube.suite.ts";

const ADDRESS = expect.stringMatching(/^10\.96\./) as string;
const ANY_PORT = expect.any(Number) as number;

const PORTS = "ports: [{port: 80}]";
const specOf = (kube: MemoryKube, name = "a"): Service["spec"] => kube.get("Service", "default", name)?.spec;
const stored = (spec: string, options: Partial<MemoryKubeOptions> = {}) =>
  specOf(start(service("a", spec), options));

/** Problems of applying a text to an empty cluster: place, path and message. */
function refusals(text: string, options: Partial<MemoryKubeOptions> = {}): string[] {
  const report = new MemoryKube(new Prng(1), { ...OPTIONS, ...options }).apply(objectsOf(text));
  return report.problems.map(({ line, path, message }) => `${line} ${path}: ${message}`);
}

describe("defaults", () => {
  it("ClusterIP", () => {
    expect(stored(PORTS)).toEqual({
      type: "ClusterIP",
      ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      clusterIP: ADDRESS,
      clusterIPs: [ADDRESS],
    });
  });

  it("NodePort", () => {
    expect(stored(`type: NodePort, ${PORTS}`)).toMatchObject({
      externalTrafficPolicy: "Cluster",
      ports: [{ nodePort: ANY_PORT }],
    });
  });

  it("LoadBalancer", () => {
    expect(stored(`type: LoadBalancer, ${PORTS}`)).toMatchObject({
      externalTrafficPolicy: "Cluster",
      allocateLoadBalancerNodePorts: true,
      ports: [{ nodePort: ANY_PORT }],
    });
    expect(stored(`type: LoadBalancer, ${PORTS}`)).not.toHaveProperty("healthCheckNodePort");
  });

  it("LoadBalancer with traffic kept local has a port for health checks", () => {
    expect(stored(`type: LoadBalancer, externalTrafficPolicy: Local, ${PORTS}`)).toMatchObject({
      healthCheckNodePort: ANY_PORT,
    });
  });

  it("LoadBalancer without node ports", () => {
    expect(stored(`type: LoadBalancer, allocateLoadBalancerNodePorts: false, ${PORTS}`)?.ports).toEqual([
      { port: 80, targetPort: 80, protocol: "TCP" },
    ]);
  });

  it("affinity lasts three hours", () => {
    expect(stored(`sessionAffinity: ClientIP, ${PORTS}`)?.sessionAffinityConfig).toEqual({
      clientIP: { timeoutSeconds: 10_800 },
    });
  });

  it("external addresses make a ClusterIP Service reachable", () => {
    expect(stored(`externalIPs: [192.0.2.1], ${PORTS}`)?.externalTrafficPolicy).toBe("Cluster");
  });

  it("headless", () => {
    expect(stored("clusterIP: None, selector: {app: a}")).toMatchObject({
      clusterIP: "None",
      clusterIPs: ["None"],
      ipFamilies: ["IPv4"],
    });
  });

  it("ExternalName has no address", () => {
    expect(stored("type: ExternalName, externalName: db.example.com")).toEqual({
      type: "ExternalName",
      externalName: "db.example.com",
      sessionAffinity: "None",
    });
  });
});

describe("addresses", () => {
  it("that are asked for are given", () => {
    expect(stored(`clusterIP: 10.96.0.10, ${PORTS}`)?.clusterIPs).toEqual(["10.96.0.10"]);
  });

  it("are chosen from the upper band, and never from what others of the batch ask for", () => {
    const text = Array.from({ length: 200 }, (_, index) => service(`s${index}`, PORTS)).join("");
    const kube = start(text + service("z", `clusterIP: 10.96.77.77, ${PORTS}`));
    const addresses = kube.objects("Service").map(({ spec }) => spec?.clusterIP ?? "");
    expect(new Set(addresses).size).toBe(201);
    expect(addresses.filter((ip) => ip.startsWith("10.96.0."))).toEqual([]);
  });

  it.each<[string, string, string]>([
    [
      "outside the range",
      service("a", `clusterIP: 10.97.0.1, ${PORTS}`),
      '5 spec.clusterIPs: Invalid value: ["10.97.0.1"]: failed to allocate IP 10.97.0.1: the provided IP (10.97.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16',
    ],
    [
      "the name of the range",
      service("a", `clusterIP: 10.96.0.0, ${PORTS}`),
      '5 spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: the provided IP (10.96.0.0) is not in the valid range. The range of valid IPs is 10.96.0.0/16',
    ],
    [
      "given twice",
      service("a", `clusterIP: 10.96.0.9, ${PORTS}`) + service("b", `clusterIP: 10.96.0.9, ${PORTS}`),
      '10 spec.clusterIPs: Invalid value: ["10.96.0.9"]: failed to allocate IP 10.96.0.9: provided IP is already allocated',
    ],
    [
      "a family that the cluster lacks",
      service("a", `ipFamilies: [IPv6], ${PORTS}`),
      '5 spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ],
    [
      "two families where there is one",
      service("a", `ipFamilyPolicy: RequireDualStack, ${PORTS}`),
      '5 spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ],
  ])("are refused: %s", (_, text, problem) => {
    expect(refusals(text)).toEqual([problem]);
  });

  it("end with the range", () => {
    const text = ["a", "b", "c"].map((name) => service(name, PORTS)).join("");
    expect(refusals(text, { serviceCIDRs: [range("10.96.0.0/30")] })).toEqual([
      "12 spec.clusterIPs: Internal error occurred: failed to allocate a serviceIP: range is full",
    ]);
  });

  it("may not be changed, and stay when the Service is applied again", () => {
    const kube = start(service("a", PORTS));
    const address = specOf(kube)?.clusterIP;
    apply(kube, service("a", "ports: [{port: 81}]"));
    expect(specOf(kube)?.clusterIP).toBe(address);
    const { problems } = apply(kube, service("a", `clusterIP: 10.96.0.77, ${PORTS}`));
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'spec.clusterIPs[0]: Invalid value: "10.96.0.77": may not change once set',
    ]);
  });

  it("of two families, where the cluster has both", () => {
    const serviceCIDRs = [range("10.96.0.0/16"), range("fd00:96::/112")];
    expect(stored(PORTS, { serviceCIDRs })?.clusterIPs).toHaveLength(1);
    expect(stored(`ipFamilyPolicy: PreferDualStack, ${PORTS}`, { serviceCIDRs })).toMatchObject({
      ipFamilies: ["IPv4", "IPv6"],
      clusterIPs: [ADDRESS, expect.stringMatching(/^fd00:96::/) as string],
    });
    expect(stored(`ipFamilies: [IPv6], ${PORTS}`, { serviceCIDRs })).toMatchObject({
      ipFamilyPolicy: "SingleStack",
      clusterIP: expect.stringMatching(/^fd00:96::/) as string,
    });
  });
});

describe("node ports", () => {
  const nodePort = (name: string, port: number) =>
    service(name, `type: NodePort, ports: [{port: 80, nodePort: ${port}}]`);

  it("of two Services that ask for one: the first keeps it, the second is refused with file and line", () => {
    expect(refusals(nodePort("a", 30_080) + nodePort("b", 30_080))).toEqual([
      "10 spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated",
    ]);
  });

  it("outside the range are refused", () => {
    expect(refusals(nodePort("a", 29_999))).toEqual([
      "5 spec.ports[0].nodePort: Invalid value: 29999: provided port is not in the valid range. The range of valid ports is 30000-32767",
    ]);
  });

  it("are one for TCP and UDP of the same port", () => {
    const spec = stored("type: NodePort, ports: [{name: t, port: 53}, {name: u, port: 53, protocol: UDP}]");
    const [tcp, udp] = (spec?.ports ?? []).map((port) => port.nodePort);
    expect(tcp).toBe(udp);
  });

  it("stay with their port when the Service is applied again, and are free when its type changes", () => {
    const kube = start(service("a", `type: NodePort, ${PORTS}`));
    const port = specOf(kube)?.ports?.[0]?.nodePort ?? 0;
    apply(kube, service("a", "type: NodePort, ports: [{port: 80, targetPort: 8080}]"));
    expect(specOf(kube)?.ports?.[0]?.nodePort).toBe(port);
    apply(kube, service("a", PORTS));
    expect(specOf(kube)?.ports?.[0]?.nodePort).toBeUndefined();
    expect(apply(kube, nodePort("b", port)).problems).toEqual([]);
  });

  it("end with the range", () => {
    const text = ["a", "b", "c"].map((name) => service(name, `type: NodePort, ${PORTS}`)).join("");
    expect(refusals(text, { nodePorts: { first: 30_000, last: 30_001 } })).toEqual([
      "12 spec.ports: Internal error occurred: failed to allocate a nodePort: range is full",
    ]);
  });
});

describe("ingress addresses", () => {
  const ingress = (kube: MemoryKube, name: string) =>
    kube.get("Service", "default", name)?.status?.loadBalancer?.ingress?.[0]?.ip;
  const BALANCED = `type: LoadBalancer, ${PORTS}`;

  it("come from the pool, if there is one, and are given back", () => {
    expect(ingress(start(service("a", BALANCED)), "a")).toBeUndefined();
    const kube = start(service("a", BALANCED) + service("b", BALANCED), {
      loadBalancerPool: range("192.0.2.0/29"),
    });
    expect([ingress(kube, "a"), ingress(kube, "b")]).toEqual(["192.0.2.1", "192.0.2.2"]);
    kube.delete("Service", "default", "a");
    apply(kube, service("c", BALANCED));
    expect(ingress(kube, "c")).toBe("192.0.2.1");
  });

  it("of a dump stay", () => {
    const text = `${service("a", BALANCED).replace("---", "")}status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n`;
    expect(ingress(start(text, { loadBalancerPool: range("192.0.2.0/29") }), "a")).toBe("198.51.100.1");
  });

  it("are not for Services of another class", () => {
    const kube = start(service("a", `loadBalancerClass: example.com/x, ${BALANCED}`), {
      loadBalancerPool: range("192.0.2.0/29"),
    });
    expect(ingress(kube, "a")).toBeUndefined();
  });
});

describe("books", () => {
  const TYPES = ["ClusterIP", "NodePort", "LoadBalancer"];

  it("every address and port that was given comes back", () => {
    const step = fc.record({
      name: fc.constantFrom("a", "b", "c", "d", "e"),
      type: fc.constantFrom(...TYPES),
      isDeleted: fc.boolean(),
      port: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        // Room for three: anything that leaks is missed soon.
        const kube = new MemoryKube(new Prng(1), {
          ...OPTIONS,
          serviceCIDRs: [range("10.96.0.0/29")],
          nodePorts: { first: 30_000, last: 30_004 },
        });
        for (const { name, type, isDeleted, port } of steps) {
          const isThere = kube.get("Service", "default", name) !== undefined;
          if (!isDeleted) kube.apply(objectsOf(service(name, `type: ${type}, ports: [{port: ${port}}]`)));
          else if (isThere) kube.delete("Service", "default", name);
        }
        for (const { metadata } of kube.objects("Service"))
          kube.delete("Service", metadata.namespace, metadata.name);
        const names = ["p", "q", "r", "s", "t"];
        const all = names.map((name) => service(name, `type: NodePort, ${PORTS}`)).join("");
        expect(kube.apply(objectsOf(all)).problems).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
