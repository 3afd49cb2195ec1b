// Every verb that prints JSON prints the same as YAML: the verbs are those of the program itself.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { parse } from "yaml";
import { afterAll, describe, expect, it } from "vitest";
import { InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";
import { openHns } from "#hns/durable-hns.node.ts";
import { createHns } from "#hns/local-hns.ts";
import { allVerbs } from "#test/support/cli/all-verbs.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { ScriptedPlugin } from "#test/support/cni/scripted-plugin.ts";
import { cniVerbs } from "./cni/cni.ts";
import { bringUp } from "./cluster/bring-up.ts";
import { get } from "./get/get.ts";
import { create } from "./hns/change.ts";
import { check, repair } from "./hns/check.ts";
import { fault } from "./hns/fault.ts";
import { get as getHns } from "./hns/get.ts";
import { list as listOvn } from "./ovn/show.ts";
import { createProgram, runMullion } from "./program.ts";
import { realPrograms } from "./programs/programs.ts";
import { resolve } from "./trace.ts";
import { diff, ports, show } from "./vfp/vfp.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: small }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
pods:
  - { name: a, node: win-1, ports: [{ port: 8080 }] }
  - { name: b, node: win-1 }
`;
const BRING_UP = "examples/flannel-bring-up/cluster.yaml";
const OVN = "examples/ovn-transparent/cluster.yaml";
const OVN_OBJECTS = "examples/ovn-transparent/objects.yaml";
const FILES = {
  [OVN]: readFileSync(OVN, "utf8"),
  [OVN_OBJECTS]: readFileSync(OVN_OBJECTS, "utf8"),
  "c.yaml": CLUSTER,
  "kp.log":
    "E1122 proxier.go:1 hcnCreateLoadBalancer failed: The specified port already exists. (0x803b0013)\n",
  "10-cbr0.conflist": JSON.stringify({ cniVersion: "1.1.0", name: "cbr0", plugins: [{ type: "main" }] }),
  [BRING_UP]: readFileSync(BRING_UP, "utf8"),
};

const folder = mkdtempSync(join(tmpdir(), "mullion-formats-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NAMESPACE = "7cb720c0-ac4c-4266-92e1-dc277b2a9b94";

/** What follows a verb; several: each is run. `SOCKET` is that of a new HNS, `STATE` its folder, `CACHE` one of this test. */
const RUNS: Readonly<Record<string, readonly string[]>> = {
  // Those without a line here are in print-document.test.ts.
  trace: [],
  get: ["pods -f c.yaml", "pod a -f c.yaml", "hnsnetworks -f c.yaml"],
  verify: [],
  // In processes: shards.long.test.ts.
  merge: [],
  lint: [],
  explain: ["no-route", "0x803b0013", "--list source vip", "--log kp.log"],
  "bring-up": [`-f ${BRING_UP}`],
  version: [],
  "cni add": [`10-cbr0.conflist ${NAMESPACE} --container-id web --cache-dir CACHE`],
  "cni check": ["10-cbr0.conflist --container-id web --cache-dir CACHE"],
  "cni del": [`10-cbr0.conflist ${NAMESPACE} --container-id web --cache-dir CACHE`],
  "cni gc": ["10-cbr0.conflist --keep-none --cache-dir CACHE"],
  "cni status": ["10-cbr0.conflist --cache-dir CACHE"],
  "cni version": ["10-cbr0.conflist --cache-dir CACHE"],
  "hns get": ["all --socket SOCKET"],
  "hns create": [`namespace --id ${NAMESPACE} --socket SOCKET`],
  // It prints as it comes: hns/objects.test.ts.
  "hns watch": [],
  "hns fault list": ["--socket SOCKET"],
  "hns quirk list": ["--socket SOCKET"],
  "hns check": ["STATE"],
  "hns repair": ["STATE"],
  resolve: ["pod/a b -f c.yaml", "pod/a kubernetes -f c.yaml"],
  // Its options stand before the command: exec.test.ts.
  exec: [],
  // With files of a node: doctor.test.ts.
  doctor: [],
  "vfp ports": ["-f c.yaml"],
  "vfp show": ["pod/a -f c.yaml"],
  "vfp diff": ["pod/a pod/b -f c.yaml"],
  "ovn nb list": [`ACL -f ${OVN}`],
  "ovn sb list": [`Chassis -f ${OVN}`],
  programs: [""],
  // Of a cluster that runs: workloads.live.test.ts.
  top: [],
};

const runner = new InProcessRunner(new Map([["main", new ScriptedPlugin("main")]]), "linux");
const VERBS = allVerbs(async () => Promise.reject(new Error("this verb is not run here")), {
  get,
  bringUp,
  cni: cniVerbs({ env: {}, platform: "linux", currentFolder: "/work", runner, ownPlugins: () => "/own" }),
  hns: { get: getHns, create, fault, check, repair },
  ovn: { list: listOvn },
  resolve,
  programs: { list: realPrograms().list },
  vfp: { ports, show, diff },
});

interface Formats {
  readonly verb: string;
  readonly formats: readonly string[];
}

/** The values of `--output` of every verb, in the program's order. */
function formatsOf(command: Command, path: readonly string[] = []): readonly Formats[] {
  const output = command.options.find(({ long }) => long === "--output");
  const own = output?.argChoices === undefined ? [] : [{ verb: path.join(" "), formats: output.argChoices }];
  return [...own, ...command.commands.flatMap((verb) => formatsOf(verb, [...path, verb.name()]))];
}

const PROGRAM = createProgram(VERBS, new MemoryTerminal(), "1.2.3", async () => Promise.resolve());
const WITH_DATA = formatsOf(PROGRAM).filter(({ formats }) => formats.some((name) => name === "json"));

async function printed(verb: string, words: string, format: string): Promise<string> {
  const socket = join(folder, "hns.sock");
  const { client } = createHns();
  const isAsked = words.includes("SOCKET");
  const server = isAsked
    ? await HnsHttpServer.listen({ client, address: { socketPath: socket } })
    : undefined;
  const state = join(folder, "state");
  if (words.includes("STATE") && !existsSync(state)) await (await openHns(state)).close();
  const terminal = new MemoryTerminal(FILES);
  const line = `${verb} ${words} -o ${format}`
    .replace("SOCKET", socket)
    .replace("STATE", state)
    .replace("CACHE", folder);
  const argv = line.split(/ +/);
  await runMullion({ argv, verbs: VERBS, terminal, version: "1.2.3", isDebug: false });
  await client.close();
  await server?.close();
  return terminal.output;
}

describe("-o yaml of every verb", () => {
  it("is where -o json is", () => {
    expect(WITH_DATA.filter(({ formats }) => !formats.includes("yaml"))).toEqual([]);
    expect(WITH_DATA.map(({ verb }) => verb).toSorted()).toEqual(Object.keys(RUNS).toSorted());
  });

  it.each(Object.entries(RUNS).flatMap(([verb, lines]) => lines.map((words) => [verb, words] as const)))(
    "%s %s: the value of -o json",
    async (verb, words) => {
      const json: unknown = JSON.parse(await printed(verb, words, "json"));
      const yaml = await printed(verb, words, "yaml");
      expect(parse(yaml, { maxAliasCount: 0 })).toEqual(json);
      expect(yaml).toMatch(/^(?:- )?[\w-]+:/);
    },
  );
});
