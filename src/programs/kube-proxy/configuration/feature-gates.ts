/** Feature gates by version of Kubernetes (kube-proxy.md §1.2): which there are, what they are by default, what is refused. */
import { type Table, kubeProxyGates } from "#data/facts.js";
import { nearestNames } from "#core/base/nearest-name.ts";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

export type GateStage = "ALPHA" | "BETA" | "" | "DEPRECATED";

export interface FeatureGate {
  readonly name: string;
  /** As metrics write it: empty for what is done. */
  readonly stage: GateStage;
  readonly isOnByDefault: boolean;
  readonly isLocked: boolean;
}

const STAGES: Readonly<Record<string, GateStage>> = { a: "ALPHA", b: "BETA", g: "", d: "DEPRECATED" };

/** `AllAlpha` and `AllBeta` turn all gates of a stage on. */
const ALL_OF_STAGE: Readonly<Record<string, GateStage>> = { AllAlpha: "ALPHA", AllBeta: "BETA" };

/** From a minor version on a gate is so; without a stage it is unknown. */
interface GateStep {
  readonly minor: number;
  readonly stage: GateStage | undefined;
  readonly isOnByDefault: boolean;
  readonly isLocked: boolean;
}

interface GateTable {
  /** The minor version of Kubernetes whose table it is. */
  readonly minor: number;
  /** By name, oldest first. */
  readonly lives: ReadonlyMap<string, readonly GateStep[]>;
}

const STEP = /^(\d+)([abgdx])(\+?)(!?)$/;

function readStep(text: string): GateStep | undefined {
  const [, minor, stage = "", on, lock] = STEP.exec(text) ?? [];
  if (minor === undefined) return undefined;
  return { minor: Number(minor), stage: STAGES[stage], isOnByDefault: on === "+", isLocked: lock === "!" };
}

/** @throws Error that names file and line of what is wrong. */
export function readGates(table: Table): GateTable {
  const fields = CheckedFields.ofTable(table);
  const gates = fields.within("gates");
  const lives = gates.names().map((name) => {
    const steps = gates.text(name).split(" ").map(readStep);
    if (!steps.every((step) => step !== undefined)) return gates.fail(`${name} has a wrong step`, name);
    return [name, steps] as const;
  });
  return { minor: fields.number("minor"), lives: new Map(lives) };
}

const GATES: GateTable = readGates(kubeProxyGates());

/** The gate as a version has it; undefined when that version does not know it. */
export function gateAt(name: string, minor: number): FeatureGate | undefined {
  const ofStage = ALL_OF_STAGE[name];
  if (ofStage !== undefined) return { name, stage: ofStage, isOnByDefault: false, isLocked: false };
  const step = GATES.lives.get(name)?.findLast((each) => each.minor <= minor);
  if (step?.stage === undefined) return undefined;
  const { stage, isOnByDefault, isLocked } = step;
  return { name, stage, isOnByDefault, isLocked };
}

/** The first minor versions that refuse to turn a gate off, and that no longer know it; undefined where none does. */
export function endOfGate(name: string): Readonly<Record<"locked" | "gone", number | undefined>> {
  const life = GATES.lives.get(name) ?? [];
  const locked = life.find(({ isLocked }) => isLocked)?.minor;
  return { locked, gone: life.find(({ stage }) => stage === undefined)?.minor };
}

/** All gates of a version, by name. */
export function gatesOf(minor: number): readonly FeatureGate[] {
  return [...GATES.lives.keys()].flatMap((name) => gateAt(name, minor) ?? []);
}

export interface GateProblem {
  readonly name: string;
  /** Upstream's sentence. */
  readonly message: string;
  /** What to do: full sentences. */
  readonly advice: string;
}

export interface GateCheck {
  readonly refused: readonly GateProblem[];
  /** Worth a line in the log. */
  readonly noted: readonly GateProblem[];
}

function unknownGate(name: string, minor: number): GateProblem & { readonly isCertain: boolean } {
  const known = gatesOf(minor).map((gate) => gate.name);
  const [near] = nearestNames(name, known, 1);
  const isGone = GATES.lives.has(name);
  return {
    name,
    message: `unrecognized feature gate: ${name}`,
    advice: isGone
      ? `Kubernetes 1.${minor} does not have it: remove it.`
      : near === undefined
        ? "Remove it. Those that matter on Windows are WinDSR and WinOverlay."
        : `Did you mean ${near}? Names are exact.`,
    // Gates of other versions that the table does not hold cannot be distinguished from errors, unless they are near to a known one.
    isCertain: isGone || near !== undefined || minor === GATES.minor,
  };
}

/** What a version says about gates that are set. */
export function checkGates(gates: Readonly<Record<string, boolean>>, minor: number): GateCheck {
  const refused: GateProblem[] = [];
  const noted: GateProblem[] = [];
  for (const [name, isOn] of Object.entries(gates)) {
    const gate = gateAt(name, minor);
    if (gate === undefined) {
      const problem = unknownGate(name, minor);
      if (problem.isCertain) refused.push(problem);
      else
        noted.push({
          ...problem,
          message: WORDS.featureGateUnknown({ name, minor }),
        });
    } else if (gate.isLocked && gate.isOnByDefault !== isOn) {
      refused.push({
        name,
        message: WORDS.featureGateLocked({ name, isOn, isOnByDefault: gate.isOnByDefault }),
        advice: `Kubernetes 1.${minor} has it ${gate.isOnByDefault ? "on" : "off"} for good: remove it.`,
      });
    } else if (gate.stage === "" || gate.stage === "DEPRECATED") {
      const stage = gate.stage === "" ? "GA" : "deprecated";
      noted.push({
        name,
        message: WORDS.featureGateDeprecated({ stage, name, isOn }),
        advice: "Remove it.",
      });
    }
  }
  return { refused, noted };
}

/** How every gate of a version stands, by name. */
export function effectiveGates(
  gates: Readonly<Record<string, boolean>>,
  minor: number,
): ReadonlyMap<string, boolean> {
  const result = new Map<string, boolean>();
  for (const gate of gatesOf(minor)) {
    const ofStage = Object.entries(ALL_OF_STAGE).find(([, stage]) => stage === gate.stage)?.[0];
    const byStage = ofStage === undefined ? undefined : gates[ofStage];
    result.set(
      gate.name,
      gate.isLocked ? gate.isOnByDefault : (gates[gate.name] ?? byStage ?? gate.isOnByDefault),
    );
  }
  return result;
}

/** `WinDSR=true,WinOverlay=false` as pairs, or upstream's sentence about what is wrong. */
export function parseGates(text: string): Readonly<Record<string, boolean>> | string {
  const gates: Record<string, boolean> = {};
  for (const pair of text.split(",")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    if (at < 0) return "malformed pair, expect string=bool";
    const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    const isOn = parseTruth(value);
    if (isOn === undefined)
      return `invalid value of ${name}: ${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;
    gates[name] = isOn;
  }
  return gates;
}

/** A truth value as Go's strconv.ParseBool reads it. */
export function parseTruth(text: string): boolean | undefined {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  return ["0", "f", "F", "FALSE", "false", "False"].includes(text) ? false : undefined;
}
