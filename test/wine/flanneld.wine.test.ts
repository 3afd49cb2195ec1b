/**
 * The real flanneld for Windows, unmodified, under Wine, and ours beside it, each on an HNS and an API server of its own:
 * what they leave in HNS, in the routes, in the annotations of the Node and in subnet.env is compared after each step.
 * Wine has no PowerShell: a stand-in keeps routes (test/wine/go/powershell). Needs root: the address of the bridge's
 * endpoint has to be on an interface, as Windows would put it there.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type WinePrefix, prepareWinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import { networkInterfaces } from "node:os";
import { FlannelSide, NODE, runOurs, runReal } from "./flannel/sides.ts";
import { buildPowerShell } from "./go-programs.ts";
import { machineAddress } from "./proxy/columns.ts";
import { difference } from "./proxy/hns-state.ts";
import { WINE_DEVICES, removeLeftovers } from "../live/leftovers.ts";
import { ROOT } from "./test-daemon.ts";

const BUILD_MS = 3_600_000;
const SETTLED_MS = 120_000;
const UNCHANGED_MS = 15_000;
const QUIET_MS = 1_000;
/** How long a fault stays in force; flanneld hears of a Node at once. */
const FAULT_MS = 5_000;
const CACHE = join(ROOT, "out", "wine", "cache");
const PREFIX = "flannel.alpha.coreos.com";
/** As kubelets write: flanneld ends with a panic on a Node without annotations. */
const KUBELET = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };

type Backend = "vxlan" | "host-gw";

interface Lease {
  readonly ip: string;
  readonly mac: string;
  readonly vni?: number;
  /** Of the backend that the others do not have. */
  readonly isOther?: boolean;
}

function annotationsOf(backend: Backend, { ip, mac, vni = 4_096, isOther = false }: Lease): object {
  const isVxlan = (backend === "vxlan") !== isOther;
  return {
    [`${PREFIX}/kube-subnet-manager`]: "true",
    [`${PREFIX}/backend-type`]: isVxlan ? "vxlan" : "host-gw",
    [`${PREFIX}/backend-data`]: isVxlan ? JSON.stringify({ VNI: vni, VtepMAC: mac }) : "null",
    [`${PREFIX}/public-ip`]: ip,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Both sides, changed alike. */
class Both {
  readonly real: FlannelSide;
  readonly ours: FlannelSide;
  private readonly backend: Backend;

  constructor(backend: Backend, real: FlannelSide, ours: FlannelSide) {
    this.backend = backend;
    this.real = real;
    this.ours = ours;
  }

  async each(work: (side: FlannelSide) => Promise<unknown>): Promise<void> {
    await work(this.real);
    await work(this.ours);
  }

  /** A Node comes, gets its range of pods, and then its flanneld writes. */
  async join(name: string, lease: Lease): Promise<void> {
    await this.each((side) => side.source.create("Node", { metadata: { name, annotations: KUBELET } }));
    await this.change(name, lease);
  }

  async change(name: string, lease: Lease): Promise<void> {
    const body = { metadata: { annotations: annotationsOf(this.backend, lease) } };
    await this.each((side) => side.source.patch("Node", { namespace: "", name }, { type: "merge", body }));
  }

  async leave(name: string): Promise<void> {
    await this.each((side) => side.source.delete("Node", { namespace: "", name }));
  }

  async restart(meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await this.each((side) => side.end());
    await meanwhile();
    await this.each((side) => Promise.resolve(side.start()));
  }

  async settle(
    expected: string,
  ): Promise<{ readonly real: readonly string[]; readonly ours: readonly string[] }> {
    const end = performance.now() + SETTLED_MS;
    let before = "";
    let changed = performance.now();
    for (;;) {
      const states = { real: await this.real.state(), ours: await this.ours.state() };
      const text = JSON.stringify(states);
      const now = performance.now();
      const isThere = states.real.some((line) => line.includes(expected));
      const isEqual = JSON.stringify(states.real) === JSON.stringify(states.ours);
      if (text === before && isThere && (isEqual || now - changed > UNCHANGED_MS)) return states;
      if (now > end) return states;
      if (text !== before) changed = now;
      before = text;
      await pause(QUIET_MS);
    }
  }
}

interface Step {
  readonly name: string;
  readonly change: (both: Both) => Promise<void>;
  /** What shows in the real one's state that it has heard of it. */
  readonly until: string;
}

let prefix: WinePrefix;

beforeAll(async () => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
  buildPowerShell();
  prefix = await prepareWinePrefix(join(CACHE, "mullion", "wine-prefix"), join(ROOT, "dist", "shim"));
}, BUILD_MS);

afterAll(() => {
  execFileSync(prefix.server, ["-w"], { env: { ...process.env, ...prefix.variables }, stdio: "ignore" });
});

function adapterName(): string {
  const { address } = machineAddress();
  const [name = ""] =
    Object.entries(networkInterfaces()).find(([, all = []]) =>
      all.some((each) => each.address === address),
    ) ?? [];
  return name;
}

async function open(backend: Backend, netConf: object): Promise<Both> {
  const { address, cidr } = machineAddress();
  const settings = { netConf, address, adapter: `${adapterName()}=${cidr}` };
  const both = new Both(
    backend,
    await FlannelSide.open(settings, runReal(prefix)),
    await FlannelSide.open(settings, runOurs),
  );
  await both.each((side) => side.source.create("Node", { metadata: { name: NODE, annotations: KUBELET } }));
  await both.each((side) => Promise.resolve(side.start()));
  return both;
}

const MAC_1 = "0a:00:00:00:00:01";
const MAC_2 = "0a:00:00:00:00:02";

const STEPS: readonly Step[] = [
  { name: "takes its lease", change: () => Promise.resolve(), until: "FLANNEL_SUBNET" },
  {
    name: "two nodes join",
    change: async (both) => {
      await both.join("linux-1", { ip: "192.0.2.101", mac: MAC_1 });
      await both.join("linux-2", { ip: "192.0.2.102", mac: MAC_2 });
    },
    until: "192.0.2.102",
  },
  {
    name: "one has another MAC, and another address",
    change: async (both) => {
      await both.change("linux-1", { ip: "192.0.2.201", mac: "0a:00:00:00:00:11" });
      await both.join("linux-3", { ip: "192.0.2.103", mac: "0a:00:00:00:00:03" });
    },
    until: "192.0.2.103",
  },
  {
    name: "nodes of another backend and of another VNI",
    change: async (both) => {
      await both.join("linux-4", { ip: "192.0.2.104", mac: MAC_1, isOther: true });
      await both.join("linux-5", { ip: "192.0.2.105", mac: "0a:00:00:00:00:05", vni: 5_000 });
      await both.join("linux-6", { ip: "192.0.2.106", mac: "0a:00:00:00:00:06" });
    },
    until: "192.0.2.106",
  },
  {
    name: "one leaves",
    change: async (both) => {
      await both.leave("linux-2");
      await both.join("linux-7", { ip: "192.0.2.107", mac: "0a:00:00:00:00:07" });
    },
    until: "192.0.2.107",
  },
  {
    name: "HNS refuses to change its network for a while",
    change: async (both) => {
      const calls = { operation: "modify", kind: "Network" } as const;
      await both.each((side) => side.fault({ effect: "fail", error: "0x80070005", calls }));
      await both.join("linux-9", { ip: "192.0.2.109", mac: "0a:00:00:00:00:09" });
      await pause(FAULT_MS);
      await both.each((side) => side.clearFaults());
      await both.join("linux-10", { ip: "192.0.2.110", mac: "0a:00:00:00:00:10" });
    },
    until: "192.0.2.110",
  },
  {
    name: "it starts again, and one has left meanwhile",
    change: async (both) => {
      await both.restart(() => both.leave("linux-3"));
      await both.join("linux-8", { ip: "192.0.2.108", mac: "0a:00:00:00:00:08" });
    },
    until: "192.0.2.108",
  },
];

const VXLAN = { Type: "vxlan", VNI: 4_096, Port: 4_789 };
const HOST_GW = { Type: "host-gw", Name: "cbr0" };

describe.each([
  ["vxlan", "Overlay", VXLAN],
  ["host-gw", "L2Bridge", HOST_GW],
] as const)("flanneld: %s on %s", (backend, _network, Backend) => {
  let both: Both;
  const device = `${WINE_DEVICES}${process.pid}${backend.slice(0, 1)}`;

  beforeAll(async () => {
    // Windows gives the host the address of an endpoint that is attached to it.
    removeLeftovers(WINE_DEVICES);
    execFileSync("ip", ["link", "add", device, "type", "bridge"]);
    execFileSync("ip", ["addr", "add", "10.244.0.2/32", "dev", device]);
    execFileSync("ip", ["link", "set", device, "up"]);
    // It runs a moment later.
    while (!(device in networkInterfaces())) await pause(QUIET_MS);
    both = await open(backend, { Network: "10.244.0.0/16", Backend });
  }, BUILD_MS);

  afterAll(async () => {
    execFileSync("ip", ["link", "del", device]);
    await both.each((side) => side.close());
  });

  it.each(STEPS)(
    "$name",
    async ({ change, until }) => {
      await change(both);
      const { real, ours } = await both.settle(until);
      expect(real.join("\n")).toContain(until);
      expect(difference(real, ours)).toEqual({ onlyReal: [], onlyOurs: [] });
    },
    2 * SETTLED_MS,
  );
});
