/**
 * Controls of the Pod Security Standards, each with a pod that it refuses and one that it leaves (kubernetes.io,
 * concepts/security/pod-security-standards). What a real API server says of many more is in the live tests.
 */
import { describe, expect, it } from "vitest";
import { podSecurityOf, podSecurityViolations } from "./pod-security.ts";

type Fields = Readonly<Record<string, unknown>>;

const GOOD = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};
const podWith = (spec: Fields, security: Fields = {}, container: Fields = {}) => ({
  annotations: {},
  spec: {
    containers: [{ name: "c", image: "i", securityContext: { ...GOOD, ...security }, ...container }],
    ...spec,
  },
});
const refusals = (level: "baseline" | "restricted", pod: ReturnType<typeof podWith>, version = "latest") =>
  podSecurityViolations(pod, { level, version });

describe("baseline", () => {
  it.each<readonly [says: string, bad: ReturnType<typeof podWith>, good: ReturnType<typeof podWith>]>([
    ["host namespaces (hostNetwork=true)", podWith({ hostNetwork: true }), podWith({ hostNetwork: false })],
    [
      'hostPath volumes (volume "v")',
      podWith({ volumes: [{ name: "v", hostPath: { path: "C:\\k" } }] }),
      podWith({ volumes: [{ name: "v", emptyDir: {} }] }),
    ],
    [
      'hostPort (container "c" must not use hostPort 8080)',
      podWith({}, {}, { ports: [{ containerPort: 80, hostPort: 8080 }] }),
      podWith({}, {}, { ports: [{ containerPort: 80, hostPort: 0 }] }),
    ],
    [
      "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
      podWith({ securityContext: { windowsOptions: { hostProcess: true } } }),
      podWith({ securityContext: { windowsOptions: { runAsUserName: "ContainerUser" } } }),
    ],
    [
      'privileged (container "c" must not set securityContext.privileged=true)',
      podWith({}, { privileged: true }),
      podWith({}, { privileged: false }),
    ],
    [
      'non-default capabilities (container "c" must not add them)',
      podWith({}, { capabilities: { add: ["NET_ADMIN"] } }),
      podWith({}, { capabilities: { add: ["NET_BIND_SERVICE"] } }),
    ],
    [
      'probe or lifecycle host (container "c" must not name the host "10.0.0.1")',
      podWith({}, {}, { readinessProbe: { httpGet: { port: 80, host: "10.0.0.1" } } }),
      podWith({}, {}, { readinessProbe: { httpGet: { port: 80 } } }),
    ],
    [
      "forbidden sysctls (net.core.somaxconn)",
      podWith({ securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } }),
      podWith({ securityContext: { sysctls: [{ name: "net.ipv4.tcp_rmem", value: "1" }] } }),
    ],
    [
      'seccompProfile (container "c" must not set securityContext.seccompProfile.type to Unconfined)',
      podWith({}, { seccompProfile: { type: "Unconfined" } }),
      podWith({}, { seccompProfile: { type: "Localhost" } }),
    ],
    [
      'forbidden AppArmor profile (container "c" must not set another AppArmor profile)',
      podWith({}, { appArmorProfile: { type: "Unconfined" } }),
      podWith({}, { appArmorProfile: { type: "RuntimeDefault" } }),
    ],
    [
      'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions)',
      podWith({}, { seLinuxOptions: { type: "spc_t" } }),
      podWith({}, { seLinuxOptions: { type: "container_t" } }),
    ],
    [
      'procMount (container "c" must not set securityContext.procMount to another than Default)',
      podWith({}, { procMount: "Unmasked" }),
      podWith({}, { procMount: "Default" }),
    ],
  ])("%s", (says, bad, good) => {
    expect(refusals("baseline", bad)).toEqual([says]);
    expect(refusals("baseline", good)).toEqual([]);
  });

  it("asks of older versions what they knew", () => {
    const host = podWith({}, {}, { readinessProbe: { httpGet: { port: 80, host: "10.0.0.1" } } });
    expect(refusals("baseline", host, "v1.33")).toEqual([]);
    const sysctl = podWith({ securityContext: { sysctls: [{ name: "net.ipv4.tcp_rmem", value: "1" }] } });
    expect(refusals("baseline", sysctl, "v1.31")).toEqual(["forbidden sysctls (net.ipv4.tcp_rmem)"]);
  });
});

describe("restricted", () => {
  it("takes a pod that gives all of it up, and asks the rest of another", () => {
    expect(refusals("restricted", podWith({}))).toEqual([]);
    const bare = { annotations: {}, spec: { containers: [{ name: "c", image: "i" }] } };
    expect(podSecurityViolations(bare, { level: "restricted", version: "latest" })).toEqual([
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
      'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"], and add NET_BIND_SERVICE at most)',
      'runAsNonRoot != true (container "c" must set securityContext.runAsNonRoot=true)',
      'seccompProfile (container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ]);
  });

  it("asks a pod that says that it is for Windows for runAsNonRoot alone", () => {
    const spec = { os: { name: "windows" }, containers: [{ name: "c", image: "i" }] };
    const windows = { annotations: {}, spec };
    expect(podSecurityViolations(windows, { level: "restricted", version: "latest" })).toEqual([
      'runAsNonRoot != true (container "c" must set securityContext.runAsNonRoot=true)',
    ]);
  });

  it.each<readonly [says: string, pod: ReturnType<typeof podWith>]>([
    ["restricted volume types", podWith({ volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] })],
    ["restricted volume types", podWith({ volumes: [{ name: "v", hostPath: { path: "/" } }] })],
    ["runAsUser=0", podWith({}, { runAsUser: 0 })],
    ["unrestricted capabilities", podWith({}, { capabilities: { drop: ["ALL"], add: ["CHOWN"] } })],
    ["runAsNonRoot != true", podWith({}, { runAsNonRoot: false })],
  ])("%s, once", (says, pod) => {
    expect(refusals("restricted", pod).map((reason) => reason.replace(/ \(.*/, ""))).toEqual([says]);
  });
});

it("is what the label of the Namespace says, in the newest version where none is named", () => {
  const label = (level: string, more = {}) =>
    podSecurityOf({ "pod-security.kubernetes.io/enforce": level, ...more });
  expect(label("baseline")).toEqual({ level: "baseline", version: "latest" });
  const version = { "pod-security.kubernetes.io/enforce-version": "v1.30" };
  expect(label("restricted", version)).toEqual({ level: "restricted", version: "v1.30" });
  expect(label("privileged")).toBeUndefined();
  expect(podSecurityOf({ "pod-security.kubernetes.io/warn": "restricted" })).toBeUndefined();
});
