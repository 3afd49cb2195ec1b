/**
 * Which proxy a Go program takes for a request, by the variables of its environment: golang.org/x/net/http/httpproxy,
 * whose rules kubectl, kubelet, flanneld and kube-proxy share.
 */
import { type Ip, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";

/** Variables as Windows keeps them: names in any case. */
export type Variables = Readonly<Record<string, string>>;

function variable(variables: Variables, name: string): string {
  const entry = Object.entries(variables).find(([key]) => key.toUpperCase() === name);
  return entry?.[1].trim() ?? "";
}

interface Target {
  readonly host: string;
  readonly port: string;
  readonly ip: Ip | undefined;
}

function isLoopback({ host, ip }: Target): boolean {
  return host === "localhost" || host === "::1" || (typeof ip === "number" && ip >>> 24 === 127);
}

/** One entry of NO_PROXY: a range, an address or a domain, perhaps with a port. */
function matches(entry: string, { host, port, ip }: Target): boolean {
  if (entry === "*") return true;
  const range = parsePrefix(entry);
  if (range !== undefined) return ip !== undefined && prefixContains(range, ip);
  const [, name = entry, wantedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (wantedPort !== undefined && wantedPort !== port) return false;
  const address = parseIp(name);
  if (address !== undefined) return address === ip;
  const domain = name.replace(/^\*/, "");
  if (domain.startsWith("."))
    return host.endsWith(domain) || (name.startsWith("*") && host === domain.slice(1));
  return host === domain || host.endsWith(`.${domain}`);
}

/** The proxy that a request to `url` goes to; undefined: none. */
export function proxyFor(url: string, variables: Variables): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  const isTls = protocol === "https:";
  const proxy = variable(variables, isTls ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (proxy === "") return undefined;
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const target: Target = { host, port: port === "" ? (isTls ? "443" : "80") : port, ip: parseIp(host) };
  if (isLoopback(target)) return undefined;
  const entries = variable(variables, "NO_PROXY")
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "");
  return entries.some((entry) => matches(entry, target)) ? undefined : proxy;
}
