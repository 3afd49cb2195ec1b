// The examples with OVN through the command line: green with what the documentation promises, and with one thing broken red with
// the code of that. More that can be broken: src/cluster/ovn/ovn-faults.long.test.ts, src/cluster/hybrid-overlay/.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

interface Answer {
  readonly code: number | null;
  readonly codes: readonly string[];
  readonly observed: readonly string[];
}

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "mullion-ovn-examples-"))));
afterEach(() => rmSync(folder, { recursive: true }));

/** What is changed in a copy of an example: its cluster file, and manifests that are added. */
interface Change {
  readonly file?: (text: string) => string;
  readonly manifest?: string;
}

function verify(example: string, { file = (text) => text, manifest }: Change = {}): Answer {
  const copy = join(folder, example);
  cpSync(join("examples", example), copy, { recursive: true });
  const path = join(copy, "cluster.yaml");
  let text = file(readFileSync(path, "utf8"));
  if (manifest !== undefined) {
    writeFileSync(join(copy, "broken.yaml"), manifest);
    text = text.replace("manifests:\n", "manifests:\n  - broken.yaml\n");
  }
  writeFileSync(path, text);
  const words = ["bin/mullion.js", "verify", "-f", path, "-o", "json"];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  const { findings } = JSON.parse(stdout) as {
    readonly findings: readonly { readonly code?: string; readonly observed: string }[];
  };
  return {
    code: status,
    codes: findings.flatMap(({ code }) => code ?? []),
    observed: findings.map(({ observed }) => observed),
  };
}

/** Adds a flow that has to be answered, whatever rules there are. */
function expecting(from: string, to: string, port: number) {
  return (text: string): string =>
    `${text}\nexpectations:\n  - { from: ${from}, to: ${to}, port: ${port}, expect: works }\n`;
}

describe.each(["ovn-transparent", "ovn-hybrid-overlay"])("examples/%s", (example) => {
  it("is green as it is", () => {
    expect(verify(example)).toMatchObject({ code: 0, codes: [] });
  });
});

describe("examples/ovn-transparent is red", () => {
  it("with an ACL that drops what has to be answered", () => {
    const manifest = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: nobody }
spec: { podSelector: { matchLabels: { app: web } }, policyTypes: [Ingress] }
`;
    const { code, codes } = verify("ovn-transparent", {
      manifest,
      file: expecting("pod/client", "pod/api", 8080),
    });
    expect([code, codes]).toEqual([1, expect.arrayContaining(["ovn-packet-dropped"])]);
  });

  /** Writes to the northbound database, as `ovn-nbctl set TABLE RECORD COLUMN=VALUE` does. */
  const set = (table: string, record: string, columns: string) => (text: string) =>
    text.replace(
      "  plugin: ovn-kubernetes\n",
      (plugin) => `${plugin}  northbound: [{ table: ${table}, record: ${record}, set: ${columns} }]\n`,
    );

  // ovn-nb(5): requested-chassis names the chassis that may bind the port; ovn-controller(8): iface-id-ver has to be the interface's.
  it.each([
    ["another chassis", "{ options: { requested-chassis: win-9 } }", "requested-chassis=win-9"],
    ["another version", "{ options: { iface-id-ver: other } }", "iface-id-ver=other"],
  ])("with a port that is bound nowhere: it is for %s", (_title, columns, option) => {
    const { code, codes, observed } = verify("ovn-transparent", {
      file: set("Logical_Switch_Port", "default_api", columns),
    });
    expect([code, codes]).toEqual([1, expect.arrayContaining(["ovn-port-unbound"])]);
    expect(observed.join("\n")).toContain("Port_Binding default_api");
    expect(observed.join("\n")).toContain(option);
  });

  // ovn-nb(5), Logical_Router options:chassis: the chassis that the gateway router is on.
  it("with an option: a gateway router that is on no chassis", () => {
    const { code, codes, observed } = verify("ovn-transparent", {
      file: set("Logical_Router", "GR_win-1", "{ options: { chassis: win-9 } }"),
    });
    expect([code, codes]).toEqual([1, expect.arrayContaining(["ovn-port-unbound"])]);
    expect(observed.join("\n")).toContain("Port_Binding jtor-GR_win-1, l3gateway-chassis=win-9");
  });

  it.each([
    ["a row that is not there", set("Logical_Switch_Port", "default_nobody", "{ type: localnet }")],
    ["a column that is not there", set("Logical_Switch_Port", "default_api", "{ colour: red }")],
    ["a table that is not there", set("Switch", "win-1", "{ name: x }")],
  ])("with %s, and says so", (_title, file) => {
    const { code, codes } = verify("ovn-transparent", { file });
    expect([code, codes]).toEqual([1, ["ovn-row-refused"]]);
  });
});

describe("what nothing comes of in OVN is a finding", () => {
  const set = (text: string, change: string): string =>
    text.replace("  plugin: ovn-kubernetes\n", (plugin) => `${plugin}  northbound: [${change}]\n`);

  // A template is read by northd of 23.03 and later alone; ours says that it does not.
  it("an address of a load balancer that northd cannot read", () => {
    const change =
      '{ table: Load_Balancer, record: "Service_default/front_TCP_cluster", set: { vips: { "^vip:80": "10.128.0.4:8080" } } }';
    const { code, observed } = verify("ovn-transparent", { file: (text) => set(text, change) });
    expect(code).toBe(1);
    expect(observed.join("\n")).toContain(
      "northd writes no flow for load balancer Service_default/front_TCP_cluster: ^vip:80",
    );
  });

  // ovn-controller logs a syntax error and goes on without the flow.
  it("an ACL whose match has an assignment in place of a comparison", () => {
    const manifest = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: friends }
spec: { podSelector: { matchLabels: { app: web } }, ingress: [{ from: [{ podSelector: { matchLabels: { app: client } } }] }] }
`;
    const change =
      '{ table: ACL, record: "NP:default:friends:Ingress:0", set: { match: "ip4.src = 10.128.0.3" } }';
    const { code, codes, observed } = verify("ovn-transparent", {
      manifest,
      file: (text) => set(text, change),
    });
    expect([code, codes]).toEqual([1, expect.arrayContaining(["ovn-flow-refused"])]);
    expect(observed.join("\n")).toMatch(
      /ls_out_acl, priority \d+, uuid [0-9a-f]{8}.* is left out: its match cannot be read: /,
    );
  });
});

describe("examples/ovn-hybrid-overlay is red", () => {
  const BLOCK = `
  cni: { policies: [{ name: EndpointPolicy, value: { Type: ACL, Settings: { Action: Block, Direction: In, RuleType: Switch, Priority: 100, Protocols: "6" } } }] }`;
  const plugin = "  plugin: ovn-hybrid-overlay";

  it("with an ACL that blocks what has to be answered", () => {
    const file = (text: string): string =>
      expecting("pod/ledger-0", "pod/ledger-1", 9090)(text.replace(plugin, plugin + BLOCK));
    const { code, codes } = verify("ovn-hybrid-overlay", { file });
    expect([code, codes]).toEqual([1, expect.arrayContaining(["acl-rule-blocked"])]);
  });

  it("with a node that is bound to no MAC of its router", () => {
    const annotation = "k8s.ovn.org/hybrid-overlay-distributed-router-gateway-mac";
    const manifest = `apiVersion: v1
kind: Node
metadata: { name: linux-1, annotations: { "${annotation}": "" } }
`;
    const { code, codes } = verify("ovn-hybrid-overlay", { manifest });
    expect([code, codes]).toEqual([
      1,
      expect.arrayContaining(["hybrid-overlay-annotation-invalid", "no-route"]),
    ]);
  });

  it("with a UDP port that the build does not have", () => {
    const file = (text: string): string =>
      text.replace(plugin, `${plugin}\n  vxlanPort: 4799`).replace("ws2022", "ws2019");
    const { code, codes } = verify("ovn-hybrid-overlay", { file });
    expect([code, codes]).toEqual([1, expect.arrayContaining(["hybrid-overlay-port-unsupported"])]);
  });
});
