/**
 * Does the first packet of a connection, or one change, cost more when there are many policies? ACLs of one endpoint,
 * services of a node, and one load balancer or one endpoint's ACL that changes on a node with a hundred pods.
 */
import type { JsonObject } from "#core/base/json.ts";
import { type Ipv4, type Prefix, prefixOf } from "#core/net/ip.ts";
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { makePort, segmentOf, sendOnce } from "./engine-fixture.ts";
import { V2 } from "./hns-documents.ts";
import { BACK_ENDS, BenchNode, FIRST_VIP, dsrGroup, backEndsOf } from "./load-balancer-fixture.ts";
import { type Candidate, type Measured, measure, printTable } from "./measure.ts";

const FIRST_PACKETS = 2_000;
const ACL_COUNTS = [10, 1_000, 10_000];
const SERVICE_COUNTS = [10, 1_000, 10_000, 100_000];
const PODS = 100;
const CHANGES = 300;
const ROUNDS = 10;
const FIRST_PEER = 0x0b00_0000;

function firstPackets(name: string, layer: string, group: Group | undefined): Candidate {
  const frames = Array.from({ length: FIRST_PACKETS }, (_, index) => segmentOf(index));
  return {
    name,
    operations: FIRST_PACKETS,
    isCollectedBefore: true,
    run: () => {
      const port = makePort(false);
      if (group !== undefined) port.setGroups(layer, [group]);
      return sendOnce(port, frames);
    },
  };
}

function aclRule(index: number, fields: Pick<Rule, "priority" | "condition">): Rule {
  const id = `acl-${index}`;
  const provenance = { object: "HostComputeEndpoint", id, name: id };
  return {
    id,
    name: id,
    action: { type: "allow" },
    isTerminating: true,
    isStateful: true,
    provenance,
    ...fields,
  };
}

/** What policy engines write: a peer's address or range, every other one with a port; the last rule allows all. */
function aclGroup(count: number): Group {
  const peer = (index: number): Prefix =>
    prefixOf((FIRST_PEER + index * 256) as Ipv4, index % 4 === 0 ? 24 : 32);
  const rules = Array.from({ length: count }, (_, index) =>
    aclRule(index, {
      priority: 1_000 + (index % 100),
      condition: {
        protocols: [6],
        destination: [peer(index)],
        ...(index % 2 === 0 && { destinationPorts: [{ first: 443, last: 443 }] }),
      },
    }),
  );
  return createGroup({
    name: "ACL_ENDPOINT_GROUP_IPV4_OUT",
    direction: "out",
    family: 4,
    priority: 1,
    match: "priority",
    rules: [...rules, aclRule(count, { priority: 65_500, condition: {} })],
  });
}

function printFirstPackets(): void {
  const acls = ACL_COUNTS.map((count) =>
    firstPackets(`${count} ACLs`, "ACL_ENDPOINT_LAYER", aclGroup(count)),
  );
  const services = SERVICE_COUNTS.map((count) =>
    firstPackets(`${count} services`, "LB_DSR", dsrGroup(count, backEndsOf(BACK_ENDS))),
  );
  const rows = measure([firstPackets("no policy", "LB_DSR", undefined), ...acls, ...services]);
  printTable(`First packet of each of ${FIRST_PACKETS} connections`, rows, "no policy");
}

/** Processor time of this process in nanoseconds. */
function processorNs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1_000;
}

/** Processor time of one change, the median of rounds of many: one alone is shorter than what the clock tells. */
function timed(name: string, change: (index: number) => void): Measured {
  let next = 0;
  const round = (): number => {
    const started = processorNs();
    for (let index = 0; index < CHANGES / ROUNDS; index++) change(next++);
    return (processorNs() - started) / (CHANGES / ROUNDS);
  };
  round();
  const samples = Array.from({ length: ROUNDS }, round).sort((a, b) => a - b);
  return { name, ns: samples[ROUNDS >> 1] ?? Number.NaN, minNs: samples[0] ?? Number.NaN };
}

/** Takes a load balancer away and brings it back with other back ends, as kube-proxy does on most builds. */
function changingLoadBalancer(services: number): Measured {
  const node = new BenchNode(PODS);
  const ids = node.addServices(services, true);
  return timed(`${services} services`, (index) => {
    const at = index % services;
    node.hns.delete("LoadBalancer", ids[at] ?? "");
    ids[at] = node.addService(FIRST_VIP + at, true, node.backEnds.slice(index % 2));
  });
}

/** The same where two of the node's pods are the back ends of all services. */
function changingLocalLoadBalancer(services: number): Measured {
  const node = new BenchNode(PODS);
  const backEnds = node.pods.slice(0, 2);
  const ids = node.addServices(services, true, backEnds);
  return timed(`${services} services`, (index) => {
    const at = index % services;
    node.hns.delete("LoadBalancer", ids[at] ?? "");
    ids[at] = node.addService(FIRST_VIP + at, true, index % 2 === 0 ? backEnds.slice(1) : backEnds);
  });
}

/** Takes one pod more away from the network and brings it back. */
function attachingPod(pods: number): Measured {
  const { hns, network } = new BenchNode(pods);
  const namespace = hns.create("Namespace", { SchemaVersion: V2 });
  const endpoint = hns.create("Endpoint", { HostComputeNetwork: network, SchemaVersion: V2 });
  const request = (RequestType: string): void =>
    hns.modify("Namespace", namespace, {
      ResourceType: "Endpoint",
      RequestType,
      Settings: { EndpointId: endpoint },
    });
  request("Add");
  return timed(`${pods} pods`, () => {
    request("Remove");
    request("Add");
  });
}

/** Replaces the ACLs of one pod among a hundred, each of which has `count`. */
function changingAcl(count: number): Measured {
  const node = new BenchNode(PODS);
  const acls = Array.from({ length: count }, (_, index) => ({
    Type: "ACL",
    Settings: {
      Action: "Allow",
      Direction: "In",
      Protocols: "6",
      RemoteAddresses: `11.${(index >> 8) & 255}.${index & 255}.0/24`,
      Priority: 1_000,
    },
  }));
  const update = (pod: string, Policies: readonly JsonObject[]): void =>
    node.hns.modify("Endpoint", pod, {
      ResourceType: "Policy",
      RequestType: "Update",
      Settings: { Policies },
    });
  for (const pod of node.pods) update(pod, acls);
  const [first = ""] = node.pods;
  return timed(`${count} ACLs`, (index) =>
    update(first, [
      ...acls.slice(1),
      { ...acls[0], Settings: { ...acls[0]?.Settings, Priority: 2_000 + index } },
    ]),
  );
}

function printChanges(): void {
  const balanced = [10, 1_000, 10_000].map(changingLoadBalancer);
  printTable(
    `One load balancer of ${BACK_ENDS} back ends changes on a node with ${PODS} pods`,
    balanced,
    "10 services",
  );
  const local = [10, 1_000, 10_000].map(changingLocalLoadBalancer);
  printTable("The same with two of the pods as its back ends, and of all others", local, "10 services");
  const attached = [10, 50, 100].map(attachingPod);
  printTable("A pod is detached and attached again", attached, "10 pods");
  const filtered = [10, 100, 1_000].map(changingAcl);
  printTable(`The ACLs of one pod of ${PODS} are replaced`, filtered, "10 ACLs");
}

export function run(): void {
  printFirstPackets();
  printChanges();
}
