/** What stands in an HNS, without what differs from one run to the next: identifiers become what they name. */
import type { HcnClient } from "#contracts/hcn/client.ts";
import { listEndpoints, listLoadBalancers, listNetworks } from "#contracts/hcn/operations.ts";

const REMOTE = 1;
const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Names = ReadonlyMap<string, string>;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Its own identifier, when it was last changed, and the range of MAC addresses that each network draws for itself. */
const LEFT_OUT: ReadonlySet<string> = new Set(["ID", "LastUpdateTime", "MacPool"]);

/** The same document with its keys in order. */
function normalise(value: unknown, names: Names): unknown {
  if (typeof value === "string") return GUID.test(value) ? (names.get(value.toLowerCase()) ?? "GUID") : value;
  if (Array.isArray(value)) return value.map((each) => normalise(each, names));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => !LEFT_OUT.has(key));
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, normalise(each, names)]));
}

/** Each object as a line; lines in order. */
export async function stateOf(client: HcnClient): Promise<readonly string[]> {
  const [networks, endpoints, loadBalancers] = await Promise.all([
    listNetworks(client),
    listEndpoints(client),
    listLoadBalancers(client),
  ]);
  const names = new Map<string, string>();
  for (const { ID = "", Name = "" } of networks) names.set(ID.toLowerCase(), `network ${Name}`);
  for (const { ID = "", IpConfigurations = [], Flags = 0 } of endpoints) {
    const addresses = IpConfigurations.map(({ IpAddress = "" }) => IpAddress).join("+");
    names.set(ID.toLowerCase(), `${addresses}${(Flags & REMOTE) === 0 ? "" : " remote"}`);
  }
  const lines = (kind: string, objects: readonly object[]): readonly string[] =>
    objects.map((object) => `${kind} ${JSON.stringify(normalise(object, names))}`);
  return [
    ...lines("network", networks),
    ...lines("endpoint", endpoints),
    ...lines("loadBalancer", loadBalancers),
  ].toSorted();
}

export interface Difference {
  readonly onlyReal: readonly string[];
  readonly onlyOurs: readonly string[];
}

function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return lines.filter((line) => {
    const index = left.indexOf(line);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

/** The lines that one of two states has and the other has not. */
export function difference(real: readonly string[], ours: readonly string[]): Difference {
  return { onlyReal: without(real, ours), onlyOurs: without(ours, real) };
}

/** What the real kube-proxy says when one of its families lists what the other deletes: its sync ends there. */
const LOST_SYNC = /Querying HNS for (?:endpoints|load balancers) failed/;

/**
 * The difference without remote endpoints that the real one has left for good because it lost a sync: those that vanish
 * from their slices are remembered for one sync only (`terminatedEndpoints`). Whether it loses one is chance.
 */
export function beyondChance(found: Difference, realLog: string): Difference {
  if (!LOST_SYNC.test(realLog)) return found;
  const isLeft = (line: string): boolean => line.startsWith('endpoint {"Flags":1,');
  return { ...found, onlyReal: found.onlyReal.filter((line) => !isLeft(line)) };
}
