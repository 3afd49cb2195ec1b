/** Vitest for `npm run rows -- --prove` and `npm run mutants`: the fast tests, or the long ones, with mutants built into `src/`. */
import { relative } from "node:path";
import { type ViteUserConfig, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { type Mutant, buildIn, findMutants } from "./mutation-points.ts";
import { nameOf, readPlan } from "./mutation-plan.ts";

const plan = readPlan();
const chosen = plan.files === undefined ? undefined : new Set(plan.files);
const sample = plan.sample === undefined ? undefined : new Set(plan.sample.map(nameOf));

/** All mutants of a file, or those of the sample: what is not built in costs nothing. */
function mutantsOf(path: string, code: string): readonly Mutant[] {
  const all = findMutants(code);
  return sample === undefined ? all : all.filter(({ index }) => sample.has(nameOf([path, index])));
}

const FAST = ["src/**/*.test.ts", "tools/**/*.test.ts", "examples/**/*.test.ts", "test/support/**/*.test.ts"];
const LONG = ["src/**/*.long.test.ts", "test/long/**/*.test.ts"];

/** Lower rooms first: their tests are quick, and notice most of what is changed there before slow ones come by. */
const ORDER = [
  "core",
  "contracts",
  "dataplane",
  "hns",
  "programs",
  "control-plane",
  "diagnose",
  "cluster",
  "cli",
];

class LowerRoomsFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const at = ORDER.indexOf(relative("src", moduleId).split("/")[0] ?? "");
      return at < 0 ? ORDER.length : at;
    };
    const byPath = files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
    return Promise.resolve(byPath.toSorted((a, b) => rankOf(a) - rankOf(b)));
  }
}

const config: ViteUserConfig = defineConfig({
  plugins: [
    {
      name: "mutants",
      enforce: "pre",
      transform(code, id) {
        const path = relative(".", id);
        const isProduction = path.startsWith("src/") && path.endsWith(".ts") && !path.endsWith(".test.ts");
        if (!isProduction || (chosen !== undefined && !chosen.has(path))) return undefined;
        return { code: buildIn(code, mutantsOf(path, code), path), map: null };
      },
    },
  ],
  resolve: { conditions: ["mullion-source"] },
  ssr: { resolve: { conditions: ["mullion-source"] } },
  test: {
    name: "mutants",
    include: plan.isLong === true ? LONG : FAST,
    // Those of verify load modules of their own, which have no mutants.
    exclude: [
      "src/cluster/verify/mutations*.test.ts",
      ...(plan.isLong === true ? [] : ["**/*.long.test.ts"]),
      "**/*.live.test.ts",
      "**/node_modules/**",
    ],
    runner: "./tools/mutation-runner.ts",
    // A test that draws other values each time says nothing about a mutant.
    setupFiles: ["test/fixed-seed.ts"],
    testTimeout: 3_600_000,
    hookTimeout: 3_600_000,
    isolate: false,
    sequence: { sequencer: LowerRoomsFirst },
    fsModuleCache: false,
  },
});

export default config;
