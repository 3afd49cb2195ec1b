/**
 * Kubernetes' messages in protobuf, written by tools/write-kube-protobuf.ts from their `generated.proto`: number, name
 * and type of each field. `*` is a list, `%` a mapping from texts, `^` stands in its parent in JSON.
 */
export const PROTOBUF_MESSAGES: Readonly<Record<string, string>> = Object.freeze({
  "apps/v1.DaemonSet":
    "1 metadata meta/v1.ObjectMeta, 2 spec apps/v1.DaemonSetSpec, 3 status apps/v1.DaemonSetStatus",
  "apps/v1.DaemonSetCondition":
    "1 type string, 2 status string, 3 lastTransitionTime meta/v1.Time, 4 reason string, 5 message string",
  "apps/v1.DaemonSetSpec":
    "1 selector meta/v1.LabelSelector, 2 template v1.PodTemplateSpec, 3 updateStrategy apps/v1.DaemonSetUpdateStrategy, 4 minReadySeconds int32, 6 revisionHistoryLimit int32",
  "apps/v1.DaemonSetStatus":
    "1 currentNumberScheduled int32, 2 numberMisscheduled int32, 3 desiredNumberScheduled int32, 4 numberReady int32, 5 observedGeneration int64, 6 updatedNumberScheduled int32, 7 numberAvailable int32, 8 numberUnavailable int32, 9 collisionCount int32, 10 conditions *apps/v1.DaemonSetCondition",
  "apps/v1.DaemonSetUpdateStrategy": "1 type string, 2 rollingUpdate apps/v1.RollingUpdateDaemonSet",
  "apps/v1.Deployment":
    "1 metadata meta/v1.ObjectMeta, 2 spec apps/v1.DeploymentSpec, 3 status apps/v1.DeploymentStatus",
  "apps/v1.DeploymentCondition":
    "1 type string, 2 status string, 4 reason string, 5 message string, 6 lastUpdateTime meta/v1.Time, 7 lastTransitionTime meta/v1.Time",
  "apps/v1.DeploymentSpec":
    "1 replicas int32, 2 selector meta/v1.LabelSelector, 3 template v1.PodTemplateSpec, 4 strategy apps/v1.DeploymentStrategy, 5 minReadySeconds int32, 6 revisionHistoryLimit int32, 7 paused bool, 9 progressDeadlineSeconds int32",
  "apps/v1.DeploymentStatus":
    "1 observedGeneration int64, 2 replicas int32, 3 updatedReplicas int32, 4 availableReplicas int32, 5 unavailableReplicas int32, 6 conditions *apps/v1.DeploymentCondition, 7 readyReplicas int32, 8 collisionCount int32, 9 terminatingReplicas int32",
  "apps/v1.DeploymentStrategy": "1 type string, 2 rollingUpdate apps/v1.RollingUpdateDeployment",
  "apps/v1.ReplicaSet":
    "1 metadata meta/v1.ObjectMeta, 2 spec apps/v1.ReplicaSetSpec, 3 status apps/v1.ReplicaSetStatus",
  "apps/v1.ReplicaSetCondition":
    "1 type string, 2 status string, 3 lastTransitionTime meta/v1.Time, 4 reason string, 5 message string",
  "apps/v1.ReplicaSetSpec":
    "1 replicas int32, 2 selector meta/v1.LabelSelector, 3 template v1.PodTemplateSpec, 4 minReadySeconds int32",
  "apps/v1.ReplicaSetStatus":
    "1 replicas int32, 2 fullyLabeledReplicas int32, 3 observedGeneration int64, 4 readyReplicas int32, 5 availableReplicas int32, 6 conditions *apps/v1.ReplicaSetCondition, 7 terminatingReplicas int32",
  "apps/v1.RollingUpdateDaemonSet": "1 maxUnavailable intstr.IntOrString, 2 maxSurge intstr.IntOrString",
  "apps/v1.RollingUpdateDeployment": "1 maxUnavailable intstr.IntOrString, 2 maxSurge intstr.IntOrString",
  "apps/v1.RollingUpdateStatefulSetStrategy": "1 partition int32, 2 maxUnavailable intstr.IntOrString",
  "apps/v1.StatefulSet":
    "1 metadata meta/v1.ObjectMeta, 2 spec apps/v1.StatefulSetSpec, 3 status apps/v1.StatefulSetStatus",
  "apps/v1.StatefulSetCondition":
    "1 type string, 2 status string, 3 lastTransitionTime meta/v1.Time, 4 reason string, 5 message string",
  "apps/v1.StatefulSetOrdinals": "1 start int32",
  "apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy": "1 whenDeleted string, 2 whenScaled string",
  "apps/v1.StatefulSetSpec":
    "1 replicas int32, 2 selector meta/v1.LabelSelector, 3 template v1.PodTemplateSpec, 4 volumeClaimTemplates *v1.PersistentVolumeClaim, 5 serviceName string, 6 podManagementPolicy string, 7 updateStrategy apps/v1.StatefulSetUpdateStrategy, 8 revisionHistoryLimit int32, 9 minReadySeconds int32, 10 persistentVolumeClaimRetentionPolicy apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy, 11 ordinals apps/v1.StatefulSetOrdinals",
  "apps/v1.StatefulSetStatus":
    "1 observedGeneration int64, 2 replicas int32, 3 readyReplicas int32, 4 currentReplicas int32, 5 updatedReplicas int32, 6 currentRevision string, 7 updateRevision string, 9 collisionCount int32, 10 conditions *apps/v1.StatefulSetCondition, 11 availableReplicas int32",
  "apps/v1.StatefulSetUpdateStrategy":
    "1 type string, 2 rollingUpdate apps/v1.RollingUpdateStatefulSetStrategy",
  "batch/v1.CronJob":
    "1 metadata meta/v1.ObjectMeta, 2 spec batch/v1.CronJobSpec, 3 status batch/v1.CronJobStatus",
  "batch/v1.CronJobSpec":
    "1 schedule string, 2 startingDeadlineSeconds int64, 3 concurrencyPolicy string, 4 suspend bool, 5 jobTemplate batch/v1.JobTemplateSpec, 6 successfulJobsHistoryLimit int32, 7 failedJobsHistoryLimit int32, 8 timeZone string",
  "batch/v1.CronJobStatus":
    "1 active *v1.ObjectReference, 4 lastScheduleTime meta/v1.Time, 5 lastSuccessfulTime meta/v1.Time",
  "batch/v1.Job": "1 metadata meta/v1.ObjectMeta, 2 spec batch/v1.JobSpec, 3 status batch/v1.JobStatus",
  "batch/v1.JobCondition":
    "1 type string, 2 status string, 3 lastProbeTime meta/v1.Time, 4 lastTransitionTime meta/v1.Time, 5 reason string, 6 message string",
  "batch/v1.JobSpec":
    "1 parallelism int32, 2 completions int32, 3 activeDeadlineSeconds int64, 4 selector meta/v1.LabelSelector, 5 manualSelector bool, 6 template v1.PodTemplateSpec, 7 backoffLimit int32, 8 ttlSecondsAfterFinished int32, 9 completionMode string, 10 suspend bool, 11 podFailurePolicy batch/v1.PodFailurePolicy, 12 backoffLimitPerIndex int32, 13 maxFailedIndexes int32, 14 podReplacementPolicy string, 15 managedBy string, 16 successPolicy batch/v1.SuccessPolicy",
  "batch/v1.JobStatus":
    "1 conditions *batch/v1.JobCondition, 2 startTime meta/v1.Time, 3 completionTime meta/v1.Time, 4 active int32, 5 succeeded int32, 6 failed int32, 7 completedIndexes string, 8 uncountedTerminatedPods batch/v1.UncountedTerminatedPods, 9 ready int32, 10 failedIndexes string, 11 terminating int32",
  "batch/v1.JobTemplateSpec": "1 metadata meta/v1.ObjectMeta, 2 spec batch/v1.JobSpec",
  "batch/v1.PodFailurePolicy": "1 rules *batch/v1.PodFailurePolicyRule",
  "batch/v1.PodFailurePolicyOnExitCodesRequirement":
    "1 containerName string, 2 operator string, 3 values *int32",
  "batch/v1.PodFailurePolicyOnPodConditionsPattern": "1 type string, 2 status string",
  "batch/v1.PodFailurePolicyRule":
    "1 action string, 2 onExitCodes batch/v1.PodFailurePolicyOnExitCodesRequirement, 3 onPodConditions *batch/v1.PodFailurePolicyOnPodConditionsPattern",
  "batch/v1.SuccessPolicy": "1 rules *batch/v1.SuccessPolicyRule",
  "batch/v1.SuccessPolicyRule": "1 succeededIndexes string, 2 succeededCount int32",
  "batch/v1.UncountedTerminatedPods": "1 succeeded *string, 2 failed *string",
  "coordination.k8s.io/v1.Lease": "1 metadata meta/v1.ObjectMeta, 2 spec coordination.k8s.io/v1.LeaseSpec",
  "coordination.k8s.io/v1.LeaseSpec":
    "1 holderIdentity string, 2 leaseDurationSeconds int32, 3 acquireTime meta/v1.MicroTime, 4 renewTime meta/v1.MicroTime, 5 leaseTransitions int32, 6 strategy string, 7 preferredHolder string",
  "discovery.k8s.io/v1.Endpoint":
    "1 addresses *string, 2 conditions discovery.k8s.io/v1.EndpointConditions, 3 hostname string, 4 targetRef v1.ObjectReference, 5 deprecatedTopology %string, 6 nodeName string, 7 zone string, 8 hints discovery.k8s.io/v1.EndpointHints",
  "discovery.k8s.io/v1.EndpointConditions": "1 ready bool, 2 serving bool, 3 terminating bool",
  "discovery.k8s.io/v1.EndpointHints":
    "1 forZones *discovery.k8s.io/v1.ForZone, 2 forNodes *discovery.k8s.io/v1.ForNode",
  "discovery.k8s.io/v1.EndpointPort": "1 name string, 2 protocol string, 3 port int32, 4 appProtocol string",
  "discovery.k8s.io/v1.EndpointSlice":
    "1 metadata meta/v1.ObjectMeta, 2 endpoints *discovery.k8s.io/v1.Endpoint, 3 ports *discovery.k8s.io/v1.EndpointPort, 4 addressType string",
  "discovery.k8s.io/v1.ForNode": "1 name string",
  "discovery.k8s.io/v1.ForZone": "1 name string",
  "events.k8s.io/v1.Event":
    "1 metadata meta/v1.ObjectMeta, 2 eventTime meta/v1.MicroTime, 3 series events.k8s.io/v1.EventSeries, 4 reportingController string, 5 reportingInstance string, 6 action string, 7 reason string, 8 regarding v1.ObjectReference, 9 related v1.ObjectReference, 10 note string, 11 type string, 12 deprecatedSource v1.EventSource, 13 deprecatedFirstTimestamp meta/v1.Time, 14 deprecatedLastTimestamp meta/v1.Time, 15 deprecatedCount int32",
  "events.k8s.io/v1.EventSeries": "1 count int32, 2 lastObservedTime meta/v1.MicroTime",
  "meta/v1.Condition":
    "1 type string, 2 status string, 3 observedGeneration int64, 4 lastTransitionTime meta/v1.Time, 5 reason string, 6 message string",
  "meta/v1.DeleteOptions":
    "1 gracePeriodSeconds int64, 2 preconditions meta/v1.Preconditions, 3 orphanDependents bool, 4 propagationPolicy string, 5 dryRun *string, 6 ignoreStoreReadErrorWithClusterBreakingPotential bool",
  "meta/v1.LabelSelector": "1 matchLabels %string, 2 matchExpressions *meta/v1.LabelSelectorRequirement",
  "meta/v1.LabelSelectorRequirement": "1 key string, 2 operator string, 3 values *string",
  "meta/v1.ManagedFieldsEntry":
    "1 manager string, 2 operation string, 3 apiVersion string, 4 time meta/v1.Time, 6 fieldsType string, 7 fieldsV1 meta/v1.FieldsV1, 8 subresource string",
  "meta/v1.ObjectMeta":
    "1 name string, 2 generateName string, 3 namespace string, 4 selfLink string, 5 uid string, 6 resourceVersion string, 7 generation int64, 8 creationTimestamp meta/v1.Time, 9 deletionTimestamp meta/v1.Time, 10 deletionGracePeriodSeconds int64, 11 labels %string, 12 annotations %string, 13 ownerReferences *meta/v1.OwnerReference, 14 finalizers *string, 17 managedFields *meta/v1.ManagedFieldsEntry",
  "meta/v1.OwnerReference":
    "1 kind string, 3 name string, 4 uid string, 5 apiVersion string, 6 controller bool, 7 blockOwnerDeletion bool",
  "meta/v1.Preconditions": "1 uid string, 2 resourceVersion string",
  "networking.k8s.io/v1.IPBlock": "1 cidr string, 2 except *string",
  "networking.k8s.io/v1.NetworkPolicy":
    "1 metadata meta/v1.ObjectMeta, 2 spec networking.k8s.io/v1.NetworkPolicySpec",
  "networking.k8s.io/v1.NetworkPolicyEgressRule":
    "1 ports *networking.k8s.io/v1.NetworkPolicyPort, 2 to *networking.k8s.io/v1.NetworkPolicyPeer",
  "networking.k8s.io/v1.NetworkPolicyIngressRule":
    "1 ports *networking.k8s.io/v1.NetworkPolicyPort, 2 from *networking.k8s.io/v1.NetworkPolicyPeer",
  "networking.k8s.io/v1.NetworkPolicyPeer":
    "1 podSelector meta/v1.LabelSelector, 2 namespaceSelector meta/v1.LabelSelector, 3 ipBlock networking.k8s.io/v1.IPBlock",
  "networking.k8s.io/v1.NetworkPolicyPort": "1 protocol string, 2 port intstr.IntOrString, 3 endPort int32",
  "networking.k8s.io/v1.NetworkPolicySpec":
    "1 podSelector meta/v1.LabelSelector, 2 ingress *networking.k8s.io/v1.NetworkPolicyIngressRule, 3 egress *networking.k8s.io/v1.NetworkPolicyEgressRule, 4 policyTypes *string",
  "networking.k8s.io/v1.ServiceCIDR":
    "1 metadata meta/v1.ObjectMeta, 2 spec networking.k8s.io/v1.ServiceCIDRSpec, 3 status networking.k8s.io/v1.ServiceCIDRStatus",
  "networking.k8s.io/v1.ServiceCIDRSpec": "1 cidrs *string",
  "networking.k8s.io/v1.ServiceCIDRStatus": "1 conditions *meta/v1.Condition",
  "v1.AWSElasticBlockStoreVolumeSource":
    "1 volumeID string, 2 fsType string, 3 partition int32, 4 readOnly bool",
  "v1.Affinity":
    "1 nodeAffinity v1.NodeAffinity, 2 podAffinity v1.PodAffinity, 3 podAntiAffinity v1.PodAntiAffinity",
  "v1.AppArmorProfile": "1 type string, 2 localhostProfile string",
  "v1.AttachedVolume": "1 name string, 2 devicePath string",
  "v1.AzureDiskVolumeSource":
    "1 diskName string, 2 diskURI string, 3 cachingMode string, 4 fsType string, 5 readOnly bool, 6 kind string",
  "v1.AzureFileVolumeSource": "1 secretName string, 2 shareName string, 3 readOnly bool",
  "v1.CSIVolumeSource":
    "1 driver string, 2 readOnly bool, 3 fsType string, 4 volumeAttributes %string, 5 nodePublishSecretRef v1.LocalObjectReference",
  "v1.Capabilities": "1 add *string, 2 drop *string",
  "v1.CephFSVolumeSource":
    "1 monitors *string, 2 path string, 3 user string, 4 secretFile string, 5 secretRef v1.LocalObjectReference, 6 readOnly bool",
  "v1.CinderVolumeSource":
    "1 volumeID string, 2 fsType string, 3 readOnly bool, 4 secretRef v1.LocalObjectReference",
  "v1.ClientIPConfig": "1 timeoutSeconds int32",
  "v1.ClusterTrustBundleProjection":
    "1 name string, 2 signerName string, 3 labelSelector meta/v1.LabelSelector, 4 path string, 5 optional bool",
  "v1.ConfigMap": "1 metadata meta/v1.ObjectMeta, 2 data %string, 3 binaryData %bytes, 4 immutable bool",
  "v1.ConfigMapEnvSource": "1 localObjectReference ^v1.LocalObjectReference, 2 optional bool",
  "v1.ConfigMapKeySelector": "1 localObjectReference ^v1.LocalObjectReference, 2 key string, 3 optional bool",
  "v1.ConfigMapNodeConfigSource":
    "1 namespace string, 2 name string, 3 uid string, 4 resourceVersion string, 5 kubeletConfigKey string",
  "v1.ConfigMapProjection":
    "1 localObjectReference ^v1.LocalObjectReference, 2 items *v1.KeyToPath, 4 optional bool",
  "v1.ConfigMapVolumeSource":
    "1 localObjectReference ^v1.LocalObjectReference, 2 items *v1.KeyToPath, 3 defaultMode int32, 4 optional bool",
  "v1.Container":
    "1 name string, 2 image string, 3 command *string, 4 args *string, 5 workingDir string, 6 ports *v1.ContainerPort, 7 env *v1.EnvVar, 8 resources v1.ResourceRequirements, 9 volumeMounts *v1.VolumeMount, 10 livenessProbe v1.Probe, 11 readinessProbe v1.Probe, 12 lifecycle v1.Lifecycle, 13 terminationMessagePath string, 14 imagePullPolicy string, 15 securityContext v1.SecurityContext, 16 stdin bool, 17 stdinOnce bool, 18 tty bool, 19 envFrom *v1.EnvFromSource, 20 terminationMessagePolicy string, 21 volumeDevices *v1.VolumeDevice, 22 startupProbe v1.Probe, 23 resizePolicy *v1.ContainerResizePolicy, 24 restartPolicy string, 25 restartPolicyRules *v1.ContainerRestartRule",
  "v1.ContainerExtendedResourceRequest":
    "1 containerName string, 2 resourceName string, 3 requestName string",
  "v1.ContainerImage": "1 names *string, 2 sizeBytes int64",
  "v1.ContainerPort":
    "1 name string, 2 hostPort int32, 3 containerPort int32, 4 protocol string, 5 hostIP string",
  "v1.ContainerResizePolicy": "1 resourceName string, 2 restartPolicy string",
  "v1.ContainerRestartRule": "1 action string, 2 exitCodes v1.ContainerRestartRuleOnExitCodes",
  "v1.ContainerRestartRuleOnExitCodes": "1 operator string, 2 values *int32",
  "v1.ContainerState":
    "1 waiting v1.ContainerStateWaiting, 2 running v1.ContainerStateRunning, 3 terminated v1.ContainerStateTerminated",
  "v1.ContainerStateRunning": "1 startedAt meta/v1.Time",
  "v1.ContainerStateTerminated":
    "1 exitCode int32, 2 signal int32, 3 reason string, 4 message string, 5 startedAt meta/v1.Time, 6 finishedAt meta/v1.Time, 7 containerID string",
  "v1.ContainerStateWaiting": "1 reason string, 2 message string",
  "v1.ContainerStatus":
    "1 name string, 2 state v1.ContainerState, 3 lastState v1.ContainerState, 4 ready bool, 5 restartCount int32, 6 image string, 7 imageID string, 8 containerID string, 9 started bool, 10 allocatedResources %resource.Quantity, 11 resources v1.ResourceRequirements, 12 volumeMounts *v1.VolumeMountStatus, 13 user v1.ContainerUser, 14 allocatedResourcesStatus *v1.ResourceStatus, 15 stopSignal string",
  "v1.ContainerUser": "1 linux v1.LinuxContainerUser",
  "v1.DaemonEndpoint": "1 Port int32",
  "v1.DownwardAPIProjection": "1 items *v1.DownwardAPIVolumeFile",
  "v1.DownwardAPIVolumeFile":
    "1 path string, 2 fieldRef v1.ObjectFieldSelector, 3 resourceFieldRef v1.ResourceFieldSelector, 4 mode int32",
  "v1.DownwardAPIVolumeSource": "1 items *v1.DownwardAPIVolumeFile, 2 defaultMode int32",
  "v1.EmptyDirVolumeSource": "1 medium string, 2 sizeLimit resource.Quantity",
  "v1.EndpointAddress": "1 ip string, 2 targetRef v1.ObjectReference, 3 hostname string, 4 nodeName string",
  "v1.EndpointPort": "1 name string, 2 port int32, 3 protocol string, 4 appProtocol string",
  "v1.EndpointSubset":
    "1 addresses *v1.EndpointAddress, 2 notReadyAddresses *v1.EndpointAddress, 3 ports *v1.EndpointPort",
  "v1.Endpoints": "1 metadata meta/v1.ObjectMeta, 2 subsets *v1.EndpointSubset",
  "v1.EnvFromSource": "1 prefix string, 2 configMapRef v1.ConfigMapEnvSource, 3 secretRef v1.SecretEnvSource",
  "v1.EnvVar": "1 name string, 2 value string, 3 valueFrom v1.EnvVarSource",
  "v1.EnvVarSource":
    "1 fieldRef v1.ObjectFieldSelector, 2 resourceFieldRef v1.ResourceFieldSelector, 3 configMapKeyRef v1.ConfigMapKeySelector, 4 secretKeyRef v1.SecretKeySelector, 5 fileKeyRef v1.FileKeySelector",
  "v1.EphemeralContainer":
    "1 ephemeralContainerCommon ^v1.EphemeralContainerCommon, 2 targetContainerName string",
  "v1.EphemeralContainerCommon":
    "1 name string, 2 image string, 3 command *string, 4 args *string, 5 workingDir string, 6 ports *v1.ContainerPort, 7 env *v1.EnvVar, 8 resources v1.ResourceRequirements, 9 volumeMounts *v1.VolumeMount, 10 livenessProbe v1.Probe, 11 readinessProbe v1.Probe, 12 lifecycle v1.Lifecycle, 13 terminationMessagePath string, 14 imagePullPolicy string, 15 securityContext v1.SecurityContext, 16 stdin bool, 17 stdinOnce bool, 18 tty bool, 19 envFrom *v1.EnvFromSource, 20 terminationMessagePolicy string, 21 volumeDevices *v1.VolumeDevice, 22 startupProbe v1.Probe, 23 resizePolicy *v1.ContainerResizePolicy, 24 restartPolicy string, 25 restartPolicyRules *v1.ContainerRestartRule",
  "v1.EphemeralVolumeSource": "1 volumeClaimTemplate v1.PersistentVolumeClaimTemplate",
  "v1.Event":
    "1 metadata meta/v1.ObjectMeta, 2 involvedObject v1.ObjectReference, 3 reason string, 4 message string, 5 source v1.EventSource, 6 firstTimestamp meta/v1.Time, 7 lastTimestamp meta/v1.Time, 8 count int32, 9 type string, 10 eventTime meta/v1.MicroTime, 11 series v1.EventSeries, 12 action string, 13 related v1.ObjectReference, 14 reportingComponent string, 15 reportingInstance string",
  "v1.EventSeries": "1 count int32, 2 lastObservedTime meta/v1.MicroTime",
  "v1.EventSource": "1 component string, 2 host string",
  "v1.ExecAction": "1 command *string",
  "v1.FCVolumeSource": "1 targetWWNs *string, 2 lun int32, 3 fsType string, 4 readOnly bool, 5 wwids *string",
  "v1.FileKeySelector": "1 volumeName string, 2 path string, 3 key string, 4 optional bool",
  "v1.FlexVolumeSource":
    "1 driver string, 2 fsType string, 3 secretRef v1.LocalObjectReference, 4 readOnly bool, 5 options %string",
  "v1.FlockerVolumeSource": "1 datasetName string, 2 datasetUUID string",
  "v1.GCEPersistentDiskVolumeSource": "1 pdName string, 2 fsType string, 3 partition int32, 4 readOnly bool",
  "v1.GRPCAction": "1 port int32, 2 service string",
  "v1.GitRepoVolumeSource": "1 repository string, 2 revision string, 3 directory string",
  "v1.GlusterfsVolumeSource": "1 endpoints string, 2 path string, 3 readOnly bool",
  "v1.HTTPGetAction":
    "1 path string, 2 port intstr.IntOrString, 3 host string, 4 scheme string, 5 httpHeaders *v1.HTTPHeader",
  "v1.HTTPHeader": "1 name string, 2 value string",
  "v1.HostAlias": "1 ip string, 2 hostnames *string",
  "v1.HostIP": "1 ip string",
  "v1.HostPathVolumeSource": "1 path string, 2 type string",
  "v1.ISCSIVolumeSource":
    "1 targetPortal string, 2 iqn string, 3 lun int32, 4 iscsiInterface string, 5 fsType string, 6 readOnly bool, 7 portals *string, 8 chapAuthDiscovery bool, 10 secretRef v1.LocalObjectReference, 11 chapAuthSession bool, 12 initiatorName string",
  "v1.ImageVolumeSource": "1 reference string, 2 pullPolicy string",
  "v1.KeyToPath": "1 key string, 2 path string, 3 mode int32",
  "v1.Lifecycle": "1 postStart v1.LifecycleHandler, 2 preStop v1.LifecycleHandler, 3 stopSignal string",
  "v1.LifecycleHandler":
    "1 exec v1.ExecAction, 2 httpGet v1.HTTPGetAction, 3 tcpSocket v1.TCPSocketAction, 4 sleep v1.SleepAction",
  "v1.LinuxContainerUser": "1 uid int64, 2 gid int64, 3 supplementalGroups *int64",
  "v1.LoadBalancerIngress": "1 ip string, 2 hostname string, 3 ipMode string, 4 ports *v1.PortStatus",
  "v1.LoadBalancerStatus": "1 ingress *v1.LoadBalancerIngress",
  "v1.LocalObjectReference": "1 name string",
  "v1.ModifyVolumeStatus": "1 targetVolumeAttributesClassName string, 2 status string",
  "v1.NFSVolumeSource": "1 server string, 2 path string, 3 readOnly bool",
  "v1.Namespace": "1 metadata meta/v1.ObjectMeta, 2 spec v1.NamespaceSpec, 3 status v1.NamespaceStatus",
  "v1.NamespaceCondition":
    "1 type string, 2 status string, 4 lastTransitionTime meta/v1.Time, 5 reason string, 6 message string",
  "v1.NamespaceSpec": "1 finalizers *string",
  "v1.NamespaceStatus": "1 phase string, 2 conditions *v1.NamespaceCondition",
  "v1.Node": "1 metadata meta/v1.ObjectMeta, 2 spec v1.NodeSpec, 3 status v1.NodeStatus",
  "v1.NodeAddress": "1 type string, 2 address string",
  "v1.NodeAffinity":
    "1 requiredDuringSchedulingIgnoredDuringExecution v1.NodeSelector, 2 preferredDuringSchedulingIgnoredDuringExecution *v1.PreferredSchedulingTerm",
  "v1.NodeCondition":
    "1 type string, 2 status string, 3 lastHeartbeatTime meta/v1.Time, 4 lastTransitionTime meta/v1.Time, 5 reason string, 6 message string",
  "v1.NodeConfigSource": "2 configMap v1.ConfigMapNodeConfigSource",
  "v1.NodeConfigStatus":
    "1 assigned v1.NodeConfigSource, 2 active v1.NodeConfigSource, 3 lastKnownGood v1.NodeConfigSource, 4 error string",
  "v1.NodeDaemonEndpoints": "1 kubeletEndpoint v1.DaemonEndpoint",
  "v1.NodeFeatures": "1 supplementalGroupsPolicy bool",
  "v1.NodeRuntimeHandler": "1 name string, 2 features v1.NodeRuntimeHandlerFeatures",
  "v1.NodeRuntimeHandlerFeatures": "1 recursiveReadOnlyMounts bool, 2 userNamespaces bool",
  "v1.NodeSelector": "1 nodeSelectorTerms *v1.NodeSelectorTerm",
  "v1.NodeSelectorRequirement": "1 key string, 2 operator string, 3 values *string",
  "v1.NodeSelectorTerm":
    "1 matchExpressions *v1.NodeSelectorRequirement, 2 matchFields *v1.NodeSelectorRequirement",
  "v1.NodeSpec":
    "1 podCIDR string, 2 externalID string, 3 providerID string, 4 unschedulable bool, 5 taints *v1.Taint, 6 configSource v1.NodeConfigSource, 7 podCIDRs *string",
  "v1.NodeStatus":
    "1 capacity %resource.Quantity, 2 allocatable %resource.Quantity, 3 phase string, 4 conditions *v1.NodeCondition, 5 addresses *v1.NodeAddress, 6 daemonEndpoints v1.NodeDaemonEndpoints, 7 nodeInfo v1.NodeSystemInfo, 8 images *v1.ContainerImage, 9 volumesInUse *string, 10 volumesAttached *v1.AttachedVolume, 11 config v1.NodeConfigStatus, 12 runtimeHandlers *v1.NodeRuntimeHandler, 13 features v1.NodeFeatures",
  "v1.NodeSwapStatus": "1 capacity int64",
  "v1.NodeSystemInfo":
    "1 machineID string, 2 systemUUID string, 3 bootID string, 4 kernelVersion string, 5 osImage string, 6 containerRuntimeVersion string, 7 kubeletVersion string, 8 kubeProxyVersion string, 9 operatingSystem string, 10 architecture string, 11 swap v1.NodeSwapStatus",
  "v1.ObjectFieldSelector": "1 apiVersion string, 2 fieldPath string",
  "v1.ObjectReference":
    "1 kind string, 2 namespace string, 3 name string, 4 uid string, 5 apiVersion string, 6 resourceVersion string, 7 fieldPath string",
  "v1.PersistentVolumeClaim":
    "1 metadata meta/v1.ObjectMeta, 2 spec v1.PersistentVolumeClaimSpec, 3 status v1.PersistentVolumeClaimStatus",
  "v1.PersistentVolumeClaimCondition":
    "1 type string, 2 status string, 3 lastProbeTime meta/v1.Time, 4 lastTransitionTime meta/v1.Time, 5 reason string, 6 message string",
  "v1.PersistentVolumeClaimSpec":
    "1 accessModes *string, 2 resources v1.VolumeResourceRequirements, 3 volumeName string, 4 selector meta/v1.LabelSelector, 5 storageClassName string, 6 volumeMode string, 7 dataSource v1.TypedLocalObjectReference, 8 dataSourceRef v1.TypedObjectReference, 9 volumeAttributesClassName string",
  "v1.PersistentVolumeClaimStatus":
    "1 phase string, 2 accessModes *string, 3 capacity %resource.Quantity, 4 conditions *v1.PersistentVolumeClaimCondition, 5 allocatedResources %resource.Quantity, 7 allocatedResourceStatuses %string, 8 currentVolumeAttributesClassName string, 9 modifyVolumeStatus v1.ModifyVolumeStatus",
  "v1.PersistentVolumeClaimTemplate": "1 metadata meta/v1.ObjectMeta, 2 spec v1.PersistentVolumeClaimSpec",
  "v1.PersistentVolumeClaimVolumeSource": "1 claimName string, 2 readOnly bool",
  "v1.PhotonPersistentDiskVolumeSource": "1 pdID string, 2 fsType string",
  "v1.Pod": "1 metadata meta/v1.ObjectMeta, 2 spec v1.PodSpec, 3 status v1.PodStatus",
  "v1.PodAffinity":
    "1 requiredDuringSchedulingIgnoredDuringExecution *v1.PodAffinityTerm, 2 preferredDuringSchedulingIgnoredDuringExecution *v1.WeightedPodAffinityTerm",
  "v1.PodAffinityTerm":
    "1 labelSelector meta/v1.LabelSelector, 2 namespaces *string, 3 topologyKey string, 4 namespaceSelector meta/v1.LabelSelector, 5 matchLabelKeys *string, 6 mismatchLabelKeys *string",
  "v1.PodAntiAffinity":
    "1 requiredDuringSchedulingIgnoredDuringExecution *v1.PodAffinityTerm, 2 preferredDuringSchedulingIgnoredDuringExecution *v1.WeightedPodAffinityTerm",
  "v1.PodCertificateProjection":
    "1 signerName string, 2 keyType string, 3 maxExpirationSeconds int32, 4 credentialBundlePath string, 5 keyPath string, 6 certificateChainPath string",
  "v1.PodCondition":
    "1 type string, 2 status string, 3 lastProbeTime meta/v1.Time, 4 lastTransitionTime meta/v1.Time, 5 reason string, 6 message string, 7 observedGeneration int64",
  "v1.PodDNSConfig": "1 nameservers *string, 2 searches *string, 3 options *v1.PodDNSConfigOption",
  "v1.PodDNSConfigOption": "1 name string, 2 value string",
  "v1.PodExtendedResourceClaimStatus":
    "1 requestMappings *v1.ContainerExtendedResourceRequest, 2 resourceClaimName string",
  "v1.PodIP": "1 ip string",
  "v1.PodOS": "1 name string",
  "v1.PodReadinessGate": "1 conditionType string",
  "v1.PodResourceClaim": "1 name string, 3 resourceClaimName string, 4 resourceClaimTemplateName string",
  "v1.PodResourceClaimStatus": "1 name string, 2 resourceClaimName string",
  "v1.PodSchedulingGate": "1 name string",
  "v1.PodSecurityContext":
    "1 seLinuxOptions v1.SELinuxOptions, 2 runAsUser int64, 3 runAsNonRoot bool, 4 supplementalGroups *int64, 5 fsGroup int64, 6 runAsGroup int64, 7 sysctls *v1.Sysctl, 8 windowsOptions v1.WindowsSecurityContextOptions, 9 fsGroupChangePolicy string, 10 seccompProfile v1.SeccompProfile, 11 appArmorProfile v1.AppArmorProfile, 12 supplementalGroupsPolicy string, 13 seLinuxChangePolicy string",
  "v1.PodSpec":
    "1 volumes *v1.Volume, 2 containers *v1.Container, 3 restartPolicy string, 4 terminationGracePeriodSeconds int64, 5 activeDeadlineSeconds int64, 6 dnsPolicy string, 7 nodeSelector %string, 8 serviceAccountName string, 9 serviceAccount string, 10 nodeName string, 11 hostNetwork bool, 12 hostPID bool, 13 hostIPC bool, 14 securityContext v1.PodSecurityContext, 15 imagePullSecrets *v1.LocalObjectReference, 16 hostname string, 17 subdomain string, 18 affinity v1.Affinity, 19 schedulerName string, 20 initContainers *v1.Container, 21 automountServiceAccountToken bool, 22 tolerations *v1.Toleration, 23 hostAliases *v1.HostAlias, 24 priorityClassName string, 25 priority int32, 26 dnsConfig v1.PodDNSConfig, 27 shareProcessNamespace bool, 28 readinessGates *v1.PodReadinessGate, 29 runtimeClassName string, 30 enableServiceLinks bool, 31 preemptionPolicy string, 32 overhead %resource.Quantity, 33 topologySpreadConstraints *v1.TopologySpreadConstraint, 34 ephemeralContainers *v1.EphemeralContainer, 35 setHostnameAsFQDN bool, 36 os v1.PodOS, 37 hostUsers bool, 38 schedulingGates *v1.PodSchedulingGate, 39 resourceClaims *v1.PodResourceClaim, 40 resources v1.ResourceRequirements, 41 hostnameOverride string",
  "v1.PodStatus":
    "1 phase string, 2 conditions *v1.PodCondition, 3 message string, 4 reason string, 5 hostIP string, 6 podIP string, 7 startTime meta/v1.Time, 8 containerStatuses *v1.ContainerStatus, 9 qosClass string, 10 initContainerStatuses *v1.ContainerStatus, 11 nominatedNodeName string, 12 podIPs *v1.PodIP, 13 ephemeralContainerStatuses *v1.ContainerStatus, 14 resize string, 15 resourceClaimStatuses *v1.PodResourceClaimStatus, 16 hostIPs *v1.HostIP, 17 observedGeneration int64, 18 extendedResourceClaimStatus v1.PodExtendedResourceClaimStatus",
  "v1.PodTemplateSpec": "1 metadata meta/v1.ObjectMeta, 2 spec v1.PodSpec",
  "v1.PortStatus": "1 port int32, 2 protocol string, 3 error string",
  "v1.PortworxVolumeSource": "1 volumeID string, 2 fsType string, 3 readOnly bool",
  "v1.PreferredSchedulingTerm": "1 weight int32, 2 preference v1.NodeSelectorTerm",
  "v1.Probe":
    "1 handler ^v1.ProbeHandler, 2 initialDelaySeconds int32, 3 timeoutSeconds int32, 4 periodSeconds int32, 5 successThreshold int32, 6 failureThreshold int32, 7 terminationGracePeriodSeconds int64",
  "v1.ProbeHandler":
    "1 exec v1.ExecAction, 2 httpGet v1.HTTPGetAction, 3 tcpSocket v1.TCPSocketAction, 4 grpc v1.GRPCAction",
  "v1.ProjectedVolumeSource": "1 sources *v1.VolumeProjection, 2 defaultMode int32",
  "v1.QuobyteVolumeSource":
    "1 registry string, 2 volume string, 3 readOnly bool, 4 user string, 5 group string, 6 tenant string",
  "v1.RBDVolumeSource":
    "1 monitors *string, 2 image string, 3 fsType string, 4 pool string, 5 user string, 6 keyring string, 7 secretRef v1.LocalObjectReference, 8 readOnly bool",
  "v1.ResourceClaim": "1 name string, 2 request string",
  "v1.ResourceFieldSelector": "1 containerName string, 2 resource string, 3 divisor resource.Quantity",
  "v1.ResourceHealth": "1 resourceID string, 2 health string",
  "v1.ResourceRequirements":
    "1 limits %resource.Quantity, 2 requests %resource.Quantity, 3 claims *v1.ResourceClaim",
  "v1.ResourceStatus": "1 name string, 2 resources *v1.ResourceHealth",
  "v1.SELinuxOptions": "1 user string, 2 role string, 3 type string, 4 level string",
  "v1.ScaleIOVolumeSource":
    "1 gateway string, 2 system string, 3 secretRef v1.LocalObjectReference, 4 sslEnabled bool, 5 protectionDomain string, 6 storagePool string, 7 storageMode string, 8 volumeName string, 9 fsType string, 10 readOnly bool",
  "v1.SeccompProfile": "1 type string, 2 localhostProfile string",
  "v1.SecretEnvSource": "1 localObjectReference ^v1.LocalObjectReference, 2 optional bool",
  "v1.SecretKeySelector": "1 localObjectReference ^v1.LocalObjectReference, 2 key string, 3 optional bool",
  "v1.SecretProjection":
    "1 localObjectReference ^v1.LocalObjectReference, 2 items *v1.KeyToPath, 4 optional bool",
  "v1.SecretVolumeSource": "1 secretName string, 2 items *v1.KeyToPath, 3 defaultMode int32, 4 optional bool",
  "v1.SecurityContext":
    "1 capabilities v1.Capabilities, 2 privileged bool, 3 seLinuxOptions v1.SELinuxOptions, 4 runAsUser int64, 5 runAsNonRoot bool, 6 readOnlyRootFilesystem bool, 7 allowPrivilegeEscalation bool, 8 runAsGroup int64, 9 procMount string, 10 windowsOptions v1.WindowsSecurityContextOptions, 11 seccompProfile v1.SeccompProfile, 12 appArmorProfile v1.AppArmorProfile",
  "v1.Service": "1 metadata meta/v1.ObjectMeta, 2 spec v1.ServiceSpec, 3 status v1.ServiceStatus",
  "v1.ServiceAccountTokenProjection": "1 audience string, 2 expirationSeconds int64, 3 path string",
  "v1.ServicePort":
    "1 name string, 2 protocol string, 3 port int32, 4 targetPort intstr.IntOrString, 5 nodePort int32, 6 appProtocol string",
  "v1.ServiceSpec":
    "1 ports *v1.ServicePort, 2 selector %string, 3 clusterIP string, 4 type string, 5 externalIPs *string, 7 sessionAffinity string, 8 loadBalancerIP string, 9 loadBalancerSourceRanges *string, 10 externalName string, 11 externalTrafficPolicy string, 12 healthCheckNodePort int32, 13 publishNotReadyAddresses bool, 14 sessionAffinityConfig v1.SessionAffinityConfig, 17 ipFamilyPolicy string, 18 clusterIPs *string, 19 ipFamilies *string, 20 allocateLoadBalancerNodePorts bool, 21 loadBalancerClass string, 22 internalTrafficPolicy string, 23 trafficDistribution string",
  "v1.ServiceStatus": "1 loadBalancer v1.LoadBalancerStatus, 2 conditions *meta/v1.Condition",
  "v1.SessionAffinityConfig": "1 clientIP v1.ClientIPConfig",
  "v1.SleepAction": "1 seconds int64",
  "v1.StorageOSVolumeSource":
    "1 volumeName string, 2 volumeNamespace string, 3 fsType string, 4 readOnly bool, 5 secretRef v1.LocalObjectReference",
  "v1.Sysctl": "1 name string, 2 value string",
  "v1.TCPSocketAction": "1 port intstr.IntOrString, 2 host string",
  "v1.Taint": "1 key string, 2 value string, 3 effect string, 4 timeAdded meta/v1.Time",
  "v1.Toleration":
    "1 key string, 2 operator string, 3 value string, 4 effect string, 5 tolerationSeconds int64",
  "v1.TopologySpreadConstraint":
    "1 maxSkew int32, 2 topologyKey string, 3 whenUnsatisfiable string, 4 labelSelector meta/v1.LabelSelector, 5 minDomains int32, 6 nodeAffinityPolicy string, 7 nodeTaintsPolicy string, 8 matchLabelKeys *string",
  "v1.TypedLocalObjectReference": "1 apiGroup string, 2 kind string, 3 name string",
  "v1.TypedObjectReference": "1 apiGroup string, 2 kind string, 3 name string, 4 namespace string",
  "v1.Volume": "1 name string, 2 volumeSource ^v1.VolumeSource",
  "v1.VolumeDevice": "1 name string, 2 devicePath string",
  "v1.VolumeMount":
    "1 name string, 2 readOnly bool, 3 mountPath string, 4 subPath string, 5 mountPropagation string, 6 subPathExpr string, 7 recursiveReadOnly string",
  "v1.VolumeMountStatus": "1 name string, 2 mountPath string, 3 readOnly bool, 4 recursiveReadOnly string",
  "v1.VolumeProjection":
    "1 secret v1.SecretProjection, 2 downwardAPI v1.DownwardAPIProjection, 3 configMap v1.ConfigMapProjection, 4 serviceAccountToken v1.ServiceAccountTokenProjection, 5 clusterTrustBundle v1.ClusterTrustBundleProjection, 6 podCertificate v1.PodCertificateProjection",
  "v1.VolumeResourceRequirements": "1 limits %resource.Quantity, 2 requests %resource.Quantity",
  "v1.VolumeSource":
    "1 hostPath v1.HostPathVolumeSource, 2 emptyDir v1.EmptyDirVolumeSource, 3 gcePersistentDisk v1.GCEPersistentDiskVolumeSource, 4 awsElasticBlockStore v1.AWSElasticBlockStoreVolumeSource, 5 gitRepo v1.GitRepoVolumeSource, 6 secret v1.SecretVolumeSource, 7 nfs v1.NFSVolumeSource, 8 iscsi v1.ISCSIVolumeSource, 9 glusterfs v1.GlusterfsVolumeSource, 10 persistentVolumeClaim v1.PersistentVolumeClaimVolumeSource, 11 rbd v1.RBDVolumeSource, 12 flexVolume v1.FlexVolumeSource, 13 cinder v1.CinderVolumeSource, 14 cephfs v1.CephFSVolumeSource, 15 flocker v1.FlockerVolumeSource, 16 downwardAPI v1.DownwardAPIVolumeSource, 17 fc v1.FCVolumeSource, 18 azureFile v1.AzureFileVolumeSource, 19 configMap v1.ConfigMapVolumeSource, 20 vsphereVolume v1.VsphereVirtualDiskVolumeSource, 21 quobyte v1.QuobyteVolumeSource, 22 azureDisk v1.AzureDiskVolumeSource, 23 photonPersistentDisk v1.PhotonPersistentDiskVolumeSource, 24 portworxVolume v1.PortworxVolumeSource, 25 scaleIO v1.ScaleIOVolumeSource, 26 projected v1.ProjectedVolumeSource, 27 storageos v1.StorageOSVolumeSource, 28 csi v1.CSIVolumeSource, 29 ephemeral v1.EphemeralVolumeSource, 30 image v1.ImageVolumeSource",
  "v1.VsphereVirtualDiskVolumeSource":
    "1 volumePath string, 2 fsType string, 3 storagePolicyName string, 4 storagePolicyID string",
  "v1.WeightedPodAffinityTerm": "1 weight int32, 2 podAffinityTerm v1.PodAffinityTerm",
  "v1.WindowsSecurityContextOptions":
    "1 gmsaCredentialSpecName string, 2 gmsaCredentialSpec string, 3 runAsUserName string, 4 hostProcess bool",
});
