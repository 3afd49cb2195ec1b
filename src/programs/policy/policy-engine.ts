/** What engines of NetworkPolicies have in common: what they are asked, what they answer, and whence an ACL comes. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { PolicyDirection } from "./objects/stored-policy.ts";

export type EngineName = "calico" | "azure-npm";

/** Why an ACL is there. */
export interface AclOrigin {
  /** `rule`: one of a policy; `default`: what no rule of the policies allows; `node`: the pod's own node; `open`: no policy selects the pod. */
  readonly why: "rule" | "default" | "node" | "open" | "base";
  readonly direction: PolicyDirection;
  /** `namespace/name`, each once; none where it comes from no policy. */
  readonly policies: readonly string[];
  /** Of a rule: its place among the policy's rules of the direction. */
  readonly index?: number;
}

/** An ACL as an engine writes it, without its type: fields of HNS v1 or of HCN. */
export interface AclFields {
  readonly Id?: string;
  readonly Action: "Allow" | "Block";
  readonly Direction: "In" | "Out";
  /** HNS v1 alone: 256 is any. */
  readonly Protocol?: number;
  /** HCN alone; absent is any. */
  readonly Protocols?: string;
  readonly LocalAddresses?: string;
  readonly RemoteAddresses?: string;
  readonly LocalPorts?: string;
  readonly RemotePorts?: string;
  readonly RuleType?: "Switch" | "Host";
  readonly Priority?: number;
}

export interface WrittenAcl {
  readonly acl: AclFields;
  readonly origin: AclOrigin;
}

/** Something of a policy that the engine does not carry out, or could not. */
export interface EngineFinding {
  readonly code: KnowledgeCode;
  /** `namespace/name`; absent where it is about the whole engine. */
  readonly policy?: string;
  /** One sentence without a full stop. */
  readonly message: string;
}

/** What came of a sync. */
export interface EngineReport {
  /** The HNS networks whose endpoints the engine looks after; none: it enforces nothing. */
  readonly networks: readonly string[];
  /** Endpoints whose ACLs were written anew. */
  readonly written: readonly Guid[];
  readonly findings: readonly EngineFinding[];
}

/**
 * States of an endpoint that a container has, in the order in which NPM asks for them: AttachedSharing, Attached
 * (control-planes.md §7.2). Engines pass by endpoints in other states.
 */
export const ATTACHED_STATES: readonly number[] = Object.freeze([3, 2]);

/** The engine of one node. */
export interface PolicyEngine {
  readonly name: EngineName;
  sync(): Promise<EngineReport>;
  /** The ACLs that the engine has given each endpoint, in the order in which it wrote them. */
  listAcls(): Readonly<Record<Guid, readonly WrittenAcl[]>>;
}
