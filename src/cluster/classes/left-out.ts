/** What two equal machines may have otherwise, each with its reason. A test changes each of them (machines.test.ts). */
import { KeptRoutes } from "#programs/flannel/backends/kept-routes.ts";
import { BoundEndpoints } from "#programs/kube-proxy/load-balancers/bound-endpoints.ts";
import { Prng } from "#core/base/prng.ts";
import { IpOutput } from "#dataplane/host/ip/ip-output.ts";
import { LocalPorts } from "#dataplane/host/local-ports.ts";
import { OwnCalls } from "#programs/kube-proxy/load-balancers/hns-records.ts";
import { KeptLog } from "#programs/flannel/reports.ts";
import { Router } from "#hns/ports/switch-datapath.ts";
import { PresentSubnets } from "#programs/flannel/windows/remote-subnets.ts";
import { ServiceContext } from "#hns/service/service-context.ts";
import { RouteRevision } from "#hns/service/network/policy-index.ts";
import { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import { SharedValues } from "#hns/compile/compile-cache.ts";
import { RemoteEndpointRecord } from "#hns/service/endpoint/remote-endpoint.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

interface LeftOut {
  readonly kind: { readonly prototype: object };
  /** Absent: all of it. */
  readonly fields?: readonly string[];
  readonly because: string;
}

export const LEFT_OUT: readonly LeftOut[] = [
  {
    kind: Prng,
    because: WORDS.leftOutRandom,
  },
  {
    kind: IpOutput,
    fields: ["nextIdentification"],
    because: "a number that tells fragments apart; chance says where it begins",
  },
  { kind: LocalPorts, fields: ["next"], because: "the next port of a client; chance says where it begins" },
  {
    kind: RemoteEndpointRecord,
    fields: ["activity0", "activity1", "activity2", "activity3"],
    because: WORDS.leftOutLogId,
  },
  { kind: KeptLog, because: WORDS.leftOutLog },
  {
    kind: ServiceContext,
    fields: ["changeCount"],
    because: WORDS.leftOutHnsCallCount,
  },
  {
    kind: Router,
    fields: ["changes"],
    because: WORDS.leftOutRouterCount,
  },
  { kind: OwnCalls, fields: ["known"], because: "the same count, as kube-proxy has heard of it" },
  {
    kind: PresentSubnets,
    fields: ["revision"],
    because: "the same count, as flanneld has heard of it",
  },
  {
    kind: RouteRevision,
    fields: ["change"],
    because: WORDS.leftOutRouteOrder,
  },
  {
    kind: VfpPort,
    fields: ["generation"],
    because: WORDS.leftOutRuleGeneration,
  },
  { kind: SharedValues, because: "values that nodes share, found by what they say" },
  { kind: WeakMap, because: WORDS.leftOutDerived },
  { kind: Promise, because: "work that has ended" },
];

const FIELDS: ReadonlyMap<object, ReadonlySet<string> | "all"> = new Map(
  LEFT_OUT.map(({ kind, fields }) => [kind.prototype, fields === undefined ? "all" : new Set(fields)]),
);

function leftOutOf(holder: object): ReadonlySet<string> | "all" | undefined {
  return FIELDS.get(Object.getPrototypeOf(holder) as object);
}

export function isLeftOut(value: object): boolean {
  return leftOutOf(value) === "all";
}

/** The fields of an object that are compared. */
export function comparedFields(holder: object): readonly string[] {
  const left = leftOutOf(holder);
  const names = Object.keys(holder);
  return left === undefined || left === "all" ? names : names.filter((name) => !left.has(name));
}

// Order has a meaning in lists, and none in tables: maps and sets. What is otherwise stands here.

/**
 * Lists without an order. Back ends: a hash chooses among them, and `verify` asks until each has answered. Subnets of other
 * nodes lie apart. Of policies matters what they come to, which is rules, and those are compared.
 */
const WITHOUT_ORDER: ReadonlySet<string> = new Set(["backEnds", "endpointIds", "remoteSubnets", "policies"]);

/** Lists that belong together: what stands at one place of each is one thing. */
const TOGETHER: ReadonlyMap<object, readonly string[]> = new Map<object, readonly string[]>([
  [BoundEndpoints.prototype, ["tracked", "ids", "counters"]],
]);

export function hasOrder(holder: object, field: string): boolean {
  // Routes that flanneld keeps are looked for one by one.
  if (holder instanceof KeptRoutes && field === "kept") return false;
  return !WITHOUT_ORDER.has(field);
}

/** The fields of an object that are columns of one table; none for most. */
export function columnsOf(holder: object): readonly string[] {
  return TOGETHER.get(Object.getPrototypeOf(holder) as object) ?? [];
}
