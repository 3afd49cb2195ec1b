// Whom a trace is for: Services from outside, URLs, names, DNS servers. Text in, printed answer and exit code out.
import { beforeAll, describe, expect, it } from "vitest";
import { validateTrace } from "#test/support/cluster/report-schemas.ts";
import type { Cluster } from "#cluster/cluster.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import { type TraceRequest, tracePacket } from "#cluster/trace/trace.ts";
import { openSession } from "./cluster/open-session.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: linux-1, os: linux, address: 10.0.0.21}
pods:
  - {name: client, node: win-1}
  - {name: tux, node: linux-1}
  - {name: web, node: win-1, labels: {app: web}}
`;

function service(name: string, spec: string, status = ""): string {
  return `
---
apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec: {selector: {app: web}, ${spec}}
${status}`;
}

/** More addresses than an answer of 512 bytes holds: 16 bytes each at least. */
const MANY = Array.from({ length: 40 }, (_, index) => `198.18.0.${index + 1}`);
const HEADLESS = `
---
apiVersion: v1
kind: Service
metadata: {name: many}
spec: {clusterIP: None, ports: [{name: p, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: many-1, labels: {kubernetes.io/service-name: many}}
addressType: IPv4
ports: [{name: p, port: 80, protocol: TCP}]
endpoints: [${MANY.map((ip) => `{addresses: [${ip}]}`).join(", ")}]
`;

const SERVICES = [
  HEADLESS,
  service("api", "clusterIP: 10.96.0.20, ports: [{port: 80, targetPort: 8080}]"),
  service("door", "type: NodePort, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]"),
  service(
    "front",
    "type: LoadBalancer, ports: [{port: 80, targetPort: 8080}]",
    "status: {loadBalancer: {ingress: [{ip: 192.0.2.9}]}}",
  ),
].join("");

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

async function run(...words: readonly string[]): Promise<Answer> {
  const terminal = new MemoryTerminal({ "c.yaml": CLUSTER, "s.yaml": SERVICES });
  const argv = ["trace", "-f", "c.yaml", "-f", "s.yaml", ...words];
  const code = await runMullion({ argv, verbs: { trace }, terminal, version: "0", isDebug: false });
  return { code, text: terminal.output, errors: terminal.errors };
}

let cluster: Cluster;
beforeAll(async () => {
  const texts = { "c.yaml": CLUSTER, "s.yaml": SERVICES };
  const inputs = Object.entries(texts).map(([name, text]) => ({ name, text }));
  cluster = (await openSession(inputs)).session.cluster;
});

/** The same without a command line, in one cluster. */
function follow(from: string, to: string, options: Partial<TraceRequest> = {}): TraceReport {
  const { report } = tracePacket(cluster, { from, to, protocol: "tcp", port: undefined, ...options });
  const json = JSON.parse(JSON.stringify(report)) as TraceReport;
  expect([validateTrace(json), validateTrace.errors]).toEqual([true, null]);
  return json;
}

describe("a Service from outside", () => {
  it.each([
    ["service/front", "192.0.2.9", 80],
    // kube-proxy.md §3.9: a NodePort is served on the addresses of nodes.
    ["service/door", "10.0.0.11", 30_080],
  ] as const)("%s is asked where the outside would ask", (to, address, port) => {
    const reference = to.replace("/", "/default/");
    const report = follow("external", to);
    expect(report).toMatchObject({ verdict: "answered", port, to: { reference, address } });
    expect(report.answer).toMatch(/^web saw /);
  });

  it("a ClusterIP is out of its reach, and the answer says so", async () => {
    const { code, text } = await run("external", "service/api");
    expect(code).toBe(1);
    expect(text).toMatch(/the outside cannot reach a\s+ClusterIP\.\n/);
    expect(text).toContain("mullion explain cluster-ip-from-outside");
  });

  it("a pod still asks the ClusterIP of each", () => {
    const report = follow("pod/client", "service/door");
    expect([report.verdict, report.port]).toEqual(["answered", 80]);
    expect(report.to.address).not.toBe("10.0.0.11");
  });
});

describe("URLs and names", () => {
  it.each([
    ["http://api", 80, true],
    ["http://user:secret@api:80/orders?id=1", 80, true],
    ["api.default.svc.cluster.local", 80, true],
    ["api:80", 80, true],
    ["http://10.96.0.20/health", 80, false],
    ["10.96.0.20:80", 80, false],
  ] as const)("%s", (to, port, isResolved) => {
    const report = follow("pod/client", to);
    expect([report.verdict, report.port, report.to.address]).toEqual(["answered", port, "10.96.0.20"]);
    expect(report.resolution?.addresses).toEqual(isResolved ? ["10.96.0.20"] : undefined);
  });

  it("https means port 443, which this Service does not have", () => {
    const report = follow("pod/client", "https://api");
    expect([report.port, report.verdict]).toEqual([443, "not-delivered"]);
  });

  // windows-networking-documentation.md §6: `kubernetes` resolves in a pod, `kubernetes.default` does not.
  it("name.namespace: Windows asks for it as it is, Linux goes through the search list (ndots 5)", async () => {
    const windows = await run("pod/client", "http://api.default");
    expect(windows.code).toBe(1);
    expect(windows.text).toContain("Name: api.default, by the resolver of Windows\n");
    expect(windows.text).toContain("     A api.default. NXDOMAIN, says 10.96.0.10\n");
    expect(windows.text).toContain("a name with a dot gets no suffix on Windows: default.svc.cluster.local");
    expect(windows.text).toContain("mullion explain dns-name-with-dot-not-completed");
    const linux = await run("pod/tux", "http://api.default");
    expect(linux.code).toBe(0);
    expect(linux.text).toContain("ndots 5\n");
    expect(linux.text).toContain("     A api.default.default.svc.cluster.local. NXDOMAIN, says 10.96.0.10\n");
    expect(linux.text).toContain("     A api.default.svc.cluster.local. 10.96.0.20, says 10.96.0.10\n");
    expect(linux.text.indexOf("Name: ")).toBeLessThan(linux.text.indexOf("Forward: TCP"));
  });

  it.each([
    ["api.default", "dns"],
    ["name/api.default", "tcp"],
    ["name/api", "dns"],
  ] as const)("a lookup is no more than that: %s", (to, protocol) => {
    const report = follow("pod/tux", to, { protocol });
    expect([report.protocol, report.verdict]).toEqual(["dns", "answered"]);
    expect(report.resolution).toMatchObject({ resolver: "linux", ndots: 5, addresses: ["10.96.0.20"] });
    expect(report.forward.steps[0]?.frame).toMatch(/^UDP .* → 10\.96\.0\.10:53 /);
    expect(report.to.address).toBe("10.96.0.10");
  });

  it("the command line looks up, too", async () => {
    const { code, text } = await run("pod/client", "api", "--protocol", "dns");
    expect(code).toBe(0);
    expect(text).toMatch(/\napi is 10\.96\.0\.20\.\n$/);
  });

  it("the JSON has each question", () => {
    expect(follow("pod/client", "name/api.default")).toMatchObject({
      verdict: "not-resolved",
      code: "dns-name-with-dot-not-completed",
      resolution: {
        resolver: "windows",
        servers: ["10.96.0.10"],
        outcome: "failed",
        questions: [{ name: "api.default.", outcome: "name-error", detail: "NXDOMAIN", sent: 1 }],
        unusedSuffixes: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
      },
    });
  });

  it.each([
    ["ftp://api", /a trace follows no URL of "ftp:"/],
    ["http://api:0", /has "0" as its port/],
    ["http://", /names no host/],
    ["pod/wbe", /nothing in cluster "shop" is called "pod\/wbe"/],
    ["10.0.0.300", /nothing in cluster "shop" is called "10\.0\.0\.300"/],
    ["nobody", /nothing in cluster "shop" is called "nobody"/],
  ])("what is none is refused: %s", (to, message) => {
    expect(() => follow("pod/client", to)).toThrow(message);
  });

  it("port of a URL and --port have to agree", async () => {
    const { code, errors } = await run("pod/client", "http://api", "--port", "81");
    expect(code).toBe(2);
    expect(errors).toContain('"http://api" means port 80, and --port says 81');
  });
});

describe("a DNS server", () => {
  it.each([
    ["pod/client", "udp"],
    ["pod/tux", "udp"],
    ["pod/client", "tcp"],
    ["pod/tux", "tcp"],
  ] as const)("gets a real question: %s, %s", (from, protocol) => {
    const report = follow(from, "service/kube-system/kube-dns", { protocol, port: 53 });
    expect(report.verdict).toBe("answered");
    expect(report.answer).toMatch(/^A kubernetes\.default\.svc\.cluster\.local: N/);
  });

  // RFC 1035 §4.2.1: 512 bytes over UDP; RFC 7766 §5: a client asks again over TCP when the answer is cut.
  it.each(["pod/client", "pod/tux"])("answers whole over TCP what is too long for UDP: %s", (from) => {
    const report = follow(from, "name/many.default.svc.cluster.local");
    const { questions = [], addresses } = report.resolution ?? {};
    expect(questions.map(({ outcome, detail }) => [outcome, detail])).toContainEqual([
      "answered",
      "NOERROR, over TCP",
    ]);
    expect(addresses?.toSorted()).toEqual(MANY.toSorted());
    expect(report.reply?.steps[0]?.frame).toMatch(/^UDP /);
    const short = follow(from, "name/api.default.svc.cluster.local");
    expect(short.resolution?.questions.at(-1)?.detail).toBe("NOERROR");
  });
});

describe("a node", () => {
  // kubernetes.io/docs/reference/networking/ports-and-protocols: the kubelet's API is on TCP 10250 of each node.
  it.each([
    ["win-1", "10250", 0, /^Reply: TCP 10\.0\.0\.11:10250 /m],
    ["linux-1", "10250", 0, /^Reply: TCP 10\.0\.0\.21:10250 /m],
    ["win-1", "10251", 1, /refused|no socket|nothing listens/i],
  ])("%s, TCP %s: the kubelet alone answers", async (node, port, code, said) => {
    const answer = await run("pod/client", `node/${node}`, "--port", port);
    expect([answer.code, answer.text]).toEqual([code, expect.stringMatching(said)]);
  });
});
