/** The rows of the references by their families: what a complete list of tests would have. */

function numbered(prefix: string, count: number, digits = 1): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${String(i + 1).padStart(digits, "0")}`);
}

/** Rows of cni.md §8. */
export const CNI_ROWS: readonly string[] = numbered("CNI-", 158, 3);

/** Worked examples of cni.md §7, by the letter of their section. */
export const CNI_EXAMPLES: readonly string[] = (
  [
    ["A", 18],
    ["B", 13],
    ["C", 13],
    ["D", 15],
    ["E", 16],
    ["F", 14],
  ] as const
).flatMap(([letter, count]) => numbered(`CNI-EX-${letter}`, count));

/** Walks of dataplane.md §2.3 to §2.7, as titles name them. */
const WALKS: readonly string[] = [
  ...numbered("WALK-O-", 9),
  ..."1,2a,2b,3,4,5,6,7,8".split(",").map((name) => `WALK-B-${name}`),
  ...numbered("WALK-T-", 9),
  ...numbered("WALK-N-", 2),
];

/** Rows of kube-proxy.md by table; of control-planes.md those of flannel and its Linux peers. */
const TABLES: readonly (readonly [string, number])[] = [
  ["KP-A", 16],
  ["KP-B", 25],
  ["KP-C", 19],
  ["KP-D", 15],
  ["KP-E", 9],
  ["KP-F", 30],
  ["KP-G", 9],
  ["KP-H", 28],
  ["KP-L", 3],
  ["KP-S", 12],
  ["CP-F", 49],
  ["CP-S", 11],
];

/** All of them: hcn.md §10, dataplane.md §9 and §10, and the above. */
export const ROW_IDS: readonly string[] = [
  ...numbered("HCN-", 105, 3),
  ...numbered("DT-", 190, 3),
  ...numbered("F-", 56, 2),
  ...CNI_ROWS,
  ...CNI_EXAMPLES,
  ...WALKS,
  ...TABLES.flatMap(([prefix, count]) => numbered(prefix, count)),
];
