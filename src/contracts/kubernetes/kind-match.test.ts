// Kinds that kubectl finds no match for, and those that it may find: Kubernetes API reference.
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { lint } from "#diagnose/lint/lint.ts";

function textOf(apiVersion: string, kind: string): string {
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n`;
}

function lintCodes(text: string): readonly string[] {
  return lint({ sources: [new SourceText("a.yaml", text)] }).findings.map(({ code }) => code);
}

describe("no matches for kind", () => {
  it.each([
    ["v1", "Deployment", "apiVersion", "Write apiVersion: apps/v1."],
    ["apps/v2", "Deployment", "apiVersion", "Write apiVersion: apps/v1."],
    ["app/v1", "DaemonSet", "apiVersion", "Write apiVersion: apps/v1."],
    ["apps/v1", "Service", "apiVersion", "Write apiVersion: v1."],
    ["batch/v1", "Deployment", "apiVersion", "Write apiVersion: apps/v1."],
    ["v1", "NetworkPolicy", "apiVersion", "Write apiVersion: networking.k8s.io/v1."],
    ["v1", "Pods", "kind", "Write kind: Pod."],
    ["v1", "service", "kind", "Write kind: Service."],
    ["v1", "Endpoint", "kind", "Write kind: Endpoints."],
    ["apps/v1", "Deploymnet", "kind", "Write kind: Deployment."],
    ["apps/v1", "Daemonset", "kind", "Write kind: DaemonSet."],
    ["batch/v1", "CronJobs", "kind", "Write kind: CronJob."],
    ["v1", "deployment", "kind", "Write apiVersion: apps/v1 and kind: Deployment."],
  ])("%s %s: at %s, %s", (apiVersion, kind, field, advice) => {
    const text = textOf(apiVersion, kind);
    const { objects, problems } = loadManifests([{ name: "a.yaml", text }]);
    expect(objects).toEqual([]);
    expect(problems).toEqual([
      expect.objectContaining({
        code: "manifest-version-unknown",
        path: field,
        message: `no matches for kind "${kind}" in version "${apiVersion}"`,
        advice,
      }),
    ]);
    expect(lintCodes(text)).toEqual(["manifest-version-unknown"]);
  });
});

describe("may be a kind", () => {
  it.each([
    ["v1", "PersistentVolumeClaim", "a kind of the group"],
    ["v1", "SecretList", "a list of one"],
    ["v1", "Config", "a kubeconfig"],
    ["v1", "Template", "OpenShift's, of the time before groups"],
    ["v1", "Status", "what a server answers"],
    ["serving.knative.dev/v1", "Service", "of a group of others"],
    ["crd.projectcalico.org/v1", "NetworkPolicy", "of a group of others"],
    [
      "networking.k8s.io/v1beta1",
      "ServiceCIDR",
      "served from 1.31 to 1.36 (k8s.io/api, prerelease lifecycle)",
    ],
    ["autoscaling/v2", "HorizontalPodAutoscaler", "of Kubernetes, and not looked at"],
    ["policy/v1", "PodDisruptionBudget", "of Kubernetes, and not looked at"],
    ["{{ .Values.api }}", "Deployment", "a template"],
    ["constructor/v1", "toString", "names that objects of JavaScript have"],
  ])("%s %s: %s", (apiVersion, kind) => {
    expect(lintCodes(textOf(apiVersion, kind))).not.toContain("manifest-version-unknown");
  });
});
