/**
 * What scripts, service definitions and containerd's configuration of a Windows node set: the pause image, and the proxy of
 * its programs. Only what a text spells is read; what a variable holds is not known.
 */
import type { LintDocument, Range } from "./document.ts";
import { locateParts } from "./command-text.ts";
import type { SourceText } from "#core/base/source-text.ts";

/** Each way to write a setting: a pattern with the name, where it varies, and the value. */
const PAUSE_IMAGE: readonly RegExp[] = [
  // containerd 1: sandbox_image; containerd 2: pinned_images.sandbox.
  /^[ \t]*(?:sandbox_image|sandbox)[ \t]*=[ \t]*["']([^"'\r\n]+)["']/gm,
  /--pod-infra-container-image[= ]`?["']?([^\s"'`,;)]+)/g,
];

const PROXY: readonly RegExp[] = [
  /SetEnvironmentVariable\([ \t]*["']((?:HTTPS?|NO)_PROXY)["'][ \t]*,[ \t]*["']([^"'\r\n]*)["']/gi,
  /\$env:((?:HTTPS?|NO)_PROXY)[ \t]*=[ \t]*["']([^"'\r\n]*)["']/gi,
  /^[ \t]*@?set[ \t]+"?((?:HTTPS?|NO)_PROXY)=([^"\r\n]*)/gim,
  /\bsetx[ \t]+(?:\/m[ \t]+)?((?:HTTPS?|NO)_PROXY)[ \t]+["']?([^\s"'\r\n]+)/gi,
  // A service of nssm, and one of winsw.
  /AppEnvironment(?:Extra)?\b[^\r\n]{0,200}?\b((?:HTTPS?|NO)_PROXY)=([^\s"'\r\n]+)/gi,
  /<env[ \t]+name="((?:HTTPS?|NO)_PROXY)"[ \t]+value="([^"\r\n]*)"/gi,
];

/** A comment of PowerShell, TOML, or a batch file. */
const COMMENT_LINE = /^[ \t]*(?:#|rem\b|::)/i;
/** Signs of a Windows node: a path with a drive, an executable, its container runtime. */
const WINDOWS = /[A-Za-z]:[\\/]|\.exe\b|runhcs|\$env:/i;
/** Programs that ask the API server. */
const API_CLIENT = /\b(?:kubelet|kubectl|kube-proxy|flanneld|calico-node|rancher-wins|rke2)\b/i;

function isCommented(text: string, offset: number): boolean {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return COMMENT_LINE.test(text.slice(start, offset + 1));
}

interface Found extends Range {
  readonly name: string;
  readonly value: string;
}

function* settingsIn(text: string): Generator<Found> {
  for (const pattern of PAUSE_IMAGE)
    for (const { 0: whole, 1: value = "", index } of text.matchAll(pattern))
      yield { name: "pauseImage", value, start: index, end: index + whole.length };
  for (const pattern of PROXY)
    for (const { 0: whole, 1: name = "", 2: value = "", index } of text.matchAll(pattern))
      yield { name: name.toUpperCase(), value, start: index, end: index + whole.length };
}

/** A file that sets something of these for a Windows node; the last setting of a name counts. */
export function readNodeSettings(source: SourceText): LintDocument | undefined {
  const { text } = source;
  if (!WINDOWS.test(text)) return undefined;
  const parts = new Map<string, Range>();
  const value: Record<string, string> = {};
  for (const { name, value: written, start, end } of settingsIn(text)) {
    if (isCommented(text, start)) continue;
    // An indented setting begins behind its blanks.
    const blanks = /^\s*/.exec(text.slice(start, end))?.[0].length ?? 0;
    parts.set(name, { start: start + blanks, end });
    value[name] = written;
  }
  if (parts.size === 0) return undefined;
  return {
    kind: "node-settings",
    source,
    text,
    value: { ...value, ...(API_CLIENT.test(text) ? { asksApiServer: true } : {}) },
    locate: locateParts(parts, 0),
    traps: [],
    host: undefined,
    title: "settings of a node",
  };
}
