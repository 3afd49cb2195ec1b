/** The JSON Schema of a comparison, published as schemas/verify-comparison.v1alpha1.json. */
import { FLOWS } from "#core/catalogue/expectations.ts";
import { type JsonSchema, closedObject, described } from "#core/base/json-schema.ts";

const TEXT = { type: "string" } as const;
const INTEGER = { type: "integer" } as const;
const CODE = described(TEXT, "Why it is denied, differs or does not apply: mullion explain CODE.");

const SIDE = closedObject("One run.", {
  label: described(TEXT, "The build of Windows; before or now."),
  flows: described(INTEGER, "Cells of its report."),
  findings: described(INTEGER, "Findings of its report."),
});

const OUTCOME = closedObject(
  "What came of the flow on one side.",
  {
    side: described(TEXT, "The label of the side."),
    outcome: described(
      { enum: ["works", "denied", "not-applicable", "not-judged", "differs", "absent"] },
      "denied: as documented. differs: not as documented. absent: the side has no such flow, and no equal one.",
    ),
  },
  {
    code: CODE,
    observed: described(TEXT, "With differs: what was observed."),
    row: described(TEXT, "The row of the table of expectations."),
  },
);

const CHANGE = closedObject(
  "A flow that did not come out the same on all sides.",
  {
    flow: described(
      { enum: [...FLOWS, "cluster-file"] },
      "cluster-file: an expectation of the cluster file.",
    ),
    protocol: { enum: ["tcp", "udp", "icmp"] },
    relation: { enum: ["same-node", "other-node", "outside", "service"] },
    from: described(TEXT, "As the command line takes it: pod/default/web, node/win-1, external."),
    to: described(TEXT, "A pod, a node, a host outside, service/default/web or an address."),
    standsFor: described(INTEGER, "Number of equal cells, this one included; 0: another cell represents it."),
    outcomes: described({ type: "array", items: OUTCOME }, "In the order of the sides."),
  },
  {
    family: described({ const: "ipv6" }, "The family of the addresses; absent for IPv4."),
    port: described(INTEGER, "Absent for ICMP."),
    name: described(TEXT, "The name that was resolved first."),
  },
);

const INPUT = closedObject(
  "A finding about the input that not all sides have.",
  {
    about: described(TEXT, "What it is about."),
    observed: TEXT,
    sides: described({ type: "array", items: TEXT }, "The sides that have it."),
  },
  { code: CODE },
);

export const COMPARISON_SCHEMA: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Mullion comparison of verifications",
  ...closedObject("Which flows came out otherwise, for whom.", {
    apiVersion: { const: "mullion/v1alpha1" },
    kind: { const: "VerificationComparison" },
    cluster: described(TEXT, "Its name on the last side."),
    sides: described({ type: "array", items: SIDE }, "At least two, in the order of the columns."),
    counts: closedObject("Numbers of flows.", {
      flows: described(INTEGER, "Flows of all sides together."),
      changed: INTEGER,
      unchanged: INTEGER,
    }),
    changes: { type: "array", items: CHANGE },
    input: { type: "array", items: INPUT },
  }),
};
