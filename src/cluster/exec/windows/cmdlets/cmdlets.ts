/** The cmdlets that there are. */
import type { Cmdlet } from "../powershell/cmdlet.ts";
import { GET_HNS } from "../hns/get-hns.ts";
import {
  CLEAR_DNS_CLIENT_CACHE,
  GET_DNS_CLIENT_GLOBAL_SETTING,
  GET_DNS_CLIENT_SERVER_ADDRESS,
} from "./dns-client.ts";
import {
  SET_DNS_CLIENT,
  SET_DNS_CLIENT_GLOBAL_SETTING,
  SET_DNS_CLIENT_SERVER_ADDRESS,
} from "./set-dns-client.ts";
import { GET_NET_ADAPTER } from "./net-adapter.ts";
import { GET_NET_COMPARTMENT } from "./net-compartment.ts";
import { GET_NET_IP_CONFIGURATION } from "./net-ip-configuration.ts";
import { GET_NET_IP_ADDRESS, GET_NET_IP_INTERFACE } from "./net-ip.ts";
import { GET_NET_NEIGHBOR } from "./net-neighbor.ts";
import { GET_NET_ROUTE } from "./net-route.ts";
import { RESOLVE_DNS_NAME } from "./resolve-dns-name.ts";
import { INVOKE_WEB_REQUEST } from "./invoke-web-request.ts";
import { TEST_NET_CONNECTION } from "./test-net-connection.ts";

export const CMDLETS: readonly Cmdlet[] = [
  RESOLVE_DNS_NAME,
  GET_DNS_CLIENT_SERVER_ADDRESS,
  GET_DNS_CLIENT_GLOBAL_SETTING,
  CLEAR_DNS_CLIENT_CACHE,
  SET_DNS_CLIENT_SERVER_ADDRESS,
  SET_DNS_CLIENT,
  SET_DNS_CLIENT_GLOBAL_SETTING,
  GET_NET_IP_CONFIGURATION,
  GET_NET_IP_ADDRESS,
  GET_NET_IP_INTERFACE,
  GET_NET_NEIGHBOR,
  GET_NET_ADAPTER,
  GET_NET_ROUTE,
  GET_NET_COMPARTMENT,
  TEST_NET_CONNECTION,
  INVOKE_WEB_REQUEST,
  ...GET_HNS,
];
