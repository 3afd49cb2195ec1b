/** Numbers of the service's notifications (hcn.md §1.4). The numbering jumps from 9 to hexadecimal 10. */
export const NOTIFICATION_TYPES = {
  NetworkPreCreate: 0x0000_0001,
  NetworkCreate: 0x0000_0002,
  NetworkPreDelete: 0x0000_0003,
  NetworkDelete: 0x0000_0004,
  NamespaceCreate: 0x0000_0005,
  NamespaceDelete: 0x0000_0006,
  GuestNetworkServiceCreate: 0x0000_0007,
  GuestNetworkServiceDelete: 0x0000_0008,
  NetworkEndpointAttached: 0x0000_0009,
  NetworkEndpointDetached: 0x0000_0010,
  GuestNetworkServiceStateChanged: 0x0000_0011,
  GuestNetworkServiceInterfaceStateChanged: 0x0000_0012,
  ServiceDisconnect: 0x0100_0000,
} as const;

/** Numbers of notifications of the Host Compute Service that a network meets, as `vmcompute.dll` tells them. */
export const HCS_NOTIFICATION_TYPES = {
  SystemExited: 0x0000_0001,
} as const;
