/** Windows itself: its registry, its updates, and how HNS fares. */
import { type WindowsBuild, hasUpdate, parseProfile } from "#core/catalogue/profiles.ts";
import { concernsBuild } from "#core/catalogue/quirks.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type NodeCheck, check, shows } from "../check.ts";
import { hasOverlay } from "./underlay.ts";

/** Values of the registry with which the network of a node does not work. */
const REGISTRY: readonly {
  readonly id: string;
  readonly name: string;
  readonly isBad: (value: number) => boolean;
  readonly breaks: string;
}[] = [
  {
    id: "ipv6-is-on",
    name: "DisabledComponents",
    isBad: (value) => (value & 0xff) === 0xff,
    breaks: "containers: HNS attaches none to a network",
  },
  {
    id: "load-balancers-can-be-deleted",
    name: "140377743",
    isBad: (value) => value === 1,
    breaks: "Services that change: rules of old load balancers stay",
  },
];

const REGISTRY_CHECKS: readonly NodeCheck[] = REGISTRY.map(({ id, name, isBad, breaks }) =>
  check(id, ({ host: { registry } }) =>
    registry
      .filter((each) => each.name.toLowerCase() === name.toLowerCase() && isBad(each.value))
      .map(({ key, value, place }) => ({
        name: key,
        certainty: "certain",
        message: `the registry value ${name} is 0x${value.toString(16)}`,
        evidence: [shows(place, `${key}: ${name} = 0x${value.toString(16)}`)],
        breaks,
      })),
  ),
);

/** Builds whose network has a defect that an update mends. */
const UPDATES: readonly {
  readonly code: KnowledgeCode;
  readonly concerns: (build: WindowsBuild) => boolean;
  readonly kb: string;
}[] = [
  {
    code: "overlay-needs-windows-update",
    concerns: (build) => build.profile.name === "ws2019" && !hasUpdate(build, "KB4489899"),
    kb: "KB4489899",
  },
  {
    code: "windows-update-drops-overlay-rules",
    concerns: (build) => concernsBuild("overlay-decap-lost-at-restart", build),
    kb: "KB4577668",
  },
];

const VERSION = check("windows-has-its-updates", function* (node) {
  if (!hasOverlay(node)) return;
  const installed = new Set(node.host.versions.flatMap(({ update }) => update ?? []));
  for (const { build: text, place } of node.host.versions) {
    // Without a revision the updates are not known.
    const build = text?.includes(".") === true && !text.endsWith(".0") ? parseProfile(text) : undefined;
    if (build === undefined) continue;
    for (const { code, kb, concerns } of UPDATES) {
      if (!concerns(build) || installed.has(kb)) continue;
      yield {
        code,
        certainty: "likely",
        message: `build ${text ?? ""} lacks ${kb}, which overlay networks need`,
        evidence: [shows(place, `build ${text ?? ""}`)],
        breaks: "packets between pods of different nodes",
      };
    }
  }
});

/** What networkhealth.ps1 calls too many (https://github.com/microsoft/SDN). */
export const THREADS_MAX = 200;
const BLOCKS_MIN = 10;

const THREADS = check("hns-does-not-hang", ({ host }) =>
  host["node health"]
    .filter(({ hnsThreads }) => hnsThreads > THREADS_MAX)
    .map(({ hnsThreads, place }) => ({
      certainty: "likely",
      message: `HNS has ${hnsThreads} threads: they wait for each other`,
      evidence: [shows(place, `${hnsThreads} threads, more than ${THREADS_MAX}`)],
      breaks: "pods that start and Services that change",
    })),
);

const HEALTH_BLOCKS = check("blocks-of-ports-are-free", function* ({ host }) {
  for (const { freeBlocks, place } of host["node health"]) {
    for (const protocol of ["tcp", "udp"] as const) {
      const free = freeBlocks[protocol];
      if (free === undefined || free > BLOCKS_MIN) continue;
      yield {
        name: protocol,
        certainty: free === 0 ? "certain" : "likely",
        message: `${free} blocks of ${protocol} ports are free`,
        evidence: [shows(place, `${free} free blocks of ${protocol} ports`)],
        breaks: "Services that kube-proxy programs from now on, without DSR",
      };
    }
  }
});

export const SYSTEM_CHECKS: readonly NodeCheck[] = [...REGISTRY_CHECKS, VERSION, THREADS, HEALTH_BLOCKS];
