/**
 * `Invoke-WebRequest`, which Windows PowerShell calls `curl`, too. Forms of its errors: public logs of 5.1; of a server that speaks
 * no HTTP, snovvcrash/DInjector#6; of a time limit, the demonstration of Calico's policies on AKS
 * (https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/demo).
 *
 * Inferred: what nothing holds is left out of the object: headers, links, forms.
 */
import type { Machine } from "../../machine.ts";
import { notBuilt } from "../../command.ts";
import type { Cmdlet, CmdletOutput, Fault, Given } from "../powershell/cmdlet.ts";
import { type ObjectKind, makeObject } from "../powershell/objects.ts";
import { fetchPage, readStatus, readUrl } from "../../web-page.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
/** HttpWebRequest.Timeout. */
const PATIENCE_MS = 100_000;

interface Response {
  readonly code: number;
  readonly description: string;
  readonly content: string;
}

const RESPONSE: ObjectKind<Response> = {
  properties: [
    { name: "StatusCode", read: ({ code }) => code },
    { name: "StatusDescription", read: ({ description }) => description },
    { name: "Content", read: ({ content }) => content },
    { name: "RawContentLength", read: ({ content }) => content.length },
  ],
};

function fault(message: string): Fault {
  return {
    message,
    category: "InvalidOperation: (System.Net.HttpWebRequest:HttpWebRequest)",
    exception: "WebException",
    id: "WebCmdletWebResponseException,Microsoft.PowerShell.Commands.InvokeWebRequestCommand",
  };
}

/** `-TimeoutSec 0` waits as long as none at all. */
function patienceOf(given: Given): number {
  const text = given.get("TimeoutSec") ?? "0";
  if (!/^\d{1,6}$/.test(text)) return notBuilt(INVOKE_WEB_REQUEST, `-TimeoutSec ${text}`);
  return text === "0" ? PATIENCE_MS : Number(text) * 1_000;
}

function request(machine: Machine, given: Given): CmdletOutput {
  const text = given.get("Uri");
  const address = text === undefined ? undefined : readUrl(text);
  if (address === undefined) return notBuilt(INVOKE_WEB_REQUEST, text ?? "without an address");
  const patienceMs = patienceOf(given);
  const page = fetchPage(machine, address, patienceMs);
  if (page.outcome === "no-name")
    return { objects: [], fault: fault(`The remote name could not be resolved: '${address.host}'`) };
  if (page.outcome === "over-time") return { objects: [], fault: fault("The operation has timed out.") };
  if (page.outcome !== "answered")
    return { objects: [], fault: fault("Unable to connect to the remote server") };
  const status = readStatus(page);
  if (status === undefined) return { objects: [], fault: fault(WORDS.webRequestProtocolViolation) };
  const { code, text: description } = status;
  if (code >= 400)
    return { objects: [], fault: fault(`The remote server returned an error: (${code}) ${description}.`) };
  return { objects: [makeObject(RESPONSE, { code, description, content: page.body })] };
}

export const INVOKE_WEB_REQUEST: Cmdlet = {
  name: "Invoke-WebRequest",
  aliases: ["iwr", "curl", "wget"],
  usages: ["Invoke-WebRequest [-Uri] http://HOST[:PORT][/PATH] [-UseBasicParsing] [-TimeoutSec SECONDS]"],
  parameters: ["Uri", "TimeoutSec"],
  positions: 1,
  switches: ["UseBasicParsing"],
  others: [
    "Method",
    "Headers",
    "Body",
    "ContentType",
    "Credential",
    "DisableKeepAlive",
    "InFile",
    "MaximumRedirection",
    "OutFile",
    "PassThru",
    "Proxy",
    "SessionVariable",
    "UseDefaultCredentials",
    "UserAgent",
    "WebSession",
  ],
  run: request,
};
