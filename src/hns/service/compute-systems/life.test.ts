/** Properties over sequences of calls of HNS and HCS: nothing leaks, nothing is half attached. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addNetworkAdapter,
  containerDocument,
  networkAdapterRequest,
} from "#contracts/hcn/compute-systems.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const RUNS = { seed: 20_251_121, numRuns: 80 } as const;

const SYSTEMS = ["c0", "c1", "c2", "641313e1-7ae8-4ddb-94e5-3215f3a0b218"] as const;

/** What a step is about: an endpoint, a namespace, a compute system. */
interface Subject {
  readonly node: HnsNode;
  readonly endpoint: string;
  readonly namespace: string;
  readonly system: (typeof SYSTEMS)[number];
}

function attachBody({ system }: Subject): string {
  const isMachine = system.includes("-");
  return JSON.stringify({
    SystemType: isMachine ? "VirtualMachine" : "Container",
    ...(isMachine ? { VirtualNicName: `${system}--nic` } : { ContainerId: system }),
  });
}

function member(RequestType: string, resource: "Container" | "Endpoint", id: string): JsonObject {
  const Settings = resource === "Endpoint" ? { EndpointId: id } : { ContainerId: id };
  return { ResourceType: resource, RequestType, Settings };
}

const ACTIONS: Readonly<Record<string, (subject: Subject) => unknown>> = {
  newNamespace: ({ node }) => node.service.create("Namespace", V2),
  dropNamespace: ({ node, namespace }) => node.service.delete("Namespace", namespace),
  startInNamespace: ({ node, system, namespace }) =>
    node.service.createComputeSystem(system, containerDocument(namespace)),
  startWithEndpoint: ({ node, system, endpoint }) =>
    node.service.createComputeSystem(system, {
      SystemType: system.includes("-") ? "VirtualMachine" : "Container",
      EndpointList: [endpoint],
    }),
  end: ({ node, system }) => node.service.terminateComputeSystem(system),
  hotAttach: ({ node, system, endpoint }) =>
    node.service.modifyComputeSystem(system, networkAdapterRequest("Add", endpoint)),
  hotDetach: ({ node, system, endpoint }) =>
    node.service.modifyComputeSystem(system, networkAdapterRequest("Remove", endpoint)),
  attach: (subject) =>
    subject.node.service.call("POST", `/endpoints/${subject.endpoint}/attach`, attachBody(subject)),
  detach: (subject) =>
    subject.node.service.call("POST", `/endpoints/${subject.endpoint}/detach`, attachBody(subject)),
  host: ({ node, endpoint }) =>
    node.service.call("POST", `/endpoints/${endpoint}/attach`, '{"SystemType":"Host"}'),
  add: ({ node, namespace, endpoint }) =>
    node.service.modify("Namespace", namespace, member("Add", "Endpoint", endpoint)),
  remove: ({ node, namespace, endpoint }) =>
    node.service.modify("Namespace", namespace, member("Remove", "Endpoint", endpoint)),
  addContainer: ({ node, namespace, system }) =>
    node.service.modify("Namespace", namespace, member("Add", "Container", system)),
  removeContainer: ({ node, namespace, system }) =>
    node.service.modify("Namespace", namespace, member("Remove", "Container", system)),
  degrade: ({ node, endpoint }) => node.service.degradeEndpoint(endpoint, 0x803b0009),
  reset: ({ node, endpoint }) => node.service.modify("Endpoint", endpoint, { RequestType: "Reset" }),
};

const STEP = fc.record({
  action: fc.constantFrom(...Object.keys(ACTIONS)),
  endpoint: fc.nat({ max: 2 }),
  namespace: fc.nat({ max: 3 }),
  system: fc.constantFrom(...SYSTEMS),
});

type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

/** A node with three endpoints on which the steps were taken; what was refused is left out. */
function nodeAfter(steps: readonly Step[], profile: string): HnsNode {
  const node = hnsNode({ profile });
  const network = node.service.create("Network", CBR0);
  const endpoints = [0, 1, 2].map(() => node.service.create("Endpoint", V2, { network }));
  for (const step of steps) {
    const namespaces = node.service.enumerate("Namespace");
    const subject: Subject = {
      node,
      endpoint: endpoints[step.endpoint] ?? "",
      namespace: namespaces[step.namespace % namespaces.length] ?? "",
      system: step.system,
    };
    try {
      ACTIONS[step.action]?.(subject);
    } catch (error) {
      // Anything but a refusal is a bug.
      if (!(error instanceof HcnError)) throw error;
    }
  }
  return node;
}

function endpointsOf({ service }: HnsNode): readonly JsonObject[] {
  return service.enumerate("Endpoint").map((id) => service.query("Endpoint", id));
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).map(textOf) : [];
}

describe("any sequence of attaches", () => {
  it.each(["ws2019", "ws2022"])("on %s endpoints, namespaces and compute systems agree", (profile) => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 60 }), (steps) => {
        const node = nodeAfter(steps, profile);
        const namespaces = node.service
          .enumerate("Namespace")
          .map((id) => node.service.query("Namespace", id));
        const systems = node.service.listComputeSystems();
        const known = new Set([
          ...systems.map(({ Id }) => Id),
          ...namespaces.flatMap((namespace) => textsOf(namespace["Containers"])),
        ]);
        const endpoints = endpointsOf(node);
        for (const endpoint of endpoints) {
          for (const id of textsOf(endpoint["SharedContainers"])) expect(known).toContain(id);
          // Attached, it has a port; and only then.
          const hasPort = JSON.stringify(endpoint["Resources"]).includes("Endpoint Port");
          const place = endpoint["Namespace"] as JsonObject;
          const isPlaced =
            !/^[0-]+$/.test(textOf(place["ID"])) ||
            textsOf(endpoint["SharedContainers"]).length > 0 ||
            endpoint["State"] === 2;
          if (endpoint["State"] !== 5) expect(hasPort).toBe(isPlaced);
        }
        for (const { Id, NetworkAdapters, SystemType } of systems) {
          if (SystemType !== "Container") continue;
          const sharing = endpoints.filter((each) => textsOf(each["SharedContainers"]).includes(Id));
          expect(NetworkAdapters.map(({ EndpointId }) => EndpointId.toLowerCase()).toSorted()).toEqual(
            sharing.map((each) => textOf(each["ID"]).toLowerCase()).toSorted(),
          );
        }
        for (const vnic of node.datapath.listVnics())
          expect([1, ...node.datapath.listCompartments()]).toContain(vnic.compartmentId);
      }),
      RUNS,
    );
  });

  it("leaves nothing behind once all have ended", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 60 }), (steps) => {
        const node = nodeAfter(steps, "ws2022");
        const { service, datapath } = node;
        for (const { Id } of service.listComputeSystems()) service.terminateComputeSystem(Id);
        for (const id of service.enumerate("Endpoint")) service.delete("Endpoint", id);
        for (const id of service.enumerate("Namespace")) {
          const document = service.query("Namespace", id);
          for (const container of textsOf(document["Containers"]))
            service.modify("Namespace", id, member("Remove", "Container", container));
          if (document["IsDefault"] !== true) service.delete("Namespace", id);
        }
        expect(datapath.listVnics()).toEqual([]);
        expect(datapath.listCompartments()).toEqual([]);
      }),
      RUNS,
    );
  });

  it("what is stored comes back as it was, with the compute systems that are still there", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 60 }), (steps) => {
        const node = nodeAfter(steps, "ws2022");
        const before = [endpointsOf(node), node.service.listComputeSystems()];
        const vnics = node.datapath.listVnics().length;
        node.service.restore(node.service.export());
        expect([endpointsOf(node), node.service.listComputeSystems()]).toEqual(before);
        expect(node.datapath.listVnics()).toHaveLength(vnics);
      }),
      RUNS,
    );
  });
});

it("hot attach of a system that is gone fails, and changes nothing (0xc037010e)", async () => {
  const { client, service } = hnsNode();
  const network = service.create("Network", CBR0);
  const endpoint = service.create("Endpoint", V2, { network });
  const before = service.query("Endpoint", endpoint);
  await expect(addNetworkAdapter(client.computeSystems, "gone", endpoint)).rejects.toMatchObject({
    hresult: 0xc037010e,
  });
  expect(service.query("Endpoint", endpoint)).toEqual(before);
});
