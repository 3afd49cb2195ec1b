/** Packets for the rows of the decision table: each front end is reached as the row says, and no other is. */
import { expect } from "vitest";
import { assert } from "#core/base/assert.ts";
import { OVERLAY_OUTSIDE_CLIENT, OVERLAY_POD_CLIENT, ServiceRowOverlay } from "./service-row-overlay.ts";
import {
  type NotedLoadBalancer,
  OUTSIDE_CLIENT,
  POD_CLIENT,
  type Served,
  ServiceRowWorld,
  readNotation,
} from "./service-row-world.ts";

const DSR = 1;
const PRESERVE_DIP = 8;
const SOURCE_IP = 2;
/** After so many connections every one of a few back ends has been chosen. */
const TRIES = 24;

/** Front ends that Services of the table have; those that a row does not list stay silent. */
const FRONT_ENDS: readonly (readonly [vip: string, port: number])[] = [
  ["C", 80],
  ["∅", 3001],
  ["E", 80],
  ["E2", 80],
  ["G", 80],
  ["G2", 80],
  ["G", 10_256],
  ["G", 32_000],
];

function isForPods({ vip }: NotedLoadBalancer): boolean {
  return vip.startsWith("C");
}

/** Back ends that answered, in order of name; the clients that they saw. */
interface Outcome {
  readonly by: readonly string[];
  readonly clients: readonly string[];
}

function outcomeOf(served: readonly (Served | undefined)[]): Outcome {
  const of = (read: (each: Served) => string): readonly string[] =>
    [...new Set(served.map((each) => (each === undefined ? "nobody" : read(each))))].toSorted();
  return { by: of(({ by }) => by), clients: of(({ client }) => client) };
}

/** A world with the load balancers of a row. */
type RowWorld = ServiceRowWorld | ServiceRowOverlay;

function askOften(world: RowWorld, from: "pod" | "outside", noted: NotedLoadBalancer): Outcome {
  const { protocol, vip, externalPort } = noted;
  assert(protocol !== "sctp", "no program speaks SCTP here");
  const served: (Served | undefined)[] = [];
  for (let tries = 0; tries < TRIES; tries++) {
    served.push(world.ask(from, protocol, vip, externalPort));
    if (noted.distribution === SOURCE_IP && tries > 4) break;
    if (served.at(-1) === undefined) break;
    if (noted.distribution === 0 && outcomeOf(served).by.length === new Set(noted.backEnds).size) break;
  }
  return outcomeOf(served);
}

/** A forwarded health check: the node itself is the back end (kube-proxy.md §5.4). */
function isForwardedCheck({ backEnds }: NotedLoadBalancer): boolean {
  return backEnds.includes("GW");
}

/**
 * Without DSR both addresses are translated (B-4, B-7); with DSR the back end sees the client, and so does the node
 * whose health is asked for.
 */
function expectReached(world: RowWorld, from: "pod" | "outside", noted: NotedLoadBalancer): void {
  const port =
    (noted.portFlags & PRESERVE_DIP) !== 0 && (noted.flags & DSR) !== 0
      ? noted.externalPort
      : noted.internalPort;
  const all = [...new Set(noted.backEnds)].map((name) => `${name}:${port}`).toSorted();
  const isOverlay = world instanceof ServiceRowOverlay;
  const pod = isOverlay ? OVERLAY_POD_CLIENT : POD_CLIENT;
  const outside = isOverlay ? OVERLAY_OUTSIDE_CLIENT : OUTSIDE_CLIENT;
  const own = from === "pod" ? pod : outside;
  const isHidden = (noted.flags & DSR) === 0 && !isForwardedCheck(noted);
  const clients = [isHidden ? world.hiddenBehind(noted) : own];
  const outcome = askOften(world, from, noted);
  const about = `${from} → ${noted.text}`;
  if (noted.distribution === SOURCE_IP) {
    // One client, one back end.
    expect({ about, count: outcome.by.length, clients: outcome.clients }).toEqual({
      about,
      count: 1,
      clients,
    });
    expect(all).toContain(outcome.by[0]);
    return;
  }
  expect({ about, ...outcome }).toEqual({ about, by: all, clients });
}

/** Makes the load balancers by hand, and sends. @returns how many front ends were asked. */
export async function sendThrough(texts: readonly string[], isOverlay: boolean): Promise<number> {
  const loadBalancers = texts.map(readNotation);
  const world = await (isOverlay ? ServiceRowOverlay : ServiceRowWorld).of(loadBalancers);
  for (const noted of loadBalancers) {
    // No program speaks SCTP here.
    if (noted.protocol === "sctp") continue;
    if (noted.vip.includes(":")) {
      // An address of IPv6 before pods of IPv4 (row E5): nobody can answer.
      expect(world.ask("outside", noted.protocol, noted.vip, noted.externalPort)).toBeUndefined();
      continue;
    }
    // "The pod gets the VIP as destination, and has to own it" (DT-119).
    if ((noted.portFlags & PRESERVE_DIP) !== 0 && (noted.flags & DSR) !== 0) {
      expect(world.ask("outside", noted.protocol, noted.vip, noted.externalPort)).toBeUndefined();
      assert(world instanceof ServiceRowWorld, "no row preserves destinations on overlay");
      for (const name of noted.backEnds) world.own(name, noted.vip);
    }
    expectReached(world, isForPods(noted) ? "pod" : "outside", noted);
  }
  let asked = loadBalancers.length;
  const known = new Set(loadBalancers.map(({ vip, externalPort }) => `${vip} ${externalPort}`));
  for (const [vip, port] of FRONT_ENDS) {
    if (known.has(`${vip} ${port}`)) continue;
    asked++;
    expect({ vip, port, served: world.ask(vip === "C" ? "pod" : "outside", "tcp", vip, port) }).toEqual({
      vip,
      port,
      served: undefined,
    });
  }
  return asked;
}
