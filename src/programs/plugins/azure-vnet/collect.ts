/** GC: what the state, HNS and the source of addresses hold for attachments that are not valid any more. */
import { readValidAttachments } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { AzureContext } from "./context.ts";
import { collectLeftovers } from "./leftovers.ts";
import type { AzureCall } from "./plan.ts";
import { removeAll } from "./remove.ts";
import { type FoundEndpoint, allEndpoints } from "./state.ts";

/** Goes on after failures and reports them at the end. */
export async function runGc(context: AzureContext, request: PluginRequest): Promise<void> {
  await context.withCall(request, async (call) => {
    const valid = context.decode(() => readValidAttachments(request.configuration));
    const failures: string[] = [];
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        failures.push(describeError(error));
      }
    };
    if (valid !== undefined) {
      const isStale = ({ endpoint, network }: FoundEndpoint): boolean =>
        isOwnNetwork(call, network.id) &&
        !valid.some((each) => each.containerId === endpoint.containerId && each.ifName === endpoint.ifName);
      for (const one of allEndpoints(call.session.state).filter(isStale))
        await attempt(() => removeOne(context, call, one));
      await attempt(() =>
        collectUnknown(
          call,
          valid.map(({ containerId }) => containerId),
        ),
      );
    }
    if (!context.isStateless) await call.session.save([]);
    await attempt(() => call.source.gc(valid));
    if (failures.length > 0) throw new CniError(CNI_CODES.internal, failures.join("; "));
  });
}

/** With several tenants each has a network of its own, which begins with the name. */
function isOwnNetwork({ configuration }: AzureCall, id: string): boolean {
  return (
    id === configuration.name || (configuration.isMultiTenant && id.startsWith(`${configuration.name}-vlan`))
  );
}

/** As DEL of that attachment. */
function removeOne(context: AzureContext, call: AzureCall, found: FoundEndpoint): Promise<void> {
  const { containerId, ifName } = found.endpoint;
  const env = { ...call.request.env, CNI_CONTAINERID: containerId, CNI_IFNAME: ifName };
  const own = context.open({ ...call.request, env, containerId, ifName }, call.session);
  return removeAll(context, own, [found]);
}

async function collectUnknown({ caller, session }: AzureCall, containers: readonly string[]): Promise<void> {
  const names = new Set(allEndpoints(session.state).map(({ endpoint }) => endpoint.id));
  for (const { networks } of session.state.values())
    for (const { hnsId } of networks.values())
      if (hnsId !== "") await collectLeftovers(caller, hnsId, { names, containers });
}
