/** Rows of the Deprecated API Migration Guide of Kubernetes. */
import { describe, expect, it } from "vitest";
import { lint } from "#diagnose/lint/lint.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { SourceText } from "#core/base/source-text.ts";

describe("an API version that was removed", () => {
  it.each([
    ["extensions/v1beta1", "Deployment", 16],
    ["extensions/v1beta1", "Ingress", 22],
    ["networking.k8s.io/v1beta1", "Ingress", 22],
    ["networking.k8s.io/v1beta1", "IngressClass", 22],
    ["rbac.authorization.k8s.io/v1beta1", "ClusterRole", 22],
    ["policy/v1beta1", "PodDisruptionBudget", 25],
    ["policy/v1beta1", "PodSecurityPolicy", 25],
    ["autoscaling/v2beta2", "HorizontalPodAutoscaler", 26],
    ["storage.k8s.io/v1beta1", "CSIStorageCapacity", 27],
    ["flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 32],
  ])("%s of %s is told by lint and on loading, from 1.%i on", (apiVersion, kind, minor) => {
    const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n`;
    const lintCodes = (version: number): readonly string[] =>
      lint({
        sources: [new SourceText("a.yaml", text)],
        options: { kubernetes: { minor: version, patch: undefined } },
      }).findings.map(({ code }) => code);
    expect(lintCodes(minor)).toContain("manifest-old-version");
    expect(lintCodes(minor - 1)).not.toContain("manifest-old-version");
    const { notes } = loadManifests([{ name: "a.yaml", text }]);
    expect(notes.map(({ code }) => code)).toContain("manifest-old-version");
  });

  it.each([
    ["networking.k8s.io/v1", "Ingress"],
    ["policy/v1", "PodDisruptionBudget"],
    ["example.org/v1beta1", "Ingress"],
  ])("%s of %s is none", (apiVersion, kind) => {
    const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n`;
    expect(lint({ sources: [new SourceText("a.yaml", text)] }).findings).toEqual([]);
    const { notes } = loadManifests([{ name: "a.yaml", text }]);
    expect(notes.map(({ code }) => code)).not.toContain("manifest-old-version");
    expect(notes).toHaveLength(1);
  });
});
