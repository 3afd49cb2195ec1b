/** Examples of rules: what one is, and its inputs with the marks taken out and the places that they mark. */
import { parseProfile } from "#core/catalogue/profiles.ts";
import { type LintOptions, parseKubernetes } from "#diagnose/lint/context.ts";
import { lint } from "#diagnose/lint/lint.ts";
import type { LintReport } from "#diagnose/lint/report/report.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { SourceText } from "#core/base/source-text.ts";
import { CONFIGURATION_FILE, readConfiguration } from "#diagnose/lint/suppressions.ts";

/** A file of an example. */
export interface ExampleFile {
  readonly name: string;
  readonly text: string;
}

/**
 * An input that shows a rule. In a bad one each place where the rule's finding begins has a mark `«` before it; the
 * marks are taken out before it is read.
 */
export interface ExampleInput {
  readonly files: readonly ExampleFile[];
  /** Flags of `mullion lint`. */
  readonly profile?: string;
  readonly kubernetes?: string;
  readonly isWindows?: boolean;
}

export interface RuleExamples {
  readonly bad: ExampleInput;
  readonly good: ExampleInput;
}

/** Examples by code. Every rule has one. */
export type ExampleTable = Readonly<Partial<Record<KnowledgeCode, RuleExamples>>>;

/** An example of one file. The ending of `name` counts: `pod.yaml`, `cni.conf`. */
export function oneFile(
  name: string,
  text: string,
  options: Pick<ExampleInput, "profile" | "kubernetes" | "isWindows"> = {},
): ExampleInput {
  return { files: [{ name, text }], ...options };
}

const MARK = "«";

/** A marked place: `file:line:column`. */
export interface PlainExample {
  readonly sources: readonly SourceText[];
  readonly marked: readonly string[];
}

function optionsOf({ profile, kubernetes, isWindows }: ExampleInput): LintOptions {
  const build = profile === undefined ? undefined : parseProfile(profile);
  const version = kubernetes === undefined ? undefined : parseKubernetes(kubernetes);
  return {
    ...(build === undefined ? {} : { profile: build }),
    ...(version === undefined ? {} : { kubernetes: version }),
    ...(isWindows === undefined ? {} : { isWindows }),
  };
}

/** Takes the marks out. A byte order mark at the beginning is taken as it would be in a file. */
export function plainExample({ files }: ExampleInput): PlainExample {
  const marked: string[] = [];
  const sources = files.map(({ name, text }) => {
    const isMarked = text.startsWith("\uFEFF");
    const parts = (isMarked ? text.slice(1) : text).split(MARK);
    const source = new SourceText(name, parts.join(""), "utf-8", isMarked);
    let offset = 0;
    for (const part of parts.slice(0, -1)) {
      offset += part.length;
      const { line, column } = source.positionOf(offset);
      marked.push(`${name}:${line}:${column}`);
    }
    return source;
  });
  return { sources, marked };
}

/** What lint says about an example. */
export function lintExample(example: ExampleInput): LintReport {
  const { sources } = plainExample(example);
  const isConfiguration = (source: SourceText): boolean => source.file.endsWith(CONFIGURATION_FILE);
  const own = sources.find(isConfiguration);
  return lint({
    sources: sources.filter((source) => !isConfiguration(source)),
    options: optionsOf(example),
    ...(own === undefined ? {} : { configuration: readConfiguration(own) }),
  });
}
