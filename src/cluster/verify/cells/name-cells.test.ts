// Who asks for a Service by name: clients in turn, and for the short one those of its own namespace.
import { expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { readInput } from "../../input/read-input.ts";
import { openSession } from "../../session/open-session.ts";
import { DUMP_SIZES, largeDump } from "#test/support/cluster/large-dump.ts";
import { isOrdinary } from "../facts.ts";
import type { VerifyModel, VerifyPod } from "../model.ts";
import { readModel } from "../model-of-cluster.ts";
import { classOfClient } from "../service-port.ts";
import { nameCells } from "./name-cells.ts";

/** The small dump, in which each third pod is called as a Service of its namespace. */
async function modelWithNamesakes(): Promise<VerifyModel> {
  const read = readInput([{ name: "dump.yaml", text: [...largeDump(DUMP_SIZES.small)].join("") }]);
  if (!("input" in read)) throw new Error("a dump can be read");
  const { session } = await openSession(read.input, undefined, "when asked");
  const model = readModel(session.cluster);
  const pods = model.pods.map((pod, index) => {
    const own = model.services.find(({ namespace }) => namespace === pod.namespace);
    return index % 3 === 0 && own !== undefined ? { ...pod, hostname: own.name.toUpperCase() } : pod;
  });
  return { ...model, pods };
}

it("asks by the short name from the namespace of a Service, and from nobody who is called as it", async () => {
  const model = await modelWithNamesakes();
  const clients = Map.groupBy(
    model.pods.filter((pod) => isOrdinary(pod) && pod.usesClusterDns),
    classOfClient,
  );
  const withPort = model.services.filter(({ ports }) => ports.length > 0);
  const expected = withPort.flatMap((service, turn) =>
    [...clients.values()].flatMap((all) => {
      const backEnds = new Set(service.ports[0]?.backEnds.map(({ pod }) => pod?.index));
      const inTurn = [...all.slice(turn % all.length), ...all.slice(0, turn % all.length)];
      const firstOf = (pods: readonly VerifyPod[]): VerifyPod =>
        defined(pods.find(({ index }) => !backEnds.has(index)) ?? pods[0], "somebody asks");
      const near = inTurn.filter(
        ({ namespace, hostname }) =>
          namespace === service.namespace && hostname.toLowerCase() !== service.name,
      );
      const full = [firstOf(inTurn).reference, service.reference, all.length];
      return near.length === 0 ? [full] : [full, [firstOf(near).reference, service.reference, near.length]];
    }),
  );
  const asked = nameCells(model).filter(({ flow }) => /-(?:full|short)-name$/.test(flow));
  expect(
    asked.map(({ source, target, standsFor }) => [source?.reference, target.reference, standsFor]),
  ).toEqual(expected);
  const counts = Map.groupBy(asked, ({ flow }) => flow);
  expect(counts.get("pod-to-service-short-name")?.length).toBeLessThan(
    counts.get("pod-to-service-full-name")?.length ?? 0,
  );
});
