// Every limit of the Kubernetes page "Networking on Windows" by packets, and whole clusters that run as an edition has it.
import { describe, expect, it } from "vitest";
import { ANSWERED, DSR, LIMITS, OVERLAY, run, traced } from "#test/support/cluster/as-documented.suite.ts";
import {
  EXAMPLES,
  NETWORK_NAMES,
  PUBLISHED,
  published,
  runAsEdition,
} from "#test/support/cluster/edition-runs.suite.ts";
import { PAGE_BUILDS, PAGE_CLUSTERS, verifyOn } from "#test/support/cluster/kubernetes-page.suite.ts";
import { EDITIONS } from "#core/catalogue/edition.ts";
import { DOCUMENTED_SENTENCES } from "#core/catalogue/page-sentences.ts";

describe("limits of the Kubernetes page, by packets (windows-networking-documentation.md §5, §8, §9)", () => {
  it.each(LIMITS)("$quirk: as the build has it, and as the page says", async (limit) => {
    expect(await traced(limit)).toMatch(limit.onBuild);
    expect(await traced(limit, "2021")).toMatch(limit.asPage);
  });

  // §5, known issues of the newer edition alone.
  it.each([
    [
      "overlay-nodeport-ws2022",
      OVERLAY,
      "external 10.0.0.11 --port 30080",
      "node-port-on-overlay-server-2022",
    ],
    ["l2bridge-dsr-kb5005619", DSR, "pod/client pod/web-0", "l2bridge-broken-with-dsr"],
  ])(
    "%s: Server 2022 has it in the edition of 2024, and not in that of 2021",
    async (_, more, asked, code) => {
      expect((await run(`trace ${asked} --as-documented 2024`, { more })).text).toContain(code);
      expect((await run(`trace ${asked} --as-documented 2021`, { more })).text).toMatch(ANSWERED);
    },
  );

  const HOST_PROCESS = `---
apiVersion: v1
kind: Pod
metadata: { name: agent }
spec:
  nodeName: win-2
  hostNetwork: true
  securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\\\SYSTEM" } }
  containers: [{ name: c, image: x, ports: [{ containerPort: 8080 }] }]
`;
  const HOST_NETWORK = HOST_PROCESS.replace(/ {2}securityContext:.*\n/, "");

  // §8 has no host networking in any edition; HostProcess containers have a page of their own and are no part of it.
  it.each([undefined, ...EDITIONS])(
    "HostProcess containers have the node's network, other pods with hostNetwork have none: as of %s",
    async (edition) => {
      const as = edition === undefined ? "" : ` --as-documented ${edition}`;
      const of = (pod: string): { readonly more: string } => ({ more: pod.trimEnd() });
      const sent = await run(`trace pod/agent pod/web-0${as}`, of(HOST_PROCESS));
      expect(sent.text).toMatch(/10\.0\.0\.12.*Answered after .* saw 10\.0\.0\.12:/);
      // The kubelet takes no notice of hostNetwork: the pod has a network of its own.
      const own = await run(`trace pod/agent pod/web-0${as}`, of(HOST_NETWORK));
      expect(own.text).toMatch(/Answered after .* saw 10\.244\./);
    },
  );

  // §8: VNI 4096 alone; flanneld and HNS take any from 4096 on (control-planes.md §1.3).
  it("VNI 5000: packets go through tunnels of it as the build has it, and each edition refuses it", async () => {
    const of = (vni: number): string => `network: { plugin: flannel, backend: vxlan, vni: ${vni} }`;
    const shape = { more: of(5000) };
    const asked = "trace pod/client pod/web-0";
    const onBuild = (await run(asked, shape)).text;
    expect(onBuild).toMatch(/VNI 5000/);
    expect(onBuild).toMatch(ANSWERED);
    for (const edition of EDITIONS) {
      const { exitCode, text } = await run(`${asked} --as-documented ${edition}`, shape);
      expect(exitCode).toBe(2);
      expect(text).toContain(
        `the Kubernetes page of ${edition} has flannel's VXLAN with VNI 4096 alone, not 5000`,
      );
      const own = await run(`${asked} --as-documented ${edition}`, { more: of(4096) });
      expect(own.text).toMatch(/VNI 4096/);
      expect(own.text).toMatch(ANSWERED);
    }
  });

  it("Server 2019 has DSR in every edition: with it, the node has the update that brought it", async () => {
    const shape = { build: "ws2019.1431", more: DSR };
    const asked = "trace external 10.0.0.11 --port 30081";
    expect((await run(asked, shape)).text).not.toMatch(ANSWERED);
    expect((await run(`${asked} --as-documented 2021`, shape)).text).toMatch(/saw 203\.0\.113\.10:/);
  });
});

describe("whole clusters as an edition has it", () => {
  const runs = PAGE_BUILDS.flatMap((build) => EDITIONS.map((edition) => [build, edition] as const));

  it.each(runs)(
    "%s as of %s: every packet does as the page says, and nothing is marked",
    async (build, edition) => {
      for (const name of PAGE_CLUSTERS) {
        const report = await verifyOn(build, name, edition);
        expect([name, report.findings]).toEqual([name, []]);
        expect(report.cells.filter(({ documentation }) => documentation !== undefined)).toEqual([]);
      }
    },
  );

  it("a sentence that builds differ from can be run, but for HostProcess containers, which have a page of their own", () => {
    const without = DOCUMENTED_SENTENCES.filter(
      ({ differs, quirk }) => differs.length > 0 && quirk === undefined,
    );
    const flows = without.filter(({ speaksOf, troubles }) => speaksOf.length > 0 && troubles === undefined);
    // With DSR, Server 2019 has the update that brought it; another VNI is refused; a preview build has no profile.
    expect(flows.map(({ id }) => id)).toEqual([
      "PAGE-HOST-NETWORK",
      "PAGE-CLIENT-ADDRESS-WITH-DSR",
      "PAGE-VNI",
      "PAGE-AFFINITY-PREVIEW",
    ]);
  });
});

// Examples, dumps, and what others publish: nothing breaks, and what an edition denies is denied by packets.
describe("clusters of all sorts as an edition has them", () => {
  const AS_IT_IS = { marked: 0, further: [] };

  it.each(EXAMPLES.flatMap(([name, input]) => EDITIONS.map((edition) => [name, edition, input] as const)))(
    "%s as of %s",
    async (_, edition, input) => {
      expect(await runAsEdition(input(), edition)).toMatchObject(AS_IT_IS);
    },
  );

  const runs = Object.keys(PUBLISHED).flatMap((name) =>
    ["ws2019.1431", "ws2019", "ws2022", "ws2025"].flatMap((build) =>
      NETWORK_NAMES.map((network) => [name, build, network] as const),
    ),
  );

  it.each(runs)("%s on %s by %s", async (name, build, network) => {
    const input = published(name, build, network);
    for (const edition of EDITIONS) expect(await runAsEdition(input, edition)).toMatchObject(AS_IT_IS);
  });

  it("all limits of pods and Services without DSR are among them", async () => {
    const found = new Set<string>();
    for (const name of Object.keys(PUBLISHED))
      for (const limit of (await runAsEdition(published(name, "ws2022", "vxlan"), "2024")).limits)
        found.add(limit);
    expect([...found].toSorted()).toEqual([
      "PAGE-LOCAL-WITHOUT-DSR",
      "PAGE-NODE-TO-POD-OVERLAY",
      "PAGE-OWN-NODE-PORT",
      "PAGE-PING-OUTSIDE",
      "PAGE-SERVICE-FROM-NODE",
    ]);
  });
});
