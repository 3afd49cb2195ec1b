// vfpctrl as people type it on a node, first the ports and then one of them (dataplane.md §7; users.md §4).
import { beforeAll, describe, expect, it } from "vitest";
import { type ExecWorld, makeExecWorld } from "#test/support/cluster/exec-world.ts";

const NODE = "node/win-1";
let world: ExecWorld;
let guid = "";
beforeAll(async () => {
  world = await makeExecWorld();
  const text = world.lines("vfpctrl /list-vmswitch-port", NODE).join("\n");
  const [, found = ""] = /Port name +: ([0-9A-F-]{36})\n(?:(?!\n\n)[^])*?Container NIC/i.exec(text) ?? [];
  guid = found;
});

describe("vfpctrl on a node", () => {
  it("lists the ports of the switches, and says that it succeeded", () => {
    expect(guid).toMatch(/^[0-9A-F-]{36}$/i);
    const lines = world.lines("vfpctrl.exe /list-vmswitch-port", NODE);
    expect(lines.at(-1)).toBe("Command list-vmswitch-port succeeded!");
    expect(world.report("vfpctrl /list-vmswitch-port", NODE).exitCode).toBe(0);
  });

  it("/format 1 is the JSON that scripts of nodes read", () => {
    const json = world.lines("vfpctrl /list-vmswitch-port /format 1", NODE).join("\n");
    const { Ports } = JSON.parse(json) as { Ports: readonly { Name: string; MacAddress: string }[] };
    expect(Ports.map(({ Name }) => Name)).toContain(guid);
    const rules = world.lines(`vfpctrl /port ${guid} /list-rule /format 1`, NODE).join("\n");
    expect(JSON.parse(rules)).toHaveProperty("Layers");
  });

  it.each(["list-layer", "list-rule", "get-port-state", "get-port-counter", "list-unified-flow"])(
    "/%s of a port",
    (verb) => {
      for (const line of [`vfpctrl /port ${guid} /${verb}`, `powershell vfpctrl -${verb} -port:${guid}`])
        expect(world.lines(line, NODE).at(-1)).toBe(`Command ${verb} succeeded!`);
    },
  );

  it("a layer of a port, and a group of it", () => {
    const text = world.lines(`vfpctrl /port ${guid} /layer ACL_ENDPOINT_LAYER /list-group`, NODE).join("\n");
    expect(text).toContain("ACL_ENDPOINT_GROUP_IPV4_OUT");
    expect(text).not.toContain("LB_DSR_IPv4_OUT");
  });

  it.each([
    [`vfpctrl /port 00000000-0000-0000-0000-000000000000 /list-rule`, /^ERROR: no switch port is called/],
    ["vfpctrl /list-rule", /^ERROR: the port is missing/],
    [
      "vfpctrl /port host /list-rules",
      /^ERROR: there is no command \/list-rules; did you mean \/list-rule\?/,
    ],
    ["vfpctrl /port host /layer NONE /list-group", /^ERROR: there is no layer NONE/],
    ["vfpctrl /list-vmswitch-port --mullion-node win-1", /^ERROR: there is no option --mullion-node/],
  ])("%s is an error line, and 1", (line, message) => {
    const { stdout, exitCode } = world.report(line, NODE);
    expect(stdout).toMatch(message);
    expect(exitCode).toBe(1);
  });

  it.each(["vfpctrl", "vfpctrl /?"])("%s is refused with what there is", (line) => {
    expect(() => world.report(line, NODE)).toThrow(/is not one of the commands that Mullion has/);
  });

  it("is no command of a pod", () => {
    expect(world.report("vfpctrl /list-vmswitch-port")).toMatchObject({ exitCode: 1, stdout: "" });
  });
});
