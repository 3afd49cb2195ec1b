/** Kinds of objects of HNS by the names that people write. */
import { nearestNames } from "#core/base/nearest-name.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import { usage } from "../options.ts";

export interface HnsKindNames {
  readonly kind: HcnObjectKind;
  /** As hnsdiag writes it. */
  readonly plural: string;
  readonly singular: string;
  /** For sentences: `load balancers`. */
  readonly noun: string;
  readonly aliases: readonly string[];
}

export const HNS_OBJECT_KINDS: readonly HnsKindNames[] = [
  { kind: "Network", plural: "networks", singular: "network", noun: "networks", aliases: ["net", "nets"] },
  {
    kind: "Endpoint",
    plural: "endpoints",
    singular: "endpoint",
    noun: "endpoints",
    aliases: ["ep", "eps"],
  },
  { kind: "Namespace", plural: "namespaces", singular: "namespace", noun: "namespaces", aliases: ["ns"] },
  {
    kind: "LoadBalancer",
    plural: "loadbalancers",
    singular: "loadbalancer",
    noun: "load balancers",
    aliases: ["lb", "lbs", "policylists", "policylist"],
  },
  {
    kind: "SdnRoute",
    plural: "routes",
    singular: "route",
    noun: "routes",
    aliases: ["sdnroutes", "sdnroute"],
  },
  {
    kind: "GuestNetworkService",
    plural: "guestnetworkservices",
    singular: "guestnetworkservice",
    noun: "guest network services",
    aliases: ["gns"],
  },
];

/** Everything that `all` stands for. */
const ALL = "all";

function find(text: string): HnsKindNames | undefined {
  const wanted = text
    .toLowerCase()
    .replaceAll("-", "")
    .replace(/^hns(?=.)/, "");
  return HNS_OBJECT_KINDS.find(
    ({ plural, singular, aliases }) => plural === wanted || singular === wanted || aliases.includes(wanted),
  );
}

/** `networks`, `ep`, `networks,lb`, `all`. @throws Failure for what is none, with the nearest one. */
export function parseHnsKinds(text: string): readonly HnsKindNames[] {
  if (text.toLowerCase() === ALL) return HNS_OBJECT_KINDS;
  return text.split(",").map((word) => {
    const found = find(word);
    if (found !== undefined) return found;
    const names = HNS_OBJECT_KINDS.flatMap(({ plural, singular }) => [plural, singular]);
    const [near] = nearestNames(word, [...names, ALL], 1);
    const advice = near === undefined ? "" : `Did you mean ${near}? `;
    throw usage(
      `HNS has no kind ${JSON.stringify(word)}`,
      `${advice}Kinds are: ${HNS_OBJECT_KINDS.map(({ plural }) => plural).join(", ")}, all.`,
    );
  });
}
