{{- define "lease-exporter.name" -}}
{{- $both := printf "%s-%s" .Release.Name .Chart.Name }}
{{- contains .Chart.Name .Release.Name | ternary .Release.Name $both | trunc 58 | trimSuffix "-" }}
{{- end }}

{{- define "lease-exporter.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lease-exporter.labels" -}}
{{ include "lease-exporter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "lease-exporter.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The exporter refuses a secret in its configuration, but by then it would stand in a ConfigMap. */}}
{{- define "lease-exporter.config" -}}
{{- $belongs := "belongs into the Secret that secretName names, and into config only the file's name" }}
{{- if hasKey .Values.config "token_key" }}{{ fail (printf "config.token_key: the key %s: token_key_file" $belongs) }}{{ end }}
{{- range .Values.config.sources }}
{{- if or (hasKey . "password") (regexMatch "^[^/]*//[^/?#@]*:[^/?#@]*@" (toString .store)) }}
{{- fail (printf "config.sources: the password of source %v %s: password_file" (.name | default "without a name") $belongs) }}
{{- end }}
{{- end }}
{{- toYaml .Values.config }}
{{- end }}

{{- define "lease-exporter.securityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "lease-exporter.volumeMounts" -}}
- name: lease-exporter-config
  mountPath: /etc/lease-exporter
  readOnly: true
{{- if .Values.secretName }}
- name: lease-exporter-secrets
  mountPath: /run/secrets/lease-exporter
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "lease-exporter.volumes" -}}
- name: lease-exporter-config
  configMap:
    name: {{ include "lease-exporter.name" . }}
{{- if .Values.secretName }}
- name: lease-exporter-secrets
  secret:
    secretName: {{ .Values.secretName }}
    # Whoever the exporter runs as must read them, and no container sees them that does not mount this volume.
    defaultMode: 0444
    {{- if eq .Values.mode "sidecar" }}
    # The pod starts without the Secret too, because an observer must not hold up what it observes.
    optional: true
    {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The one place that says how the exporter runs: in the Deployment, and in the notes for a sidecar. */}}
{{- define "lease-exporter.container" -}}
- name: lease-exporter
  image: {{ include "lease-exporter.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  {{- if eq .Values.mode "sidecar" }}
  # An init container that goes on running: a sidecar.
  restartPolicy: Always
  {{- end }}
  args:
    - --config.file=/etc/lease-exporter/exporter.yml
    {{- range .Values.extraArgs }}
    - {{ . | quote }}
    {{- end }}
  ports:
    - name: lease-exporter
      containerPort: 10987
  # Both say that the exporter runs, and nothing of a store or a lease: that a lease is stalled or a store is down is
  # what it is there to tell, no reason to restart it or to take its pod out of service.
  livenessProbe:
    httpGet:
      path: /-/healthy
      port: lease-exporter
  readinessProbe:
    httpGet:
      path: /-/ready
      port: lease-exporter
  # So that `kubectl describe pod` shows what is wrong with a configuration that cannot be used.
  terminationMessagePolicy: FallbackToLogsOnError
  {{- with .Values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "lease-exporter.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "lease-exporter.volumeMounts" . | nindent 4 }}
{{- end }}
