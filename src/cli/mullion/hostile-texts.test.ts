// A megabyte of nothing costs what a megabyte costs: patterns that begin anew at each character would take minutes.
import { describe, expect, it } from "vitest";
import { READERS, secondsOf, textOf } from "#test/support/cli/hostile-texts.ts";

const MEGABYTE = 1_000_000;
/** Some fifty times what they take; with a square in it, a megabyte takes minutes. */
const SECONDS_MAX = 3;

describe("a megabyte of one kind", () => {
  it.each([
    ["x.yaml", " "],
    ["x.yaml", "{{"],
    ["x.json", "/**///\n"],
    ["x.json", '{"ID":"x"}'],
    ["net.conflist", "\t"],
    ["net-conf.json", "//"],
    ["start.ps1", "kube-proxy --a=b "],
    ["start.ps1", "F-"],
    ["subnet.env", "a="],
    ["x.log", "0"],
    ["x.log", "))"],
    ["cluster.yaml", "/"],
    ["rules.txt", ": "],
    ["rules.txt", "\t"],
    ["hns.json", '{"ID":"x"}'],
    ["hnsdiag.txt", "Networks : \n"],
    ["stdin of CNI plugins", "[0,"],
    ["protobuf of client-go", "\n\u0001"],
    ["kubeconfig", "}"],
  ])("%s of %j is read in time", async (file, unit) => {
    expect(Object.keys(READERS)).toContain(file);
    expect(await secondsOf(file, textOf(unit, MEGABYTE))).toBeLessThan(SECONDS_MAX);
  });
});

describe("a text made for one pattern", () => {
  it.each([
    ["x.json", `\t${"/**///\n".repeat(28)}\u0000`],
    ["rules.txt", `Policy for port:${" ".repeat(50_000)}N`],
    ["rules.txt", "RULE : a\n".repeat(8_000)],
    ["rules.txt", `RULE : ${"\t".repeat(50_000)}x\n`],
    ["x.yaml", `kind: Network\nx: ${"AAAA".repeat(20_000)}`],
    ["x.yaml", '"'.repeat(20_000)],
    ["cluster.yaml", "}".repeat(50_000)],
    ["x.log", `HRESULT ${"(".repeat(20_000)}${")".repeat(20_000)}x`],
  ])("%s, case %#", async (file, text) => {
    expect(await secondsOf(file, text)).toBeLessThan(SECONDS_MAX);
  });
});
