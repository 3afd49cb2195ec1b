/** What `docker network ls` and `inspect` print (docker/cli: cli/command/formatter/network.go). */
import { DEFAULT_NAME, type DockerNetworkDocument, NO_NETWORK } from "./engine.ts";

const SHORT_ID = 12;
/** Docker's tables: columns of at least ten letters, three blanks of them between two. */
const COLUMN_MIN = 7;
const GAP = "   ";

/** A network of an engine. `none`, which every engine has, is in no HNS. */
type ListedNetwork = Pick<DockerNetworkDocument, "Id" | "Name"> & {
  readonly Driver: string;
  readonly Scope: string;
};

/** Lines of the list in the order of names; `isQuiet`: the ids alone. */
export function networkLines(networks: readonly ListedNetwork[], isQuiet: boolean): readonly string[] {
  const rows = networks
    .toSorted((a, b) => (a.Name < b.Name ? -1 : 1))
    .map(({ Id, Name, Driver, Scope }) => [Id.slice(0, SHORT_ID), Name, Driver, Scope]);
  if (isQuiet) return rows.map(([id = ""]) => id);
  const all = [["NETWORK ID", "NAME", "DRIVER", "SCOPE"], ...rows];
  const widths = [0, 1, 2].map((column) =>
    Math.max(COLUMN_MIN, ...all.map((line) => line[column]?.length ?? 0)),
  );
  return all.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(GAP));
}

/** By its name, its id, or how its id begins where that is one's alone. */
export function findNetwork(
  networks: readonly DockerNetworkDocument[],
  wanted: string,
): DockerNetworkDocument | undefined {
  const exact = networks.find(({ Name, Id }) => Name === wanted || Id === wanted);
  if (exact !== undefined) return exact;
  const [first, ...others] = networks.filter(({ Id }) => wanted !== "" && Id.startsWith(wanted));
  return others.length === 0 ? first : undefined;
}

/** What `inspect` prints of networks by name, and what the daemon answers for each that is not there. */
export function inspectTexts(
  networks: readonly DockerNetworkDocument[],
  names: readonly string[],
): { readonly out: string; readonly refused: readonly string[] } {
  const found = names.map((name) => findNetwork(networks, name));
  const documents = found.filter((each) => each !== undefined);
  return {
    out: JSON.stringify(documents, undefined, 4),
    refused: names.flatMap((name, index) =>
      found[index] === undefined ? [`${DAEMON_ANSWERS}network ${name} not found`] : [],
    ),
  };
}

/** What is in front of a text of the daemon. */
export const DAEMON_ANSWERS = "Error response from daemon: ";

const PREDEFINED: ReadonlySet<string> = new Set([DEFAULT_NAME, NO_NETWORK.Name, "default"]);

/** Why the daemon makes no network of that name, before it asks HNS; undefined: it does. */
export function creationRefusal(
  networks: readonly DockerNetworkDocument[],
  name: string,
): string | undefined {
  if (PREDEFINED.has(name)) return `operation is not permitted on predefined ${name} network`;
  return networks.some(({ Name }) => Name === name) ? `network with name ${name} already exists` : undefined;
}

/** The network to take away, or why the daemon does not. */
export function networkToRemove(
  networks: readonly DockerNetworkDocument[],
  wanted: string,
): DockerNetworkDocument | string {
  const network = findNetwork(networks, wanted);
  if (network === undefined) return `network ${wanted} not found`;
  const { Name, Id, Containers } = network;
  if (PREDEFINED.has(Name)) return `${Name} is a pre-defined network and cannot be removed`;
  if (Object.keys(Containers).length === 0) return network;
  return `error while removing network: network ${Name} id ${Id} has active endpoints`;
}

/** How the daemon passes on what HNS refuses. */
export function hnsRefusal(text: string): string {
  return `hns failed with error : ${text.trim()}`;
}
