// What has come step by step is what comes of it at once, at each stage: northbound, southbound, the network of the switches.
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { parseIpv4, parsePrefix, prefixOf } from "#core/net/ip.ts";
import { type OvsdbOperation, type OvsdbRow, errorOf, referencesOf, setOf } from "#contracts/ovsdb/client.ts";
import type { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import type { LabelSelector } from "#contracts/kubernetes/labels.ts";
import type { EndpointSlice, NetworkPolicy, Service } from "#contracts/kubernetes/objects.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { NorthboundObjects } from "#dataplane/ovs/northbound.ts";
import { rowsOfTables } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import type { OvnInput, OvnPod } from "#programs/ovn/kube/input.ts";
import { OvnChain } from "#test/support/cluster/ovn-chain.ts";
import { namespace, policy } from "#test/support/policy/policy-node.ts";

/** After so many changes programs that start anew must find nothing to do. */
const AGAIN = 5;
const NAMESPACES = ["shop", "bank"];
const NODES = ["win-1", "win-2"];

function nodes(): OvnInput["nodes"] {
  return NODES.map((name, index) => ({
    name,
    id: index + 2,
    subnet: prefixOf(defined(parseIpv4(`10.128.${index}.0`), "an address"), 24),
    chassis: name,
    gateway: {
      address: `10.0.0.${index + 2}`,
      length: 24,
      mac: `00:15:5d:00:00:0${index}`,
      nextHop: "10.0.0.1",
      neighbours: new Map([["10.0.0.1", "00:15:5d:00:00:ff"]]),
    },
  }));
}

/** Kubernetes' objects that change at random. */
class RandomObjects {
  private readonly random: Prng;
  private readonly pods = new Map<string, OvnPod>();
  private readonly policies = new Map<string, NetworkPolicy>();
  private readonly services = new Map<string, readonly [Service, EndpointSlice]>();
  private namespaces = NAMESPACES.map((name) => namespace(name));

  constructor(random: Prng) {
    this.random = random;
    for (let index = 0; index < 8; index++) this.setPod(index);
    for (let index = 0; index < 5; index++) this.setPolicy(index);
    for (let index = 0; index < 3; index++) this.setService(index);
  }

  private oneOf<T>(choices: readonly T[]): T {
    return defined(choices[this.random.below(choices.length)], "a choice");
  }

  private setPod(index: number): void {
    this.pods.set(`pod-${index}`, {
      namespace: defined(NAMESPACES[index % 2], "a namespace"),
      name: `pod-${index}`,
      uid: `u-${index}`,
      node: defined(NODES[(index >> 1) % 2], "a node"),
      ip: `10.128.${(index >> 1) % 2}.${3 + index + 100 * this.random.below(2)}`,
      labels: { app: this.oneOf(["web", "api", "db"]), tier: this.oneOf(["a", "b"]) },
      ports: [{ name: "http", protocol: "TCP", port: this.oneOf([80, 8_080]) }],
    });
  }

  private selector(): LabelSelector {
    return this.oneOf<LabelSelector>([
      {},
      { matchLabels: { app: this.oneOf(["web", "api", "db"]) } },
      { matchLabels: { tier: "a" } },
      { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] },
    ]);
  }

  private peer(): object {
    return this.oneOf([
      { podSelector: this.selector() },
      { namespaceSelector: { matchLabels: { team: this.oneOf(["red", "blue"]) } } },
      { namespaceSelector: {}, podSelector: this.selector() },
      { ipBlock: { cidr: "192.168.0.0/16", except: ["192.168.1.0/24"] } },
    ]);
  }

  private setPolicy(index: number): void {
    const rule = (peers: "from" | "to"): object => ({
      [peers]: Array.from({ length: this.random.below(3) }, () => this.peer()),
      ports: this.oneOf([[], [{ port: this.oneOf([80, 443]) }], [{ port: "http" }], [{ protocol: "UDP" }]]),
    });
    const types = this.oneOf([["Ingress"], ["Egress"], ["Ingress", "Egress"]]);
    const spec = {
      podSelector: this.selector(),
      policyTypes: types,
      ...(types.includes("Ingress") ? { ingress: [rule("from")] } : {}),
      ...(types.includes("Egress") ? { egress: [rule("to")] } : {}),
    };
    this.policies.set(`p-${index}`, policy(`p-${index}`, spec, this.oneOf(NAMESPACES)));
  }

  private setService(index: number): void {
    const metadata = { name: `s-${index}`, namespace: "shop" };
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        clusterIP: `10.96.0.${index + 10}`,
        ports: [{ port: 80, protocol: "TCP" }],
        sessionAffinity: this.oneOf(["None", "ClientIP"]),
      },
    };
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": metadata.name } },
      addressType: "IPv4",
      endpoints: [...this.pods.values()]
        .filter(() => this.random.below(3) === 0)
        .map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } })),
      ports: [{ port: 8_080, protocol: "TCP" }],
    };
    this.services.set(metadata.name, [service, slice] as unknown as readonly [Service, EndpointSlice]);
  }

  change(): void {
    const index = this.random.below(10);
    const changes: readonly (() => void)[] = [
      () => this.setPod(index),
      () => this.setPod(index),
      () => this.pods.delete(`pod-${index}`),
      () => this.setPolicy(index),
      () => this.setPolicy(index),
      () => this.policies.delete(`p-${index}`),
      () => this.setService(index % 4),
      () => this.services.delete(`s-${index % 4}`),
      () => {
        this.namespaces = NAMESPACES.map((name) => namespace(name, { team: this.oneOf(["red", "blue"]) }));
      },
    ];
    this.oneOf(changes)();
  }

  input(): OvnInput {
    return {
      clusterCIDR: defined(parsePrefix("10.128.0.0/16"), "a range"),
      nodes: nodes(),
      pods: [...this.pods.values()],
      namespaces: this.namespaces,
      services: [...this.services.values()].map(([service]) => service),
      slices: [...this.services.values()].map(([, slice]) => slice),
      policies: [...this.policies.values()],
    };
  }
}

/** The network of a database as it is made all at once. */
function networkOf({ nb, sb }: OvnChain): LogicalNetwork {
  const southbound = toSouthbound(rowsOfTables(sb));
  const objects = new NorthboundObjects([rowsOfTables(nb)]);
  return new LogicalNetwork({
    ...southbound,
    flows: southbound.flows.map((row) => {
      const object = objects.describe(row.hint);
      return object === undefined ? row : { ...row, object };
    }),
  });
}

/** All that a network holds; how often it has changed is no part of what it is. */
function fieldsOf(network: LogicalNetwork): object {
  return Object.fromEntries(Object.entries(network).filter(([name]) => name !== "revision"));
}

/**
 * Expects the network of the databases to be the one that is made all at once. Node compares them, several times as fast
 * as `toEqual`, which shows what differs.
 */
function expectAtOnce(network: LogicalNetwork, chain: OvnChain): void {
  const [actual, expected] = [fieldsOf(network), fieldsOf(networkOf(chain))];
  expect(isDeepStrictEqual(actual, expected) ? expected : actual).toEqual(expected);
}

/** Keys of ports are given in the order in which ports come: two histories may differ in them. */
function withoutPortKeys(database: MemoryDatabase): object {
  return Object.fromEntries(
    Object.keys(database.schema.tables).map((table) => [
      table,
      new Map<string, OvsdbRow>(
        [...database.rowsOf(table)].map(([id, row]) => [
          id,
          table === "Port_Binding" ? { ...row, tunnel_key: 0 } : row,
        ]),
      ),
    ]),
  );
}

describe("a change", () => {
  it.each([1, 2])(
    "of Kubernetes' objects leads where all of them at once do, seed %i",
    async (seed) => {
      const objects = new RandomObjects(new Prng(seed));
      const chain = await OvnChain.start("test");
      for (let change = 0; change < 31; change++) {
        const network = await chain.sync(objects.input());
        expectAtOnce(network, chain);
        if (change % AGAIN === 0) {
          const before = [chain.nb.revision, chain.sb.revision];
          await (await OvnChain.start("test", chain)).sync(objects.input());
          expect([change, chain.nb.revision, chain.sb.revision]).toEqual([change, ...before]);
        }
        objects.change();
      }
      const anew = await OvnChain.start("test");
      await chain.sync(objects.input());
      await anew.sync(objects.input());
      for (const database of ["nb", "sb"] as const)
        expect(withoutPortKeys(chain[database])).toEqual(withoutPortKeys(anew[database]));
    },
    60_000,
  );
});

/** A northbound database that others write: ACLs of switches and of groups, with any action. */
class RandomRows {
  private readonly random: Prng;
  private readonly nb: MemoryDatabase;
  private count = 0;

  constructor(random: Prng, nb: MemoryDatabase) {
    this.random = random;
    this.nb = nb;
    for (const name of ["sw0", "sw1"]) {
      this.write({ op: "insert", table: "Logical_Switch", row: { name } });
      for (let port = 0; port < 3; port++) this.addPort();
    }
  }

  private write(...operations: readonly OvsdbOperation[]): void {
    const failed = errorOf(this.nb.transact(operations));
    if (failed !== undefined) throw new Error(failed.error);
  }

  private anyOf(table: string): string | undefined {
    const ids = [...this.nb.rowsOf(table).keys()];
    return ids[this.random.below(Math.max(1, ids.length))];
  }

  private row(): OvsdbRow {
    const oneOf = (choices: readonly string[]): string =>
      defined(choices[this.random.below(choices.length)], "one");
    return {
      priority: 1_000 + this.random.below(5),
      direction: oneOf(["to-lport", "from-lport"]),
      match: oneOf(["ip4", "tcp && tcp.dst == 80", "outport == @g0", "ip4.src == $s0"]),
      action: oneOf(["allow", "allow", "allow-related", "allow-stateless", "drop", "reject"]),
    };
  }

  private addPort(): void {
    const name = `p${this.count++}`;
    this.write(
      { op: "insert", table: "Logical_Switch_Port", row: { name }, "uuid-name": "p" },
      {
        op: "mutate",
        table: "Logical_Switch",
        where: [["name", "==", `sw${this.random.below(2)}`]],
        mutations: [["ports", "insert", ["named-uuid", "p"]]],
      },
    );
  }

  private addAcl(table: "Logical_Switch" | "Port_Group"): void {
    const of = this.anyOf(table);
    if (of === undefined) return;
    this.write(
      { op: "insert", table: "ACL", row: this.row(), "uuid-name": "a" },
      {
        op: "mutate",
        table,
        where: [["_uuid", "==", ["uuid", of]]],
        mutations: [["acls", "insert", ["named-uuid", "a"]]],
      },
    );
  }

  private update(table: string, row: (id: string) => OvsdbRow): void {
    const id = this.anyOf(table);
    if (id !== undefined)
      this.write({ op: "update", table, where: [["_uuid", "==", ["uuid", id]]], row: row(id) });
  }

  private without(table: string, column: string): void {
    this.update(table, (id) => {
      const ids = referencesOf(this.nb.rowsOf(table).get(id)?.[column]);
      return { [column]: setOf(ids.slice(1).map((each) => ["uuid", each])) };
    });
  }

  private setSet(): void {
    const addresses = setOf(Array.from({ length: this.random.below(4) }, (_, each) => `10.0.0.${each}`));
    const name = `s${this.random.below(3)}`;
    const known = [...this.nb.rowsOf("Address_Set").values()].some((row) => row["name"] === name);
    if (known)
      this.write({ op: "update", table: "Address_Set", where: [["name", "==", name]], row: { addresses } });
    else this.write({ op: "insert", table: "Address_Set", row: { name, addresses } });
  }

  change(): void {
    const ports = (): OvsdbRow => {
      const ids = [...this.nb.rowsOf("Logical_Switch_Port").keys()].filter(() => this.random.below(3) === 0);
      return { ports: setOf(ids.map((id) => ["uuid", id])) };
    };
    const changes: readonly (() => void)[] = [
      () => this.addPort(),
      () => this.without("Logical_Switch", "ports"),
      () => this.addAcl("Logical_Switch"),
      () => this.addAcl("Port_Group"),
      () => this.addAcl("Port_Group"),
      () => this.without("Logical_Switch", "acls"),
      () => this.without("Port_Group", "acls"),
      () => this.update("ACL", () => this.row()),
      () => this.update("ACL", () => ({ name: `n${this.count++}` })),
      () => this.write({ op: "insert", table: "Port_Group", row: { name: `g${this.count++}`, ...ports() } }),
      () => this.update("Port_Group", ports),
      () => this.update("Port_Group", () => ({ name: `g${this.count++}` })),
      () => {
        const id = this.anyOf("Port_Group");
        if (id !== undefined)
          this.write({ op: "delete", table: "Port_Group", where: [["_uuid", "==", ["uuid", id]]] });
      },
      () => this.setSet(),
      () => this.write({ op: "delete", table: "Address_Set", where: [["name", "==", "s0"]] }),
    ];
    defined(changes[this.random.below(changes.length)], "a change")();
  }
}

describe("a change that others write", () => {
  it.each([1, 2])(
    "to the northbound database leads where all of it at once does, seed %i",
    async (seed) => {
      const chain = await OvnChain.start("test");
      const rows = new RandomRows(new Prng(seed), chain.nb);
      for (let change = 0; change < 81; change++) {
        const network = await chain.follow();
        expectAtOnce(network, chain);
        if (change % AGAIN === 0) {
          const before = chain.sb.revision;
          await (await OvnChain.start("test", chain)).follow();
          expect([change, chain.sb.revision]).toEqual([change, before]);
        }
        rows.change();
      }
    },
    60_000,
  );
});
