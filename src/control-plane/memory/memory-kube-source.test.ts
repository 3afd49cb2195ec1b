import { contractOfKubeSources } from "#test/support/kubernetes/source-contract.suite.ts";
import { start } from "#test/support/kubernetes/kube.suite.ts";
import { MemoryKubeSource } from "./memory-kube-source.ts";

contractOfKubeSources("the embedded control plane", async () => {
  const source = new MemoryKubeSource(start("", { clusterCIDRs: [] }));
  return { source, end: () => source.close() };
});
