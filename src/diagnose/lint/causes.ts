/**
 * Which findings have one cause. One wrong number shows at many objects and to several rules; a reader wants to hear of
 * it once. Two tables say what follows from what; nothing here knows a rule otherwise.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { LintFinding } from "./report/report.ts";

/** A finding and the document that it is about. */
export interface Sighting {
  readonly finding: LintFinding;
  /** Its number among all; absent for files that could not be read. */
  readonly document?: number;
  /** Of a Service whose findings may follow from its pods: the documents of those. */
  readonly pods?: readonly number[];
}

type Nearness = "cluster" | "document" | "place" | "pod of the Service";
type IsNear = (one: Sighting, other: Sighting) => boolean;

/** How two findings of one cluster are near each other. */
const NEARNESS: Readonly<Record<Nearness, IsNear>> = {
  cluster: () => true,
  document: (one, other) => one.document !== undefined && one.document === other.document,
  place: ({ finding: one }, { finding: other }) =>
    one.file === other.file && one.line === other.line && one.column === other.column,
  // The first is about a Service, the second about a pod behind it.
  "pod of the Service": ({ pods = [] }, { document }) => document !== undefined && pods.includes(document),
};

/** Findings of one code that one edit, or one update, ends together. */
interface OneCause {
  readonly code: KnowledgeCode;
  readonly within: Nearness;
  /** The first group of it in the message is the same for findings of one cause. Absent: all of them are. */
  readonly key?: RegExp;
}

export const ONE_CAUSE: readonly OneCause[] = [
  // A value of flannel, or of the cluster file, that each node repeats.
  { code: "vxlan-identifiers-differ", within: "cluster", key: /VNI (\d+)/ },
  { code: "pod-range-holds-node", within: "cluster", key: /(range of pods .*)/ },
  { code: "service-range-holds-node", within: "cluster", key: /(range of Services .*)/ },
  { code: "cluster-file-invalid-value", within: "document", key: /(host address of the underlay, .*)/ },
  { code: "cluster-file-invalid-value", within: "document", key: /(there is no node "[^"]*")/ },
  // One range that several nodes have: each node is told once.
  { code: "node-ranges-overlap", within: "place" },
  // A build of Windows that several nodes run, or that takes something from all Services.
  { code: "windows-build-unsupported", within: "cluster", key: /build (\S+)/ },
  { code: "windows-update-denies-sockets", within: "cluster", key: /build (\S+)/ },
  { code: "windows-update-drops-overlay-rules", within: "cluster", key: /build (\S+)/ },
  { code: "overlay-needs-windows-update", within: "cluster", key: /build (\S+)/ },
  { code: "external-traffic-policy-local-without-dsr", within: "cluster" },
  // One switch of kube-proxy.
  { code: "l2bridge-broken-with-dsr", within: "cluster" },
  // What Mullion does not do, whatever the policy says.
  { code: "network-policy-not-enforced", within: "cluster" },
  { code: "policy-kind-not-enforced", within: "cluster" },
];

/** A finding that is there because of another one. */
interface Follows {
  readonly code: KnowledgeCode;
  /** Its possible causes, the nearest first. */
  readonly from: readonly KnowledgeCode[];
  readonly within: Nearness;
  /** The message must say this. */
  readonly saying?: RegExp;
  /** What the first groups of both find in their messages is the same. */
  readonly same?: { readonly here: RegExp; readonly there: RegExp };
}

/** A container that these are about does not run. */
const NOT_RUNNING: readonly KnowledgeCode[] = [
  "image-of-another-build",
  "windows-image-on-linux-node",
  "linux-image-on-windows-node",
  "pod-os-mismatch",
  "host-process-mixed-with-others",
  "host-process-without-host-network",
];

export const FOLLOWS: readonly Follows[] = [
  {
    code: "vxlan-identifiers-differ",
    from: ["flannel-vni-below-4096"],
    within: "cluster",
    same: { here: /VNI (\d+)/, there: /VNI (\d+)/ },
  },
  {
    code: "vxlan-identifiers-differ",
    from: ["flannel-vxlan-defaults-differ"],
    within: "cluster",
    same: { here: /VNI (\d+)/, there: /"VNI" Linux nodes take (\d+)/ },
  },
  {
    code: "pod-range-holds-node",
    from: ["flannel-network-without-node-range"],
    within: "cluster",
    same: { here: /range of pods (\S+) \(Network of flannel/, there: /is outside (\S+)$/ },
  },
  { code: "service-without-back-ends", from: NOT_RUNNING, within: "pod of the Service" },
  {
    code: "external-traffic-policy-local-without-local-endpoint",
    from: NOT_RUNNING,
    within: "pod of the Service",
  },
  {
    code: "manifest-invalid-value",
    from: ["host-process-without-host-network", "host-process-mixed-with-others"],
    within: "document",
    saying: /hostProcess/,
  },
  { code: "manifest-invalid-value", from: ["manifest-no-break-space"], within: "place" },
  {
    code: "cni-policy-shape-mismatch",
    from: ["cni-api-version-missing"],
    within: "document",
    saying: /without apiVersion 2/,
  },
];

/** Codes whose cause may be at a pod of the Service. */
export const FROM_PODS: ReadonlySet<KnowledgeCode> = new Set(
  FOLLOWS.filter(({ within }) => within === "pod of the Service").map(({ code }) => code),
);

function groupOf(pattern: RegExp, { finding }: Sighting): string | undefined {
  return pattern.exec(finding.message)?.[1];
}

/** The findings of one cluster, by code, to ask for causes. */
class CauseSearch {
  private readonly byCode: ReadonlyMap<KnowledgeCode, readonly Sighting[]>;

  constructor(sightings: readonly Sighting[]) {
    this.byCode = Map.groupBy(sightings, ({ finding }) => finding.code);
  }

  /** What a finding follows from at once: another code, or an earlier finding of its own. */
  nextTo(own: Sighting): Sighting | undefined {
    return this.otherCode(own) ?? this.earlier(own);
  }

  private otherCode(own: Sighting): Sighting | undefined {
    for (const { code, from, within, saying, same } of FOLLOWS) {
      if (code !== own.finding.code || saying?.test(own.finding.message) === false) continue;
      const wanted = same === undefined ? undefined : groupOf(same.here, own);
      if (same !== undefined && wanted === undefined) continue;
      for (const cause of from.flatMap((each) => this.byCode.get(each) ?? [])) {
        const isSame = same === undefined || groupOf(same.there, cause) === wanted;
        if (isSame && NEARNESS[within](own, cause)) return cause;
      }
    }
    return undefined;
  }

  private earlier(own: Sighting): Sighting | undefined {
    const others = this.byCode.get(own.finding.code) ?? [];
    if (others[0] === own) return undefined;
    for (const { code, within, key } of ONE_CAUSE) {
      if (code !== own.finding.code) continue;
      const wanted = key === undefined ? "" : groupOf(key, own);
      const first = others.find(
        (each) => (key === undefined ? "" : groupOf(key, each)) === wanted && NEARNESS[within](own, each),
      );
      if (wanted !== undefined && first !== undefined && first !== own) return first;
    }
    return undefined;
  }
}

/** The finding that stands for the cause of each that has one; `sightings` are of one cluster, in the report's order. */
export function causesOf(sightings: readonly Sighting[]): ReadonlyMap<LintFinding, LintFinding> {
  const search = new CauseSearch(sightings);
  const causes = new Map<LintFinding, LintFinding>();
  for (const own of sightings) {
    let root = own;
    for (let next = search.nextTo(own); next !== undefined; next = search.nextTo(root)) root = next;
    if (root !== own) causes.set(own.finding, root.finding);
  }
  return causes;
}
