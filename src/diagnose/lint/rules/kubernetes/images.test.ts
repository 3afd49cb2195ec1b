/** Images whose build no node can be expected to have, where the input shows no nodes. */
import { describe, expect, it } from "vitest";
import { lintExample, oneFile } from "#test/support/lint/example-input.ts";

const podOf = (name: string, image: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: c, image: "${image}" }]
---
`;
const SERVERCORE = "mcr.microsoft.com/windows/servercore";

// Builds: Microsoft, "Windows container version compatibility". No supported server has 17134.
describe("manifests without nodes", () => {
  it.each([
    [
      "of a build that is not supported",
      podOf("a", `${SERVERCORE}:1803`),
      ["warning on Windows Server 2022"],
    ],
    [
      "of such a build beside one of Server 2019",
      podOf("a", `${SERVERCORE}:1803`) + podOf("b", `${SERVERCORE}:ltsc2019`),
      ["warning on Windows Server 2019"],
    ],
    ["of Server 2019", podOf("a", `${SERVERCORE}:ltsc2019`), []],
    ["that name no build", podOf("a", "registry.example/web:1"), []],
  ])("with images %s", (_, text, expected) => {
    const { findings } = lintExample(oneFile("pod.yaml", text, {}));
    expect(
      findings.map(({ code, severity, message }) => {
        expect(code).toBe("image-of-another-build");
        return `${severity} on ${/Windows Server \d+/.exec(message)?.[0]}`;
      }),
    ).toEqual(expected);
  });
});

/** A pod for the pool of AKS with these images of Windows. */
function skuPod(sku: string, image: string): string {
  return podOf(`for-${sku.toLowerCase()}`, image).replace(
    "kubernetes.io/os: windows",
    `kubernetes.azure.com/os-sku: ${sku}`,
  );
}

// https://learn.microsoft.com/azure/aks/upgrade-windows-os: pods are kept on their build by the label os-sku.
describe("pods for one pool of AKS", () => {
  const BOTH =
    skuPod("Windows2019", `${SERVERCORE}:ltsc2019`) + skuPod("Windows2022", `${SERVERCORE}:ltsc2022`);

  it("are not for the nodes of the other build", () => {
    expect(lintExample(oneFile("pod.yaml", BOTH, {})).findings).toEqual([]);
  });

  it("are found when their image is of the other build", () => {
    const text = skuPod("Windows2019", `${SERVERCORE}:ltsc2022`);
    const { findings } = lintExample(oneFile("pod.yaml", text, {}));
    expect(findings.map(({ code }) => code)).toEqual(["image-of-another-build"]);
  });
});
