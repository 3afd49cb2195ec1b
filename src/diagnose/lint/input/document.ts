/** What a rule sees of an input: documents of known kinds, as values, with the place of everything in them. */
import type { ValueOf } from "#core/base/shape.ts";
import type { Fields } from "#core/base/json.ts";
import type { LintPath } from "./fields.ts";
import type { JsonTrap } from "./json-text.ts";
import type { SourceText } from "#core/base/source-text.ts";

export const DOCUMENT_KINDS = [
  /** One Kubernetes object. */
  "kubernetes",
  /** A CNI configuration or configuration list. */
  "cni",
  /** flannel's `net-conf.json`. */
  "flannel",
  /** A `KubeProxyConfiguration`. */
  "kube-proxy",
  /** kube-proxy's flags: `value.flags` maps a flag's name, without hyphens, to its text. */
  "kube-proxy-flags",
  /** A request to HNS: HCN v2 or HNS v1 JSON. */
  "hns",
  /** A cluster file of Mullion. */
  "cluster",
  /** `subnet.env`: `value` maps names to texts. */
  "subnet-env",
  /** What a script or a configuration of a Windows node sets: `pauseImage`, `HTTPS_PROXY` and its like. */
  "node-settings",
] as const;

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** Offsets in the file's text. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * A place in a document. `path`: a field, or the nearest thing around it when it is not there; its name is pointed at,
 * or, with `part: "value"`, its value. `offset`: a character of `document.text`.
 */
export type LintPlace =
  | { readonly path: LintPath; readonly part?: "key" | "value" }
  | { readonly offset: number; readonly length?: number };

/** How the places of a document are found. Texts are parsed again for it, so it is asked once for all findings. */
export type Locate = (places: readonly LintPlace[]) => readonly Range[];

export interface LintDocument {
  readonly kind: DocumentKind;
  readonly source: SourceText;
  /** The part of the file that this is, as it stands there. Comments are in it. */
  readonly text: string;
  /** The document as a plain value. */
  readonly value: Fields;
  readonly locate: Locate;
  /** What a strict JSON reader would refuse. Empty for YAML. */
  readonly traps: readonly JsonTrap[];
  /** The document that this one stands in: a ConfigMap's field, or the arguments of a pod. */
  readonly host: LintDocument | undefined;
  /** A name for people: `Deployment shop/web`, `CNI configuration cbr0`. */
  readonly title: string;
}

/** Something in a file that no rule reads. */
export const PASSED_BY = {
  text: "What was not checked, and why.",
  fields: {
    file: "text",
    line: "position",
    reason: { is: "text", text: "One sentence without a full stop." },
  },
} as const;
export type PassedBy = ValueOf<typeof PASSED_BY>;
