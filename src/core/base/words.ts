/**
 * Texts of `data/words/`, by name. One with holes, `{name}`, is a function of what comes into them; `\{name}` stands for
 * itself. The names of texts and holes are known to the compiler (`data/words.d.ts`).
 */

/** What comes into a hole. */
export type Filling = string | number | bigint | boolean;
/** A text with holes. */
export type Template<Hole extends string> = (values: Readonly<Record<Hole, Filling>>) => string;
type Text = string | Template<string>;

const HOLE = /\\?\{([a-z]\w*)\}/gu;

/** The holes of a text, each once, in their order. */
export function holesOf(text: string): readonly string[] {
  const found = [...text.matchAll(HOLE)].filter(([all]) => !all.startsWith("\\"));
  return [...new Set(found.map(([, name = ""]) => name))];
}

/** A text with what comes into its holes; a hole that nothing comes into stays. */
export function fillHoles(text: string, values: Readonly<Record<string, Filling>>): string {
  return text.replace(HOLE, (all, name: string) =>
    all.startsWith("\\") ? all.slice(1) : String(values[name] ?? all),
  );
}

function openText(text: string): Text {
  return holesOf(text).length === 0 ? fillHoles(text, {}) : (values) => fillHoles(text, values);
}

/**
 * Texts that are read when the first of them is asked for: who has nothing to say reads none.
 * @throws RangeError from the name of a text that is not there.
 */
export function textsByName(read: () => Readonly<Record<string, string>>): Readonly<Record<string, Text>> {
  const opened = new Map<string, Text>();
  let texts: Readonly<Record<string, string>> | undefined;
  return new Proxy(
    {},
    {
      get(_none, name) {
        if (typeof name !== "string") return undefined;
        const known = opened.get(name);
        if (known !== undefined) return known;
        texts ??= read();
        const text = texts[name];
        if (text === undefined) throw new RangeError(`there is no text ${name}`);
        const made = openText(text);
        opened.set(name, made);
        return made;
      },
    },
  );
}
