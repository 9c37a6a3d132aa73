//! Which fields name other resources.

use lanai_krm::ResourceId;

use crate::pods::PODS;

/// A field that names a resource.
pub struct Row {
    /// The kind of what is named.
    pub target: &'static str,
    /// The keys that lead to the name, with slashes.
    pub path: String,
}

impl Row {
    /// Whether a kind that stands beside the name is that of what is named.
    pub fn says_kind(&self) -> bool {
        self.path.ends_with("Ref/name") || self.path.starts_with("subjects")
    }
}

/// A kind, the kind that it names, and where.
struct Reference {
    kind: &'static str,
    target: &'static str,
    path: &'static str,
}

const fn by(kind: &'static str, target: &'static str, path: &'static str) -> Reference {
    Reference { kind, target, path }
}

/// What pods name, and where.
const IN_PODS: &[Reference] = &[
    by("Pod", "ConfigMap", "volumes[]/configMap/name"),
    by("Pod", "ConfigMap", "volumes[]/projected/sources[]/configMap/name"),
    by("Pod", "ConfigMap", "containers[]/env[]/valueFrom/configMapKeyRef/name"),
    by("Pod", "ConfigMap", "containers[]/envFrom[]/configMapRef/name"),
    by("Pod", "ConfigMap", "initContainers[]/env[]/valueFrom/configMapKeyRef/name"),
    by("Pod", "ConfigMap", "initContainers[]/envFrom[]/configMapRef/name"),
    by("Pod", "Secret", "volumes[]/secret/secretName"),
    by("Pod", "Secret", "volumes[]/projected/sources[]/secret/name"),
    by("Pod", "Secret", "containers[]/env[]/valueFrom/secretKeyRef/name"),
    by("Pod", "Secret", "containers[]/envFrom[]/secretRef/name"),
    by("Pod", "Secret", "initContainers[]/env[]/valueFrom/secretKeyRef/name"),
    by("Pod", "Secret", "initContainers[]/envFrom[]/secretRef/name"),
    by("Pod", "Secret", "imagePullSecrets[]/name"),
    by("Pod", "ServiceAccount", "serviceAccountName"),
    by("Pod", "PersistentVolumeClaim", "volumes[]/persistentVolumeClaim/claimName"),
    by("Pod", "PriorityClass", "priorityClassName"),
];

/// What others name, and where.
const OTHERS: &[Reference] = &[
    by("HorizontalPodAutoscaler", "Deployment", "spec/scaleTargetRef/name"),
    by("HorizontalPodAutoscaler", "ReplicaSet", "spec/scaleTargetRef/name"),
    by("HorizontalPodAutoscaler", "ReplicationController", "spec/scaleTargetRef/name"),
    by("HorizontalPodAutoscaler", "StatefulSet", "spec/scaleTargetRef/name"),
    by("StatefulSet", "Service", "spec/serviceName"),
    by("StatefulSet", "StorageClass", "spec/volumeClaimTemplates[]/spec/storageClassName"),
    by("PersistentVolume", "StorageClass", "spec/storageClassName"),
    by("PersistentVolumeClaim", "StorageClass", "spec/storageClassName"),
    by("PersistentVolumeClaim", "PersistentVolume", "spec/volumeName"),
    by("PersistentVolume", "PersistentVolumeClaim", "spec/claimRef/name"),
    by("Ingress", "Service", "spec/backend/serviceName"),
    by("Ingress", "Service", "spec/defaultBackend/service/name"),
    by("Ingress", "Service", "spec/rules[]/http/paths[]/backend/serviceName"),
    by("Ingress", "Service", "spec/rules[]/http/paths[]/backend/service/name"),
    by("Ingress", "Secret", "spec/tls[]/secretName"),
    by("Ingress", "IngressClass", "spec/ingressClassName"),
    by("ServiceAccount", "Secret", "imagePullSecrets[]/name"),
    by("ServiceAccount", "Secret", "secrets[]/name"),
    by("RoleBinding", "Role", "roleRef/name"),
    by("RoleBinding", "ClusterRole", "roleRef/name"),
    by("ClusterRoleBinding", "ClusterRole", "roleRef/name"),
    by("RoleBinding", "ServiceAccount", "subjects[]/name"),
    by("ClusterRoleBinding", "ServiceAccount", "subjects[]/name"),
    by("Role", "ConfigMap", "rules[]/resourceNames"),
    by("Role", "Secret", "rules[]/resourceNames"),
    by("ClusterRole", "ConfigMap", "rules[]/resourceNames"),
    by("ClusterRole", "Secret", "rules[]/resourceNames"),
    by("APIService", "Service", "spec/service/name"),
    by("MutatingWebhookConfiguration", "Service", "webhooks[]/clientConfig/service/name"),
    by("ValidatingWebhookConfiguration", "Service", "webhooks[]/clientConfig/service/name"),
    by("CustomResourceDefinition", "Service", "spec/conversion/webhook/clientConfig/service/name"),
    by("StorageClass", "Secret", "parameters/secretName"),
    by("StorageClass", "Secret", "parameters/adminSecretName"),
    by("StorageClass", "Secret", "parameters/userSecretName"),
    by("StorageClass", "Secret", "parameters/secretRef"),
    by("PersistentVolume", "Secret", "spec/azureFile/secretName"),
    // Services of Knative have pods in them.
    by("Service", "Secret", "spec/template/spec/containers[]/env[]/valueFrom/secretKeyRef/name"),
    by("Ingress", "Secret", "metadata/annotations/ingress.kubernetes.io\\/auth-secret"),
    by("Ingress", "Secret", "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-secret"),
    by("Ingress", "Secret", "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-tls-secret"),
    by("Ingress", "ConfigMap", "metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap"),
];

/// The fields of a resource of this type that name others.
pub fn rows(id: &ResourceId) -> Vec<Row> {
    let pods = PODS.iter().filter(|pod| pod.kind == id.kind);
    let in_pods = pods.flat_map(|pod| {
        IN_PODS.iter().map(|one| Row { target: one.target, path: format!("{}/{}", pod.path, one.path) })
    });
    let others = OTHERS.iter().filter(|one| one.kind == id.kind);
    in_pods.chain(others.map(|one| Row { target: one.target, path: one.path.into() })).collect()
}
