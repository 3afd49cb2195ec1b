/**
 * The address that kube-proxy is told as `--source-vip` on an overlay network: the start scripts have host-local reserve
 * one of the node's own range, in the same book as the pods' (control-planes.md §1.11).
 */
import type { PluginMode } from "#contracts/cni/plugin.ts";
import { type PluginRunner, readPrintedResult, runForOutput } from "#contracts/cni/plugin-runner.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import { type Ipv4, parsePrefix, prefixContains } from "#core/net/ip.ts";
import type { NodeFiles } from "./node-files.ts";

const REQUEST_FILE = String.raw`C:\k\sourceVipRequest.json`;
const ANSWER_FILE = String.raw`C:\k\sourceVip.json`;
const CNI_VERSION = "0.2.0";
/** What the scripts give host-local for a container. */
const OWNER = "dummy";

export interface SourceVipParts extends PluginMode {
  readonly client: HcnClient;
  readonly runner: PluginRunner;
  readonly files: NodeFiles;
  /** Of the HNS network, and of host-local's book. */
  readonly networkName: string;
  /** `CNI_PATH`. */
  readonly path: string;
}

function environmentFor(command: "ADD" | "DEL", path: string): Readonly<Record<string, string>> {
  return {
    CNI_COMMAND: command,
    CNI_CONTAINERID: OWNER,
    CNI_NETNS: OWNER,
    CNI_IFNAME: OWNER,
    CNI_PATH: path,
  };
}

/** host-local's first address in what it has printed. */
function addressIn(text: string): Ipv4 | undefined {
  const { ips } = readPrintedResult(text, CNI_VERSION).result;
  return ips.map(({ address }) => address.ip).find((ip): ip is Ipv4 => typeof ip === "number");
}

/**
 * Reserves the address, unless the answer of an earlier run lies on the disk, which upstream takes as it is. An
 * address of another range, from before the node joined again (control-planes.md §1.10), is given back in `hardened`.
 * @throws HcnError when HNS does not have the network; CniError when host-local refuses.
 */
export async function reserveSourceVip(parts: SourceVipParts): Promise<Ipv4 | undefined> {
  const { client, runner, files, networkName, path, compat } = parts;
  const known = await files.read(ANSWER_FILE);
  const address = known === undefined ? undefined : addressIn(known);
  if (known !== undefined && compat === "upstream") return address;
  const { Ipams = [] } = await getNetworkByName(client, networkName);
  const [subnet] = Ipams.flatMap(({ Subnets = [] }) => Subnets);
  if (address !== undefined) {
    const range = parsePrefix(subnet?.IpAddressPrefix ?? "");
    if (range !== undefined && prefixContains(range, address)) return address;
    const stale = await files.read(REQUEST_FILE);
    if (stale !== undefined)
      await runForOutput(runner, { type: "host-local", env: environmentFor("DEL", path), stdin: stale });
  }
  const request = JSON.stringify({
    cniVersion: CNI_VERSION,
    name: networkName,
    ipam: {
      type: "host-local",
      ranges: [[{ subnet: subnet?.IpAddressPrefix ?? "" }]],
      dataDir: "/var/lib/cni/networks",
    },
  });
  await files.write(REQUEST_FILE, request);
  const env = environmentFor("ADD", path);
  const answer = await runForOutput(runner, { type: "host-local", env, stdin: request });
  await files.write(ANSWER_FILE, answer);
  return addressIn(answer);
}
