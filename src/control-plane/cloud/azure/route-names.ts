/** Names of Azure routes, which hold whose they are (control-planes.md §6.6; cloud-provider-azure `azure_routes.go`). */

/** `RouteNameSeparator`. */
export const ROUTE_NAME_SEPARATOR = "____";

/** One route per node; with two families one per node and range. */
export function routeNameOf(nodeName: string, cidr: string, isDualStack: boolean): string {
  return isDualStack ? `${nodeName}${ROUTE_NAME_SEPARATOR}${cidr.replaceAll(/[.:/]/g, "")}` : nodeName;
}

/** The reverse, for any route of the table. */
export function nodeNameOf(routeName: string, isDualStack: boolean): string {
  return isDualStack ? (routeName.split(ROUTE_NAME_SEPARATOR)[0] ?? "") : routeName;
}
