/** Which Services a rule looks at, and what several rules ask of one. */
import { type HnsFeature, hasFeature } from "#contracts/hcn/features.ts";
import { type WindowsBuild, hnsVersionOf } from "#core/catalogue/profiles.ts";
import type { LintContext } from "../../context.ts";
import type { LintDocument } from "../../input/document.ts";
import { textAt } from "../../input/fields.ts";
import { type LintRule, objectRule } from "../../rule.ts";

/** A rule over Services that have a back end on Windows. */
export function windowsServices(code: LintRule["code"], check: LintRule["check"]): LintRule {
  return objectRule(code, ["Service"], function* (document, context) {
    if (context.isServiceOfWindows(document)) yield* check(document, context);
  });
}

/**
 * A rule over the Services of a cluster that has Windows nodes: their kube-proxy programs all of them. One whose pods
 * are known and all for Linux is left alone, unless the input has Windows pods, which are clients of it.
 */
export function anyServices(code: LintRule["code"], check: LintRule["check"]): LintRule {
  return objectRule(code, ["Service"], function* (document, context) {
    const isAsked = !isOfLinux(document, context) || context.hasWindowsPods;
    if (context.hasWindows && isAsked) yield* check(document, context);
  });
}

function isOfLinux(service: LintDocument, context: LintContext): boolean {
  const pods = context.podsBehind(service);
  return pods.length > 0 && pods.every((pod) => pod.os === "linux");
}

/** True where the HNS of a build is without a feature. */
export function lacks(build: WindowsBuild, feature: HnsFeature): boolean {
  return !hasFeature(hnsVersionOf(build), feature);
}

export function hasNodePorts(service: LintDocument): boolean {
  const type = textAt(service.value, "spec", "type");
  return type === "NodePort" || type === "LoadBalancer";
}

export function isLocal(service: LintDocument): boolean {
  return textAt(service.value, "spec", "externalTrafficPolicy") === "Local" && hasNodePorts(service);
}
