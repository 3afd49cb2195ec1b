/** Extensions of the Hyper-V switch, and turning them on and off (hcn.md §2.12, §3.1, §5.2). */
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, formatUpperGuid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import type { NetworkType } from "#contracts/hcn/documents/network.ts";
import type { NetworkRecord, ExtensionStates } from "../records.ts";
import type { ServiceContext } from "../service-context.ts";
import { isSwitchShared } from "./switch-placement.ts";
import { traitsOf } from "./type-traits.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** From Server 2022 on VFP and the capture have other ids. */
const BUILD_NEW_EXTENSIONS = 20_348;

interface Extension {
  readonly id: Guid;
  readonly name: string;
  /** On a switch that is as it was made. */
  readonly isEnabled: boolean;
}

/** An extension that a request wants on or off. */
export interface ExtensionChange {
  readonly id: Guid;
  readonly isEnabled: boolean;
}

const UNCHANGED: ExtensionStates = Object.freeze({});

/** Inferred: extensions that were installed are there and off. */
function installedExtensions(context: ServiceContext, type: NetworkType): readonly Extension[] {
  const isNew = context.windows.profile.build >= BUILD_NEW_EXTENSIONS;
  const others = context.networking.switchExtensions;
  return [
    {
      id: "e7c3b2f0-f3c5-48df-af2b-10fed6d72e7a",
      name: "Microsoft Windows Filtering Platform",
      isEnabled: false,
    },
    {
      id: isNew ? "f74f241b-440f-4433-bb28-00f89ead20d8" : "e9b59cfa-2be1-4b21-828f-b6fbdbddc017",
      name: "Microsoft Azure VFP Switch Extension",
      isEnabled: traitsOf(type).needsVfp,
    },
    {
      id: isNew ? "430bdadd-bab0-41ab-a369-94b67fa5be0a" : "ea24cd6c-d17a-4348-9190-09f0d5be83dd",
      name: "Microsoft NDIS Capture",
      isEnabled: true,
    },
    ...others.map(({ id, name }) => ({ id: id.toLowerCase(), name, isEnabled: false })),
  ];
}

/** The extensions of a network's switch, as v1 lists them. */
export function extensionDocuments(context: ServiceContext, network: NetworkRecord): readonly JsonObject[] {
  return installedExtensions(context, network.type).map(({ id, name, isEnabled }) => ({
    Id: formatUpperGuid(id),
    IsEnabled: network.extensions[id] ?? isEnabled,
    Name: name,
  }));
}

/** Changes that policies of type VSwitchExtension ask for. */
export function changesOfPolicies(policies: readonly NetworkPolicy[]): readonly ExtensionChange[] {
  return policies.flatMap((policy) => {
    if (policy.Type !== "VSwitchExtension" || policy.Settings.ExtensionID === undefined) return [];
    return [{ id: policy.Settings.ExtensionID, isEnabled: policy.Settings.Enable ?? false }];
  });
}

/** Settings of an `Extension` request, or an entry of `Extensions` in v1. */
export function readExtensionChange(reader: JsonReader): ExtensionChange {
  const id = reader.needed("Id", reader.guid("Id"), "the id of a switch extension");
  return { id, isEnabled: reader.boolean("IsEnabled") ?? false };
}

export function readExtensionSettings(settings: JsonObject): ExtensionChange {
  return readExtensionChange(new JsonReader(settings, "Settings", "HCN_E_INVALID_JSON"));
}

/**
 * The states of a switch's extensions after changes.
 * @throws HcnError HCN_E_SWITCH_EXTENSION_NOT_FOUND for one that is not installed.
 */
export function withExtensions(
  context: ServiceContext,
  type: NetworkType,
  present: ExtensionStates | undefined,
  changes: readonly ExtensionChange[],
): ExtensionStates {
  if (changes.length === 0) return present ?? UNCHANGED;
  const states = new Map(Object.entries(present ?? UNCHANGED));
  const installed = installedExtensions(context, type);
  for (const { id, isEnabled } of changes) {
    const known = installed.find((extension) => extension.id === id);
    if (known === undefined) {
      throw new HcnError("HCN_E_SWITCH_EXTENSION_NOT_FOUND", {
        detail: `No extension ${id} is installed; the node has ${installed.map(({ name }) => name).join(", ")}`,
      });
    }
    states.delete(id);
    if (known.isEnabled !== isEnabled) states.set(id, isEnabled);
  }
  return Object.freeze(Object.fromEntries(states));
}

/** True when a change makes a difference: v1 clients send back all extensions that they have read. */
function isChange(context: ServiceContext, network: NetworkRecord, change: ExtensionChange): boolean {
  const installed = installedExtensions(context, network.type).find(({ id }) => id === change.id);
  return (network.extensions[change.id] ?? installed?.isEnabled) !== change.isEnabled;
}

/**
 * The extensions of a network's switch after changes. A switch that carries several networks keeps its own
 * (hcn.md §4.1).
 * @throws HcnError HCN_E_SWITCH_EXTENSION_NOT_FOUND, HCN_E_SHARED_SWITCH_MODIFICATION.
 */
export function changedExtensions(
  context: ServiceContext,
  network: NetworkRecord,
  changes: readonly ExtensionChange[],
): ExtensionStates {
  const extensions = withExtensions(context, network.type, network.extensions, changes);
  const isShared = isSwitchShared(context, network);
  if (!isShared || !changes.some((change) => isChange(context, network, change))) return extensions;
  throw new HcnError("HCN_E_SHARED_SWITCH_MODIFICATION", {
    detail: WORDS.switchShared({ name: network.name }),
  });
}
