// What a port counts of connections (dataplane.md §1.10, §1.12, §7.7, §7.8), beside a model that keeps a plain list of them.
import fc from "fast-check";
import { expect, it } from "vitest";
import { TcpFlag } from "#core/wire/tcp.ts";
import { group, layer, makePort, rule, send, tcp, udp } from "#test/support/dataplane/engine-kit.ts";
import type { VfpPort } from "./vfp-port.ts";

const A = "10.244.1.10";
const C = "10.244.2.10";
const TTL_MS = 240_000;
const TTLS = { halfOpenTtlMs: 30_000, timeWaitTtlMs: 60_000, defaultTtlMs: TTL_MS };
const { syn, ack, fin, rst } = TcpFlag;

interface Step {
  readonly client: number;
  readonly isTcp: boolean;
  readonly direction: "out" | "in";
  readonly flags: number;
  readonly afterMs: number;
}

const STEP: fc.Arbitrary<Step> = fc.record({
  client: fc.integer({ min: 5000, max: 5002 }),
  isTcp: fc.boolean(),
  direction: fc.constantFrom("out" as const, "in" as const),
  flags: fc.constantFrom(syn, syn | ack, ack, ack, fin | ack, rst | ack),
  afterMs: fc.constantFrom(0, 1, 10_000, 29_999, 30_000, 59_999, 60_000, 239_999, 240_000),
});

type State = "half-open" | "verified" | "closing" | "TIME_WAIT";

interface Connection {
  readonly isTcp: boolean;
  readonly client: number;
  state: State;
  lastMs: number;
  finished: Set<string>;
}

/** The connections of a port, one by one, and what became of those that are gone. */
class Model {
  live: Connection[] = [];
  readonly tcp = {
    verified: 0,
    timedOut: 0,
    reset: 0,
    resetBySyn: 0,
    closedByFin: 0,
    halfOpenTimeouts: 0,
    expiredToTimeWait: 0,
  };
  readonly created = { total: 0, tcp: 0, udp: 0 };
  readonly maximum = { total: 0, tcp: 0, udp: 0 };

  pass(nowMs: number): void {
    const idle = this.live.filter((each) => nowMs - each.lastMs >= this.ttlMs(each));
    this.live = this.live.filter((each) => !idle.includes(each));
    for (const { state, isTcp } of idle)
      if (isTcp && state === "half-open") this.tcp.halfOpenTimeouts++;
      else if (isTcp && state === "TIME_WAIT") this.tcp.expiredToTimeWait++;
      else if (isTcp) this.tcp.timedOut++;
  }

  packet({ client, isTcp, direction, flags }: Step, nowMs: number): "pass" | "drop" {
    const known = this.live.find((each) => each.client === client && each.isTcp === isTcp);
    const isNew = isTcp && flags === syn && !(known?.state === "half-open" && direction === "out");
    if (known !== undefined && isNew) {
      this.live = this.live.filter((each) => each !== known);
      this.tcp.resetBySyn++;
    }
    if (known !== undefined && !isNew) {
      known.lastMs = nowMs;
      if (isTcp) this.track(known, direction, flags);
      return "pass";
    }
    if (direction === "in") return "drop";
    this.live.push({ isTcp, client, state: "half-open", lastMs: nowMs, finished: new Set() });
    for (const name of ["total", isTcp ? "tcp" : "udp"] as const) {
      this.created[name]++;
      this.maximum[name] = Math.max(this.maximum[name], this.countOf(name));
    }
    return "pass";
  }

  countOf(name: "total" | "tcp" | "udp"): number {
    return this.live.filter(({ isTcp }) => name === "total" || isTcp === (name === "tcp")).length;
  }

  get halfOpen(): number {
    return this.live.filter(({ isTcp, state }) => isTcp && state === "half-open").length;
  }

  private ttlMs({ isTcp, state }: Connection): number {
    if (isTcp && state === "half-open") return TTLS.halfOpenTtlMs;
    return isTcp && state === "TIME_WAIT" ? TTLS.timeWaitTtlMs : TTL_MS;
  }

  private track(known: Connection, direction: string, flags: number): void {
    if (known.state === "half-open" && direction === "in") {
      known.state = "verified";
      this.tcp.verified++;
    }
    if (known.state === "TIME_WAIT" || (flags & (fin | rst)) === 0) return;
    known.finished.add(direction);
    if ((flags & rst) !== 0) this.tcp.reset++;
    else if (known.finished.size === 2) this.tcp.closedByFin++;
    known.state = (flags & rst) !== 0 || known.finished.size === 2 ? "TIME_WAIT" : "closing";
  }
}

/** Two stateful layers: a connection is counted once all the same. */
function twoLayers(usesUnifiedFlows: boolean): VfpPort {
  const port = makePort([layer("FIRST", 10, { isDefaultAllow: false }), layer("SECOND", 20)]);
  const allow = rule("allow", { type: "allow" }, { isStateful: true });
  port.setGroups("FIRST", [group([allow])]);
  port.setGroups("SECOND", [group([allow])]);
  port.flowSettings = { ...port.flowSettings, ...TTLS, usesUnifiedFlows };
  return port;
}

function expectCounts(port: VfpPort, model: Model): void {
  const { classes } = port.census;
  expect(port.census.tcp).toMatchObject(model.tcp);
  for (const name of ["total", "tcp", "udp"] as const)
    expect([name, classes[name]]).toEqual([
      name,
      { count: model.countOf(name), created: model.created[name], maximum: model.maximum[name] },
    ]);
  // A main and a reverse entry each.
  expect(classes.entries).toEqual({
    count: 2 * model.countOf("total"),
    created: 2 * model.created.total,
    maximum: 2 * model.maximum.total,
  });
  expect(classes["half-open"].count).toBe(model.halfOpen);
  expect(classes["half-open"].created).toBe(model.created.tcp);
}

it.each([true, false])("counts are those of a plain list of connections; unified flows: %s", (isFast) => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 40 }), (steps) => {
      const port = twoLayers(isFast);
      const model = new Model();
      let nowMs = 1_000;
      for (const step of steps) {
        nowMs += step.afterMs;
        port.forgetIdleFlows(nowMs);
        model.pass(nowMs);
        const isKnown = model.live.some(
          ({ client, isTcp }) => client === step.client && isTcp === step.isTcp,
        );
        // What nothing is known of begins with a SYN, or in the middle.
        const flags = isKnown ? step.flags : step.flags & (syn | ack);
        const [from, to] = ends(step);
        const packet = step.isTcp ? tcp(from, to, flags) : udp(from, to);
        const verdict = send(port, step.direction, packet, nowMs);
        expect(verdict).toBe(model.packet({ ...step, flags }, nowMs));
        expectCounts(port, model);
      }
    }),
    { numRuns: 60 },
  );
});

function ends({
  direction,
  client,
  isTcp,
}: Step): readonly [readonly [string, number], readonly [string, number]] {
  const [pod, server] = [[A, client] as const, [C, isTcp ? 80 : 53] as const];
  return direction === "out" ? [pod, server] : [server, pod];
}
