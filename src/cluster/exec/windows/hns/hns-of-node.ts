/** HNS as the programs of a node see it. */
import type { JsonObject } from "#core/base/json.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { HnsService } from "#hns/service/hns-service.ts";
import type { Machine } from "../../machine.ts";

const HOST_ID = 1;

/** Undefined in a pod: images of containers have neither the programs nor the service. */
export function hnsOf({ cluster, compartment }: Machine): HnsService | undefined {
  if (compartment.id !== HOST_ID) return undefined;
  return cluster.nodes.find(({ host }) => host.root === compartment)?.hns;
}

/** The documents of a kind in v1 form, in order of creation. */
export function v1Documents(hns: HnsService, kind: HcnObjectKind): readonly JsonObject[] {
  const query = { SchemaVersion: { Major: 1, Minor: 0 } };
  return hns.enumerate(kind, query).map((id) => hns.query(kind, id, query));
}
