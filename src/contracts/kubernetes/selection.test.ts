// Selectors as kubectl and the API write them: kubernetes.io/docs/concepts/overview/working-with-objects/labels and
// .../field-selectors say what each of them means.
import { describe, expect, it } from "vitest";
import { KubeError } from "./error.ts";
import type { KubeKind, KubeObject } from "./objects.ts";
import { selectorOf } from "./selection.ts";

function pod(name: string, labels?: Readonly<Record<string, string>>, fields: object = {}): KubeObject {
  const metadata = { name, namespace: name.startsWith("kube-") ? "kube-system" : "default", labels };
  return { apiVersion: "v1", kind: "Pod", metadata, ...fields } as KubeObject;
}

const PODS = [
  pod(
    "web",
    { app: "web", tier: "front", weight: "7" },
    { spec: { nodeName: "win-1" }, status: { phase: "Running" } },
  ),
  pod(
    "db",
    { app: "db", tier: "back", weight: "-3" },
    { spec: { nodeName: "win-1" }, status: { phase: "Pending" } },
  ),
  pod(
    "cache",
    { app: "cache", weight: "heavy" },
    { spec: { nodeName: "win-2" }, status: { phase: "Running" } },
  ),
  pod("bare", undefined, { spec: { hostNetwork: true } }),
  pod(
    "kube-dns",
    { app: "dns", constructor: "" },
    { spec: { nodeName: "win-2" }, status: { phase: "Running" } },
  ),
];

const chosen = (kind: KubeKind, selection: object): readonly string[] =>
  PODS.filter(selectorOf(kind, selection)).map(({ metadata }) => metadata.name);

const EVERY = PODS.map(({ metadata }) => metadata.name);

describe("label selectors", () => {
  it.each([
    ["", EVERY],
    [" , ", EVERY],
    ["app=web", ["web"]],
    ["app==web", ["web"]],
    ["app = web", ["web"]],
    ["app!=web", ["db", "cache", "bare", "kube-dns"]],
    ["tier", ["web", "db"]],
    ["!tier", ["cache", "bare", "kube-dns"]],
    ["! tier", ["cache", "bare", "kube-dns"]],
    ["app in (web, db)", ["web", "db"]],
    ["app in (web,db),tier=back", ["db"]],
    ["tier=back,app in (web,db)", ["db"]],
    ["app notin (web,db)", ["cache", "bare", "kube-dns"]],
    ["app notin (web,db),app", ["cache", "kube-dns"]],
    ["weight>7", []],
    ["weight>6", ["web"]],
    ["weight<7", ["db"]],
    ["weight < -2", ["db"]],
    ["weight>-3", ["web"]],
    ["app=web,app=db", []],
    ["app=,tier", []],
    ["constructor=", ["kube-dns"]],
    ["toString", []],
    ["app=web,", ["web"]],
  ])("%j: %j", (labelSelector, expected) => {
    expect(chosen("Pod", { labelSelector })).toEqual(expected);
  });

  it.each([
    "app=web db",
    "app in web",
    "app in (a b)",
    "=web",
    "app in (web",
    "-app",
    "app>x",
    "app=(a)",
    "app in (_)",
  ])("%j is refused as an API server refuses it", (labelSelector) => {
    const error: unknown = expect.objectContaining({ code: "kubernetes-request-invalid", status: 400 });
    expect(() => selectorOf("Pod", { labelSelector })).toThrow(error);
    expect(() => selectorOf("Pod", { labelSelector })).toThrow(/^unable to parse requirement: /);
  });
});

describe("field selectors", () => {
  it.each([
    ["metadata.name=web", ["web"]],
    ["metadata.name==web", ["web"]],
    ["metadata.name!=web", ["db", "cache", "bare", "kube-dns"]],
    [" metadata.name = web ", ["web"]],
    ["metadata.namespace=kube-system", ["kube-dns"]],
    ["spec.nodeName=win-1,status.phase=Running", ["web"]],
    ["spec.nodeName=win-1,status.phase!=Running", ["db"]],
    ["status.phase=Running,metadata.namespace!=kube-system", ["web", "cache"]],
    ["spec.nodeName=", ["bare"]],
    ["spec.hostNetwork=true", ["bare"]],
    ["spec.hostNetwork=false", ["web", "db", "cache", "kube-dns"]],
    ["status.podIP=", EVERY],
  ])("%j: %j", (fieldSelector, expected) => {
    expect(chosen("Pod", { fieldSelector })).toEqual(expected);
  });

  it("hold together with namespace and labels", () => {
    const selection = { namespace: "default", labelSelector: "app", fieldSelector: "status.phase=Running" };
    expect(chosen("Pod", selection)).toEqual(["web", "cache"]);
    expect(chosen("Pod", { namespace: "kube-system" })).toEqual(["kube-dns"]);
    expect(chosen("Pod", { namespace: "nowhere" })).toEqual([]);
  });

  it.each([
    ["Pod", "spec.color=red", /field label not supported/],
    ["Service", "spec.nodeName=win-1", /field label not supported/],
    ["Pod", "toString=x", /field label not supported/],
    ["Pod", "nothing", /^invalid field selector: nothing; can't understand it$/],
  ] as const)("of a %s: %j is refused", (kind, fieldSelector, message) => {
    expect(() => selectorOf(kind, { fieldSelector })).toThrow(KubeError);
    expect(() => selectorOf(kind, { fieldSelector })).toThrow(message);
  });

  it.each([
    ["Service", "spec.type=NodePort", { spec: { type: "NodePort" } }],
    ["Service", "spec.clusterIP=10.96.0.10", { spec: { clusterIP: "10.96.0.10" } }],
    ["Node", "spec.unschedulable=false", {}],
    ["Node", "spec.unschedulable=true", { spec: { unschedulable: true } }],
    ["ReplicaSet", "status.replicas=2", { status: { replicas: 2 } }],
    [
      "Event",
      "involvedObject.name=web,reason=Killing",
      { involvedObject: { name: "web" }, reason: "Killing" },
    ],
  ] as const)("of a %s: %s", (kind, fieldSelector, fields) => {
    const holds = selectorOf(kind, { fieldSelector });
    expect(holds(pod("x", {}, fields))).toBe(true);
    expect(
      holds(pod("y", {}, { spec: { type: "Other", unschedulable: kind === "Node" && !("spec" in fields) } })),
    ).toBe(false);
  });
});
