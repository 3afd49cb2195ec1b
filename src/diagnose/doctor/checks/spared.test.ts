// Sound nodes that have what others have not: nothing of it is a fault.
import { expect, it } from "vitest";
import {
  DSR_RULES,
  NAT_RULE,
  type NodeDocuments,
  filesOf,
  healthyNode,
  rulesText,
} from "#test/support/doctor/healthy-node.ts";
import { SourceText } from "#core/base/source-text.ts";
import { examineNodes } from "../doctor.ts";
import { FileReading } from "../read-evidence.ts";

type Json = Record<string, unknown>;

function objectOf({ kubernetes }: NodeDocuments, kind: string, name: string): Record<string, Json> {
  const found = kubernetes.find(
    (each) => each["kind"] === kind && (each["metadata"] as Json)["name"] === name,
  );
  return found as Record<string, Json>;
}

/** A load balancer as that of shop/web, at another address and port. */
function balanceWeb(
  { loadBalancers }: NodeDocuments,
  id: number,
  vips: readonly string[],
  port: number,
): void {
  const copy = structuredClone(loadBalancers[2]!) as { Policies: Json[] };
  Object.assign(copy.Policies[0]!, { VIPs: vips, ExternalPort: port });
  loadBalancers.push({ ...copy, ID: `22222222-0000-4000-8000-0000000001${String(id).padStart(2, "0")}` });
}

/** The rules of its port, with those of further front ends of shop/web. */
function addRules(documents: NodeDocuments, ...frontEnds: readonly string[]): void {
  const rules = frontEnds.map((each) => `LB_DSR_10.0.0.11_${each}_8080_6`);
  documents.rules = rulesText([...DSR_RULES, ...rules, NAT_RULE]);
}

/** The same id, which HNS writes in capitals in one place and in small letters in another. */
function withLetters(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll("11111111-0000", "1a1b1c1d-00ef"));
}

const SOUND: readonly (readonly [title: string, change: (documents: NodeDocuments) => void])[] = [
  [
    "addresses that a user, a cloud or an administrator gave to a Service",
    (documents) => {
      const status: Json = {};
      const { spec } = Object.assign(objectOf(documents, "Service", "web"), { status });
      Object.assign(spec!, {
        type: "LoadBalancer",
        externalIPs: ["192.0.2.7"],
        loadBalancerIP: "192.0.2.8",
        ports: [{ name: "http", port: 80, targetPort: 8080, nodePort: 31_080 }],
      });
      status["loadBalancer"] = { ingress: [{ ip: "192.0.2.9" }, { ip: "192.0.2.10", ipMode: "Proxy" }] };
      for (const [index, last] of [7, 8, 9].entries()) balanceWeb(documents, index, [`192.0.2.${last}`], 80);
      balanceWeb(documents, 9, [], 31_080);
      addRules(documents, "192.0.2.7_80", "192.0.2.8_80", "192.0.2.9_80");
    },
  ],
  [
    "a Service whose address is written as an old API server writes it",
    (documents) => void delete objectOf(documents, "Service", "web")["spec"]!["clusterIPs"],
  ],
  [
    "a Service with an address of IPv6 in another spelling",
    (documents) => {
      objectOf(documents, "Service", "web")["spec"]!["clusterIPs"] = ["10.96.7.7", "2001:DB8:0:0::77"];
      balanceWeb(documents, 1, ["2001:db8::77"], 80);
      addRules(documents, "2001:db8::77_80");
    },
  ],
  [
    "a remote endpoint for an address that a slice alone names",
    (documents) => {
      documents.endpoints.push({
        ...documents.endpoints[1]!,
        ID: "11111111-0000-4000-8000-000000000009",
        MacAddress: "02-11-C0-A8-09-09",
        IPAddress: "192.168.9.9",
      });
      const slice = structuredClone(objectOf(documents, "EndpointSlice", "web-1"));
      slice["metadata"]!["name"] = "outside-1";
      slice["metadata"]!["labels"] = { "kubernetes.io/service-name": "outside" };
      documents.kubernetes.push({ ...slice, endpoints: [{ addresses: ["192.168.9.9"] }] });
    },
  ],
  [
    "a node whose tunnel ends at another address than its first, as flannel publishes it",
    (documents) => {
      const { status } = objectOf(documents, "Node", "linux-1") as { status: { addresses: Json[] } };
      status.addresses.unshift({ type: "InternalIP", address: "192.168.7.21" });
    },
  ],
  [
    "a Service that counts pods of a node alone, of which this one has none",
    (documents) => {
      objectOf(documents, "Service", "kube-dns")["spec"]!["internalTrafficPolicy"] = "Local";
      documents.loadBalancers.splice(0, 2);
      documents.rules = rulesText([DSR_RULES[2]!, NAT_RULE]);
    },
  ],
  [
    "a load balancer with the source address that stands for none",
    ({ loadBalancers }) => {
      const [policy] = loadBalancers[2]!["Policies"] as Json[];
      policy!["SourceVIP"] = "0.0.0.0";
    },
  ],
  [
    "ids in capitals where one object names another",
    ({ endpoints, loadBalancers, namespaces }) => {
      for (const list of [endpoints, loadBalancers, namespaces]) {
        const written = withLetters(list) as Json[];
        list.splice(0, list.length, ...written);
      }
      for (const each of loadBalancers)
        each["References"] = (each["References"] as string[]).map(
          (path) => `/endpoints/${path.slice("/endpoints/".length).toUpperCase()}`,
        );
      for (const each of namespaces)
        for (const { Data } of each["ResourceList"] as { Data: { Id: string } }[])
          Data.Id = Data.Id.toUpperCase();
    },
  ],
  [
    "a pod that has ended, whose address is another's now",
    (documents) => {
      const pod = structuredClone(objectOf(documents, "Pod", "web-1"));
      pod["metadata"]!["name"] = "web-0";
      pod["status"]!["phase"] = "Succeeded";
      documents.kubernetes.push(pod);
    },
  ],
  [
    "a pod of the node's own network, which has no endpoint",
    (documents) => {
      const pod = structuredClone(objectOf(documents, "Pod", "web-1"));
      pod["metadata"] = { namespace: "kube-system", name: "agent" };
      const securityContext = { windowsOptions: { hostProcess: true } };
      Object.assign(pod["spec"]!, { hostNetwork: true, securityContext });
      pod["status"] = { phase: "Running", podIP: "10.0.0.11", podIPs: [{ ip: "10.0.0.11" }] };
      documents.kubernetes.push(pod);
    },
  ],
];

it.each(SOUND)("%s", async (_title, change) => {
  const documents = healthyNode();
  change(documents);
  const files = Object.entries(filesOf(documents));
  const { findings } = await examineNodes(
    files.map(([name, text]) => new FileReading(new SourceText(name, text))),
    { logs: [{ file: "node/kubeproxy.log", findings: [] }] },
  );
  expect(findings.map(({ code, message }) => `${code}: ${message}`)).toEqual([]);
});
