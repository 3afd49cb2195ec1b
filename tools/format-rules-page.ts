/** All rules as a part of a page: docs/reference/lint.md. */
import { formatMarkdownTable } from "./markdown-table.ts";
import { getEntry, pathOfEntry } from "#diagnose/catalogue/catalogue.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { DocumentKind } from "#diagnose/lint/input/document.ts";
import { type ExampleInput, type RuleExamples, plainExample } from "#test/support/lint/example-input.ts";
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
  "node-settings": "scripts of a node and containerd's config.toml",
};

function escapeMarkdown(text: string): string {
  return text.replace(/[<>*_|]/g, (letter) => `\\${letter}`);
}

/** An example that takes hundreds of lines of one form is told by its first ones. */
const EXAMPLE_LINES = 40;

/** A no-break space, and the mark of a byte order at the beginning, as a page can show them. */
const SHOWN_BLANK = "\u2423";
const SHOWN_MARK = "\u25ca";

function shownText(text: string): { readonly lines: readonly string[]; readonly notes: readonly string[] } {
  const plain = text.replaceAll("\u00ab", "");
  const shown = plain.replaceAll("\u00a0", SHOWN_BLANK).replaceAll("\ufeff", SHOWN_MARK).trimEnd();
  const lines = shown.split("\n").map((line) => line.trimEnd());
  const isLong = lines.length > EXAMPLE_LINES;
  const notes = [
    ...(plain.includes("\u00a0") ? [`${SHOWN_BLANK} stands for a no-break space`] : []),
    ...(plain.includes("\ufeff") ? [`${SHOWN_MARK} stands for a byte order mark`] : []),
    ...(isLong ? ["shortened: it goes on like that"] : []),
  ];
  return { lines: isLong ? [...lines.slice(0, EXAMPLE_LINES), "\u2026"] : lines, notes };
}

function commandOf({ files, profile, kubernetes, isWindows }: ExampleInput): string {
  const words = [
    ...(profile === undefined ? [] : ["--profile", profile]),
    ...(kubernetes === undefined ? [] : ["--kubernetes", kubernetes]),
    ...(isWindows === true ? ["--windows"] : []),
    ...files.map(({ name }) => name),
  ];
  return `mullion lint ${words.join(" ")}`;
}

/** The command, where it finds what, and each file as it is: what stands here reproduces alone (a test runs it). */
function exampleBlock({ bad }: RuleExamples): string {
  const { marked } = plainExample(bad);
  const [place = ""] = marked;
  const blocks = bad.files.flatMap(({ name, text }) => {
    const { lines, notes } = shownText(text);
    const told = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
    return [`\`${name}\`${told}:`, "", "```text", ...lines, "```", ""];
  });
  return [`\`${commandOf(bad)}\` finds it at \`${place}\`.`, "", ...blocks].join("\n").trimEnd();
}

function sectionOf(code: KnowledgeCode): string {
  const { severity = "warning", title } = getEntry(code);
  const examples = LINT_EXAMPLES[code];
  return [
    `### ${code}`,
    `**${escapeMarkdown(title)}.** ${severity}; [why, and what to do](../../${pathOfEntry(code)}).`,
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
