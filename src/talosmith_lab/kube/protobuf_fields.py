"""The fields of the messages that `kubectl` sends in protocol buffers: number, name, message or type.

`[]` is a list, `{}` a map from strings, `-` what is not read. Kubernetes never changes these numbers.
"""

from __future__ import annotations

TABLE = """
Namespace 1:metadata:ObjectMeta 2:spec:NamespaceSpec 3:status:-
NamespaceSpec 1:finalizers:string[]
ObjectMeta 1:name:string 2:generateName:string 3:namespace:string 5:uid:string 6:resourceVersion:string
 7:generation:int 8:creationTimestamp:Time 9:deletionTimestamp:Time 10:deletionGracePeriodSeconds:int
 11:labels:string{} 12:annotations:string{} 13:ownerReferences:OwnerReference[] 14:finalizers:string[]
 17:managedFields:-
OwnerReference 1:kind:string 3:name:string 4:uid:string 5:apiVersion:string
 6:controller:bool 7:blockOwnerDeletion:bool
ConfigMap 1:metadata:ObjectMeta 2:data:string{} 3:binaryData:bytes{} 4:immutable:bool
Secret 1:metadata:ObjectMeta 2:data:bytes{} 3:type:string 4:stringData:string{} 5:immutable:bool
ServiceAccount 1:metadata:ObjectMeta 3:imagePullSecrets:LocalObjectReference[] 4:automountServiceAccountToken:bool
LocalObjectReference 1:name:string
Service 1:metadata:ObjectMeta 2:spec:ServiceSpec 3:status:-
ServiceSpec 1:ports:ServicePort[] 2:selector:string{} 3:clusterIP:string 4:type:string 10:externalName:string
ServicePort 1:name:string 2:protocol:string 3:port:int 4:targetPort:IntOrString 5:nodePort:int
Deployment 1:metadata:ObjectMeta 2:spec:DeploymentSpec 3:status:-
DeploymentSpec 1:replicas:int 2:selector:LabelSelector 3:template:PodTemplateSpec 4:strategy:DeploymentStrategy
 5:minReadySeconds:int 6:revisionHistoryLimit:int 7:paused:bool 9:progressDeadlineSeconds:int
DeploymentStrategy 1:type:string 2:rollingUpdate:RollingUpdate
RollingUpdate 1:maxUnavailable:IntOrString 2:maxSurge:IntOrString
LabelSelector 1:matchLabels:string{} 2:matchExpressions:LabelSelectorRequirement[]
LabelSelectorRequirement 1:key:string 2:operator:string 3:values:string[]
Job 1:metadata:ObjectMeta 2:spec:JobSpec 3:status:-
JobSpec 1:parallelism:int 2:completions:int 3:activeDeadlineSeconds:int 4:selector:LabelSelector
 6:template:PodTemplateSpec 7:backoffLimit:int 8:ttlSecondsAfterFinished:int 9:completionMode:string 10:suspend:bool
PodTemplateSpec 1:metadata:ObjectMeta 2:spec:PodSpec
PodSpec 2:containers:Container[] 3:restartPolicy:string 4:terminationGracePeriodSeconds:int 7:nodeSelector:string{}
 8:serviceAccountName:string 9:serviceAccount:string 10:nodeName:string 11:hostNetwork:bool
 20:initContainers:Container[]
Container 1:name:string 2:image:string 3:command:string[] 4:args:string[] 5:workingDir:string 6:ports:ContainerPort[]
 7:env:EnvVar[] 8:resources:ResourceRequirements 14:imagePullPolicy:string
ContainerPort 1:name:string 2:hostPort:int 3:containerPort:int 4:protocol:string
EnvVar 1:name:string 2:value:string
ResourceRequirements 1:limits:Quantity{} 2:requests:Quantity{}
Eviction 1:metadata:ObjectMeta 2:deleteOptions:DeleteOptions
DeleteOptions 1:gracePeriodSeconds:int 2:preconditions:Preconditions 3:orphanDependents:bool
 4:propagationPolicy:string 5:dryRun:string[]
Preconditions 1:uid:string 2:resourceVersion:string
PodDisruptionBudget 1:metadata:ObjectMeta 2:spec:PodDisruptionBudgetSpec 3:status:-
PodDisruptionBudgetSpec 1:minAvailable:IntOrString 2:selector:LabelSelector 3:maxUnavailable:IntOrString
 4:unhealthyPodEvictionPolicy:string
CertificateSigningRequest 1:metadata:ObjectMeta 2:spec:SigningSpec 3:status:SigningStatus
SigningSpec 1:request:bytes 2:username:string 3:uid:string 4:groups:string[] 5:usages:string[] 6:extra:-
 7:signerName:string 8:expirationSeconds:int
SigningStatus 1:conditions:SigningCondition[] 2:certificate:bytes
SigningCondition 1:type:string 2:reason:string 3:message:string 4:lastUpdateTime:Time 5:lastTransitionTime:Time
 6:status:string
SelfSubjectReview 1:metadata:ObjectMeta 2:status:-
SelfSubjectAccessReview 1:metadata:ObjectMeta 2:spec:AccessSpec 3:status:-
AccessSpec 1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:PathAttributes
ResourceAttributes 1:namespace:string 2:verb:string 3:group:string 4:version:string 5:resource:string
 6:subresource:string 7:name:string
PathAttributes 1:path:string 2:verb:string
TokenRequest 1:metadata:ObjectMeta 2:spec:TokenRequestSpec 3:status:-
TokenRequestSpec 1:audiences:string[] 4:expirationSeconds:int
Role 1:metadata:ObjectMeta 2:rules:PolicyRule[]
ClusterRole 1:metadata:ObjectMeta 2:rules:PolicyRule[]
PolicyRule 1:verbs:string[] 2:apiGroups:string[] 3:resources:string[]
 4:resourceNames:string[] 5:nonResourceURLs:string[]
RoleBinding 1:metadata:ObjectMeta 2:subjects:Subject[] 3:roleRef:RoleRef
ClusterRoleBinding 1:metadata:ObjectMeta 2:subjects:Subject[] 3:roleRef:RoleRef
Subject 1:kind:string 2:apiGroup:string 3:name:string 4:namespace:string
RoleRef 1:apiGroup:string 2:kind:string 3:name:string
"""
