/**
 * Source NAT of IPv6 that the endpoints of pods ask for and that is not carried out here, as a limit: what such pods send to
 * the outside by IPv6 is not judged. AKS writes the policy for pods of both families (Azure/AgentBaker,
 * staging/cse/windows/azurecnifunc.ps1) and promises that packets leave with the node's address of the same family
 * (https://learn.microsoft.com/en-us/azure/aks/azure-cni-overlay); that VFP translates IPv6 was not seen anywhere
 * (dataplane.md §2.11). Machines of the cluster answer either way, for the fabric leads back to the pods.
 */
import { listed } from "#core/base/text-layout.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Cluster } from "../cluster.ts";
import type { FlowLimit, LimitReason, LimitedFlow } from "../session/flow-limit.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const CODE = "ipv6-nat-not-settled";
const WHY = WORDS.ipv6SourceNatUnsettled;

class UntranslatedFamilyLimit implements FlowLimit {
  readonly code: KnowledgeCode = CODE;
  readonly message: string;
  /** References of pods. */
  private readonly pods: ReadonlySet<string>;

  constructor(pods: ReadonlySet<string>) {
    this.pods = pods;
    this.message = `${WHY}: ${listed([...pods])}`;
  }

  covers({ source, target, answerers, address }: LimitedFlow): boolean {
    if (typeof address !== "bigint" || !this.pods.has(source.reference)) return false;
    return target.kind === "outside" || (target.kind === "other" && answerers.length === 0);
  }

  reasonFor({ source }: LimitedFlow): LimitReason {
    return { code: CODE, message: `${source.reference} has OutBoundNAT for IPv6: ${WHY}` };
  }

  kindOf({ reference }: { readonly reference: string }): string {
    return this.pods.has(reference) ? "OutBoundNAT for IPv6" : "";
  }
}

/** One limit for all such pods of a cluster. */
export function untranslatedFamilyLimits({ nodes, pods }: Cluster): readonly FlowLimit[] {
  const asked = new Set(nodes.flatMap(({ hns }) => [...(hns?.listUntranslated() ?? [])]));
  // Pods with a second address are up.
  const references = pods
    .filter(({ address6 }) => address6 !== undefined)
    .flatMap(({ spec, namespaceId }) =>
      namespaceId !== undefined && asked.has(namespaceId) ? [`pod/${spec.namespace}/${spec.name}`] : [],
    );
  return references.length === 0 ? [] : [new UntranslatedFamilyLimit(new Set(references))];
}
