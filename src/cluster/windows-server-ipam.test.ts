// Addresses of containers from DHCP servers: scopes, exclusions, reservations, two servers, what happens when nothing is left
// (dataplane.md §2.12).
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type SessionWorld, ask, openSessionWorld } from "#test/support/cluster/session-world.ts";
import { readInput } from "./input/read-input.ts";
import { readModel } from "./verify/model-of-cluster.ts";
import { verifyCluster } from "./verify/verify.ts";
import { viewDhcpLeases } from "./views/dhcp-views.ts";

const EXAMPLE = readFileSync("examples/windows-server-ipam/cluster.yaml", "utf8");

/** `names`: pods, of two hosts in turn. */
function clusterOf(dhcp: string, names: readonly string[], plugin = "hns"): string {
  const pods = names.map((name, index) => `  - {name: ${name}, node: host-${(index % 2) + 1}}`);
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: leases}
nodes:
  - {name: host-1, os: windows, build: ws2022, address: 10.0.0.11}
  - {name: host-2, os: windows, build: ws2022, address: 10.0.0.12}
network: {plugin: ${plugin}, driver: Transparent, ipam: dhcp}
underlay: {subnet: 10.0.0.0/16, dhcp: {${dhcp}}}
pods:
${pods.join("\n")}
`;
}

/** `server address client-or-pod state` of each lease. */
function leases({ session }: SessionWorld): readonly string[] {
  return viewDhcpLeases(session.cluster).map(
    ({ server, address, pod, state }) => `${server} ${address} ${pod === "" ? "-" : pod} ${state}`,
  );
}

function notes({ session }: SessionWorld): readonly string[] {
  return session.notes().map(({ code, message }) => `${code}: ${message}`);
}

/** Three addresses: .1 to .3. */
const SMALL = "range: 10.0.8.0/29, exclusions: [10.0.8.4/30]";

describe("one server", () => {
  it("leases last as long as it says, and are told with MAC, pod and end", async () => {
    const world = await openSessionWorld(clusterOf("range: 10.0.8.0/24, leaseSeconds: 3600", ["a", "b"]));
    const [first] = viewDhcpLeases(world.session.cluster);
    expect(first).toMatchObject({
      node: "host-1",
      server: "10.0.0.1",
      address: "10.0.8.1",
      pod: "default/a",
    });
    expect(first?.clientId).toMatch(/^00-15-5d(?:-[0-9a-f]{2}){3}$/);
    expect(first?.expires).toMatch(/^2025-01-01T01:00:0/);
    expect(viewDhcpLeases(world.session.cluster, "host-2").map(({ pod }) => pod)).toEqual(["default/b"]);
  });

  it("gives out no excluded address, and a reserved one to its MAC alone", async () => {
    const text = clusterOf(
      "range: 10.0.8.0/28, exclusions: [10.0.8.0/30], reservations: [{mac: 00-15-5D-10-00-01, address: 10.0.8.4}]",
      ["a", "b"],
    );
    const [given, other] = [text.replace("name: b,", "name: b, mac: 00-15-5D-10-00-01,"), text];
    expect(leases(await openSessionWorld(given))).toEqual([
      "10.0.0.1 10.0.8.5 default/a Active",
      "10.0.0.1 10.0.8.4 default/b ActiveReservation",
    ]);
    // HNS gives every endpoint another MAC, so that a reservation for an earlier one holds for nobody.
    expect(leases(await openSessionWorld(other))).toEqual([
      "10.0.0.1 10.0.8.5 default/a Active",
      "10.0.0.1 10.0.8.6 default/b Active",
      "10.0.0.1 10.0.8.4 - InactiveReservation",
    ]);
  });

  it("a scope that is full is the reason that the pod's note names", async () => {
    const world = await openSessionWorld(clusterOf(SMALL, ["a", "b", "c", "d"]));
    expect(leases(world)).toHaveLength(3);
    expect(notes(world)).toEqual([
      expect.stringMatching(
        /^dhcp-range-exhausted: pod default\/d on host-2: .*10\.0\.0\.1 \(10\.0\.8\.1 to 10\.0\.8\.6\)/,
      ),
    ]);
  });

  it.each(["hns", "docker"])(
    "a question that no server hears is another reason: plugin %s",
    async (plugin) => {
      const text = clusterOf("range: 10.0.8.0/24", ["a", "b"], plugin);
      const world = await openSessionWorld(
        text.replace("address: 10.0.0.12", "address: 10.0.0.12, macSpoofing: off"),
      );
      expect(notes(world)).toEqual([expect.stringMatching(/^dhcp-no-lease: pod default\/b on host-2/)]);
    },
  );
});

describe("two servers", () => {
  const SECOND = "servers: [{name: dhcp-2, address: 10.0.0.5, range: 10.0.8.128/25}]";

  it("the second gives addresses when the first has none left, each out of its part", async () => {
    const world = await openSessionWorld(clusterOf(`${SMALL}, ${SECOND}`, ["a", "b", "c", "d", "e"]));
    expect(notes(world)).toEqual([]);
    const servers = leases(world).map((lease) => lease.split(" ").slice(0, 2).join(" "));
    expect(servers.filter((lease) => lease.startsWith("10.0.0.1 "))).toEqual([
      "10.0.0.1 10.0.8.1",
      "10.0.0.1 10.0.8.2",
      "10.0.0.1 10.0.8.3",
    ]);
    expect(servers.filter((lease) => lease.startsWith("10.0.0.5 "))).toEqual([
      "10.0.0.5 10.0.8.129",
      "10.0.0.5 10.0.8.130",
    ]);
    expect(ask(world, "pod/a", "pod/d", { port: 8080 })).toBe("d saw 10.0.8.1");
  });

  it("an offer that was not taken is free again at once", async () => {
    const world = await openSessionWorld(
      clusterOf(
        `range: 10.0.8.0/24, ${SECOND.replace("10.0.8.128/25", "10.0.9.0/29, exclusions: [10.0.9.4/30]")}`,
        ["a", "b", "c", "d"],
      ),
    );
    // The second server has three addresses and has made four offers.
    expect(leases(world).every((lease) => lease.startsWith("10.0.0.1 "))).toBe(true);
    expect(world.session.cluster.underlay.dhcpServers[1]?.listLeases()).toEqual([]);
    expect(notes(world)).toEqual([]);
  });

  it("leases are renewed with the server that gave them, and the other says nothing", async () => {
    const world = await openSessionWorld(
      clusterOf(`${SMALL}, leaseSeconds: 60, ${SECOND.replace("}]", ", leaseSeconds: 60}]")}`, [
        "a",
        "b",
        "c",
      ]),
    );
    const before = leases(world);
    const { clock } = world.session.cluster;
    clock.runUntil(clock.nowMs + 3_600_000);
    expect(leases(world)).toEqual(before);
  });

  it.each([
    [
      "range: 10.0.8.0/24, servers: [{name: two, address: 10.0.0.5, range: 10.0.8.0/24}]",
      "cluster-file-overlapping-ranges",
      "both give out 10.0.8.1",
    ],
    [
      "range: 10.0.8.0/24, exclusions: [10.0.8.0/26], servers: [{name: two, address: 10.0.0.5, range: 10.0.8.0/24, exclusions: [10.0.8.128/25]}]",
      "cluster-file-overlapping-ranges",
      "both give out 10.0.8.64",
    ],
    [
      "range: 10.0.8.0/24, servers: [{name: two, address: 10.0.0.11, range: 10.0.9.0/24}]",
      "cluster-file-duplicate-address",
      "10.0.0.11 belongs to",
    ],
    [
      "range: 10.0.8.0/24, servers: [{name: two, address: 10.9.0.5, range: 10.0.9.0/24}]",
      "cluster-file-invalid-value",
      "not a host address",
    ],
    [
      "range: 10.0.8.0/24, reservations: [{mac: 00-15-5D-10-00-01, address: 10.0.9.5}]",
      "cluster-file-invalid-value",
      "not in the server's range",
    ],
    [
      "range: 10.0.8.0/24, reservations: [{mac: 00-15-5D-10-00-01, address: 10.0.8.5}, {mac: 00-15-5D-10-00-02, address: 10.0.8.5}]",
      "cluster-file-duplicate-address",
      "a reservation of 00-15-5D-10-00-01",
    ],
    [
      "servers: [{name: two, address: 10.0.0.5, range: 10.0.9.0/24}]",
      "cluster-file-invalid-value",
      "beside the one on the router",
    ],
    [
      "range: 10.0.8.0/24, reservations: [{mac: 01-00-5E-00-00-01, address: 10.0.8.5}]",
      "cluster-file-invalid-value",
      "a MAC address",
    ],
  ])("refuses {%s}", (dhcp, code, message) => {
    const read = readInput([{ name: "cluster.yaml", text: clusterOf(dhcp, ["a"]) }]);
    const problems = "problems" in read ? read.problems : [];
    expect(problems.map((problem) => problem.code)).toContain(code);
    expect(problems.map((problem) => problem.message).join("\n")).toContain(message);
  });
});

describe("examples/windows-server-ipam", () => {
  async function verified(from: string, to: string) {
    expect(EXAMPLE).toContain(from);
    const whole = EXAMPLE.replaceAll(from, to);
    // Who has no network can be asked for no expectation. The exclusions leave one address to each server.
    const full = whole
      .slice(0, whole.indexOf("expectations:"))
      .replace("10.0.8.128/25", "10.0.8.20/30, 10.0.8.18/31")
      .replace("10.0.8.0/25", "10.0.8.16/30, 10.0.8.22/31");
    const world = await openSessionWorld(to.includes("/29") ? full : whole);
    const { cluster } = world.session;
    return {
      world,
      report: verifyCluster(cluster, readModel(cluster), { troubles: world.session.troubles() }),
    };
  }

  it("is green, and the reservation is the container's", async () => {
    const { world, report } = await verified("", "");
    expect(report.findings).toEqual([]);
    // Both servers keep it, and one of them was the first to offer it.
    const kept = leases(world).filter((lease) => lease.includes(" 10.0.8.20 "));
    expect(kept.map((lease) => lease.split(" ").slice(2).join(" ")).toSorted()).toEqual([
      "default/web ActiveReservation",
      "default/web InactiveReservation",
    ]);
  });

  it("turns red when the container has another MAC than the reservation", async () => {
    const { report } = await verified("    mac: 00-15-5D-10-00-01\n", "");
    expect(report.findings.map(({ code }) => code)).toContain("neighbor-unresolved");
  });

  it("turns red when the scopes are full", async () => {
    const { report } = await verified("range: 10.0.8.0/24", "range: 10.0.8.16/29");
    expect(report.findings.map(({ code }) => code)).toContain("dhcp-range-exhausted");
  });
});
