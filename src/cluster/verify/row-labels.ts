/** What the rows of a table are called: kinds of pairs, and Services as long as there are few. */
import type { VerifyCell, VerifyReport } from "./report.ts";

/** Services that get a row each; more are shown together. */
const SERVICE_ROWS_MAX = 8;

const WITHOUT_BUILD: ReadonlySet<string> = new Set(["linux", "outside", "service", "windows"]);

/** How systems are called in one report: by their build only where there are several. */
export class SystemNames {
  private readonly builds: ReadonlySet<string>;

  constructor(report: VerifyReport) {
    const systems = report.cells.flatMap((cell) => [cell.fromSystem, cell.toSystem]);
    this.builds = new Set(systems.filter((system) => !WITHOUT_BUILD.has(system)));
  }

  label(system: string): string {
    if (system === "linux") return "Linux";
    if (system === "outside" || system === "service") return system;
    return this.builds.size > 1 ? system : "Windows";
  }
}

const RELATIONS: Readonly<Record<VerifyCell["relation"], string>> = {
  "same-node": ", same node",
  "other-node": ", other node",
  outside: "",
  service: "",
};

/** The rows of one flow. */
export class RowLabels {
  private readonly names: SystemNames;
  /** Ports by what is asked on them. */
  private readonly ports = new Map<string, Set<number>>();

  constructor(cells: readonly VerifyCell[], names: SystemNames) {
    this.names = names;
    for (const { to, port } of cells) {
      const known = this.ports.get(to) ?? new Set();
      if (port !== undefined) known.add(port);
      this.ports.set(to, known);
    }
  }

  labelOf(cell: VerifyCell): string {
    const from = this.names.label(cell.fromSystem);
    if (cell.flow === "cluster-file") return `${cell.from} → ${this.receiver(cell)}`;
    if (cell.flow === "pod-in-host-network") return from;
    if (cell.flow === "bring-up") return cell.from;
    if (cell.relation !== "service")
      return `${from} → ${this.names.label(cell.toSystem)}${RELATIONS[cell.relation]}`;
    if (this.ports.size <= SERVICE_ROWS_MAX) return `${from} → ${this.receiver(cell)}`;
    return `${from} → ${cell.to.startsWith("service/") ? "Services" : this.names.label(cell.toSystem)}`;
  }

  /** With its port where it has several. */
  private receiver({ to, port }: VerifyCell): string {
    const name = to.replace(/^service\//, "");
    const isOne = (this.ports.get(to)?.size ?? 0) <= 1;
    return isOne || port === undefined ? name : `${name}:${port}`;
  }
}
