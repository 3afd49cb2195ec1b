/** The JSON Schema of `mullion verify -o json`, published as schemas/verify.v1alpha1.json. */
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { FLOWS } from "#core/catalogue/expectations.ts";
import { FACT_NAMES } from "../session/session.ts";
import { type JsonSchema, closedObject, described } from "#core/base/json-schema.ts";

const TEXT = { type: "string" } as const;
const INTEGER = { type: "integer" } as const;
const CODE = { enum: [...KNOWLEDGE_CODES] } as const;

const PLACE = closedObject("Where it stands.", { file: TEXT, line: INTEGER, column: INTEGER, field: TEXT });

const CELL_LIMIT = closedObject(
  "Why a cell is not judged.",
  {
    limit: described(INTEGER, "Position in basis.notJudged, from 0."),
    code: CODE,
    message: described(TEXT, "One sentence without a full stop."),
  },
  { where: PLACE },
);

const CELL = closedObject(
  "One question, the expected and the observed outcome.",
  {
    flow: described(
      { enum: [...FLOWS, "cluster-file"] },
      "cluster-file: an expectation of the cluster file.",
    ),
    protocol: { enum: ["tcp", "udp", "icmp"] },
    relation: described(
      { enum: ["same-node", "other-node", "outside", "service"] },
      "Where the receiver is, seen from the sender.",
    ),
    from: described(TEXT, "As the command line takes it: pod/default/web, node/win-1, external."),
    fromSystem: described(TEXT, "ws2022, ws2019.1158, linux, outside."),
    to: described(TEXT, "A pod, a node, a host outside, service/default/web or an address."),
    toSystem: described(TEXT, "As fromSystem; service for what no machine is."),
    expected: { enum: ["works", "denied", "not-applicable"] },
    row: described(TEXT, "The row of the table of expectations that decided."),
    documentedIn: described(TEXT, "Where that row is written."),
    verdict: described(
      { enum: ["as-expected", "finding", "not-tried", "not-judged"] },
      "not-tried: it does not apply. not-judged: something of the real cluster that could change it is not carried out here.",
    ),
    attempts: described(INTEGER, "Attempts that count for the verdict."),
    standsFor: described(
      INTEGER,
      "Number of equal cells of the full matrix, this one included; 0: another cell represents it.",
    ),
  },
  {
    family: described({ const: "ipv6" }, "The family of the addresses; absent for IPv4."),
    port: described(INTEGER, "Absent for ICMP."),
    name: described(TEXT, "The name that was resolved first."),
    code: described(CODE, "Why it is denied, or does not apply: mullion explain CODE."),
    why: described(TEXT, "Why it does not apply."),
    notJudged: described({ type: "array", items: CELL_LIMIT }, "With not-judged: why, each cause once."),
    observed: described(TEXT, "With not-judged: what came of it here."),
    backEnds: described(INTEGER, "Back ends that answered."),
  },
);

const FINDING = closedObject(
  "A cell that did not match the expectation, or what keeps the answer from being one.",
  { expected: TEXT, observed: TEXT },
  {
    cell: described(INTEGER, "Position in cells, from 0; absent for what is about the input as a whole."),
    about: described(TEXT, "With no cell: what it is about, such as cluster/demo or cluster.yaml:12:3."),
    limit: described(INTEGER, "Of flows that are not judged: position in basis.notJudged, from 0."),
    allowed: described({ const: true }, "The user takes it (--allow): it is shown, and does not count."),
    code: described(CODE, "What explains it."),
    remedy: described(TEXT, "What to do."),
    trace: described(TEXT, "The words behind mullion trace that show it, without the file."),
  },
);

const REMARK_FIELDS = {
  code: CODE,
  message: described(TEXT, "One sentence without a full stop."),
  advice: described(TEXT, "What to do, in full sentences."),
} as const;
const REMARK = closedObject("A remark on the input.", REMARK_FIELDS, { where: PLACE });
const REMARKS = { type: "array", items: REMARK } as const;
const NOT_JUDGED = closedObject(
  "What keeps flows from being judged.",
  { ...REMARK_FIELDS, flows: described(INTEGER, "Flows of the full matrix.") },
  { where: PLACE },
);

const FACT = closedObject(
  "Something that the answer rests on.",
  {
    name: { enum: [...FACT_NAMES] },
    value: TEXT,
    source: described(
      TEXT,
      "The object or file that says it, such as node/win-1; assumed where nobody does.",
    ),
  },
  { where: PLACE },
);

const BASIS = closedObject("What the answer rests on besides what was tried.", {
  facts: described({ type: "array", items: FACT }, "One by one, each with who says it."),
  contradictions: described(
    REMARKS,
    "What the input says against itself, or against what Windows can; each is a finding as well.",
  ),
  assumptions: described(REMARKS, "Assumed, because the input does not say it."),
  refused: described(REMARKS, "Refused, and left out of the cluster; each is a finding as well."),
  notJudged: described(
    { type: "array", items: NOT_JUDGED },
    "Why flows are not judged; each is a finding as well.",
  ),
  notes: described(REMARKS, "Passed by, or worth knowing; nothing is wrong."),
});

const COUNTS = closedObject("Numbers of cells.", {
  cells: described(INTEGER, "Cells of the full matrix."),
  tried: described(INTEGER, "Cells that were tried, each for all equal ones."),
  attempts: described(INTEGER, "Connections, datagrams and echo requests."),
  works: described(INTEGER, "Tried cells that work as expected."),
  denied: described(INTEGER, "Tried cells that are denied as expected."),
  notApplicable: INTEGER,
  notJudged: described(INTEGER, "Tried cells that are not judged."),
  findings: described(INTEGER, "Without those that the user takes."),
});

export const VERIFY_SCHEMA: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Mullion verification",
  ...closedObject(
    "Which flows of a cluster work, which are denied, and whether that is what is documented.",
    {
      apiVersion: { const: "mullion/v1alpha1" },
      kind: { const: "Verification" },
      cluster: described(TEXT, "Its name."),
      compat: described(
        { type: "array", items: { enum: ["upstream", "hardened"] } },
        "Which behaviour answered: the real components' with their defects, or the repaired one.",
      ),
      basis: BASIS,
      counts: COUNTS,
      cells: { type: "array", items: CELL },
      findings: { type: "array", items: FINDING },
    },
  ),
};
