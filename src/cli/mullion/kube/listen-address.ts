/** Where `mullion kube serve` listens. */
import { parseIp } from "#core/net/ip.ts";
import { usage } from "../options.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0: the system chooses. */
  readonly port: number;
}

const PORT_MAX = 65_535;

/** `127.0.0.1:6443`, `localhost:0`, `[::1]:6443`. @throws Failure. */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const [, ipv6, name = "", digits = ""] = match ?? [];
  const host = ipv6 ?? (name === "localhost" ? "127.0.0.1" : name);
  const port = Number(digits);
  const isAny = host === "0.0.0.0" || host === "::";
  if (match !== null && parseIp(host) !== undefined && port <= PORT_MAX && !isAny) return { host, port };
  throw usage(
    `--listen ${JSON.stringify(text)} is not an address with a port`,
    "Write 127.0.0.1:PORT, or another address of this machine; port 0 takes a free one.",
  );
}
