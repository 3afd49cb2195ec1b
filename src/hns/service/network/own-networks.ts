/**
 * Networks that the service makes without being asked: those of switches that were there before it, the Default Switch of
 * clients, and mirrored ones (hcn.md §2.12, §4.1, §5.1).
 */
import type { Task } from "#core/base/clock.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { JsonValue } from "#core/base/json.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import { createNetwork } from "./networks.ts";
import type { PhysicalAdapter } from "../../ports/adapter-description.ts";
import type { ServiceContext } from "../service-context.ts";

/** The network `Default Switch` of every client (hcn.md §2.12). */
export const DEFAULT_SWITCH_ID = "c08cb7b8-9b3c-408e-8e30-5e16a3aeb444";

const { EnableDnsProxy, EnableDhcpServer, EnableNonPersistent, EnableFlowSteering, EnableFirewall } =
  NETWORK_FLAGS;
const DEFAULT_SWITCH_FLAGS = EnableDnsProxy | EnableDhcpServer | EnableNonPersistent;

/** Values of a filter on `Flags` that ask for mirrored networks: 72, and 328 with the firewall (hcn.md §5.1). */
const MIRRORED_FLAGS: readonly number[] = [
  EnableNonPersistent | EnableFlowSteering,
  EnableNonPersistent | EnableFlowSteering | EnableFirewall,
];
/** EnableFlowSteering came with it (hcn.md §2.2). */
const FLOW_STEERING_MINOR = 11;

function createDefaultSwitch(context: ServiceContext): void {
  createNetwork(
    context,
    { Name: "Default Switch", Type: "ICS", Flags: DEFAULT_SWITCH_FLAGS, isIsolated: true },
    DEFAULT_SWITCH_ID,
  );
}

function namedAdapter(name: string): PolicyDocument {
  return { Type: "NetAdapterName", Settings: { NetworkAdapterName: name } };
}

/**
 * Makes those of a node that are missing, when the service starts. A switch that was made without HNS becomes a
 * Transparent network with the name of the switch.
 */
export function createOwnNetworks(context: ServiceContext): void {
  const networks = [...context.state.networks.values()];
  for (const { name, outsideSwitch } of context.adapters) {
    const isThere = networks.some(
      (network) => network.switchKind === "external" && network.adapterName === name,
    );
    if (outsideSwitch === undefined || isThere) continue;
    createNetwork(
      context,
      { Name: outsideSwitch, Type: "Transparent", Policies: [namedAdapter(name)] },
      undefined,
    );
  }
  const { hasDefaultSwitch, hasIcs } = context.networking;
  if (hasDefaultSwitch && hasIcs && !context.state.networks.has(DEFAULT_SWITCH_ID))
    createDefaultSwitch(context);
}

/** Adapters that no mirrored network stands for. */
function unmirrored(context: ServiceContext): readonly PhysicalAdapter[] {
  const mirrored = [...context.state.networks.values()].filter(({ type }) => type === "Mirrored");
  const names = new Set(mirrored.map((network) => network.adapterName));
  return context.adapters.filter((adapter) => !names.has(adapter.name));
}

/**
 * A moment at which something is to be told without a call. The networks themselves are made with
 * the next call; the clock's owner calls after each of its tasks.
 */
class Arrival implements Task {
  run(): void {}
}

/**
 * A query with such a filter makes the mirrored networks, one per adapter, a moment later (hcn.md §5.1). Once made they
 * stay until the node starts anew.
 */
export function requestMirroring(context: ServiceContext, wantedFlags: JsonValue | undefined): void {
  if (typeof wantedFlags !== "number" || !MIRRORED_FLAGS.includes(wantedFlags)) return;
  if (context.windows.profile.schemaMinor < FLOW_STEERING_MINOR || unmirrored(context).length === 0) return;
  if (context.state.mirroring !== undefined) return;
  const atMs = context.nowMs + context.networking.addressDelayMs;
  context.state.mirroring = Object.freeze({ atMs, flags: wantedFlags });
  context.changesAt(atMs);
  if (atMs > context.nowMs) context.clock.schedule(atMs - context.nowMs, new Arrival());
}

/** Makes the mirrored networks whose moment has come. Inferred: their names. */
export function settleMirroring(context: ServiceContext): void {
  const { mirroring } = context.state;
  if (mirroring === undefined || mirroring.atMs > context.nowMs) return;
  context.state.mirroring = undefined;
  for (const { name } of unmirrored(context)) {
    createNetwork(
      context,
      { Name: `Mirrored ${name}`, Type: "Mirrored", Flags: mirroring.flags, Policies: [namedAdapter(name)] },
      undefined,
    );
  }
}
