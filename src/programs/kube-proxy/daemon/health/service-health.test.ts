import { describe, expect, it } from "vitest";
import {
  NODE_NAME,
  type EndpointLike,
  NODE_PORT,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import { behaviourOf } from "../../behaviour.ts";
import { ProxyObjects } from "../../tracking/proxy-objects.ts";
import type { HttpHandler, Listen } from "./http-answer.ts";
import {
  type CheckedService,
  ServiceHealthServers,
  checkedServices,
  serviceHealthAnswer,
} from "./service-health.ts";

const BEHAVIOUR = behaviourOf({ major: 1, minor: 36 }, "upstream");
const LOCAL_LOAD_BALANCER = {
  type: "LoadBalancer",
  ports: NODE_PORT,
  externalTrafficPolicy: "Local",
  healthCheckNodePort: 32_000,
} as const;

function countOf(endpoints: readonly EndpointLike[], hostname = NODE_NAME): readonly CheckedService[] {
  const objects = new ProxyObjects();
  objects.servicesListed([service({ spec: LOCAL_LOAD_BALANCER })]);
  objects.endpointSlicesListed([slice(endpoints)]);
  return checkedServices(objects, [4], BEHAVIOUR, hostname);
}

/** The answer for the fixture's Service with a healthy proxy. */
function statusOf(endpoints: readonly EndpointLike[], hostname?: string): number | undefined {
  const [checked] = countOf(endpoints, hostname);
  return checked && serviceHealthAnswer(checked, true, 36).status;
}

describe("health checks of Services (kube-proxy.md §5.1)", () => {
  it("count addresses of ready endpoints on this node, once each", () => {
    expect(countOf(["L1", "L2", "R1"])).toEqual([
      { namespace: "default", name: "svc", port: 32_000, localEndpoints: 2 },
    ]);
  });

  it("F20: a terminating local pod does not count, though its load balancer has it: 503", () => {
    expect(statusOf([{ at: "L1", is: "serving" }, "R1"])).toBe(503);
    expect(statusOf(["L1", "R1"])).toBe(200);
  });

  it("L2: under another name of the node nothing is local: 503, though HNS says otherwise", () => {
    expect(statusOf(["L1"], "test-node-2")).toBe(503);
  });

  it("are none for Services without the policy", () => {
    const objects = new ProxyObjects();
    objects.servicesListed([
      service({ spec: { ...LOCAL_LOAD_BALANCER, externalTrafficPolicy: "Cluster" } }),
      service({ name: "b", spec: { ...LOCAL_LOAD_BALANCER, type: "NodePort" } }),
    ]);
    objects.endpointSlicesListed([]);
    expect(checkedServices(objects, [4], BEHAVIOUR, NODE_NAME)).toEqual([]);
  });

  const CHECKED: CheckedService = { namespace: "ns", name: "web", port: 32_000, localEndpoints: 3 };

  it("answer in upstream's form", () => {
    const answer = serviceHealthAnswer(CHECKED, true, 34);
    expect(answer.status).toBe(200);
    expect(answer.headers).toEqual({
      "Content-Type": "application/json",
      "X-Content-Type-Options": "nosniff",
      "X-Load-Balancing-Endpoint-Weight": "3",
    });
    expect(JSON.parse(answer.body)).toEqual({
      service: { namespace: "ns", name: "web" },
      localEndpoints: 3,
      serviceProxyHealthy: true,
    });
  });

  it.each([
    [34, 3, true, 200],
    [34, 0, true, 503],
    [34, 3, false, 503],
    [27, 3, false, 503],
    [26, 3, false, 200],
    [26, 0, true, 503],
  ])("1.%i, %i endpoints, proxy healthy %s: %i", (minor, localEndpoints, isHealthy, status) => {
    expect(serviceHealthAnswer({ ...CHECKED, localEndpoints }, isHealthy, minor).status).toBe(status);
  });

  it("open, close and move with Services; a port that is taken is tried again in the next sync", async () => {
    const open = new Map<string, HttpHandler>();
    const taken = new Set(["0.0.0.0:32001"]);
    const failed: string[] = [];
    const listen: Listen = async (address, handler) => {
      if (taken.has(address)) throw new Error("taken");
      open.set(address, handler);
      return Promise.resolve({
        address,
        close: async () => {
          open.delete(address);
          return Promise.resolve();
        },
      });
    };
    const servers = new ServiceHealthServers({
      listen,
      minor: 34,
      isProxyHealthy: () => true,
      opened: () => undefined,
      closed: () => undefined,
      failed: ({ name }) => failed.push(name),
    });
    await servers.sync([CHECKED, { ...CHECKED, name: "other", port: 32_001 }]);
    expect([...open.keys()]).toEqual(["0.0.0.0:32000"]);
    expect(failed).toEqual(["other"]);
    taken.clear();
    await servers.sync([
      { ...CHECKED, localEndpoints: 0 },
      { ...CHECKED, name: "other", port: 32_001 },
    ]);
    expect([...open.keys()]).toEqual(["0.0.0.0:32000", "0.0.0.0:32001"]);
    expect(open.get("0.0.0.0:32000")?.("/any")).toMatchObject({ status: 503 });
    await servers.sync([{ ...CHECKED, port: 32_002 }]);
    expect([...open.keys()]).toEqual(["0.0.0.0:32002"]);
    await servers.closeAll();
    expect(open.size).toBe(0);
  });
});
