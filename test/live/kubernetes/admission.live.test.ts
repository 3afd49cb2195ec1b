// What a real API server takes and refuses, against what Mullion reads of manifests: each field of an object of each kind,
// changed in many ways. A seeded part of them; PART=1 for all (about 11 000).
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { KINDS, isKubeKind } from "#contracts/kubernetes/kinds.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { podSecurityViolations } from "#contracts/kubernetes/pod-security.ts";
import type { Fields } from "#core/base/json.ts";
import { BOUNDS_OF_PODS } from "#test/support/kubernetes/bounds/of-pods.ts";
import { BOUNDS_OF_SERVICES } from "#test/support/kubernetes/bounds/of-services.ts";
import { SERVER_SENTENCES } from "#test/support/kubernetes/server-sentences.ts";
import { SERVER_VERDICTS } from "#test/support/kubernetes/server-verdicts.ts";
import {
  FIELDS_OF_LINUX,
  OBJECTS,
  type ObjectOfKind,
  type Place,
  changed,
  SECURED_CHANGES,
  SECURED_CONTAINER_CHANGES,
  changesOf,
  placesOf,
  podFor,
  securedPod,
  valueAt,
} from "./admission-objects.ts";
import { CONTROL_PLANE_TIMEOUT_MS, ControlPlane } from "./control-plane.ts";

const SEED = Number(process.env["SEED"] ?? 24) % 0x7fff_ffff;
/** One change of so many is tried. */
const PART = Number(process.env["PART"] ?? 6);

/**
 * Where the two may differ, each with the reason: `kind.path` with `[]` for places in lists, and the changes concerned (all
 * without them).
 */
const DIFFERENCES: readonly (readonly [place: RegExp, changes: RegExp, reason: string])[] = [
  [/\.terminationGracePeriodSeconds$/, /^(?:below zero|too large)$/, "read, and of no effect"],
  [
    /template\.spec\.(?:hostname|subdomain)$/,
    /./,
    "a template with a bad one is taken, and its pods are refused",
  ],
  [/template\..*\.image$/, /^with a space$/, "a template with a bad one is taken, and its pods are refused"],
  [/^EndpointSlice\.ports\.\[\]\.port$/, /./, "the server does not check it; nothing could listen there"],
  [/^Service\.spec\.ports\.\[\]\.nodePort$/, /./, "a dry run allocates no ports, and refuses none"],
  [/^(?:Job|StatefulSet)\.metadata\.name$|\.serviceName$/, /^long$/, "names of pods that would be too long"],
  [/\.projected\.sources(?:\.\[\]\.downwardAPI\.items)?$/, /^twice$/, "two files of one name in a volume"],
  [/^Pod\.spec\.serviceAccountName$/, /./, "admission gives a pod its account, and is off on this server"],
];

interface Answer {
  readonly isTaken: boolean;
  readonly message: string;
}

class DryRuns {
  private readonly server: string;
  private readonly token: string;
  private readonly agent: Agent;

  constructor(kubeconfig: string) {
    const config = JSON.parse(readFileSync(kubeconfig, "utf8")) as {
      readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
      readonly users: readonly [{ readonly user: { readonly token: string } }];
    };
    const { cluster } = config.clusters[0];
    const ca = readFileSync(join(dirname(kubeconfig), defined(cluster["certificate-authority"], "a CA")));
    this.server = defined(cluster["server"], "a server");
    this.token = config.users[0].user.token;
    this.agent = new Agent({ ca, keepAlive: true });
  }

  async create(object: ObjectOfKind, namespace = "default", dryRun = "?dryRun=All"): Promise<Answer> {
    const { kind } = object;
    if (!isKubeKind(kind)) throw new RangeError(kind);
    const { apiVersion, plural, isNamespaced } = KINDS[kind];
    const group = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
    const path = `/${group}/${isNamespaced ? `namespaces/${namespace}/` : ""}${plural}${dryRun}`;
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      const sent = request(this.server + path, { method: "POST", agent: this.agent, headers }, (response) => {
        let text = "";
        response.on("data", (part) => (text += String(part)));
        response.on("end", () => {
          const { message = "" } = JSON.parse(text) as { readonly message?: string };
          resolve({ isTaken: response.statusCode === 201, message });
        });
      });
      sent.on("error", reject);
      sent.end(JSON.stringify(object));
    });
  }

  end(): void {
    this.agent.destroy();
  }
}

function ours(object: ObjectOfKind): Answer {
  const { problems, objects } = loadManifests([{ name: "object.json", text: JSON.stringify(object) }]);
  return {
    isTaken: objects.length === 1,
    message: problems.map(({ path, message }) => `${path}: ${message}`).join("; "),
  };
}

const placeText = (kind: string, place: Place): string =>
  [kind, ...place.map((step) => (typeof step === "number" ? "[]" : step))].join(".");

let plane: ControlPlane;
let dryRuns: DryRuns;
beforeAll(async () => {
  plane = await ControlPlane.start("--allow-privileged=true");
  dryRuns = new DryRuns(plane.kubeconfig);
}, CONTROL_PLANE_TIMEOUT_MS);
afterAll(async () => {
  dryRuns.end();
  await plane.stop();
});

const titled = OBJECTS.map((object, index) => [`${object.kind} ${index + 1}`, object] as const);

describe.each(titled)("%s", (_, object) => {
  it("is taken as it stands, and changed as a real API server does", { timeout: 600_000 }, async () => {
    expect([await dryRuns.create(object), ours(object)]).toEqual([
      { isTaken: true, message: "" },
      { isTaken: true, message: "" },
    ]);
    const prng = new Prng(SEED);
    const differences: string[] = [];
    let refused = 0;
    for (const place of placesOf(object))
      for (const [what, value] of changesOf(valueAt(object, place))) {
        if (prng.below(PART) > 0) continue;
        const mutant = changed(object, place, value);
        const [theirs, own] = [await dryRuns.create(mutant), ours(mutant)];
        if (!theirs.isTaken) refused++;
        const at = placeText(object.kind, place);
        if (
          theirs.isTaken === own.isTaken ||
          DIFFERENCES.some(([where, changes]) => where.test(at) && changes.test(what))
        )
          continue;
        differences.push(
          `SEED=${SEED} ${at} ${what}: ${theirs.isTaken ? `taken, here ${own.message}` : theirs.message}`,
        );
      }
    expect(differences).toEqual([]);
    expect(refused).toBeGreaterThan(0);
  });
});

it.each([
  ["verdicts of the table", SERVER_VERDICTS],
  ["bounds of Services", BOUNDS_OF_SERVICES],
  ["bounds of pods", BOUNDS_OF_PODS],
] as const)("has the %s", async (_, rows) => {
  const answers = await Promise.all(
    rows.map(async ({ object }) => dryRuns.create(object as unknown as ObjectOfKind)),
  );
  const differences = rows.flatMap(({ what, isTaken }, index) => {
    const answer = defined(answers[index], "an answer");
    const sentence = SERVER_SENTENCES.get(what) ?? "";
    const isSaid = answer.message.endsWith(sentence);
    return answer.isTaken === isTaken && isSaid
      ? []
      : [`${what}: ${answer.isTaken ? "taken" : answer.message}`];
  });
  expect(differences).toEqual([]);
});

describe("a pod that says for which system it is", () => {
  it.each(["windows", "linux"])("has what %s knows", async (os) => {
    const differences: string[] = [];
    for (const row of FIELDS_OF_LINUX) {
      const pod = podFor(os, row);
      const [theirs, own] = [await dryRuns.create(pod), ours(pod)];
      if (theirs.isTaken !== own.isTaken)
        differences.push(`${row[0]} ${row[1]}: ${theirs.message} | ${own.message}`);
    }
    expect(differences).toEqual([]);
  });
});

describe.each([
  ["baseline", "latest"],
  ["restricted", "latest"],
  ["baseline", "v1.28"],
  ["restricted", "v1.30"],
] as const)("Pod Security %s:%s", (level, version) => {
  const namespace = `${level}-${version.replaceAll(".", "-")}`;
  const label = "pod-security.kubernetes.io/enforce";

  it("refuses and takes the pods that a real server does", async () => {
    const labels = { [label]: level, [`${label}-version`]: version };
    const made = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } };
    expect(await dryRuns.create(made, "", "")).toMatchObject({ isTaken: true });
    const differences: string[] = [];
    let refused = 0;
    for (const change of [{}, ...SECURED_CHANGES])
      for (const container of SECURED_CONTAINER_CHANGES) {
        const pod = securedPod(change, container);
        const { isTaken, message } = await dryRuns.create(pod, namespace);
        // Some are refused before: what Windows does not know, and containers that may do everything.
        if (!isTaken && !message.includes("violates PodSecurity")) continue;
        const own = podSecurityViolations(
          { annotations: {}, spec: pod["spec"] as Fields },
          { level, version },
        );
        if (!isTaken) refused++;
        if (isTaken !== (own.length === 0))
          differences.push(`${JSON.stringify(pod["spec"])}: ${message} | ${own.join(", ")}`);
      }
    expect(differences).toEqual([]);
    expect(refused).toBeGreaterThan(50);
  });
});
