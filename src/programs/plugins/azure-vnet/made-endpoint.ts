/** What was made for an interface, and failures to make it. */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import type { AzureCall, AzurePlan } from "./plan.ts";
import type { PolicyOptions } from "./policies.ts";

export interface MadeEndpoint {
  readonly name: string;
  readonly ifName: string;
  /** In HNS; empty: it has no endpoint. */
  readonly id: string;
  readonly mac: string;
  readonly gateway: string;
  /** A device as the runtime is to hand it to the pod. */
  readonly pciId?: string;
}

export function creationFailure(text: string, error: unknown): CniError {
  const knowledge = error instanceof CniError ? error.knowledge : undefined;
  const message = `failed to create endpoint: ${text}`;
  return new CniError(CNI_CODES.internal, message, { knowledge, cause: error });
}

/** Clears away after a failure, which is what is reported. */
export async function undo(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch {
    // The failure that is being reported is the one that led here.
  }
}

/** Windows 1903, build 18362, came with it: the first that has source NAT for some destinations (cni.md §5.5). */
const HNS_MAJOR_1903 = 10;

/** How policies are converted here. Without a plan: what holds for every endpoint of the configuration. */
export async function policyOptionsOf(
  { caller, configuration }: AzureCall,
  plan: AzurePlan | undefined,
  compat: Compat,
): Promise<PolicyOptions> {
  const nat = plan?.nat ?? [];
  const isAsked = configuration.hasLoopbackDsr || nat.length > 0;
  const version = isAsked ? await caller.hns(getHnsVersion) : undefined;
  const isNew = version !== undefined && version.Major >= HNS_MAJOR_1903;
  return {
    compat,
    hasDsr: configuration.hasLoopbackDsr && version !== undefined && hasFeature(version, "DSR"),
    dropsOutboundNat: configuration.isMultiTenant && plan?.snat.forDns !== true,
    addressSpace: plan?.addressSpace ?? [],
    nat: isNew ? nat : [],
    addsNatToV1: configuration.isMultiTenant,
  };
}
