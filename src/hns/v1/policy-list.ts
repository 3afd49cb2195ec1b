/** v1 policy lists as load balancers of v2 (hcn.md §2.12, §3.6, field map): references, and one `ELB` policy per port. */
import { type JsonObject, type JsonValue, equalJson } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import type { HostComputeLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import { LOAD_BALANCER_FORM } from "#contracts/hcn/documents/v1-documents.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

const REFERENCE = /^\/?endpoints\/([^/]+)\/?$/i;

/** `/endpoints/<guid>`. @throws HcnError HCN_E_INVALID_JSON_REFERENCE. */
function endpointOf(reference: string): string {
  const id = REFERENCE.exec(reference)?.[1];
  if (id !== undefined) return id;
  throw new HcnError("HCN_E_INVALID_JSON_REFERENCE", {
    detail: `References holds ${JSON.stringify(reference)}; it must be "/endpoints/<GUID>"`,
  });
}

/** What the policies of one list have to agree in: v2 has one of each for the whole load balancer. */
interface SharedFields {
  readonly vips: readonly string[];
  readonly sourceVip: string;
  readonly isDsr: boolean;
}

function readShared(policy: JsonReader): SharedFields {
  return {
    vips: policy.texts("VIPs") ?? [],
    sourceVip: policy.text("SourceVIP") ?? "",
    isDsr: policy.boolean("IsDSR") ?? false,
  };
}

function checkType(policy: JsonReader): void {
  const type = policy.text("Type") ?? "";
  if (type.toLowerCase() === "elb") return;
  throw new HcnError("HCN_E_INVALID_POLICY_TYPE", {
    detail: WORDS.policyListTypeUnsupported({ at: policy.at("Type"), type: JSON.stringify(type) }),
  });
}

/** @throws HcnError when the document is no policy list of a load balancer. */
export function loadBalancerFromV1(document: JsonValue): HostComputeLoadBalancer {
  const reader = JsonReader.of(document, "policy list", "HCN_E_INVALID_JSON");
  const policies =
    reader.list("Policies", (policy) => {
      checkType(policy);
      return readShared(policy);
    }) ?? [];
  const [shared] = policies;
  const isOther = policies.some((policy) => !equalJson(toJson(policy), toJson(shared)));
  if (isOther) {
    // Inferred: the code. A list of several policies was never seen.
    throw new HcnError("HCN_E_INVALID_POLICY", {
      detail: WORDS.elbPoliciesDiffer,
    });
  }
  const endpoints = (reader.texts("References") ?? []).map(endpointOf);
  return LOAD_BALANCER_FORM.fromRequest(LOAD_BALANCER_FORM.read(reader), {
    HostComputeEndpoints: endpoints,
    ...(policies.length === 0 && { PortMappings: [] }),
  });
}

function toJson(shared: SharedFields | undefined): JsonObject {
  return { ...shared };
}
