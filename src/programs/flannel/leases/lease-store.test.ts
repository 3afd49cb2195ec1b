import { VirtualClock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { MemoryEtcd } from "#test/support/flannel/memory-etcd.ts";
import { MemoryNodes } from "#test/support/flannel/memory-nodes.ts";
import { EtcdLeaseStore } from "../etcd/etcd-lease-store.ts";
import { SubnetRegistry } from "../etcd/subnet-registry.ts";
import { KeptLog } from "../reports.ts";
import { annotationsOf } from "../kube/node-lease.ts";
import { KubeLeaseStore } from "../kube/kube-lease-store.ts";
import { NodeLeases } from "../kube/node-leases.ts";
import { type StoreWorld, leaseStoreSuite } from "#test/support/flannel/lease-store.suite.ts";
import { parseNetworkConfig } from "../network-config.ts";

const NET_CONF = '{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}';

async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

for (const compat of ["upstream", "hardened"] as const) {
  leaseStoreSuite(`annotations of Nodes, ${compat}`, async (): Promise<StoreWorld> => {
    const [clock, nodes, log] = [new VirtualClock(), new MemoryNodes(), new KeptLog()];
    for (const [index, name] of ["n1", "n2", "n3"].entries())
      nodes.put(name, { podCIDR: `10.244.${index + 1}.0/24` });
    const config = parseNetworkConfig(NET_CONF);
    const annotations = annotationsOf("flannel.alpha.coreos.com");
    return {
      store: async (nodeName) =>
        new KubeLeaseStore({
          source: nodes,
          leases: new NodeLeases({ source: nodes, clock, annotations, families: config, compat, log }),
          nodeName,
          annotations,
          config,
          setsCondition: true,
          compat,
          log,
          clock,
          epochMs: 0,
        }),
      settle,
      leave: async (name) => nodes.remove(name),
      close: async () => undefined,
    };
  });

  leaseStoreSuite(`etcd in memory, ${compat}`, async (): Promise<StoreWorld> => {
    const [clock, log] = [new VirtualClock(), new KeptLog()];
    const etcd = new MemoryEtcd(clock);
    etcd.set("/coreos.com/network/config", NET_CONF);
    const registry = new SubnetRegistry(etcd, "/coreos.com/network", log);
    const prng = new Prng(3);
    return {
      store: async () =>
        new EtcdLeaseStore({
          registry,
          clock,
          prng,
          compat,
          log,
          previous: { subnet: undefined, ipv6Subnet: undefined },
        }),
      settle,
      leave: async (_, lease) => etcd.unset(registry.keyOf(lease)),
      close: async () => undefined,
    };
  });
}
