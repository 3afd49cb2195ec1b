import { type ViteUserConfig, defineConfig } from "vitest/config";
import { slowTests } from "./tools/slow-tests.ts";

/** Every run says what each test asserts; `tools/test-inventory.ts` reads it. */
const COUNT = "test/count-assertions.ts";

/** Goes before Vitest's hook for imports, so it stands first. */
const SOURCES = "test/resolve-sources.ts";

/**
 * Node's own loader: the sources run in tests as in a clone. That is faster than the code that Vite makes of them, where
 * each use of an import is a look into a table, and nothing is transformed before. Mocks of modules need Vite's; see
 * `test/support/cluster/changed-modules.ts`.
 */
const NODE_LOADER = { viteModuleRunner: false, nodeLoader: false };

/** Tests make much that lives shortly; with more room for it (MiB) less is copied, which takes about 6 % of their time. */
const YOUNG_OBJECTS = "--max-semi-space-size=64";

/**
 * Of tests with processes, kernels, browsers and Wine, on a machine that does other things besides: chance does not come
 * again, a fault of ours does. What passed only then is listed at the end of the check (`tools/count-tests.mjs`).
 */
const SECOND_ATTEMPT = { retry: 1 };

/**
 * `unit`: tables, walks, properties and small fixed-seed slices; at most two minutes on two cores.
 * `long`: fuzz, random sequences and crash loops, with the seed printed.
 * `live`: what needs root, a namespace, or a program from Debian.
 * `package`: the packed package, installed in an empty folder.
 * `ui`: what is seen in a browser, with Debian's Chromium.
 * `wine`: Windows programs, with Debian's compilers and Wine.
 * Nothing in `src/` keeps module state (`tools/tidy.test.ts` checks it), so files may share a worker.
 */
const config: ViteUserConfig = defineConfig({
  plugins: [slowTests()],
  // Examples and tests import `mullion/hns` as users do, and get the sources.
  resolve: { conditions: ["mullion-source"] },
  ssr: { resolve: { conditions: ["mullion-source"] } },
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "tools/**/*.test.ts",
            "examples/**/*.test.ts",
            "test/support/**/*.test.ts",
            "test/unit/**/*.test.ts",
          ],
          exclude: ["**/*.long.test.ts", "**/*.live.test.ts", "**/node_modules/**"],
          // No test waits for time to pass: one that is late runs on a machine that does something else besides.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          setupFiles: [SOURCES, "test/fixed-seed.ts", COUNT, "test/processor-time.ts"],
          // What is waited for comes at once; a busy machine only needs more patience.
          expect: { poll: { timeout: 4_500 } },
          isolate: false,
          experimental: NODE_LOADER,
          execArgv: [YOUNG_OBJECTS],
          // All processors: Vitest by itself leaves one free, which is half of two.
          maxWorkers: "100%",
        },
      },
      {
        test: {
          name: "long",
          ...SECOND_ATTEMPT,
          include: ["src/**/*.long.test.ts", "test/long/**/*.test.ts"],
          setupFiles: [SOURCES, "test/given-seed.ts", COUNT],
          experimental: NODE_LOADER,
          testTimeout: 1_800_000,
          maxWorkers: "100%",
        },
      },
      {
        test: {
          name: "live",
          ...SECOND_ATTEMPT,
          include: ["src/**/*.live.test.ts", "test/live/**/*.test.ts"],
          setupFiles: [COUNT],
          testTimeout: 120_000,
          // What a cluster leaves is gone when its processes are: on a busy machine that takes its time.
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "package",
          ...SECOND_ATTEMPT,
          include: ["test/package/**/*.package.test.ts"],
          setupFiles: [COUNT],
          testTimeout: 180_000,
        },
      },
      {
        test: {
          name: "ui",
          ...SECOND_ATTEMPT,
          include: ["test/ui/**/*.ui.test.ts"],
          setupFiles: [COUNT],
          experimental: NODE_LOADER,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 10_000 } },
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "wine",
          ...SECOND_ATTEMPT,
          include: ["test/wine/**/*.wine.test.ts"],
          setupFiles: [COUNT],
          testTimeout: 120_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 20_000 } },
          fileParallelism: false,
          // What a program under Wine wrote is the only trace of why it failed.
          chaiConfig: { truncateThreshold: 2_000 },
        },
      },
    ],
  },
});

export default config;
