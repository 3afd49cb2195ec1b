/** The HNS networks that an input names: by CNI configurations for Windows, and by flannel's net-confs. */
import { cniView, networkNameOf } from "./cni-view.ts";
import type { LintContext } from "../context.ts";
import { flannelView, isForWindows, networkNameOfFlannel } from "./flannel-view.ts";

export interface NamedNetwork {
  readonly name: string;
  readonly isOverlay: boolean;
}

const KNOWN = new WeakMap<LintContext, readonly NamedNetwork[]>();

function find(context: LintContext): readonly NamedNetwork[] {
  const ofCni = context.ofKind("cni").flatMap((document) => {
    const view = cniView(document);
    const name = networkNameOf(view);
    if (name === undefined || !view.isWindows || view.plugins.some(({ type }) => type === "nat")) return [];
    return [
      { name, isOverlay: view.plugins.some(({ type }) => type === "win-overlay" || type === "sdnoverlay") },
    ];
  });
  const ofFlannel = context.ofKind("flannel").flatMap((document) => {
    const name = isForWindows(document, context) ? networkNameOfFlannel(document) : undefined;
    return name === undefined ? [] : [{ name, isOverlay: flannelView(document).type === "vxlan" }];
  });
  return [...ofCni, ...ofFlannel];
}

export function namedNetworks(context: LintContext): readonly NamedNetwork[] {
  const known = KNOWN.get(context) ?? find(context);
  KNOWN.set(context, known);
  return known;
}
