/**
 * `node tools/files-executed.ts`: which files of `src/` one call goes through. A file counts when at least one of its
 * functions ran during the call, besides what ran as modules were loaded; V8 counts calls of functions exactly
 * (`Profiler.startPreciseCoverage`). What the call needs is made before and does not count: a network of type L2Bridge, a
 * namespace, two endpoints in namespaces as back ends. What a call does only the first time counts.
 */
import { Session } from "node:inspector/promises";
import { pathToFileURL } from "node:url";
import { defined } from "#core/base/assert.ts";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import { RunnerDelegate, InProcessRunner } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { MemoryResultCache, CniRuntime } from "#contracts/cni/runtime.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
} from "#contracts/hcn/operations.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { createHns } from "#hns/mod.ts";
import { HostLocal } from "#programs/plugins/host-local/plugin.ts";
import { MemoryLeaseStore } from "#programs/plugins/host-local/leases.ts";
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";

const SOURCES = pathToFileURL("src/").href;

const NETWORK: HostComputeNetwork = {
  Name: "cbr0",
  Type: "L2Bridge",
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.2.0/24",
          Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
};
const POLICIES = [
  { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16", "10.96.0.0/12"] } },
  { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } },
];

interface Call {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

/** A node with a network, flanneld's endpoint, and two endpoints behind load balancers. */
async function makeNode(): Promise<{
  client: HcnClient;
  network: string;
  backEnds: readonly string[];
}> {
  const { client } = createHns();
  const network = defined((await createNetwork(client, NETWORK)).ID, "a network's ID");
  await createEndpoint(client, network, {
    Name: "cbr0_ep",
    IpConfigurations: [{ IpAddress: "10.244.2.2" }],
  });
  const backEnds: string[] = [];
  for (const IpAddress of ["10.244.2.200", "10.244.2.201"]) {
    const made = await createEndpoint(client, network, { IpConfigurations: [{ IpAddress }] });
    const id = defined(made.ID, "an endpoint's ID");
    const namespace = defined((await createNamespace(client)).ID, "a namespace's ID");
    await addNamespaceEndpoint(client, namespace, id);
    backEnds.push(id);
  }
  return { client, network, backEnds };
}

/** `HcnCreateEndpoint` and `HcnCreateLoadBalancer` with documents that are those of CNI plugins and kube-proxy. */
async function hcnCalls(): Promise<readonly Call[]> {
  const { client, network, backEnds } = await makeNode();
  return [
    {
      name: "HcnCreateEndpoint",
      run: () =>
        client.create(
          "Endpoint",
          {
            Name: "pod",
            IpConfigurations: [{ IpAddress: "10.244.2.10", PrefixLength: 24 }],
            Policies: POLICIES,
            SchemaVersion: { Major: 2, Minor: 0 },
          },
          { network },
        ),
    },
    {
      name: "HcnCreateLoadBalancer",
      run: () =>
        client.create("LoadBalancer", {
          HostComputeEndpoints: backEnds,
          FrontendVIPs: ["10.96.0.10"],
          PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 8080 }],
          Flags: 1,
          SchemaVersion: { Major: 2, Minor: 0 },
        }),
    },
  ];
}

/** CNI ADD of win-bridge with host-local, all in this process; the pod's namespace is there. */
async function cniAdd(): Promise<Call> {
  const { client } = await makeNode();
  const ipam = new HostLocal({ store: new MemoryLeaseStore(), compat: "hardened" });
  const delegate = new RunnerDelegate(new InProcessRunner(new Map([["host-local", ipam]]), "win32"));
  const plugin = new WinBridge({ client, delegate, compat: "hardened" });
  const runner = new InProcessRunner(new Map<string, CniPlugin>([["win-bridge", plugin]]), "win32");
  const runtime = new CniRuntime({ runner, cache: new MemoryResultCache(), env: { CNI_PATH: "C:\\k\\cni" } });
  const list = parseNetworkList(
    JSON.stringify({
      cniVersion: "1.1.0",
      name: "cbr0",
      plugins: [
        {
          type: "win-bridge",
          apiVersion: 2,
          capabilities: { portMappings: true, dns: true },
          dns: { Nameservers: ["10.96.0.10"], Search: ["svc.cluster.local"] },
          policies: POLICIES.map((Value) => ({ Name: "EndpointPolicy", Value })),
          ipam: { type: "host-local", subnet: "10.244.2.0/24" },
        },
      ],
    }),
  );
  const netns = defined((await createNamespace(client)).ID, "a namespace's ID");
  return {
    name: "CNI ADD (win-bridge, host-local)",
    run: () => runtime.add(list, { containerId: "pod", netns, ifName: "eth0" }),
  };
}

/** Files of `src/` of which a function runs while `work` does, from `src/`, sorted. */
export async function filesExecutedBy(work: () => Promise<unknown>): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    // Counts begin anew with each look at them.
    await session.post("Profiler.takePreciseCoverage");
    await work();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const files = result.filter(
      ({ url, functions }) =>
        url.startsWith(SOURCES) &&
        functions.some(({ functionName, ranges: [range] }) => {
          const isModule = functionName === "" && range?.startOffset === 0;
          return !isModule && (range?.count ?? 0) > 0;
        }),
    );
    return files.map(({ url }) => url.slice(SOURCES.length)).toSorted();
  } finally {
    session.disconnect();
  }
}

async function main(): Promise<void> {
  for (const { name, run } of [...(await hcnCalls()), await cniAdd()]) {
    const files = await filesExecutedBy(run);
    process.stdout.write(`${name}: ${files.length} files of src/\n`);
    for (const file of files) process.stdout.write(`  ${file}\n`);
  }
}

if (process.argv[1]?.endsWith("files-executed.ts") === true) await main();
