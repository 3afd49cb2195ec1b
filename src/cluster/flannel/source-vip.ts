/**
 * The address that kube-proxy is told as `--source-vip` on an overlay network: the start scripts have host-local reserve
 * one of the node's own range, in the same book as the pods' (control-planes.md §1.11).
 */
import { type PluginRunner, readPrintedResult, runForOutput } from "../../cni/plugin-runner.ts";
import type { HcnClient } from "../../hcn/client.ts";
import { getNetworkByName } from "../../hcn/operations.ts";
import type { Ipv4 } from "../../net/ip.ts";
import type { NodeFiles } from "./node-files.ts";

const REQUEST_FILE = String.raw`C:\k\sourceVipRequest.json`;
const ANSWER_FILE = String.raw`C:\k\sourceVip.json`;
const CNI_VERSION = "0.2.0";
/** What the scripts give host-local for a container. */
const OWNER = "dummy";

export interface SourceVipParts {
  readonly client: HcnClient;
  readonly runner: PluginRunner;
  readonly files: NodeFiles;
  /** Of the HNS network, and of host-local's book. */
  readonly networkName: string;
  /** `CNI_PATH`. */
  readonly path: string;
}

/** host-local's first address in what it has printed. */
function addressIn(text: string): Ipv4 | undefined {
  const { ips } = readPrintedResult(text, CNI_VERSION).result;
  return ips.map(({ address }) => address.ip).find((ip): ip is Ipv4 => typeof ip === "number");
}

/**
 * Reserves the address, unless the answer of an earlier run lies on the disk, which is taken as it is.
 * @throws HcnError when HNS does not have the network; CniError when host-local refuses.
 */
export async function reserveSourceVip(parts: SourceVipParts): Promise<Ipv4 | undefined> {
  const { client, runner, files, networkName, path } = parts;
  const known = await files.read(ANSWER_FILE);
  if (known !== undefined) return addressIn(known);
  const { Ipams = [] } = await getNetworkByName(client, networkName);
  const [subnet] = Ipams.flatMap(({ Subnets = [] }) => Subnets);
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
  const env = {
    CNI_COMMAND: "ADD",
    CNI_CONTAINERID: OWNER,
    CNI_NETNS: OWNER,
    CNI_IFNAME: OWNER,
    CNI_PATH: path,
  };
  const answer = await runForOutput(runner, { type: "host-local", env, stdin: request });
  await files.write(ANSWER_FILE, answer);
  return addressIn(answer);
}
