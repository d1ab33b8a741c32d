{{- /* Written by `npm run generate` from tools/chart/templates. Change it there. */ -}}

{{- define "latchkey.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "latchkey.baseURL" -}}
{{- required "baseURL: set the https address under which clients reach the gateway, for example --set baseURL=https://latchkey.example.com" .Values.baseURL -}}
{{- end -}}

{{- define "latchkey.host" -}}
{{- (urlParse (include "latchkey.baseURL" .)).hostname -}}
{{- end -}}

{{- define "latchkey.settings" -}}
{{- $settings := dict "LATCHKEY_BASE_URL" (include "latchkey.baseURL" .) -}}
{{- if .Values.certificate.authorityConfigMap -}}
{{- $settings = set $settings "LATCHKEY_BASE_URL_CA_FILE" "/etc/latchkey/base-url/ca.crt" -}}
{{- end -}}
{{- with .Values.gateway.page.url -}}
{{- $settings = merge $settings (dict "LATCHKEY_PAGE_URL" .) -}}
{{- end -}}
{{- with .Values.clusterProfiles.namespace -}}
{{- $settings = set $settings "LATCHKEY_CLUSTER_PROFILES_NAMESPACE" . -}}
{{- end -}}
{{- toYaml (merge $settings .Values.settings) -}}
{{- end -}}

{{- define "latchkey.gatewayLabels" -}}
app.kubernetes.io/name: latchkey
app.kubernetes.io/component: gateway
app.kubernetes.io/part-of: latchkey
{{- end -}}
