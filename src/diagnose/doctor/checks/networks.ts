/** Networks of HNS: addresses, the switch extension, identifiers, health. */
import { listOf, mappingOf, textOf } from "#core/base/json.ts";
import { formatIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { type NodeCheck, check, shows } from "../check.ts";
import {
  type HnsRecord,
  addressesOfNode,
  flannelAddressBeside,
  managementAddressOf,
  subnetsOf,
  networksOfType,
  typeOfNetwork,
} from "../evidence.ts";
import { addressesOfPod, nameOfPod, podsOn } from "./endpoints.ts";
import { WINDOWS_VNI_MIN } from "#programs/flannel/net-conf.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const LINK_LOCAL = /^169\.254\./u;
export const VFP_EXTENSION: RegExp = /VFP/u;
/** Types whose pods depend on VFP; WinNAT does not, and a transparent network does only where it has policies. */
export const NEEDS_VFP: ReadonlySet<string> = new Set(["overlay", "l2bridge", "l2tunnel"]);
/** Types over an adapter of the machine. */
const OVER_ADAPTER: ReadonlySet<string> = new Set([...NEEDS_VFP, "transparent"]);
/** The network that installers make so that the switch exists before the first pod. */
export const EXTERNAL: RegExp = /^(?:External|ext)$/u;

const LINK_LOCAL_ADDRESS = check("management-address-is-routable", function* ({ networks }) {
  for (const each of networks) {
    const address = managementAddressOf(each);
    if (address === undefined || !LINK_LOCAL.test(formatIp(address))) continue;
    yield {
      name: each.name,
      certainty: "certain",
      message: `network ${each.name} was made while the adapter had ${formatIp(address)}`,
      evidence: [shows(each.place, `ManagementIP ${formatIp(address)} of network ${each.name}`)],
      breaks: "routes, tunnels and load balancers of the network",
    };
  }
});

const MANAGEMENT_ADDRESS = check("management-address-is-the-nodes", function* ({ node, networks }) {
  if (node === undefined) return;
  const own = addressesOfNode(node);
  const texts = own.map(formatIp).join(", ");
  // Where another network has it, this one is on a second adapter, or its file is another node's.
  const flannels = flannelAddressBeside(node);
  const isElsewhere = networks.some((each) => own.some((address) => address === managementAddressOf(each)));
  for (const each of networks) {
    const address = managementAddressOf(each);
    const type = typeOfNetwork(each).toLowerCase();
    // Where pods have a network on the node's address, a transparent one on a second adapter is a person's own.
    const isForPods = (isElsewhere ? NEEDS_VFP : OVER_ADAPTER).has(type) && !EXTERNAL.test(each.name);
    if (address === undefined || own.length === 0 || own.includes(address) || !isForPods) continue;
    // Then flannel was told another address than the kubelet: kubelet-tells-the-nodes-address.
    if (formatIp(address) === flannels || LINK_LOCAL.test(formatIp(address))) continue;
    yield {
      name: each.name,
      certainty: isElsewhere ? "possible" : "likely",
      message: `network ${each.name} has the management address ${formatIp(address)}, and the node ${texts}`,
      evidence: [
        shows(each.place, `ManagementIP ${formatIp(address)} of network ${each.name}`),
        shows(node.place, `Node ${node.object.metadata.name} has the InternalIP ${texts}`),
      ],
      breaks: "tunnels and node ports, which go by the node's address",
    };
  }
});

const REGISTERED = check("node-is-registered", function* ({ node, networks }, { nodes }) {
  // Neither by an address, nor by pods, nor by a range of pods.
  if (node !== undefined) return;
  const [made] = networks.flatMap((network) => {
    const address = managementAddressOf(network);
    return address === undefined || LINK_LOCAL.test(formatIp(address))
      ? []
      : [{ network, address: formatIp(address) }];
  });
  const [first] = nodes;
  if (made === undefined || first === undefined) return;
  const { network, address } = made;
  const names = nodes.map(({ object }) => object.metadata.name).join(", ");
  yield {
    certainty: "likely",
    message: WORDS.networkWithoutNode({ network: network.name, address }),
    evidence: [
      shows(network.place, `ManagementIP ${address} of network ${network.name}`),
      shows(first.place, `Nodes: ${names}`),
    ],
    breaks: WORDS.breaksUnregistered,
  };
});

export function extensionsOf({
  document,
  v1,
}: HnsRecord): readonly { readonly name: string; readonly isEnabled: unknown }[] {
  const lists = [v1["Extensions"], mappingOf(document["Health"])["Extensions"]];
  return lists
    .flatMap(listOf)
    .map(mappingOf)
    .map((each) => ({ name: textOf(each["Name"]), isEnabled: each["IsEnabled"] }));
}

const EXTENSION = check("vfp-extension-is-on", function* ({ networks }) {
  for (const each of networks) {
    if (!NEEDS_VFP.has(typeOfNetwork(each).toLowerCase())) continue;
    const off = extensionsOf(each).find(
      ({ name, isEnabled }) => VFP_EXTENSION.test(name) && isEnabled === false,
    );
    if (off === undefined) continue;
    yield {
      name: each.name,
      certainty: "certain",
      message: `${off.name} is disabled on the switch of network ${each.name}`,
      evidence: [shows(each.place, `${off.name}: IsEnabled False`)],
      breaks: WORDS.breaksWithoutVfp,
    };
  }
});

const IDENTIFIER_TOO_LOW = check("vni-is-one-for-windows", function* (node) {
  for (const network of networksOfType(node, "overlay"))
    for (const ipam of listOf(network.document["Ipams"]).map(mappingOf))
      for (const subnet of listOf(ipam["Subnets"]).map(mappingOf))
        for (const policy of listOf(subnet["Policies"]).map(mappingOf)) {
          const id = mappingOf(policy["Settings"])["IsolationId"];
          if (textOf(policy["Type"]) !== "VSID" || typeof id !== "number" || id >= WINDOWS_VNI_MIN) continue;
          yield {
            name: network.name,
            certainty: "certain",
            message: WORDS.identifierTooLow({ network: network.name, id, min: WINDOWS_VNI_MIN }),
            evidence: [shows(network.place, `IsolationId ${id} of a subnet of ${network.name}`)],
            breaks: "all traffic between nodes",
          };
        }
});

const NETWORK_LOST = check("a-network-for-pods-exists", function* (node, cluster) {
  const own = node.node;
  const [pod] = podsOn(node, cluster);
  const [other] = node.networks;
  const isThere = node.networks.some(
    (each) =>
      (OVER_ADAPTER.has(typeOfNetwork(each).toLowerCase()) || typeOfNetwork(each) === "") &&
      !EXTERNAL.test(each.name),
  );
  if (own === undefined || pod === undefined || other === undefined || isThere) return;
  // Pods of a NAT network have its addresses.
  const prefixes = node.networks.flatMap(subnetsOf).flatMap((text) => parsePrefix(text) ?? []);
  const addresses = addressesOfPod(pod);
  if (addresses.some((address) => prefixes.some((prefix) => prefixContains(prefix, address)))) return;
  yield {
    certainty: "likely",
    message: `HNS has no network for the pods of node ${own.object.metadata.name}`,
    evidence: [
      shows(other.place, `networks: ${node.networks.map(({ name }) => name).join(", ")}`),
      shows(pod.place, `pod ${nameOfPod(pod)} runs with ${addresses.map(formatIp).join(", ")}`),
    ],
    breaks: "all traffic of the node's pods",
  };
});

const HEALTH = check("networks-are-sound", function* ({ networks }) {
  for (const network of networks) {
    const health = mappingOf(network.v1["Health"] ?? network.document["Health"]);
    const code = health["LastErrorCode"];
    if (typeof code !== "number" || code === 0) continue;
    const text = `0x${(code >>> 0).toString(16)}`;
    yield {
      name: network.name,
      certainty: "possible",
      message: `the last error of network ${network.name} is ${text}`,
      evidence: [shows(network.place, `Health: LastErrorCode ${code}`)],
      breaks: WORDS.breaksHealth,
    };
  }
});

export const NETWORK_CHECKS: readonly NodeCheck[] = [
  NETWORK_LOST,
  LINK_LOCAL_ADDRESS,
  REGISTERED,
  MANAGEMENT_ADDRESS,
  EXTENSION,
  IDENTIFIER_TOO_LOW,
  HEALTH,
];
