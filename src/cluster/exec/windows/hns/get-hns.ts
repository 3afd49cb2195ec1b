/**
 * `Get-HnsNetwork`, `Get-HnsEndpoint`, `Get-HnsPolicyList`, `Get-HnsNamespace`: the documents of HNS in v1 form, of which hns.psm1 makes
 * objects by ConvertFrom-Json (github.com/microsoft/SDN, Kubernetes/windows/hns.psm1). On a node the module counts as imported.
 */
import { textOf } from "#core/base/json.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { Cmdlet, CmdletOutput } from "../powershell/cmdlet.ts";
import { objectOfJson } from "../powershell/objects.ts";
import { hnsOf, v1Documents } from "./hns-of-node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

function unknownHere(name: string): CmdletOutput {
  const id = "CommandNotFoundException";
  const message = WORDS.cmdletUnknown({ name });
  return { objects: [], fault: { message, category: `ObjectNotFound: (${name}:String)`, exception: id, id } };
}

function getHns(name: string, kind: HcnObjectKind): Cmdlet {
  return {
    name,
    usages: [`${name} [[-Id] ID] (on nodes)`],
    parameters: ["Id"],
    positions: 1,
    switches: [],
    others: ["Detailed", "Version"],
    run: (machine, given) => {
      const hns = hnsOf(machine);
      if (hns === undefined) return unknownHere(name);
      const id = given.get("Id")?.toLowerCase();
      const documents = v1Documents(hns, kind).filter(
        (document) => id === undefined || textOf(document["ID"]).toLowerCase() === id,
      );
      return { objects: documents.map(objectOfJson) };
    },
  };
}

export const GET_HNS: readonly Cmdlet[] = [
  getHns("Get-HnsNetwork", "Network"),
  getHns("Get-HnsEndpoint", "Endpoint"),
  getHns("Get-HnsPolicyList", "LoadBalancer"),
  getHns("Get-HnsNamespace", "Namespace"),
];
