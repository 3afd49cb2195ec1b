/** Which defects a service has, and when those strike that strike now and then. Plain data, forked with the service. */
import type { Prng } from "#core/base/prng.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import {
  QUIRK_NAMES,
  type QuirkName,
  type QuirkSetting,
  type QuirkSettings,
  concernsBuild,
  isDefaultQuirk,
} from "#core/catalogue/quirks.ts";

const CHANCE_STEPS = 0x1_0000_0000;

/** A defect that strikes at a rate, with chance of its own: asking for it shifts no other numbers. */
interface Striking {
  readonly rate: number;
  readonly prng: Prng;
}

/** A defect as it is set. */
export interface QuirkState {
  readonly name: QuirkName;
  readonly setting: QuirkSetting;
  /** The build has it on Windows, whatever is set here. */
  readonly concernsBuild: boolean;
}

export class QuirkSet {
  private readonly windows: WindowsBuild;
  private readonly prng: Prng;
  private readonly settings = new Map<QuirkName, QuirkSetting>();
  private readonly striking = new Map<QuirkName, Striking>();

  constructor(windows: WindowsBuild, prng: Prng, settings: QuirkSettings = {}) {
    this.windows = windows;
    this.prng = prng;
    for (const name of QUIRK_NAMES)
      this.set(name, settings[name] ?? (isDefaultQuirk(name, windows) ? "on" : "off"));
  }

  /** True when the defect strikes now. Where it has a rate, each question draws: ask once per event. */
  has(name: QuirkName): boolean {
    const setting = this.settings.get(name);
    if (setting === "on" || setting === "off" || setting === undefined) return setting === "on";
    const striking = this.striking.get(name);
    return striking !== undefined && striking.prng.nextU32() < striking.rate * CHANCE_STEPS;
  }

  /**
   * True when the defect strikes `subject`: a port, an endpoint, a network. Where it has a rate, each subject draws once:
   * asking again, and in forks, tells the same.
   */
  strikes(name: QuirkName, subject: string): boolean {
    const setting = this.settings.get(name);
    if (setting === "on" || setting === "off" || setting === undefined) return setting === "on";
    const draw = this.prng.derive(`quirk/${name}/${setting.seed ?? ""}/${subject}`).nextU32();
    return draw < setting.rate * CHANCE_STEPS;
  }

  /** How often it strikes, from 0 to 1. `whenOn` is the rate at which it was met. */
  rateOf(name: QuirkName, whenOn = 1): number {
    const setting = this.settings.get(name) ?? "off";
    if (setting === "off") return 0;
    return setting === "on" ? whenOn : setting.rate;
  }

  /** Chance of one defect at one subject: what it draws shifts no other numbers. */
  chanceOf(name: QuirkName, subject: string): Prng {
    const setting = this.settings.get(name);
    const seed = typeof setting === "object" ? (setting.seed ?? "") : "";
    return this.prng.derive(`quirk/${name}/${seed}/${subject}`);
  }

  /** False when it never strikes. */
  mayStrike(name: QuirkName): boolean {
    return this.settings.get(name) !== "off";
  }

  set(name: QuirkName, setting: QuirkSetting): void {
    this.settings.set(name, setting);
    this.striking.delete(name);
    if (setting === "on" || setting === "off") return;
    const prng = this.prng.derive(`quirk/${name}/${setting.seed ?? ""}`);
    this.striking.set(name, { rate: setting.rate, prng });
  }

  /** All defects, in the order of the table. */
  list(): readonly QuirkState[] {
    return QUIRK_NAMES.map((name) => ({
      name,
      setting: this.settings.get(name) ?? "off",
      concernsBuild: concernsBuild(name, this.windows),
    }));
  }
}
