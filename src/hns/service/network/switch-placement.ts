/** Which switch a network gets, and which adapter an external one takes (hcn.md §3.1, §4.1). */
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { NetworkType } from "#contracts/hcn/documents/network.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { parseIp } from "#core/net/ip.ts";
import type { NetworkRecord } from "../records.ts";
import type { PhysicalAdapter } from "../../ports/adapter-description.ts";
import type { ServiceContext } from "../service-context.ts";
import { traitsOf } from "./type-traits.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** The switch of a network that is about to be made. */
export interface SwitchPlacement {
  readonly switchId: Guid;
  /** What `LayerConstraint` of another network names. */
  readonly layerId: Guid;
  /** The network whose switch it is already; undefined: a new switch. */
  readonly owner: NetworkRecord | undefined;
  /** Of external switches. */
  readonly adapter: PhysicalAdapter | undefined;
}

/** vNICs of a switch cannot be an uplink. */
const VIRTUAL_ADAPTER = /^vEthernet \(/i;

function namesOf(adapters: readonly PhysicalAdapter[]): string {
  return adapters.length === 0
    ? "the node has none"
    : `the node has ${adapters.map(({ name }) => name).join(", ")}`;
}

function adapterByName(adapters: readonly PhysicalAdapter[], name: string): PhysicalAdapter {
  if (VIRTUAL_ADAPTER.test(name)) {
    throw new HcnError("ERROR_INVALID_PARAMETER", {
      detail: WORDS.adapterIsHostVNic({ name }),
    });
  }
  const adapter = adapters.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
  if (adapter !== undefined) return adapter;
  throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
    detail: `There is no adapter ${JSON.stringify(name)}; ${namesOf(adapters)}`,
  });
}

/** The adapter that policies name, by its friendly name or by the address it has; undefined: they name none. */
function namedAdapter(
  context: ServiceContext,
  policies: readonly NetworkPolicy[],
): PhysicalAdapter | undefined {
  const { adapters } = context;
  for (const policy of policies) {
    if (policy.Type === "NetAdapterName") return adapterByName(adapters, policy.Settings.NetworkAdapterName);
    if (policy.Type === "InterfaceConstraint" && (policy.Settings.InterfaceAlias ?? "") !== "")
      return adapterByName(adapters, policy.Settings.InterfaceAlias ?? "");
  }
  for (const policy of policies) {
    if (policy.Type !== "ProviderAddress") continue;
    const wanted = parseIp(policy.Settings.ProviderAddress ?? "");
    const owner = adapters.find((adapter) =>
      context.datapath.addressesOf(adapter).some((address) => address.ip === wanted),
    );
    if (owner !== undefined) return owner;
    throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
      detail: `No adapter has the address ${policy.Settings.ProviderAddress ?? ""}; ${namesOf(adapters)}`,
    });
  }
  return undefined;
}

/** Networks whose switch is on the adapter. */
function networksOn(context: ServiceContext, adapter: PhysicalAdapter): readonly NetworkRecord[] {
  return [...context.state.networks.values()].filter(
    ({ switchKind, adapterName }) => switchKind === "external" && adapterName === adapter.name,
  );
}

/** A network that wants a switch. */
export interface Applicant {
  readonly id: Guid;
  readonly type: NetworkType;
  /** IsolateVSwitch. Inferred (hcn.md §2.2), from the words for it: the switch is for one network. */
  readonly isIsolated: boolean;
  readonly policies: readonly NetworkPolicy[];
}

/**
 * Why a network cannot have the adapter; undefined: it can. Inferred: that Wi-Fi is refused as virtual adapters are
 * (hcn.md §4.1 names no code), and for all types with VFP.
 */
function obstacleOn(
  context: ServiceContext,
  adapter: PhysicalAdapter,
  applicant: Applicant,
): string | undefined {
  const { type } = applicant;
  if (adapter.isVirtual === true) return `${adapter.name} is a virtual adapter`;
  if (adapter.medium === "wireless" && traitsOf(type).needsVfp)
    return WORDS.adapterIsWireless({ name: adapter.name, type });
  const [first] = networksOn(context, adapter);
  if (first === undefined) return undefined;
  const isShareable = first.type === type && traitsOf(type).sharesSwitch;
  if (isShareable && !first.isIsolated && !applicant.isIsolated) return undefined;
  return WORDS.adapterTaken({
    adapter: adapter.name,
    type: first.type,
    network: first.name,
    wantedType: type,
  });
}

/** The adapter of a new external network, which it alone or with its like has. */
function externalAdapter(context: ServiceContext, applicant: Applicant): PhysicalAdapter {
  const named = namedAdapter(context, applicant.policies);
  if (named !== undefined) {
    const obstacle = obstacleOn(context, named, applicant);
    if (obstacle === undefined) return named;
    throw new HcnError("ERROR_INVALID_PARAMETER", { detail: obstacle });
  }
  const usable = context.adapters.filter((adapter) => obstacleOn(context, adapter, applicant) === undefined);
  // Inferred: rather a switch that is there already; on nodes with two cards the scripts name one for `External`, and flannel's network
  // follows it (kubernetes/website pull request 20078).
  const free = usable.find((adapter) => networksOn(context, adapter).length > 0) ?? usable[0];
  if (free !== undefined) return free;
  throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
    detail: WORDS.noUsableAdapter({ type: applicant.type, adapters: namesOf(context.adapters) }),
  });
}

/** Inferred (hcn.md §4.1): any adapter can be mirrored, whatever else uses it; without a name the first one is. */
function mirroredAdapter(context: ServiceContext, { policies }: Applicant): PhysicalAdapter {
  const adapter = namedAdapter(context, policies) ?? context.adapters[0];
  if (adapter !== undefined) return adapter;
  throw new HcnError("HCN_E_ADAPTER_NOT_FOUND", {
    detail: `A Mirrored network needs an adapter to mirror; ${namesOf(context.adapters)}`,
  });
}

/** The switch with the layer that LayerConstraint names; undefined: there is no such policy. */
function constrainedPlacement(
  context: ServiceContext,
  { type, policies }: Applicant,
): SwitchPlacement | undefined {
  for (const policy of policies) {
    const layerId = policy.Type === "LayerConstraint" ? policy.Settings.LayerId : undefined;
    if (layerId === undefined) continue;
    const owner = [...context.state.networks.values()].find((network) => network.layerId === layerId);
    if (owner?.switchKind !== traitsOf(type).switchKind) {
      // Inferred (hcn.md §3.1): a layer of another kind of switch is none for this network.
      const isThere = owner === undefined ? "There is no" : `A network of type ${type} cannot be on the`;
      throw new HcnError("HCN_E_LAYER_NOT_FOUND", { detail: `${isThere} layer ${layerId}` });
    }
    return { switchId: owner.switchId, layerId, owner, adapter: context.adapterOf(owner) };
  }
  return undefined;
}

/**
 * The switch of a new network. What stands on no adapter has a switch of its own, with the id of the
 * network (hcn.md §9.1, Default Switch in §2.12).
 * @throws HcnError HCN_E_LAYER_NOT_FOUND; HCN_E_ADAPTER_NOT_FOUND without an adapter of that name, or a free one;
 * ERROR_INVALID_PARAMETER for the vNIC of a switch and for an adapter that is in use.
 */
export function placeSwitch(context: ServiceContext, applicant: Applicant): SwitchPlacement {
  const constrained = constrainedPlacement(context, applicant);
  if (constrained !== undefined) return constrained;
  const { switchKind, isMirror } = traitsOf(applicant.type);
  if (switchKind !== "external") {
    const adapter = isMirror ? mirroredAdapter(context, applicant) : undefined;
    return { switchId: applicant.id, layerId: context.prng.guid(), owner: undefined, adapter };
  }
  const adapter = externalAdapter(context, applicant);
  const [owner] = networksOn(context, adapter);
  const switchId = owner?.switchId ?? context.prng.guid();
  return { switchId, layerId: switchId, owner, adapter };
}

/** True while another network than `network` is on its switch. */
export function isSwitchShared(context: ServiceContext, network: NetworkRecord): boolean {
  return [...context.state.networks.values()].some(
    (other) => other.id !== network.id && other.switchId === network.switchId,
  );
}
