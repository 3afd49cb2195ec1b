import { describe, expect, it } from "vitest";
import { getEntry } from "../../catalogue/catalogue.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { lintExample, plainExample } from "#test/support/lint/example-input.ts";
import { LINT_EXAMPLES } from "#test/support/lint/all-examples.ts";
import { toldTexts } from "#test/support/told-texts.ts";
import { LINT_RULES } from "./all-rules.ts";

const told = toldTexts("test/support/lint/findings.txt");
const CODES = [...new Set(LINT_RULES.map(({ code }) => code))];

describe("the rules", () => {
  it("have an example each, and no example is left over", () => {
    expect(Object.keys(LINT_EXAMPLES).toSorted()).toEqual(CODES.toSorted());
  });

  it("are said how heavy they are in the catalogue, and nothing else is", () => {
    const weighed = KNOWLEDGE_CODES.filter((code) => getEntry(code).severity !== undefined);
    // What lint finds without a rule: texts that cannot be read, suppressions, and all codes of cluster files.
    const byEngine =
      /^(?:manifest-invalid-yaml|manifest-list-without-kind|manifest-too-large|lint-suppression-invalid|cluster-file-.*)$/;
    expect(CODES.filter((code) => !weighed.includes(code))).toEqual([]);
    expect(weighed.filter((code) => !CODES.includes(code) && !byEngine.test(code))).toEqual([]);
  });
});

it("DT-048 a VNI of 100 is too low for flannel on Windows", () => {
  const text = '{ "Network": "10.244.0.0/16", "Backend": { "Type": "vxlan", "VNI": 100, "Port": 4789 } }';
  const { findings } = lintExample({ files: [{ name: "net-conf.json", text }], isWindows: true });
  expect(findings.map(({ code }) => code)).toContain("flannel-vni-below-4096");
});

it.each(['"Port": "8472"', '"Port": "4789"', '"VNI": "4096", "Port": 4789', '"Port": true'])(
  "flanneld takes no text for a number: %s",
  (fields) => {
    const text = `{ "Network": "10.244.0.0/16", "Backend": { "Type": "vxlan", ${fields} } }`;
    const { findings } = lintExample({ files: [{ name: "net-conf.json", text }], isWindows: true });
    expect(findings.map(({ code, severity }) => `${severity} ${code}`)).toContain(
      "error flanneld-configuration-invalid",
    );
  },
);

// containerd/containerd#5729: such a request was in the log of a plugin; HNS made the endpoint, and it degraded.
describe("a placeholder in what HNS is asked for", () => {
  const exceptions = '"Exceptions": ["<your service cidr>", "100.244.0.0/16"]';
  const route =
    '{ "Type": "SDNROUTE", "Settings": { "DestinationPrefix": "<your service cidr>", "NeedEncap": true } }';
  it.each([
    ["a list of policies", `[{ "Type": "OutBoundNAT", "Settings": { ${exceptions} } }, ${route}]`, 2],
    [
      "an endpoint",
      `{ "Name": "web_Calico", "HostComputeNetwork": "7198D0AB-9758-4C83-8CED-311F4DD0CF9C", "Policies": [${route}],
        "IpConfigurations": [{ "IpAddress": "100.244.206.68" }], "SchemaVersion": { "Major": 2, "Minor": 0 } }`,
      1,
    ],
    ["a policy of v1", '[{ "Type": "OutBoundNAT", "ExceptionList": ["${CLUSTER_CIDR}"] }]', 1],
    ["a network's subnet", '{ "Name": "a", "Type": "NAT", "Subnets": [{ "AddressPrefix": "__CIDR__" }] }', 1],
    ["a whole list", '[{ "Type": "OutBoundNAT", "Settings": { "Exceptions": ["10.96.0.0/12"] } }]', 0],
    ["a name in angle brackets", '{ "Name": "<mine>", "Type": "NAT", "Subnets": [] }', 0],
  ])("%s", (_, text, count) => {
    const { findings } = lintExample({ files: [{ name: "request.json", text }], isWindows: true });
    expect(findings.filter(({ code }) => code === "placeholder-left")).toHaveLength(count);
  });
});

describe("JSON that stands in a field of another document", () => {
  const conf = '{ "Network": "10.244.0.0/16", "Backend": { "Type": "vxlan", "VNI": 1, "Port": 4789 } }';
  const map = (data: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: kube-flannel-cfg }\ndata:\n  net-conf.json: ${data}\n`;
  const columnIn = (first: number): number => first + conf.indexOf("1, ");

  it.each([
    ["in quotes", "cm.yaml", map(`'${conf}'`), 5, columnIn(19)],
    ["as a block", "cm.yaml", map(`|\n    ${conf}`), 6, columnIn(5)],
    ["in a file of its own", "net-conf.json", conf, 1, columnIn(1)],
  ])("is found in the file where it is wrong: %s", (_, name, text, line, column) => {
    const { findings } = lintExample({ files: [{ name, text }], isWindows: true });
    const found = findings.find(({ code }) => code === "flannel-vni-below-4096");
    expect(found).toMatchObject({ line, column });
  });
});

describe("an IPPool of Calico with IP-in-IP beside Windows nodes", () => {
  // docs.tigera.io, reference/resources/ippool: nodeSelector says for which nodes a pool is; without one it is for all.
  it.each([
    ["ipipMode: Always", true],
    ["ipipMode: CrossSubnet, nodeSelector: all()", true],
    [`ipipMode: Always, nodeSelector: "kubernetes.io/os == 'windows'"`, true],
    [`ipipMode: Always, nodeSelector: "kubernetes.io/os == 'linux'"`, false],
    ["ipipMode: Always, disabled: true", false],
    ["ipipMode: Never", false],
  ])("%s: warned of is %s", (fields, isWarned) => {
    const text = `apiVersion: crd.projectcalico.org/v1\nkind: IPPool\nmetadata: { name: p }\nspec: { cidr: 10.244.0.0/16, ${fields} }\n`;
    const { findings } = lintExample({ files: [{ name: "pool.yaml", text }], isWindows: true });
    expect(findings.some(({ code }) => code === "calico-encapsulation-unsupported")).toBe(isWarned);
  });
});

describe.each(CODES)("%s", (code) => {
  const examples = LINT_EXAMPLES[code];

  it("is found in the bad example, where the mark stands, and nowhere else", () => {
    if (examples === undefined) throw new Error("there is no example");
    const { marked } = plainExample(examples.bad);
    const report = lintExample(examples.bad);
    const places = report.findings
      .filter((finding) => finding.code === code)
      .map(({ file, line, column }) => `${file}:${line}:${column}`);
    expect(marked.length).toBeGreaterThan(0);
    expect([...new Set(places)]).toEqual(marked);
  });

  it("is silent about the good example, and so are all others", () => {
    if (examples === undefined) throw new Error("there is no example");
    const { findings, counts } = lintExample(examples.good);
    expect(findings.map((finding) => `${finding.line}:${finding.column} ${finding.code}`)).toEqual([]);
    expect(counts.documents).toBeGreaterThan(0);
  });

  it("says what is wrong in one sentence without a full stop", () => {
    if (examples === undefined) throw new Error("there is no example");
    const { findings } = lintExample(examples.bad);
    const lines = findings.map((each) => {
      const { severity, file, line, column, message, fix } = each;
      const own = each.code === code ? "" : `${each.code}, `;
      return `${own}${severity} ${file}:${line}:${column}: ${message}\n${fix === "" ? "" : `  ${fix}\n`}`;
    });
    const text = lines.join("");
    expect(text).toBe(told.held(code, text));
    for (const { message, fix } of findings) {
      expect(message).toMatch(/^[^\n]{10,220}[^.\n]$/);
      expect(fix === "" || /[.:]$|\S$/.test(fix)).toBe(true);
    }
  });
});
