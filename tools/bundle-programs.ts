/**
 * The executables for the package: one CommonJS file each, `dist/programs/NAME.cjs` from `src/cmd/NAME/main.ts`, with
 * what they use of other packages. A CNI plugin lives for one call, and one file starts in half the time of a hundred
 * (bench/cni-start-up.ts); CommonJS, because it starts without Node's module loader. Of `mullion` each verb is a file
 * of its own, so that a light one does not read the others.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type OutputOptions, rolldown } from "rolldown";

/** What is not bundled: it is native, and optional. */
const EXTERNAL: readonly string[] = ["koffi"];

/** What old Nodes can read, so that the check below is what they say. */
const TARGET = "node16";

/** Programs with verbs that are loaded when they are chosen. */
const SPLIT: ReadonlySet<string> = new Set(["mullion"]);

/**
 * What a bundle does first. Runtimes expect a CNI plugin's error on stdout as JSON.
 * @param name of the executable.
 */
export function checkOfNode(name: string): string {
  return `(function () {
  var version = process.versions.node.split(".").map(Number);
  if (version[0] > 22 || (version[0] === 22 && version[1] >= 18)) return;
  var message = "${name}: Node 22.18 or later is needed, and " + process.execPath + " is " + process.versions.node;
  var advice = "Put a newer Node first in PATH, or install it from https://nodejs.org.";
  if (process.env.CNI_COMMAND) {
    require("fs").writeSync(1, JSON.stringify({ code: 999, msg: message, details: advice }, undefined, 4));
    process.exit(1);
  }
  require("fs").writeSync(2, message + "\\n    " + advice + "\\n");
  process.exit(2);
})();`;
}

function outputOf(name: string, folder: string): OutputOptions {
  const options: OutputOptions = {
    dir: folder,
    format: "cjs",
    banner: (chunk) => (chunk.isEntry ? checkOfNode(name) : ""),
    entryFileNames: `${name}.cjs`,
    chunkFileNames: `${name}/[name].cjs`,
  };
  return SPLIT.has(name) ? options : { ...options, codeSplitting: false };
}

/** The names of the executables: those of package.json. */
export function programNames(root: string): readonly string[] {
  const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly bin: Readonly<Record<string, string>>;
  };
  return Object.keys(bin);
}

/** Writes all bundles to `folder`. */
export async function bundlePrograms(root: string, folder: string): Promise<void> {
  for (const name of programNames(root)) {
    const bundle = await rolldown({
      cwd: root,
      input: join(root, "src", "cmd", name, "main.ts"),
      platform: "node",
      external: [...EXTERNAL],
      transform: { target: TARGET },
      // A warning is a fault of the build.
      onLog: (level, log) => {
        if (level === "warn") throw new Error(log.message);
      },
    });
    await bundle.write(outputOf(name, folder));
    await bundle.close();
  }
}
