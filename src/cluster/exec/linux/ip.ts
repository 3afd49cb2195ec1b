/**
 * `ip`, its objects `address`, `link`, `route` and `neighbour`, each as far as it shows. Forms: openperouter/openperouter#467
 * (addresses of a pod), canonical/microk8s#5258 (neighbours, with the blank at the end of each line), bisdn/basebox#364 (routes),
 * and ip/ipaddress.c, ip/iproute.c and ip/ipneigh.c of iproute2 6.1.
 *
 * Inferred: names stand without the index of the other end of the cable (`eth0@if7`), which no machine has here; each queue is
 * `noqueue`.
 */
import { formatIp, parseIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { Neighbor, NeighborState } from "#dataplane/host/ip/neighbor-table.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import type { Machine } from "../machine.ts";
import { type IpRequest, showAddresses, showLinks } from "./ip-links.ts";
import { getRoute, showRoutes } from "./ip-routes.ts";

type IpObject = "address" | "link" | "route" | "neighbour";

/** In the order in which the program tries them: `ip a` is the first that begins so. */
const OBJECTS: readonly (readonly [string, IpObject | undefined])[] = [
  ["address", "address"],
  ["addrlabel", undefined],
  ["maddress", undefined],
  ["route", "route"],
  ["rule", undefined],
  ["neighbor", "neighbour"],
  ["neighbour", "neighbour"],
  ["ntable", undefined],
  ["ntbl", undefined],
  ["link", "link"],
];
const OPTIONS: Readonly<Record<string, Partial<IpRequest>>> = {
  "-4": { family: 4 },
  "-6": { family: 6 },
  "-br": { isBrief: true },
  "-brief": { isBrief: true },
};

const STATES: Readonly<Record<NeighborState, string>> = {
  incomplete: "INCOMPLETE",
  reachable: "REACHABLE",
  probe: "PROBE",
  failed: "FAILED",
  permanent: "PERMANENT",
};

function neighborLine({ ip, mac, state }: Neighbor, device: string): string {
  const address = mac === undefined ? "" : ` lladdr ${formatMac(mac).replaceAll("-", ":").toLowerCase()}`;
  return `${formatIp(ip)}${device}${address} ${STATES[state]} `;
}

function showNeighbors({ compartment }: Machine, { family, device }: IpRequest): CommandOutput {
  const links = compartment.listInterfaces();
  if (device !== undefined && device !== "lo" && !links.some(({ name }) => name === device))
    return { stdout: [], stderr: [`Cannot find device "${device}"`], exitCode: 1 };
  const lines = links
    .filter(({ name }) => device === undefined || name === device)
    .flatMap((link) =>
      link.neighbors
        .list()
        .filter(({ ip }) => family === undefined || (typeof ip === "number") === (family === 4))
        .map((each) => neighborLine(each, device === undefined ? ` dev ${link.name}` : "")),
    );
  return { stdout: lines, exitCode: 0 };
}

const SHOWS: Readonly<Record<IpObject, (machine: Machine, request: IpRequest) => CommandOutput>> = {
  address: showAddresses,
  link: showLinks,
  route: showRoutes,
  neighbour: showNeighbors,
};

function isShow(verb: string | undefined): boolean {
  return verb === undefined || (verb !== "" && ["show", "list", "lst"].some((each) => each.startsWith(verb)));
}

/** `[show] [dev NAME]`, or `[show] NAME`; undefined for what else may stand there. */
function deviceOf(
  rest: readonly string[],
  object: IpObject,
): { readonly device: string | undefined } | undefined {
  const words = rest[0] !== undefined && isShow(rest[0]) ? rest.slice(1) : rest;
  const [first, second, ...others] = words;
  if (others.length > 0) return undefined;
  if (first === undefined) return { device: undefined };
  if (first === "dev" && second !== undefined) return { device: second };
  // Only of links and addresses may `dev` be left out.
  const mayBeBare = object === "address" || object === "link";
  return mayBeBare && second === undefined && rest.length > words.length ? { device: first } : undefined;
}

function run(machine: Machine, args: readonly string[]): CommandOutput {
  const refuse = (): never => notBuilt(IP, args.join(" ") || "without an object");
  let request: IpRequest = { family: undefined, isBrief: false, device: undefined };
  let at = 0;
  for (; args[at]?.startsWith("-") === true; at++) {
    const option = OPTIONS[args[at] ?? ""];
    request = { ...request, ...(option ?? refuse()) };
  }
  const [word = "", ...rest] = args.slice(at);
  const object = word === "" ? undefined : OBJECTS.find(([name]) => name.startsWith(word))?.[1];
  if (object === undefined) return refuse();
  if (object === "route" && rest[0] === "get") {
    const [, target = "", ...others] = rest;
    const ip = parseIp(target);
    return ip === undefined || others.length > 0 ? refuse() : getRoute(machine, ip);
  }
  if (request.isBrief && object !== "address" && object !== "link") return refuse();
  const found = deviceOf(rest, object);
  if (found === undefined) return refuse();
  return SHOWS[object](machine, { ...request, ...found });
}

export const IP: ListedCommand = {
  name: "ip",
  os: "linux",
  usages: [
    "ip [-4|-6] [-br] address [show [dev] NAME]",
    "ip [-br] link [show [dev] NAME]",
    "ip [-4|-6] route [show [dev NAME]]",
    "ip route get ADDRESS",
    "ip [-4|-6] neighbour [show [dev NAME]]",
  ],
  run,
};
