{{- /* Written by `npm run generate`. Values that an earlier chart did not have, for `--reuse-values`. */ -}}
{{- define "latchkey.defaults" -}}
{{- if not (hasKey .Values "baseURL") }}{{ $_ := set .Values "baseURL" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "image") }}{{ $_ := set .Values "image" (fromJson `{"value":{"repository":"latchkey","tag":"","digest":"","pullPolicy":"","pullSecrets":[]}}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "repository") }}{{ $_ := set .Values.image "repository" (fromJson `{"value":"latchkey"}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "tag") }}{{ $_ := set .Values.image "tag" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "digest") }}{{ $_ := set .Values.image "digest" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "pullPolicy") }}{{ $_ := set .Values.image "pullPolicy" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.image "pullSecrets") }}{{ $_ := set .Values.image "pullSecrets" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- if not (hasKey .Values "settings") }}{{ $_ := set .Values "settings" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values "extraEnv") }}{{ $_ := set .Values "extraEnv" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- if not (hasKey .Values "operator") }}{{ $_ := set .Values "operator" (fromJson `{"value":{"replicas":2,"resources":{"requests":{"cpu":"100m","memory":"192Mi"},"limits":{"memory":"512Mi"}},"nodeOptions":"--max-old-space-size=320 --max-semi-space-size=16"}}`).value }}{{ end -}}
{{- if not (hasKey .Values.operator "replicas") }}{{ $_ := set .Values.operator "replicas" (fromJson `{"value":2}`).value }}{{ end -}}
{{- if not (hasKey .Values.operator "nodeOptions") }}{{ $_ := set .Values.operator "nodeOptions" (fromJson `{"value":"--max-old-space-size=320 --max-semi-space-size=16"}`).value }}{{ end -}}
{{- if not (hasKey .Values "gateway") }}{{ $_ := set .Values "gateway" (fromJson `{"value":{"resources":{"requests":{"cpu":"100m","memory":"192Mi"},"limits":{"memory":"768Mi"}},"nodeOptions":"--max-old-space-size=320 --max-semi-space-size=16 --v8-pool-size=1","autoscaling":{"enabled":true,"minReplicas":2,"maxReplicas":10,"averageCPU":"600m"},"replicas":2,"service":{"type":"ClusterIP","externalTrafficPolicy":"","annotations":{}},"page":{"url":""},"route":{"enabled":false,"parentRefs":[]},"ingress":{"enabled":false,"className":"","annotations":{},"tlsSecret":""}}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway "nodeOptions") }}{{ $_ := set .Values.gateway "nodeOptions" (fromJson `{"value":"--max-old-space-size=320 --max-semi-space-size=16 --v8-pool-size=1"}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway "autoscaling") }}{{ $_ := set .Values.gateway "autoscaling" (fromJson `{"value":{"enabled":true,"minReplicas":2,"maxReplicas":10,"averageCPU":"600m"}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.autoscaling "enabled") }}{{ $_ := set .Values.gateway.autoscaling "enabled" (fromJson `{"value":true}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.autoscaling "minReplicas") }}{{ $_ := set .Values.gateway.autoscaling "minReplicas" (fromJson `{"value":2}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.autoscaling "maxReplicas") }}{{ $_ := set .Values.gateway.autoscaling "maxReplicas" (fromJson `{"value":10}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.autoscaling "averageCPU") }}{{ $_ := set .Values.gateway.autoscaling "averageCPU" (fromJson `{"value":"600m"}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway "replicas") }}{{ $_ := set .Values.gateway "replicas" (fromJson `{"value":2}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway "service") }}{{ $_ := set .Values.gateway "service" (fromJson `{"value":{"type":"ClusterIP","externalTrafficPolicy":"","annotations":{}}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.service "type") }}{{ $_ := set .Values.gateway.service "type" (fromJson `{"value":"ClusterIP"}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.service "externalTrafficPolicy") }}{{ $_ := set .Values.gateway.service "externalTrafficPolicy" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.service "annotations") }}{{ $_ := set .Values.gateway.service "annotations" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway "page") }}{{ $_ := set .Values.gateway "page" (fromJson `{"value":{"url":""}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.page "url") }}{{ $_ := set .Values.gateway.page "url" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway "route") }}{{ $_ := set .Values.gateway "route" (fromJson `{"value":{"enabled":false,"parentRefs":[]}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.route "enabled") }}{{ $_ := set .Values.gateway.route "enabled" (fromJson `{"value":false}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.route "parentRefs") }}{{ $_ := set .Values.gateway.route "parentRefs" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway "ingress") }}{{ $_ := set .Values.gateway "ingress" (fromJson `{"value":{"enabled":false,"className":"","annotations":{},"tlsSecret":""}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.ingress "enabled") }}{{ $_ := set .Values.gateway.ingress "enabled" (fromJson `{"value":false}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.ingress "className") }}{{ $_ := set .Values.gateway.ingress "className" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.ingress "annotations") }}{{ $_ := set .Values.gateway.ingress "annotations" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values.gateway.ingress "tlsSecret") }}{{ $_ := set .Values.gateway.ingress "tlsSecret" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "certificate") }}{{ $_ := set .Values "certificate" (fromJson `{"value":{"issuerRef":{},"authorityConfigMap":""}}`).value }}{{ end -}}
{{- if not (hasKey .Values.certificate "issuerRef") }}{{ $_ := set .Values.certificate "issuerRef" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values.certificate "authorityConfigMap") }}{{ $_ := set .Values.certificate "authorityConfigMap" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "sitePolicy") }}{{ $_ := set .Values "sitePolicy" (fromJson `{"value":{"enabled":true,"data":{"requireEnd":"true","maxKeyTTL":"31536000","requireScope":"others"}}}`).value }}{{ end -}}
{{- if not (hasKey .Values.sitePolicy "enabled") }}{{ $_ := set .Values.sitePolicy "enabled" (fromJson `{"value":true}`).value }}{{ end -}}
{{- if not (hasKey .Values "clusterProfiles") }}{{ $_ := set .Values "clusterProfiles" (fromJson `{"value":{"namespace":""}}`).value }}{{ end -}}
{{- if not (hasKey .Values.clusterProfiles "namespace") }}{{ $_ := set .Values.clusterProfiles "namespace" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "monitoring") }}{{ $_ := set .Values "monitoring" (fromJson `{"value":{"enabled":false,"labels":{},"runbookURL":""}}`).value }}{{ end -}}
{{- if not (hasKey .Values.monitoring "enabled") }}{{ $_ := set .Values.monitoring "enabled" (fromJson `{"value":false}`).value }}{{ end -}}
{{- if not (hasKey .Values.monitoring "labels") }}{{ $_ := set .Values.monitoring "labels" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values.monitoring "runbookURL") }}{{ $_ := set .Values.monitoring "runbookURL" (fromJson `{"value":""}`).value }}{{ end -}}
{{- if not (hasKey .Values "nodeSelector") }}{{ $_ := set .Values "nodeSelector" (fromJson `{"value":{}}`).value }}{{ end -}}
{{- if not (hasKey .Values "tolerations") }}{{ $_ := set .Values "tolerations" (fromJson `{"value":[]}`).value }}{{ end -}}
{{- end -}}
