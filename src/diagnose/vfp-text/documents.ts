/** What `mullion vfp show` and `mullion vfp diff` print with `-o json`. */
import { type JsonSchema, type ValueOf, documentSchema } from "#core/base/shape.ts";
import { LISTED_GROUP, LISTED_LAYER, LISTED_RULE } from "#dataplane/vfp/listing/listing.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** A line of a listing that was not understood. */
export const LISTING_PROBLEM = {
  text: "A line that was not read.",
  fields: { line: { is: "position", text: "From 1." }, message: "text" },
} as const;
export type ListingProblem = ValueOf<typeof LISTING_PROBLEM>;

/** A rule of a port or of a file. */
export const SHOWN_RULE = {
  text: "A rule.",
  base: (): typeof LISTED_RULE => LISTED_RULE,
  fields: {},
  optional: { line: { is: "position", text: "Of a file: where the rule begins." } },
} as const;
export type ShownRule = ValueOf<typeof SHOWN_RULE>;

export const SHOWN_GROUP = {
  text: (): string => LISTED_GROUP.text(),
  base: (): typeof LISTED_GROUP => LISTED_GROUP,
  fields: { rules: { list: (): typeof SHOWN_RULE => SHOWN_RULE } },
} as const;

export const SHOWN_LAYER = {
  text: "A layer.",
  base: (): typeof LISTED_LAYER => LISTED_LAYER,
  fields: { groups: { list: (): typeof SHOWN_GROUP => SHOWN_GROUP } },
} as const;

export const VFP_LISTING = {
  text: "The rules of one port.",
  document: "VfpListing",
  fields: {
    name: { is: "text", text: "The port, or the file." },
    layers: { list: (): typeof SHOWN_LAYER => SHOWN_LAYER },
    problems: {
      list: (): typeof LISTING_PROBLEM => LISTING_PROBLEM,
      text: "Of a file; empty for a port of the cluster.",
    },
  },
} as const;
export type VfpListing = ValueOf<typeof VFP_LISTING>;

/** One thing that two listings do not have alike. */
export const LISTING_DIFFERENCE = {
  text: "What one listing has otherwise than the other.",
  fields: { kind: ["only-left", "only-right", "changed"], layer: "text" },
  optional: {
    group: "text",
    rule: { is: "text", text: (): string => WORDS.listingDifferenceRule },
    field: { is: "text", text: "Of a changed one: the label of the text." },
    left: "text",
    right: "text",
  },
} as const;
export type ListingDifference = ValueOf<typeof LISTING_DIFFERENCE>;

export const VFP_DIFFERENCES = {
  text: "How two listings differ.",
  document: "VfpDifferences",
  fields: {
    left: { is: "text", text: "The port, or the file." },
    right: { is: "text", text: "The port, or the file." },
    differences: { list: (): typeof LISTING_DIFFERENCE => LISTING_DIFFERENCE },
  },
} as const;
export type VfpDifferences = ValueOf<typeof VFP_DIFFERENCES>;

/** The JSON Schema of `mullion vfp show`, published as schemas/vfp-listing.v1alpha1.json. */
export function vfpListingSchema(): JsonSchema {
  return documentSchema("What mullion vfp show -o json prints", VFP_LISTING);
}

/** The JSON Schema of `mullion vfp diff`, published as schemas/vfp-differences.v1alpha1.json. */
export function vfpDifferencesSchema(): JsonSchema {
  return documentSchema("What mullion vfp diff -o json prints", VFP_DIFFERENCES);
}
