/** The table of the cost model in docs/reference/hns-faults.md. */
import { formatMarkdownTable } from "../../base/markdown-table.ts";
import { COST_MODELS } from "../../hcn/faults/fault.ts";
import { COST_MODEL_TABLE, costOf } from "./cost-model.ts";

/** The cluster of the measurement that the model is fitted to. */
const ENDPOINTS = 5_000;
const LOAD_BALANCERS = 2_000;
const MS_PER_MINUTE = 60_000;

function milliseconds(ms: number): string {
  return `${Number(ms.toPrecision(2))} ms`;
}

/** One row per model, with the total that it is fitted to. */
export function formatCosts(): string {
  const rows = COST_MODELS.map((name) => {
    const model = COST_MODEL_TABLE[name];
    let total = 0;
    for (let made = 0; made < ENDPOINTS + LOAD_BALANCERS; made++)
      total += costOf(model, "create", made < ENDPOINTS ? "Endpoint" : "LoadBalancer", made);
    return [
      `\`${name}\``,
      milliseconds(model.readMs),
      milliseconds(model.changeMs),
      model.changeMsPerObject < 1e-9 ? "0" : milliseconds(model.changeMsPerObject),
      milliseconds(model.networkMs),
      `${Math.round(total / MS_PER_MINUTE)} min`,
    ];
  });
  const titles = [
    "Model",
    "List, query",
    "Make, change, delete",
    "and for each that is there",
    "Make, delete a network",
    "5000 endpoints, 2000 load balancers",
  ];
  return formatMarkdownTable([titles, ...rows]);
}
