// Defects of nodes of a running cluster, turned off and on: the rules, the lists and what is expected follow.
import { describe, expect, it } from "vitest";
import { clusterText, openSessionWorld } from "#test/support/cluster/session-world.ts";
import { viewQuirks } from "../views/quirk-views.ts";
import { readModel } from "../verify/model-of-cluster.ts";

const QUIRK = "overlay-nodeport-ws2022";

describe("set-quirk", () => {
  it("is what the node has from then on, what is expected of it, and makes a class of its own", async () => {
    const world = await openSessionWorld(clusterText("network: { plugin: flannel, backend: vxlan }"));
    const { cluster } = world.session;
    const settingOf = (node: string): string | undefined =>
      viewQuirks(cluster, node).find(({ name }) => name === QUIRK)?.setting;
    expect(settingOf("win-1")).toBe("on");
    const [one, other] = cluster.nodes.filter(({ hns }) => hns !== undefined).map(({ spec }) => spec.name);
    const classOf = (name: string | undefined): string | undefined =>
      readModel(cluster).nodes.find((node) => node.name === name)?.nodeClass;
    expect(classOf(one)).toBe(classOf(other));
    for (const setting of ["off", "0.5@7", "on"]) {
      await world.session.changeNode(one ?? "", { do: "set-quirk", quirk: QUIRK, setting });
      expect([settingOf(one ?? ""), classOf(one) === classOf(other)]).toEqual([setting, false]);
    }
  });

  it.each([
    ["linux-1", QUIRK, "on", "node-action-impossible"],
    ["win-1", "no-such-defect", "on", "api-request-invalid"],
    ["win-1", QUIRK, "often", "api-request-invalid"],
  ])("on %s: %s=%s is refused (%s) and changes nothing", async (node, quirk, setting, code) => {
    const { session } = await openSessionWorld(clusterText());
    const before = viewQuirks(session.cluster);
    await expect(session.changeNode(node, { do: "set-quirk", quirk, setting })).rejects.toMatchObject({
      code,
    });
    expect(viewQuirks(session.cluster)).toEqual(before);
  });
});
