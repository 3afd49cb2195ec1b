import { expect, it } from "vitest";
import { contractOfKubeSources } from "#test/support/kubernetes/source-contract.suite.ts";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { MemoryKubeSource } from "./memory-kube-source.ts";

contractOfKubeSources("the embedded control plane", async () => {
  const source = new MemoryKubeSource(start("", { clusterCIDRs: [] }));
  return { source, end: () => source.close() };
});

it("a source that was closed answers nothing, whatever is asked, and changes nothing", async () => {
  const kube = start("", { clusterCIDRs: [] });
  const source = new MemoryKubeSource(kube);
  const name = { namespace: "default", name: "kept" };
  const kept = await source.create("ConfigMap", { metadata: name, data: { a: "1" } });
  const before = kube.resourceVersion;
  await source.close();
  const body = { type: "merge", body: { data: { a: "2" } } } as const;
  const asked = [
    source.list("ConfigMap"),
    source.get("ConfigMap", name),
    source.create("ConfigMap", { metadata: { ...name, name: "new" } }),
    source.update("ConfigMap", { ...kept, data: {} }),
    source.patch("ConfigMap", name, body),
    source.delete("ConfigMap", name),
    new Promise((_, reject) => source.watch("ConfigMap", before, () => undefined, { onEnd: reject })),
  ];
  for (const each of await Promise.allSettled(asked))
    expect(each).toMatchObject({
      status: "rejected",
      reason: { message: expect.stringContaining("closed") as string },
    });
  expect(kube.resourceVersion).toBe(before);
});
