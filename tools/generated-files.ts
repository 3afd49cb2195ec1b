/** Files of the repository that come from the source: schemas, and pages or parts of pages. */
import { readFileSync } from "node:fs";
import { API_SHAPES, apiOpenApi, apiSchema } from "#cluster/api/schema.ts";
import { clusterSchema, formatFieldTables } from "./cluster-schema.ts";
import { cniReportSchema } from "#cli/mullion/cni/report.ts";
import { callSchema } from "#cli/mullion/wine/call-record.ts";
import { BRING_UP_SCHEMA } from "#cluster/bring-up/report.ts";
import { EXEC_SCHEMA } from "#cluster/exec/exec-report.ts";
import { RESOLUTION_SCHEMA } from "#cluster/trace/resolve-report.ts";
import { TRACE_SCHEMA } from "#cluster/trace/trace-report.ts";
import { formatDocumentsPage } from "./format-documents-page.ts";
import { formatCosts, formatEffects } from "./fault-effects-page.ts";
import { formatKnownFaults, formatQuirks } from "./format-quirks.ts";
import { faultPlanSchema } from "./fault-plan-schema.ts";
import { COMPARISON_SCHEMA } from "#cluster/verify/compare.ts";
import { SHARD_SCHEMA } from "#cluster/verify/shard.ts";
import { VERIFY_SCHEMA } from "#cluster/verify/report.ts";
import { hnsOpenApi } from "#hns/http/openapi.ts";
import { dumpSchema } from "#contracts/hcn/dumps.ts";
import { errorsSchema, explanationListSchema } from "#diagnose/catalogue/errors/error-documents.ts";
import { logFindingsSchema, logFolderFindingsSchema } from "#diagnose/catalogue/log/findings.ts";
import { doctorSchema } from "#diagnose/doctor/doctor.ts";
import { doctorEventSchema } from "#diagnose/doctor/finding-history.ts";
import { formatCatalogueIndex, formatCodeTypes, formatCodes, formatErrorsIndex } from "./format-index.ts";
import {
  REPORT_SHAPES,
  formatEvents,
  formatNodeActions,
  formatRoutes,
  formatShapes,
} from "./format-shapes.ts";
import { formatCniResult } from "./format-cni-result.ts";
import { formatNetConf, netConfSchema } from "./format-net-conf.ts";
import { formatRules } from "./format-rules-page.ts";
import { LINT_SHARD_SCHEMA } from "#diagnose/lint/shard.ts";
import { vfpDifferencesSchema, vfpListingSchema } from "#diagnose/vfp-text/documents.ts";
import { lintSchema } from "#diagnose/lint/report/format-json.ts";
import { formatWordModule, formatWordTypes } from "./word-modules.ts";
import { withOutputs } from "./example-output.ts";
import { TROUBLESHOOTING_ITEMS, formatTroubleshooting } from "./troubleshooting-page.ts";
import { entrySchema } from "#diagnose/catalogue/entry.ts";

/** A generated file: its path from the root, and what it should hold. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

function formatJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Replaces the lines between the marks `<!-- NAME: begin … -->` and `<!-- NAME: end -->` of a page. */
function withPart(path: string, name: string, part: string): GeneratedFile {
  return withParts(path, [[name, part]]);
}

function withParts(path: string, parts: readonly (readonly [name: string, part: string])[]): GeneratedFile {
  let text = readFileSync(path, "utf8");
  for (const [name, part] of parts) text = replacePart(path, text, name, part);
  return { path, text };
}

function replacePart(path: string, page: string, name: string, part: string): string {
  const begin = new RegExp(`<!-- ${name}: begin[^>]*-->\n`).exec(page);
  const end = page.indexOf(`<!-- ${name}: end -->`);
  if (begin === null || end < begin.index) throw new Error(`${path} has no marks for ${name}`);
  const from = begin.index + begin[0].length;
  return `${page.slice(0, from)}\n${part}\n\n${page.slice(end)}`;
}

async function pageWithOutputs(path: string): Promise<GeneratedFile> {
  return { path, text: await withOutputs(readFileSync(path, "utf8")) };
}

/** The examples of the troubleshooting list, and the page that is made from them. */
async function troubleshooting(): Promise<readonly GeneratedFile[]> {
  const paths = TROUBLESHOOTING_ITEMS.map(({ example }) => `examples/trouble-${example}/README.md`);
  const readmes = await Promise.all(paths.map(pageWithOutputs));
  const items = formatTroubleshooting(readmes.map(({ text }) => text));
  return [...readmes, withPart("docs/how-to/troubleshoot-a-windows-node.md", "items", items)];
}

/** Every generated file with its right content. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  return [
    { path: "schemas/cluster.v1alpha1.json", text: formatJson(clusterSchema()) },
    { path: "schemas/api.v1alpha1.json", text: formatJson(apiSchema()) },
    { path: "schemas/api.openapi.json", text: formatJson(apiOpenApi()) },
    { path: "schemas/trace.v1alpha1.json", text: formatJson(TRACE_SCHEMA) },
    { path: "schemas/resolve.v1alpha1.json", text: formatJson(RESOLUTION_SCHEMA) },
    { path: "schemas/exec.v1alpha1.json", text: formatJson(EXEC_SCHEMA) },
    { path: "schemas/bring-up.v1alpha1.json", text: formatJson(BRING_UP_SCHEMA) },
    { path: "schemas/verify.v1alpha1.json", text: formatJson(VERIFY_SCHEMA) },
    { path: "schemas/verify-comparison.v1alpha1.json", text: formatJson(COMPARISON_SCHEMA) },
    { path: "schemas/verify-shard.v1alpha1.json", text: formatJson(SHARD_SCHEMA) },
    { path: "schemas/knowledge-entry.v1alpha1.json", text: formatJson(entrySchema()) },
    { path: "schemas/lint.v1alpha1.json", text: formatJson(lintSchema()) },
    { path: "schemas/lint-shard.v1alpha1.json", text: formatJson(LINT_SHARD_SCHEMA) },
    { path: "schemas/errors.v1alpha1.json", text: formatJson(errorsSchema()) },
    { path: "schemas/explanation-list.v1alpha1.json", text: formatJson(explanationListSchema()) },
    { path: "schemas/vfp-listing.v1alpha1.json", text: formatJson(vfpListingSchema()) },
    { path: "schemas/vfp-differences.v1alpha1.json", text: formatJson(vfpDifferencesSchema()) },
    { path: "schemas/hns-dump.v1alpha1.json", text: formatJson(dumpSchema()) },
    { path: "schemas/log-findings.v1alpha1.json", text: formatJson(logFindingsSchema()) },
    { path: "schemas/log-folder-findings.v1alpha1.json", text: formatJson(logFolderFindingsSchema()) },
    { path: "schemas/doctor-report.v1alpha1.json", text: formatJson(doctorSchema()) },
    { path: "schemas/doctor-event.v1alpha1.json", text: formatJson(doctorEventSchema()) },
    { path: "schemas/hns.openapi.json", text: formatJson(hnsOpenApi()) },
    { path: "schemas/hns-fault-plan.v1alpha1.json", text: formatJson(faultPlanSchema()) },
    { path: "schemas/cni.v1alpha1.json", text: formatJson(cniReportSchema()) },
    { path: "schemas/hns-calls.v1alpha1.json", text: formatJson(callSchema()) },
    { path: "schemas/flannel-net-conf.json", text: formatJson(netConfSchema()) },
    { path: "data/codes.js", text: formatCodes() },
    { path: "data/codes.d.ts", text: formatCodeTypes() },
    { path: "data/words.js", text: formatWordModule() },
    { path: "data/words.d.ts", text: formatWordTypes() },
    { path: "data/catalogue/README.md", text: formatCatalogueIndex() },
    { path: "data/errors/README.md", text: formatErrorsIndex() },
    withPart("docs/reference/cluster-file.md", "fields", formatFieldTables()),
    withPart("docs/reference/hcn-documents.md", "documents", formatDocumentsPage()),
    withParts("docs/reference/api.md", [
      ["paths", formatRoutes()],
      ["nodes", formatNodeActions()],
      ["events", formatEvents()],
      ["documents", formatShapes(API_SHAPES)],
    ]),
    withParts("docs/reference/reports.md", [
      ["cni-result", formatCniResult()],
      ["documents", formatShapes(REPORT_SHAPES)],
    ]),
    withPart("docs/reference/net-conf.md", "fields", formatNetConf()),
    withPart("docs/reference/lint.md", "rules", formatRules()),
    withParts("docs/reference/hns-faults.md", [
      ["effects", formatEffects()],
      ["costs", formatCosts()],
      ["quirks", formatQuirks()],
      ["known-faults", formatKnownFaults()],
    ]),
    await pageWithOutputs("README.md"),
    await pageWithOutputs("docs/start/first-trace.md"),
    await pageWithOutputs("docs/start/hns.md"),
    await pageWithOutputs("docs/how-to/check-network-policies.md"),
    await pageWithOutputs("docs/how-to/read-vfp.md"),
    await pageWithOutputs("docs/how-to/find-out-why-a-node-is-broken.md"),
    await pageWithOutputs("docs/how-to/run-cni-plugins.md"),
    await pageWithOutputs("docs/how-to/bring-up-a-flannel-node.md"),
    ...(await troubleshooting()),
  ];
}
