{{/*
The pod of a role: template of a Deployment or a Job. Input:
- root, role, settings
- labels: further labels
- container: args or command, ports, probes, and whatever else is its own
- grace: seconds from SIGTERM to SIGKILL
- restartPolicy: for Jobs
*/}}
{{- define "callwright.pod" -}}
{{- $values := .root.Values }}
{{- $secrets := include "callwright.secrets" . | fromJson }}
metadata:
  labels:
    {{- include "callwright.selector" . | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ .role }}
    secrets-revision: {{ $values.secretsRevision | quote }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "callwright.fullname" .root }}{{ if eq .role "setup" }}-setup{{ end }}
  automountServiceAccountToken: false
  # Kubernetes would set variables by the names of Services, such as API_PORT.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .grace }}
  {{- with .restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  {{- with $values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .settings.nodeSelector | default $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .settings.tolerations | default $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .settings.affinity | default $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if has .role (list "api" "media" "worker") }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "callwright.selector" $ | nindent 10 }}
          {{- with $.labels }}
          {{- toYaml . | nindent 10 }}
          {{- end }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ .role }}
      image: {{ include "callwright.image" . }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      {{- toYaml .container | nindent 6 }}
      env:
        {{- include "callwright.env" . | nindent 8 }}
      resources:
        {{- toYaml .settings.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        privileged: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- if $secrets }}
        - name: secrets
          mountPath: /run/secrets/callwright
          readOnly: true
        {{- end }}
        {{- if $values.rateDeck.configMap }}
        - name: rates
          mountPath: /etc/callwright/rates
          readOnly: true
        {{- end }}
        {{- if $values.carrierAccounts.secret }}
        - name: carriers
          mountPath: /etc/callwright/carriers
          readOnly: true
        {{- end }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- if $secrets }}
    - name: secrets
      projected:
        # Readable for the pod's group.
        defaultMode: 0440
        sources:
          {{- range $variable, $secret := $secrets }}
          - secret:
              name: {{ $secret.secret }}
              items:
                - key: {{ $secret.key }}
                  path: {{ $variable }}
          {{- end }}
    {{- end }}
    {{- if $values.rateDeck.configMap }}
    - name: rates
      configMap:
        name: {{ $values.rateDeck.configMap }}
    {{- end }}
    {{- if $values.carrierAccounts.secret }}
    - name: carriers
      secret:
        secretName: {{ $values.carrierAccounts.secret }}
        # Readable for the pod's group.
        defaultMode: 0440
    {{- end }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/*
Probes of a role. A role that waits for MongoDB or Temporal for a minute at its start ends by itself. Input: port, ready (the
path of the readiness probe).
*/}}
{{- define "callwright.probes" -}}
startupProbe:
  httpGet: { path: /health/live, port: {{ .port }}, httpHeaders: [{ name: X-Forwarded-Proto, value: https }] }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /health/live, port: {{ .port }}, httpHeaders: [{ name: X-Forwarded-Proto, value: https }] }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: {{ .ready }}, port: {{ .port }}, httpHeaders: [{ name: X-Forwarded-Proto, value: https }] }
  periodSeconds: 3
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{/* A horizontal autoscaler. Input: root, role, settings. */}}
{{- define "callwright.autoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "callwright.fullname" .root }}-{{ .role }}
  labels:
    {{- include "callwright.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "callwright.fullname" .root }}-{{ .role }}
  minReplicas: {{ .settings.autoscaling.minReplicas }}
  maxReplicas: {{ .settings.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .settings.autoscaling.cpu }}
    {{- with .settings.autoscaling.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .settings.autoscaling.behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* A budget for disruptions. Input: root, role, settings, name, labels. */}}
{{- define "callwright.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  labels:
    {{- include "callwright.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .settings.podDisruptionBudget.maxUnavailable }}
  # Pods that are not ready do not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "callwright.selector" . | nindent 6 }}
      {{- with .labels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
{{- end }}

{{/* A Service inside the cluster. Input: root, role, port, settings. */}}
{{- define "callwright.service" -}}
{{- $service := .settings.service | default dict }}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "callwright.fullname" .root }}-{{ .role }}
  labels:
    {{- include "callwright.labels" . | nindent 4 }}
  {{- with $service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ $service.type | default "ClusterIP" }}
  selector:
    {{- include "callwright.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .port }}
      targetPort: http
{{- end }}
