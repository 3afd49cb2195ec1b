/** `npm run build:live`: the programs of other people that the live tests run against, with how long each took. */
import { BUILT_PROGRAMS, findProgram } from "./live-programs.ts";

for (const name of BUILT_PROGRAMS) {
  const begin = performance.now();
  const path = findProgram(name);
  console.log(`${name}: ${path} (${Math.round((performance.now() - begin) / 1_000)} s)`);
}
