{{- define "lease-exporter.name" -}}
{{- /* A Service's name begins with a letter and has no dots, a release's may. */}}
{{- $release := .Release.Name | replace "." "-" }}
{{- $both := regexMatch "^[0-9]" $release | ternary (printf "%s-%s" .Chart.Name $release) (printf "%s-%s" $release .Chart.Name) }}
{{- and (contains .Chart.Name $release) (not (regexMatch "^[0-9]" $release)) | ternary $release $both | trunc 58 | trimSuffix "-" }}
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

{{- /* What the chart says itself (`own`, YAML) and what the values add to it (`more`, of the key `of`). */}}
{{- define "lease-exporter.and" -}}
{{- $own := .own | fromYaml }}
{{- $of := .of }}
{{- range $key, $value := .more }}
{{- if hasKey $own $key }}{{ fail (printf "%s: %s is the chart's own" $of $key) }}{{ end }}
{{- end }}
{{- .own }}
{{- with .more }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* What selects a sidecar's pod: only this release's, for another's monitor would scrape it a second time. */}}
{{- define "lease-exporter.scraped" -}}
lease-exporter/scrape: {{ include "lease-exporter.name" . }}
{{- end }}

{{- define "lease-exporter.image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* The exporter refuses a secret in its configuration, but by then it would stand in a ConfigMap. */}}
{{- define "lease-exporter.config" -}}
{{- $belongs := "belongs into the Secret that secretName names, and into config only the file's name" }}
{{- if hasKey .Values.config "token_key" }}{{ fail (printf "config.token_key: the key %s: token_key_file" $belongs) }}{{ end }}
{{- range .Values.config.sources }}
{{- /* As the exporter looks for them: it takes no parameters, and an SQLite file's path may have any letter. */}}
{{- $store := toString .store }}
{{- $place := regexReplaceAll "^[^:/?#@]*://" $store "" }}
{{- $named := and (not (hasPrefix "sqlite:///" $store)) (regexMatch "(?s):.*@" $place) }}
{{- $parameters := or (regexMatch "[?#]" $place) (and (eq $place $store) (contains "=" $store)) }}
{{- if or (hasKey . "password") $named $parameters }}
{{- $more := $parameters | ternary "; an address takes no parameters, see the keys tls, schema and the like" "" }}
{{- fail (printf "config.sources: the password of source %v %s: password_file%s" (.name | default "without a name") $belongs $more) }}
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
    {{- if and (eq .Values.mode "sidecar") (not .Values.config.token_key_file) }}
    # What it names is read for each connection, so the pod starts without it: an observer must not hold up what it observes.
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
    {{- if regexMatch "^--(config[.]file|web[.](listen-address|systemd-socket|telemetry-path))(=|$)" . }}
    {{- fail (printf "extraArgs: %s is the chart's own: probes, ports, Service and monitor stand on where it is" .) }}
    {{- end }}
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
