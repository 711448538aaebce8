{{- define "callwright.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "callwright.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "callwright.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "callwright.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Labels by which Services and policies find the pods of a role. Input: root, role. */}}
{{- define "callwright.selector" -}}
app.kubernetes.io/name: {{ include "callwright.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .role }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Labels of an object. Input: root, role. */}}
{{- define "callwright.labels" -}}
{{ include "callwright.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The image of a role. Its own tag or digest replaces both of the chart. Input: root, settings. */}}
{{- define "callwright.image" -}}
{{- $common := .root.Values.image }}
{{- $own := .settings.image | default dict }}
{{- range list $common $own }}
{{- if and .tag .digest }}
{{- fail (printf "The same image has the tag %s and the digest %s. Set one of them, and the other to null." .tag .digest) }}
{{- end }}
{{- end }}
{{- $version := ternary $own $common (not (empty (or $own.tag $own.digest))) }}
{{- $repository := $own.repository | default $common.repository }}
{{- if $version.digest -}}
{{- printf "%s@%s" $repository $version.digest }}
{{- else -}}
{{- printf "%s:%s" $repository ($version.tag | default .root.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* The settings of a group of workers: those of `worker`, changed by its own. Input: root, group. */}}
{{- define "callwright.group" -}}
{{- $own := index .root.Values.worker.groups .group | default dict }}
{{- mergeOverwrite (omit (deepCopy .root.Values.worker) "groups") (deepCopy $own) | toYaml }}
{{- end }}

{{/* The version of workers. */}}
{{- define "callwright.buildId" -}}
{{- if .Values.worker.versioning.buildId -}}
{{- .Values.worker.versioning.buildId }}
{{- else -}}
{{- $image := include "callwright.image" (dict "root" . "settings" .Values.worker) }}
{{- if contains "@sha256:" $image -}}
{{- regexReplaceAll "^.*@sha256:" $image "" | trunc 16 }}
{{- else -}}
{{- regexReplaceAll "^.*:" $image "" }}
{{- end }}
{{- end }}
{{- end }}

{{/* The name of a group's Deployment. With Worker Versioning each version has its own. Input: root, group. */}}
{{- define "callwright.workerName" -}}
{{- $name := printf "%s-worker-%s" (include "callwright.fullname" .root) .group }}
{{- if .root.Values.worker.versioning.enabled -}}
{{- printf "%s-%s" (trunc 54 $name) (include "callwright.buildId" .root | sha256sum | trunc 8) }}
{{- else -}}
{{- trunc 63 $name }}
{{- end }}
{{- end }}

{{/* Helm keeps objects of a version of workers when an upgrade no longer contains them: calls may still need them. */}}
{{- define "callwright.keep" -}}
helm.sh/resource-policy: keep
argocd.argoproj.io/sync-options: Prune=false
{{- end }}

{{/* Where the secrets of a role are, as JSON: variables with secret and key. Input: root, role. */}}
{{- define "callwright.secrets" -}}
{{- $mine := dict }}
{{- range $variable, $secret := .root.Values.secrets }}
{{- $roles := $secret.roles | default (ternary (list "codec") (list) (eq $variable "CODEC_TOKEN")) }}
{{- if or (empty $roles) (has $.role $roles) }}
{{- $_ := set $mine $variable $secret }}
{{- end }}
{{- end }}
{{- toJson $mine }}
{{- end }}

{{/* The environment of a role. Input: root, role, settings. */}}
{{- define "callwright.env" -}}
{{- $values := .root.Values }}
- name: NODE_ENV
  value: production
- name: API_HOST
  value: {{ $values.listenHost | quote }}
- name: API_PORT
  value: '8080'
- name: MEDIA_HOST
  value: {{ $values.listenHost | quote }}
- name: MEDIA_PORT
  value: '8081'
- name: SIMULATOR_HOST
  value: {{ $values.listenHost | quote }}
- name: SIMULATOR_PORT
  value: '8082'
- name: WORKER_HOST
  value: {{ $values.listenHost | quote }}
- name: WORKER_PORT
  value: '8084'
- name: CODEC_HOST
  value: {{ $values.listenHost | quote }}
- name: CODEC_PORT
  value: '8085'
- name: METRICS_HOST
  value: {{ $values.listenHost | quote }}
- name: METRICS_PORT
  value: '9465'
- name: SIMULATOR_URL
  value: http://{{ include "callwright.fullname" .root }}-simulator:8082
- name: DRAIN_DELAY_SECONDS
  value: {{ $values.drainDelaySeconds | toString | quote }}
- name: MEDIA_DRAIN_SECONDS
  value: {{ $values.media.drainSeconds | toString | quote }}
{{- if $values.rateDeck.configMap }}
- name: RATE_DECK_FILE
  value: /etc/callwright/rates/{{ $values.rateDeck.key }}
{{- end }}
{{- if $values.carrierAccounts.secret }}
- name: CARRIER_ACCOUNTS_FILE
  value: /etc/callwright/carriers/{{ $values.carrierAccounts.key }}
{{- end }}
{{- if eq .role "worker" }}
- name: WORKER_QUEUES
  value: {{ join "," .settings.queues | quote }}
{{- end }}
{{- if and (eq .role "worker") (not (contains ":" $values.listenHost)) }}
- name: WORKER_METRICS_ADDRESS
  value: {{ printf "%s:9464" $values.listenHost | quote }}
{{- end }}
{{- if and $values.worker.versioning.enabled (has .role (list "worker" "setup")) }}
- name: WORKER_DEPLOYMENT_NAME
  value: {{ $values.worker.versioning.deploymentName | quote }}
- name: WORKER_BUILD_ID
  value: {{ include "callwright.buildId" .root | quote }}
{{- end }}
{{- $own := ternary (.settings.env | default dict) dict (eq .role "worker") }}
{{- range $name, $value := mergeOverwrite (deepCopy $values.config) $own }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $variable, $_ := include "callwright.secrets" . | fromJson }}
- name: {{ $variable }}_FILE
  value: /run/secrets/callwright/{{ $variable }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
