import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { MemoryKube } from "../memory/memory-kube.ts";
import {
  OPTIONS,
  linuxNode,
  pod,
  service,
  windowsNode,
  workload,
} from "#test/support/kubernetes/kube.suite.ts";
import { loadManifests } from "./load-manifests.ts";
import { YAML_PIECES, damageText } from "#test/support/damaged-text.ts";

/** `SEED=N npm run test:long` replays a run; without it each run draws its own. */
const SEED = process.env["SEED"] ?? String(Math.floor(Math.random() * 0x7fff_ffff));

const ITEMS = ["a", "b"]
  .map((name) => `- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: ${name}\n`)
  .join("");
const EXAMPLES = [
  windowsNode("win-1") +
    workload("Deployment", "web", "replicas: 2") +
    service("web", "type: NodePort, selector: {app: web}, ports: [{port: 80, nodePort: 30080}]"),
  linuxNode("linux-1") +
    workload("StatefulSet", "db", "serviceName: db") +
    service("db", "clusterIP: None, selector: {app: db}") +
    pod("p", "hostname: a, subdomain: db"),
  `apiVersion: v1\nkind: List\nitems:\n${ITEMS}metadata:\n  resourceVersion: ""\n`,
  JSON.stringify(
    {
      apiVersion: "v1",
      kind: "List",
      items: [
        { apiVersion: "v1", kind: "Service", metadata: { name: "a" }, spec: { ports: [{ port: 80 }] } },
      ],
    },
    null,
    2,
  ),
  "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s, labels: {kubernetes.io/service-name: web}}\naddressType: IPv4\nendpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]\nports: [{port: 80}]\n",
];
const PIECES = [
  ...YAML_PIECES,
  "-1",
  "70000",
  "yes",
  "null",
  "{{ .x }}",
  "items:\n",
  "kind: List\n",
  "2000000000",
  "\r",
];

describe(`damaged manifests, replay: SEED=${SEED} npm run test:long -- load/`, () => {
  const prng = new Prng(SEED);

  it("give objects, or problems with a place inside the file; what is given can be run", () => {
    for (let round = 0; round < 5_000; round++) {
      const text = damageText(EXAMPLES[round % EXAMPLES.length] ?? "", PIECES, prng);
      const { objects, notes, problems } = loadManifests([{ name: "fuzz.yaml", text }]);
      const lineCount = text.split("\n").length + 1;
      const outside = [...notes, ...problems].filter(
        ({ line, column }) => line < 1 || column < 1 || line > lineCount,
      );
      expect({ outside, text: outside.length === 0 ? "" : text }).toEqual({ outside: [], text: "" });
      // A number of replicas that takes minutes is no fault of the loader.
      if (/\d{4}/.test(text.replaceAll(/\d{5}\b|10\.0\.\d+\.\d+/g, ""))) continue;
      const kube = new MemoryKube(new Prng(1), OPTIONS);
      kube.apply(objects);
      kube.reconcile();
      const version = kube.resourceVersion;
      kube.reconcile();
      expect({ text, version: kube.resourceVersion }).toEqual({ text, version });
      kube.notes();
    }
  });
});
