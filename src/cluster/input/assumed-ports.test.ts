// Services that lead where no container declares a port: what a program listens on is in no manifest.
import { expect, it } from "vitest";
import { readInput } from "./read-input.ts";

function assumedOf(servicePort: string, containerPorts: string, more = ""): readonly string[] {
  const text = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [${servicePort}] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: i, ports: [${containerPorts}] }]${more} }
`;
  const read = readInput([{ name: "web.yaml", text }]);
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join());
  return read.input.assumed
    .filter(({ code }) => code === "service-target-port-undeclared")
    .map(({ message }) => message);
}

it.each<readonly [what: string, servicePort: string, containerPorts: string, ports: string | undefined]>([
  [
    "another number",
    "{ port: 80, targetPort: 8080 }",
    "{ containerPort: 80 }",
    "default/web to TCP 8080 (declared: TCP 80)",
  ],
  [
    "the Service's own number",
    "{ port: 8080 }",
    "{ containerPort: 80 }",
    "default/web to TCP 8080 (declared: TCP 80)",
  ],
  [
    "another protocol",
    "{ port: 53, protocol: UDP }",
    "{ containerPort: 53 }",
    "default/web to UDP 53 (declared: TCP 53)",
  ],
  ["a port that is declared", "{ port: 80, targetPort: 8080 }", "{ containerPort: 8080 }", undefined],
  ["containers that declare nothing", "{ port: 80 }", "", "default/web to TCP 80 (declared: none)"],
  [
    "a name, which the container declares",
    "{ port: 80, targetPort: http }",
    "{ name: http, containerPort: 1 }",
    undefined,
  ],
])("%s", (_, servicePort, containerPorts, ports) => {
  const said = `no container declares a port to which a Service leads, and something is taken to listen there: ${ports}`;
  expect(assumedOf(servicePort, containerPorts)).toEqual(ports === undefined ? [] : [said]);
});

it("a port of a sidecar is declared", () => {
  const sidecar = (policy: string): string =>
    `, initContainers: [{ name: p, image: i, ${policy} ports: [{ containerPort: 9000 }] }]`;
  const [port, declared] = ["{ port: 80, targetPort: 9000 }", "{ containerPort: 8080 }"];
  expect(assumedOf(port, declared, sidecar("restartPolicy: Always,"))).toEqual([]);
  expect(assumedOf(port, declared, sidecar(""))).toHaveLength(1);
});
