/**
 * The columns of the comparison: for each, one node with the real kube-proxy for Windows under Wine, one with ours as a
 * process, each on an HNS of its own, and both on one API server.
 */
import { mkdtempSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "#core/base/json.ts";
import type { WinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HttpHnsFaults } from "#hns/failures/faults/http-faults.ts";
import type { HnsFaults } from "#hns/failures/faults/fault.ts";
import { findHnsAddress } from "#contracts/hcn/http/find-hns.node.ts";
import { HttpHcnClient } from "#contracts/hcn/http/http-client.node.ts";
import { createEndpoint, createNetwork } from "#contracts/hcn/operations.ts";
import { BIN as LAUNCHERS } from "../../support/cni/plugin-process.ts";
import { Program, freePorts } from "../../live/kubernetes/processes.ts";
import { type BuiltProgram, findProgram } from "../../../tools/live-programs.ts";
import { type TestDaemon, startDaemon } from "../test-daemon.ts";
import { windowsPath } from "../windows-node.ts";

/** The nodes of the cluster. */
export const NODE = "win-1";
export const OTHER_NODE = "win-2";

const SCHEMA = { Major: 2, Minor: 0 };
const NETWORK = "cbr0";
const VNI = 4_096;
const SOURCE_VIP = "10.244.1.3";

/** Pods of this node: every column has them. */
const PODS = [4, 5, 6, 7] as const;

export interface Column {
  readonly name: string;
  readonly program: BuiltProgram;
  /** As ours is told it. */
  readonly kubernetes: string;
  readonly network: "L2Bridge" | "Overlay";
  /** Flags of both. */
  readonly flags: readonly string[];
  /** More for `mullion hns serve`. */
  readonly hns: readonly string[];
  /** Server 2019 knows no second family; and with two, versions up to 1.35 depend on which is faster. */
  readonly isIpv4Only?: boolean;
}

const OVERLAY = [`--source-vip=${SOURCE_VIP}`];
const HEALTH = ["--forward-healthcheck-vip=true", "--root-hnsendpoint-name=cbr0_ep"];

export const COLUMNS: readonly Column[] = [
  {
    name: "1.37.1 on L2Bridge",
    program: "kube-proxy-1.37.exe",
    kubernetes: "1.37",
    network: "L2Bridge",
    flags: HEALTH,
    hns: [],
  },
  {
    name: "1.37.1 on Overlay with DSR",
    program: "kube-proxy-1.37.exe",
    kubernetes: "1.37",
    network: "Overlay",
    flags: ["--enable-dsr=true", ...OVERLAY],
    hns: [],
  },
  {
    name: "1.37.1 on L2Bridge with load balancers that are modified",
    program: "kube-proxy-1.37.exe",
    kubernetes: "1.37",
    network: "L2Bridge",
    flags: ["--enable-dsr=true", ...HEALTH],
    hns: ["--profile", "ws2025", "--hns-version", "15.5"],
  },
  {
    name: "1.30.4 on L2Bridge with DSR",
    program: "kube-proxy-1.30.exe",
    kubernetes: "1.30",
    network: "L2Bridge",
    flags: ["--enable-dsr=true", "--feature-gates=WinDSR=true", ...HEALTH],
    hns: [],
    isIpv4Only: true,
  },
  {
    name: "1.30.4 on Overlay",
    program: "kube-proxy-1.30.exe",
    kubernetes: "1.30",
    network: "Overlay",
    flags: OVERLAY,
    hns: ["--profile", "ws2019"],
    isIpv4Only: true,
  },
];

/** The machine's own address: Wine has its adapters, and kube-proxy looks for the MAC of the one with the node's address. */
export function machineAddress(): { readonly address: string; readonly cidr: string } {
  for (const each of Object.values(networkInterfaces()).flat())
    if (each !== undefined && !each.internal && each.family === "IPv4" && each.cidr !== null)
      return { address: each.address, cidr: each.cidr };
  throw new Error("This machine has no network adapter with an IPv4 address; the comparison needs one.");
}

function subnet(prefix: string, gateway: string, all: string): object {
  return { IpAddressPrefix: prefix, Routes: [{ NextHop: gateway, DestinationPrefix: all }] };
}

function wayTo(DestinationPrefix: string): { readonly Type: string; readonly Settings: JsonObject } {
  const Settings = {
    DestinationPrefix,
    IsolationId: VNI,
    ProviderAddress: "10.0.0.12",
    DistributedRouterMacAddress: "00-15-5D-F2-00-02",
  };
  return { Type: "RemoteSubnetRoute", Settings };
}

async function makeNetwork(client: HcnClient, { network: type, isIpv4Only }: Column): Promise<string> {
  const isOverlay = type === "Overlay";
  const vsid = { Type: "VSID", Settings: { IsolationId: VNI } };
  const overlay = [
    { Type: "DrMacAddress", Settings: { Address: "00-15-5D-F2-00-01" } },
    wayTo("10.244.2.0/24"),
  ];
  const network = await createNetwork(client, {
    Name: NETWORK,
    Type: type,
    Policies: [
      { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
      ...(isOverlay ? overlay : []),
    ],
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          { ...subnet("10.244.1.0/24", "10.244.1.1", "0.0.0.0/0"), ...(isOverlay && { Policies: [vsid] }) },
          ...(isIpv4Only === true ? [] : [subnet("fd00:10:244:1::/64", "fd00:10:244:1::1", "::/0")]),
        ],
      },
    ],
    SchemaVersion: SCHEMA,
  });
  return network.ID ?? "";
}

async function makeNode(client: HcnClient, column: Column): Promise<void> {
  const network = await makeNetwork(client, column);
  for (const host of [2, ...PODS]) {
    await createEndpoint(client, network, {
      Name: host === 2 ? "cbr0_ep" : `pod-${host}`,
      MacAddress: `00-15-5D-00-01-0${host}`,
      IpConfigurations: [
        { IpAddress: `10.244.1.${host}`, PrefixLength: 24 },
        ...(column.isIpv4Only === true ? [] : [{ IpAddress: `fd00:10:244:1::${host}`, PrefixLength: 64 }]),
      ],
      SchemaVersion: SCHEMA,
    });
  }
}

/** One kube-proxy with its HNS. */
export interface Side {
  readonly daemon: TestDaemon;
  readonly client: HcnClient;
  readonly faults: HnsFaults;
  start(): Promise<void>;
  end(): Promise<void>;
  readonly log: string;
}

export interface Places {
  readonly prefix: WinePrefix;
  /** Of the API server of one family, and of that of both. */
  readonly kubeconfigs: { readonly one: string; readonly both: string };
}

/** What one of the two kube-proxies is. */
interface SideText {
  readonly name: string;
  readonly command: (flags: readonly string[]) => readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Where it is healthy: the port goes into load balancers, so that the two need different addresses. */
  readonly health: string;
}

async function openSide(column: Column, { name, command, variables, health }: SideText): Promise<Side> {
  const { address, cidr } = machineAddress();
  const daemon = await startDaemon("--address-delay", "0", "--adapter", `Ethernet=${cidr}`, ...column.hns);
  const client = new HttpHcnClient({ address: findHnsAddress({ variables: daemon.variables }) });
  await makeNode(client, column);
  const log = join(mkdtempSync(join(tmpdir(), "mullion-proxy-")), `${name}.log`);
  let program: Program | undefined;
  return {
    daemon,
    client,
    faults: new HttpHnsFaults(client),
    log,
    start: async () => {
      const [metrics = 0] = await freePorts(1);
      const flags = [
        `--network-name=${NETWORK}`,
        `--hostname-override=${NODE}`,
        `--bind-address=${address}`,
        "--iptables-sync-period=8s",
        "--iptables-min-sync-period=3s",
        `--healthz-bind-address=${health}`,
        `--metrics-bind-address=127.0.0.1:${metrics}`,
        "--v=4",
        ...column.flags,
      ];
      program = new Program(command(flags), log, { ...daemon.variables, ...variables });
    },
    end: async () => program?.end("SIGKILL"),
  };
}

export interface Pair {
  readonly column: Column;
  readonly real: Side;
  readonly ours: Side;
}

export async function openPair(column: Column, { prefix, kubeconfigs }: Places): Promise<Pair> {
  const kubeconfig = column.isIpv4Only === true ? kubeconfigs.one : kubeconfigs.both;
  const [port = 0] = await freePorts(1);
  const real = await openSide(column, {
    name: "real",
    command: (flags) => [
      prefix.wine,
      findProgram(column.program),
      `--kubeconfig=${windowsPath(kubeconfig)}`,
      ...flags,
    ],
    variables: prefix.variables,
    health: `127.0.0.1:${port}`,
  });
  const ours = await openSide(column, {
    name: "ours",
    command: (flags) => [
      join(LAUNCHERS, "kube-proxy"),
      `--kubeconfig=${kubeconfig}`,
      "--mullion-compat=upstream",
      `--mullion-kubernetes=${column.kubernetes}`,
      ...flags,
    ],
    variables: {},
    health: `127.0.0.2:${port}`,
  });
  return { column, real, ours };
}
