// What a check finds of several objects is one finding, and it names each of the others.
import { expect, it } from "vitest";
import { IDS, type NodeDocuments, filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { SourceText } from "#core/base/source-text.ts";
import { type DoctorReport, examineNodes } from "../doctor.ts";
import { FileReading } from "../read-evidence.ts";

type Json = Record<string, unknown>;

async function examine(change: (documents: NodeDocuments) => void): Promise<DoctorReport> {
  const documents = healthyNode();
  change(documents);
  const files = Object.entries(filesOf(documents));
  return examineNodes(
    files.map(([name, text]) => new FileReading(new SourceText(name, text))),
    { logs: [{ file: "node/kubeproxy.log", findings: [] }] },
  );
}

const LB = "22222222-0000-4000-8000-00000000000";

/** As the finding names front ends of Services; the first one is that of DNS by UDP. */
const FRONT_ENDS = ["kube-system/kube-dns 10.96.0.10:53/TCP", "shop/web 10.96.7.7:80/TCP"];
const IDS_OF_OTHERS = [`${LB}2`, `${LB}3`];

const ROWS: readonly (readonly [
  code: string,
  change: (documents: NodeDocuments) => void,
  others: readonly string[],
])[] = [
  ["load-balancer-missing", ({ loadBalancers }) => void loadBalancers.splice(0), FRONT_ENDS],
  [
    "load-balancer-back-ends-differ",
    ({ loadBalancers }) => {
      for (const each of loadBalancers) each["References"] = [`/endpoints/${IDS.SOURCE}`];
    },
    FRONT_ENDS,
  ],
  [
    "load-balancer-back-end-unknown",
    ({ loadBalancers }) => {
      for (const each of loadBalancers) each["References"] = [`/endpoints/${LB}9`];
    },
    IDS_OF_OTHERS,
  ],
  [
    "load-balancer-without-service",
    ({ kubernetes }) => {
      for (const { spec } of kubernetes as { spec?: Json }[])
        if (spec?.["clusterIP"] !== undefined)
          Object.assign(spec, { clusterIP: "None", clusterIPs: ["None"] });
    },
    [`${LB}2 10.96.0.10`, `${LB}3 10.96.7.7`],
  ],
  [
    "hns-object-degraded",
    ({ loadBalancers }) => {
      for (const each of loadBalancers) each["State"] = 4;
    },
    IDS_OF_OTHERS,
  ],
];

it.each(ROWS)("%s names all of them", async (code, change, others) => {
  const { findings } = await examine(change);
  expect(findings.filter((each) => each.code === code).map((each) => each.others)).toEqual([others]);
});
