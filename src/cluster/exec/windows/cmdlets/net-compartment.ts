/**
 * `Get-NetCompartment`. Its form is that of Microsoft's reference; descriptions of containers' compartments begin with
 * `\Container_`, as a public module for tests of containers takes them apart.
 *
 * Inferred: a pod's compartment is described by the HCN namespace; the GUID of the host's is the one in the reference, and those of
 * others are left out; from a pod its own compartment alone is seen.
 */
import type { Compartment } from "#dataplane/host/compartment.ts";
import { type Cluster, podAt } from "../../../cluster.ts";
import { type Cmdlet, type Filter, filterObjects } from "../powershell/cmdlet.ts";
import { type ObjectKind, makeObject } from "../powershell/objects.ts";

const HOST_ID = 1;
const HOST_GUID = "{b1062982-2b18-4b4f-b3d5-a78ddb9cdd49}";

interface Source {
  readonly cluster: Cluster;
  readonly compartment: Compartment;
}

function describe({ cluster, compartment }: Source): string {
  if (compartment.id === HOST_ID) return "Default Compartment";
  const pod = podAt(cluster, compartment);
  return `\\Container_${pod?.namespaceId ?? compartment.id}`;
}

const NET_COMPARTMENT: ObjectKind<Source> = {
  properties: [
    { name: "CompartmentId", read: ({ compartment }) => compartment.id },
    { name: "CompartmentDescription", read: describe },
    {
      name: "CompartmentGuid",
      read: ({ compartment }) => (compartment.id === HOST_ID ? HOST_GUID : undefined),
    },
  ],
};

const FILTERS: readonly Filter[] = [{ parameter: "CompartmentId", property: "CompartmentId" }];

export const GET_NET_COMPARTMENT: Cmdlet = {
  name: "Get-NetCompartment",
  usages: ["Get-NetCompartment [[-CompartmentId] ID]"],
  parameters: ["CompartmentId"],
  positions: 1,
  switches: [],
  others: ["CimSession", "ThrottleLimit", "AsJob"],
  run: ({ cluster, compartment }, given) => {
    const node = cluster.nodes.find(({ host }) => host.listCompartments().includes(compartment));
    const seen =
      compartment.id === HOST_ID ? (node?.host.listCompartments() ?? [compartment]) : [compartment];
    return filterObjects(
      "Get-NetCompartment",
      "MSFT_NetCompartment",
      seen.map((each) => makeObject(NET_COMPARTMENT, { cluster, compartment: each })),
      FILTERS,
      given,
    );
  },
};
