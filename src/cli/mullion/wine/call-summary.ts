/** What `mullion wine --trace-calls` says at the end: how often each function was called, what it took, what was refused. */
import { formatCells } from "../table.ts";
import { type CallRecord, type TraceRecord, isRefused } from "./call-record.ts";

interface Tally {
  calls: number;
  milliseconds: number;
  readonly refusals: Map<string, number>;
}

/** Adds up calls, so that their records need not be kept. */
export class CallSummary {
  private readonly tallies = new Map<string, Tally>();
  private notifications = 0;

  add(record: TraceRecord): void {
    if (record.event === "notification") this.notifications++;
    else this.addCall(record);
  }

  private addCall(record: CallRecord): void {
    const tally: Tally = this.tallies.get(record.function) ?? {
      calls: 0,
      milliseconds: 0,
      refusals: new Map(),
    };
    this.tallies.set(record.function, tally);
    tally.calls++;
    tally.milliseconds += record.milliseconds;
    if (!isRefused(record)) return;
    const reason = record.name ?? (record.hresult === "0x00000000" ? "refused by HNS v1" : record.hresult);
    tally.refusals.set(reason, (tally.refusals.get(reason) ?? 0) + 1);
  }

  /** A line, and a table of the functions in the order of their first calls. */
  format(file: string): string {
    const rows = [...this.tallies].map(([name, { calls, milliseconds, refusals }]) => [
      name,
      String(calls),
      (milliseconds / calls).toFixed(1),
      [...refusals].map(([reason, count]) => `${count} ${reason}`).join(", "),
    ]);
    const tallies = [...this.tallies.values()];
    const calls = tallies.reduce((sum, tally) => sum + tally.calls, 0);
    const milliseconds = tallies.reduce((sum, tally) => sum + tally.milliseconds, 0);
    const line = `${calls} calls in ${milliseconds.toFixed(0)} ms, ${this.notifications} notifications: ${file}\n`;
    if (calls === 0) return line;
    return (
      line + formatCells([["FUNCTION", "CALLS", "MS EACH", "REFUSED"], ...rows], [false, true, true, false])
    );
  }
}
