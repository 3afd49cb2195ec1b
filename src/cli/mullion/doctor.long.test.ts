// Defects of builds and pairs of faults: the files of a running cluster that has them, read as a user's.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { collectedFiles } from "#test/support/doctor/collected-files.ts";
import { CALICO, type Engine, NPM, policy } from "#test/support/policy/policy-cluster.ts";
import { FAULTS, type Fault, NODE, clientOf, soundWorld } from "#test/support/doctor/broken-cluster.ts";
import {
  type SessionWorld,
  apply,
  deployment,
  openSessionWorld,
  podsOf,
  remove,
  service,
} from "#test/support/cluster/session-world.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { Prng } from "#core/base/prng.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { QuirkName } from "#core/catalogue/quirks.ts";
import type { NodeFaultName } from "#cluster/life/node-change.ts";
import {
  createEndpoint,
  listEndpoints,
  listLoadBalancers,
  modifyEndpointPolicies,
  modifyLoadBalancer,
} from "#contracts/hcn/operations.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { doctor } from "./doctor.ts";
import { processTerminal } from "./process-terminal.ts";
import { runMullion } from "./program.ts";

const DSR = "kubeProxy: { enableDSR: true }\n";
const OVERLAY = "network: { plugin: flannel, driver: Overlay }\n";

/** What happens on the node while it has a defect. */
const COURSES = {
  /** Pods go and come, HNS restarts, and more pods come. */
  async churn(world: SessionWorld) {
    const [pod] = podsOf(world, "back-");
    await remove(world, `pod/${pod?.metadata.name ?? ""}`);
    await apply(world, deployment("web", "windows", 2));
    await world.session.changeNode(NODE, { do: "restart-hns", state: "keep" });
    await apply(world, deployment("late", "windows", 2));
  },
  /** As users restart it: what is kept is up to HNS. */
  restart: (world: SessionWorld) => world.session.changeNode(NODE, { do: "restart-hns" }),
  "service goes": (world: SessionWorld) => remove(world, "service/web"),
  "late pods": (world: SessionWorld) => apply(world, deployment("late", "windows", 2)),
  /** As kube-proxy does where HNS takes changes in place (HNS 15.5). */
  async "load balancer changes"(world: SessionWorld) {
    const client = clientOf(world);
    const node = world.session.cluster.nodes.find(({ spec }) => spec.name === NODE);
    node?.hns?.setQuirk("load-balancer-update-ignored", "off");
    const [first] = await listLoadBalancers(client);
    if (first !== undefined) await modifyLoadBalancer(client, first.ID, first);
  },
  /** Somebody makes an endpoint with the address of a pod. */
  async "address twice"(world: SessionWorld) {
    const client = clientOf(world);
    const pod = podsOf(world, "web-").find(({ spec }) => spec?.nodeName === NODE);
    const own = (await listEndpoints(client)).find(
      ({ IpConfigurations = [] }) => IpConfigurations[0]?.IpAddress === pod?.status?.podIP,
    );
    await createEndpoint(client, own?.HostComputeNetwork ?? "", {
      Name: "twice",
      IpConfigurations: own?.IpConfigurations ?? [],
    });
  },
  /** A pod is kept from another one. */
  async "acl blocks"(world: SessionWorld) {
    const client = clientOf(world);
    const [own, peer] = [NODE, "linux-1"].map((node) =>
      podsOf(world, "").find(({ spec }) => spec?.nodeName === node && spec.hostNetwork !== true),
    );
    const endpoint = (await listEndpoints(client)).find(
      ({ IpConfigurations = [] }) => IpConfigurations[0]?.IpAddress === own?.status?.podIP,
    );
    const Settings = {
      Action: "Block",
      Direction: "Out",
      Priority: 200,
      RemoteAddresses: peer?.status?.podIP ?? "",
    };
    await modifyEndpointPolicies(client, endpoint?.ID ?? "", "Add", [{ Type: "ACL", Settings }]);
  },
} as const;

/** Why the files of a node show nothing of a defect. */
type Unseen =
  /** HNS refuses a call, and says so to the program that asked: its log tells (doctor.test.ts reads such lines). */
  | "refused"
  /** Objects and rules are as they should be; only packets fare otherwise. */
  | "packets"
  /** What it does is over before anybody looks, or a program has mended it. */
  | "over"
  /** It needs another build, network or machine than these: nothing strikes here. */
  | "elsewhere"
  /** The call never returns: there is nothing to collect. */
  | "hangs";

type Seen = {
  readonly code: KnowledgeCode;
  readonly course: keyof typeof COURSES;
  readonly network?: string;
  readonly open?: () => Promise<SessionWorld>;
  /** What is said of it, proved by packets, where other findings have the same code. */
  readonly says?: RegExp;
};

/** The compiler wants a row for each defect that there is. */
const DEFECTS: Readonly<Record<QuirkName, Seen | Unseen>> = {
  "duplicate-local-address": {
    code: "hns-duplicate-local-address",
    course: "address twice",
    network: OVERLAY,
  },
  "reattach-refused": "refused",
  "outbound-nat-host-bits-accepted": "elsewhere",
  "networks-lost-at-reboot": "elsewhere",
  "load-balancers-lost-at-restart": { code: "load-balancer-missing", course: "restart" },
  "load-balancers-restored-late": "over",
  "endpoints-lost-at-restart": { code: "pod-without-endpoint", course: "restart" },
  "loopback-gateway-not-reloaded": "elsewhere",
  "service-deadlock": "hangs",
  "parallel-attach-not-found": "refused",
  "stored-object-incompatible": "refused",
  "namespace-deletion-stuck": "over",
  "source-address-refused": "refused",
  "load-balancer-update-ignored": "elsewhere",
  "load-balancer-port-blocks-not-shared": "elsewhere",
  "own-node-port-unreachable": "packets",
  "front-end-stale-after-delete": "refused",
  "load-balancers-of-one-endpoint-hang": "hangs",
  "load-balancer-port-missing": { code: "load-balancer-missing", course: "churn" },
  "degraded-load-balancer-not-deleted": "elsewhere",
  "listener-blocks-front-end": "refused",
  "load-balancer-count-limit": "elsewhere",
  "services-unreachable-from-node": "packets",
  "back-ends-limited-to-64": "refused",
  "dsr-flag-ignored": "elsewhere",
  "single-nat-prefix": "refused",
  "ipv6-stack-off": "refused",
  "nat-denies-outbound": "elsewhere",
  "load-balancer-rules-stale": { code: "hns-rules-differ", course: "service goes" },
  "load-balancer-rules-doubled": { code: "hns-rules-differ", course: "churn" },
  "l2-rewrite-rules-doubled": {
    code: "hns-rules-differ",
    course: "late pods",
    open: () => openSessionWorld(readFileSync("examples/azure-l2tunnel/cluster.yaml", "utf8")),
  },
  "load-balancer-rules-missing": { code: "hns-rules-differ", course: "churn" },
  "load-balancer-rules-left-on-change": {
    code: "hns-rules-differ",
    course: "load balancer changes",
    open: () => soundWorld(DSR, "ws2025"),
  },
  "outbound-nat-rules-missing": { code: "hns-rules-differ", course: "churn" },
  "encap-route-rules-missing": { code: "hns-rules-differ", course: "churn", network: OVERLAY },
  "overlay-routes-need-a-pod": "elsewhere",
  "overlay-decap-lost-at-restart": "elsewhere",
  "network-space-removed-late": "over",
  "session-affinity-not-kept": "packets",
  "acl-without-effect": {
    code: "hns-rules-differ",
    course: "acl blocks",
    open: () => soundWorld(DSR, "ws2025"),
    says: /has the ACL Block Out 200 \(to \S+\), and its port no rule of it/u,
  },
  "client-policies-not-applied": {
    code: "hns-rules-differ",
    course: "acl blocks",
    says: /has the ACL Block Out 200 \(to \S+\), and its port no rule of it/u,
  },
  "proxy-policy-limit": "elsewhere",
  "ipv6-port-mapping-from-node": "packets",
  "overlay-nodeport-ws2022": "packets",
  "l2bridge-dsr-kb5005619": "packets",
  "outbound-icmp-dropped": "packets",
  "node-reaches-own-overlay-pods-only": "packets",
  "idle-flows-forgotten": "packets",
  "acl-change-resets-flows": "packets",
  "encap-layer-rebuilt": "over",
  "fragment-collisions": "packets",
  "large-udp-dropped": "packets",
  "nat-ports-reused": "packets",
  "nat-ports-exhausted": "packets",
  "acl-applied-late": "over",
  "load-balancer-rules-late": "over",
  "receive-coalescing-slow": "packets",
  "l2bridge-unstable": "packets",
  "vxlan-port-taken": "packets",
  "udp-port-65330-taken": "packets",
  "sockets-refused": "packets",
  "names-fail-at-first": "over",
  "encap-overhead-ignored": "packets",
  "low-virtual-subnet-silent": "elsewhere",
  "source-vip-is-network-address": {
    code: "source-vip-is-network-address",
    course: "churn",
    network: OVERLAY,
  },
  "management-address-flips": "elsewhere",
  "metadata-route-lost": "elsewhere",
  "bridge-endpoint-not-routed": "packets",
  "remote-endpoint-left-behind": "elsewhere",
  "front-end-keeps-back-ends": { code: "load-balancer-back-end-unknown", course: "churn" },
  "shared-back-ends-removed": "elsewhere",
};

/** A fault that stays: what kube-proxy logs of it, and what is told first where that log was collected. */
interface Struck {
  readonly logged: string;
  readonly first: string;
}

/** The compiler wants a row for each fault, too; of one that programs get over nothing stays. */
const NODE_FAULTS: Readonly<Record<NodeFaultName, Struck | Unseen>> = {
  "hns-away": "hangs",
  "ports-exhausted": {
    first: "load-balancer-port-already-exists",
    logged: String.raw`"ClusterIP policy creation failed" err="hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013) {\"Success\":false,\"Error\":\"The specified port already exists. \",\"ErrorCode\":2151350291}"`,
  },
  "endpoints-refused": {
    first: "error-not-found",
    logged: String.raw`"Remote endpoint creation failed" err="hcnCreateEndpoint failed in Win32: Element not found. (0x490) {\"Success\":false,\"Error\":\"Element not found. \",\"ErrorCode\":2147943568}"`,
  },
  "load-balancers-refused": {
    first: "error-not-found",
    logged: String.raw`"ClusterIP policy creation failed" err="hcnCreateLoadBalancer failed in Win32: Element not found. (0x490) {\"Success\":false,\"Error\":\"Element not found. \",\"ErrorCode\":2147943568}"`,
  },
  "next-endpoint-refused": "over",
  "next-load-balancer-refused": "over",
  "notifications-lost": "over",
};

async function reportOf(files: Readonly<Record<string, string>>): Promise<DoctorReport> {
  const terminal = new MemoryTerminal(files);
  const argv = ["doctor", "collected", "-o", "json"];
  await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return JSON.parse(terminal.output) as DoctorReport;
}

describe("a defect of Windows on one node", () => {
  const rows = Object.entries(DEFECTS).map(([name, row]) => ({ name: name as QuirkName, row }));

  it.each(rows.filter(({ row }) => row !== "hangs"))("$name", async ({ name, row }) => {
    const {
      course,
      code,
      network = DSR,
      open = () => soundWorld(network),
      says,
    } = typeof row === "string" ? { course: "churn" as const, code: undefined, says: undefined } : row;
    const world = await open();
    world.session.cluster.nodes.find(({ spec }) => spec.name === NODE)?.hns?.setQuirk(name, "on");
    await COURSES[course](world);
    await world.session.passTime(5_000);
    const { findings } = await reportOf(await collectedFiles(world, NODE));
    expect(findings[0]?.code).toBe(code);
    if (says === undefined) return;
    const own = findings.filter(({ message }) => says.test(message));
    expect(own).toMatchObject([{ code, proof: { isProved: true } }]);
  });
});

describe("a fault of HNS that a node's programs meet", () => {
  it.each(Object.entries(NODE_FAULTS).filter(([, row]) => row !== "hangs"))("%s", async (fault, row) => {
    const world = await soundWorld("");
    await world.session.changeNode(NODE, { do: "set-fault", fault: fault as NodeFaultName, isOn: true });
    const ports = "selector: { app: late }, ports: [{ port: 80, targetPort: 8080 }]";
    await apply(world, `${deployment("late", "windows", 3)}${service("late", ports)}`);
    await world.session.passTime(5_000);
    const files = await collectedFiles(world, NODE);
    const { findings } = await reportOf(files);
    // HNS and objects alone show what is missing; why tells the program that was refused.
    expect(findings[0]?.code).toBe(row === "over" ? undefined : "load-balancer-missing");
    if (typeof row === "string") return;
    expect(findings[0]?.next).toMatch(/kube-proxy's log, which says whether HNS refused it/u);
    const log = `E0101 00:00:05.000000    4120 proxier.go:1342] ${row.logged}\n`;
    const { findings: logged } = await reportOf({ ...files, "collected/kube-proxy.log": log });
    expect(logged[0]).toMatchObject({ code: row.first, certainty: "likely" });
    expect(logged[1]?.code).toBe("load-balancer-missing");
  });
});

/** What a kube-proxy logs that does its work, cut where the collector's copy ended: no line says that something is wrong. */
const CUT_LOG = [
  "I1128 01:00:00.100000    5012 server_windows.go:75] Using Kernelspace Proxier.",
  'I1128 01:00:01.200000    5012 proxier.go:1573] "Hns LoadBalancer resource created for cluster ip resources" clusterIP="10.96.0.10"',
  'I1128 01:00:02.300000    5012 proxier.go:1290] "Syncing proxy rules comp',
].join("\n");

interface Sound {
  readonly what: string;
  readonly open: () => Promise<SessionWorld>;
  /** Networks of programs come back after a reboot; those of Mullion itself are made once. */
  readonly reboots: boolean;
  /** A policy engine has ACLs on the node's endpoints; it looks at objects from time to time. */
  readonly hasAcls?: boolean;
}

function withFields(fields: string, reboots = false): Sound {
  return { what: fields === "" ? "win-bridge" : fields.trim(), open: () => soundWorld(fields), reboots };
}

/** NetworkPolicies that the engine makes ACLs of, sets of addresses among them. */
function withPolicies({ name, network, fields }: Engine): Sound {
  const rules = policy(
    `{ podSelector: { matchLabels: { app: late } }, policyTypes: [Ingress, Egress],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: web } } }], ports: [{ protocol: TCP, port: 8080 }] }],
    egress: [{ to: [{ ipBlock: { cidr: 10.244.0.0/16 } }] }] }`,
  );
  const open = async (): Promise<SessionWorld> => {
    const world = await soundWorld(`network: ${network}\n${fields}\n`);
    await apply(world, rules);
    return world;
  };
  return { what: `policies of ${name}`, open, reboots: false, hasAcls: true };
}

function ofExample(name: string, reboots: boolean, hasAcls = false): Sound {
  const text = readFileSync(`examples/${name}/cluster.yaml`, "utf8");
  return { what: `examples/${name}`, open: () => openSessionWorld(text), reboots, hasAcls };
}

/** A cluster for each program that attaches pods. */
const SOUND: readonly Sound[] = [
  withFields(""),
  withFields(DSR),
  withFields("network: { driver: Overlay }\n"),
  withFields(OVERLAY, true),
  withFields("network: { plugin: flannel, backend: host-gw }\n", true),
  withPolicies(CALICO),
  withPolicies(NPM),
  ofExample("azure-vnet", false, true),
  ofExample("azure-l2tunnel", false, true),
  ofExample("ovn-hybrid-overlay", true),
  ofExample("docker-nat", true),
];

describe.each(SOUND)("a sound node, $what", ({ open, reboots, hasAcls = false }) => {
  it("gives no finding after pods went and came, HNS restarted, and the machine, with a log that is cut", async () => {
    const world = await open();
    const node = world.session.cluster.nodes.find(({ spec }) => spec.os === "windows")?.spec.name ?? "";
    const steps: Readonly<Record<string, () => Promise<unknown>>> = {
      "scale-up": () => apply(world, deployment("late", "windows", 4)),
      "scale-down": () => apply(world, deployment("late", "windows", 1)),
      "a pod goes": () => remove(world, `pod/${podsOf(world, "late-")[0]?.metadata.name ?? ""}`),
      rollout: () => apply(world, deployment("late", "windows", 3, { ports: ["9090"] })),
      "HNS restarts": () => world.session.changeNode(node, { do: "restart-hns", state: "keep" }),
      ...(reboots && { reboot: () => world.session.changeNode(node, { do: "reboot" }) }),
    };
    for (const [name, step] of Object.entries(steps)) {
      await step();
      if (hasAcls) await world.session.passTime(60_000);
      const files = await collectedFiles(world, node);
      expect(files["collected/endpoint.txt"]?.includes('"ACL"')).toBe(hasAcls);
      const { findings, checksMade } = await reportOf({ ...files, "collected/kube-proxy.log": CUT_LOG });
      expect(findings, name).toEqual([]);
      expect(checksMade, name).toBeGreaterThan(50);
    }
  });
});

it("reads in one thread and in three, and reports the same", async () => {
  const paths = ["examples/broken-node/collected", "examples/trouble-l2bridge-dsr"];
  const outputs: string[] = [];
  for (const threads of ["1", "3"]) {
    let output = "";
    const terminal = { ...processTerminal(), stdout: (text: string) => void (output += text) };
    const argv = ["doctor", ...paths, "-o", "json", "--threads", threads];
    await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
    outputs.push(output);
  }
  expect(outputs[0]).toContain('"findings"');
  expect(outputs[1]).toBe(outputs[0]);
});

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));
const PAIRS = Number(process.env["PAIRS"] ?? 200);

function isOfOne({ code }: Fault): boolean {
  return code.startsWith("load-balancer");
}

/** Both are about the route to the one other node: what is gone has no wrong address. */
function isOfRoute({ code }: Fault): boolean {
  return code.startsWith("remote-subnet-route");
}

function pairOf(prng: Prng): readonly [Fault, Fault] {
  const first = FAULTS[prng.below(FAULTS.length)]!;
  // Where all load balancers are gone, no other fault of one shows.
  const others = FAULTS.filter(
    (each) =>
      each.code !== first.code &&
      !(isOfRoute(each) && isOfRoute(first)) &&
      !(each.isOfAll !== first.isOfAll && isOfOne(each) && isOfOne(first)),
  );
  return [first, others[prng.below(others.length)]!];
}

describe(`two faults at once, replay: SEED=${seed} npm run test:long -- cli/mullion/doctor`, () => {
  it(`both causes and no third, ${PAIRS} times`, { timeout: 1_200_000 }, async () => {
    const prng = new Prng(seed);
    const told = { certain: 0, likely: 0, possible: 0 };
    const right = { certain: 0, likely: 0, possible: 0 };
    for (let each = 0; each < PAIRS; each++) {
      const pair = pairOf(prng);
      const what = pair.map(({ name }) => name).join(" and ");
      const world = await soundWorld(
        pair.map(({ network = "" }) => network).find((text) => text !== "") ?? "",
      );
      for (const { breakIt } of pair) await breakIt(world, clientOf(world));
      const { findings } = await reportOf(
        await collectedFiles(world, NODE, { dialect: prng.below(2) === 0 ? "v1" : "v2" }),
      );
      const wanted = pair.flatMap(({ code, follows = [] }) => [code, ...follows]);
      expect(
        findings.map(({ code }) => code),
        what,
      ).toEqual(expect.arrayContaining(pair.map(({ code }) => code)));
      expect(
        findings.filter(({ code }) => !wanted.includes(code)),
        what,
      ).toEqual([]);
      for (const { code, certainty } of findings) {
        told[certainty]++;
        if (wanted.includes(code)) right[certainty]++;
      }
    }
    process.stdout.write(`right, of those told: ${JSON.stringify({ right, told })}\n`);
    expect(right.certain).toBeGreaterThanOrEqual(told.certain * 0.95);
    expect(right.likely).toBeGreaterThanOrEqual(told.likely * 0.8);
    // A share of none says nothing.
    expect(Math.min(told.certain, told.likely)).toBeGreaterThan(PAIRS / 10);
  });
});
