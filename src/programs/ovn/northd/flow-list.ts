/** The logical flows of one datapath, as they are written. */
import { assert } from "#core/base/assert.ts";
import { type Pipeline, stagesOf } from "./stages.ts";

export interface WrittenFlow {
  readonly stage: string;
  readonly table: number;
  readonly priority: number;
  readonly match: string;
  readonly actions: string;
  /** First digits of the UUID of the northbound object that it was written for (`stage-hint`); undefined for none. */
  readonly hint: string | undefined;
}

export class FlowList {
  readonly flows: WrittenFlow[] = [];
  private readonly tables: ReadonlyMap<string, number>;

  constructor(...pipelines: readonly Pipeline[]) {
    this.tables = new Map(
      pipelines.flatMap((name) => stagesOf(name).map((stage, table) => [stage, table] as const)),
    );
  }

  /** `of`: UUID of the northbound object that it is written for. */
  add(stage: string, priority: number, match: string, actions: string, of?: string): void {
    const table = this.tables.get(stage);
    assert(table !== undefined, `${stage} is a stage`);
    this.flows.push({ stage, table, priority, match, actions, hint: of?.slice(0, 8) });
  }

  /** Packets that no flow of these stages is about go on to the next. */
  pass(...stages: readonly string[]): void {
    for (const stage of stages) this.add(stage, 0, "1", "next;");
  }
}
