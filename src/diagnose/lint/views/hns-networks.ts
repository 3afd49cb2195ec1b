/** The HNS networks that an input names: by CNI configurations for Windows, and by flannel's net-confs. */
import { cniView, networkNameOf } from "./cni-view.ts";
import type { LintContext } from "../context.ts";
import { flannelView, networkNameOfFlannel } from "./flannel-view.ts";
import type { LintDocument } from "../input/document.ts";
import { textAt } from "../input/fields.ts";

/**
 * True when a net-conf is for a cluster with Windows nodes: something of the input says so, or it holds what only
 * flanneld for Windows reads (`Name`, `MacPrefix`), or the VNI that only Windows asks for.
 */
export function isForWindows(document: LintDocument, context: LintContext): boolean {
  const view = flannelView(document);
  return (
    context.hasWindows ||
    context.ofKind("cni").some((cni) => cni.host === document.host && isWindowsCni(cni)) ||
    view.option("Name") !== undefined ||
    view.option("MacPrefix") !== undefined ||
    view.option("VNI")?.value === 4096 ||
    // Installers keep a net-conf for Windows nodes in a ConfigMap that says so.
    /windows/i.test(textAt(document.host?.value, "metadata", "name") ?? "")
  );
}

function isWindowsCni(document: LintDocument): boolean {
  return document.host !== undefined && /win-(?:bridge|overlay)|sdn(?:bridge|overlay)/.test(document.text);
}

export interface NamedNetwork {
  readonly name: string;
  readonly isOverlay: boolean;
}

function find(context: LintContext): readonly NamedNetwork[] {
  const ofCni = context.ofKind("cni").flatMap((document) => {
    const view = cniView(document, context);
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
  return context.once(find);
}
