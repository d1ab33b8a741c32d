{{- /* Written by `npm run generate`. Values that an earlier chart did not have, for `--reuse-values`. */ -}}
{{- define "latchkey-direct-endpoint.defaults" -}}
{{- if not (hasKey .Values "baseURL") }}{{ $_ := set .Values "baseURL" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "cluster") }}{{ $_ := set .Values "cluster" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "image") }}{{ $_ := set .Values "image" (fromJson `{"value":{"repository":"latchkey","tag":"","digest":"","pullPolicy":"","pullSecrets":[]}}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "repository") }}{{ $_ := set .Values.image "repository" (fromJson `{"value":"latchkey"}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "tag") }}{{ $_ := set .Values.image "tag" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "digest") }}{{ $_ := set .Values.image "digest" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "pullPolicy") }}{{ $_ := set .Values.image "pullPolicy" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "pullSecrets") }}{{ $_ := set .Values.image "pullSecrets" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- if not (hasKey .Values "agent") }}{{ $_ := set .Values "agent" (fromJson `{"value":{"secretName":"latchkey-direct-endpoint-agent"}}`).value }}{{ end -}}
{{- if not (hasKey .Values.agent "secretName") }}{{ $_ := set .Values.agent "secretName" (fromJson `{"value":"latchkey-direct-endpoint-agent"}`).value }}{{ end -}}
{{- if not (hasKey .Values "certificate") }}{{ $_ := set .Values "certificate" (fromJson `{"value":{"secretName":"latchkey-direct-endpoint-tls","issuerRef":{},"host":""}}`).value }}{{ end -}}
{{- if not (hasKey .Values.certificate "secretName") }}{{ $_ := set .Values.certificate "secretName" (fromJson `{"value":"latchkey-direct-endpoint-tls"}`).value }}{{ end -}}
{{- if not (hasKey .Values.certificate "issuerRef") }}{{ $_ := set .Values.certificate "issuerRef" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values.certificate "host") }}{{ $_ := set .Values.certificate "host" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "settings") }}{{ $_ := set .Values "settings" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values "extraEnv") }}{{ $_ := set .Values "extraEnv" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- if not (hasKey .Values "replicas") }}{{ $_ := set .Values "replicas" (fromJson `{"value":2}`).value }}{{ end -}}
{{- if not (hasKey .Values "nodeOptions") }}{{ $_ := set .Values "nodeOptions" (fromJson `{"value":"--max-old-space-size=320 --max-semi-space-size=16 --v8-pool-size=1"}`).value }}{{ end -}}
{{- if not (hasKey .Values "service") }}{{ $_ := set .Values "service" (fromJson `{"value":{"type":"ClusterIP","externalTrafficPolicy":"","annotations":{}}}`).value }}{{ end -}}
{{- if not (hasKey .Values.service "type") }}{{ $_ := set .Values.service "type" (fromJson `{"value":"ClusterIP"}`).value }}{{ end -}}
{{- if not (hasKey .Values.service "externalTrafficPolicy") }}{{ $_ := set .Values.service "externalTrafficPolicy" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.service "annotations") }}{{ $_ := set .Values.service "annotations" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values "webhook") }}{{ $_ := set .Values "webhook" (fromJson `{"value":{"clusterIP":"","allowedCIDRs":[],"clientCAEntry":"client.crt"}}`).value }}{{ end -}}
{{- if not (hasKey .Values.webhook "clusterIP") }}{{ $_ := set .Values.webhook "clusterIP" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.webhook "allowedCIDRs") }}{{ $_ := set .Values.webhook "allowedCIDRs" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- if not (hasKey .Values.webhook "clientCAEntry") }}{{ $_ := set .Values.webhook "clientCAEntry" (fromJson `{"value":"client.crt"}`).value }}{{ end -}}
{{- if not (hasKey .Values "monitoring") }}{{ $_ := set .Values "monitoring" (fromJson `{"value":{"enabled":false,"labels":{},"runbookURL":""}}`).value }}{{ end -}}
{{- if not (hasKey .Values.monitoring "enabled") }}{{ $_ := set .Values.monitoring "enabled" (fromJson `{"value":false}`).value }}{{ end -}}
{{- if not (hasKey .Values.monitoring "labels") }}{{ $_ := set .Values.monitoring "labels" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values.monitoring "runbookURL") }}{{ $_ := set .Values.monitoring "runbookURL" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "nodeSelector") }}{{ $_ := set .Values "nodeSelector" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values "tolerations") }}{{ $_ := set .Values "tolerations" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- end -}}
