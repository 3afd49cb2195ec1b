// Load balancers with variables, as ovn-kubernetes writes them for NodePorts: with the flows that Debian's ovn-northd makes of them,
// packets go where they go with load balancers that have the values written out.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readDump } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import { LogicalWorld } from "#test/support/dataplane/logical-world.ts";
import { OvnCentral, TABLES } from "./ovn-central.ts";

const PODS = [2, 3, 4].map((last) => ({
  port: `p${last}`,
  mac: `50:54:00:00:00:0${last}`,
  ip: `10.0.0.${last}`,
}));

const NETWORK = [
  "nb lr-add lr0",
  "nb lrp-add lr0 lr0-sw0 00:00:00:00:ff:00 10.0.0.1/24",
  "nb ls-add sw0",
  "nb lsp-add sw0 sw0-lr0 -- lsp-set-type sw0-lr0 router -- lsp-set-addresses sw0-lr0 router -- lsp-set-options sw0-lr0 router-port=lr0-sw0",
  ...PODS.map(({ port, mac, ip }) => `nb lsp-add sw0 ${port} -- lsp-set-addresses ${port} "${mac} ${ip}"`),
  "sb chassis-add hv1 geneve 127.0.0.1",
  "sb chassis-add hv2 geneve 127.0.0.2",
].join("\n");

const VALUES = {
  hv1: { node: "192.0.2.1", ends: "10.0.0.2:8080" },
  hv2: { node: "192.0.2.2", ends: "10.0.0.3:8080" },
} as const;

const WITH_VARIABLES = [
  NETWORK,
  ...Object.entries(VALUES).map(
    ([chassis, { node, ends }]) =>
      `nb create chassis_template_var chassis=${chassis} variables='{NODEIP_IPv4_0="${node}",ends="${ends}"}'`,
  ),
  'nb --template lb-add front "^NODEIP_IPv4_0:30080" "^ends" tcp ipv4',
  'nb --template lb-add plain "^NODEIP_IPv4_0:30081" "10.0.0.4:9090" tcp ipv4',
  "nb ls-lb-add sw0 front -- ls-lb-add sw0 plain",
].join("\n");

function withValues({ node, ends }: { readonly node: string; readonly ends: string }): string {
  return [
    NETWORK,
    `nb lb-add front ${node}:30080 ${ends} tcp`,
    `nb lb-add plain ${node}:30081 10.0.0.4:9090 tcp`,
    "nb ls-lb-add sw0 front -- ls-lb-add sw0 plain",
  ].join("\n");
}

const started: OvnCentral[] = [];
afterAll(() => started.forEach((each) => each.stop()));

function worldOf(script: string, chassis: string): LogicalWorld {
  const central = new OvnCentral();
  started.push(central);
  central.script(script);
  const southbound = toSouthbound(readDump(central.dumpOf([...TABLES, "Chassis_Template_Var"])));
  return new LogicalWorld(southbound, chassis);
}

describe.each(["hv1", "hv2"] as const)("on %s", (chassis) => {
  let worlds: readonly LogicalWorld[];
  beforeAll(() => {
    worlds = [worldOf(WITH_VARIABLES, chassis), worldOf(withValues(VALUES[chassis]), chassis)];
  }, 60_000);

  it("every flow of ovn-northd can be read", () => {
    expect(worlds.map(({ network }) => [network.unreadable, network.missingOn(chassis)])).toEqual([
      [[], []],
      [[], []],
    ]);
  });

  it.each([
    ["192.0.2.1", 30_080],
    ["192.0.2.2", 30_080],
    ["192.0.2.1", 30_081],
    ["192.0.2.2", 30_081],
    ["192.0.2.1", 30_082],
  ])("a connection to %s:%i goes as with the values written out", (destination, port) => {
    const asked = { inport: "p4", from: "50:54:00:00:00:04", to: "00:00:00:00:ff:00", source: "10.0.0.4" };
    const [template, plain] = worlds.map((world) => world.send({ ...asked, destination, port }));
    const withoutIds = (all: readonly string[] | undefined): readonly string[] | undefined =>
      all?.map((each) => each.replace(/uuid [0-9a-f]{8}/, "uuid"));
    expect(withoutIds(template)).toEqual(withoutIds(plain));
    const isOwn = destination === VALUES[chassis].node && port !== 30_082;
    expect(template?.[0]?.startsWith("p")).toBe(isOwn);
  });
});
