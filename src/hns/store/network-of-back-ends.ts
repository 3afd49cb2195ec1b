import type { Guid } from "#contracts/hcn/guid.ts";
import type { ServiceContext } from "../service/service-context.ts";

interface Referring {
  readonly networkId: Guid;
  readonly endpointIds: readonly Guid[];
}

/** The network of an object that names endpoints. Schemas before 2.5 do not say it: then it is that of the endpoints. */
export function networkOfBackEnds(context: ServiceContext, { networkId, endpointIds }: Referring): Guid {
  if (networkId !== "") return networkId;
  for (const id of endpointIds) {
    const endpoint = context.state.endpoints.get(id);
    if (endpoint !== undefined) return endpoint.networkId;
  }
  return "";
}
