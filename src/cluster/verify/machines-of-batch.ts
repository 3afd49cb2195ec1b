/**
 * The machines that a batch will need, as far as its cells say so: those who send, those who are asked, and the back ends of
 * Services. They come up, and are copied, before the first attempt; whoever is met besides ends the batch, which begins again
 * with that machine (`askInSteps` of the session).
 */
import { defined } from "#core/base/assert.ts";
import type { ClusterSession } from "../session/session.ts";
import type { Cell } from "./cells/cell.ts";
import { nodeOf } from "./facts.ts";
import type { VerifyModel, VerifyService } from "./model.ts";
import type { VerifyPlan } from "./plan.ts";
import { type BatchResult, runBatch } from "./run-batch.ts";

/** Finds the nodes of those whom cells ask. */
class Machines {
  private readonly model: VerifyModel;
  /** Of pods and nodes, by reference. */
  private readonly byReference = new Map<string, string>();
  private readonly services = new Map<string, VerifyService>();

  constructor(model: VerifyModel) {
    this.model = model;
    for (const node of model.nodes) this.byReference.set(node.reference, node.name);
    for (const pod of model.pods) this.byReference.set(pod.reference, pod.node.name);
    for (const service of model.services) this.services.set(service.reference, service);
  }

  of({ source, target }: Cell): readonly string[] {
    const from = source === undefined ? undefined : nodeOf(source)?.name;
    const to = this.byReference.get(target.reference);
    const resolver = target.name === undefined ? [] : this.behind(this.model.dns?.reference);
    return [from, to].flatMap((name) => name ?? []).concat(this.behind(target.reference), resolver);
  }

  /** The nodes of a Service's back ends. */
  private behind(reference: string | undefined): readonly string[] {
    const ports = this.services.get(reference ?? "")?.ports ?? [];
    return ports.flatMap(({ backEnds }) => backEnds.flatMap(({ pod }) => pod?.node.name ?? []));
  }
}

/** Nodes by name. */
export function machinesOf({ model, cells, tried, batches }: VerifyPlan, batch: number): ReadonlySet<string> {
  const machines = new Machines(model);
  const isAsked = new Set(tried);
  const { positions } = defined(batches[batch], "the plan has the batch");
  const asked = positions.flatMap((position) => cells[position] ?? []).filter((cell) => isAsked.has(cell));
  return new Set(asked.flatMap((cell) => machines.of(cell)));
}

/** Runs a batch in a session whose machines come up when somebody asks (`runBatch`). */
export function tryBatch(
  session: ClusterSession,
  plan: VerifyPlan,
  batch: number,
): AsyncGenerator<number, BatchResult, undefined> {
  return session.askInSteps((cluster) => runBatch({ ...plan, cluster }, batch), machinesOf(plan, batch));
}
