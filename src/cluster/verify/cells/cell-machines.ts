/**
 * The machines that cells need, as far as they say so: those who send, those who are asked, the back ends of Services, and, where a
 * name is asked for, those of the cluster's DNS.
 */
import { nodeOf } from "../facts.ts";
import type { VerifyModel, VerifyService } from "../model.ts";
import type { Cell } from "./cell.ts";

export class CellMachines {
  private readonly model: VerifyModel;
  /** Of pods and nodes, by reference. */
  private readonly byReference = new Map<string, string>();
  private readonly services = new Map<string, VerifyService>();
  /** Nodes of the back ends of Services that were asked for, each once. */
  private readonly known = new Map<string, readonly string[]>();

  constructor(model: VerifyModel) {
    this.model = model;
    for (const node of model.nodes) this.byReference.set(node.reference, node.name);
    for (const pod of model.pods) this.byReference.set(pod.reference, pod.node.name);
    for (const service of model.services) this.services.set(service.reference, service);
  }

  /** Nodes by name. */
  of(cells: readonly Cell[]): ReadonlySet<string> {
    return new Set(cells.flatMap((cell) => [...this.ownOf(cell), ...this.resolversOf(cell)]));
  }

  /** The same without those of the DNS: what so many cells need says of none which others it goes with. */
  ownOf({ source, target }: Cell): readonly string[] {
    const from = source === undefined ? undefined : nodeOf(source)?.name;
    const to = this.byReference.get(target.reference);
    return [from, to].flatMap((name) => name ?? []).concat(this.behind(target.reference));
  }

  private resolversOf({ target: { name, question } }: Cell): readonly string[] {
    return name === undefined && question === undefined ? [] : (this.model.dns?.nodes ?? []);
  }

  /** The nodes of a Service's back ends. */
  private behind(reference: string): readonly string[] {
    const known = this.known.get(reference);
    if (known !== undefined) return known;
    const ports = this.services.get(reference)?.ports ?? [];
    const names = ports.flatMap(({ backEnds }) => backEnds.flatMap(({ pod }) => pod?.node.name ?? []));
    const nodes = [...new Set(names)];
    this.known.set(reference, nodes);
    return nodes;
  }
}
