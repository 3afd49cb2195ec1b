import { describe, expect, it } from "vitest";
import { CniError } from "./error.ts";
import { parseNetworkList, parseSinglePlugin } from "./conflist.ts";

const PLUGIN = { type: "win-bridge" };

function list(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ cniVersion: "1.0.0", name: "cbr0", plugins: [PLUGIN], ...fields });
}

describe("lists are read as the client library reads them (cni.md §1.1)", () => {
  it("reads name, version, flags and plugins", () => {
    expect(
      parseNetworkList(
        list({ plugins: [{ Type: "a", capabilities: { dns: true, portMappings: false } }, { type: "b" }] }),
      ),
    ).toMatchObject({
      name: "cbr0",
      cniVersion: "1.0.0",
      isCheckDisabled: false,
      isGcDisabled: false,
      plugins: [
        {
          type: "a",
          capabilities: new Map([
            ["dns", true],
            ["portMappings", false],
          ]),
        },
        { type: "b", capabilities: new Map() },
      ],
    });
  });

  it('CNI-017 "disableCheck":"TRUE" is accepted as true', () => {
    expect(parseNetworkList(list({ disableCheck: "TRUE", disableGC: "false" }))).toMatchObject({
      isCheckDisabled: true,
      isGcDisabled: false,
    });
  });

  it.each([
    ["CNI-018 newer ones than known are dropped", { cniVersions: ["1.1.0", "9.9.9"] }, "1.1.0"],
    ["the single one takes part", { cniVersion: "1.1.0", cniVersions: ["0.3.1", "0.4.0"] }, "1.1.0"],
    ["a single one that is newer does not", { cniVersion: "2.0.0", cniVersions: ["0.3.1"] }, "0.3.1"],
    ["nothing known: the single one stays", { cniVersion: "2.0.0", cniVersions: ["9.9.9"] }, "2.0.0"],
    ["order is that of versions", { cniVersion: "", cniVersions: ["0.10.0", "0.9.0"] }, "0.10.0"],
    ["none", { cniVersion: undefined }, ""],
  ])("greatest version: %s", (_name, fields, version) => {
    expect(parseNetworkList(list(fields)).cniVersion).toBe(version);
  });

  it.each([
    [{ name: undefined }, "error parsing configuration list: no name"],
    [{ name: 5 }, "error parsing configuration list: invalid name type float64"],
    [{ cniVersion: true }, "error parsing configuration list: invalid cniVersion type bool"],
    [
      { cniVersions: "1.0.0" },
      "error parsing configuration list: invalid type for cniVersions: []interface {}",
    ],
    [
      { cniVersions: ["1.0.0", {}] },
      "error parsing configuration list: invalid type for cniVersions index 1: map[string]interface {}",
    ],
    [
      { cniVersions: ["x"] },
      'error parsing configuration list: invalid cniVersions entry x at index 0: failed to convert major version part "x"',
    ],
    [{ disableGC: 1 }, "error parsing configuration list: invalid type float64 for disableGC"],
    [
      { disableCheck: "Perhaps" },
      'error parsing configuration list: invalid value "perhaps" for disableCheck',
    ],
    [
      { loadOnlyInlinedPlugins: true, plugins: undefined },
      "error parsing configuration list: `loadOnlyInlinedPlugins` is true, and no 'plugins' key",
    ],
    [{ plugins: null }, "error parsing configuration list: invalid 'plugins' type <nil>"],
    [{ plugins: [] }, "error parsing configuration list: no plugins in list"],
    [
      { plugins: [PLUGIN, {}] },
      "failed to parse plugin config 1: error parsing configuration: missing 'type'",
    ],
    [
      { plugins: [{ type: 3 }] },
      'failed to parse plugin config 0: error parsing configuration: field "type" must be a text',
    ],
    [
      { plugins: ["x"] },
      "failed to parse plugin config 0: error parsing configuration: a plugin must be an object, not string",
    ],
    [
      { plugins: [{ type: "a", capabilities: { dns: "yes" } }] },
      'field "capabilities.dns" must be true or false',
    ],
    [{ plugins: undefined }, "no plugin configs found"],
  ])("refuses %j", (fields, message) => {
    expect(() => parseNetworkList(list(fields))).toThrowError(message);
  });

  it("names what is wrong with a text that is no JSON", () => {
    expect(() => parseNetworkList("{// x\n}")).toThrowError(/^error parsing configuration list: .*a comment/);
    expect(() => parseNetworkList("[]")).toThrowError(CniError);
  });

  it("takes side files in unless the list says otherwise", () => {
    const side = ['{"type":"portmap"}'];
    expect(parseNetworkList(list({}), side).plugins.map(({ type }) => type)).toEqual([
      "win-bridge",
      "portmap",
    ]);
    expect(parseNetworkList(list({ plugins: undefined }), side).plugins).toHaveLength(1);
    expect(parseNetworkList(list({ loadOnlyInlinedPlugins: true }), side).plugins).toHaveLength(1);
  });

  it("lifts a single plugin to a list", () => {
    const lifted = parseSinglePlugin('{"cniVersion":"0.3.1","Name":"cbr0","type":"win-bridge","dns":{}}');
    expect(lifted).toMatchObject({ name: "cbr0", cniVersion: "0.3.1", plugins: [{ type: "win-bridge" }] });
    expect(() => parseSinglePlugin("{}")).toThrowError("error parsing configuration: missing 'type'");
  });
});
