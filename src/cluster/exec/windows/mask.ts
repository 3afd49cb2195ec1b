/** Masks, as the programs of Windows write prefix lengths of IPv4. */
import { type Ipv4, formatIp, maskIp, parseIpv4 } from "#core/net/ip.ts";

const ALL_ONES = 0xffff_ffff as Ipv4;

/** `255.255.255.0` of 24. */
export function formatMask(length: number): string {
  return formatIp(maskIp(ALL_ONES, length));
}

/** The prefix length; undefined for what is no mask. */
export function parseMask(text: string): number | undefined {
  const mask = parseIpv4(text);
  const length = Array.from({ length: 33 }, (_, index) => index).find(
    (each) => maskIp(ALL_ONES, each) === mask,
  );
  return mask === undefined ? undefined : length;
}
