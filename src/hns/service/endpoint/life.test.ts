/** Properties over sequences of calls and over any JSON: nothing leaks, nothing is half made, nothing but HcnError. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { CBR0, type HnsNode, POD_ENDPOINT, hnsNode } from "#test/support/hns/hns-node.ts";
import type { HnsService } from "../hns-service.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const RUNS = { seed: 20_251_120, numRuns: 60 } as const;

/** A namespace that was to be deleted while containers were in it shows that: State 4 (hcn.md §4.5). */
function withoutTeardown(document: JsonObject): JsonObject {
  return { ...document, State: 0 };
}

/** Everything that can be seen of a service. */
function picture(service: HnsService): unknown {
  return (["Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute"] as const).map((kind) =>
    service.enumerate(kind).map((id) => {
      const document = service.query(kind, id, V2);
      return kind === "Namespace" ? withoutTeardown(document) : document;
    }),
  );
}

/** Makes a call; true when it was done, false when it was refused. Anything but a refusal is a bug. */
function attempt(call: () => unknown): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (error instanceof HcnError) return false;
    throw error;
  }
}

/** A step draws which of the present objects it is about. */
const STEP = fc.record({
  action: fc.constantFrom(
    "create",
    "delete",
    "attach",
    "detach",
    "update",
    "host",
    "container",
    "remote",
    "balance",
    "unbalance",
    "route",
    "unroute",
    "set",
    "unset",
  ),
  pick: fc.nat({ max: 7 }),
  address: fc.nat({ max: 15 }),
  port: fc.integer({ min: 8_080, max: 8_083 }),
});

/** A request about an address set. */
function setRequest(RequestType: string, pick: number, Values: string): JsonObject {
  const Settings = { Id: `set-${pick % 2}`, Name: "s", PolicyType: "IPSET", Values };
  return { ResourceType: "Policy", RequestType, Settings: { Policies: [{ Type: "SetPolicy", Settings }] } };
}

function takeStep(
  service: HnsService,
  network: string,
  step: typeof STEP extends fc.Arbitrary<infer T> ? T : never,
): void {
  const endpoints = service.enumerate("Endpoint");
  const namespaces = service.enumerate("Namespace");
  const endpoint = endpoints[step.pick % Math.max(1, endpoints.length)] ?? "";
  const namespace = namespaces[step.pick % namespaces.length] ?? "";
  const mapping = {
    Type: "PortMapping",
    Settings: { Protocol: 6, InternalPort: 80, ExternalPort: step.port, Flags: 1 },
  };
  const member = (RequestType: string): JsonObject => ({
    ResourceType: "Endpoint",
    RequestType,
    Settings: { EndpointId: endpoint },
  });
  switch (step.action) {
    case "create":
      service.create(
        "Endpoint",
        { ...V2, IpConfigurations: [{ IpAddress: `10.244.2.${step.address}` }], Policies: [mapping] },
        { network },
      );
      service.create("Namespace", V2);
      return;
    case "delete":
      service.delete(
        step.port % 2 === 0 ? "Endpoint" : "Namespace",
        step.port % 2 === 0 ? endpoint : namespace,
      );
      return;
    case "attach":
      service.modify("Namespace", namespace, member("Add"));
      return;
    case "detach":
      service.modify("Namespace", namespace, member("Remove"));
      return;
    case "update":
      service.modify("Endpoint", endpoint, {
        ResourceType: "Policy",
        RequestType: step.pick % 2 === 0 ? "Update" : "Add",
        Settings: { Policies: [mapping] },
      });
      return;
    case "host":
      service.call("POST", `/endpoints/${endpoint}/attach`, '{"SystemType":"Host"}');
      return;
    case "container":
      service.modify("Namespace", namespace, {
        ResourceType: "Container",
        RequestType: "Add",
        Settings: { ContainerId: `c${step.pick}` },
      });
      return;
    case "remote":
      service.create(
        "Endpoint",
        { ...V2, Flags: 1, IpConfigurations: [{ IpAddress: `10.244.2.${step.address}` }] },
        { network },
      );
      return;
    case "balance":
      service.create("LoadBalancer", {
        ...V2,
        HostComputeEndpoints: step.pick === 0 ? [] : [endpoint, endpoints[0] ?? ""],
        PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: step.port }],
      });
      return;
    case "unbalance":
      service.delete("LoadBalancer", service.enumerate("LoadBalancer")[step.pick] ?? "");
      return;
    case "route":
      service.create("SdnRoute", {
        ...V2,
        HostComputeEndpoints: [endpoint, endpoints[0] ?? ""],
        Routes: [{ DestinationPrefix: `10.${step.address}.0.0/16`, NeedEncap: true }],
      });
      return;
    case "unroute":
      service.delete("SdnRoute", service.enumerate("SdnRoute")[step.pick] ?? "");
      return;
    case "set":
      service.modify("Network", network, setRequest("Add", step.pick, `10.244.2.${step.address}`));
      return;
    case "unset":
      service.modify("Network", network, setRequest("Remove", step.pick, ""));
  }
}

/** The ports of the datapath by id, with everything that is programmed into them. */
function portsOf({ datapath }: HnsNode): ReadonlyMap<string, unknown> {
  return new Map(datapath.listVnics().map((vnic) => [vnic.portId, vnic]));
}

describe("any sequence of calls", () => {
  it("keeps addresses, MACs and mapped ports unique; a refusal changes nothing", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 40 }), (steps) => {
        const { service, datapath } = hnsNode();
        const network = service.create("Network", CBR0);
        for (const step of steps) {
          const before = picture(service);
          const done = attempt(() => takeStep(service, network, step));
          if (!done && step.action !== "create") expect(picture(service)).toEqual(before);
        }
        const endpoints = service.enumerate("Endpoint").map((id) => service.query("Endpoint", id, V2));
        const documents = endpoints.filter((document) => document["Flags"] !== 1);
        for (const field of ["MacAddress", "IpConfigurations"] as const) {
          const values = documents.map((document) => JSON.stringify(document[field]));
          expect(new Set(values).size).toBe(values.length);
        }
        const ports = documents.flatMap(
          (document) => JSON.stringify(document["Policies"] ?? []).match(/"ExternalPort":\d+/g) ?? [],
        );
        expect(new Set(ports).size).toBe(ports.length);
        const attached = documents.filter((document) =>
          JSON.stringify(document["Health"]).includes("Endpoint Port"),
        );
        expect(datapath.listVnics()).toHaveLength(attached.length);
        const frontEnds = service
          .enumerate("LoadBalancer")
          .map((id) => JSON.stringify(service.query("LoadBalancer", id, V2)["PortMappings"]));
        expect(new Set(frontEnds).size).toBe(frontEnds.length);
      }),
      RUNS,
    );
  });

  it("leaves a service that another one can be made from: they look and act the same", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 40 }), fc.array(STEP, { maxLength: 5 }), (steps, more) => {
        const [before, after] = [hnsNode(), hnsNode({ seed: 2 })];
        const network = before.service.create("Network", CBR0);
        for (const step of steps) attempt(() => takeStep(before.service, network, step));
        expect(after.service.restore(before.service.export())).toEqual([]);
        expect(picture(after.service)).toEqual(picture(before.service));
        expect(portsOf(after)).toEqual(portsOf(before));
        expect(after.datapath.listCompartments().toSorted((a, b) => a - b)).toEqual(
          before.datapath.listCompartments().toSorted((a, b) => a - b),
        );
        // What one refuses, the other one refuses: addresses, ports and front ends are taken again.
        for (const step of more) {
          const done = [before, after].map(({ service }) => attempt(() => takeStep(service, network, step)));
          expect(done[0]).toBe(done[1]);
        }
      }),
      RUNS,
    );
  });

  it("leaves nothing behind once all is deleted", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 40 }), (steps) => {
        const { service, datapath } = hnsNode();
        const network = service.create("Network", CBR0);
        for (const step of steps) attempt(() => takeStep(service, network, step));
        for (const id of service.enumerate("Endpoint")) service.delete("Endpoint", id);
        expect(datapath.listVnics()).toEqual([]);
        for (const id of service.enumerate("LoadBalancer")) {
          expect(service.query("LoadBalancer", id, V2)).toMatchObject({ State: 4 });
          service.delete("LoadBalancer", id);
        }
        // Every address and port can be had again.
        for (let index = 2; index < 16; index++) {
          const policies = index < 6 ? [8_078 + index] : [];
          service.create(
            "Endpoint",
            {
              ...V2,
              IpConfigurations: [{ IpAddress: `10.244.2.${index}` }],
              Policies: policies.map((ExternalPort) => ({
                Type: "PortMapping",
                Settings: { Protocol: 6, InternalPort: 80, ExternalPort },
              })),
            },
            { network },
          );
        }
        for (let port = 8_080; port < 8_084; port++) {
          service.create("LoadBalancer", {
            ...V2,
            HostComputeEndpoints: [...service.enumerate("Endpoint")],
            PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: port }],
          });
        }
        service.delete("Network", network);
        expect(service.enumerate("LoadBalancer")).toEqual([]);
        expect(service.enumerate("SdnRoute")).toEqual([]);
        expect(datapath.listSwitches()).toEqual([]);
        expect(service.enumerate("Endpoint")).toEqual([]);
      }),
      RUNS,
    );
  });
});

/** Documents that are nearly right: fields of the contract with any values. */
const FIELD = fc.constantFrom(
  "ID",
  "Name",
  "Type",
  "Flags",
  "Ipams",
  "Subnets",
  "Policies",
  "Settings",
  "IpAddressPrefix",
  "IpConfigurations",
  "IpAddress",
  "PrefixLength",
  "Routes",
  "NextHop",
  "DestinationPrefix",
  "MacAddress",
  "MacPool",
  "Ranges",
  "Dns",
  "RequestType",
  "ResourceType",
  "EndpointId",
  "SchemaVersion",
  "Major",
  "VirtualNetwork",
  "IPAddress",
  "Exceptions",
  "Protocols",
  "Action",
  "Direction",
  "HostComputeEndpoints",
  "PortMappings",
  "FrontendVIPs",
  "SourceVIP",
  "Protocol",
  "InternalPort",
  "ExternalPort",
);
const LEAF = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.integer(),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(
    "L2Bridge",
    "ACL",
    "OutBoundNAT",
    "Add",
    "Policy",
    "10.244.2.9",
    "10.244.3.0/24",
    "00-15-5D-00-00-01",
    "Allow",
    "In",
  ),
);
const { document } = fc.letrec<{ document: JsonObject; value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, LEAF, fc.array(tie("value"), { maxLength: 3 }), tie("document")),
  document: fc.dictionary(FIELD, tie("value"), { maxKeys: 6 }) as fc.Arbitrary<JsonObject>,
}));

describe("any JSON", () => {
  it("is done or refused with a code, and a refusal changes nothing", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("Network", "Endpoint", "Namespace", "LoadBalancer"),
        document,
        fc.boolean(),
        (kind, settings, isV2) => {
          const { service } = hnsNode();
          const network = service.create("Network", CBR0);
          const endpoint = service.create("Endpoint", POD_ENDPOINT, { network });
          const before = picture(service);
          const full = isV2 ? { ...settings, ...V2 } : settings;
          if (!attempt(() => service.create(kind, full, { network })))
            expect(picture(service)).toEqual(before);
          attempt(() => service.modify("Network", network, settings));
          attempt(() => service.modify("Endpoint", endpoint, settings));
          attempt(() => service.create("LoadBalancer", { ...full, HostComputeEndpoints: [endpoint] }));
          attempt(() => service.enumerate("Endpoint", settings));
          attempt(() => service.query("Endpoint", endpoint, settings));
          // What is there can still be read, in both dialects.
          picture(service);
          expect(service.call("GET", "/networks/", "")["Success"]).toBe(true);
          expect(service.call("GET", "/endpoints/", "")["Success"]).toBe(true);
          expect(service.call("GET", "/policylists/", "")["Success"]).toBe(true);
        },
      ),
      { ...RUNS, numRuns: 300 },
    );
  });

  it("a v1 call always answers with an envelope", () => {
    const path = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc
        .array(
          fc.constantFrom(
            "networks",
            "endpoints",
            "namespaces",
            "policylists",
            "globals",
            "version",
            "attach",
            "..",
            "x",
          ),
          {
            maxLength: 4,
          },
        )
        .map((segments) => `/${segments.join("/")}`),
    );
    fc.assert(
      fc.property(
        fc.constantFrom("GET", "POST", "DELETE", "PUT", ""),
        path,
        fc.oneof(
          fc.string({ maxLength: 40 }),
          document.map((value) => JSON.stringify(value)),
        ),
        (method, where, body) => {
          const { service } = hnsNode();
          expect(typeof service.call(method, where, body)["Success"]).toBe("boolean");
        },
      ),
      { ...RUNS, numRuns: 300 },
    );
  });
});
