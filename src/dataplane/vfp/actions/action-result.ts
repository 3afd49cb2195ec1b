/** What an action of a rule works on, what the port lends to it, and what it comes to. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip, IpFamily } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import type { OuterHeadersTable } from "./encapsulation.ts";
import type { FlowKey } from "../flow-key.ts";
import type { MappingSpace } from "./mapping-space.ts";
import type { NatPool } from "./nat-pool.ts";
import type { NextHopResolver, NextHopWaiter } from "./next-hop.ts";
import type { LbnatBackEnd } from "../rule.ts";
import type { Transposition } from "./transposition.ts";

/** The packet an action works on. */
export interface ActionSubject {
  bytes: Uint8Array;
  readonly headers: Headers;
  readonly key: FlowKey;
  /** The tunnel that the packet comes in or was put in. */
  readonly tunnel: TunnelHeaders;
  /** What the port has done to the packet so far. */
  readonly total: Transposition;
}

/** What the port lends to actions. */
export interface ActionContext {
  getNatPool(name: string): NatPool | undefined;
  getSpace(name: string): MappingSpace | undefined;
  /** The port's own provider address of a family: the source of what it encapsulates. */
  providerAddress(family: IpFamily): Ip | undefined;
  /** The outer source MAC until a next hop is known. */
  readonly providerMac: Mac;
  /** What flows share of the headers that they get. */
  readonly outerHeaders: OuterHeadersTable;
  /** The UDP destination port of VXLAN. */
  readonly vxlanPort: number;
  /** Frees ports of idle flows; true when it found any. */
  sweepIdleFlows(): boolean;
  readonly nextHopResolver: NextHopResolver | undefined;
  readonly nextHopWaiter: NextHopWaiter;
}

export interface ActionPass {
  readonly kind: "pass";
  readonly forward: Transposition;
  readonly reverse: Transposition;
  readonly nat?: { readonly pool: NatPool; readonly port: number };
  /** Where an lbnat rule sends the flow. */
  readonly backEnd?: LbnatBackEnd;
  /** True when the result may change although no rule does: a next hop. */
  readonly ages?: boolean;
}

export type ActionResult =
  | ActionPass
  | { readonly kind: "drop"; readonly code: KnowledgeCode }
  | { readonly kind: "pending" };
