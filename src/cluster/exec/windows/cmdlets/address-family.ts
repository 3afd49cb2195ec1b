/** `AddressFamily` of objects that have one: a word that ConvertTo-Json writes as the number of Windows' sockets. */
import type { IpFamily } from "#core/net/ip.ts";
import type { Enumerated } from "../powershell/objects.ts";

export const ADDRESS_FAMILIES: Readonly<Record<IpFamily, Enumerated>> = {
  4: { text: "IPv4", number: 2 },
  6: { text: "IPv6", number: 23 },
};
