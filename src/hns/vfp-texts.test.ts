// What vfpctrl prints of ports that HNS programmed: an overlay node as it was seen (dataplane.md §2.2.1), and for every
// port: print → parse → print is the same, and a port that the text is loaded into prints it again.
import { beforeEach, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { OVERLAY_MACS } from "#test/support/dataplane/overlay-stages.ts";
import { OverlayWorld, remoteSubnet } from "#test/support/dataplane/overlay-world.ts";
import { openServiceCluster } from "#test/support/cluster/service-cluster.ts";
import { listLayers } from "#dataplane/vfp/listing/list-port.ts";
import { loadListing } from "#diagnose/vfp-text/load-listing.ts";
import { parseRules } from "#diagnose/vfp-text/parse-rules.ts";
import { layerListLines, ruleListLines } from "#dataplane/vfp/listing/print-rules.ts";
import { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";

function textOf(port: VfpPort): string {
  return ruleListLines(listLayers(port), { withLayers: true }).join("\r\n");
}

describe("an overlay node", () => {
  let ports: ReadonlyMap<SwitchPort["kind"], SwitchPort>;
  beforeEach(async () => {
    const world = new OverlayWorld();
    await world.w1.overlay("10.244.1.0/24", {
      router: OVERLAY_MACS.W1dr,
      policies: [remoteSubnet("10.244.2.0/24", "10.0.0.12", OVERLAY_MACS.W2dr)],
    });
    await world.w1.pod("10.244.1.10");
    const [virtualSwitch] = world.w1.datapath.listSwitches();
    ports = new Map(virtualSwitch?.listPorts().map((port) => [port.kind, port]));
  });

  const layersOf = (kind: SwitchPort["kind"]): string => {
    const { vfp } = defined(ports.get(kind), "a port of each kind");
    return layerListLines(listLayers(vfp))
      .filter((line) => !line.includes("Friendly name") && line !== "")
      .map((line) => line.trim())
      .join("\n");
  };

  it("a pod's port: names, flags with their words, numbers", () => {
    expect(layersOf("container")).toBe(
      [
        "LAYER : LB_DSR",
        "Flags : 0x1 Default Allow",
        "Priority : 7",
        "LAYER : ACL_ENDPOINT_LAYER",
        "Priority : 15",
        "LAYER : VNET_ENCAP_LAYER",
        "Flags : 0x4, Clear TNI",
        "Priority : 40",
        "LAYER : SLB_NAT_LAYER",
        "Flags : 0x9, Default Allow , Update flows on address change",
        "Priority : 50",
        "LAYER : SLB_DECAP_LAYER_STATEFUL",
        "Flags : 0x9, Default Allow , Update flows on address change",
        "Priority : 100",
        "LAYER : VNET_PA_ROUTE_LAYER",
        "Flags : 0x1, Default Allow",
        "Priority : 2000",
      ].join("\n"),
    );
  });

  it("the distributed router's port: its hairpin layer is listed last", () => {
    expect(layersOf("router")).toBe(
      [
        "LAYER : VNET_ENCAP_LAYER",
        "Flags : 0x4 Clear TNI",
        "Priority : 40",
        "LAYER : VNET_PA_ROUTE_LAYER",
        "Flags : 0x1, Default Allow",
        "Priority : 2000",
        "LAYER : REMOTESUBNETROUTE_HAIRPIN_LAYER",
        "Flags : 0x3 Hairpin Layer, Default Allow",
        "Priority : 35",
      ].join("\n"),
    );
  });

  it("the router's rules: decap with 769, PA_ROUTE with 45535", () => {
    const text = textOf(defined(ports.get("router"), "a router").vfp);
    expect(text).toMatch(
      /Priority : 45534\r\n +Flags : 769 terminating \r\n +Type : decap\r\n +Conditions:\r\n +Protocols : 252\r\n/,
    );
    expect(text).toMatch(/Preserve MAC\r\n +Push TNI as VSID\r\n +FlagsEx : 0 \r\n/);
    const route = textOf(defined(ports.get("container"), "a pod").vfp);
    expect(route).toMatch(
      /RULE : \r\n +Friendly name : PA_ROUTE\r\n +Priority : 45535\r\n +Flags : 1 terminating \r\n/,
    );
    expect(route).toMatch(
      /Encap Type: VXLAN\r\n +Fixing inner MAC\r\n +Decrementing TTL\r\n +Encap Destination/,
    );
  });
});

it("dataplane.md §7.4: an ACL has a GUID, and its Id for a friendly name", async () => {
  const world = new OverlayWorld();
  await world.w1.overlay("10.244.1.0/24", { router: OVERLAY_MACS.W1dr, policies: [] });
  const Settings = { Id: "API-web-1", Action: "Allow", Direction: "In", Protocols: "6", LocalPorts: "80" };
  await world.w1.pod("10.244.1.10", { Policies: [{ Type: "ACL", Settings }] });
  const ports = world.w1.datapath.listSwitches().flatMap((each) => each.listPorts());
  const pod = defined(
    ports.find(({ kind }) => kind === "container"),
    "the pod's port",
  );
  expect(textOf(pod.vfp)).toMatch(
    /RULE : [0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}\r\n +Friendly name : API-web-1\r\n/,
  );
});

it("every port of a cluster with Services: text and port give each other", async () => {
  const cluster = await openServiceCluster({ enableDSR: true });
  const ports = cluster.nodes.flatMap(
    ({ hns }) => hns?.listSwitches().flatMap((each) => each.listPorts()) ?? [],
  );
  let rules = 0;
  for (const { vfp, kind } of ports) {
    if (kind === "external") continue;
    const text = textOf(vfp);
    const { ports: read, problems, otherLines } = parseRules(text);
    expect({ problems, otherLines }).toEqual({ problems: [], otherLines: 0 });
    const layers = read[0]?.layers ?? [];
    expect(ruleListLines(layers, { withLayers: true }).join("\r\n")).toBe(text);
    const program = loadListing(layers, "node");
    expect(program.notes.filter(({ effect }) => effect === "left-out")).toEqual([]);
    const copy = new VfpPort({
      id: "copy",
      name: "copy",
      node: "copy",
      layers: program.layers.map(({ definition }) => definition),
    });
    for (const { definition, groups } of program.layers) copy.setGroups(definition.name, groups);
    expect(textOf(copy)).toBe(text);
    rules += layers.flatMap((layer) => layer.groups.flatMap((group) => group.rules)).length;
  }
  expect(rules).toBeGreaterThan(200);
});
