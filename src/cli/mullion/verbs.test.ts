// The verbs that need a cluster, run as a user would run them, over the examples.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { demo } from "./demo.ts";
import { get } from "./get/get.ts";
import { serve } from "./hns/serve.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";

const EXAMPLE = "examples/two-windows-nodes/cluster.yaml";
const SERVICES = "examples/mixed-services";
const SERVICE_FILES = [
  "cluster.yaml",
  ...["ledger", "orders", "storefront"].map((name) => `manifests/${name}.yaml`),
];
const FILES: Record<string, string> = {
  ...Object.fromEntries(
    SERVICE_FILES.map((file) => [`${SERVICES}/${file}`, readFileSync(`${SERVICES}/${file}`, "utf8")]),
  ),
  [EXAMPLE]: readFileSync(EXAMPLE, "utf8"),
  "empty.yaml": "",
  // Nodes that do not know where the pods of the others are.
  "unrouted.yaml": `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: unrouted}
nodes:
  - {name: a, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: b, os: windows, address: 10.0.0.12, podCIDR: 10.244.2.0/24}
network: {plugin: win-bridge, routes: none}
pods:
  - {name: one, node: a, ports: [{port: 80}]}
  - {name: two, node: b, ports: [{port: 80}]}
`,
  "overlap.yaml": `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: x}
nodes:
  - {name: a, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: b, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/25}
`,
};

async function run(
  line: string,
): Promise<{ code: number; out: string; err: string; terminal: MemoryTerminal }> {
  const terminal = new MemoryTerminal(FILES);
  const argv = line.split(" ");
  const verbs = { trace, get, demo };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors, terminal };
}

describe("mullion trace", () => {
  it("prints the walk and ends with 0 when it was answered", async () => {
    const { code, out } = await run(`trace -f ${EXAMPLE} pod/client pod/api --port 8080`);
    expect(code).toBe(0);
    expect(out).toMatch(/^pod\/default\/client \(10\.244\.1\.4 on win-1\) → pod\/default\/api/);
    expect(out).toContain("ip.ttl 128 → 127");
    expect(out).toMatch(/Answered after [\d.]+ ms: api saw 10\.244\.1\.4:\d+\.\n$/);
  });

  it("ends with 1 and names the code when the answer does not come back", async () => {
    const { code, out } = await run(`trace -f ${EXAMPLE} pod/client external --protocol icmp`);
    expect(code).toBe(1);
    expect(out).toContain("mullion explain icmp-outbound-not-translated\n");
  });

  it("prints JSON, and writes a capture", async () => {
    const { out, terminal } = await run(
      `trace -f ${EXAMPLE} pod/client pod/api -o json --pcap out/walk.pcapng`,
    );
    expect(JSON.parse(out)).toMatchObject({ apiVersion: "mullion/v1alpha1", kind: "Trace", port: 8080 });
    const capture = terminal.files.get("out/walk.pcapng") as Uint8Array;
    // The section header block of pcapng.
    expect([...capture.subarray(0, 4)]).toEqual([0x0a, 0x0d, 0x0d, 0x0a]);
  });

  it.each([
    [
      `trace -f ${EXAMPLE} pod/nobody pod/api`,
      /nothing in cluster "two-windows-nodes" is called "pod\/nobody"/,
    ],
    [`trace -f ${EXAMPLE} pod/client pod/api --port 70000`, /--port takes a port number, not "70000"/],
    [`trace -f ${EXAMPLE} pod/client node/win-2`, /serves no TCP port/],
    ["trace -f missing.yaml pod/a pod/b", /cannot read "missing.yaml": there is no such file/],
    ["trace -f empty.yaml pod/a pod/b", /empty\.yaml/],
    ["trace -f overlap.yaml pod/a pod/b", /10\.0\.0\.11/],
  ])("%s: exit 2, said in words", async (line, message) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\n\s+at /);
  });
});

describe("mullion get", () => {
  it("lists pods as a table", async () => {
    const { out } = await run(`get pods -f ${EXAMPLE}`);
    expect(out).toBe(
      [
        "NAME     READY   STATUS    IP           NODE",
        "api      1/1     Running   10.244.2.3   win-2",
        "client   1/1     Running   10.244.1.4   win-1",
        "web      1/1     Running   10.244.1.3   win-1",
        "",
      ].join("\n"),
    );
  });

  it("shows namespaces with -A, and ports with -o wide", async () => {
    const { out } = await run(`get po -A -o wide -f ${EXAMPLE}`);
    expect(out).toMatch(/^NAMESPACE +NAME +READY +STATUS +IP +NODE +PORTS/);
    expect(out).toMatch(/^default +web +1\/1 +Running +10\.244\.1\.3 +win-1 +8080:8080\/TCP/m);
  });

  it.each(["get pod web", "get pods web", "get pod/web", "get po/web", "get Pod web"])(
    "%s",
    async (words) => {
      const { code, out } = await run(`${words} -o name -f ${EXAMPLE}`);
      expect({ code, out }).toEqual({ code: 0, out: "pod/web\n" });
    },
  );

  it("prints several kinds one after the other, with the kind in the name", async () => {
    const { out } = await run(`get no,po -f ${EXAMPLE}`);
    expect(out).toMatch(/^NAME +STATUS .*\nnode\/win-1 .*\nnode\/win-2 .*\n\nNAME +READY .*\npod\/api /);
  });

  it("gives one object by name as it is, and several as a list", async () => {
    const one = await run(`get pod web -o yaml -f ${EXAMPLE}`);
    expect(one.out).toMatch(/^apiVersion: v1\nkind: Pod\nmetadata:\n {2}name: web\n/);
    const all = await run(`get pods -o json -f ${EXAMPLE}`);
    expect(JSON.parse(all.out)).toMatchObject({
      apiVersion: "v1",
      kind: "List",
      items: [{ metadata: { name: "api" } }, {}, {}],
    });
  });

  it("says where objects are when the namespace has none", async () => {
    const { code, out, err } = await run(`get pods -n shop -f ${EXAMPLE}`);
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(err).toBe(
      'There are no pods in namespace "shop". There are 3 in default: add -A, or -n NAMESPACE.\n',
    );
  });

  it("ends with 2 when an object that was named is not there, and shows the others", async () => {
    const { code, out, err } = await run(`get pods web nobody -o name -f ${EXAMPLE}`);
    expect({ code, out }).toEqual({ code: 2, out: "pod/web\n" });
    expect(err).toContain('there is no pod/nobody in namespace "default" [unknown-object]');
  });

  it("lists what HNS holds on one node", async () => {
    const { out } = await run(`get hnsendpoints -f ${EXAMPLE} --node win-2`);
    expect(out).toMatch(/win-2 +cbr0_ep +10\.244\.2\.2 /);
    expect(out).toMatch(/win-2 +default_api_cbr0 +10\.244\.2\.3 .* OutBoundNAT,SDNRoute,SDNRoute/);
    expect(out).not.toContain("win-1");
  });

  it("gives the objects as HNS returns them, as JSON", async () => {
    const { out } = await run(`get networks -f ${EXAMPLE} --node win-1 -o json`);
    expect(JSON.parse(out)).toMatchObject({
      items: [{ node: "win-1", Name: "cbr0", Type: "L2Bridge", SchemaVersion: { Major: 2, Minor: 0 } }],
    });
  });

  it("names the sandboxes of pods", async () => {
    const { out } = await run(`get hns-namespaces -f ${EXAMPLE}`);
    expect(out).toMatch(/^win-1 +[0-9a-f-]{36} +Host +2 +default\/web$/m);
    expect((await run(`get nodes -f ${EXAMPLE} -o name`)).out).toBe("node/win-1\nnode/win-2\n");
  });

  it("what a Windows node has of Services, wide: the load balancer and its rules", async () => {
    const { out } = await run(`get services -A --node win-1 -o wide -f ${SERVICES}/cluster.yaml`);
    expect(out).toMatch(
      /^NODE +NAMESPACE +NAME +FRONT END +ADDRESS +BACK ENDS +STATE +RULES +LOAD BALANCER +WHY$/m,
    );
    expect(out).toMatch(
      /^win-1 +kube-system +kube-dns +ClusterIP +10\.96\.0\.10:53\/UDP +[\d.,]+ +programmed +[1-9]\d* +[0-9a-f-]{36} +<none>$/m,
    );
  });

  it("says which nodes there are when the name is none of them", async () => {
    const { code, err } = await run(`get pods -f ${EXAMPLE} --node win-3`);
    expect(code).toBe(2);
    expect(err).toContain('the cluster has no node "win-3"');
    expect(err).toContain("win-1, win-2");
  });
});

describe("mullion demo", () => {
  it("shows the cluster, what works, one call, and where the capture is; twice the same", async () => {
    const first = await run("demo");
    expect(first.err).not.toContain("manifest");
    expect(first.code).toBe(0);
    expect(first.out).toContain("What works, and what does not");
    // KB4571748 mended what the page denies (windows-networking-documentation.md §8).
    expect(first.out).toContain("node → its own NodePort*");
    expect(first.out).toMatch(/^default +orders +ClusterIP +10\.\d+\.\d+\.\d+ /m);
    expect(first.out).toMatch(/^Answered after [\d.]+ ms: orders-\S+ saw 10\.0\.0\.11:\d+\.$/m);
    expect(first.out).toContain("out/demo.pcapng");
    const second = await run("demo");
    expect(second.out).toBe(first.out);
    expect(second.terminal.files.get("out/demo.pcapng")).toEqual(first.terminal.files.get("out/demo.pcapng"));
  });

  it("fits a terminal of 60 lines with npm's own, and 100 columns, and ends with one's own files", async () => {
    const { out, err } = await run("demo");
    const lines = out.trimEnd().split("\n");
    // `npm start` prints four lines of its own before.
    expect(lines.length + err.trimEnd().split("\n").length).toBeLessThanOrEqual(60 - 4);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    const commands = lines.flatMap((line) => /^ {2}npx mullion (\w+) /.exec(line)?.[1] ?? []);
    expect(commands).toEqual(["verify", "trace", "lint"]);
    // What differs from "works", and by which code; what the packet met, and whose it was.
    for (const code of ["icmp-to-service-not-balanced", "icmp-outbound-not-translated", "dns-name-with-dot"])
      expect(out).toContain(code);
    expect(out).toMatch(/LB: ip\.dst 10\.107\.226\.110 → 10\.244\.2\.\d/);
    expect(out).toContain('HostComputeLoadBalancer "10.107.226.110:80"');
    expect(out).not.toContain("ACL_ENDPOINT_LAYER");
  });

  it("prints the whole matrix and every step with --full", async () => {
    const { out } = await run("demo --full");
    expect(out).toMatch(/^ {2}Windows → Windows, same node +works +works +works$/m);
    expect(out).toContain("ACL_ENDPOINT_LAYER");
    expect(out).toContain("kube-dns");
  });

  it("shows of a cluster that differs what differs, and the drop", async () => {
    const { code, out } = await run("demo -f unrouted.yaml");
    expect(code).toBe(1);
    expect(out).toContain(
      "  denied  pod → pod (IP): Windows → Windows, other node, TCP, UDP, ICMP, no-route\n",
    );
    expect(out).toMatch(/^ {2}\S+ +DROPPED /m);
    expect(out).toContain("npx mullion demo --full -f unrouted.yaml");
  });
});

describe("mullion hns serve", () => {
  it("serves HNS on a private socket until it is interrupted, and takes the socket away", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mullion-hns-"));
    const socket = join(folder, "hns.sock");
    const terminal = new MemoryTerminal();
    const options = {
      socket,
      listen: undefined,
      tokenFile: undefined,
      data: undefined,
      addressDelayMs: 0,
      adapters: [],
      quirks: [],
      faults: [],
    };
    const ended = serve({ profile: "ws2019", ...options }, terminal);
    while (terminal.output === "") await new Promise((resolve) => setTimeout(resolve, 5));
    expect(terminal.output).toContain(`MULLION_HNS=unix:${socket}`);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    const client = findHns({ variables: { MULLION_HNS: `unix:${socket}` } });
    expect(await client.enumerate("Network")).toEqual([]);
    await client.close();
    terminal.interrupt();
    expect(await ended).toBe(0);
    expect(existsSync(socket)).toBe(false);
    rmSync(folder, { recursive: true });
  });

  it("says which profiles there are", async () => {
    const terminal = new MemoryTerminal();
    const code = await runMullion({
      argv: ["hns", "serve", "--profile", "ws2023"],
      verbs: { hns: { serve } },
      terminal,
      version: "0",
      isDebug: false,
    });
    expect(code).toBe(2);
    expect(terminal.errors).toContain("ws2022, win11-21h2, 23h2, ws2025");
  });
});
