/** Which words flows are written in. */
import { type OvsdbRow, textsOf } from "#contracts/ovsdb/client.ts";

/** The words that all chassis understand: one that does not say what it can makes all flows old (ovn-controller(8)). */
export interface Dialect {
  /** `ct_lb_mark`, or `ct_lb`. */
  readonly balance: string;
  /** `ct_mark.blocked`, or `ct_label.blocked`. */
  readonly blocked: string;
  /** `ct_mark`, or `ct_label`. */
  readonly mark: string;
  /** `ct_commit_nat` is understood. */
  readonly commitNat: boolean;
}

function saysAll(chassis: readonly OvsdbRow[], key: string): boolean {
  return chassis.every((row) => textsOf(row["other_config"]).get(key) === "true");
}

/** A feature is used when every chassis announces it; with no chassis at all all are. */
export function dialectOf(chassis: readonly OvsdbRow[]): Dialect {
  const hasMarks = saysAll(chassis, "ct-no-masked-label");
  return {
    balance: hasMarks ? "ct_lb_mark" : "ct_lb",
    blocked: hasMarks ? "ct_mark.blocked" : "ct_label.blocked",
    mark: hasMarks ? "ct_mark" : "ct_label",
    commitNat: saysAll(chassis, "ovn-ct-lb-related"),
  };
}

export function isSameDialect(one: Dialect, other: Dialect | undefined): boolean {
  return one.balance === other?.balance && one.blocked === other.blocked && one.commitNat === other.commitNat;
}
