// A story per page of mullion ui, on a cluster with faults: what is shown is what the control API answers.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type {
  ClusterSummary,
  HnsList,
  ObjectList,
  ServiceList,
  StackLists,
  TraceAnswer,
  VfpPortList,
  VfpPortView,
} from "#cluster/api/documents.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import type { ResolutionReport } from "#cluster/trace/resolve-report.ts";
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { PROFILE_NAMES } from "#core/catalogue/profiles.ts";
import { MullionHome } from "#test/support/cli/mullion-process.ts";
import {
  RunningUi,
  SHOTS,
  type WatchedPage,
  checkAccessible,
  openBrowser,
  textsOf,
  watchPage,
} from "./browser.ts";

const EXAMPLE = "examples/trouble-hostname/cluster.yaml";
let browser: Browser;
let home: MullionHome;
let ui: RunningUi;
let watched: WatchedPage;
let page: Page;

beforeAll(async () => {
  home = new MullionHome();
  browser = await openBrowser();
  ui = await RunningUi.start(home, "-f", EXAMPLE);
});
afterAll(async () => {
  await browser.close();
  await ui.close();
  await home.close();
});
beforeEach(async () => {
  watched = await watchPage(browser, ui.url);
  ({ page } = watched);
});
afterEach(async () => {
  await watched.context.close();
  if (watched.faults.length > 0) throw new Error(watched.faults.join("\n"));
});

async function open(path: string): Promise<void> {
  await page.goto(`${ui.url}${path}`);
}

/** A picture of the whole page, after the checker has looked at it. */
async function finish(name: string): Promise<void> {
  await checkAccessible(page);
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

/** What a comparison answers, as the page asks for it: the last of its lines. */
async function runCompare(question: object): Promise<VerifyComparison> {
  const response = await fetch(`${ui.url}run/compare`, { method: "POST", body: JSON.stringify(question) });
  const last = (await response.text()).trimEnd().split("\n").at(-1) ?? "";
  return (JSON.parse(last) as { readonly answer: VerifyComparison }).answer;
}

/** What a command prints on win-1. */
async function printed(...command: readonly string[]): Promise<string> {
  return (await ui.ask<ExecReport>("/exec", { from: "node/win-1", command })).stdout;
}

/** The text of the file that a press of the button saves. */
async function saved(button: Locator): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return readFileSync(await download.path(), "utf8");
}

const SQUARES = ".tile .square";

describe("the pages show what the control API answers", () => {
  it("Cluster: nodes with their pods, Services; what is not as wanted glows and leads on", async () => {
    await open("");
    const { nodes, name } = await ui.ask<ClusterSummary>("/cluster");
    const pods = await ui.ask<ObjectList>("/objects/pods");
    const { items } = await ui.ask<ServiceList>("/services");
    await page.getByRole("heading", { name: `Cluster ${name}` }).waitFor();
    expect(await textsOf(page, ".node-card h3")).toEqual(nodes.map((node) => node.name));
    expect(await page.locator(".node-card .pod").count()).toBe(pods.items.length);
    const wrong = items.filter(({ state, findings }) => state !== "programmed" || findings.length > 0);
    await page.locator(".pod.service.glows").first().waitFor();
    expect(await textsOf(page, ".pod.service.glows b")).toEqual([...new Set(wrong.map((each) => each.name))]);
    await finish("cluster");
    await page.getByRole("link", { name: nodes[0]?.name ?? "" }).click();
    await page.getByRole("heading", { name: `Node ${nodes[0]?.name ?? ""}` }).waitFor();
    expect(page.url()).toBe(`${ui.url}node/${nodes[0]?.name ?? ""}`);
    await page.goBack();
    await page.locator(".node-card").first().waitFor();
  });

  it("Matrix: a square for each cell by its outcome, tiles by keyboard, from a tile to its walk", async () => {
    await open("matrix");
    const { cells, counts, findings } = await ui.ask<VerifyReport>("/verify", {});
    await page.locator(".tile").first().waitFor();
    const states = ["works", "denied", "finding", "not-judged", "not-applicable"];
    const shown = await Promise.all(states.map(async (state) => page.locator(`${SQUARES}.${state}`).count()));
    const { works, denied, notApplicable, notJudged } = counts;
    expect(shown).toEqual([
      cells.filter(({ verdict, expected }) => verdict === "as-expected" && expected === "works").length,
      cells.filter(({ verdict, expected }) => verdict === "as-expected" && expected === "denied").length,
      cells.filter(({ verdict }) => verdict === "finding").length,
      cells.filter(({ verdict }) => verdict === "not-judged").length,
      cells.filter(({ verdict, expected }) => verdict !== "finding" && expected === "not-applicable").length,
    ]);
    expect((await textsOf(page, ".stat b")).slice(0, 7)).toEqual(
      [counts.findings, counts.cells, counts.tried, works, denied, notApplicable, notJudged].map(String),
    );
    expect(await page.locator(".found").count()).toBe(findings.length);
    expect(await page.locator(".tile").count()).toBe(
      new Set(cells.map(({ from, to }) => `${from} ${to}`)).size,
    );
    const tile = page.locator(".tile.glows").first();
    await tile.click();
    await page.locator(".cell").first().waitFor();
    await finish("matrix");
    await tile.press("ArrowRight");
    expect(await page.evaluate("document.activeElement.className")).toMatch(/^tile/);
    await page.locator(".cell .link").first().click();
    await page.locator(".walk").waitFor();
    expect(new URL(page.url()).searchParams.get("from")).toMatch(/^(?:pod|node)\//);
  });

  it("Matrix: filters leave the cells that pass, and say when none does", async () => {
    await open("matrix");
    await page.locator(".tile").first().waitFor();
    const { cells } = await ui.ask<VerifyReport>("/verify", {});
    await page.getByLabel("Protocol").selectOption("icmp");
    expect(await page.locator(SQUARES).count()).toBe(
      cells.filter(({ protocol }) => protocol === "icmp").length,
    );
    await page.getByLabel("Text").fill("nowhere");
    await page.getByText("No flow passes these filters.").waitFor();
  });

  it("Matrix: builds side by side, and an earlier state beside the present one", async () => {
    await open("matrix?view=builds");
    await page.getByRole("button", { name: "Compare" }).click();
    expect(new URL(page.url()).searchParams.get("profiles")).toBe("ws2019,ws2022");
    const builds = await runCompare({ profiles: ["ws2019", "ws2022"] });
    await page.getByRole("heading", { name: "Flows that came out otherwise" }).waitFor();
    expect(await page.locator("tbody tr th[scope=row] .dim").count()).toBe(builds.changes.length);
    expect((await textsOf(page, ".list thead th")).slice(1)).toEqual(["ws2019", "ws2022"]);
    await finish("matrix-builds");
    await open(`matrix?view=builds&profiles=${PROFILE_NAMES.join(",")}`);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("the comparison was stopped").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.getByRole("button", { name: "Before and now" }).click();
    await page.getByRole("button", { name: "Keep the cluster as it is now" }).click();
    await page.getByText("All flows came out the same on all sides.").waitFor();
    const before = JSON.stringify(await ui.ask<VerifyReport>("/verify", {}));
    const deny =
      "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny}\nspec: {podSelector: {}, policyTypes: [Ingress]}\n";
    await ui.ask("/apply", { inputs: [{ name: "deny.yaml", text: deny }] });
    const now = await runCompare({ before: [{ name: "before.json", text: before }] });
    expect(now.changes.length).toBeGreaterThan(0);
    await expect
      .poll(async () => page.locator(".headline").textContent(), { timeout: 20_000 })
      .toContain(`${now.counts.changed} flows of ${now.counts.flows} came out otherwise`);
    expect(await page.locator(".sides").count()).toBe(now.changes.length);
    const [first] = now.changes;
    await page.locator(`.tile[aria-label^="${first?.from} to ${first?.to}. "]`).click();
    expect(await page.locator(".list tbody tr").count()).toBe(
      now.changes.filter(({ from, to }) => from === first?.from && to === first?.to).length,
    );
    await finish("matrix-before");
    await ui.ask("/delete", { references: [{ kind: "NetworkPolicy", name: "deny" }] });
  });

  it("Packet walk: every step with its rule and bytes, by keyboard, and the reply", async () => {
    const [from, to] = ["external", "service/default/front"];
    await open("walk");
    await page.getByLabel("From", { exact: true }).fill(from);
    await page.getByLabel("To", { exact: true }).fill(to);
    await page.getByRole("button", { name: "Follow the packet" }).click();
    await page.locator(".step").first().waitFor();
    const { report } = await ui.ask<TraceAnswer>("/trace", { from, to, protocol: "tcp", bytes: true });
    expect(await page.locator(".step").count()).toBe(report.forward.steps.length);
    expect(await page.locator(".headline").textContent()).toContain(report.summary);
    await page.locator(".step").first().focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("j");
    const second = report.forward.steps[1];
    expect(await page.locator(".details h3").textContent()).toBe(`2 ${second?.text ?? ""}`);
    const bytes = await textsOf(page, ".details .frame .byte");
    expect(bytes.join("")).toBe(second?.bytes);
    await page.keyboard.press("End");
    expect(await page.locator(".details .number").textContent()).toBe(String(report.forward.steps.length));
    await finish("walk");
    // Begins with a Section Header Block (pcapng, 4.1).
    expect(await saved(page.getByRole("button", { name: "pcapng" }))).toMatch(/^\n\r\r\n[^]{100}/);
    const svg = await saved(page.getByRole("button", { name: "SVG" }));
    await page.goto(`data:image/svg+xml,${encodeURIComponent(svg)}`);
    // Each step of both directions, by its number and name, with the rule that decided.
    const words = (await page.locator("text").allTextContents()).join(" ");
    const steps = [...report.forward.steps, ...(report.reply?.steps ?? [])];
    for (const { number, layer, kind } of steps)
      expect(words).toContain(`${number} ${layer ?? kind.replace("-", " ")}`);
    expect(await page.locator("path.way").count()).toBeGreaterThan(2);
    expect(words).toContain(report.summary);
    await page.screenshot({ path: join(SHOTS, "walk-svg.png") });
  });

  it("Packet walk: a question that is refused says why, in place", async () => {
    await open("walk?from=pod/nobody&to=external");
    const alert = page.getByRole("alert");
    await alert.waitFor();
    expect(await alert.textContent()).toContain("unknown-object");
    await finish("refused");
  });

  it("Node: objects of HNS as a graph with their JSON", async () => {
    await open("node/win-1?view=hns");
    const kinds = ["networks", "endpoints", "namespaces", "loadbalancers"];
    const lists = await Promise.all(kinds.map(async (kind) => ui.ask<HnsList>(`/hns/${kind}?node=win-1`)));
    await page.locator(".box").first().waitFor();
    for (const [index, kind] of kinds.entries())
      expect(await page.locator(`.box.${kind}`).count()).toBe(lists[index]?.items.length);
    await page.locator(".box.endpoints").first().click();
    const json = JSON.parse((await page.locator(".details pre").textContent()) ?? "") as { ID: string };
    expect(lists[1]?.items).toContainEqual(json);
    expect(page.url().toLowerCase()).toContain(json.ID.toLowerCase());
    await finish("node-hns");
  });

  it("Node: of thousands of objects those that belong together are drawn, and a text finds the others", async () => {
    const id = (index: number): string => `00000000-0000-0000-0000-${String(index).padStart(12, "0")}`;
    const real = await ui.ask<HnsList>("/hns/networks?node=win-1");
    const network = real.items[0]?.["ID"];
    const endpoints = Array.from({ length: 3_000 }, (_, index) => ({
      ID: id(index),
      Name: `remote-${index}`,
      HostComputeNetwork: network,
      IpConfigurations: [{ IpAddress: `10.9.${index >> 8}.${index & 255}` }],
    }));
    const balancer = {
      ID: id(9_999),
      FrontendVIPs: ["10.96.1.1"],
      PortMappings: [{ ExternalPort: 80 }],
      HostComputeEndpoints: [id(7), id(2_500)],
    };
    const serve = async (kind: string, items: readonly object[]): Promise<void> => {
      await page.route(`**/hns/${kind}?node=win-1`, async (route) => {
        const answer = await route.fetch();
        const { items: own, ...rest } = (await answer.json()) as HnsList;
        await route.fulfill({ response: answer, json: { ...rest, items: [...own, ...items] } });
      });
    };
    await serve("endpoints", endpoints);
    await serve("loadbalancers", [balancer]);
    await open("node/win-1?view=hns");
    await page.locator(".box").first().waitFor();
    expect(await page.locator(".box").count()).toBe(120);
    const { items: pods } = await ui.ask<HnsList>("/hns/namespaces?node=win-1");
    expect(await page.locator(".box.namespaces").count()).toBe(pods.length);
    await page.getByRole("searchbox", { name: "Find" }).fill("10.96.1.1");
    await page.getByRole("button", { name: "10.96.1.1:80" }).first().click();
    await page.getByText(/^Drawn are 4 of /).waitFor();
    expect((await textsOf(page, ".box.endpoints b")).toSorted()).toEqual(["remote-2500", "remote-7"]);
    await page.getByRole("searchbox", { name: "Find" }).fill("REMOTE-1");
    expect(await page.getByText("1111 objects found").count()).toBe(1);
    await finish("node-hns-large");
    await page.getByRole("button", { name: "Back to the node's own" }).click();
    await page.getByText(/^Drawn are 120 of /).waitFor();
  });

  it("Node: ports, layers, groups and rules of VFP; the stack; commands as on the node", async () => {
    await open("node/win-1?view=vfp");
    const { items } = await ui.ask<VfpPortList>("/vfp/ports?node=win-1");
    await page.locator(".layer").first().waitFor();
    expect(await textsOf(page, ".port b")).toEqual(items.map(({ place }) => place));
    const chosen = items.find(({ kind }) => kind === "container")?.name ?? "";
    const { listing } = await ui.ask<VfpPortView>(`/vfp/port?name=${chosen}&node=win-1`);
    expect(await page.locator(".layer").count()).toBe(listing.layers.length);
    await page.locator(".layer summary").first().click();
    await finish("node-vfp");
    await page.getByRole("button", { name: "Adapters and routes" }).click();
    await page.getByRole("region", { name: "Routes" }).waitFor();
    await page.locator(".shell pre").waitFor();
    expect(await page.locator(".shell pre").textContent()).toBe(await printed("arp", "-a"));
    await finish("node-stack");
    await page.getByRole("button", { name: "Shell" }).click();
    await page.getByLabel("Command").fill("route print");
    await page.keyboard.press("Enter");
    const { stdout } = await ui.ask<ExecReport>("/exec", { from: "node/win-1", command: ["route", "print"] });
    await page.locator(".shell pre").waitFor();
    expect(await page.locator(".shell pre").textContent()).toBe(stdout);
    await finish("node-shell");
  });

  it("Node: resolvers and look-ups, the registry, and the texts of vfpctrl and hnsdiag", async () => {
    await open("node/win-1?view=names");
    const { items } = await ui.ask<StackLists["compartments"]>("/stacks/compartments?node=win-1");
    const resolvers = page.getByRole("region", { name: "Resolvers" });
    await resolvers.waitFor();
    expect(await textsOf(page, "[aria-label=Resolvers] tbody td:nth-child(3)")).toEqual(
      items.map(({ dnsServers }) => dnsServers.join(", ") || "none"),
    );
    const pod = `pod/${items.flatMap(({ pods }) => pods)[0] ?? ""}`;
    await page.getByLabel("Who asks").selectOption(pod);
    await page.getByLabel("Name").fill("stock");
    await page.getByRole("button", { name: "Look it up" }).click();
    const { lookups } = await ui.ask<ResolutionReport>("/resolve", { from: [pod], name: "stock" });
    const questions = page.getByRole("region", { name: "Questions of the resolver" });
    await questions.waitFor();
    expect(await questions.locator("tbody tr").count()).toBe(lookups[0]?.questions.length);
    await finish("node-names");
    const texts: readonly (readonly [string, string, readonly string[]])[] = [
      ["Registry", "Tcpip", ["reg", "query", String.raw`HKLM\SYSTEM\CurrentControlSet\Services\Tcpip`, "/s"]],
      ["HNS", "hnsdiag list all", ["hnsdiag", "list", "all"]],
    ];
    for (const [view, form, command] of texts) {
      await page.getByRole("button", { name: view, exact: true }).click();
      await page.getByRole("button", { name: form, exact: true }).click();
      const expected = await printed(...command);
      await expect.poll(async () => page.locator(".shell pre").textContent()).toBe(expected);
    }
    await page.getByRole("button", { name: "Switch and VFP" }).click();
    await page.locator(".layer").first().waitFor();
    await page.getByRole("button", { name: "vfpctrl /list-rule" }).click();
    await page.locator(".shell pre").waitFor();
    expect(await page.locator(".shell pre").textContent()).toContain("Command list-rule succeeded!");
    await finish("node-texts");
  });

  it("Services: each front end on each node with its load balancer and back ends", async () => {
    await open("services");
    const { items } = await ui.ask<ServiceList>("/services");
    await page.locator(".service-section").first().waitFor();
    expect(await page.locator(".service-section tbody tr").count()).toBe(items.length);
    expect(await page.locator("tr.troubled").count()).toBe(
      items.filter(({ state, findings }) => state !== "programmed" || findings.length > 0).length,
    );
    expect(await page.locator(".backend").count()).toBe(items.flatMap(({ backEnds }) => backEnds).length);
    await finish("services");
  });

  it("Lint and doctor: of the files of the cluster, and of files that are chosen", async () => {
    await open("files");
    const answer = await fetch(`${ui.url}run/lint`);
    const { findings } = (await answer.json()) as {
      readonly findings: readonly { message: string; remedy: string }[];
    };
    await page.locator(".stats").first().waitFor();
    expect(await page.locator(".found").count()).toBe(findings.length);
    for (const { message, remedy } of findings) {
      const text = await page.locator(".found", { hasText: message }).first().textContent();
      expect(text).toContain(remedy.split("\n\n")[0]);
    }
    const folder = "examples/broken-node/collected";
    await page
      .locator("input[type=file]")
      .setInputFiles(readdirSync(folder).map((file) => join(folder, file)));
    await page.getByRole("button", { name: "Doctor", exact: true }).click();
    await page.getByText("HNS has no load balancer for 10.96.0.10:53/UDP").first().waitFor();
    expect(await page.locator(".found.bad").count()).toBeGreaterThan(0);
    await finish("files");
  });

  it("Life: time passes, faults happen, a page that is open follows, what cannot be is told", async () => {
    await open("life");
    const before = await ui.ask<ClusterSummary>("/cluster");
    await page.getByRole("button", { name: "+ 30 s" }).click();
    await expect
      .poll(async () => page.locator(".clock").textContent())
      .toBe(`${((before.atMs + 30_000) / 1000).toFixed(3)} s`);
    const { items } = await ui.ask<StackLists["quirks"]>("/stacks/quirks?node=win-1");
    const shownQuirks = items.filter(({ concernsBuild, setting }) => concernsBuild || setting !== "off");
    await page.locator(".quirk").first().waitFor();
    expect(await textsOf(page, ".quirk .switch")).toEqual(shownQuirks.map(({ name }) => name));
    const quirk = items.find(({ setting }) => setting === "on")?.name ?? "";
    const defect = page.locator(".quirk").getByRole("switch", { name: quirk, exact: true });
    for (const [isOn, setting] of [
      ["false", "off"],
      ["true", "on"],
    ]) {
      await defect.click();
      await expect.poll(async () => defect.getAttribute("aria-checked")).toBe(isOn);
      const now = await ui.ask<StackLists["quirks"]>("/stacks/quirks?node=win-1");
      expect(now.items.find(({ name }) => name === quirk)?.setting).toBe(setting);
    }
    expect(await page.textContent("main")).toContain("Calls that hang or take their time are not among them");
    const fault = page.getByRole("switch", { name: "HNS makes no load balancer" });
    await fault.click();
    await expect.poll(async () => fault.getAttribute("aria-checked")).toBe("true");
    const { nodes } = await ui.ask<ClusterSummary>("/cluster");
    expect(nodes.map(({ faults = [] }) => faults.map(({ name }) => name))).toContainEqual([
      "load-balancers-refused",
    ]);
    await fault.click();
    await expect.poll(async () => fault.getAttribute("aria-checked")).toBe("false");
    const server = page.getByRole("switch", { name: "API server" });
    await server.click();
    await expect.poll(async () => server.getAttribute("aria-checked")).toBe("false");
    expect(await ui.ask<ClusterSummary>("/cluster")).toMatchObject({ apiServer: "down" });
    // Nobody leaves without the API server: the switch stays, and the reason stands beside it.
    const member = page.getByRole("switch", { name: "in the cluster" });
    await member.click();
    await page.getByText("kubernetes-unreachable").first().waitFor();
    expect(await member.getAttribute("aria-checked")).toBe("true");
    await server.click();
    await expect.poll(async () => server.getAttribute("aria-checked")).toBe("true");
    await ui.ask("/apply", {
      inputs: [
        {
          name: "late.yaml",
          text: "apiVersion: v1\nkind: Service\nmetadata: {name: late}\nspec: {ports: [{port: 80}]}\n",
        },
      ],
    });
    await page.getByText("Service default/late created").waitFor();
    await finish("life");
    await open("");
    await page.getByRole("link", { name: "late" }).waitFor();
    await ui.ask("/delete", { references: [{ kind: "Service", name: "late" }] });
    await expect.poll(async () => page.getByRole("link", { name: "late" }).count()).toBe(0);
  });
});

describe("every page", () => {
  it.each([
    "",
    "matrix",
    "walk?from=external&to=service/default/front",
    "node/win-1",
    "services",
    "life",
    "files",
  ])("fits a narrow window and the dark: %s", async (path) => {
    const narrow = await watchPage(browser, ui.url, { width: 390, dark: true });
    await narrow.page.goto(`${ui.url}${path}`);
    await narrow.page.locator(".stat, .step, .box, .clock").first().waitFor();
    expect(await narrow.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await checkAccessible(narrow.page);
    await narrow.page.screenshot({ path: join(SHOTS, `narrow-${path.split(/[/?]/)[0] ?? ""}.png`) });
    expect(narrow.faults).toEqual([]);
    await narrow.context.close();
  });

  it("weighs less than 300 kB compressed, all that the first one loads", async () => {
    const parts = await Promise.all(
      ["", "ui.js", "style.css", "icon.svg"].map(async (file) => (await fetch(`${ui.url}${file}`)).text()),
    );
    const bytes = parts.map((text) => gzipSync(text).length).reduce((sum, each) => sum + each, 0);
    expect(bytes).toBeLessThan(300_000);
    expect(bytes).toBeGreaterThan(10_000);
  });

  it("has its keys: Tab reaches the pages, Enter opens one", async () => {
    await open("");
    await page.locator(".node-card").first().waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the page");
    for (let times = 0; times < 2; times++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Matrix" }).first().waitFor();
  });

  it("a page of another origin can neither read nor frame it", async () => {
    const other = await watchPage(browser, "http://other.example/");
    await other.page.route("http://other.example/**", async (route) =>
      route.fulfill({ contentType: "text/html", body: "<title>other</title>" }),
    );
    await other.page.goto("http://other.example/");
    const ask = `fetch(${JSON.stringify(`${ui.url}api/v1alpha1/shutdown`)}, { method: "POST", mode: "no-cors", body: "{}" })
      .then(() => "sent", () => "not sent")`;
    await other.page.evaluate(ask);
    expect(await ui.ask("/health")).toMatchObject({ status: "ready" });
    await other.context.close();
  });
});
