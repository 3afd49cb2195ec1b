/** What the scripts that bring a node up have done: the network that they make first, and the kubelet's address. */
import { formatIp, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import {
  type NodeEvidence,
  addressesOfNode,
  flannelAddressBeside,
  managementAddressOf,
} from "../evidence.ts";
import { EXTERNAL } from "./networks.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const REQUESTS = check("scripts-made-their-network", function* ({ host, networks }) {
  const requests = host["network requests"];
  for (const [index, { name, refusal, place }] of requests.entries()) {
    const isMadeLater = requests
      .slice(index + 1)
      .some((each) => each.name === name && each.refusal === undefined);
    const isThere = networks.some((network) => network.name.toLowerCase() === name.toLowerCase());
    if (refusal === undefined || isMadeLater || isThere || !EXTERNAL.test(name)) continue;
    const [first] = networks;
    const others = networks.map((network) => network.name).join(", ");
    yield {
      name,
      certainty: "likely",
      message: `HNS refused the network ${name}: ${refusal.replace(/\.$/u, "")}`,
      evidence: [
        shows(place, `a script asked HNS for the network ${name}, and got: ${refusal}`),
        ...(first === undefined ? [] : [shows(first.place, `networks: ${others}`)]),
      ],
      breaks: WORDS.breaksExternal,
    };
  }
});

/** What the kubelet was told, where a file shows it. */
function toldOf({ host }: NodeEvidence): CheckFinding["evidence"] {
  const told = host["kubelet addresses"].at(-1);
  if (told === undefined) return [];
  return [shows(told.place, `kubelet was started with --node-ip=${told.nodeIp}`)];
}

function* amongItsPods(evidence: NodeEvidence): Generator<CheckFinding> {
  const { node } = evidence;
  const range = parsePrefix(node?.object.spec?.podCIDR ?? "");
  if (node === undefined || range === undefined) return;
  const inside = addressesOfNode(node).find((address) => prefixContains(range, address));
  if (inside === undefined) return;
  const { name, annotations = {} } = node.object.metadata;
  // Only flannel's annotation shows that the range is in use; plugins of clouds leave it alone.
  const isInUse = annotations["flannel.alpha.coreos.com/backend-type"] !== undefined;
  yield {
    certainty: isInUse ? "certain" : "possible",
    message: WORDS.nodeAddressOfPods({ address: formatIp(inside), range: node.object.spec?.podCIDR ?? "" }),
    evidence: [
      shows(
        node.place,
        WORDS.nodeWithRange({ name, address: formatIp(inside), range: node.object.spec?.podCIDR ?? "" }),
      ),
      ...toldOf(evidence),
    ],
    breaks: WORDS.breaksKubeletAddress,
  };
}

function* besideFlannel(evidence: NodeEvidence): Generator<CheckFinding> {
  const { node, networks, host } = evidence;
  const address = flannelAddressBeside(node);
  if (node === undefined || address === undefined) return;
  const ip = parseIp(address);
  const made = networks.find((each) => !EXTERNAL.test(each.name) && managementAddressOf(each) === ip);
  const adapter = host.interfaces.find(({ addresses }) => addresses.some((each) => each === ip));
  const own = addressesOfNode(node).map(formatIp).join(", ");
  // Two that agree against the kubelet: who is right is plain.
  if (ip === undefined || made === undefined || own === "") return;
  yield {
    certainty: "likely",
    message: WORDS.nodeAddressOfOther({ own, address }),
    evidence: [
      shows(node.place, WORDS.nodeBesideFlannel({ name: node.object.metadata.name, own, address })),
      shows(made.place, `ManagementIP ${address} of network ${made.name}`),
      ...(adapter === undefined ? [] : [shows(adapter.place, `${adapter.heading} has ${address}`)]),
      ...toldOf(evidence),
    ],
    breaks: WORDS.breaksKubeletAddress,
  };
}

const KUBELET_ADDRESS = check("kubelet-tells-the-nodes-address", (evidence) => {
  const inside = [...amongItsPods(evidence)];
  return inside.length > 0 ? inside : besideFlannel(evidence);
});

export const BRING_UP_CHECKS: readonly NodeCheck[] = [REQUESTS, KUBELET_ADDRESS];
