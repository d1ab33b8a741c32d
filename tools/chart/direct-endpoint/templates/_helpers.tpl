{{- /* Written by `npm run generate` from tools/chart/direct-endpoint/templates. Change it there. */ -}}

{{- define "latchkey-direct-endpoint.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "latchkey-direct-endpoint.settings" -}}
{{- $baseURL := required "baseURL: set the address of the platform's gateway, for example --set baseURL=https://latchkey.example.com" .Values.baseURL -}}
{{- $cluster := required "cluster: set the name that this cluster has on the platform, for example --set cluster=edge" .Values.cluster -}}
{{- $settings := dict "LATCHKEY_BASE_URL" $baseURL "LATCHKEY_ENDPOINT_CLUSTER" $cluster -}}
{{- if .Values.webhook.clusterIP -}}
{{- $settings = set $settings "LATCHKEY_ENDPOINT_WEBHOOK_CLIENT_CA_FILE" (printf "/etc/latchkey/agent/%s" .Values.webhook.clientCAEntry) -}}
{{- end -}}
{{- toYaml (merge $settings .Values.settings) -}}
{{- end -}}
