// What azure-vnet says and leaves behind when CNS, the wire server or the state file are not as they should be.
import { describe, expect, it } from "vitest";
import { type PluginRun, errorOf } from "#test/support/cni/cni-process.ts";
import { AZURE_POD, type CnsNode, TENANT, cnsNode, pool } from "#test/support/cni/cns-node.ts";
import type { HttpAnswer, HttpRequest } from "../cns/client.ts";

const LIST = { cniVersion: "1.0.0", name: "azure", type: "azure-vnet", ipam: { type: "azure-cns" } };
const NEWEST = { ...LIST, cniVersion: "1.1.0" };
const TENANCY = { ...LIST, multiTenancy: true };
const POOL = pool("10.241.0.4/16", "10.241.0.1", "10.241.0.9");

function node(compat: "upstream" | "hardened"): CnsNode {
  const own = cnsNode(compat);
  own.cns.pool.add(POOL);
  return own;
}

/** CNS, or what is at its place, answers otherwise. */
function answering(own: CnsNode, answer: (request: HttpRequest) => Promise<HttpAnswer>): CnsNode {
  Object.assign(own.host, { http: answer });
  return own;
}

const GOOD = {
  PodIPConfig: { IPAddress: "10.241.0.9", PrefixLength: 32 },
  NetworkContainerPrimaryIPConfig: {
    IPSubnet: { IPAddress: "10.241.0.4", PrefixLength: 16 },
    GatewayIPAddress: "10.241.0.1",
  },
  HostPrimaryIPInfo: { Subnet: "10.240.0.0/16", PrimaryIP: "10.240.0.4", Gateway: "10.240.0.1" },
  NICType: "InfraNIC",
};
const withInfo = (fields: object) => JSON.stringify({ podIPInfo: [{ ...GOOD, ...fields }], response: {} });

/** HNS is as before, and CNS was told to take back what it may have given. */
function expectNothingLeft(own: CnsNode, run: PluginRun): void {
  expect(run.status).toBe(1);
  expect(own.client.calls).toEqual([]);
  expect(own.store.text).toBeUndefined();
}

describe("ADD with CNS", () => {
  const ok = (text: string) => (): Promise<HttpAnswer> => Promise.resolve({ status: 200, text });

  it.each<[string, (request: HttpRequest) => Promise<HttpAnswer>, number, string, string, string]>([
    [
      "is down",
      () => Promise.reject(new Error("connection refused")),
      11,
      'http request failed: Post "http://localhost:10090/network/requestipconfigs": connection refused',
      'CNS of this node does not answer at http://localhost:10090 (field "cnsurl")',
      "azure-cns-down",
    ],
    [
      "hangs",
      ({ timeoutMs }) =>
        Promise.reject(new Error(`context deadline exceeded: no answer in ${timeoutMs / 1000} s`)),
      11,
      "context deadline exceeded: no answer in 15 s",
      "does not answer",
      "azure-cns-down",
    ],
    [
      "answers 500",
      () => Promise.resolve({ status: 500, text: "" }),
      11,
      "http response 500",
      'what answers at http://localhost:10090 (field "cnsurl") fails',
      "azure-cns-refused",
    ],
    [
      "is something else",
      ok("<html>"),
      6,
      "failed to decode IPConfigsResponse: ",
      "does not speak as CNS does",
      "azure-cns-answer-wrong",
    ],
    [
      "has no return code",
      ok("{}"),
      6,
      'field "Response" must be an object',
      "does not speak as CNS does",
      "azure-cns-answer-wrong",
    ],
    [
      "has another type in a field",
      ok('{"podIPInfo":[{"PodIPConfig":{"PrefixLength":"24"}}],"response":{}}'),
      6,
      'field "podIPInfo[0].PodIPConfig.PrefixLength" must be a whole number',
      "does not speak as CNS does",
      "azure-cns-answer-wrong",
    ],
    [
      "refuses",
      ok('{"response":{"ReturnCode":29,"Message":"inconsistent"}}'),
      999,
      "inconsistent",
      "its log says why",
      "azure-cns-refused",
    ],
    [
      "gives an address that is none",
      ok(withInfo({ PodIPConfig: { IPAddress: "10.241.0.999", PrefixLength: 32 } })),
      999,
      "Unable to parse IP from response: 10.241.0.999",
      'CNS answered this in "podIPInfo[].PodIPConfig"',
      "azure-cns-answer-wrong",
    ],
    [
      "gives a prefix length that is none",
      ok(
        withInfo({
          NetworkContainerPrimaryIPConfig: { IPSubnet: { PrefixLength: 33 }, GatewayIPAddress: "10.241.0.1" },
        }),
      ),
      999,
      "invalid CIDR address: 10.241.0.9/33",
      "PodIPConfig",
      "azure-cns-answer-wrong",
    ],
    [
      "does not know the host's subnet",
      ok(withInfo({ HostPrimaryIPInfo: {} })),
      999,
      "unable to parse hostSubnet: invalid CIDR address: ",
      "HostPrimaryIPInfo.Subnet",
      "azure-cns-answer-wrong",
    ],
    [
      "names a route that is none",
      ok(withInfo({ Routes: [{ IPAddress: "10.0.0.0", GatewayIPAddress: "10.241.0.1" }] })),
      999,
      "unable to parse destination 10.0.0.0",
      "Routes",
      "azure-cns-answer-wrong",
    ],
    [
      "names a MAC address that is none",
      ok(withInfo({ NICType: "FrontendNIC", MacAddress: "60:45" })),
      999,
      "Invalid mac address",
      "MacAddress",
      "azure-cns-answer-wrong",
    ],
    [
      "names a kind of interface that nobody knows",
      ok(withInfo({ NICType: "QuantumNIC" })),
      999,
      'of the type "QuantumNIC"',
      "NICType",
      "azure-cns-answer-wrong",
    ],
    [
      "names a device without an ID",
      ok(withInfo({ NICType: "BackendNIC", MacAddress: "60:45:bd:12:45:65" })),
      999,
      "pnp id is not received from cns",
      "PnPID",
      "azure-cns-answer-wrong",
    ],
  ])("%s", async (_, answer, code, sentence, step, knowledge) => {
    const hardened = answering(node("hardened"), answer);
    const run = await hardened.run("ADD", LIST);
    const failed = errorOf(run);
    expect(failed.code).toBe(code);
    expect(failed.msg).toContain(sentence);
    expect(failed.details).toContain(step);
    expect(failed.details).toContain(`mullion explain ${knowledge}`);
    expectNothingLeft(hardened, run);
    const upstream = answering(node("upstream"), answer);
    expect(errorOf(await upstream.run("ADD", LIST)).code).toBe(999);
  });

  it("an answer that broke off is taken back: CNS holds nothing", async () => {
    const own = node("hardened");
    const reach = own.host.http;
    answering(own, async (request) => {
      const answer = await reach(request);
      return request.url.endsWith("requestipconfigs")
        ? { ...answer, text: answer.text.slice(0, 40) }
        : answer;
    });
    expectNothingLeft(own, await own.run("ADD", LIST));
    expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
  });

  it("the pool is exhausted: try again later, STATUS says so, too", async () => {
    const own = node("hardened");
    await own.run("ADD", LIST);
    const run = await own.run("ADD", LIST, { CNI_CONTAINERID: "ffff0000aaaa" });
    expect(errorOf(run)).toMatchObject({
      code: 11,
      msg: expect.stringContaining(
        "not enough IPs available of type IPv4 for nc-10.241.0.4/16, waiting on Azure CNS to allocate more",
      ) as string,
    });
    expect(run.explained).toBe("azure-cns-pool-exhausted");
    const status = await own.run("STATUS", NEWEST);
    expect(errorOf(status)).toMatchObject({
      code: 50,
      msg: "CNS at http://localhost:10090 has no free address",
    });
    await own.run("DEL", LIST);
    expect((await own.run("STATUS", NEWEST)).status).toBe(0);
  });

  it("STATUS while CNS is down", async () => {
    const own = answering(node("hardened"), () => Promise.reject(new Error("connection refused")));
    expect(errorOf(await own.run("STATUS", NEWEST))).toMatchObject({
      code: 50,
      msg: expect.stringContaining("CNS is not ready: http request failed") as string,
    });
    expect(errorOf(await own.run("STATUS", { ...NEWEST, multiTenancy: true })).code).toBe(50);
  });

  it('"cnsurl" is where CNS is; DEL of upstream looks in the usual place all the same', async () => {
    const stdin = { ...LIST, cnsurl: "http://127.0.0.1:9999/ignored" };
    for (const compat of ["upstream", "hardened"] as const) {
      const own = node(compat);
      await own.run("ADD", stdin);
      await own.run("DEL", stdin);
      expect(own.requests.map(({ url }) => url)).toEqual([
        "http://127.0.0.1:9999/network/requestipconfigs",
        `http://${compat === "upstream" ? "localhost:10090" : "127.0.0.1:9999"}/network/releaseipconfigs`,
      ]);
    }
  });
});

describe("DEL with CNS", () => {
  it("a refusal or a broken answer is code 11; the endpoint is gone, the next DEL comes through", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const own = node(compat);
      await own.run("ADD", LIST);
      const reach = own.host.http;
      answering(own, () => Promise.resolve({ status: 500, text: "" }));
      const failed = errorOf(await own.run("DEL", LIST));
      expect(failed.code).toBe(11);
      expect(failed.msg).toContain("failed to release address: failed to release IP");
      expect(own.client.list("Endpoint")).toEqual([]);
      answering(own, reach);
      expect((await own.run("DEL", LIST)).status).toBe(0);
      expect(own.cns.pool.all().filter(({ holder }) => holder !== undefined)).toEqual([]);
    }
  });

  it("the folder for CNS cannot be written: code 11", async () => {
    const own = node("hardened");
    await own.run("ADD", LIST);
    answering(own, () => Promise.reject(new Error("connection refused")));
    Object.assign(own.host, {
      pendingReleases: { add: () => Promise.reject(new Error("permission denied")) },
    });
    expect(errorOf(await own.run("DEL", LIST))).toMatchObject({
      code: 11,
      msg: expect.stringContaining(
        "failed to add file to watcher with containerID 7c5e1f0a9b3d4e6f",
      ) as string,
    });
  });

  it("GC gives back what CNS holds for containers that are gone, with or without an endpoint", async () => {
    const own = cnsNode("hardened");
    own.cns.pool.add(pool("10.241.0.4/16", "10.241.0.1", "10.241.0.9", "10.241.0.10", "10.241.0.11"));
    await own.run("ADD", NEWEST);
    await own.run("ADD", NEWEST, { CNI_CONTAINERID: "aaaabbbbcccc" });
    // A third one whose plugin was killed before it made an endpoint.
    const stale = { podInterfaceID: "dead0000-eth0", infraContainerID: "dead0000ffff" };
    await own.cns.handle("POST", "/network/requestipconfigs", JSON.stringify(stale));
    const valid = [{ containerID: "aaaabbbbcccc", ifname: "eth0" }];
    expect((await own.run("GC", { ...NEWEST, "cni.dev/valid-attachments": valid })).status).toBe(0);
    expect(own.client.list("Endpoint")).toMatchObject([{ Name: "aaaabbbb-eth0" }]);
    expect(own.cns.pool.all().flatMap(({ holder }) => holder?.containerId ?? [])).toEqual(["aaaabbbbcccc"]);
  });

  it("CHECK: CNS must still hold the address", async () => {
    const own = node("hardened");
    const prevResult = JSON.parse((await own.run("ADD", NEWEST)).stdout) as object;
    expect(await own.run("CHECK", { ...NEWEST, prevResult })).toMatchObject({ status: 0, stdout: "" });
    const request = { podInterfaceID: "7c5e1f0a-eth0", infraContainerID: "7c5e1f0a9b3d4e6f" };
    await own.cns.handle("POST", "/network/releaseipconfigs", JSON.stringify(request));
    expect(errorOf(await own.run("CHECK", { ...NEWEST, prevResult })).msg).toBe(
      "CNS holds no address for container 7c5e1f0a9b3d4e6f any more; recreate it",
    );
  });
});

describe("several tenants", () => {
  const withTenant = (compat: "upstream" | "hardened", fields: object = {}): CnsNode => {
    const own = cnsNode(compat, { supported: "NetworkManagementDNSSupport" });
    own.cns.addContainer(AZURE_POD, { ...TENANT, ...fields });
    return own;
  };

  it("the wire server does not answer, or with another status", async () => {
    for (const [answer, text] of [
      [() => Promise.reject(new Error("no route to host")), "no route to host"],
      [() => Promise.resolve({ status: 503, text: "" }), "nmagent request status code:503"],
    ] as const) {
      const own = answering(withTenant("hardened"), answer);
      const run = await own.run("ADD", TENANCY);
      expect(errorOf(run)).toMatchObject({ code: 11, msg: expect.stringContaining(text) as string });
      expect(run.explained).toBe("azure-wire-server-unreachable");
      expectNothingLeft(own, run);
    }
  });

  it("upstream asks at every ADD, since it reads another name than it writes; hardened once", async () => {
    for (const [compat, count] of [
      ["upstream", 2],
      ["hardened", 1],
    ] as const) {
      const own = withTenant(compat);
      await own.run("ADD", TENANCY);
      await own.run("DEL", TENANCY);
      await own.run("ADD", TENANCY);
      expect([...own.temporary.keys()]).toEqual(["snatConfig.json"]);
      expect(own.requests.filter(({ url }) => url.includes("nmagent"))).toHaveLength(count);
    }
    const test = withTenant("hardened");
    await test.run("ADD", { ...TENANCY, env: "test" });
    expect(test.requests[0]?.url).toContain("http://127.0.0.1:11281/machine/plugins/");
  });

  it("the pod's name loses what controllers put behind it, unless the exact one is asked for", async () => {
    const pod = { CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0-7d9f-x2x4v" };
    const own = withTenant("upstream");
    expect((await own.run("ADD", TENANCY, pod)).status).toBe(0);
    const exact = withTenant("upstream");
    const run = await exact.run("ADD", { ...TENANCY, enableExactMatchForPodName: true }, pod);
    expect(errorOf(run).msg).toContain(
      "GetAllNetworkContainers failed for podname web-0-7d9f-x2x4v namespace default",
    );
    expectNothingLeft(exact, run);
  });

  it("the node does not have the container's primary address", async () => {
    const own = withTenant("hardened", { PrimaryInterfaceIdentifier: "10.250.0.4" });
    const run = await own.run("ADD", TENANCY);
    expect(errorOf(run)).toMatchObject({
      msg: expect.stringContaining("Interface not found for this ip") as string,
      details: expect.stringContaining('"10.250.0.4"') as string,
    });
    expectNothingLeft(own, run);
  });

  it("two network containers: two networks, two endpoints; DEL takes both and asks CNS for nothing", async () => {
    const own = withTenant("hardened");
    const second = { IPSubnet: { IPAddress: "10.9.0.7", PrefixLength: 24 }, GatewayIPAddress: "10.9.0.1" };
    own.cns.addContainer(AZURE_POD, {
      ...TENANT,
      NetworkContainerID: "nc-second",
      MultiTenancyInfo: { EncapType: "Vlan", ID: 9 },
      IPConfiguration: { ...TENANT.IPConfiguration, ...second },
      SkipDefaultRoutes: true,
    });
    await own.run("ADD", TENANCY);
    expect(own.client.bodiesOf("create Network")).toMatchObject([
      { Name: "azure-vlan5-10-1-0-0_24" },
      { Name: "azure-vlan9-10-9-0-0_24" },
    ]);
    expect(own.client.list("Endpoint")).toMatchObject([{ Name: "7c5e1f0a-eth0" }, { Name: "7c5e1f0a-eth2" }]);
    const asked = own.requests.length;
    expect((await own.run("DEL", TENANCY)).status).toBe(0);
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(own.requests).toHaveLength(asked);
  });

  it("DEL of a namespace that nobody has is nothing to do; without one upstream fails", async () => {
    const own = withTenant("upstream");
    expect(await own.run("DEL", TENANCY)).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(errorOf(await own.run("DEL", TENANCY, { CNI_NETNS: "" })).msg).toContain("NetNs cannot be empty");
    const hardened = withTenant("hardened");
    await hardened.run("ADD", TENANCY);
    expect((await hardened.run("DEL", TENANCY, { CNI_NETNS: "" })).status).toBe(0);
    expect(hardened.client.list("Endpoint")).toEqual([]);
  });

  it("the way to the host: CNS makes its endpoint, the pod gets it, DEL takes it away", async () => {
    for (const compat of ["upstream", "hardened"] as const) {
      const own = withTenant(compat, { AllowNCToHostCommunication: true });
      await own.run("ADD", TENANCY);
      const apipa = own.client.list("Endpoint").find(({ Name }) => Name === "HostNCApipaEndpoint-nc-tenant");
      expect(apipa).toMatchObject({
        IpConfigurations: [{ IpAddress: "169.254.128.7", PrefixLength: 17 }],
        HostComputeNamespace: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
      });
      expect(apipa).toHaveProperty("Policies.length", 9);
      await own.run("DEL", TENANCY);
      expect(own.client.list("Endpoint")).toEqual([]);
    }
  });

  it("CNS does not make it: nothing of the pod is left", async () => {
    const own = withTenant("hardened", { AllowHostToNCCommunication: true });
    const reach = own.host.http;
    answering(own, (request) =>
      request.url.endsWith("createhostncapipaendpoint")
        ? Promise.resolve({ status: 500, text: "" })
        : reach(request),
    );
    expect(errorOf(await own.run("ADD", TENANCY)).msg).toContain("Failed to create HostNCApipaEndpoint");
    expect(own.client.list("Endpoint")).toEqual([]);
    expect(own.store.text).toContain('"Endpoints": {}');
  });

  it("a switch that is there already: HNS finds the adapter by the container's primary address", async () => {
    const own = withTenant("upstream");
    const [first] = own.host.interfaces();
    Object.assign(own.host, { interfaces: () => [{ ...first, name: "vEthernet (Ethernet)" }] });
    await own.run("ADD", TENANCY);
    expect(own.client.bodiesOf("create Network")).toMatchObject([
      { Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: "10.240.0.4" } }] },
    ]);
  });
});

describe("the state file", () => {
  it("one that cannot be read changes nothing and says what to do", async () => {
    for (const text of ["{", "[]", '{"Network":{"ExternalInterfaces":{"e":{"Networks":7}}}}']) {
      const own = node("hardened");
      own.store.text = text;
      const run = await own.run("ADD", LIST);
      expect(errorOf(run)).toMatchObject({
        code: 100,
        msg: expect.stringContaining("Failed to start network plugin") as string,
        details: expect.stringContaining("remove azure-vnet.json when no pod of the node needs it") as string,
      });
      expect(run.explained).toBe("azure-state-unreadable");
      expect([own.client.calls, own.requests, own.store.text]).toEqual([[], [], text]);
    }
  });

  it.each(["upstream", "hardened"] as const)("%s: a flipped digit in what it has written", async (compat) => {
    const own = node(compat);
    expect((await own.run("ADD", LIST)).status).toBe(0);
    expect(own.store.text?.includes('"MullionChecksum"')).toBe(compat === "hardened");
    const written = own.store.text ?? "";
    own.store.text = written.replace('"IfName": "eth0"', '"IfName": "eth1"');
    expect(own.store.text).not.toBe(written);
    const run = await own.run("DEL", LIST);
    // Upstream reads JSON and believes it.
    if (compat === "upstream") expect(run.stdout).not.toContain("checksum");
    else {
      expect(errorOf(run)).toMatchObject({
        code: 100,
        msg: expect.stringContaining("its checksum is wrong: it is damaged") as string,
      });
      expect(run.explained).toBe("azure-state-unreadable");
      // What another program has written has no checksum, and is taken as it is.
      own.store.text = JSON.stringify(JSON.parse(written));
      expect((await own.run("DEL", LIST)).status).toBe(0);
    }
  });
});
