/**
 * Ids of LB_DSR rules. Two forms are in use on nodes (users.md §4), and scripts know one of them each:
 * `LB_DSR_<h>_<node>_<VIP>_<ext>_<int>_<protocol>`, and `LB_DSR_<node>_<VIP>_<ext>_<int>_<protocol>_<h>`, where `<h>` is
 * the beginning of the load balancer's id.
 */
import { parseIp } from "#core/net/ip.ts";

/** Where the field `<h>` stands. */
export type LbDsrForm = "tag-first" | "tag-last";

export interface LbDsrId {
  readonly form: LbDsrForm;
  /** `<h>`. */
  readonly tag: string;
  readonly nodeAddress: string;
  readonly vip: string;
  readonly externalPort: number;
  readonly internalPort: number;
  readonly protocol: number;
}

const PREFIX = "LB_DSR_";
const FIELDS = 6;

function isAddress(text: string | undefined): boolean {
  return text !== undefined && parseIp(text) !== undefined;
}

/** Undefined for ids of other rules. */
export function parseLbDsrId(id: string): LbDsrId | undefined {
  if (!id.startsWith(PREFIX)) return undefined;
  const parts = id.slice(PREFIX.length).split("_");
  if (parts.length !== FIELDS) return undefined;
  const form: LbDsrForm = isAddress(parts[0]) ? "tag-last" : "tag-first";
  const [first = "", ...rest] = parts;
  const tag = form === "tag-first" ? first : (parts.at(-1) ?? "");
  const [nodeAddress = "", vip = "", ...numbers] = form === "tag-first" ? rest : parts.slice(0, -1);
  const [externalPort, internalPort, protocol] = numbers.map((text) =>
    /^\d{1,5}$/.test(text) ? Number(text) : -1,
  );
  if (!isAddress(vip) || externalPort === undefined || internalPort === undefined || protocol === undefined)
    return undefined;
  if (Math.min(externalPort, internalPort, protocol) < 0) return undefined;
  return { form, tag, nodeAddress, vip, externalPort, internalPort, protocol };
}

export function formatLbDsrId(id: Omit<LbDsrId, "form">, form: LbDsrForm): string {
  const { tag, nodeAddress, vip, externalPort, internalPort, protocol } = id;
  const middle = [nodeAddress, vip, externalPort, internalPort, protocol].join("_");
  return PREFIX + (form === "tag-first" ? `${tag}_${middle}` : `${middle}_${tag}`);
}

/** An id in the other form, where it is one of LB_DSR; any other text as it is. */
export function withLbDsrForm(id: string, form: LbDsrForm): string {
  const parsed = parseLbDsrId(id);
  return parsed === undefined || parsed.form === form ? id : formatLbDsrId(parsed, form);
}
