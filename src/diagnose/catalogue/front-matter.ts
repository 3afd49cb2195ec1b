/** What stands at the head of a text of `data/`, read field by field. A text that is wrong is our fault: it throws. */
import { type TextFile, readTable } from "#data/texts.js";
import { isFields } from "#core/base/json.ts";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import type { Source } from "./entry.ts";

const THREAD = /^([\w.-]+\/[\w.-]+)#(\d+)$/;

/** Pages that many texts name, by the name that they have there. */
const PAGES: ReadonlyMap<string, Source> = new Map(
  new CheckedFields(readTable("sources"), (path) => `data/sources.yaml: ${path.join(": ")}`)
    .rows()
    .map(([name, row]) => [name, Object.freeze({ text: row.text("text"), url: row.text("url") })]),
);

/** Text and address; undefined for anything else. */
function pageOf(value: unknown): Source | undefined {
  if (!isFields(value)) return undefined;
  const { text, url } = value;
  return typeof text === "string" && typeof url === "string" ? Object.freeze({ text, url }) : undefined;
}

export class FrontMatter extends CheckedFields {
  private readonly sections: TextFile["sections"];

  constructor(name: string, { fields, sections }: TextFile) {
    super(fields, () => `data/${name}.md`);
    this.sections = sections;
  }

  /**
   * Where the text is from: the name of a page of `data/sources.yaml`, a thread as `owner/repository#1`, a section of a
   * reference, or text and address.
   */
  sources(): readonly Source[] {
    const value = this.take("sources");
    if (!Array.isArray(value)) return this.fail("sources is not a list");
    return Object.freeze(value.map((each: unknown) => Object.freeze(this.sourceOf(each))));
  }

  /** What stands under a heading; under "" what stands before the first. */
  section(heading: string): string {
    return this.sections[heading] ?? this.fail(`no section "${heading}"`);
  }

  private sourceOf(value: unknown): Source {
    if (typeof value === "string") {
      const page = PAGES.get(value);
      if (page !== undefined) return page;
      const [, repository, number] = THREAD.exec(value) ?? [];
      if (repository === undefined) return { text: value };
      return { text: value, url: `https://github.com/${repository}/issues/${number}` };
    }
    return pageOf(value) ?? this.fail("a source is wrong");
  }
}
