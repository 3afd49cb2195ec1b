// Counts the tests of vitest's JSON reports and prints the sum: node tools/count-tests.mjs REPORT…
// Runs on whatever Node the machine has (20 or later).
import { existsSync, readFileSync } from "node:fs";

/** Of each failure; what was expected and what came stands in the first lines. */
const LINES_OF_FAILURE = 20;

let passed = 0;
let failed = 0;

/** What was printed when it failed is far above, and logs are cut. */
function printFailure(title, file, result) {
  process.stdout.write(`${title}: ${file.name}: ${result.fullName}\n`);
  const said = (result.failureMessages ?? []).join("\n").split("\n").slice(0, LINES_OF_FAILURE);
  for (const line of said) process.stdout.write(`    ${line}\n`);
}

for (const path of process.argv.slice(2)) {
  if (!existsSync(path)) {
    process.stdout.write(`${path} is missing: its run did not end\n`);
    failed += 1;
    continue;
  }
  const report = JSON.parse(readFileSync(path, "utf8"));
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  for (const file of report.testResults) {
    // A file that cannot be loaded holds no tests, so it would not count.
    if (file.status === "failed" && file.assertionResults.length === 0) failed += 1;
    for (const result of file.assertionResults) {
      if (result.status === "failed") printFailure("failed", file, result);
      // By chance, or by a fault that comes by chance: to be looked into.
      else if (result.meta?.failedBefore > 0) printFailure("passed only at the second attempt", file, result);
    }
  }
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
