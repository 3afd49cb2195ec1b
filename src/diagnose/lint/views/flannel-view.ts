/** flannel's `net-conf.json` as rules look at it. */
import { fieldOf, type FieldView } from "./cni-view.ts";
import type { LintDocument } from "../input/document.ts";
import { isFields } from "#core/base/json.ts";
import type { BackendField } from "#programs/flannel/net-conf.ts";

export interface FlannelView {
  readonly network: FieldView | undefined;
  readonly backend: FieldView | undefined;
  /** In lower case, as flanneld compares it; empty when it is not given. */
  readonly type: string;
  /** A field of the backend. */
  option(name: BackendField): FieldView | undefined;
}

export function flannelView(document: LintDocument): FlannelView {
  const backend = fieldOf(document.value, [], "Backend");
  const option = (name: BackendField): FieldView | undefined =>
    backend !== undefined && isFields(backend.value) ? fieldOf(backend.value, backend.path, name) : undefined;
  const type = option("Type")?.value;
  return {
    network: fieldOf(document.value, [], "Network"),
    backend,
    type: typeof type === "string" ? type.toLowerCase() : "",
    option,
  };
}

/** The name of the HNS network that flanneld makes on Windows (control-planes.md §1.3). */
export function networkNameOfFlannel(document: LintDocument): string | undefined {
  const view = flannelView(document);
  const name = view.option("Name")?.value;
  if (typeof name === "string" && name !== "") return name;
  if (view.type === "host-gw") return "cbr0";
  const vni = view.option("VNI")?.value ?? 4096;
  return view.type === "vxlan" && typeof vni === "number" ? `flannel.${vni}` : undefined;
}
