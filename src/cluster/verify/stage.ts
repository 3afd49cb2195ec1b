/**
 * The copy of a cluster that is verified. Cells speak of machines by their position, so that they mean the same in
 * every copy; here they become stacks that send.
 */
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { type BackEndCounts, keyOfTurns } from "#dataplane/vfp/actions/nat-turns.ts";
import { assert, defined } from "#core/base/assert.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { nodeOf } from "./facts.ts";
import type { Cell } from "./cells/cell.ts";
import type { VerifyModel, VerifySender } from "./model.ts";
import { VERIFY_PORT } from "./cells/pod-cells.ts";

/** The stack that a sender has in `cluster`. Who sends from it has asked for its machine (`isThere`). */
export function compartmentOf(cluster: Cluster, sender: VerifySender): Compartment {
  switch (sender.kind) {
    case "pod":
      return defined(cluster.pods[sender.index], "a copy has the pods of the original").compartment;
    case "node":
      return defined(cluster.nodes[sender.index], "a copy has the nodes of the original").host.root;
    case "outside":
      return defined(cluster.outside[sender.index], "a copy has the hosts of the original").compartment;
  }
}

/** False for a machine that the copy does not hold: it is looked at and must not be touched. */
export function isThere({ part }: Cluster, sender: VerifySender): boolean {
  const node = nodeOf(sender);
  return part === undefined || node === undefined || part.has(node.name);
}

function isAskedAt(cells: readonly Cell[]): ReadonlySet<string> {
  return new Set(
    cells
      .filter(({ target }) => target.port === VERIFY_PORT)
      .map(({ target, protocol }) => `${protocol} ${target.reference}`),
  );
}

/** Among how many the answerers of swept addresses are chosen. */
function backEndCounts(cells: readonly Cell[]): BackEndCounts {
  const counts = new Map<string, number>();
  for (const { probe, protocol, target, among } of cells) {
    if ((probe !== "sweep" && probe !== "own") || target.address === undefined) continue;
    const count = probe === "own" ? among : (target.answerers?.length ?? 0);
    counts.set(keyOfTurns(IpProtocol[protocol], target.address, target.port), count);
  }
  return counts;
}

/**
 * Copies the cluster and lets pods and nodes that are asked on no port of their own answer on `VERIFY_PORT`. A port
 * that somebody has already stays theirs.
 */
export function setStage(cluster: Cluster, model: VerifyModel, cells: readonly Cell[]): Cluster {
  const copy = forkCluster(cluster);
  // A sweep waits for every back end, not for luck.
  const counts = backEndCounts(cells);
  for (const { spec, host, hns } of copy.nodes) {
    if (copy.part?.has(spec.name) === false) continue;
    host.root.netfilter?.chooseInTurn();
    for (const each of hns?.listSwitches() ?? [])
      for (const { vfp } of each.listPorts())
        for (const pool of vfp.listNatPools()) pool.chooseInTurn(counts);
  }
  const asked = isAskedAt(cells);
  const serve = (traceEnd: VerifySender, name: string): void => {
    const isTcp = asked.has(`tcp ${traceEnd.reference}`);
    const isUdp = asked.has(`udp ${traceEnd.reference}`);
    if ((!isTcp && !isUdp) || !isThere(copy, traceEnd)) return;
    const server = new IdentificationServer(compartmentOf(copy, traceEnd), name);
    const failures = [
      isTcp ? server.listenTcp(VERIFY_PORT) : undefined,
      isUdp ? server.listenUdp(VERIFY_PORT) : undefined,
    ];
    assert(
      failures.every((failure) => failure === undefined || failure === "port-in-use"),
      "a port that nothing has can be served",
    );
  };
  // Nodes first: a pod in a node's network that has no port of its own answers as the node.
  for (const node of model.nodes) serve(node, node.name);
  for (const pod of model.pods) serve(pod, pod.serverName);
  for (const host of model.outside) serve(host, host.reference);
  return copy;
}
