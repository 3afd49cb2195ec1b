/** What an input says of the network of its Windows nodes, once it is recognised. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { NetworkDriver } from "../file/cluster-file.ts";
import type { ProblemPlace } from "../session/session.ts";
import type { EvidencePlace } from "./evidence.ts";

/** What the objects of an input say against each other, or against what Windows can. */
export interface Contradiction {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
  readonly where: ProblemPlace | undefined;
}

/** What is not carried out of a network. */
export interface NetworkLack {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
  /** Services are not kube-proxy's there. */
  readonly hasOwnServices?: boolean;
}

export interface NetworkAccount {
  readonly plugin: string;
  readonly mode: string;
  /** No sign shows the mode: it is what the plugin has when nobody chooses. */
  readonly isModeAssumed: boolean;
  /** Of the HNS network. */
  readonly driver: NetworkDriver;
  readonly routes: string;
  readonly vxlan?: { readonly vni: string; readonly port: string; readonly at: EvidencePlace };
  /** `network` of a cluster file, without ranges. */
  readonly fields: JsonObject;
  readonly contradictions: readonly Contradiction[];
  /** Undefined: the network is carried out. */
  readonly lack?: NetworkLack;
}
