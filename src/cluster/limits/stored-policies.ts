/** Policies that HNS of a node stores and does not act on, as a limit: flows of the pods whose endpoints have them. */
import { listed } from "#core/base/text-layout.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import type { Cluster } from "../cluster.ts";
import type { FlowEnd, FlowLimit, LimitReason, LimitedFlow } from "../session/flow-limit.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const CODE = "hns-policy-not-enforced";

/** Pods by reference, with what HNS says of their policies: `ACL: ports of Transparent networks get no rules`. */
type Stored = ReadonlyMap<string, string>;

class StoredPolicyLimit implements FlowLimit {
  readonly code: KnowledgeCode = CODE;
  readonly message: string;
  private readonly stored: Stored;

  constructor(stored: Stored) {
    this.stored = stored;
    const whose = listed([...stored.keys()]);
    this.message = WORDS.endpointPoliciesStored({ whose });
  }

  covers(flow: LimitedFlow): boolean {
    return this.endsIn(flow).length > 0;
  }

  reasonFor(flow: LimitedFlow): LimitReason {
    const parts = this.endsIn(flow).map(
      ({ reference }) =>
        `${reference} has policies that HNS does not act on, ${this.stored.get(reference) ?? ""}`,
    );
    return { code: CODE, message: parts.join("; ") };
  }

  kindOf({ reference }: FlowEnd): string {
    return this.stored.get(reference) ?? "";
  }

  private endsIn({ source, answerers, isByName, nameServers = [] }: LimitedFlow): readonly FlowEnd[] {
    const ends = new Set([source, ...answerers, ...(isByName ? nameServers : [])]);
    return [...ends].filter(({ reference }) => this.stored.has(reference));
  }
}

/** One limit for all such policies of a cluster. */
export function storedPolicyLimits({ nodes, pods }: Cluster): readonly FlowLimit[] {
  const undecided = new Map(nodes.flatMap(({ hns }) => [...(hns?.listUndecided() ?? [])]));
  if (undecided.size === 0) return [];
  const stored = new Map<string, string>();
  for (const pod of pods) {
    if (pod.isAtRest === true) continue;
    const { spec, namespaceId } = pod;
    const own = namespaceId === undefined ? undefined : undecided.get(namespaceId);
    if (own === undefined) continue;
    const reasons = new Set(own.map(({ Type, Reason }) => `${Type}: ${Reason}`));
    stored.set(`pod/${spec.namespace}/${spec.name}`, [...reasons].join(", "));
  }
  return stored.size === 0 ? [] : [new StoredPolicyLimit(stored)];
}

/** The same as a note, for pods whose flows nothing asks about. */
export function storedPolicyNotes(cluster: Cluster): readonly FileProblem[] {
  return storedPolicyLimits(cluster).map(({ code, message }) => ({
    code,
    file: "",
    line: 0,
    column: 0,
    path: "",
    message,
    advice: `Flows of these pods are not judged: mullion explain ${code}.`,
  }));
}
