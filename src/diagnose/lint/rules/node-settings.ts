/** Rules over what scripts and containerd's configuration set on a Windows node (windows-networking-documentation.md §9). */
import { shown } from "../views/address-ranges.ts";
import { textAt } from "../input/fields.ts";
import { isFields } from "#core/base/json.ts";
import { type LintRule, type RuleFinding, rule } from "../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

interface KnownImage {
  readonly name: RegExp;
  /** The first version with wincat.exe; undefined: none has it. */
  readonly since: readonly number[] | undefined;
}

/** kubernetes/kubernetes build/pause/CHANGELOG.md; kubernetes/website pull request 15345 for Microsoft's of 2019. */
const KNOWN_IMAGES: readonly KnownImage[] = [
  { name: /^(?:registry\.k8s\.io|k8s\.gcr\.io|gcr\.io\/google_containers)\/pause$/, since: [3, 4] },
  { name: /^mcr\.microsoft\.com\/oss\/(?:v2\/)?kubernetes\/pause$/, since: [1, 2] },
  { name: /^mcr\.microsoft\.com\/k8s\/core\/pause$/, since: [1, 2] },
  { name: /^kubeletwin\/pause$/, since: undefined },
];

function isBefore(tag: string, since: readonly number[]): boolean {
  const numbers = /^v?(\d+)\.(\d+)/.exec(tag)?.slice(1).map(Number);
  if (numbers === undefined) return false;
  const [major = 0, minor = 0] = numbers;
  const [wanted = 0, wantedMinor = 0] = since;
  return major < wanted || (major === wanted && minor < wantedMinor);
}

function judgeImage(image: string): Pick<RuleFinding, "message" | "severity"> | undefined {
  const [named = ""] = image.split("@");
  // A colon before the last slash begins the port of a registry.
  const colon = named.lastIndexOf(":") > named.lastIndexOf("/") ? named.lastIndexOf(":") : named.length;
  const [reference, tag] = [named.slice(0, colon), named.slice(colon + 1)];
  const known = KNOWN_IMAGES.find(({ name }) => name.test(reference));
  if (known === undefined)
    return { message: WORDS.pauseImageUnknown({ image: shown(image) }), severity: "info" };
  if (known.since !== undefined && !isBefore(tag, known.since)) return undefined;
  return { message: WORDS.pauseImageWithoutWincat({ image: shown(image) }) };
}

const PAUSE_IMAGE = rule("pause-image-without-wincat", "node-settings", function* ({ value }) {
  const image = textAt(value, "pauseImage");
  // What a variable or a placeholder stands for is not known.
  if (image === undefined || /[$<{%]/.test(image)) return;
  const found = judgeImage(image);
  if (found !== undefined) yield { at: { path: ["pauseImage"] }, ...found };
});

/** `golang.org/x/net/http/httpproxy`: HTTPS_PROXY takes requests for https URLs, where NO_PROXY does not name them. */
const PROXY = rule("proxy-takes-api-requests", "node-settings", function* ({ value }) {
  const proxy = textAt(value, "HTTPS_PROXY") ?? "";
  if (proxy === "" || (textAt(value, "NO_PROXY") ?? "") !== "") return;
  if (!isFields(value) || value["asksApiServer"] !== true) return;
  yield { at: { path: ["HTTPS_PROXY"] }, message: WORDS.proxyWithoutExceptions({ proxy: shown(proxy) }) };
});

export const NODE_SETTINGS_RULES: readonly LintRule[] = [PAUSE_IMAGE, PROXY];
