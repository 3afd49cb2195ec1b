/** What endpoints are told: exceptions, DNS, compartments, and which objects they name. */
import { listOf, mappingOf, textOf } from "#core/base/json.ts";
import { type Ip, formatIp, parseIp, parsePrefix, prefixContains, familyOf } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { type CheckFinding, type NodeCheck, type TwinChange, check, shows } from "../check.ts";
import { type EndpointRecord, type HnsRecord, type NodeEvidence, policiesOf } from "../evidence.ts";
import { addressesOfPod, nameOfPod, podsOn } from "./endpoints.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** The exceptions of an endpoint's OutBoundNAT. */
function exceptionsOf(endpoint: EndpointRecord): readonly string[] {
  return policiesOf(endpoint, "OutBoundNAT").flatMap((policy) =>
    listOf(policy["Exceptions"] ?? policy["ExceptionList"]).map(textOf),
  );
}

const EXCEPTIONS = check("exceptions-hold-pods", function* (node, { pods }) {
  const others = pods.filter(
    ({ object: { spec, status } }) =>
      spec?.nodeName !== node.node?.object.metadata.name &&
      spec?.hostNetwork !== true &&
      status?.phase === "Running",
  );
  for (const each of node.endpoints) {
    const texts = exceptionsOf(each);
    const prefixes = texts.flatMap((text) => parsePrefix(text) ?? []);
    if (each.isRemote || prefixes.length === 0 || node.node === undefined) continue;
    const isMissed = (address: Ip): boolean =>
      familyOf(address) === 4 && !prefixes.some((prefix) => prefixContains(prefix, address));
    const peer = others.find((pod) => addressesOfPod(pod).some(isMissed));
    if (peer === undefined) continue;
    const [from, to] = [each.addresses.at(0), addressesOfPod(peer).find(isMissed)];
    const address = addressesOfPod(peer).map(formatIp).join(", ");
    yield {
      name: each.addresses.map(formatIp).join(", "),
      certainty: "likely",
      message: WORDS.exceptionsWithoutPod({
        address: each.addresses.map(formatIp).join(", "),
        peer: address,
      }),
      evidence: [
        shows(each.place, `OutBoundNAT of endpoint ${each.name}, but for ${texts.join(", ")}`),
        shows(peer.place, `pod ${nameOfPod(peer)} has ${address}`),
      ],
      breaks: WORDS.breaksExceptions,
      ...(from !== undefined &&
        to !== undefined && {
          twin: { change: "wrong-exceptions", address: from, peer: to, exceptions: texts },
        }),
    };
  }
});

/** Where NodeLocal DNS listens. */
const NODE_LOCAL_DNS = parseIp("169.254.20.10");

function dnsOf({ document, v1 }: EndpointRecord): {
  readonly servers: readonly string[];
  readonly search: string;
} {
  const dns = mappingOf(document["Dns"]);
  const servers = listOf(dns["ServerList"]).map(textOf);
  const search = listOf(dns["Search"]).map(textOf);
  return {
    servers: servers.length > 0 ? servers : textOf(v1["DNSServerList"]).split(","),
    search: [...search, textOf(dns["Domain"]), textOf(v1["DNSSuffix"])].join(","),
  };
}

/** Pods that ask the cluster's DNS, each with its endpoint. */
function askingPods(node: NodeEvidence, cluster: Parameters<NodeCheck["find"]>[1]) {
  const byAddress = new Map(
    node.endpoints
      .filter(({ isRemote }) => !isRemote)
      .flatMap((each) => each.addresses.map((address) => [address, each] as const)),
  );
  return podsOn(node, cluster).flatMap((pod) => {
    const endpoint = addressesOfPod(pod)
      .flatMap((address) => byAddress.get(address) ?? [])
      .at(0);
    const policy = pod.object.spec?.dnsPolicy ?? "ClusterFirst";
    return endpoint === undefined || policy !== "ClusterFirst" ? [] : [{ pod, endpoint }];
  });
}

function namesInTwin(
  { addresses: [address] }: EndpointRecord,
  names: Pick<Extract<TwinChange, { change: "other-names" }>, "servers" | "search">,
): Pick<CheckFinding, "twin"> {
  return address === undefined ? {} : { twin: { change: "other-names", address, ...names } };
}

const DNS_SERVERS = check("endpoints-ask-the-clusters-dns", function* (node, cluster) {
  const dns = cluster.services.find(
    ({ object: { metadata } }) => metadata.labels?.["k8s-app"] === "kube-dns",
  );
  const own = dns?.object.spec?.clusterIPs ?? [dns?.object.spec?.clusterIP ?? ""];
  const known = new Set([...own.map(parseIp), NODE_LOCAL_DNS]);
  if (dns === undefined) return;
  for (const { pod, endpoint } of askingPods(node, cluster)) {
    const servers = dnsOf(endpoint).servers.flatMap((text) => parseIp(text.trim()) ?? []);
    if (servers.length === 0 || servers.some((server) => known.has(server))) continue;
    const texts = servers.map(formatIp).join(", ");
    yield {
      name: nameOfPod(pod),
      certainty: "likely",
      message: WORDS.dnsServers({ pod: nameOfPod(pod), texts, own: own.join(", ") }),
      evidence: [
        shows(endpoint.place, `endpoint ${endpoint.name} has the DNS servers ${texts}`),
        shows(dns.place, `Service ${dns.object.metadata.name} has ${own.join(", ")}`),
      ],
      breaks: `names of Services in pod ${nameOfPod(pod)}`,
      ...namesInTwin(endpoint, { servers }),
    };
  }
});

const DNS_SUFFIX = check("endpoints-complete-names", function* (node, cluster) {
  for (const { pod, endpoint } of askingPods(node, cluster)) {
    const { search } = dnsOf(endpoint);
    const wanted = `${pod.object.metadata.namespace}.svc.`;
    if (search.replaceAll(",", "") === "" || search.includes(wanted)) continue;
    yield {
      name: nameOfPod(pod),
      certainty: "likely",
      message: WORDS.dnsSuffix({ pod: nameOfPod(pod) }),
      evidence: [
        shows(endpoint.place, `endpoint ${endpoint.name} has the suffixes ${search}`),
        shows(pod.place, `pod ${nameOfPod(pod)} wants ${wanted}…`),
      ],
      breaks: `short names of Services in pod ${nameOfPod(pod)}`,
      ...namesInTwin(endpoint, { search: search.split(",").filter((each) => each !== "") }),
    };
  }
});

const MACS = check("macs-are-single", function* ({ endpoints }) {
  const known = new Map<string, EndpointRecord>();
  for (const each of endpoints) {
    const mac = parseMac(textOf(each.document["MacAddress"]));
    if (each.isRemote || mac === undefined || each.addresses.length === 0) continue;
    const key = `${each.network} ${mac}`;
    const other = known.get(key);
    if (other === undefined) known.set(key, each);
    if (other === undefined || other.id === each.id) continue;
    const text = textOf(each.document["MacAddress"]);
    yield {
      name: text,
      certainty: "likely",
      message: `two local endpoints of a network have the MAC address ${text}`,
      evidence: [other, each].map((one) =>
        shows(
          one.place,
          `endpoint ${one.name || one.id} (${one.addresses.map(formatIp).join(", ")}): ${text}`,
        ),
      ),
      breaks: WORDS.breaksMacs,
    };
  }
});

/** References from endpoints to objects that a list does not have. */
function* withoutTarget(
  endpoints: readonly EndpointRecord[],
  targets: readonly HnsRecord[],
  what: "network" | "namespace",
): Iterable<CheckFinding> {
  const known = new Set(targets.map(({ id }) => id.toLowerCase()));
  const [target] = targets;
  for (const each of endpoints) {
    const id = what === "network" ? each.network : textOf(each.document["HostComputeNamespace"]);
    const isNone = id === "" || /^[0-]+$/u.test(id);
    if (each.isRemote || isNone || known.has(id.toLowerCase()) || target === undefined) continue;
    yield {
      name: each.name || each.id,
      certainty: "likely",
      message: `endpoint ${each.name || each.id} is of ${what} ${id}, which HNS does not list`,
      evidence: [
        shows(each.place, `endpoint of ${each.addresses.map(formatIp).join(", ")}: ${what} ${id}`),
        shows(target.place, `${targets.length} of kind ${what}, and not this one`),
      ],
      breaks: `all traffic of ${each.addresses.map(formatIp).join(", ")}`,
    };
  }
}

const NETWORKS_EXIST = check("endpoints-have-networks", ({ endpoints, networks }) =>
  withoutTarget(endpoints, networks, "network"),
);

const NAMESPACES_EXIST = check("endpoints-have-namespaces", ({ endpoints, namespaces }) =>
  withoutTarget(endpoints, namespaces, "namespace"),
);

function compartmentOf({ document, v1 }: HnsRecord): number | undefined {
  const id = v1["CompartmentId"] ?? document["CompartmentId"] ?? document["NamespaceId"];
  return typeof id === "number" ? id : undefined;
}

/** Where the endpoint's adapter is; HNS writes the name of the field in two ways. */
function compartmentOfEndpoint({ v1 }: EndpointRecord): number | undefined {
  return listOf(mappingOf(v1["Resources"])["Allocators"])
    .map(mappingOf)
    .flatMap((each) => [each["CompartmendId"], each["CompartmentId"]])
    .find((id): id is number => typeof id === "number" && id > 0);
}

const COMPARTMENTS = check("compartments-agree", function* ({ endpoints, namespaces }) {
  for (const each of endpoints) {
    const id = textOf(each.document["HostComputeNamespace"]).toLowerCase();
    const namespace = namespaces.find((one) => one.id.toLowerCase() === id);
    const [own, wanted] = [compartmentOfEndpoint(each), namespace && compartmentOf(namespace)];
    if (namespace === undefined || own === undefined || wanted === undefined || own === wanted) continue;
    const address = each.addresses.map(formatIp).join(", ");
    yield {
      name: address,
      certainty: "certain",
      message: WORDS.compartmentsDiffer({ address, own, wanted }),
      evidence: [
        shows(each.place, `endpoint ${each.name}: compartment ${own}`),
        shows(namespace.place, `namespace ${namespace.id}: compartment ${wanted}`),
      ],
      breaks: `all traffic of ${address}`,
    };
  }
});

const COMPARTMENTS_EXIST = check("compartments-exist", function* ({ namespaces, host: { compartments } }) {
  const known = new Set(compartments.map(({ id }) => id));
  const [first] = compartments;
  for (const each of namespaces) {
    const id = compartmentOf(each);
    if (id === undefined || id === 0 || known.has(id) || first === undefined) continue;
    yield {
      name: each.id,
      certainty: "likely",
      message: `namespace ${each.id} is compartment ${id}, which Windows does not have`,
      evidence: [
        shows(each.place, `namespace ${each.id}: compartment ${id}`),
        shows(first.place, `compartments ${compartments.map((one) => one.id).join(", ")}`),
      ],
      breaks: "all traffic of the pod in that namespace",
    };
  }
});

export const POLICY_CHECKS: readonly NodeCheck[] = [
  EXCEPTIONS,
  DNS_SERVERS,
  DNS_SUFFIX,
  MACS,
  NETWORKS_EXIST,
  NAMESPACES_EXIST,
  COMPARTMENTS,
  COMPARTMENTS_EXIST,
];
