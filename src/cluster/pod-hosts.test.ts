import { expect, it } from "vitest";
import { type Ipv4, formatIp } from "../net/ip.ts";
import { podHosts } from "./pod-hosts.ts";

it("a pod's hosts file has its own name and the aliases of its manifest (DT-167)", () => {
  const metadata = { name: "web-0", namespace: "default", uid: "u", resourceVersion: "1" };
  const hostAliases = [{ ip: "10.9.9.9", hostnames: ["db", "db.corp.example"] }, { ip: "10.9.9.8" }];
  const hosts = podHosts(
    { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], hostAliases } },
    0x0af4_010a as Ipv4,
  );
  expect([...hosts].map(([name, ips]) => `${name} ${ips.map(formatIp).join(" ")}`)).toEqual([
    "web-0 10.244.1.10",
    "db 10.9.9.9",
    "db.corp.example 10.9.9.9",
  ]);
  const named = podHosts(
    { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], hostname: "www" } },
    0x0af4_010a as Ipv4,
  );
  expect([...named.keys()]).toEqual(["www"]);
});
