/**
 * What pods need and no file has (kubernetes.io, tasks/configure-pod-container/configure-pod-configmap: a reference that is not
 * optional keeps the container from starting; concepts/configuration/secret; concepts/storage/persistent-volumes).
 */
import { describe, expect, it } from "vitest";
import { loadManifests } from "./load-manifests.ts";

function podOf(spec: string, kind = "Pod"): string {
  const pod = `{containers: [{name: c, image: i${spec.startsWith("volumes") ? "" : `, ${spec}`}}]${spec.startsWith("volumes") ? `, ${spec}` : ""}}`;
  return kind === "Pod"
    ? `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: ${pod}}`
    : `{apiVersion: apps/v1, kind: ${kind}, metadata: {name: web, namespace: shop}, spec: {serviceName: web, selector: {matchLabels: {a: b}}, volumeClaimTemplates: [{metadata: {name: data}}], template: {metadata: {labels: {a: b}}, spec: ${pod}}}}`;
}

function notesOf(...texts: readonly string[]): readonly string[] {
  return loadManifests([{ name: "m.yaml", text: texts.join("\n---\n") }])
    .notes.filter(({ code }) => code === "pod-needs-missing-object")
    .map(({ message }) => message);
}

describe("what a pod needs and no file has", () => {
  it.each([
    ["env: [{name: A, valueFrom: {configMapKeyRef: {name: x, key: k}}}]", "ConfigMap"],
    ["env: [{name: A, valueFrom: {secretKeyRef: {name: x, key: k}}}]", "Secret"],
    ["envFrom: [{configMapRef: {name: x}}]", "ConfigMap"],
    ["envFrom: [{secretRef: {name: x}}]", "Secret"],
    ["volumes: [{name: v, configMap: {name: x}}]", "ConfigMap"],
    ["volumes: [{name: v, secret: {secretName: x}}]", "Secret"],
    ["volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]", "PersistentVolumeClaim"],
    ["volumes: [{name: v, projected: {sources: [{secret: {name: x}}]}}]", "Secret"],
    ["volumes: [{name: v, projected: {sources: [{configMap: {name: x}}]}}]", "ConfigMap"],
  ])("%s: a %s is said to be taken as there, unless a file has it in that namespace", (spec, kind) => {
    const said = `no file has ${kind} shop/x, needed by Pod shop/web: it is taken to be there`;
    const object = (namespace: string): string =>
      `{apiVersion: v1, kind: ${kind}, metadata: {name: x, namespace: ${namespace}}, data: {k: dg==}}`;
    expect(notesOf(podOf(spec))).toEqual([said]);
    expect(notesOf(podOf(spec), object("other"))).toEqual([said]);
    expect(notesOf(podOf(spec), object("shop"))).toEqual([]);
  });

  // kubernetes.io: concepts/scheduling-eviction/pod-priority-preemption; tasks/configure-pod-container/configure-gmsa.
  it.each([
    ["priorityClassName: x", "PriorityClass", "scheduling.k8s.io/v1"],
    [
      "securityContext: {windowsOptions: {gmsaCredentialSpecName: x}}",
      "GMSACredentialSpec",
      "windows.k8s.io/v1",
    ],
  ])(
    "%s: a %s of the cluster is said to be taken as there, unless a file has it",
    (field, kind, apiVersion) => {
      const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: c, image: i}], ${field}}}`;
      const object = `{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {name: x}, value: 5}`;
      expect(notesOf(pod)).toEqual([
        `no file has ${kind} x, needed by Pod shop/web: it is taken to be there`,
      ]);
      expect(notesOf(pod, object)).toEqual([]);
      expect(
        notesOf(pod.replace("priorityClassName: x", "priorityClassName: system-node-critical"), object),
      ).toEqual([]);
    },
  );

  it("a credential spec of one container counts, too", () => {
    const spec = "securityContext: {windowsOptions: {gmsaCredentialSpecName: x}}";
    expect(notesOf(podOf(spec))).toEqual([
      "no file has GMSACredentialSpec x, needed by Pod shop/web: it is taken to be there",
    ]);
  });

  it.each([
    "env: [{name: A, valueFrom: {configMapKeyRef: {name: x, key: k, optional: true}}}]",
    "envFrom: [{secretRef: {name: x, optional: true}}]",
    "volumes: [{name: v, configMap: {name: kube-root-ca.crt}}]",
    "env: [{name: A, value: x}]",
  ])("%s needs nothing", (spec) => {
    expect(notesOf(podOf(spec))).toEqual([]);
  });

  it.each([
    ["ConfigMap", "configMapKeyRef", "data: {k: v}"],
    ["Secret", "secretKeyRef", "data: {k: dg==}"],
    ["Secret", "secretKeyRef", "stringData: {k: v}"],
  ])("a %s without the key is told by the key (%s, %s)", (kind, ref, data) => {
    const spec = (key: string): string =>
      podOf(`env: [{name: A, valueFrom: {${ref}: {name: x, key: ${key}}}}]`);
    const object = `{apiVersion: v1, kind: ${kind}, metadata: {name: x, namespace: shop}, ${data}}`;
    expect(notesOf(spec("k"), object)).toEqual([]);
    expect(notesOf(spec("url"), object)).toEqual([
      `no file has key "url" of ${kind} shop/x, needed by Pod shop/web: it is taken to be there`,
    ]);
  });

  it("a StatefulSet makes its own claims; several that need one object are told once", () => {
    expect(
      notesOf(podOf("volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]", "StatefulSet")),
    ).toEqual([]);
    const spec = "envFrom: [{secretRef: {name: x}}]";
    expect(notesOf(podOf(spec), podOf(spec).replace("name: web", "name: api"))).toEqual([
      "no file has Secret shop/x, needed by Pod shop/web and 1 more: it is taken to be there",
    ]);
  });

  it("of a pod that an API server has shown, its status tells", () => {
    const dumped = podOf("envFrom: [{secretRef: {name: x}}]").replace("name: web", "uid: 1c9a, name: web");
    expect(notesOf(dumped)).toEqual([]);
  });
});
