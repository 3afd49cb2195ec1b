/** Windows itself: its services, and the ports that it keeps. */
import { plural } from "#core/base/text-layout.ts";
import { type NodeCheck, check, shows } from "../check.ts";
import type { ClusterEvidence, NodeEvidence } from "../evidence.ts";
import type { ExcludedPorts } from "../host-ports.ts";
import type { Place } from "../place.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const SERVICES = check("services-of-windows-run", ({ host }) =>
  host["windows services"]
    .filter(({ isRunning }) => !isRunning)
    .map(({ name, place }) => ({
      certainty: "certain",
      code: name.toLowerCase() === "hns" ? "hns-service-not-running" : "windows-service-stopped",
      message: `the service ${name} of Windows is stopped`,
      evidence: [shows(place, `${name} is stopped`)],
      breaks: WORDS.breaksWithoutService({ name }),
    })),
);

/** Ports that something of the cluster asks the node for. */
interface WantedPort {
  readonly port: number;
  readonly protocol: "tcp" | "udp";
  readonly who: string;
  readonly place: Place;
}

function wantedPorts(node: NodeEvidence, { services, pods }: ClusterEvidence): readonly WantedPort[] {
  const name = node.node?.object.metadata.name;
  const nodePorts = services.flatMap(({ object: { metadata, spec }, place }) =>
    (spec?.ports ?? []).flatMap(({ nodePort, protocol }) =>
      nodePort === undefined
        ? []
        : [
            {
              port: nodePort,
              protocol: protocol === "UDP" ? "udp" : "tcp",
              who: `node port ${nodePort} of Service ${metadata.namespace}/${metadata.name}`,
              place,
            } as const,
          ],
    ),
  );
  const hostPorts = pods
    .filter(({ object: { spec } }) => name !== undefined && spec?.nodeName === name)
    .flatMap(({ object: { metadata, spec }, place }) =>
      (spec?.containers ?? []).flatMap(({ ports = [] }) =>
        ports.flatMap(({ hostPort, protocol }) =>
          hostPort === undefined
            ? []
            : [
                {
                  port: hostPort,
                  protocol: protocol === "UDP" ? "udp" : "tcp",
                  who: `hostPort ${hostPort} of pod ${metadata.namespace}/${metadata.name}`,
                  place,
                } as const,
              ],
        ),
      ),
    );
  return [...nodePorts, ...hostPorts];
}

const EXCLUDED = check("wanted-ports-are-free", function* (node, cluster) {
  const taken = (wanted: WantedPort): ExcludedPorts | undefined =>
    node.host["excluded ports"].find(
      ({ protocol, first, last, isAdministered }) =>
        protocol === wanted.protocol && first <= wanted.port && wanted.port <= last && !isAdministered,
    );
  for (const wanted of wantedPorts(node, cluster)) {
    const range = taken(wanted);
    if (range === undefined) continue;
    yield {
      name: wanted.who,
      certainty: "likely",
      message: `${wanted.who} is in the range ${range.first}–${range.last}, which Windows keeps`,
      evidence: [
        shows(range.place, `${range.protocol} ${range.first} to ${range.last} is excluded`),
        shows(wanted.place, wanted.who),
      ],
      breaks: `connections to ${wanted.who}`,
    };
  }
});

/** A load balancer without DSR and a port pool take so many ports at once (dataplane.md §3.5). */
const BLOCK = 64;
/** Fewer free blocks are few: what startNetworkDiagnostics.ps1 warns below (https://github.com/microsoft/wcnscripts). */
export const BLOCKS_MIN = 10;

/** Blocks of the dynamic range that no excluded range touches. */
export function freeBlocks(first: number, count: number, excluded: readonly ExcludedPorts[]): number {
  const taken = new Set<number>();
  for (const range of excluded)
    for (let port = Math.max(range.first, first); port <= Math.min(range.last, first + count - 1); port++)
      taken.add(Math.floor((port - first) / BLOCK));
  return Math.floor(count / BLOCK) - taken.size;
}

const BLOCKS = check("ports-are-left-for-load-balancers", function* ({ host }) {
  for (const { protocol, first, count, place } of host["dynamic ports"]) {
    const excluded = host["excluded ports"].filter((each) => each.protocol === protocol);
    const free = freeBlocks(first, count, excluded);
    const [one] = excluded;
    if (free >= BLOCKS_MIN || one === undefined) continue;
    yield {
      name: protocol,
      certainty: free <= 0 ? "certain" : "likely",
      message: `${Math.max(0, free)} blocks of ${BLOCK} ${protocol} ports are free for load balancers`,
      evidence: [
        shows(place, `${protocol} ports from ${first}, ${count} of them`),
        shows(one.place, `excluded: ${plural(excluded.length, "range")} of ${protocol} ports`),
      ],
      breaks: "Services that kube-proxy programs from now on, without DSR",
    };
  }
});

export const WINDOWS_CHECKS: readonly NodeCheck[] = [SERVICES, EXCLUDED, BLOCKS];
