/** Why a row of the table of expectations does not apply, in words. The table itself holds facts alone. */

const TEXTS: Readonly<Record<string, string>> = Object.freeze({
  "OWN-RULES": "access rules of the cluster file decide; add an expectation for them",
  "NO-DNS": "the sender has no name service of the cluster",
  "NO-NAME": "the receiver has no name",
  "NET-TWIN-ECHO": "a pod of the sender's network has the same address, and an echo does not say who answers",
  "NET-JOINED": "the documents name no flows between such networks",
  "NET-TWIN-FROM-NODE": "two networks of the node hold the address, and the node cannot say which is meant",
  "NET-TWIN-TO-NODE": "two networks of the node hold the address, and the node cannot say which it answers",
  "NET-TWIN-ECHO-TO-NODE":
    "two networks of the node hold the address, and the node cannot say which it answers",
  "SVC-EXTERNAL-NAME": "an ExternalName Service has no address",
  "SVC-HEADLESS": "a headless Service has no address",
  "SVC-HEADLESS-EMPTY": "no ready pod is behind the name",
  "SVC-NO-PROXY": "nothing programs Services on the nodes",
  "SVC-STRANGERS": "a back end of the Service is not a pod of this cluster",
  "SVC-BACK-ENDS-PARTLY-STRAY":
    "some back ends of the Service are in a network that kube-proxy does not serve",
  "SVC-EMPTY": "no ready pod is behind the Service",
  "SVC-NO-ROUTE": "no route leads to the node of a back end",
  "SVC-LOCAL-EMPTY": "internalTrafficPolicy is Local and the client's node has no back end",
  "AFFINITY-OLD": "session affinity needs Windows Server 2022; earlier builds promise nothing",
  "AFFINITY-TIMEOUT-LINUX": "a question about Windows nodes",
});

/** Why the row `id` does not apply; undefined for rows that do. */
export function whyNotApplicable(id: string): string | undefined {
  return Object.hasOwn(TEXTS, id) ? TEXTS[id] : undefined;
}
