import { describe, expect, it } from "vitest";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { getHnsEndpointByName, getHnsNetworkByName } from "#contracts/hcn/v1-operations.ts";
import {
  type FlanneldNode,
  type FlanneldNodeOptions,
  FlanneldWorld,
  HOST_GW_CONF,
  type Machine,
  published,
  routesOf,
} from "#test/support/flannel/flanneld-world.ts";
import type { FlannelHost, WindowsHost } from "../node/flannel-host.ts";

const BOTH = ["upstream", "hardened"] as const;
const PREFIX = "flannel.alpha.coreos.com";
const ROUTE = "10.244.2.0/24 via 10.0.0.12 on vEthernet (Ethernet)";

function world(address = "10.0.0.12"): FlanneldWorld {
  const made = new FlanneldWorld();
  made.nodes.put("w1", { podCIDR: "10.244.1.0/24" });
  made.nodes.put("l1", { podCIDR: "10.244.2.0/24", annotations: published("host-gw", address, "null") });
  return made;
}

async function started(
  made: FlanneldWorld,
  options: FlanneldNodeOptions = {},
  machine?: Machine,
): Promise<FlanneldNode> {
  const node = made.flanneld("w1", { netConf: HOST_GW_CONF, ...options }, machine);
  await made.run(100);
  return node;
}

function client(node: FlanneldNode): HcnClient {
  if (node.machine.client === undefined) throw new Error("a Windows node has HNS");
  return node.machine.client;
}

/** Somebody takes a route away, or makes one. */
async function windowsHost(
  node: FlanneldNode,
): Promise<{ readonly host: WindowsHost; readonly index: number }> {
  const host = node.machine.flannelHost as WindowsHost;
  const interfaces = await host.listInterfaces();
  return { host, index: interfaces.find(({ name }) => name === "vEthernet (Ethernet)")?.index ?? 0 };
}

describe("the network of host-gw", () => {
  it("CP-F9, CP-F46: cbr0 with its gateway .1, and cbr0_ep at .2 in the host", async () => {
    const node = await started(world());
    expect(node.state).toMatchObject({ state: "running", isReady: true });
    const network = await getHnsNetworkByName(client(node), "cbr0");
    expect(network).toMatchObject({ Type: "L2Bridge" });
    expect(network.Subnets?.[0]).toMatchObject({
      AddressPrefix: "10.244.1.0/24",
      GatewayAddress: "10.244.1.1",
    });
    const endpoint = await getHnsEndpointByName(client(node), "cbr0_ep");
    expect(endpoint.IPAddress).toBe("10.244.1.2");
    const { root } = node.machine.host;
    expect(root.listInterfaces().map(({ name, isForwarding }) => [name, isForwarding])).toEqual([
      ["vEthernet (Ethernet)", true],
      ["vEthernet (cbr0_ep)", true],
    ]);
  });

  it("has the name and the DNS servers of the configuration", async () => {
    const Backend = { Type: "host-gw", Name: "l2bridge", DNSServerList: "10.96.0.10" };
    const node = await started(world(), { netConf: { Network: "10.244.0.0/16", Backend } });
    const network = await getHnsNetworkByName(client(node), "l2bridge");
    expect(network.DNSServerList).toBe("10.96.0.10");
    expect((await getHnsEndpointByName(client(node), "l2bridge_ep")).IPAddress).toBe("10.244.1.2");
  });

  it("CP-F10: behind an address translation it is refused", async () => {
    const node = await started(world(), { options: { iface: ["10.0.0.11"], publicIp: "203.0.113.9" } });
    expect(node.state).toMatchObject({
      state: "ended",
      exitCode: 1,
      finding: { message: expect.stringContaining("your PublicIP differs from interface IP") as string },
    });
  });

  it("CP-F18: publishes the word null, and its type", async () => {
    const made = world();
    await started(made);
    expect(made.nodes.annotations("w1")).toMatchObject({
      [`${PREFIX}/backend-data`]: "null",
      [`${PREFIX}/backend-type`]: "host-gw",
      [`${PREFIX}/public-ip`]: "10.0.0.11",
      [`${PREFIX}/kube-subnet-manager`]: "true",
    });
  });

  it("CP-F34: the MTU of pods is the adapter's", async () => {
    const node = await started(world());
    expect(node.machine.files.texts.get("/run/flannel/subnet.env")).toContain("FLANNEL_MTU=1500\n");
  });

  it("CP-F45: a leg that is attached already is no failure, as after a restart", async () => {
    for (const compat of BOTH) {
      const made = world();
      const first = await started(made, { compat });
      first.stop();
      const second = await started(made, { compat }, first.machine);
      expect(second.state).toMatchObject({ state: "running", isReady: true });
      expect(second.lines()).toContain("I Found existing HNSNetwork cbr0");
      expect(second.lines()).toContain("I Found existing bridge HNSEndpoint cbr0_ep");
      expect(second.lines()).toContain("I Attached bridge endpoint cbr0_ep to host successfully");
    }
  });

  it("another range of the node brings another network and another leg", async () => {
    const made = world();
    const first = await started(made);
    first.stop();
    made.nodes.put("w1", { podCIDR: "10.244.9.0/24" });
    const second = await started(made, {}, first.machine);
    expect((await getHnsNetworkByName(client(second), "cbr0")).Subnets?.[0]?.AddressPrefix).toBe(
      "10.244.9.0/24",
    );
    expect((await getHnsEndpointByName(client(second), "cbr0_ep")).IPAddress).toBe("10.244.9.2");
  });

  it("waits 5 s for the node's address and ends when it does not come", async () => {
    const made = world();
    const node = made.flanneld("w1", { netConf: HOST_GW_CONF, networking: { addressDelayMs: 60_000 } });
    await made.run(4_900);
    expect(node.state).toMatchObject({ state: "waiting", finding: { code: "flannel-network-not-ready" } });
    await made.run(200);
    expect(node.state).toMatchObject({ state: "ended", exitCode: 1 });
  });

  it("an attach that fails is tried again", async () => {
    const made = world();
    let refusals = 0;
    const node = await started(made, {
      wrapClient: (inner) => {
        const wrapped = Object.create(inner) as HcnClient;
        wrapped.call = (method, path, body): Promise<JsonObject> =>
          path.endsWith("/attach") && refusals++ < 2
            ? Promise.resolve({ Success: false, Error: "busy", ErrorCode: 0x8007_00aa })
            : inner.call(method, path, body);
        return wrapped;
      },
    });
    expect(node.state?.state).toBe("waiting");
    expect(node.machine.files.texts.size).toBe(0);
    await made.run(1_000);
    expect(node.state).toMatchObject({ state: "running", isReady: true });
  });
});

describe("HNS does not report what is there, as after a restart of flanneld", () => {
  /** The first `count` answers to that call are that the service is away. */
  const away =
    (path: string, count: number) =>
    (inner: HcnClient): HcnClient => {
      let refusals = 0;
      const wrapped = Object.create(inner) as HcnClient;
      wrapped.call = (method, called, body): Promise<JsonObject> =>
        method === "GET" && called === path && refusals++ < count
          ? Promise.resolve({ Success: false, Error: "away", ErrorCode: 0x8007_06ba })
          : inner.call(method, called, body);
      return wrapped;
    };

  it.each(["/networks/", "/endpoints/"])(
    "%s: hardened looks again, and keeps what is there",
    async (path) => {
      const made = world();
      const first = await started(made, { compat: "hardened" });
      const network = await getHnsNetworkByName(client(first), "cbr0");
      const endpoint = await getHnsEndpointByName(client(first), "cbr0_ep");
      first.stop();
      const second = await started(made, { compat: "hardened", wrapClient: away(path, 2) }, first.machine);
      expect(second.state).toMatchObject({ state: "waiting", finding: { code: "hns-unreachable" } });
      await made.run(1_000);
      expect(second.state).toMatchObject({ state: "running", isReady: true });
      expect((await getHnsNetworkByName(client(second), "cbr0")).ID).toBe(network.ID);
      expect((await getHnsEndpointByName(client(second), "cbr0_ep")).ID).toBe(endpoint.ID);
      expect(second.lines().some((line) => line.startsWith("I Attempting to create"))).toBe(false);
    },
  );

  it("hardened ends when that goes on for 5 s, and is started again", async () => {
    const made = world();
    const node = await started(made, { compat: "hardened", wrapClient: away("/networks/", 100) });
    await made.run(5_000);
    expect(node.state).toMatchObject({ state: "ended", exitCode: 1, finding: { code: "hns-unreachable" } });
  });

  it("upstream takes it for not there, and HNS refuses a second network on the adapter", async () => {
    const made = world();
    const first = await started(made);
    first.stop();
    const second = await started(made, { wrapClient: away("/networks/", 2) }, first.machine);
    expect(second.lines().some((line) => line.startsWith("I Attempting to create"))).toBe(true);
    expect(second.state).toMatchObject({ state: "ended", finding: { code: "flannel-network-not-made" } });
  });
});

describe("routes to other nodes", () => {
  it("cannot be listed when a node gets a new address: hardened makes no second route beside the old one", async () => {
    for (const compat of BOTH) {
      const made = world();
      let isFailing = false;
      const wrapHost = (inner: FlannelHost): FlannelHost => {
        const host = inner as WindowsHost;
        const wrapped = Object.create(host) as WindowsHost;
        wrapped.routesTo = (prefix) =>
          isFailing ? Promise.reject(new Error("Get-NetRoute: timed out")) : host.routesTo(prefix);
        wrapped.addRoute = (route) => host.addRoute(route);
        return wrapped;
      };
      const node = await started(made, { compat, wrapHost });
      isFailing = true;
      made.nodes.annotate("l1", published("host-gw", "10.0.0.77", "null"));
      await made.run(100);
      const moved = "10.244.2.0/24 via 10.0.0.77 on vEthernet (Ethernet)";
      expect(routesOf(node.machine).toSorted()).toEqual(compat === "upstream" ? [ROUTE, moved] : [ROUTE]);
      const codes = node.flanneld.findings().map(({ code }) => code);
      expect(codes).toEqual(compat === "upstream" ? [] : ["flannel-route-not-programmed"]);
      await made.run(10_000);
      expect(routesOf(node.machine).toSorted()).toEqual(compat === "upstream" ? [ROUTE, moved] : [moved]);
      expect(node.flanneld.findings()).toEqual([]);
      made.nodes.remove("l1");
      await made.run(20_000);
      expect(routesOf(node.machine).toSorted()).toEqual(compat === "upstream" ? [ROUTE, moved] : []);
    }
  });

  it("hardened outlives a machine that does not list its interfaces", async () => {
    const made = world();
    let isFailing = false;
    const node = await started(made, {
      compat: "hardened",
      wrapHost: (inner) => {
        const host = inner as WindowsHost;
        const wrapped = Object.create(host) as WindowsHost;
        wrapped.listInterfaces = () =>
          isFailing ? Promise.reject(new Error("Get-NetIPInterface: timed out")) : host.listInterfaces();
        return wrapped;
      },
    });
    isFailing = true;
    await made.run(10_000);
    expect(node.state).toMatchObject({ state: "running" });
    expect(node.flanneld.findings()).toMatchObject([{ code: "flannel-network-not-ready" }]);
    isFailing = false;
    await made.run(10_000);
    expect(node.flanneld.findings()).toEqual([]);
    expect(routesOf(node.machine)).toEqual([ROUTE]);
  });

  it.each(BOTH)("come with a lease and go with its node (%s)", async (compat) => {
    const made = world();
    const node = await started(made, { compat });
    expect(routesOf(node.machine)).toEqual([ROUTE]);
    made.nodes.remove("l1");
    await made.run(100);
    expect(routesOf(node.machine)).toEqual([]);
  });

  it.each(BOTH)("CP-F44: one that somebody has taken away is back within 10 s (%s)", async (compat) => {
    const made = world();
    const node = await started(made, { compat });
    const { host } = await windowsHost(node);
    const [route] = (await host.listRoutes()).filter(({ prefix }) => prefix.length === 24);
    if (route === undefined) throw new Error("there is a route");
    await host.removeRoute(route);
    expect(routesOf(node.machine)).toEqual([]);
    await made.run(10_000);
    expect(routesOf(node.machine)).toEqual([ROUTE]);
  });

  it("CP-F43: one that was there before is not put back by upstream, and is by hardened", async () => {
    for (const compat of BOTH) {
      const made = world();
      const first = await started(made, { compat });
      first.stop();
      const second = await started(made, { compat }, first.machine);
      const { host } = await windowsHost(second);
      const [route] = (await host.listRoutes()).filter(({ prefix }) => prefix.length === 24);
      if (route === undefined) throw new Error("there is a route");
      await host.removeRoute(route);
      await made.run(30_000);
      expect(routesOf(second.machine)).toEqual(compat === "upstream" ? [] : [ROUTE]);
    }
  });

  it("a node's new address: upstream puts the old route back, hardened does not", async () => {
    for (const compat of BOTH) {
      const made = world();
      const node = await started(made, { compat });
      made.nodes.annotate("l1", published("host-gw", "10.0.0.77", "null"));
      await made.run(100);
      const moved = "10.244.2.0/24 via 10.0.0.77 on vEthernet (Ethernet)";
      expect(routesOf(node.machine)).toEqual([moved]);
      await made.run(20_000);
      expect(routesOf(node.machine).toSorted()).toEqual(compat === "upstream" ? [ROUTE, moved] : [moved]);
    }
  });

  it("after a restart upstream keeps routes to nodes that are gone; hardened takes them away", async () => {
    for (const compat of BOTH) {
      const made = world();
      const first = await started(made, { compat });
      first.stop();
      made.nodes.remove("l1");
      const second = await started(made, { compat }, first.machine);
      await made.run(20_000);
      expect(routesOf(second.machine)).toEqual(compat === "upstream" ? [ROUTE] : []);
    }
  });

  it("a route that cannot be made is named, and tried again by hardened alone", async () => {
    for (const compat of BOTH) {
      const made = world();
      let isRefusing = true;
      const refusing = (inner: FlannelHost): FlannelHost => {
        const host = inner as WindowsHost;
        const wrapped = Object.create(host) as WindowsHost;
        wrapped.addRoute = (route) =>
          isRefusing ? Promise.reject(new Error("Access is denied")) : host.addRoute(route);
        return wrapped;
      };
      const node = await started(made, { compat, wrapHost: refusing });
      expect(node.flanneld.findings()).toMatchObject([{ code: "flannel-route-not-programmed" }]);
      expect(node.lines().some((line) => line.includes("Access is denied"))).toBe(true);
      isRefusing = false;
      await made.run(20_000);
      expect(routesOf(node.machine)).toEqual(compat === "upstream" ? [] : [ROUTE]);
      expect(node.flanneld.findings()).toEqual([]);
    }
  });

  it("a lease of another back end is left out", async () => {
    const made = world();
    made.nodes.annotate("l1", published("vxlan", "10.0.0.12", '{"VNI":4096,"VtepMAC":"aa:bb:cc:dd:ee:01"}'));
    const node = await started(made);
    expect(routesOf(node.machine)).toEqual([]);
    expect(node.lines()).toContain("W Ignoring non-host-gw subnet(10.244.2.0/24): type=vxlan");
  });
});
