// The matrix of verify with real programs: curl, ping and datagrams from the pods' namespaces meet what verify says of each cell.
// Needs root, /dev/net/tun, iproute2, util-linux, curl, dig and ping.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { removeLeftovers } from "./leftovers.ts";

const PREFIX = "cell-";
const NAME = `${PREFIX}${process.pid}`;
let folder: string;

interface Cell {
  readonly flow: string;
  readonly from: string;
  readonly to: string;
  readonly protocol: "tcp" | "udp" | "icmp";
  readonly family?: "ipv6";
  readonly port?: number;
  readonly name?: string;
  readonly expected: string;
  readonly verdict: string;
  readonly why?: string;
}

interface KubeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly namespace: string };
    readonly spec?: { readonly clusterIPs?: readonly string[] };
    readonly status?: {
      readonly podIPs?: readonly { readonly ip: string }[];
      readonly addresses?: readonly { readonly address: string }[];
    };
  }[];
}

function mullion(...words: readonly string[]): string {
  const env = { ...process.env, XDG_RUNTIME_DIR: folder, MULLION_NAME: NAME };
  const options = { encoding: "utf8", env, maxBuffer: 100_000_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["bin/mullion.js", ...words], options);
  // verify has findings where a flow cannot be judged.
  if (status !== 0 && words[0] !== "verify") throw new Error(`${words.join(" ")}: ${stderr}`);
  return stdout;
}

const list = (...words: readonly string[]): KubeList["items"] =>
  (JSON.parse(mullion("get", ...words, "-A", "-o", "json")) as KubeList).items;

/** Sends a datagram and prints the first one that comes back. */
const DATAGRAM = `
  const [host, port] = process.argv.slice(1);
  const socket = require("node:dgram").createSocket(host.includes(":") ? "udp6" : "udp4");
  socket.on("message", (bytes) => { console.log(String(bytes)); process.exit(0); });
  socket.on("error", () => process.exit(1));
  socket.send("clientip", Number(port), host);
  setTimeout(() => process.exit(1), 4000);
`;
const WAIT_S = "4";

const DIG = ["+short", "+tries=1", `+time=${WAIT_S}`];
const NAME_ASKED = "kubernetes.default.svc.cluster.local";

function commandOf({ flow, protocol, port = 0 }: Cell, host: string): readonly string[] {
  if (protocol === "icmp") return ["ping", "-c", "1", "-W", WAIT_S, host];
  if (flow === "pod-to-cluster-dns")
    return ["dig", protocol === "udp" ? "+notcp" : "+tcp", ...DIG, `@${host}`, NAME_ASKED];
  if (protocol === "udp") return [process.execPath, "-e", DATAGRAM, host, `${port}`];
  return [
    "curl",
    "-sS",
    "-g",
    "-m",
    WAIT_S,
    `http://${host.includes(":") ? `[${host}]` : host}:${port}/clientip`,
  ];
}

interface Ran {
  readonly works: boolean;
  readonly said: string;
}

/** In the namespace of a pod, with its name servers. */
function inPod(pod: string, words: readonly string[]): Promise<Ran> {
  const space = `mullion-${NAME}_${pod.replace(/^default\//, "").replace("/", "_")}`;
  const child = spawn("ip", ["netns", "exec", space, ...words], { stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  return new Promise((resolve) => child.once("close", (code) => resolve({ works: code === 0, said })));
}

beforeAll(() => {
  removeLeftovers(`mullion-${PREFIX}`);
  folder = mkdtempSync(join(tmpdir(), "mullion-cell-"));
});
afterEach(() => void mullion("down"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Cells that are tried at a time: most of the time of each is that of starting its program. */
const TOGETHER = 6;

/** Of the host outside; that of IPv6 has the other one behind it. */
const OUTSIDE = ["203.0.113.10", "2001:db8::cb00:710a"];

/** Services and names on two drivers; two families; policies of an engine; the other drivers. */
const ALL: readonly (readonly [name: string, example: string])[] = [
  ["L2Bridge with Services and names", "mixed-services"],
  ["Overlay with Services and names", "flannel-vxlan"],
  ["L2Bridge with two families", "dual-stack"],
  ["policies of Calico", "network-policy"],
  ["Transparent", "driver-transparent"],
  ["L2Tunnel", "driver-l2tunnel"],
  ["NAT", "driver-nat"],
];

/** The other drivers on demand, `MATRIX=all`: each takes five seconds, and live-cluster.live.test.ts has them with a program each. */
const CLUSTERS = process.env["MATRIX"] === "all" ? ALL : ALL.slice(0, 3);

/** Windows' resolver asks less than the one of a real process here, which is that of Linux: as documented, that is denied. */
const WINDOWS_RESOLVER = "pod-to-service-partial-name";

describe("the matrix of verify, with real processes", () => {
  it.for(CLUSTERS)(
    "%s: it is the simulated one, and servers name the client that they saw",
    async ([, example], { annotate }) => {
      const cluster = `examples/${example}/cluster.yaml`;
      // The servers of names answer themselves.
      const real = list("pods", "-f", cluster)
        .filter(({ metadata }) => metadata.namespace !== "kube-system")
        .map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
      mullion("up", "-f", cluster, ...real.flatMap((pod) => ["--live-pod", pod]));
      const { cells } = JSON.parse(mullion("verify", "-o", "json")) as { readonly cells: readonly Cell[] };
      /** Of both families. */
      const addresses = new Map<string, readonly string[]>([
        ["external", OUTSIDE],
        ...list("nodes").map(({ metadata: { name }, status }) => {
          return [`node/${name}`, (status?.addresses ?? []).map(({ address }) => address)] as const;
        }),
        ...[...list("pods"), ...list("services")].map(({ metadata: { namespace, name }, spec, status }) => {
          const kind = status?.podIPs === undefined ? "service" : "pod";
          const own = status?.podIPs?.map(({ ip }) => ip) ?? spec?.clusterIPs ?? [];
          return [`${kind}/${namespace}/${name}`, own] as const;
        }),
      ]);
      const addressOf = (reference: string, { family }: Cell): string | undefined =>
        addresses.get(reference)?.find((each) => each.includes(":") === (family === "ipv6"));
      const isReal = (reference: string): boolean => real.includes(reference.replace("pod/", ""));
      /** Of each cell one; none is passed over unsaid. */
      const kinds = Object.groupBy(cells, (cell) => {
        if (!isReal(cell.from)) return "simulated sender";
        if (cell.flow === WINDOWS_RESOLVER && cell.expected === "denied") return "resolver of Windows";
        // It is denied when the hash chooses the sender itself: verify asks until it does.
        if (cell.flow === "pod-to-own-service" && cell.expected === "denied") return "back end by chance";
        if (cell.verdict === "not-tried" || cell.verdict === "not-judged") return cell.verdict;
        // There the question's copy alone answers: docs of verify say so. A node's TCP is the kubelet's.
        if (cell.port === 10_250 && !(cell.protocol === "tcp" && cell.to.startsWith("node/")))
          return "port of the question";
        return isReal(cell.to) || cell.to.startsWith("service/") ? "real ends" : "simulated receiver";
      });
      const tried = [...(kinds["real ends"] ?? []), ...(kinds["simulated receiver"] ?? [])];
      const wrong: string[] = [];
      const left = [...tried];
      const workers = Array.from({ length: TOGETHER }, async () => {
        for (let cell = left.shift(); cell !== undefined; cell = left.shift()) {
          const host = cell.name ?? addressOf(cell.to, cell) ?? cell.to;
          const { works, said } = await inPod(cell.from.replace("pod/", ""), commandOf(cell, host));
          const words = `${cell.flow} ${cell.protocol} ${cell.from} ${cell.to} ${host}:${cell.port ?? ""}`;
          if (cell.verdict !== "as-expected" || works !== (cell.expected === "works"))
            wrong.push(
              `${words}: ${cell.expected}, ${cell.verdict}; real: ${works ? "works" : "does not"} ${said}`,
            );
          const saw = /^\[?([\da-f.:]+?)\]?:\d+$/u.exec(said.trim())?.[1];
          const isDirect = cell.flow === "pod-to-pod-ip" && cell.protocol !== "icmp" && isReal(cell.to);
          if (works && isDirect && saw !== addressOf(cell.from, cell))
            wrong.push(`${words}: it saw ${saw ?? said}`);
        }
      });
      await Promise.all(workers);
      expect(wrong).toEqual([]);
      for (const cell of kinds["not-tried"] ?? []) expect(cell.why).toBeTruthy();
      expect(kinds["real ends"]?.length).toBeGreaterThanOrEqual(4);
      expect(kinds["simulated receiver"]?.length).toBeGreaterThanOrEqual(4);
      const counts = Object.fromEntries(Object.entries(kinds).map(([kind, those]) => [kind, those.length]));
      await annotate(JSON.stringify(counts), "counts of cells");
    },
  );
});
