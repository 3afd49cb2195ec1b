/** Problems and notes about Kubernetes manifests. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable } from "../entry-text.ts";

type ManifestCode =
  | "manifest-invalid-yaml"
  | "manifest-too-large"
  | "manifest-helm-template"
  | "manifest-missing-field"
  | "manifest-invalid-value"
  | "manifest-kind-unknown"
  | "manifest-kind-not-carried-out"
  | "manifest-version-unknown"
  | "manifest-old-version"
  | "manifest-duplicate-object";

const YAML_SPECIFICATION = { text: "YAML 1.2.2", url: "https://yaml.org/spec/1.2.2/" };
const KUBERNETES_OBJECTS = {
  text: "Kubernetes documentation: Objects in Kubernetes",
  url: "https://kubernetes.io/docs/concepts/overview/working-with-objects/",
};
const KUBERNETES_NAMES = {
  text: "Kubernetes documentation: Object Names and IDs",
  url: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
};
const KUBERNETES_API = {
  text: "Kubernetes API reference",
  url: "https://kubernetes.io/docs/reference/kubernetes-api/",
};
const DEPRECATION_GUIDE = {
  text: "Kubernetes documentation: Deprecated API Migration Guide",
  url: "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
};
const HELM_TEMPLATE = {
  text: "Helm documentation: helm template",
  url: "https://helm.sh/docs/helm/helm_template/",
};

/** kubectl checks a manifest as the API server does, and changes nothing. */
const DRY_RUN = prose`
  The API server says the same about the file, without storing anything:

      kubectl apply --dry-run=server -f <file>`;

export const MANIFEST_ENTRIES: EntryTable<ManifestCode> = {
  "manifest-invalid-yaml": {
    title: "A manifest is not valid YAML or JSON",
    cause: prose`
      The text of one document breaks a rule of YAML (or JSON) at the line and column that the message names: a tab
      used for indentation, a quote that is never closed, a field given twice, an alias without its anchor. The
      other documents of the file are read as if this one were not there, as kubectl does with files.`,
    onNode: DRY_RUN,
    remedy: prose`
      Go to the line, and look at the one before it too: an open quote or bracket is noticed only later. Indent with
      spaces, and begin each document with a line of three dashes.`,
    sources: [YAML_SPECIFICATION, KUBERNETES_OBJECTS],
    profiles: ALL,
    severity: "error",
  },

  "manifest-too-large": {
    title: "Manifests are larger than Mullion takes",
    cause: prose`
      A file, one document of it, the depth of its values, what its aliases stand for, or the number of objects is
      beyond a bound. The bounds are far above real clusters; they keep a hostile file from using up the memory.
      The API server has bounds of its own: an object of more than about 1.5 MiB does not fit into etcd.`,
    onNode: prose`
      On a cluster the same shows as "etcdserver: request is too large" or "Request entity too large: limit is
      3145728" when the manifest is applied:

          kubectl apply --dry-run=server -f <file>`,
    remedy: prose`
      Take the part of the cluster that the question is about, for example one namespace and the nodes:

          kubectl get nodes -o yaml
          kubectl get pods,services,endpointslices -n <namespace> -o yaml`,
    sources: [
      { text: "etcd documentation: System limits", url: "https://etcd.io/docs/v3.6/dev-guide/limit/" },
      KUBERNETES_OBJECTS,
    ],
    profiles: ALL,
    severity: "error",
  },

  "manifest-helm-template": {
    title: "A manifest is a Helm template that has not been rendered",
    cause: prose`
      The document holds template expressions in double braces. Helm replaces them by values before anything reaches
      Kubernetes; the template itself is not a manifest, and often not even YAML.`,
    onNode: prose`
      kubectl refuses such a file too, mostly with an error about YAML:

          kubectl apply --dry-run=server -f <file>`,
    remedy: prose`
      Render the chart and give Mullion the result; for a release that is installed already, ask Helm for its
      manifests:

          helm template <release> <chart> -f <values> > manifests.yaml
          helm get manifest <release> > manifests.yaml`,
    sources: [HELM_TEMPLATE],
    profiles: ALL,
  },

  "manifest-missing-field": {
    title: "A manifest lacks a field that Kubernetes requires",
    cause: prose`
      The object cannot be stored without this field: a Service needs ports unless it is headless or of type
      ExternalName, a workload needs a selector and a template, a container needs a name and an image. The object
      was left out; the others were read.`,
    onNode: DRY_RUN,
    remedy: prose`
      Add the field at the place that the message names. This prints what it means and what is below it:

          kubectl explain service.spec.ports`,
    sources: [KUBERNETES_API],
    profiles: ALL,
  },

  "manifest-invalid-value": {
    title: "A manifest has a value that Kubernetes refuses",
    cause: prose`
      A value has the wrong type, is not a name, label, port, address or selector by the rules of Kubernetes, or
      contradicts another field. The message has the API server's words where it has any. The object was left
      out; the others were read.`,
    onNode: DRY_RUN,
    remedy: prose`
      Change the value at the place that the message names. YAML as Kubernetes reads it takes 80 and true for a
      number and a truth value, also where a text is needed (labels, annotations, environment): put such texts in
      quotes.`,
    sources: [KUBERNETES_API, KUBERNETES_NAMES],
    profiles: ALL,
    severity: "error",
  },

  "manifest-kind-unknown": {
    title: "Objects of a kind that Mullion does not use were skipped",
    cause: prose`
      Mullion reads the kinds that decide about the network: nodes, namespaces, pods and the workloads that make
      them, Services, EndpointSlices, Endpoints, network policies and ConfigMaps. Objects of other kinds (Secret,
      Role, custom resources …) are no fault; they have no effect here. Those that could change a flow have a code of
      their own: manifest-kind-not-carried-out.`,
    onNode: prose`
      All kinds that a cluster knows:

          kubectl api-resources`,
    remedy: prose`
      Nothing to do, unless you expected an effect. What an operator would make from a custom resource (Deployments,
      Services) can be dumped from a cluster in which it runs.`,
    sources: [KUBERNETES_API],
    profiles: ALL,
  },

  "manifest-kind-not-carried-out": {
    title: "Objects that could change a flow are left out",
    cause: prose`
      The input has objects that say what the network is, or open a way into it, and that Mullion does not carry out: an
      Ingress or a Gateway, for which a controller opens ports; the address pools and the configuration of a network
      plugin; further networks of pods; the rules of a service mesh. The cluster is built without them. Flows of pods,
      Services and nodes are judged as they are without these objects, and ways that the objects open are not tried.`,
    onNode: prose`
      What a controller made of them, as objects that Mullion reads:

          kubectl get pods,services,endpointslices -A -o yaml`,
    remedy: prose`
      Give the cluster file what they say about the network, where it has a field for it. When they do not concern the
      flows that you ask about, allow them by name:

          mullion verify -f cluster.yaml --allow manifest-kind-not-carried-out`,
    sources: [KUBERNETES_API],
    profiles: ALL,
  },

  "manifest-version-unknown": {
    title: "A kind does not exist in the API version that a manifest names",
    cause: prose`
      The field apiVersion names a group or version in which Kubernetes never had this kind, for example a Deployment
      in v1. kubectl answers: no matches for kind. The object was left out.`,
    onNode: DRY_RUN,
    remedy: prose`
      Write the version that the message names. This prints the one of your cluster:

          kubectl explain deployment`,
    sources: [KUBERNETES_API, DEPRECATION_GUIDE],
    profiles: ALL,
  },

  "manifest-old-version": {
    title: "A manifest is of an API version that Kubernetes has removed",
    cause: prose`
      The object is in an API version that old clusters served (extensions/v1beta1, apps/v1beta1, apps/v1beta2,
      batch/v1beta1, networking.k8s.io/v1beta1, policy/v1beta1 …). Of the kinds that Mullion uses, it was read as its
      present version, with the defaults of the old one: a workload without a selector selects the labels of its
      template. Others, such as Ingress, have no effect here in any version.`,
    onNode: prose`
      A cluster that no longer serves the version answers "no matches for kind":

          kubectl apply --dry-run=server -f <file>
          kubectl api-versions`,
    remedy: prose`
      Write the present version into the file, and add the selector of workloads; kubectl can do it:

          kubectl convert -f <file>`,
    sources: [DEPRECATION_GUIDE],
    profiles: ALL,
    severity: "warning",
  },

  "manifest-duplicate-object": {
    title: "Two manifests describe the same object",
    cause: prose`
      Kind, namespace and name are the same in two documents. kubectl would apply both, and the one that comes last
      would win. Two dumps of one cluster, or a copy left in the folder, are the usual reason, so the second
      document is refused and the first holds.`,
    onNode: prose`
      The object that the cluster has:

          kubectl get <kind> <name> -n <namespace> -o yaml`,
    remedy: prose`
      Keep one of the two documents. The message names the place of the first.`,
    sources: [KUBERNETES_NAMES],
    profiles: ALL,
  },
};
