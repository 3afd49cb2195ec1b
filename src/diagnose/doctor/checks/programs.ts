/** What programs of the node are told, beside what HNS has; and what people tried there. */
import { listOf, mappingOf, textOf } from "#core/base/json.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { formatIp } from "#core/net/ip.ts";
import { plural } from "#core/base/text-layout.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import {
  type ConfigurationRecord,
  type LoadBalancerRecord,
  type NodeEvidence,
  addressesOfNode,
} from "../evidence.ts";
import type { LookUp } from "../host-symptoms.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const DNS_PORT = 53;

/** A value that is still to be filled in: `$network`, `{{ .name }}`, `KUBE_NETWORK`. */
const OPEN = /[${<%]|^[A-Z][A-Z0-9]*_[A-Z0-9_]+$/u;

/** An option of kube-proxy, from its flags or from its file. */
export function optionOf({ value }: ConfigurationRecord, flag: string, field: string): string {
  const text = mappingOf(value["flags"])[flag] ?? mappingOf(value["winkernel"])[field];
  const plain = typeof text === "string" || typeof text === "boolean" ? `${text}` : "";
  return OPEN.test(plain) ? "" : plain.trim();
}

function networksText({ networks }: NodeEvidence): string {
  return networks.map(({ name }) => name).join(", ");
}

const PROXY_NETWORK = check("kube-proxys-network-exists", function* (node) {
  for (const each of node.kubeProxy) {
    const name = optionOf(each, "network-name", "networkName");
    const known = node.networks.some((network) => network.name.toLowerCase() === name.toLowerCase());
    const [network] = node.networks;
    if (name === "" || known || network === undefined) continue;
    yield {
      name,
      certainty: "likely",
      message: WORDS.proxyNetworkMissing({ name }),
      evidence: [
        shows(each.place, `network name ${name}`),
        shows(network.place, `networks: ${networksText(node)}`),
      ],
      breaks: "Services on this node: kube-proxy waits for the network",
    };
  }
});

const PROXY_NAME = check("kube-proxy-goes-by-the-nodes-name", function* ({ node, host, kubeProxy }) {
  const own = node === undefined ? [] : addressesOfNode(node);
  const machine = host.interfaces.find(
    (each) => each.host !== "" && each.addresses.some((address) => own.includes(address)),
  );
  const name = node?.object.metadata.name ?? "";
  if (node === undefined || machine === undefined || machine.host.toLowerCase() === name.toLowerCase())
    return;
  for (const each of kubeProxy) {
    const flags = mappingOf(each.value["flags"]);
    // A file is not the command line, which may have the flag.
    if (Object.keys(flags).length === 0 || flags["hostname-override"] !== undefined) continue;
    yield {
      name: each.place.file,
      certainty: "likely",
      message: WORDS.proxyNameMissing({ machine: machine.host, name }),
      evidence: [
        shows(each.place, "flags of kube-proxy without --hostname-override"),
        shows(machine.place, `Windows has the name ${machine.host}`),
        shows(node.place, `Node ${name}`),
      ],
      breaks: WORDS.breaksProxyName,
    };
  }
});

/** Load balancers of cluster addresses: those of node ports have no address. */
function ofClusterAddresses({ loadBalancers }: NodeEvidence): readonly LoadBalancerRecord[] {
  return loadBalancers.filter(({ vips, ports }) => vips.length > 0 && ports !== undefined);
}

const DSR = check("direct-server-return-is-programmed", function* (node) {
  for (const each of node.kubeProxy) {
    const isWanted = /^(?:true|1)$/iu.test(optionOf(each, "enable-dsr", "enableDSR"));
    const without = ofClusterAddresses(node).filter(({ isDsr }) => !isDsr);
    const [one] = without;
    if (!isWanted || one === undefined) continue;
    yield {
      name: one.id,
      certainty: "likely",
      message: WORDS.dsrMissing({ loadBalancers: plural(without.length, "load balancer") }),
      evidence: [
        shows(each.place, "Direct Server Return is on"),
        shows(one.place, `load balancer ${one.id} without DSR`),
      ],
      breaks: "Services that count on the client's address, and blocks of ports",
    };
  }
});

/** Plugins that look their network up by the name of the configuration; others make it. */
const FINDS_NETWORK = /^(?:win-bridge|win-overlay|sdnbridge|sdnoverlay)(?:\.exe)?$/iu;

const CNI_NETWORK = check("networks-of-plugins-exist", function* (node) {
  for (const { value, place } of node.cni) {
    const name = textOf(value["name"]);
    const plugins = [value, ...listOf(value["plugins"]).map(mappingOf)];
    const isLookedUp = plugins.some(
      (plugin) =>
        FINDS_NETWORK.test(textOf(plugin["type"])) ||
        FINDS_NETWORK.test(textOf(mappingOf(plugin["delegate"])["type"])),
    );
    const [network] = node.networks;
    const known = node.networks.some((each) => each.name.toLowerCase() === name.toLowerCase());
    if (name === "" || OPEN.test(name) || !isLookedUp || known || network === undefined) continue;
    yield {
      name,
      certainty: "likely",
      message: WORDS.cniNetworkMissing({ name }),
      evidence: [shows(place, `name: ${name}`), shows(network.place, `networks: ${networksText(node)}`)],
      breaks: "pods that are to start on this node",
    };
  }
});

function serverText({ server }: LookUp): string {
  return server === undefined ? "the DNS server" : formatIp(server);
}

const NAMES = check("names-are-answered", function* ({ host }) {
  const servers = Map.groupBy(host["look-ups"], serverText);
  const other = host["look-ups"].find(({ isAnswered }) => isAnswered);
  for (const [server, asked] of servers) {
    const [first] = asked;
    // A time-out before an answer is how a new pod begins.
    if (first === undefined || asked.some(({ isAnswered }) => isAnswered)) continue;
    const isRefused = host.connections.some(
      ({ address, port, isConnected }) => address === first.server && port === DNS_PORT && !isConnected,
    );
    yield {
      name: server,
      certainty: other !== undefined || isRefused || asked.length > 1 ? "likely" : "possible",
      message: `${server} did not answer: ${plural(asked.length, "look-up")} timed out`,
      evidence: [
        shows(first.place, `a look-up at ${server} timed out`),
        ...(other === undefined ? [] : [shows(other.place, `${serverText(other)} answered`)]),
      ],
      breaks: WORDS.breaksNames,
    };
  }
});

const CONNECTIONS = check("connections-are-made", ({ host }, { services }) => {
  const reached = new Set(
    host.connections
      .filter(({ isConnected }) => isConnected)
      .map(({ address, port }) => `${address} ${port}`),
  );
  return host.connections
    .filter(({ address, port }) => !reached.has(`${address} ${port}`))
    .map(({ address, port, place }): CheckFinding => {
      const at = formatSocketAddress(address, port);
      const service = services.find(({ object: { spec } }) => spec?.clusterIP === formatIp(address));
      return {
        name: at,
        certainty: "possible",
        message: `a connection to ${at} was not made`,
        evidence: [
          shows(place, `TcpTestSucceeded False for ${at}`),
          ...(service === undefined
            ? []
            : [shows(service.place, `it is Service ${service.object.metadata.name}`)]),
        ],
        breaks: `connections to ${at}`,
      };
    });
});

export const PROGRAM_CHECKS: readonly NodeCheck[] = [CNI_NETWORK, PROXY_NETWORK, PROXY_NAME, DSR];
/** What others explain: told after their causes. */
export const SYMPTOM_CHECKS: readonly NodeCheck[] = [NAMES, CONNECTIONS];
