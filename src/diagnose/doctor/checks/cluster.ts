/** What the objects of Kubernetes say of a node by themselves. */
import { plural } from "#core/base/text-layout.ts";
import { formatIp, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import { type KubeRecord, type NodeEvidence, addressesOfNode, networksOfType } from "../evidence.ts";
import type { ListedPod } from "../listed-objects.ts";
import { addressesOfPod, nameOfPod, podsOn } from "./endpoints.ts";
import { isDnsService } from "./front-ends.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const FLANNEL = "flannel.alpha.coreos.com/";

type NodeRecord = KubeRecord<"Node">;

function nameOf({ object }: NodeRecord): string {
  return object.metadata.name;
}

function annotationOf({ object }: NodeRecord, name: string): string | undefined {
  return object.metadata.annotations?.[`${FLANNEL}${name}`];
}

/** The other nodes on which flannel runs. */
function flannelPeers({ node }: NodeEvidence, nodes: readonly NodeRecord[]): readonly NodeRecord[] {
  return nodes.filter(
    (each) => each.object !== node?.object && annotationOf(each, "backend-type") !== undefined,
  );
}

/** Findings of conditions that say something bad. */
function* badConditions(
  { node }: NodeEvidence,
  bad: Readonly<Record<string, string>>,
  breaks: string,
): Iterable<CheckFinding> {
  const found = (node?.object.status?.conditions ?? []).filter(
    ({ type, status }) => bad[type] !== undefined && (bad[type] === "True") === (status === "True"),
  );
  for (const { type, status, reason = "", message = "" } of found.slice(0, 1))
    if (node !== undefined)
      yield {
        certainty: "certain",
        message: `node ${nameOf(node)} has the condition ${type} ${status}: ${reason || "no reason is given"}`,
        evidence: [shows(node.place, `${type} ${status}: ${message || reason || "no message"}`)],
        breaks,
      };
}

const READY = check("node-is-ready", (node) =>
  badConditions(node, { Ready: "False", NetworkUnavailable: "True" }, WORDS.breaksNotReady),
);

const RESOURCES = check("node-has-memory-and-disk", (node) =>
  badConditions(
    node,
    { MemoryPressure: "True", DiskPressure: "True", PIDPressure: "True" },
    WORDS.breaksResources,
  ),
);

const POD_WAITS = check("pods-get-addresses", function* ({ node }, { pods }) {
  const own = pods.filter(
    ({ object: { spec } }) =>
      node !== undefined && spec?.nodeName === nameOf(node) && spec.hostNetwork !== true,
  );
  const createdAt = ({ object }: KubeRecord<"Pod">): string => object.metadata.creationTimestamp ?? "";
  const served = own
    .filter(({ object: { status } }) => status?.podIP !== undefined)
    .toSorted((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1))
    .at(0);
  for (const pod of own) {
    const { status } = pod.object;
    const isWaiting = status?.phase === "Pending" && status.podIP === undefined;
    const isOlder = served !== undefined && createdAt(pod) !== "" && createdAt(pod) < createdAt(served);
    if (!isWaiting || !isOlder) continue;
    yield {
      name: nameOfPod(pod),
      certainty: "likely",
      message: WORDS.podWaitsForAddress({ pod: nameOfPod(pod) }),
      evidence: [
        shows(pod.place, `pod ${nameOfPod(pod)} of ${createdAt(pod)} is Pending`),
        shows(served.place, `pod ${nameOfPod(served)} of ${createdAt(served)} has an address`),
      ],
      breaks: `pod ${nameOfPod(pod)}, which does not start`,
    };
  }
});

/** A restart now and then is no fault: updates and reboots make some. */
const RESTARTS_MIN = 10;

const PROGRAMS = check("network-programs-stay-up", function* ({ node }, { pods }) {
  const own = pods.filter(
    ({ object: { spec } }) =>
      node !== undefined && spec?.nodeName === nameOf(node) && spec.hostNetwork === true,
  );
  for (const pod of own) {
    const statuses = pod.object.status?.containerStatuses ?? [];
    const waits = statuses.find(({ state }) => state?.waiting?.reason === "CrashLoopBackOff");
    const worst = waits ?? statuses.find(({ restartCount }) => restartCount >= RESTARTS_MIN);
    if (worst === undefined) continue;
    const says = `container ${worst.name} was restarted ${worst.restartCount} times`;
    yield {
      name: nameOfPod(pod),
      certainty: waits === undefined ? "possible" : "certain",
      message: `${nameOfPod(pod)} restarts again and again on this node`,
      evidence: [shows(pod.place, waits === undefined ? says : `${says}: CrashLoopBackOff`)],
      breaks: "what this program keeps up to date on the node",
    };
  }
});

const RANGE = check("node-has-a-range", function* (node, { nodes }) {
  const [peer] = flannelPeers(node, nodes);
  if (node.node === undefined || peer === undefined || node.node.object.spec?.podCIDR !== undefined) return;
  yield {
    certainty: "certain",
    message: WORDS.nodeWithoutRange({ node: nameOf(node.node) }),
    evidence: [
      shows(node.node.place, "spec.podCIDR is missing"),
      shows(peer.place, `flannel runs on node ${nameOf(peer)}`),
    ],
    breaks: "all pods of the node: they get no address",
  };
});

const PUBLISHED = check("flannel-publishes-the-node", function* (node, { nodes }) {
  const [peer] = flannelPeers(node, nodes);
  const own = node.node;
  if (own === undefined || peer === undefined || annotationOf(own, "backend-type") !== undefined) return;
  yield {
    certainty: "likely",
    message: `node ${nameOf(own)} has no annotation of flannel, and other nodes do`,
    evidence: [
      shows(own.place, `no annotation ${FLANNEL}backend-type`),
      shows(peer.place, `node ${nameOf(peer)}: ${annotationOf(peer, "backend-type") ?? ""}`),
    ],
    breaks: "packets of other nodes to pods of this one",
  };
});

const PUBLIC_ADDRESS = check("published-address-is-the-nodes", function* ({ node }) {
  const text = node === undefined ? undefined : annotationOf(node, "public-ip");
  if (node === undefined || text === undefined) return;
  const own = [...addressesOfNode(node), ...addressesOfNode(node, "ExternalIP")];
  const address = parseIp(text);
  const isMeant = annotationOf(node, "public-ip-overwrite") !== undefined;
  if (address === undefined || own.length === 0 || own.includes(address) || isMeant) return;
  yield {
    certainty: "likely",
    message: `flannel publishes ${text} for node ${nameOf(node)}, which has ${own.map(formatIp).join(", ")}`,
    evidence: [
      shows(node.place, `${FLANNEL}public-ip: ${text}`),
      shows(node.place, `addresses of the node: ${own.map(formatIp).join(", ")}`),
    ],
    breaks: "packets of other nodes to pods of this one",
  };
});

const BACKENDS = check("nodes-have-one-backend", (node, { nodes }) => {
  const own = node.node === undefined ? undefined : annotationOf(node.node, "backend-type");
  const others = flannelPeers(node, nodes).filter((each) => annotationOf(each, "backend-type") !== own);
  const { node: self } = node;
  if (own === undefined || self === undefined) return [];
  return others.map((other) => ({
    name: nameOf(other),
    certainty: "certain",
    message: `this node uses the backend ${own}, and ${nameOf(other)} ${annotationOf(other, "backend-type") ?? ""}`,
    evidence: [self, other].map((each) =>
      shows(each.place, `Node ${nameOf(each)}: ${annotationOf(each, "backend-type") ?? ""}`),
    ),
    breaks: `packets between pods of this node and pods of ${nameOf(other)}`,
  }));
});

/** Pods with addresses of their own that run, on any node. */
function isRunning({ object: { spec, status } }: KubeRecord<"Pod">): boolean {
  return status?.phase === "Running" && spec?.hostNetwork !== true;
}

const POD_ADDRESSES = check("pod-addresses-are-single", function* (node, cluster) {
  const isolated = networksOfType(node, "overlay");
  // Virtual networks beside each other may have the same addresses.
  if (isolated.filter(({ name }) => !/^ext/iu.test(name)).length > 1) return;
  const own = podsOn(node, cluster);
  const all = Map.groupBy(
    cluster.pods.filter(isRunning).flatMap((pod) => addressesOfPod(pod).map((address) => ({ address, pod }))),
    ({ address }) => address,
  );
  for (const pod of own) {
    for (const address of addressesOfPod(pod)) {
      const other = all.get(address)?.find((each) => each.pod.object !== pod.object)?.pod;
      if (other === undefined) continue;
      yield {
        name: formatIp(address),
        certainty: "certain",
        message: `pods ${nameOfPod(pod)} and ${nameOfPod(other)} have the address ${formatIp(address)}`,
        evidence: [pod, other].map((each) =>
          shows(each.place, `pod ${nameOfPod(each)} runs with ${formatIp(address)}`),
        ),
        breaks: `packets to ${formatIp(address)}: either of the two may get them`,
      };
    }
  }
});

const POD_RANGE = check("pod-addresses-are-in-the-range", function* (node, cluster) {
  const self = node.node;
  const ranges = self?.object.spec?.podCIDRs ?? [self?.object.spec?.podCIDR ?? ""];
  const prefixes = ranges.flatMap((text) => parsePrefix(text) ?? []);
  if (self === undefined || annotationOf(self, "backend-type") === undefined || prefixes.length === 0) return;
  for (const pod of podsOn(node, cluster)) {
    const outside = addressesOfPod(pod).find(
      (address) =>
        prefixes.some((prefix) => typeof prefix.address === typeof address) &&
        !prefixes.some((prefix) => prefixContains(prefix, address)),
    );
    if (outside === undefined) continue;
    yield {
      name: nameOfPod(pod),
      certainty: "likely",
      message: WORDS.podOutsideRange({
        pod: nameOfPod(pod),
        address: formatIp(outside),
        range: ranges.join(", "),
      }),
      evidence: [
        shows(pod.place, `pod ${nameOfPod(pod)} runs with ${formatIp(outside)}`),
        shows(self.place, `Node ${nameOf(self)} has the range ${ranges.join(", ")}`),
      ],
      breaks: `packets of other nodes to pod ${nameOfPod(pod)}`,
    };
  }
});

const DNS_PODS = check("dns-has-back-ends", function* (_, { services, slices }) {
  const dns = services.find(({ object: { metadata } }) => isDnsService(metadata));
  const own = slices.filter(
    ({ object: { metadata } }) =>
      metadata.namespace === "kube-system" &&
      metadata.labels?.[SERVICE_NAME_LABEL] === dns?.object.metadata.name,
  );
  const [slice] = own;
  const isServed = own.some(({ object: { endpoints } }) =>
    endpoints?.some(({ conditions }) => conditions?.ready !== false),
  );
  if (dns === undefined || slice === undefined || isServed) return;
  yield {
    certainty: "certain",
    message: `no back end of Service kube-system/${dns.object.metadata.name} is ready`,
    evidence: [
      shows(dns.place, `Service kube-system/${dns.object.metadata.name}`),
      shows(slice.place, `${plural(own.length, "slice")} of it, and no endpoint that is ready`),
    ],
    breaks: "names, on all nodes",
  };
});

const CONTROL_PLANE = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/** `1.31` as a number. */
function minorOf({ object }: NodeRecord): number | undefined {
  const [, minor] = /^v?1\.(\d{1,3})\./u.exec(object.status?.nodeInfo?.kubeletVersion ?? "") ?? [];
  return minor === undefined ? undefined : Number(minor);
}

const VERSIONS = check("versions-fit", function* ({ node }, { nodes }) {
  const masters = nodes.filter(({ object }) =>
    CONTROL_PLANE.some((label) => object.metadata.labels?.[label] !== undefined),
  );
  const own = node === undefined ? undefined : minorOf(node);
  const minors = masters.flatMap((each) => minorOf(each) ?? []);
  const [master] = masters;
  if (node === undefined || own === undefined || master === undefined || minors.length < masters.length)
    return;
  if (own <= Math.max(...minors)) return;
  yield {
    certainty: "likely",
    message: WORDS.kubeletNewer({ node: nameOf(node), own, minors: Math.max(...minors) }),
    evidence: [node, master].map((each) =>
      shows(each.place, `Node ${nameOf(each)}: ${each.object.status?.nodeInfo?.kubeletVersion ?? ""}`),
    ),
    breaks: WORDS.breaksKubeletNewer,
  };
});

// What kubectl printed for people, where no object says more.

const LISTED_READY = check("node-is-listed-ready", function* ({ node, row }) {
  if (node !== undefined || row === undefined || row.isReady) return;
  yield {
    certainty: "certain",
    message: `kubectl shows node ${row.name} as not ready`,
    evidence: [shows(row.place, row.says)],
    breaks: WORDS.breaksNotReady,
  };
});

function isCrashing({ status }: ListedPod): boolean {
  return status.endsWith("CrashLoopBackOff");
}

const LISTED_PROGRAMS = check("network-programs-are-listed-up", ({ node, row }, { listed }) => {
  const address = row?.address;
  if (node !== undefined || row === undefined || address === undefined) return [];
  // With the host's network a pod has its node's address: kube-proxy and agents have, workloads have not.
  const own = listed.pods.filter((pod) => pod.node === row.name && pod.address === address);
  const crashing = own.filter(isCrashing);
  const often = own.filter((pod) => !isCrashing(pod) && pod.restarts >= RESTARTS_MIN);
  return [...crashing, ...often].map((pod): CheckFinding => {
    const { name, status, restarts, place } = pod;
    return {
      name,
      certainty: isCrashing(pod) ? "certain" : "possible",
      message: `${name} restarts again and again on this node`,
      evidence: [
        shows(place, `${name} of ${formatIp(address)}: ${status}, ${restarts} restarts`),
        shows(row.place, `${row.name} has the address ${formatIp(address)}`),
      ],
      breaks: "what this program keeps up to date on the node",
    };
  });
});

export const CLUSTER_CHECKS: readonly NodeCheck[] = [
  READY,
  RESOURCES,
  PROGRAMS,
  POD_WAITS,
  RANGE,
  PUBLISHED,
  PUBLIC_ADDRESS,
  BACKENDS,
  POD_ADDRESSES,
  POD_RANGE,
  DNS_PODS,
  VERSIONS,
  LISTED_READY,
  LISTED_PROGRAMS,
];
