/** Feature gates by version of Kubernetes (kube-proxy.md §1.2): which there are, what they are by default, what is refused. */
import { nearestNames } from "#core/base/nearest-name.ts";
import { GATE_LIVES, GATE_TABLE_MINOR } from "./gate-lives.ts";

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

/** The gate as a version has it; undefined when that version does not know it. */
export function gateAt(name: string, minor: number): FeatureGate | undefined {
  const stage = ALL_OF_STAGE[name];
  if (stage !== undefined) return { name, stage, isOnByDefault: false, isLocked: false };
  if (!Object.hasOwn(GATE_LIVES, name)) return undefined;
  const steps = (GATE_LIVES[name] ?? "").split(" ").map((step) => /^(\d+)([abgdx])(\+?)(!?)$/.exec(step));
  const step = steps.findLast((each) => Number(each?.[1] ?? Number.POSITIVE_INFINITY) <= minor);
  if (step === undefined || step === null || step[2] === "x") return undefined;
  return {
    name,
    stage: STAGES[step[2] ?? "a"] ?? "ALPHA",
    isOnByDefault: step[3] === "+",
    isLocked: step[4] === "!",
  };
}

/** All gates of a version, by name. */
export function gatesOf(minor: number): readonly FeatureGate[] {
  return Object.keys(GATE_LIVES).flatMap((name) => gateAt(name, minor) ?? []);
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
  const isGone = Object.hasOwn(GATE_LIVES, name);
  return {
    name,
    message: `unrecognized feature gate: ${name}`,
    advice: isGone
      ? `Kubernetes 1.${minor} does not have it: remove it.`
      : near === undefined
        ? "Remove it. Those that matter on Windows are WinDSR and WinOverlay."
        : `Did you mean ${near}? Names are exact.`,
    // Gates of other versions that the table does not hold cannot be distinguished from errors, unless they are near to a known one.
    isCertain: isGone || near !== undefined || minor === GATE_TABLE_MINOR,
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
          message: `feature gate ${name} is not known here; kube-proxy of Kubernetes 1.${minor} may know it`,
        });
    } else if (gate.isLocked && gate.isOnByDefault !== isOn) {
      refused.push({
        name,
        message: `cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.isOnByDefault}`,
        advice: `Kubernetes 1.${minor} has it ${gate.isOnByDefault ? "on" : "off"} for good: remove it.`,
      });
    } else if (gate.stage === "" || gate.stage === "DEPRECATED") {
      const stage = gate.stage === "" ? "GA" : "deprecated";
      noted.push({
        name,
        message: `Setting ${stage} feature gate ${name}=${isOn}. It will be removed in a future release.`,
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
