/** What does it cost to find all known errors in a log? Against a loop that counts its lines. */
import { type LogScan, LogScanner } from "#diagnose/catalogue/log/log-scanner.ts";
import { buildSignatures } from "#diagnose/catalogue/log/signatures.ts";
import { type Candidate, measure, printTable } from "./measure.ts";

const LOG_BYTES = 16_777_216;
const PIECE_BYTES = 1_048_576;
const NEWLINE = 0x0a;

const GOOD =
  'I0102 15:04:05.000007    4120 proxier.go:1180] "Hns endpoint resource" endpointInfo={"ip":"10.244.1.7","port":8080,"isLocal":false,"macAddress":"02-11-0a-f4-01-07","hnsID":"5E6298C2-4638-494E-BE6B-FF6FEF942C06"}\n';
const BAD =
  'E0102 15:04:05.000007    4120 proxier.go:1285] "Policy creation failed" err="hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013) {\\"Success\\":false,\\"Error\\":\\"The specified port already exists. \\",\\"ErrorCode\\":2151350291}"\n';

/** A log with an error on every `period`-th line; none for 0. */
function makeLog(period: number): Uint8Array {
  const lines = period === 0 ? GOOD : GOOD.repeat(period - 1) + BAD;
  return new TextEncoder().encode(lines.repeat(Math.ceil(LOG_BYTES / lines.length)));
}

function countLines(log: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < log.length; at++) if (log[at] === NEWLINE) count++;
  return count;
}

const signatures = buildSignatures();

function scan(log: Uint8Array): LogScan {
  const scanner = new LogScanner(signatures);
  for (let at = 0; at < log.length; at += PIECE_BYTES) scanner.push(log.subarray(at, at + PIECE_BYTES));
  return scanner.finish();
}

function scanning(name: string, period: number, errors: number): Candidate {
  const log = makeLog(period);
  return {
    name,
    operations: log.length,
    run: () => {
      const found = scan(log);
      if (found.errors.length !== errors) throw new Error(`${name} found ${found.errors.length} errors`);
      return found.lines;
    },
  };
}

/** Times are per byte: 1 ns is 0.1 s for 100 MB. */
export function run(): void {
  const log = makeLog(0);
  const rows = measure([
    { name: "count the lines", operations: log.length, run: () => countLines(log) },
    scanning("find errors: none there", 0, 0),
    scanning("find errors: every 100th line", 100, 2),
    scanning("find errors: every 7th line", 7, 2),
  ]);
  printTable("explain --log, per byte", rows, "count the lines");
}
