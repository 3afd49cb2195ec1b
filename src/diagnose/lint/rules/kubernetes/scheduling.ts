/** Pods for which none of the nodes that the input shows is fit: the scheduler itself is asked. */
import { isFields } from "#core/base/json.ts";
import { isKubeKind } from "#contracts/kubernetes/kinds.ts";
import type { Node, Pod, PodSpec } from "#contracts/kubernetes/objects.ts";
import { isOfServer } from "#contracts/kubernetes/object-fields.ts";
import { Scheduler } from "#control-plane/controllers/scheduler.ts";
import { FieldFaults } from "#control-plane/load/checks/field-check.ts";
import { checkObject } from "#control-plane/load/checks/kind-checks.ts";
import { normalize } from "#control-plane/load/checked-object.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { nodeManifest } from "#cluster/session/node-object.ts";
import type { LintContext } from "../../context.ts";
import { numberAt, textAt, valueAt } from "../../input/fields.ts";
import { objectTypeOf } from "../../input/recognize.ts";
import { type LintRule, rule } from "../../rule.ts";

function isChecked(kind: string, value: Readonly<Record<string, unknown>>): boolean {
  if (!isKubeKind(kind)) return false;
  const faults = new FieldFaults();
  checkObject(kind, value, faults);
  return faults.list.length === 0;
}

/** The machines of cluster files, as Nodes. */
function nodesOfFiles(context: LintContext): readonly Node[] {
  return context.ofKind("cluster").flatMap(({ text, source }) => {
    const parsed = parseClusterFile(text, source.file);
    if ("problems" in parsed) return [];
    return parsed.cluster.nodes.map(
      (spec) => normalize("Node", nodeManifest(parsed.cluster, spec), "", { isOwn: true }) as Node,
    );
  });
}

/** A Node object of a machine adds to what its kubelet gives it. */
function joined(machine: Node | undefined, node: Node): Node {
  if (machine === undefined) return node;
  const labels = { ...machine.metadata.labels, ...node.metadata.labels };
  return { ...node, metadata: { ...node.metadata, labels } };
}

/** The scheduler of the input's nodes; undefined where the input does not show what its nodes are. */
function schedulerOf(context: LintContext): Scheduler | undefined {
  const machines = new Map(nodesOfFiles(context).map((node) => [node.metadata.name, node]));
  for (const { value } of context.objects("Node")) {
    if (!isChecked("Node", value)) return undefined;
    const node = normalize("Node", value, "", { isOwn: true }) as Node;
    // A fragment: every kubelet gives its Node labels.
    if (Object.keys(node.metadata.labels ?? {}).length === 0 && !machines.has(node.metadata.name))
      return undefined;
    machines.set(node.metadata.name, joined(machines.get(node.metadata.name), node));
  }
  return machines.size === 0 ? undefined : new Scheduler([...machines.values()], () => []);
}

/** Kinds whose pods have no node by design where none is fit. */
const OF_FITTING_NODES: ReadonlySet<string> = new Set(["DaemonSet"]);

/** kube-scheduler's plugins, as `verify` runs them. What an API server has shown waits for its own reasons. */
const UNSCHEDULABLE = rule("pod-unschedulable", "kubernetes", function* (document, context) {
  const pod = context.podOf(document);
  const type = objectTypeOf(document.value);
  if (pod === undefined || isOfServer(document.value) || OF_FITTING_NODES.has(type)) return;
  if (numberAt(document.value, "spec", "replicas") === 0) return;
  if (textAt(pod.spec, "nodeName") !== undefined || !isChecked(type, document.value)) return;
  const placement = context.once(schedulerOf)?.schedule({
    kind: "Pod",
    metadata: { name: "", namespace: "", uid: "" },
    // Checked with the object that it stands in.
    spec: pod.spec as unknown as PodSpec,
  } as Pod);
  if (placement === undefined || "node" in placement) return;
  const field = ["nodeSelector", "affinity"].find((name) => isFields(valueAt(pod.spec, name)));
  yield {
    at: { path: field === undefined ? pod.path : [...pod.path, field] },
    message: `no node is fit for its pods: ${placement.message.replace(/\.$/, "")}`,
  };
});

export const SCHEDULING_RULES: readonly LintRule[] = [UNSCHEDULABLE];
