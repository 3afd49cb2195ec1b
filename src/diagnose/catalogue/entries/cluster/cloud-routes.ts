/** Routes that a cloud makes to the pods of its nodes. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference } from "../entry-text.ts";

type CloudRoutesCode =
  | "route-table-full"
  | "route-table-changed"
  | "route-without-next-hop"
  | "routes-without-cluster-cidr";

const CONTROLLER = {
  text: "Cloud Controller Manager: Route controller",
  url: "https://kubernetes.io/docs/concepts/architecture/cloud-controller/#route-controller",
};
const AZURE_PROVIDER = {
  text: "kubernetes-sigs/cloud-provider-azure: azure_routes.go",
  url: "https://github.com/kubernetes-sigs/cloud-provider-azure/blob/master/pkg/provider/azure_routes.go",
};
const AZURE_LIMITS = {
  text: "Azure subscription and service limits: networking limits",
  url: "https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/azure-subscription-service-limits#azure-networking-limits",
};

/** What the controller says about the node. */
const EVENTS = prose`
  The controller says it at the node:

      kubectl get events --field-selector reason=FailedToCreateRoute
      kubectl get node <node> -o jsonpath='{.status.conditions[?(@.type=="NetworkUnavailable")]}'`;

export const CLOUD_ROUTES_ENTRIES: EntryTable<CloudRoutesCode> = {
  "route-table-full": {
    title: "Azure's route table has no room for another route",
    cause: prose`
      A route table of Azure holds 400 routes. The Routes controller makes one for each range of each node, so a cluster of
      one family ends at 400 nodes, one of two families at 200; routes made by hand count, too. A table that would get more
      is refused as a whole: no route of that write is made, and each node of it gets the condition NetworkUnavailable.`,
    onNode: EVENTS,
    remedy: prose`
      Remove unused routes, use fewer and larger nodes, or a network whose pods have addresses of the virtual
      network (Azure CNI) or travel in an overlay: both need no routes.`,
    sources: [AZURE_LIMITS, reference("control-planes.md §6.4")],
    profiles: ALL,
  },

  "route-table-changed": {
    title: "Another program changed Azure's route table",
    cause: prose`
      The Routes controller writes a route table whole, with the entity tag of what it has read, which may be two minutes
      old. The table has changed since, so Azure refuses the write. The controller reads it again and tries again in
      its next round.`,
    onNode: EVENTS,
    remedy: prose`
      None, when it happens once. When it comes again and again, another program writes to the same table (a second cluster,
      a deployment template): give each its own.`,
    sources: [AZURE_PROVIDER, reference("control-planes.md §6.6")],
    profiles: ALL,
  },

  "route-without-next-hop": {
    title: "No route: the node's machine has no address of the range's family",
    cause: prose`
      A route leads to a private address of the machine's network interface, of the same family as the node's range. The
      cloud knows no machine by the name of the node, or its interface has no address of that family.`,
    onNode: EVENTS,
    remedy: prose`
      Give the interface an address of the family:

          az network nic ip-config create --nic-name <nic> --name v6 --private-ip-address-version IPv6 ...

      A node that is not a machine of that cloud has the label kubernetes.azure.com/managed=false, and its routes are yours.`,
    sources: [AZURE_PROVIDER, reference("control-planes.md §6.6")],
    profiles: ALL,
  },

  "routes-without-cluster-cidr": {
    title: "The Routes controller has no range of the cluster",
    cause: prose`
      The controller takes routes into the cluster's range for its own and leaves all others alone. Without a range it could
      not tell them apart, so it ends.`,
    onNode: prose`
      The flags of the controller manager:

          kubectl -n kube-system get pods -o yaml | Select-String cluster-cidr`,
    remedy: prose`
      Name the range of all pods, one for each family, or switch cloud routes off:

          --cluster-cidr=10.244.0.0/16
          --configure-cloud-routes=false`,
    sources: [CONTROLLER, reference("control-planes.md §6.6")],
    profiles: ALL,
  },
};
