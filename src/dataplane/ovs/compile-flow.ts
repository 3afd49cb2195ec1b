/**
 * A row of Logical_Flow, compiled: its match and its actions as data, or why they cannot be read.
 *
 * A row with variables is another flow on each chassis: `ip4.dst == ^vip` (ovn-sb(5), Chassis_Template_Var). ovn-controller puts the
 * chassis' own values in before it reads the text, and has no such flow where a value is missing (lib/lex.c,
 * `lexer_parse_template_string`).
 */
import { unknownDhcpOptions } from "./dhcp-options.ts";
import { unknownDhcpv6Options } from "./dhcpv6-options.ts";
import { type Action, type Argument, needsOf, parseActions } from "./language/actions.ts";
import { type Match, parseMatch, withNeeds } from "./language/match.ts";
import { LanguageError } from "./language/tokens.ts";
import { unknownAdvertisementOptions } from "./router-advertisements.ts";
import type { ChassisVariables, LogicalFlowRow } from "./southbound.ts";

/** A flow, ready to run. */
export interface CompiledFlow {
  readonly row: LogicalFlowRow;
  readonly match: Match;
  readonly actions: readonly Action[];
  /** Why its actions cannot be carried out; undefined when they can. A packet that matches ends there. */
  readonly refusal: string | undefined;
  /** By chassis, for a row with variables: what it is there, or why it is not. Absent for others, which are the same everywhere. */
  readonly byChassis?: ReadonlyMap<string, CompiledFlow | UnreadableFlow>;
}

/** A flow whose match cannot be read: no packet can be told to match it. */
export interface UnreadableFlow {
  readonly row: LogicalFlowRow;
  readonly problem: string;
}

/** Actions that are read and not carried out. */
const REFUSED: ReadonlySet<string> = new Set([
  "chk_evpn_arp",
  "ct_lb_mark_local",
  "dhcp_relay_req_chk",
  "dhcp_relay_resp_chk",
  "flood_remote",
  "get_remote_fdb",
]);

/** Options that an action cannot write, by the action. */
const UNKNOWN_OPTIONS: Readonly<Record<string, (given: readonly Argument[]) => readonly string[]>> = {
  put_dhcp_opts: unknownDhcpOptions,
  put_dhcpv6_opts: unknownDhcpv6Options,
  put_nd_ra_opts: unknownAdvertisementOptions,
};

function unknownOptionOf(action: Action): string | undefined {
  if (action.kind !== "call") return undefined;
  const [option] = UNKNOWN_OPTIONS[action.name]?.(action.arguments) ?? [];
  return option === undefined ? undefined : `${action.name} with the option ${option}`;
}

/** The first action that is not carried out. */
function findRefused(actions: readonly Action[]): string | undefined {
  for (const action of actions) {
    if ((action.kind === "call" || action.kind === "nested") && REFUSED.has(action.name)) return action.name;
    const option = unknownOptionOf(action);
    if (option !== undefined) return option;
    if (action.kind !== "nested") continue;
    const inner = findRefused(action.actions);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** @throws what is no fault of a text */
export function problemOf(thrown: unknown): string {
  if (thrown instanceof LanguageError) return thrown.message;
  throw thrown;
}

/** What a row without variables becomes. */
function compileText(row: LogicalFlowRow): CompiledFlow | UnreadableFlow {
  let match: Match;
  try {
    match = parseMatch(row.match);
  } catch (thrown) {
    return { row, problem: problemOf(thrown) };
  }
  try {
    const actions = parseActions(row.actions);
    match = withNeeds(match, needsOf(actions));
    const refused = findRefused(actions);
    const refusal = refused === undefined ? undefined : `the action ${refused} is not carried out`;
    return Object.freeze({ row, match, actions, refusal });
  } catch (thrown) {
    return Object.freeze({ row, match, actions: [], refusal: problemOf(thrown) });
  }
}

/** Text in quotes stays as it is, to the end where the last quote is missing. */
const VARIABLE = /"(?:[^"\\]|\\.)*(?:"|\\?$)|\^([A-Za-z_.][A-Za-z_0-9.]*)/gs;

function variablesIn(text: string): readonly string[] {
  if (!text.includes("^")) return [];
  return [...text.matchAll(VARIABLE)].flatMap(([, name]) => name ?? []);
}

export function hasVariables({ match, actions }: LogicalFlowRow): boolean {
  return variablesIn(match).length > 0 || variablesIn(actions).length > 0;
}

/** `text` with the values of its variables; those that have none stay. */
export function withValues(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(VARIABLE, (found, name: string | undefined) =>
    name === undefined ? found : (values.get(name) ?? found),
  );
}

function compileOn(
  row: LogicalFlowRow,
  { chassis, values }: ChassisVariables,
): CompiledFlow | UnreadableFlow {
  const [match, actions] = [withValues(row.match, values), withValues(row.actions, values)];
  const [missing] = [match, actions].flatMap(variablesIn);
  if (missing !== undefined) return { row, problem: `the variable ${missing} has no value on ${chassis}` };
  return compileText({ ...row, match, actions });
}

const NOWHERE = "it has variables, and no chassis has values for them";

/** What a row becomes; one with variables by the chassis that have values. */
export function compile(
  row: LogicalFlowRow,
  variables: readonly ChassisVariables[],
): CompiledFlow | UnreadableFlow {
  if (!hasVariables(row)) return compileText(row);
  const byChassis = new Map(variables.map((each) => [each.chassis, compileOn(row, each)]));
  const flows = [...byChassis.values()];
  const first = flows.find((each) => !("problem" in each));
  if (first === undefined) return flows[0] ?? { row, problem: NOWHERE };
  return Object.freeze({ ...first, row, byChassis });
}
