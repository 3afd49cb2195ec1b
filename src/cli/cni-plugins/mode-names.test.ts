/** The older names of the modes: read at every door, printed by none. */
import { describe, expect, it } from "vitest";
import { type Compat, parseCompat } from "#core/base/compat.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { clusterSchema } from "../../../tools/cluster-schema.ts";
import { helpText as flanneldHelp, readFlags } from "../flanneld/flags.ts";
import { helpText as proxyHelp } from "../kube-proxy/help.ts";
import { loadSettings } from "../kube-proxy/load-settings.ts";
import { chooseCompat } from "./plugin-process.ts";

const NAMES: readonly (readonly [string, Compat])[] = [
  ["upstream", "upstream"],
  ["hardened", "hardened"],
  ["reference", "upstream"],
  ["better", "hardened"],
];
const KUBE_PROXY = ["--hostname-override=win-1", "--network-name=cbr0", "--mullion-manifests=web.yaml"];
const noFile = (path: string): Promise<string> => Promise.reject(new Error(path));

describe.each(NAMES)("the mode %s is read as %s", (word, compat) => {
  it("as a word", () => {
    expect(parseCompat(word)).toBe(compat);
  });

  it("by CNI plugins, from the flag and the variable", () => {
    expect(chooseCompat([`--mullion-compat=${word}`], {})).toBe(compat);
    expect(chooseCompat([], { MULLION_COMPAT: word })).toBe(compat);
  });

  it("by flanneld, from the flag and the variable", () => {
    expect(readFlags([`--mullion-compat=${word}`], {}).options.compat).toBe(compat);
    expect(readFlags([], { FLANNELD_MULLION_COMPAT: word }).options.compat).toBe(compat);
  });

  it("by kube-proxy, from the flag and the variable", async () => {
    const byFlag = await loadSettings([...KUBE_PROXY, `--mullion-compat=${word}`], {}, noFile);
    const byVariable = await loadSettings(KUBE_PROXY, { MULLION_COMPAT: word }, noFile);
    expect(byFlag).toMatchObject({ kind: "run", settings: { compat } });
    expect(byVariable).toMatchObject({ kind: "run", settings: { compat } });
  });

  it("in a cluster file", () => {
    const node = `{name: win-1, os: windows, address: 10.0.0.11, compat: ${word}}`;
    const text = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: test}
nodes:
  - ${node}
`;
    expect(parseClusterFile(text, "cluster.yaml")).toMatchObject({ cluster: { nodes: [{ compat }] } });
  });
});

it("another word is no mode", () => {
  expect(parseCompat("best")).toBeUndefined();
  expect(() => chooseCompat(["--mullion-compat=best"], {})).toThrow('write "upstream" or "hardened"');
});

it.each([
  ["the schema of cluster files", JSON.stringify(clusterSchema())],
  ["the help of flanneld", flanneldHelp()],
  ["the help of kube-proxy", proxyHelp({ major: 1, minor: 36 })],
])("%s names the new names alone", (_what, text) => {
  expect(text).toContain("hardened");
  expect(text).toContain("upstream");
  expect(text).not.toMatch(/"(?:reference|better)"|\bbetter\b|mode.*\breference\b/);
});
