// Defects of builds and pairs of faults: the files of a running cluster that has them, read as a user's.
import { describe, expect, it } from "vitest";
import { collectedFiles } from "#test/support/doctor/collected-files.ts";
import { FAULTS, type Fault, NODE, clientOf, soundWorld } from "#test/support/doctor/broken-cluster.ts";
import { apply, deployment, podsOf, remove } from "#test/support/cluster/session-world.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { Prng } from "#core/base/prng.ts";
import { QUIRK_NAMES, type QuirkName } from "#core/catalogue/quirks.ts";
import type { DoctorReport } from "#diagnose/doctor/doctor.ts";
import { doctor } from "./doctor.ts";
import { processTerminal } from "./process-terminal.ts";
import { runMullion } from "./program.ts";

const DSR = "kubeProxy: { enableDSR: true }\n";

/** Defects that show in the files of a node after this course of it, with the code that is told first. */
const VISIBLE: Readonly<Partial<Record<QuirkName, string>>> = {
  "load-balancer-port-missing": "load-balancer-missing",
  "load-balancer-rules-missing": "hns-rules-differ",
  "load-balancer-rules-doubled": "hns-rules-differ",
  "outbound-nat-rules-missing": "hns-rules-differ",
  "client-policies-not-applied": "hns-rules-differ",
  "front-end-keeps-back-ends": "load-balancer-back-end-unknown",
};
/** Calls of these never return: there is nothing to collect. */
const HANG: ReadonlySet<QuirkName> = new Set(["service-deadlock", "load-balancers-of-one-endpoint-hang"]);

async function reportOf(files: Readonly<Record<string, string>>): Promise<DoctorReport> {
  const terminal = new MemoryTerminal(files);
  const argv = ["doctor", "collected", "-o", "json"];
  await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
  return JSON.parse(terminal.output) as DoctorReport;
}

describe("a defect of Windows on one node", () => {
  it.each(QUIRK_NAMES.filter((name) => !HANG.has(name)))("%s", async (name) => {
    const world = await soundWorld(DSR);
    world.session.cluster.nodes.find(({ spec }) => spec.name === NODE)?.hns?.setQuirk(name, "on");
    const [pod] = podsOf(world, "back-");
    await remove(world, `pod/${pod?.metadata.name ?? ""}`);
    await apply(world, deployment("web", "windows", 2));
    await world.session.changeNode(NODE, { do: "restart-hns", state: "keep" });
    await apply(world, deployment("late", "windows", 2));
    await world.session.passTime(5_000);
    const { findings } = await reportOf(await collectedFiles(world, NODE));
    expect(findings[0]?.code).toBe(VISIBLE[name]);
  });
});

/** Networks of programs come back after a reboot; those of Mullion itself are made once. */
const OVERLAY = "network: { plugin: flannel, driver: Overlay }\n";

describe.each(["", DSR, OVERLAY, "network: { driver: Overlay }\n"])("a sound node, %j", (fields) => {
  it("gives no finding after pods went and came, HNS restarted, and the machine", async () => {
    const world = await soundWorld(fields);
    const steps: Readonly<Record<string, () => Promise<unknown>>> = {
      "scale-down": () => apply(world, deployment("web", "windows", 1)),
      "a pod goes": () => remove(world, `pod/${podsOf(world, "back-")[0]?.metadata.name ?? ""}`),
      rollout: () => apply(world, deployment("late", "windows", 3)),
      "HNS restarts": () => world.session.changeNode(NODE, { do: "restart-hns", state: "keep" }),
      ...(fields === OVERLAY && { reboot: () => world.session.changeNode(NODE, { do: "reboot" }) }),
    };
    for (const [name, step] of Object.entries(steps)) {
      await step();
      const { findings, checksMade } = await reportOf(await collectedFiles(world, NODE));
      expect(findings, name).toEqual([]);
      expect(checksMade, name).toBeGreaterThan(50);
    }
  });
});

it("reads in one thread and in three, and reports the same", async () => {
  const paths = ["examples/broken-node/collected", "examples/trouble-l2bridge-dsr"];
  const outputs: string[] = [];
  for (const threads of ["1", "3"]) {
    let output = "";
    const terminal = { ...processTerminal(), stdout: (text: string) => void (output += text) };
    const argv = ["doctor", ...paths, "-o", "json", "--threads", threads];
    await runMullion({ argv, verbs: { doctor }, terminal, version: "0", isDebug: false });
    outputs.push(output);
  }
  expect(outputs[0]).toContain('"findings"');
  expect(outputs[1]).toBe(outputs[0]);
});

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));
const PAIRS = Number(process.env["PAIRS"] ?? 200);

function isOfOne({ code }: Fault): boolean {
  return code.startsWith("load-balancer");
}

/** Both are about the route to the one other node: what is gone has no wrong address. */
function isOfRoute({ code }: Fault): boolean {
  return code.startsWith("remote-subnet-route");
}

function pairOf(prng: Prng): readonly [Fault, Fault] {
  const first = FAULTS[prng.below(FAULTS.length)]!;
  // Where all load balancers are gone, no other fault of one shows.
  const others = FAULTS.filter(
    (each) =>
      each.code !== first.code &&
      !(isOfRoute(each) && isOfRoute(first)) &&
      !(each.isOfAll !== first.isOfAll && isOfOne(each) && isOfOne(first)),
  );
  return [first, others[prng.below(others.length)]!];
}

describe(`two faults at once, replay: SEED=${seed} npm run test:long -- cli/mullion/doctor`, () => {
  it(`both causes and no third, ${PAIRS} times`, { timeout: 1_200_000 }, async () => {
    const prng = new Prng(seed);
    const told = { certain: 0, likely: 0, possible: 0 };
    const right = { certain: 0, likely: 0, possible: 0 };
    for (let each = 0; each < PAIRS; each++) {
      const pair = pairOf(prng);
      const what = pair.map(({ name }) => name).join(" and ");
      const world = await soundWorld(
        pair.map(({ network = "" }) => network).find((text) => text !== "") ?? "",
      );
      for (const { breakIt } of pair) await breakIt(world, clientOf(world));
      const { findings } = await reportOf(
        await collectedFiles(world, NODE, { dialect: prng.below(2) === 0 ? "v1" : "v2" }),
      );
      const wanted = pair.flatMap(({ code, follows = [] }) => [code, ...follows]);
      expect(
        findings.map(({ code }) => code),
        what,
      ).toEqual(expect.arrayContaining(pair.map(({ code }) => code)));
      expect(
        findings.filter(({ code }) => !wanted.includes(code)),
        what,
      ).toEqual([]);
      for (const { code, certainty } of findings) {
        told[certainty]++;
        if (wanted.includes(code)) right[certainty]++;
      }
    }
    process.stdout.write(`right, of those told: ${JSON.stringify({ right, told })}\n`);
    expect(right.certain).toBeGreaterThanOrEqual(told.certain * 0.95);
    expect(right.likely).toBeGreaterThanOrEqual(told.likely * 0.8);
    // A share of none says nothing.
    expect(Math.min(told.certain, told.likely)).toBeGreaterThan(PAIRS / 10);
  });
});
