/** All rules as a part of a page: docs/reference/lint.md. */
import { formatMarkdownTable } from "#core/base/text-layout.ts";
import { getEntry } from "#diagnose/catalogue/catalogue.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { DocumentKind } from "#diagnose/lint/input/document.ts";
import { plainExample } from "#test/support/lint/example-input.ts";
import type { RuleExamples } from "#diagnose/lint/rule.ts";
import { LINT_EXAMPLES } from "#test/support/lint/all-examples.ts";
import { LINT_RULES } from "#diagnose/lint/rules/all-rules.ts";

const KIND_TITLES: Readonly<Record<DocumentKind, string>> = {
  kubernetes: "Kubernetes objects",
  cni: "CNI configuration",
  flannel: "flannel's net-conf",
  "kube-proxy": "kube-proxy's configuration",
  "kube-proxy-flags": "kube-proxy's flags",
  hns: "HNS requests",
  cluster: "cluster files",
  "subnet-env": "subnet.env",
};

function escapeMarkdown(text: string): string {
  return text.replace(/[<>*_|]/g, (letter) => `\\${letter}`);
}

/** Lines of the examples of a page; longer ones are told by their first lines. */
const EXAMPLE_LINES = 24;

function exampleBlock({ bad }: RuleExamples): string {
  const [first] = bad.files;
  if (first === undefined) return "";
  const { marked } = plainExample(bad);
  const text = first.text.replaceAll("«", "").replaceAll("\u00a0", "\u2423").trimEnd();
  const lines = text.split("\n");
  const shown = lines.length > EXAMPLE_LINES ? [...lines.slice(0, EXAMPLE_LINES), "…"] : lines;
  const [place = ""] = marked;
  return [`Found at \`${place}\` in:`, "", "```text", ...shown, "```"].join("\n");
}

function sectionOf(code: KnowledgeCode): string {
  const { severity = "warning", title } = getEntry(code);
  const examples = LINT_EXAMPLES[code];
  return [
    `### ${code}`,
    `**${escapeMarkdown(title)}.** ${severity}; [why, and what to do](codes.md#${code}).`,
    ...(examples === undefined ? [] : [exampleBlock(examples)]),
  ].join("\n\n");
}

/** Every rule by the kind of document that it looks at first. */
export function formatRules(): string {
  const parts: string[] = [];
  const reported = new Set<KnowledgeCode>();
  for (const [kind, title] of Object.entries(KIND_TITLES)) {
    const codes = LINT_RULES.filter(({ applies, code }) => applies[0] === kind && !reported.has(code)).map(
      ({ code }) => code,
    );
    for (const code of codes) reported.add(code);
    if (codes.length === 0) continue;
    const unique = [...new Set(codes)].toSorted();
    const rows = unique.map((code) => {
      const { severity = "warning", title: text } = getEntry(code);
      return [`[${code}](#${code})`, severity, escapeMarkdown(text)];
    });
    parts.push(`## Rules over ${title}`, formatMarkdownTable([["Code", "Weight", "What"], ...rows]));
    parts.push(...unique.map(sectionOf));
  }
  return parts.join("\n\n");
}
