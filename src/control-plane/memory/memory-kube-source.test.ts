import { contractOfKubeSources } from "#contracts/kubernetes/source-contract.suite.ts";
import { start } from "./kube.suite.ts";
import { MemoryKubeSource } from "./memory-kube-source.ts";

contractOfKubeSources("the embedded control plane", async () => {
  const source = new MemoryKubeSource(start("", { clusterCIDRs: [] }));
  return { source, end: () => source.close() };
});
