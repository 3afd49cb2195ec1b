/** Options of a call, by name: `mtu = 1400`, `vip="10.96.0.10:80"`. */
import type { Argument } from "./actions.ts";

type Option = Extract<Argument, { kind: "option" }>;

/** All options of a call, in its order. */
export function optionsIn(args: readonly Argument[]): readonly Option[] {
  return args.filter((each): each is Option => each.kind === "option");
}

/** A text, or a number as it was written in decimal. */
export function textOfArgument(argument: Argument | undefined): string | undefined {
  if (argument?.kind === "text") return argument.text;
  return argument?.kind === "constant" ? String(argument.value) : undefined;
}

/** The value of `name=…`; undefined where the call has none. */
export function optionText(args: readonly Argument[], name: string): string | undefined {
  const [first] = optionsIn(args).find((each) => each.name === name)?.values ?? [];
  return textOfArgument(first);
}

/** Options of a call that are in none of the tables that write them. */
export function unknownOptions(args: readonly Argument[], known: ReadonlySet<string>): readonly string[] {
  return optionsIn(args).flatMap(({ name }) => (known.has(name) ? [] : [name]));
}
