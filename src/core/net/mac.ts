/** Ethernet MAC addresses as values. */

declare const brand: unique symbol;
/** A MAC address as a 48-bit unsigned integer: compared with `===`, usable as a map key. */
export type Mac = number & { readonly [brand]: "Mac" };

/** ff-ff-ff-ff-ff-ff */
export const BROADCAST_MAC: Mac = 0xffff_ffff_ffff as Mac;

/** Parses `XX-XX-XX-XX-XX-XX` or `xx:xx:xx:xx:xx:xx`; undefined when it is neither. */
export function parseMac(text: string): Mac | undefined {
  if (!/^[0-9a-f]{2}([-:])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i.test(text)) return undefined;
  return Number.parseInt(text.replace(/[-:]/g, ""), 16) as Mac;
}

/** Formats as Windows prints it: upper case, joined by `-`. */
export function formatMac(mac: Mac): string {
  const hex = mac.toString(16).toUpperCase().padStart(12, "0");
  return hex.replace(/(..)(?=.)/g, "$1-");
}

/** True for broadcast and multicast addresses (the group bit of the first octet). */
export function isGroupMac(mac: Mac): boolean {
  return (Math.floor(mac / 0x100_0000_0000) & 1) === 1;
}
