/** The options `--profile A,B`, `--before FILE` and `--fail-on-change` of `mullion verify`, and what they ask for. */
import { InvalidArgumentError } from "commander";
import type { Edition } from "#core/catalogue/edition.ts";
import { PROFILE_NAMES, type WindowsBuild, parseProfile } from "#core/catalogue/profiles.ts";
import type { VerbCode } from "./described-verb.ts";
import type { ClusterTarget } from "./cluster/cluster-target.ts";
import { type EditionOptions, collect, editionAsked, usage } from "./options.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

/** A build of Windows as the user wrote it. */
export interface NamedBuild {
  readonly label: string;
  readonly build: WindowsBuild;
}

/** What is compared with what. */
export interface ComparisonRequest {
  /** The builds of all Windows nodes, one run each; none: each node has its own. */
  readonly profiles: readonly NamedBuild[];
  /** Files of an earlier state, or its report; none: nothing earlier. */
  readonly before: readonly string[];
  readonly failsOnChange: boolean;
  /** The edition of the Kubernetes page that the input runs as; undefined: as it says itself. */
  readonly asDocumented: Edition | undefined;
}

export interface ComparisonOptions extends EditionOptions {
  readonly profile?: readonly NamedBuild[];
  readonly before?: readonly string[];
  readonly failOnChange?: boolean;
}

function parseProfiles(text: string): readonly NamedBuild[] {
  const builds = new Map<string, WindowsBuild>();
  for (const word of text.split(",").map((each) => each.trim())) {
    const build = parseProfile(word);
    if (build === undefined)
      throw usage(
        `${JSON.stringify(word)} is not a build of Windows`,
        `Write some of ${PROFILE_NAMES.join(",")}, with a revision if it matters (ws2022.2582).`,
      );
    if (builds.has(word.toLowerCase()))
      throw usage(`--profile names ${JSON.stringify(word)} twice`, "Name each build once.");
    builds.set(word.toLowerCase(), build);
  }
  return [...builds].map(([label, build]) => ({ label, build }));
}

function collectPath(path: string, previous: readonly string[] | undefined): readonly string[] {
  if (path === "") throw new InvalidArgumentError("it names no file");
  return collect(path, previous);
}

/** What values of these options may be. */
export const COMPARISON_VALUES: NonNullable<VerbCode["values"]> = {
  "--profile": parseProfiles,
  "--before": collectPath,
};

/** What the options ask for. @throws Failure for options that do not go together. */
export function comparisonRequest(
  options: ComparisonOptions,
  target: ClusterTarget,
  output: string,
): ComparisonRequest {
  const { profile: profiles = [], before = [], failOnChange = false } = options;
  const { files } = target;
  const isComparing = before.length > 0 || profiles.length > 1;
  if (profiles.length > 0 && files.length === 0)
    throw usage(WORDS.profileNeedsFile, "Name the input with -f.");
  if (before.length > 0 && profiles.length > 1)
    throw usage(
      "--before and several builds would be two comparisons",
      "Name one build, or leave out --before.",
    );
  if (failOnChange && !isComparing)
    throw usage(
      "--fail-on-change needs something to compare with",
      "Add --before FILE, or --profile ws2019,ws2022.",
    );
  if (isComparing && output === "junit")
    throw usage("a comparison has no form for JUnit", "Choose -o table, -o json or -o yaml.");
  return { profiles, before, failsOnChange: failOnChange, asDocumented: editionAsked(options, target) };
}
