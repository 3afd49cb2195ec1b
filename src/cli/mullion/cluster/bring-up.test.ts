// `mullion bring-up` as a user runs it.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { BRING_UP_SCHEMA } from "#cluster/bring-up/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { bringUp } from "./bring-up.ts";
import { runMullion } from "../program.ts";

const EXAMPLE = "examples/flannel-bring-up/cluster.yaml";
const OTHER = "examples/two-windows-nodes/cluster.yaml";
const FILES: Record<string, string> = {
  ...Object.fromEntries([EXAMPLE, OTHER].map((path) => [path, readFileSync(path, "utf8")])),
  "linux.yaml": readFileSync(EXAMPLE, "utf8").replace(/ {2}- name: win-1[^]*?address: 10\.0\.0\.11\n/, ""),
  "named.yaml": readFileSync(EXAMPLE, "utf8").replace(
    "backend: vxlan",
    "backend: vxlan\n  name: flannel.4096",
  ),
};

async function run(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = new MemoryTerminal(FILES);
  const code = await runMullion({ argv, verbs: { bringUp }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

describe("mullion bring-up", () => {
  it("prints an aligned table, what was found, and the verdict; ends with 1", async () => {
    const { code, out } = await run("bring-up", "-f", EXAMPLE);
    expect(code).toBe(1);
    const lines = out.split("\n");
    expect(lines[0]).toMatch(/^STEP {2}SCRIPT +NAME +OUTCOME +AT +TOOK +CHANGED$/);
    expect(lines[10]).toMatch(/^ {2}10 {2}start\.ps1 +Start flanneld +warning +11 s +0 s +1 file, 1 network/);
    const table = lines.slice(0, lines.indexOf(""));
    expect(table).toHaveLength(17);
    expect(table.filter((line) => line.length > 100)).toEqual([]);
    expect(out).toContain("    More: mullion explain start-script-configuration-old\n");
    expect(out).toMatch(/\nwin-1 is up after 37 s of virtual time, with findings\.\n$/);
  });

  it("ends with 0 when all is well", async () => {
    const { code, out } = await run("bring-up", "-f", EXAMPLE, "--edit", "copy-net-conf");
    expect(code).toBe(0);
    expect(out).toMatch(/\n\nwin-1 is up after 37 s of virtual time\.\n$/);
  });

  it("says which step waits for ever", async () => {
    const { code, out } = await run(
      "bring-up",
      "-f",
      EXAMPLE,
      "--env",
      "HTTPS_PROXY=http://proxy:3128",
      "--patience",
      "60",
    );
    expect(code).toBe(1);
    expect(out).toMatch(/Register the node +waits +10 s +1 min/);
    expect(out).toMatch(/\nwin-1 is not up: step 9, Register the node, waits forever\.\n$/);
  });

  it("shows each step with -o wide: command, output, changes", async () => {
    const { out } = await run("bring-up", "-f", EXAMPLE, "-o", "wide");
    expect(out).toContain("10  start.ps1: Start flanneld  warning, 0 s\n");
    expect(out).toContain("    | flanneld: I Found network config - Backend type: vxlan\n");
    expect(out).toContain("    + reservation C:\\var\\lib\\cni\\networks\\vxlan0\\10.244.1.2 of dummy\n");
    expect(out).toContain("    ~ file C:\\k\\net-conf.json: ");
  });

  it.each([
    [[]],
    [["--fault", "hns-not-running"]],
    [["--adapter", "Ethernet=192.168.56.11/24", "--adapter", "Ethernet 2=10.0.0.11/24"]],
    [["--scripts", "KubeCluster.ps1", "--runtime", "containerd", "--edit", "kubelet-flags"]],
    [["--joined-before", "10.244.9.0/24", "--runs", "2"]],
  ])("prints JSON that its schema describes: %j", async (words) => {
    const { out } = await run("bring-up", "-f", EXAMPLE, "-o", "json", ...words);
    const validate = new Ajv2020({ strict: true }).compile(BRING_UP_SCHEMA);
    validate(JSON.parse(out));
    expect(validate.errors).toBeNull();
  });

  it.each([
    [[], "bring-up needs a cluster"],
    [["-f", EXAMPLE, "--node", "win-9"], '"win-9" is not a Windows node of the cluster'],
    [["-f", "linux.yaml"], "the cluster has no Windows node"],
    [["-f", OTHER], "the start scripts bring up flannel, and the cluster has network.plugin win-bridge"],
    [["-f", "named.yaml"], "the start scripts call the network vxlan0, and the cluster file flannel.4096"],
    [["-f", EXAMPLE, "--runtime", "containerd"], "start.ps1 knows Docker alone"],
    [["-f", EXAMPLE, "--fault", "fire"], '"fire" is not a value of --fault'],
    [["-f", EXAMPLE, "--edit", "all"], '"all" is not a value of --edit'],
    [["-f", EXAMPLE, "--flanneld", "new"], '--flanneld takes a release, not "new"'],
    [["-f", EXAMPLE, "--adapter", "Ethernet"], '--adapter takes a name and an IPv4 address, not "Ethernet"'],
    [
      ["-f", EXAMPLE, "--adapter", "A=10.9.0.1/24"],
      "one of the adapters has to have the node's address 10.0.0.11",
    ],
    [
      ["-f", EXAMPLE, "--adapter", "A=10.0.0.11/24", "--adapter", "a=10.9.0.1/24"],
      "two adapters have the same name",
    ],
    [["-f", EXAMPLE, "--env", "PROXY"], '--env takes NAME=VALUE, not "PROXY"'],
    [["-f", EXAMPLE, "--runs", "0"], '--runs takes a number from 1 to 10, not "0"'],
    [["-f", EXAMPLE, "--patience", "-1"], '--patience takes a time, not "-1"'],
    [["-f", EXAMPLE, "--joined-before", "x"], '--joined-before takes a pod range, not "x"'],
    [["-f", EXAMPLE, "--api-server", "10.0.0.21"], '--api-server takes a URL, not "10.0.0.21"'],
  ])("refuses %j", async (words, message) => {
    const { code, out, err } = await run("bring-up", ...words);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(`mullion: ${message} [`);
  });
});
